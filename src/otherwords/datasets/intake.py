"""The door: every record is checked once, here, and everything behind it may trust the table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import BadInput, shorten
from ..frames import free_columns
from ..problem import NO_MAJORITY, Task, plain
from ..storage.files import Scratch, digest
from .records import Record

# MERGED from datasets.ledger: What the door must remember of every row, kept on disk so that memory stays flat: ids, labels, clusters, suites.


class Entry(NamedTuple):
    """An original's label and cluster, and the contrast suite it belongs to, if any."""

    label: str
    cluster: str
    contrast: str = ""


class Ledger:
    """Ids seen so far, in SQLite's private temporary file, which goes when the ledger does."""

    def __init__(self) -> None:
        self._db = Scratch()
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -16000"):  # 16 MB, the rest on disk
            self._db.execute(f"pragma {pragma}")
        columns = "id text primary key, label text, cluster text, contrast text"
        self._db.execute(f"create table seen ({columns}) without rowid")
        self._db.execute("begin")  # and never commit: an insert then costs microseconds
        self._last: tuple[str, Entry] = ("", Entry("", ""))  # rows of a bucket mostly stand together

    def add(self, name: str, original: Entry | None) -> bool:
        """Enter an id, with label and cluster if it is an original's; False where it was there already."""
        told = original or (None, None, None)
        done = self._db.execute("insert or ignore into seen values (?, ?, ?, ?)", (name, *told))
        if done.rowcount and original:
            self._last = (name, original)
        return bool(done.rowcount)

    def original(self, name: str) -> Entry | None:
        """Find an original; None where the id is unknown or a variant's."""
        if self._last[0] != name:
            found = self._db.execute("select label, cluster, contrast from seen where id = ?", (name,)).fetchone()
            if found is None or found[0] is None:
                return None
            self._last = (name, Entry(*found))
        return self._last[1]


# MERGED from datasets.intake: The door: every record is checked once, here, and everything behind it may trust the table.

Row = dict[str, Any]
_KEEPS = "a variant keeps the label of its original, unless both name a suite in a column `contrast`"


