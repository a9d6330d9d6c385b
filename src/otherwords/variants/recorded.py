"""Variants that exist already, in a file: rewordings written by people, or by another tool."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..datasets import checklist, nl_augmenter, textattack
from ..datasets.records import Record
from ..datasets.rewordings import Rewording, read_json, text_key, with_reasons
from ..datasets.source import ENDINGS, plain_records
from ..errors import BadInput, UnknownName, shorten
from ..problem import Problem, Task, Variant, label_key
from ..registry import generators
from ..storage.files import Scratch, fingerprint, seed_for

# MERGED from variants.formats: Which tool wrote a file of rewordings: the user says so, or the file's columns and keys do.

#: The toolkit's own layout: a table whose rows name their original in `of`.
NATIVE = "table"
#: Other tools' layouts, and how each is read.
READERS: dict[str, Callable[[Path], Iterator[Rewording]]] = {
    "textattack": textattack.rewordings,
    "nl-augmenter": nl_augmenter.rewordings,
    "checklist": checklist.rewordings,
}


def recognised(path: Path, said: str = "") -> str:
    """The format of a file: what was said, else what its content shows."""
    if said:
        name = said.replace("_", "-")
        if name not in (NATIVE, *READERS):
            raise UnknownName(f"no format {said!r}; there are {_listed()}")
        return name
    found = list(_seen(path))
    if len(found) == 1:
        return found[0]
    message = f"could be any of {', '.join(found)}" if found else "has a format unknown here"
    fix = "use .jsonl, .csv, .tsv or .parquet with a column `of`, or name the tool that wrote it"
    raise BadInput(message, where=str(path), fix=f"{fix}: format= {_listed()}")


def _seen(path: Path) -> Iterator[str]:
    if path.suffix.lower() == ".json":
        yield from _seen_in_json(path)
    elif path.suffix in ENDINGS:
        columns = _columns(path) if path.suffix == ".csv" else set()
        if {"original_text", "perturbed_text"} <= columns:
            yield "textattack"
            if "of" in columns:
                yield NATIVE
        else:
            yield NATIVE
    elif _is_pickle(path):
        yield "checklist"  # which will say what to do with it


def _seen_in_json(path: Path) -> Iterator[str]:
    content = read_json(path)
    tests = content.values() if isinstance(content, dict) else ()
    if isinstance(content, dict) and "test_cases" in content:
        yield "nl-augmenter"
    if any(isinstance(test, dict) and "data" in test and "type" in test for test in tests):
        yield "checklist"


def _columns(path: Path) -> set[str]:
    if not path.is_file():
        return set()  # the reader will say so
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return set(next(csv.reader(file), ()))


def _is_pickle(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"\x80"


def _listed() -> str:
    return ", ".join((NATIVE, *READERS))


# MERGED from variants.book: A file of rewordings sorted by original, on disk, so that memory stays flat whatever its size.

Entry = tuple[str, str, str]
#: Columns that say that a variant is no rewording, which a recorded one is.
_MARKS = ("contrast", "control")


class Found(NamedTuple):
    """A row that rewords some problem: its number among the variants of the file, its place there, what it says."""

    number: int
    place: str
    row: dict[str, Any]


def opened(path: Path, said: str = "") -> Book:
    """The book of a file. A run makes its generators more than once: the same content is sorted, and told of, once."""
    return _opened(path, said, fingerprint(path) if path.is_file() or path.is_dir() else "")


class Book:
    """Rows by the original they reword: by its id where the file has it, else by its texts."""

    def __init__(self, path: Path, said: str = "") -> None:
        self.path, self.format = path, recognised(path, said)
        self._fields: set[tuple[str, ...]] = set()  # which texts originals are known by, in this file
        self._rows = Scratch()
        self._rows.execute("create table recorded (original text, place text, row text)")
        self._rows.execute("begin")
        entries = map(_by_id, _rows(path)) if self.format == NATIVE else self._by_text()
        self._rows.executemany("insert into recorded values (?, ?, ?)", entries)
        self._rows.execute("create index by_original on recorded (original)")

    def find(self, problem: Problem) -> Iterator[Found]:
        """The rows that reword a problem."""
        yield from self._look_up(f"id {problem.id}")
        for names in sorted(self._fields):
            if names == ("",):
                for target in problem.task.targets:
                    yield from self._look_up(_key({"": problem.text[target]}), target)
            elif set(names) <= set(problem.task.fields):
                yield from self._look_up(_key({name: problem.text[name] for name in names}))

    def __len__(self) -> int:
        return int(self._rows.execute("select count(*) from recorded").fetchone()[0])

    def _look_up(self, key: str, target: str = "") -> Iterator[Found]:
        query = "select rowid, place, row from recorded where original = ? order by rowid"
        for number, place, text in self._rows.execute(query, (key,)).fetchall():
            row = json.loads(text)
            if target:
                row[target] = row.pop("")
            yield Found(number, place, row)

    def _by_text(self) -> Iterator[Entry]:
        for one in with_reasons(READERS[self.format](self.path), self.path):
            if one.error:
                raise BadInput(one.error, where=one.where, fix="repair the entry, or leave it out")
            if not one.reason:
                label = {} if one.label is None else {"label": one.label}
                row = _unmarked({**one.extra, **one.reworded, **label}, one.where)
                yield self._entry(one), one.where, json.dumps(row, default=str)

    def _entry(self, one: Rewording) -> str:
        if one.of:
            return f"id {one.of}"
        self._fields.add(tuple(sorted(one.original)))
        return _key(one.original)


@lru_cache(maxsize=4)
def _opened(path: Path, said: str, content: str) -> Book:
    return Book(path, said)


def _key(texts: Mapping[str, str]) -> str:
    return f"text {text_key(texts)}"


def _rows(path: Path) -> Iterator[Record]:
    """The rows of a table of our own; between commas and tabs, nothing is how a row lacks a field."""
    lacks_nothing = path.suffix.lower() not in (".csv", ".tsv")
    for record in plain_records(path):
        row = record.row if lacks_nothing else {name: value for name, value in record.row.items() if value != ""}
        yield record._replace(row=row)


def _by_id(record: Record) -> Entry:
    original = "" if record.row.get("of") is None else str(record.row["of"]).strip()
    if not original:
        raise BadInput("found nothing", where=record.where, field="of", fix="name the original's id")
    return f"id {original}", record.where, json.dumps(_unmarked(record.row, record.where), default=str)


def _unmarked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row without the marks of contrasts and controls, which must be empty."""
    for name in _MARKS:
        if row.get(name) is not None and str(row[name]).strip():
            fix = "a recorded row is a rewording: contrasts come with their originals, as data (--data), controls too"
            raise BadInput(f"found {shorten(row[name])}", where=where, field=name, fix=f"{fix}; else rename the column")
    return {name: value for name, value in row.items() if name not in _MARKS}


