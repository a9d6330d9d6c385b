"""Make what the equivalence judge is trained on: pairs of sentences that say the same, and pairs that do not.

    data.py nli_data.parquet OUT select      which rows and sentences of SNLI and MNLI
    data.py nli_data.parquet OUT edits       sentences broken and reworded by script (edits.py)
    data.py nli_data.parquet OUT rules       reworded by structural.v2 and wordnet.v2
    data.py nli_data.parquet OUT pack        all of it in OUT/judge.json.xz

Only the splits `dev` and `train_not_in_sample` are used, without any row that shares a text with a test split. A tenth
of the premises, and every sentence that occurs with them, is held out.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import edits
import polars as pl

from otherwords.grammar.equivalences import EQUIVALENCES, sound_rewritings
from otherwords.grammar.parsing import ParseTree, parser

SEED = 20_261_117
#: Rows per data set, and sentences of them that are changed by script and by the package's rules.
ROWS = {"snli": 8_000, "mnli": 9_000}
EDITED, RULED, FILLED = 16_000, 3_000, 4_000
LONGEST = 150
#: At most so many changes of a kind a sentence; the rarer kinds are never left out.
MOST = {"dropped": 1, "added": 1, "negation": 1, "noun": 1, "hypernym": 1, "entity": 1, "opposite": 1, "role": 2}
RARE = ("order", "quantifier", "number", "role", "modifier moved", "converse", "clause fronted", "conjuncts", "there")


def normal(text: str) -> str:
    """A text without its case and spacing."""
    return " ".join(text.lower().split())


def held_out(text: str) -> bool:
    """Whether a premise is among the tenth that is not trained on."""
    return hashlib.sha256(normal(text).encode()).digest()[0] < 26


def select(table: Path, out: Path) -> None:
    """Write the chosen rows, and the sentences that are changed."""
    every = pl.read_parquet(table).filter(pl.col("premise").is_not_null(), pl.col("hypothesis").is_not_null())
    test = every.filter(pl.col("split") == "test")
    tested = {normal(text) for name in ("premise", "hypothesis") for text in test[name]}
    rng = random.Random(SEED)
    rows: list[dict[str, Any]] = []
    for dataset, count in ROWS.items():
        own = every.filter(pl.col("split") != "test", pl.col("dataset") == dataset, pl.col("label") != "-").sort(
            "split", "i"
        )
        fit = [row for row in own.to_dicts() if usable(row, tested)]
        rows += rng.sample(fit, min(count, len(fit)))
        print(dataset, len(fit))
    kept = [{"a": clean(row["premise"]), "b": clean(row["hypothesis"]), "label": row["label"], "data": row["dataset"],
             "test": held_out(row["premise"])} for row in rows]  # fmt: skip
    sides: dict[str, set[bool]] = defaultdict(set)
    for row in kept:
        for text in (row["a"], row["b"]):
            sides[text].add(row["test"])
    kept = [row for row in kept if len(sides[row["a"]]) == 1 and len(sides[row["b"]]) == 1]
    texts = [text for text, side in sides.items() if len(side) == 1 and 4 <= len(text.split()) <= 24]
    rng.shuffle(texts)
    write(
        out / "rows.json", {"rows": kept, "edited": texts[:EDITED], "test": {t: min(sides[t]) for t in texts[:EDITED]}}
    )
    print(len(kept), len(texts))


def usable(row: dict[str, Any], tested: set[str]) -> bool:
    """Whether both texts are of a fit length, and in no test split."""
    texts = (row["premise"], row["hypothesis"])
    return all(8 < len(text) <= LONGEST and normal(text) not in tested and text.isascii() for text in texts)


def clean(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def make_edits(out: Path) -> None:
    """Write changes by script of the chosen sentences, and sentences in which anybody may have done it."""
    data = read(out / "rows.json")
    rng, corpus, parse = random.Random(SEED), edits.Corpus(), parser()
    trees = [ParseTree(text, nodes) for text, nodes in zip(data["edited"], parse(data["edited"]), strict=True)]
    for tree in trees:
        corpus.add(tree)
    somebody = sorted({found for tree in trees if (found := edits.person(tree, rng))})
    new = {text: data["test"][tree.text] for tree in trees * 3 if (text := edits.filled(tree, somebody, rng))}
    chosen = dict(rng.sample(sorted(new.items()), min(FILLED, len(new))))
    more = [ParseTree(text, nodes) for text, nodes in zip(chosen, parse(list(chosen)), strict=True)]
    with (out / "edits.jsonl").open("w", encoding="utf-8") as file:
        for tree in trees + more:
            made = tree.text in chosen
            bad = some(tree, list(edits.broken(tree, corpus, rng)), 5, rng)
            if made:
                bad = [one for one in bad if one[0] in ("role", "negation", "order", "modifier moved", "noun")]
            good = some(tree, list(edits.reworded(tree, rng)), 4, rng)
            test = chosen[tree.text] if made else data["test"][tree.text]
            file.write(json.dumps({"text": tree.text, "test": test, "made": made, "bad": bad, "good": good}) + "\n")


def some(tree: ParseTree, changes: list[edits.Change], most: int, rng: random.Random) -> list[Any]:
    """Some of the changes of a sentence, rare kinds first, each new text once."""
    rng.shuffle(changes)
    changes.sort(key=lambda one: one.kind not in RARE)
    kinds: dict[str, int] = defaultdict(int)
    texts, kept = {tree.text}, []
    for one in changes:
        text = one.apply(tree.text)
        if kinds[one.kind] < MOST.get(one.kind, 2) and text not in texts and len(text) > 5:
            kinds[one.kind] += 1
            texts.add(text)
            kept.append([one.kind, [list(edit) for edit in one.edits]])
    return kept[:most]


def make_rules(out: Path) -> None:
    """Write what the package's own rules make of some sentences, and of those with exchanged roles."""
    import otherwords as ow

    lines = [json.loads(line) for line in (out / "edits.jsonl").read_text().splitlines()]
    rng = random.Random(SEED)
    swapped = []
    for line in lines:
        roles = [change for kind, change in line["bad"] if kind == "role"]
        swapped += [(line["text"], edits.tidied(line["text"], [tuple(one) for one in roles[0]]))] if roles else []
    own = [line["text"] for line in lines if line["made"]]
    plain = rng.sample([line["text"] for line in lines if not line["made"]], RULED)
    swapped = rng.sample(swapped, min(3_000, len(swapped)))
    with (out / "rules.jsonl").open("w", encoding="utf-8") as file:
        texts = [*own, *(new for _, new in swapped), *plain]
        origin = dict(zip((new for _, new in swapped), (old for old, _ in swapped), strict=True))
        for start in range(0, len(texts), 250):
            part = texts[start : start + 250]
            found = sound_rewritings(part, list(EQUIVALENCES), parser())
            for text, (sound, _) in zip(part, found, strict=True):
                for one in sound[:3]:
                    write_line(file, origin.get(text, text), one.apply(text), one.how, text in origin)
        rows = [
            {"id": str(at), "premise": text, "hypothesis": "x", "label": "neutral"} for at, text in enumerate(plain)
        ]
        made = ow.vary(pl.DataFrame(rows), ["wordnet.v2(pos=all,n=2,changes=2,field=premise)"])
        for row in made.iter_rows(named=True):
            write_line(file, plain[int(row["of"])], row["premise"], "wordnet", False)


