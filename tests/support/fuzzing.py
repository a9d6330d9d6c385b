"""Broken input, made from valid input: commands with damaged files, specs and options, and what must hold after them.

A case is a number. The same number gives the same folder and the same command, so that a failure can be made again:
`python -m benchmarks.fuzz --only NUMBER`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]

_TEXTS = [
    ("It isn't raining on the two men.", "The men are not wet."),
    ("A man is sleeping on the sofa.", "The man isn't asleep."),
    ("Eine Straße, 日本 🙂: it isn't here.", "They're elsewhere."),
    ("Two dogs don't run.", "The dogs aren't running."),
    ("She'll sing.", "She won't be silent."),
    ('He said "no", didn\'t he?', "He didn't agree."),
]
_LABELS = ("entailment", "neutral", "contradiction")
_DEEP = "[" * 100_000 + "]" * 100_000
#: Values that a cell may hold by mistake.
_VALUES: list[Any] = [
    None, "", " ", 0, -1, 1.5, 10**30, 1e308, True, [], {}, [1], {"a": 1}, "nan", "NaN", "null", "0", "0.0", "Neutral ",
    "ENTAILMENT", "neutral\n", "\x00", "\ud800", "\u2028", "=1+1", "a" * 20_000, "🙂" * 500, "x\ty", 'x"y', "../../x",
    "/etc/passwd", "日本語のテキスト", "1e400", "2026-01-01", "-", "None", float("nan"), float("inf"),
]  # fmt: skip
_NAMES = ["id", "of", "how", "label", "cluster", "contrast", "control", "model", "bucket", "variant", "gold", "pred"]
_NAMES += [
    "p:neutral",
    "p:x",
    "check:surface",
    "rejected",
    "truncated",
    "premise",
    "Premise",
    "",
    " ",
    "id ",
    "\x00",
    "a" * 300,
]
_BYTES = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\n\n",
    b'"',
    b"'",
    b",",
    b"\t",
    b"{",
    b"}",
    b"]",
    b"=",
    b"\\",
]
_BYTES += [
    b"\\ud800",
    b"NaN",
    b"1e400",
    b"9" * 400,
    _DEEP.encode(),
    b"a" * 200_000,
    "\u2028".encode(),
    b"# ",
    b"null",
    b"-",
]
_WORDS = [
    "",
    "x",
    "-",
    "=",
    "()",
    "(",
    ")",
    "a=b",
    "0",
    "-1",
    "nan",
    "1e400",
    "9" * 60,
    "\x00",
    "../x",
    "é" * 50,
    "[]",
    '"',
    "{}",
]
_WORDS += [
    " ",
    "all",
    "name",
    "*",
    "$(x)",
    "%s",
    "entailment",
    "flip_rate<=0.1",
    "flip_rate<=x",
    "how",
    "topic",
    "self",
    "~",
    "/",
]


# What a case starts from: valid files of every kind, and files that are nobody's business


def problems() -> list[Row]:
    """Six problems with a column of their own."""
    return [
        {"id": f"{i}", "premise": p, "hypothesis": h, "label": _LABELS[i % 3], "topic": "ab"[i % 2]}
        for i, (p, h) in enumerate(_TEXTS)
    ]


def suite() -> list[Row]:
    """The problems, each before two variants."""
    rows = []
    for row in problems():
        rows.append({**row, "of": None, "how": None})
        for n in (1, 2):
            text = row["premise"].replace("a", "a " * n, 1) + " " + "So." * n
            rows.append({**row, "id": f"{row['id']}.{n}", "of": row["id"], "how": f"hand{n}", "premise": text})
    return rows


def answers(model: str = "m", shift: int = 0) -> list[Row]:
    """Answers to the suite, with probabilities."""
    rows = []
    for i, row in enumerate(suite()):
        pred = (i + shift) % 3 if (i + shift) % 4 else _LABELS.index(row["label"])
        p = {f"p:{name}": 0.8 if n == pred else 0.1 for n, name in enumerate(_LABELS)}
        names = {"model": model, "bucket": row["of"] or row["id"], "variant": row["id"] if row["of"] else None}
        rows.append({**names, "gold": row["label"], "pred": _LABELS[pred], **p, "topic": row["topic"]})
    return rows


def write_table(path: Path, rows: list[Row]) -> None:
    """Write rows in the format of the ending; what a format cannot hold becomes text."""
    if path.suffix == ".jsonl":
        path.write_bytes("".join(json.dumps(row) + "\n" for row in rows).encode())
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    try:
        frame = pl.DataFrame({name: pl.Series([row.get(name) for row in rows]) for name in names})
    except (TypeError, ValueError, OverflowError, UnicodeError, pl.exceptions.PolarsError):
        cells = {name: [_cell(row.get(name)) for row in rows] for name in names}
        frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String))
    if path.suffix == ".parquet":
        empty = [name for name, kind in frame.schema.items() if kind == pl.Struct([])]  # which Parquet cannot hold
        frame.with_columns(pl.lit("{}").alias(name) for name in empty).write_parquet(path)
    else:
        flat = [
            pl.col(n).map_elements(_cell, return_dtype=pl.String)
            for n, t in frame.schema.items()
            if t.is_nested() or t == pl.Object
        ]
        frame.with_columns(flat).write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")


def _cell(value: Any) -> str | None:
    return None if value is None else str(value).encode("utf-8", "replace").decode()


STUDY = """name = "fuzzed"
data = ["problems.jsonl"]
vary = ["contractions"]
check = ["surface"]
models = ["one=scripted(seed=1)"]
canary = false
replicates = 20
seed = 1
by = ["topic"]
"""
TASK = """name = "odd"
fields = ["premise", "hypothesis"]
labels = ["entailment", "neutral", "contradiction"]
targets = ["hypothesis"]
"""
MODEL = 'def answer(batch):\n    return ["neutral"] * len(batch)\n'
RECIPE = 'data = ["problems.jsonl"]\nstart = "nowhere"\nvalid = ["0.3"]\nseed = 1\nepochs = 1\n'
PLUGIN = (
    "from otherwords.registry import generators\n\n\n@generators('shout.v1')\ndef shout():\n"
    "    return lambda some, rng: ([one.restate(premise=one.fields['premise'] + '!')] for one in some)\n"
)


def furnish(place: Path) -> None:
    """Write valid files of every kind, and foreign ones, into an empty folder."""
    for ending in ("jsonl", "csv", "tsv", "parquet"):
        write_table(place / f"problems.{ending}", problems())
        write_table(place / f"suite.{ending}", suite())
        write_table(place / f"answers.{ending}", answers())
        write_table(place / f"other.{ending}", answers("n", 1))
    write_table(place / "verdicts.csv", [{"id": r["id"], "verdict": "yes"} for r in suite() if r["of"]])
    for name, text in {
        "study.toml": STUDY,
        "task.toml": TASK,
        "mine.py": MODEL,
        "recipe.toml": RECIPE,
        "words.txt": "man\ndogs\n",
        "plugin.py": PLUGIN,
    }.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "foreign").mkdir()
    (place / "foreign" / "thesis.txt").write_text("years of work", encoding="utf-8")
    (place / "foreign" / "manifest.json").write_text("{}", encoding="utf-8")
    (place / "cache.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x07" * 200)


# Commands, as templates: {problems} and the like stand for a file in any format, the rest may be damaged as text

TEMPLATES = [
    "vary {problems} -w contractions -o out.jsonl",
    "vary {problems} -w contractions -w scramble(words=2) -o out.csv --suite --notes notes.jsonl --unvaried left.csv",
    "vary {problems} -w recorded(path={suite}) -o out.parquet",
    "vary {problems} -w tautology(times=2) --field premise=hypothesis --label x=neutral --skip-bad -o out.tsv",
    "vary {problems} -w identity -o {problems}",
    "vary {problems} -w wordnet(n=2) --veto words.txt -o out.jsonl",
    "vary {problems} -w shout --plugin plugin.py -o out.jsonl",
    "check {suite} -w surface -w overlap(most=0.9) -o out.jsonl",
    "check {suite} -w human:verdicts.csv -o out.csv",
    "check {suite} -w good=label-safety(numbers=false) -o out.parquet --skip-bad",
    "answer {suite} -m scripted(seed=2) --no-canary -o out.jsonl",
    "answer {suite} -m bag-of-words --label-map a=neutral -o out.csv",
    "answer {suite} -m mine=python:mine.py:answer --no-canary --cache cache.sqlite -o out.jsonl",
    "answer {problems} -m scripted --no-canary --task task.toml -o foreign/out.jsonl",
    "score {answers} --replicates 20",
    "score {answers} --metric all --replicates 5 --by topic",
    "score {answers} --metric flip_rate --metric pa(threshold=0.5) --replicates 20 --json -o out.jsonl",
    "score {answers} --skip-bad --replicates 20 --require flip_rate<=0.9",
    "score {answers} --task task.toml --replicates 20 --interval bca --confidence 0.9",
    "score {answers} --field gold=pred --label yes=neutral --replicates 20",
    "compare {answers} {other} --replicates 20",
    "compare {answers} {other} --metric flip_rate --by topic --replicates 20 --json",
    "compare {answers} --between topic --metric accuracy_variants --replicates 20 -o out.csv",
    "audit {answers} --list hard-cases -o out.jsonl",
    "audit {answers} --task nli --json",
    "profile {suite} --top 3 -o out.csv",
    "profile {suite} --json --kept",
    "circularity {suite} -m scripted --judge scripted(seed=3) --no-canary --replicates 20 -o out.jsonl",
    "run study.toml -o out",
    "run study.toml -o foreign",
    "run study.toml --seed 2 --model two=scripted(seed=4) --metric flip_rate",
    "run --data {problems} -w contractions -m scripted --no-canary --replicates 20 -o out --by topic",
    "run --data {suite} -m python:mine.py:answer --no-canary --replicates 20 -o out --require flip_rate<=1",
    "run {run} -q",
    "run study.toml -o {run} --metric all --replicates 5",
    "score {run} --replicates 20",
    "compare {run} --between how --metric accuracy_variants --replicates 20",
    "audit {run} -o out.jsonl",
    "answer {run} -m scripted(seed=5) --no-canary -o out.jsonl",
    "profile {run} --json",
    "report foreign",
    "report {run} -o page.html",
    "list metrics --json",
    "list wordnet",
    "list tasks",
    "cache info --cache cache.sqlite",
    "cache prune --all --cache cache.sqlite",
    "cache prune --older-than 3 --cache words.txt",
    "reproduce parte --data foreign",
    "export foreign -o out",
    "convert hf:foreign -o out",
    "doctor --json",
    "train nli recipe.toml -o out --prepare",
    "train nli --data {problems} --start foreign --valid 0.5 --prepare -o out",
]
_FILES = ("problems", "suite", "answers", "other")


@dataclass
class Case:
    """A folder with one thing in it broken, and the command to run there."""

    number: int
    arguments: list[str]
    damage: str
    before: dict[str, str] = field(default_factory=dict)


def make_case(number: int, place: Path, finished: Path) -> Case:
    """Furnish an empty folder, damage something, choose a command. `finished` is the folder of a run of STUDY."""
    rng = random.Random(number)
    furnish(place)
    template = TEMPLATES[number % len(TEMPLATES)]
    if "{run}" in template:
        shutil.copytree(finished, place / "done")
    ending = {kind: rng.choice(("jsonl", "jsonl", "csv", "tsv", "parquet")) for kind in _FILES}
    words = template.split(" ")
    files = {**{kind: f"{kind}.{ending[kind]}" for kind in _FILES}, "run": "done"}
    used = [files[kind] for kind in _FILES if "{" + kind + "}" in template]
    arguments = [_filled(word, files) for word in words]
    used += [word for word in arguments if word.endswith((".toml", ".py", ".sqlite", ".txt"))]
    used += ["verdicts.csv"] if "verdicts" in template else []
    used += ["problems.jsonl"] if "study.toml" in template or "recipe" in template else []
    if "{run}" in template:
        used += [path.relative_to(place).as_posix() for path in sorted((place / "done").rglob("*")) if path.is_file()]
    damages: list[Callable[[], str]] = []
    if used:
        damages += [lambda: _damage_file(rng, place / rng.choice(used))] * 3
    damages += [lambda: _damage_arguments(rng, arguments)]
    damage = "; ".join(rng.choice(damages)() for _ in range(rng.choice((1, 1, 1, 2))))
    if rng.random() < 0.2:
        (place / "out.jsonl").write_text('{"old": 1}\n', encoding="utf-8")
    return Case(number, arguments, damage, snapshot(place))


def _filled(word: str, files: dict[str, str]) -> str:
    for kind, name in files.items():
        word = word.replace("{" + kind + "}", name)
    return word


def _damage_arguments(rng: random.Random, arguments: list[str]) -> str:
    index = rng.randrange(1, len(arguments)) if len(arguments) > 1 else 0
    old = arguments[index]
    change = rng.randrange(6)
    if change == 0:
        arguments[index] = rng.choice(_WORDS)
    elif change == 1:
        del arguments[index]
    elif change == 2:
        arguments.insert(index, rng.choice(_WORDS))
    elif change == 3:
        place = rng.randrange(len(old) + 1)
        arguments[index] = old[:place] + rng.choice(_WORDS) + old[place:]
    elif change == 4 and old:
        place = rng.randrange(len(old))
        arguments[index] = old[:place] + old[place + 1 :]
    else:
        arguments.append(old)
    arguments[:] = [one.replace("\x00", "\\0") for one in arguments]  # no shell passes a NUL on
    return f"argument {index} {old[:40]!r}: change {change}"


def _damage_file(rng: random.Random, path: Path) -> str:
    if path.stem in (*_FILES, "verdicts") and rng.random() < 0.6:
        return _damage_rows(rng, path)
    content = path.read_bytes() if path.is_file() else b""
    change = rng.randrange(9)
    place, other = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
    if change == 0:
        content = content[:place] + rng.choice(_BYTES) + content[place:]
    elif change == 1:
        content = content[:place] + content[min(other, place + 40) :]
    elif change == 2:
        content = content[:place]
    elif change == 3:
        content = content[:place] + content[place:other] * 2 + content[other:]
    elif change == 4 and content:
        content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
    elif change == 5:
        content = content.decode("utf-8", "replace").encode(
            rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "cp1252", "utf-32")), "replace"
        )
    elif change == 6:
        lines = content.split(b"\n")
        rng.shuffle(lines)
        content = b"\n".join(lines)
    elif change == 7:
        content = rng.choice((b"", b"\n", b"\x1f\x8b\x08", b"PAR1", b"{}", b"[]", b"PK\x03\x04", _DEEP.encode()))
    else:
        content = content.replace(rng.choice((b'"', b",", b"=", b"1", b"e")), rng.choice(_BYTES), 1)
    path.write_bytes(content)
    return f"{path.name}: bytes, change {change}"


def _damage_rows(rng: random.Random, path: Path) -> str:
    kind = path.name.partition(".")[0]
    made: dict[str, Callable[[], list[Row]]] = {
        "problems": problems,
        "suite": suite,
        "answers": answers,
        "other": lambda: answers("n", 1),
    }
    rows = made.get(kind, lambda: [{"id": "0.1", "verdict": "yes"}])()
    row, change = rng.randrange(len(rows)), rng.randrange(9)
    name = rng.choice(list(rows[row]))
    if change == 0:
        rows[row][name] = rng.choice(_VALUES)
    elif change == 1:
        del rows[row][name]
    elif change == 2:
        rows[row] = dict(rows[rng.randrange(len(rows))])
    elif change == 3:
        new = rng.choice(_NAMES)
        rows = [{(new if old == name else old): value for old, value in one.items()} for one in rows]
    elif change == 4:
        value, new = rng.choice(_VALUES), rng.choice(_NAMES)
        rows = [{**one, new: value} for one in rows]
    elif change == 5:
        rows = [{old: value for old, value in one.items() if old != name} for one in rows]
    elif change == 6:
        values = [rng.choice(_VALUES) for _ in rows]
        rows = [{**one, name: value} for one, value in zip(rows, values, strict=True)]
    elif change == 7:
        rows = rng.choice(([], rows[:1], rows * 2, rows[::-1]))
    else:
        rows = [{**one, name: str(one.get(name)).swapcase()} for one in rows]
    write_table(path, rows)
    return f"{path.name}: rows, change {change} of {name!r}"


# What must hold after every command


def snapshot(place: Path) -> dict[str, str]:
    """Every file with a digest of its content."""
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


_EMPTY = hashlib.sha256(b"").hexdigest()
#: What a command may create or replace: what its -o and the like name, and what documents say it leaves beside them.
_OWN = ("out", "done/", "page.html", "notes.jsonl", "left.csv", "rejected.jsonl", "runs/")


def wrongs(case: Case, place: Path, code: int, stderr: str, leftovers: list[str]) -> list[str]:
    """What the command did wrong, in words; nothing if it behaved."""
    found = []
    if code not in (0, 1, 2):
        found.append(f"exit code {code}")
    if "Traceback" in stderr or 'File "' in stderr:
        found.append("a traceback")
    if code == 2 and not stderr.strip():
        found.append("exit code 2 without a word")
    after = snapshot(place)
    named = {word for word in case.arguments if not word.startswith("-")}
    for name, content in case.before.items():
        own = name == "out.jsonl" or name.startswith("done/") or (name == "cache.sqlite" and code == 0)
        own = own or (content == _EMPTY and name == _after(case.arguments, "--cache"))  # it may become one
        if after.get(name) == content or own:
            continue
        found.append(f"{name} was {'changed' if name in after else 'deleted'}")
    for name in after.keys() - case.before.keys():
        chosen = any(name == word or name.startswith(f"{word}/") for word in named)
        chosen = chosen or name.startswith(_after(case.arguments, "--cache") or "\0")  # whatever it is called
        if not name.startswith(_OWN) and not chosen and not name.startswith("__pycache__"):
            found.append(f"{name} appeared")
        if name.endswith((".part", ".tmp")) or ".taking-in" in name:
            found.append(f"{name} was left behind")
    if code == 2 and case.before.get("out.jsonl") != after.get("out.jsonl") and case.arguments[0] != "run":
        found.append("exit code 2, but out.jsonl was written")
    if "out.jsonl" in after and after["out.jsonl"] != case.before.get("out.jsonl"):
        found += _unreadable(place / "out.jsonl")
    return [*found, *(f"temporary file {name}" for name in leftovers)]


def _after(arguments: list[str], option: str) -> str:
    return next((value for name, value in itertools.pairwise(arguments) if name == option), "")


def _unreadable(path: Path) -> list[str]:
    try:
        for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
            json.loads(line)
    except ValueError as error:
        return [f"{path.name} cannot be read: {error}"]
    return []


def clear(place: Path) -> None:
    """Empty a folder for the next case."""
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