# MERGED from variants.pairing: Two targets, reworded apart: paraphrases of a-NLI's two hypotheses are paired at random within whoever wrote them.

#: Who wrote a row; the first of these that it has. NL-Augmenter's files say `transformation`, CheckList's `test`.
COLUMNS = ("worker", "annotator", "generator", "transformation", "test")
Row = Mapping[str, Any]


def pairs(ones: Sequence[str], others: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Pair each of the more numerous side once; the fewer are all used, and then drawn from again.

    Neither side's order matters.

    >>> pairs(["a", "b", "c"], ["x", "y"], seed=1)
    [('a', 'x'), ('b', 'y'), ('c', 'y')]
    """
    if not ones or not others:
        raise BadInput("one side is empty", fix="pair what has at least one text on either side")
    random = Random(seed)
    size = max(len(ones), len(others))
    first, second = (_drawn(sorted(side), size, random) for side in (ones, others))
    return sorted(zip(first, second, strict=True))


def paired(rows: Iterable[Row], problem: Problem, column: str, seed: int) -> list[Row]:
    """Rows that reword one of two targets, paired within `column`; all others stay as they are, and come first.

    A row whose writer reworded only the one target stays, too: there is nothing to pair it with.
    """
    whole: list[Row] = []
    halves: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        target = _only_target(row, problem)
        writer = _writer(row, problem, column) if target else None
        if target is None or writer is None:
            whole.append(row)
        else:
            sides = halves.setdefault(writer, {name: [] for name in problem.task.targets})
            sides[target].append(_half(row, target, problem))
    for writer, sides in sorted(halves.items()):
        whole += _joined(sides, problem.task, seed_for(seed, *writer))
    return whole


def chooses(task: Task) -> bool:
    """Whether the answer is one of two targets, as in a-NLI."""
    return len(task.targets) == 2 and set(task.targets) == set(task.labels)


def _drawn(side: list[str], size: int, random: Random) -> list[str]:
    return random.sample(side, len(side)) + random.choices(side, k=size - len(side))


def _only_target(row: Row, problem: Problem) -> str | None:
    """The one target that a row rewords, and all that it does; None where there is more, or nothing."""
    changed = [name for name, text in problem.text.items() if not _same(row.get(name), text)]
    return changed[0] if len(changed) == 1 and changed[0] in problem.task.targets else None


def _same(text: str | None, original: str) -> bool:
    """Whether a row leaves a field alone: it lacks it, or changes no more than white space."""
    return text is None or text.split() == original.split()


def _writer(row: Row, problem: Problem, column: str) -> tuple[str, str] | None:
    """Who wrote a row: which column says so, and what it says; a worker 7 is not the generator 7."""
    if column and row.get(column) is None:
        fix = "fill it in, or leave rows as they are with pair=none"
        raise BadInput("found nothing", where=f"a rewording of {problem.id!r}", field=column, fix=fix)
    found = [(name, str(row[name])) for name in ([column] if column else COLUMNS) if row.get(name) is not None]
    return found[0] if found else None


def _half(row: Row, target: str, problem: Problem) -> str:
    """A row as text that can be sorted: the one target, and what is told about it."""
    left_out = {*problem.task.fields, "of", "how", "label", "cluster"} - {target}
    told = {name: value for name, value in row.items() if value is not None and name not in left_out}
    return json.dumps(told, sort_keys=True, default=str)


def _joined(sides: dict[str, list[str]], task: Task, seed: int) -> list[Row]:
    one, other = (sides[name] for name in task.targets)
    if not one or not other:
        return [json.loads(text) for text in sorted(one + other)]
    return [_merged(json.loads(a), json.loads(b), task) for a, b in pairs(one, other, seed)]


def _merged(one: dict[str, Any], other: dict[str, Any], task: Task) -> Row:
    """Both rows in one: what they agree on as it is, ids joined, the rest under each target's name."""
    first, second = task.targets
    row = {name: value for name, value in {**one, **other}.items() if one.get(name, value) == other.get(name, value)}
    for name in sorted((one.keys() & other.keys()) - row.keys() - {"id"}):
        row |= {f"{name}_{first}": one[name], f"{name}_{second}": other[name]}
    row.pop("id", None)  # one id alone would occur as often as its row is drawn
    return {**row, "id": f"{one['id']}+{other['id']}"} if "id" in one and "id" in other else row


# MERGED from variants.recorded: Variants that exist already, in a file: rewordings written by people, or by another tool.

#: The rewordings of the bundled problems.
EVERYDAY = Path(__file__).parents[1] / "assets" / "everyday_rewordings.jsonl"


@generators("recorded.v1")
def recorded(path: Path = EVERYDAY, format: str = "", pair: str = "") -> Any:  # noqa: A002 (the user's word)
    """Variants recorded in a file with `of` and the reworded fields (default: those of the bundled problems).

    Fields that a row lacks stay as in the original; other columns come along. `format` names another tool's layout
    (textattack, nl-augmenter, checklist), which is otherwise told by the file; where that has no ids, its rows are
    matched by their original texts. Rows that change nothing but white space are no variants; nor are those of another
    tool that name another of the task's labels. Where a problem is a choice of two targets, rows that reword only one
    of them are paired at random within their writer, the column `pair` (by default worker, annotator, generator,
    transformation or test; none: not at all).
    """
    return Recorded(opened(path, format), pair)


class Recorded:
    """The generator of one file.

    `left_out` counts, by reason, the rows that are no variants of their problem; `unmatched` says how many rows of
    another tool's file found no problem.
    """

    def __init__(self, book: Book, pair: str = "") -> None:
        self._book, self._pair = book, pair
        self._met: set[int] | None = None if book.format == NATIVE else set()
        self._given = 0
        self.left_out: Counter[str] = Counter()

    def __call__(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        """Give the variants of each problem, in the file's order, pairs after them."""
        for problem, seed in zip(problems, seeds, strict=True):
            self._given += 1
            yield from self._variants(problem, seed)

    def unmatched(self, problems: int) -> int | None:
        """How many rows of another tool's file reworded none of so many problems.

        None for tables: their rows name their originals, and may well be about other problems, too. None also where not
        all problems were given to this very process.
        """
        return None if self._met is None or self._given < problems else len(self._book) - len(self._met)

    def _variants(self, problem: Problem, seed: int) -> Iterator[Variant]:
        found = self._find(problem)
        variants = [_variant(problem, one.place, one.row) for one in found]
        if self._pair != "none" and chooses(problem.task):
            rows = paired([one.row for one in found], problem, self._pair, seed)
            variants = [_variant(problem, f"a rewording of {problem.id!r}", row) for row in rows]
        for variant in variants:
            if _says_the_same(variant, problem):
                self.left_out["unchanged"] += 1
            else:
                yield variant

    def _find(self, problem: Problem) -> list[Found]:
        """The rows on a problem. Another tool's labels may be numbers of its own; names of ours must agree."""
        found = list(self._book.find(problem))
        if self._met is None:
            return found
        self._met.update(one.number for one in found)
        agreeing = [one for one in found if not _contradicts(one.row, problem)]
        self.left_out["with another label"] += len(found) - len(agreeing)
        return [one._replace(row={k: v for k, v in one.row.items() if k != "label"}) for one in agreeing]


def _variant(problem: Problem, where: str, row: Mapping[str, Any]) -> Variant:
    text = {name: row[name] for name in problem.task.fields if row.get(name) is not None}
    if not text:
        fix = f"name at least one of {', '.join(problem.task.fields)}"
        raise BadInput(f"rewords nothing: there are {', '.join(row)}", where=where, fix=fix)
    if wrong := [name for name, value in text.items() if not isinstance(value, str)]:
        raise BadInput("is not text", where=where, field=wrong[0])
    if row.get("label") is not None and label_key(row["label"]) != label_key(problem.label):
        found = f"found {row['label']!r} but the original {problem.id!r} says {problem.label!r}"
        raise BadInput(found, where=where, field="label", fix="a variant keeps the label of its original")
    known = {*problem.task.fields, "id", "of", "how", "label", "cluster"}
    extra = {**problem.extra, **{name: value for name, value in row.items() if name not in known}}
    variant = problem.restate(**text)
    return Variant(str(row.get("id") or ""), problem.task, variant.text, problem.label, extra, of=problem.id)


def _contradicts(row: Mapping[str, Any], problem: Problem) -> bool:
    """Whether a row names one of the task's labels, and it is not the problem's."""
    return label_key(row.get("label")) in {*map(label_key, problem.task.labels)} - {label_key(problem.label)}


def _says_the_same(variant: Variant, problem: Problem) -> bool:
    """Whether no more than white space has changed."""
    return all(variant.text[name].split() == text.split() for name, text in problem.text.items())