@dataclass
class Intake:
    """Turns records into rows `id, of, how, <fields>, label, cluster, <extras>`, and remembers what it left out.

    A row marked `contrast` (with the name of its suite) may have another right answer than its original. One marked
    `control` (with the name of the control) is a variant that is no rewording.

    `columns` maps our names to the file's (`premise` -> `sentence1`), `labels` the file's labels to the task's.
    With `skip_bad`, bad rows land in `rejected` with the reason; otherwise the first one raises.
    """

    task: Task
    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    accepted: int = 0
    no_majority: int = 0
    rejected: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = {*self.task.fields, "id", "of", "how", "label", "cluster", "contrast", "control"}
        if strangers := set(self.columns) - known:
            raise BadInput(f"cannot map {sorted(strangers)}", fix=f"{self.task.name} has {', '.join(sorted(known))}")
        if strangers := {mine for mine in self.labels.values() if mine != NO_MAJORITY} - set(self.task.labels):
            raise BadInput(
                f"cannot map to {sorted(strangers)}",
                fix=f"{self.task.name} has {', '.join(self.task.labels)}",
            )
        self._names = {plain(label): label for label in (*self.task.labels, NO_MAJORITY)}
        self._labels = {plain(theirs): mine for theirs, mine in self.labels.items()}
        self._own = known - set(self.columns)
        self._used = self._own | set(self.columns.values())
        self._met: set[str] = set()  # names of ours that some row had a column for
        self._ledger = Ledger()
        self._waiting: dict[str, list[tuple[Record, Row]]] = {}  # variants that came before their original

    def rows(self, records: Iterable[Record]) -> Iterator[Row]:
        """Check records one by one; an original comes out before its variants."""
        for number, record in enumerate(records, 1):
            try:
                yield from self._take(record, number)
            except BadInput as error:
                self._reject(record, error)
        for variants in self._waiting.values():
            for record, row in variants:
                fix = "give the originals too (several files may be named one after the other)"
                self._reject(
                    record,
                    BadInput(f"no problem has the id {row['of']!r}", where=record.where, field="of", fix=fix),
                )
        if absent := [mine for mine in self.columns if mine not in self._met]:
            found = f"no row has the column {self.columns[absent[0]]!r}"
            raise BadInput(found, field=absent[0], fix="name one that is there with --field, or leave it out")
        if not self.accepted:
            first = f", the first: {self.rejected[0]['reason']}" if self.rejected else ""
            found = f"{self.no_majority} without a majority label, {len(self.rejected)} rejected{first}"
            raise BadInput(f"no problem left ({found})", fix="give at least one problem")

    def _take(self, record: Record, number: int) -> Iterator[Row]:
        row = self._row(record, number)
        if row["label"] == NO_MAJORITY:
            self.no_majority += 1 + len(self._waiting.pop(row["id"], ()))  # its variants go too
        elif row["of"] is None:
            self.accepted += 1
            yield row
            for late, variant in self._waiting.pop(row["id"], ()):
                try:
                    yield self._variant(late, variant, _entry(row))
                except BadInput as error:
                    self._reject(late, error)
        elif original := self._ledger.original(row["of"]):
            if original.label == NO_MAJORITY:
                self.no_majority += 1
            else:
                yield self._variant(record, row, original)
        else:
            self._waiting.setdefault(row["of"], []).append((record, row))

    def _variant(self, record: Record, row: Row, original: Entry) -> Row:
        """Hold a variant against its original: the same right answer, unless it is a contrast, and the same cluster."""
        if (suite := row.get("contrast", "")) != original.contrast:
            found = f"{row['id']!r} says {suite!r} but its original {row['of']!r} {original.contrast!r}"
            fix = "name the suite on the original and on all its contrasts; rewordings have none"
            raise BadInput(found, where=record.where, field="contrast", fix=fix)
        if row["label"] != original.label and not suite:
            said = f"its original {row['of']!r} says {original.label!r}"
            found = f"the variant {row['id']!r} says {row['label']!r} but {said}"
            raise BadInput(found, where=record.where, field="label", fix=_KEEPS)
        self.accepted += 1
        return {**row, "cluster": original.cluster}

    def _row(self, record: Record, number: int) -> Row:
        where = record.where
        if record.error:
            raise BadInput(record.error, where=where, fix="repair the row, or leave it out with --skip-bad")
        values, rest = self._named(record.row)
        for name in (*self.task.fields, "label", *({"id"} & set(self.columns))):
            if name not in values and name not in self.task.optional:
                found = ", ".join(map(str, record.row))
                fix = f"there are {found}: map one with --field {name}=COLUMN, or choose another --task"
                wanted = f"no column {self.columns[name]!r}" if name in self.columns else "no such column"
                raise BadInput(wanted, where=where, field=name, fix=fix)
        of = _text(values.pop("of", None))
        row: Row = {
            "id": self._identify(values.pop("id", number), where),
            "of": of or None,
            "how": _text(values.pop("how", None)) or None,
        }
        if row["of"] == row["id"]:
            raise BadInput(f"{row['id']!r} is a variant of itself", where=where, field="of")
        row.update({name: self._read_text(name, values.pop(name, ""), where) for name in self.task.fields})
        row["label"] = self._read_label(values.pop("label"), where)
        row["cluster"] = _text(values.pop("cluster", None))
        row |= _mark("contrast", values.pop("contrast", None), where)
        row |= _mark("control", values.pop("control", None), where)
        _refuse_misplaced(row, where)
        row |= free_columns(rest, (*row, "contrast", "control"))
        _refuse_halves(row, where)
        row["cluster"] = row["cluster"] or digest(*(row[name] for name in self.task.cluster))[:16]
        if not self._ledger.add(row["id"], None if row["of"] else _entry(row)):
            raise BadInput(f"{row['id']!r} occurs twice", where=where, field="id", fix="ids must be unique")
        return row

    def _named(self, row: Row) -> tuple[Row, Row]:
        """Tell the columns used here, by our names, from the rest, which comes along."""
        mapped = {mine: row[theirs] for mine, theirs in self.columns.items() if theirs in row}
        self._met |= mapped.keys()
        values = {name: value for name, value in row.items() if name in self._own}
        return {**values, **mapped}, {name: value for name, value in row.items() if name not in self._used}

    def _identify(self, value: Any, where: str) -> str:
        identity = _text(value)
        if not identity:
            raise BadInput(
                "found nothing", where=where, field="id", fix="give every row an id, or leave the column out"
            )
        return identity

    def _read_text(self, name: str, value: Any, where: str) -> str:
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise BadInput(f"found {shorten(value)}", where=where, field=name, fix="texts must be strings")
        if not value.strip() and name not in self.task.optional:
            raise BadInput(
                "found an empty text",
                where=where,
                field=name,
                fix="fill it in, or leave the row out with --skip-bad",
            )
        return value

    def _read_label(self, value: Any, where: str) -> str:
        label = self._labels.get(plain(value)) or self._names.get(plain(value))
        if label is None:
            known = ", ".join(self.task.labels)
            fix = (
                f"{self.task.name} has {known}: map it with --label {shorten(value)[:20]}=..., or choose another --task"
            )
            raise BadInput(f"found {shorten(value)}", where=where, field="label", fix=fix)
        return label

    def _reject(self, record: Record, error: BadInput) -> None:
        if not self.skip_bad:
            raise error
        row = {"where": record.where, "field": error.field, "reason": str(error), "row": record.row}
        self.rejected.append(json.loads(json.dumps(row, default=str)))


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _entry(row: Row) -> Entry:
    return Entry(row["label"], row["cluster"], row.get("contrast", ""))


def _mark(name: str, value: Any, where: str) -> Row:
    """The mark of a contrast or control: a suite's name, or the control's. A row without it gets no such column."""
    if plain(_text(value)) in ("true", "false"):
        what = "suite" if name == "contrast" else "control"
        fix = f"name the {what}, and leave the column empty on rows that are no {name}s"
        raise BadInput(f"found {shorten(value)}", where=where, field=name, fix=fix)
    return {name: _text(value)} if _text(value) else {}


def _refuse_misplaced(row: Row, where: str) -> None:
    if "control" in row and (row["of"] is None or "contrast" in row):
        what = "contrast" if "contrast" in row else "original"
        fix = "name controls on variants of problems that are no contrasts; rename the column if it says something else"
        raise BadInput(f"{row['control']!r} is on the {what} {row['id']!r}", where=where, field="control", fix=fix)


def _refuse_halves(row: Row, where: str) -> None:
    r"""JSON can say half a character ("\\ud83d" alone); no table and no hash can."""
    for name, value in row.items():
        for text in (name, value if isinstance(value, str) else ""):
            if not text.isascii() and text != text.encode("utf-8", "replace").decode():
                fix = "write both halves, or the character itself"
                raise BadInput(f"found half a character in {shorten(text)}", where=where, field=name, fix=fix)
