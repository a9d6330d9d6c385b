"""Variants recorded in a file: rewordings by people, or by another tool."""

from __future__ import annotations

import csv
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl

from ..datasets import checklist, nl_augmenter, textattack
from ..datasets.records import Record
from ..datasets.rewordings import RecordedRewording, read_json, text_key, with_reasons
from ..datasets.source import ENDINGS, plain_records
from ..errors import BadInput, UnknownName, shorten
from ..frames import KINDS, MARKS, main_columns
from ..problem import Problem, Task, Variant, changed_fields, label_key, normalize_spaces
from ..registry import generators
from ..storage.files import Scratch, fingerprint, seed_for
from ..storage.tables import separator_of
from .generating import Generator

#: The rewordings of the bundled problems.
EVERYDAY = Path(__file__).parents[1] / "assets" / "everyday_rewordings.jsonl"
#: The toolkit's own layout: a table whose rows name their original in `of`.
NATIVE = "table"
#: Other tools' layouts, and how each is read.
READERS: dict[str, Callable[[Path], Iterator[RecordedRewording]]] = {
    "textattack": textattack.rewordings,
    "nl-augmenter": nl_augmenter.rewordings,
    "checklist": checklist.rewordings,
}
#: Who wrote a row; the first of these that it has. NL-Augmenter's files say `transformation`, CheckList's `test`.
WRITERS = ("worker", "annotator", "generator", "transformation", "test")
#: A row by column.
Cells = Mapping[str, Any]
#: What was counted in some shards: problems, the places of rows that were used, and rows that were left out by reason.
Account = tuple[int, list[int], dict[str, int]]


@generators("recorded.v1")
def recorded(path: Path = EVERYDAY, format: str = "", pair: str = "") -> Any:  # noqa: A002 (the user's word)
    """Variants recorded in a file with `of` and the reworded fields (default: those of the bundled problems).

    Fields that a row lacks stay as in the original; other columns are kept. `format` names another tool's layout
    (textattack, nl-augmenter, checklist), which is otherwise recognised from the file; where that has no ids, its rows
    are matched by their original texts. Rows that change nothing but white space are no variants; nor are those of
    another tool that name another of the task's labels. Where a problem is a choice of two targets, rows that reword
    only one of them are paired at random within their writer, the column `pair` (by default worker, annotator,
    generator, transformation or test; none: not at all).
    """
    rows = _RecordedRows(open_book(path, format), pair)
    return Generator(
        rows.vary, left_out=rows.left_out, unmatched=rows.unmatched, columns=rows.columns, drain=rows.drain,
        merge=rows.merge,
    )  # fmt: skip