def write_line(file: Any, old: str, new: str, how: str, bad: bool) -> None:
    """One variant; `bad` where the roles were exchanged first."""
    if new != old:
        file.write(json.dumps({"text": old, "new": new, "how": how, "bad": bad}) + "\n")
        file.flush()


def pack(out: Path) -> None:
    """Write everything as one compressed file."""
    data = read(out / "rows.json")
    texts = sorted({row[name] for row in data["rows"] for name in ("a", "b")})
    place = {text: at for at, text in enumerate(texts)}
    label = {"entailment": 0, "neutral": 1, "contradiction": 2}
    lines = [json.loads(line) for line in (out / "edits.jsonl").read_text().splitlines()]
    ruled: dict[str, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for line in map(json.loads, (out / "rules.jsonl").read_text().splitlines()):
        ruled[line["text"]][line["bad"]].append([line["how"], short(line["text"], line["new"])])
    groups = []
    for line in lines:
        good, bad = ruled[line["text"]]
        groups.append(
            {
                "t": place.get(line["text"], line["text"]),
                "h": int(line["test"]),
                "g": line["good"] + good[:4],
                "b": line["bad"] + [["role", one] for _, one in bad[:2]],
            }
        )
    rows = [[place[row["a"]], place[row["b"]], label[row["label"]]] for row in data["rows"]]
    packed = {"texts": texts, "rows": rows, "groups": groups}
    raw = json.dumps(packed, separators=(",", ":")).encode()
    (out / "judge.json.xz").write_bytes(lzma.compress(raw, preset=9))
    print(len(raw), (out / "judge.json.xz").stat().st_size, len(groups))


def short(old: str, new: str) -> list[list[Any]]:
    """The edits from one text to another: one stretch."""
    return [list(one) for one in edits.difference(old, new)]


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, what: Any) -> None:
    """A JSON file."""
    path.write_text(json.dumps(what), encoding="utf-8")


def main() -> None:
    """Do one step."""
    table, out, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    out.mkdir(parents=True, exist_ok=True)
    if step == "select":
        select(table, out)
    else:
        {"edits": make_edits, "rules": make_rules, "pack": pack}[step](out)


if __name__ == "__main__":
    main()