class _RecordedRows:
    """Makes variants from the rows of one file, and counts the rows that give none."""

    def __init__(self, book: Book, pair: str = "") -> None:
        self._book, self._pair = book, pair
        self._used = bytearray(len(book))  # a byte for each row: 1 where it rewords a problem
        self._given = 0
        self.left_out: Counter[str] = Counter()
        self._new = array("L")  # the places of rows that were used since the last `drain`
        self._merged = (0, Counter(self.left_out))

    def vary(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        """Give the variants of each problem, in the file's order, pairs after them."""
        for problem, seed in zip(problems, seeds, strict=True):
            self._given += 1
            for variant in self._variants(problem, seed):
                if changed_fields(problem, variant):
                    yield variant
                else:
                    self.left_out["unchanged"] += 1

    def columns(self, rows: pl.DataFrame, task: Task) -> pl.DataFrame | None:
        """The same for a table of problems, where the file has its originals' ids and all its rows are in order."""
        if self._book.format != NATIVE or (self._pair != "none" and _is_choice(task)):
            return None
        places, numbers, recorded = self._book.find_all(rows["of"])
        some = rows[pl.Series(places, dtype=pl.UInt32)]
        made = _as_columns(some, recorded, task)
        if made is None:
            return None
        pairs = [zip(made[name], some[name], strict=True) for name in task.fields]
        same = [all(_says_the_same(*pair) for pair in row) for row in zip(*pairs, strict=True)]
        self._given += rows.height
        self._use(numbers)
        if not any(same):
            return made
        self.left_out["unchanged"] += sum(same)  # and the columns that only such rows have are none of the variants'
        changed = [cells for cells, one in zip(recorded, same, strict=True) if not one]
        return _as_columns(some.filter(~pl.Series(same, dtype=pl.Boolean)), changed, task)

    def unmatched(self, problems: int) -> tuple[int, str] | None:
        """How many rows reworded none of so many problems, and which is the first.

        None for the bundled rewordings, which may well meet a part of the bundled problems. None also where not all
        problems were given to this very process.
        """
        if self._given < problems or self._book.path == EVERYDAY:
            return None
        count = self._used.count(0)
        return count, self._book.describe(self._used.index(0) + 1) if count else ""

    def _use(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._used[number - 1] = 1
            self._new.append(number - 1)

    def drain(self) -> Account:
        """What was counted since the last `merge`; it no longer counts here."""
        given, left_out = self._merged
        account: Account = (self._given - given, self._new.tolist(), dict(self.left_out - left_out))
        self._given, self._new = given, array("L")
        self.left_out.subtract(account[2])
        for place in account[1]:
            self._used[place] = 0
        return account

    def merge(self, account: Account | None) -> None:
        """Count what this copy, or another, has counted and given away."""
        given, used, left_out = account or (0, (), {})
        self._given += given
        self.left_out.update(left_out)
        for place in used:
            self._used[place] = 1
        self._merged = self._given, Counter(self.left_out)

    def _variants(self, problem: Problem, seed: int) -> list[Variant]:
        rows = self._rows(problem)
        variants = [_variant(problem, one.where, one.cells) for one in rows]  # which refuses a wrong row at its place
        if self._pair == "none" or not _is_choice(problem.task):
            return variants
        joined = paired([one.cells for one in rows], problem, self._pair, seed)
        return [_variant(problem, f"a rewording of {problem.id!r}", cells) for cells in joined]

    def _rows(self, problem: Problem) -> list[RecordedRow]:
        """The rows on a problem. Another tool's labels may be its own numbers; our label names must agree."""
        rows = list(self._book.find(problem))
        self._use(one.number for one in rows)
        if self._book.format == NATIVE:
            return rows
        agreeing = [one for one in rows if not _contradicts(one.cells, problem)]
        self.left_out["with another label"] += len(rows) - len(agreeing)
        return [one._replace(cells={k: v for k, v in one.cells.items() if k != "label"}) for one in agreeing]


def _variant(problem: Problem, where: str, cells: Cells) -> Variant:
    text = {name: cells[name] for name in problem.task.fields if cells.get(name) is not None}
    if not text:
        fix = f"give at least one of {', '.join(problem.task.fields)}"
        raise BadInput(f"has no reworded field; found {', '.join(cells)}", where=where, fix=fix)
    if wrong := [name for name, value in text.items() if not isinstance(value, str)]:
        raise BadInput("is not text", where=where, field=wrong[0])
    if None not in (problem.label, cells.get("label")) and label_key(cells["label"]) != label_key(problem.label):
        message = f"found {cells['label']!r} but the original {problem.id!r} has {problem.label!r}"
        raise BadInput(message, where=where, field="label", fix="a variant keeps the label of its original")
    known = main_columns(problem.task)
    extra = {**problem.extra, **{name: value for name, value in cells.items() if name not in known}}
    texts = problem.restate(**text).text
    return Variant(str(cells.get("id") or ""), problem.task, texts, problem.label, extra, of=problem.id)


def _says_the_same(text: str | None, other: str | None) -> bool:
    return text == other or normalize_spaces(text) == normalize_spaces(other)


def _as_columns(rows: pl.DataFrame, recorded: Sequence[Cells], task: Task) -> pl.DataFrame | None:
    """Rows with what is recorded in their places, as `_variant` has it; None where one of them must be looked at."""
    names = dict.fromkeys(name for cells in recorded for name in cells)
    texts = [name for name in task.fields if name in names]
    if any(all(cells.get(name) is None for name in texts) for cells in recorded):
        return None
    if "label" in names and not _labels_agree(rows["label"], recorded):
        return None
    made: dict[str, pl.Series] = {}
    for name in names:
        values = [cells.get(name) for cells in recorded]
        if name == "id":
            made[name] = pl.Series(name, [str(value or "") for value in values], dtype=pl.String)
        elif name not in ("of", "how", "label", "cluster"):
            before = rows[name] if name in rows.columns else pl.Series(name, [None] * rows.height)
            given = [cells.get(name) is not None if name in texts else name in cells for cells in recorded]
            column = _replaced(before, values, given)
            if column is None or (name in texts and column.dtype != pl.String):
                return None
            made[name] = column
    return rows.with_columns(**made)


def _replaced(before: pl.Series, values: list[Any], given: list[bool]) -> pl.Series | None:
    """A column with the values that are given in the place of those before; None where kinds would be mixed."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 or not kinds <= KINDS.keys():
        return None
    if kinds == {int} and any(value is not None and abs(value) >= 2**63 for value in values):  # which become text
        return None
    kind = next((KINDS[one] for one in kinds), before.dtype)
    if before.dtype not in (kind, pl.Null):
        return None
    column = pl.Series(before.name, values, dtype=kind)
    return column if all(given) else column.zip_with(pl.Series(given, dtype=pl.Boolean), before.cast(kind))


def _labels_agree(labels: pl.Series, recorded: Sequence[Cells]) -> bool:
    """Whether no row names another label than its original; one that has none agrees with any."""
    pairs = ((old, cells.get("label")) for old, cells in zip(labels, recorded, strict=True))
    distinct = {(old, str(new)) for old, new in pairs if None not in (old, new)}
    return all(label_key(old) == label_key(new) for old, new in distinct)


def _contradicts(cells: Cells, problem: Problem) -> bool:
    """Whether a row names one of the task's labels, and it is not the problem's; one without a label has none."""
    others = {label_key(label) for label in problem.task.labels} - {label_key(problem.label)}
    return problem.label is not None and label_key(cells.get("label")) in others


# The file, sorted by original on disk, so that memory stays flat whatever its size


class RecordedRow(NamedTuple):
    """A row that rewords some problem: its number among the rows of the file, its place there, and its cells."""

    number: int
    where: str
    cells: dict[str, Any]


class Book:
    """Rows by the original they reword: by its id where the file has it, else by its texts."""

    def __init__(self, path: Path, format: str = "") -> None:  # noqa: A002 (the user's word)
        self.path, self.format = path, recognise_format(path, format)
        self._fields: set[tuple[str, ...]] = set()  # the fields by whose texts originals are known in this file
        self._rows = Scratch()
        self._rows.execute("create table recorded (original text, place text, row text)")
        self._rows.execute("begin")
        entries = map(_entry_by_id, _table_rows(path)) if self.format == NATIVE else self._entries_by_text()
        self._rows.executemany("insert into recorded values (?, ?, ?)", entries)
        self._rows.execute("create index by_original on recorded (original)")

    def find(self, problem: Problem) -> Iterator[RecordedRow]:
        """The rows that reword a problem."""
        yield from self._look_up(f"id {problem.id}")
        for names in sorted(self._fields):
            if names == ("",):  # a tool that does not know fields: its text may be any target
                for target in problem.task.targets:
                    yield from self._look_up(_text_key({"": problem.text[target]}), target)
            elif set(names) <= set(problem.task.fields):
                yield from self._look_up(_text_key({name: problem.text[name] for name in names}))

    def find_all(self, ids: pl.Series) -> tuple[list[int], list[int], list[dict[str, Any]]]:
        """The rows that reword problems with these ids, in their order: places among the ids, numbers, and cells."""
        self._rows.execute("create temp table if not exists asked (place integer primary key, original text)")
        self._rows.execute("delete from asked")
        self._rows.executemany("insert into asked values (?, ?)", ((n, f"id {one}") for n, one in enumerate(ids)))
        query = """select asked.place, recorded.rowid, row from asked cross join recorded using (original)
                   order by asked.place, recorded.rowid"""
        found = self._rows.execute(query).fetchall()
        return [one[0] for one in found], [one[1] for one in found], [json.loads(one[2]) for one in found]

    def __len__(self) -> int:
        return int(self._rows.execute("select count(*) from recorded").fetchone()[0])

    def describe(self, number: int) -> str:
        """The row of this number by its place, and by the id of its original where it has one."""
        query = "select original, place from recorded where rowid = ?"
        original, place = self._rows.execute(query, (number,)).fetchone()
        return f"{place} (of {original.removeprefix('id ')!r})" if original.startswith("id ") else str(place)

    def _look_up(self, key: str, target: str = "") -> Iterator[RecordedRow]:
        query = "select rowid, place, row from recorded where original = ? order by rowid"
        for number, where, text in self._rows.execute(query, (key,)).fetchall():
            cells = json.loads(text)
            if target:
                cells[target] = cells.pop("")
            yield RecordedRow(number, where, cells)

    def _entries_by_text(self) -> Iterator[tuple[str, str, str]]:
        for one in with_reasons(READERS[self.format](self.path), self.path):
            if one.error:
                raise BadInput(one.error, where=one.where, fix="repair the entry, or leave it out")
            if not one.reason:
                label = {} if one.label is None else {"label": one.label}
                cells = _without_marks({**one.extra, **one.reworded, **label}, one.where)
                if not one.of:
                    self._fields.add(tuple(sorted(one.original)))
                key = f"id {one.of}" if one.of else _text_key(one.original)
                yield key, one.where, json.dumps(cells, default=str)


def open_book(path: Path, format: str = "") -> Book:  # noqa: A002 (the user's word)
    """The book of a file. A run makes its generators more than once: the same content is read, and warned of, once."""
    return _open_book(path, format, fingerprint(path) if path.is_file() or path.is_dir() else "")


@lru_cache(maxsize=4)
def _open_book(path: Path, format: str, content: str) -> Book:  # noqa: A002 (the user's word)
    return Book(path, format)


def _text_key(texts: Mapping[str, str]) -> str:
    return f"text {text_key(texts)}"


def _table_rows(path: Path) -> Iterator[Record]:
    """The rows of a table in our own layout; in CSV and TSV, an empty cell means that a row lacks the field."""
    keeps_empty = path.suffix.lower() not in (".csv", ".tsv")
    for record in plain_records(path):
        row = record.row if keeps_empty else {name: value for name, value in record.row.items() if value != ""}
        yield record._replace(row=row)


def _entry_by_id(record: Record) -> tuple[str, str, str]:
    original = "" if record.row.get("of") is None else str(record.row["of"]).strip()
    if not original:
        raise BadInput("found nothing", where=record.where, field="of", fix="give the id of the original")
    return f"id {original}", record.where, json.dumps(_without_marks(record.row, record.where), default=str)


def _without_marks(row: Cells, where: str) -> dict[str, Any]:
    """A row without the marks of contrasts and controls, which must be empty."""
    for name in MARKS:
        if row.get(name) is not None and str(row[name]).strip():
            fix = "recorded rows must be rewordings: give contrasts and controls as data (--data), with their originals"
            raise BadInput(f"found {shorten(row[name])}", where=where, field=name, fix=f"{fix}; or rename the column")
    return {name: value for name, value in row.items() if name not in MARKS}


# The format: named by the user, else recognised from the file's columns and keys


def recognise_format(path: Path, format: str = "") -> str:  # noqa: A002 (the user's word)
    """The format of a file: the one that is named, else the only one that its content allows."""
    listed = ", ".join((NATIVE, *READERS))
    if format:
        name = format.replace("_", "-")
        if name not in (NATIVE, *READERS):
            raise UnknownName(f"no format {format!r}; available: {listed}")
        return name
    possible = list(_possible_formats(path))
    if len(possible) == 1:
        return possible[0]
    message = f"could be any of {', '.join(possible)}" if possible else "has an unknown format"
    fix = "use .jsonl, .csv, .tsv or .parquet with a column `of`, or name the tool that wrote it"
    raise BadInput(message, where=str(path), fix=f"{fix}: format= {listed}")


def _possible_formats(path: Path) -> Iterator[str]:
    if path.suffix.lower() == ".json":
        content = read_json(path)
        tests = content.values() if isinstance(content, dict) else ()
        if isinstance(content, dict) and "test_cases" in content:
            yield "nl-augmenter"
        if any(isinstance(test, dict) and "data" in test and "type" in test for test in tests):
            yield "checklist"
    elif path.suffix in ENDINGS:
        columns = _csv_columns(path) if path.suffix == ".csv" else set()
        attack = {"original_text", "perturbed_text"} <= columns
        yield from ["textattack"] if attack else []
        yield from [NATIVE] if not attack or "of" in columns else []
    elif _is_pickle(path):
        yield "checklist"  # whose reader gives the way out


def _csv_columns(path: Path) -> set[str]:
    if not path.is_file():
        return set()  # the reader refuses it
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        separator = separator_of(file.readline().encode())
        file.seek(0)
        return set(next(csv.reader(file, delimiter=separator), ()))


def _is_pickle(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"\x80"


# Pairing: where the answer is one of two targets, as a-NLI's hypotheses, people reword each alone


def paired(rows: Iterable[Cells], problem: Problem, column: str, seed: int) -> list[Cells]:
    """Rows that reword one of two targets, paired within `column`; all others stay as they are, and come first.

    A row whose writer reworded only the one target stays, too: there is nothing to pair it with.
    """
    whole: list[Cells] = []
    halves: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cells in rows:
        target = _only_target(cells, problem)
        writer = _writer(cells, problem, column) if target else None
        if target is None or writer is None:
            whole.append(cells)
        else:
            sides = halves.setdefault(writer, {name: [] for name in problem.task.targets})
            sides[target].append(_half(cells, target, problem))
    for writer, sides in sorted(halves.items()):
        whole += _joined(sides, problem.task, seed_for(seed, *writer))
    return whole


def pairs(first: Sequence[str], second: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Pair each text of the longer list once; those of the shorter list are all used, then drawn again.

    Neither side's order matters.

    >>> pairs(["a", "b", "c"], ["x", "y"], seed=1)
    [('a', 'x'), ('b', 'y'), ('c', 'y')]
    """
    if not first or not second:
        raise BadInput("one of the two lists is empty", fix="give at least one text in each")
    random, size = Random(seed), max(len(first), len(second))
    drawn = [
        random.sample(sorted(side), len(side)) + random.choices(sorted(side), k=size - len(side))
        for side in (first, second)
    ]
    return sorted(zip(*drawn, strict=True))


def _is_choice(task: Task) -> bool:
    """Whether the answer is one of two targets."""
    return len(task.targets) == 2 and set(task.targets) == set(task.labels)


def _only_target(cells: Cells, problem: Problem) -> str | None:
    """The one target that a row rewords, if it rewords nothing else; a field that it lacks is left alone."""
    given = {name: text for name, text in problem.text.items() if cells.get(name) is not None}
    changed = [name for name, text in given.items() if normalize_spaces(cells[name]) != normalize_spaces(text)]
    return changed[0] if len(changed) == 1 and changed[0] in problem.task.targets else None


def _writer(cells: Cells, problem: Problem, column: str) -> tuple[str, str] | None:
    """Who wrote a row: the column and its value; a worker 7 is not the generator 7."""
    if column and cells.get(column) is None:
        fix = "fill it in, or keep rows unpaired with pair=none"
        raise BadInput("found nothing", where=f"a rewording of {problem.id!r}", field=column, fix=fix)
    writers = [(name, str(cells[name])) for name in ([column] if column else WRITERS) if cells.get(name) is not None]
    return writers[0] if writers else None


def _half(cells: Cells, target: str, problem: Problem) -> str:
    """A row as text that can be sorted: the one target, and the columns about it."""
    left_out = {*problem.task.fields, "of", "how", "label", "cluster"} - {target}
    kept = {name: value for name, value in cells.items() if value is not None and name not in left_out}
    return json.dumps(kept, sort_keys=True, default=str)


def _joined(sides: dict[str, list[str]], task: Task, seed: int) -> list[Cells]:
    first, second = (sides[name] for name in task.targets)
    if not first or not second:
        return [json.loads(text) for text in sorted(first + second)]
    return [_merged(json.loads(a), json.loads(b), task) for a, b in pairs(first, second, seed)]


def _merged(one: dict[str, Any], other: dict[str, Any], task: Task) -> Cells:
    """Both rows in one: what they agree on as it is, ids joined, the rest under each target's name."""
    first, second = task.targets
    row = {name: value for name, value in {**one, **other}.items() if one.get(name, value) == other.get(name, value)}
    for name in sorted((one.keys() & other.keys()) - row.keys() - {"id"}):
        row |= {f"{name}_{first}": one[name], f"{name}_{second}": other[name]}
    row.pop("id", None)  # one id alone would occur as often as its row is drawn
    return {**row, "id": f"{one['id']}+{other['id']}"} if "id" in one and "id" in other else row
