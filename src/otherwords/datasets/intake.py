"""Intake: checks every record once, so that all later stages can rely on the table."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, Literal

from ..errors import ON_COMMAND_LINE, BadInput, caller_level, list_names, shorten
from ..frames import MARKS, MISSING, free_columns, main_columns
from ..problem import NO_MAJORITY, Task, label_key
from ..storage.files import digest
from .records import Record
from .seen_ids import SeenIds, SeenOriginal

ProblemRow = dict[str, Any]
#: How messages spell an option: on the command line, to somebody who calls from Python, and in the file of an
#: experiment, where no row can be skipped.
OPTIONS = {"column": "--field {}=COLUMN", "label": "--label {}=...", "skip": "--skip-bad", "task": "--task"}
KEYWORDS = {
    "column": "columns={{{!r}: COLUMN}}",
    "label": "labels={{{}: ...}}",
    "skip": "skip_bad=True",
    "task": "task",
}
IN_FILE = {"column": 'columns = {{{} = "COLUMN"}}', "label": 'labels = {{{} = "..."}}', "skip": "", "task": "task"}
#: What is wrong with a row without a text.
_EMPTY_TEXT = "found an empty text"
#: The columns of SNLI and MultiNLI as released.
_RELEASED = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
_SAME_LABEL = "a variant keeps the label of its original, unless both name a suite in a column `contrast`"


def usual_options() -> Mapping[str, str]:
    """How messages spell options to whoever is using the package now."""
    return OPTIONS if ON_COMMAND_LINE.get() else KEYWORDS


@dataclass
class Intake:
    """Turns records into rows `id, of, how, <fields>, label, cluster, <other columns>`, and counts what it leaves out.

    A row marked `contrast` (with the name of its suite) may have another gold label than its original. One marked
    `control` (with the name of the control) is a variant that is not a rewording.

    Problems may come without a label, all of them or (`gold`) none: an accuracy of those that have one would look like
    that of all. With gold="all" every row needs one, as for training; with "any" it does not matter, as for a corpus.

    `columns` maps the names used here to the file's (`premise` -> `sentence1`), `labels` the file's labels to the
    task's. With `skip_bad`, bad rows go to `rejected` with the reason; otherwise the first one raises.
    """

    task: Task
    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    gold: Literal["all or none", "all", "any"] = "all or none"
    accepted: int = 0
    unlabelled: int = 0
    no_majority: int = 0
    rejected: list[ProblemRow] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=usual_options)

    def __post_init__(self) -> None:
        known = {*main_columns(self.task), *MARKS}
        if unknown := set(self.columns) - known:
            message = f"cannot map {', '.join(map(repr, sorted(unknown)))}"
            raise BadInput(message, fix=f"{self.task.name} has {', '.join(sorted(known))}")
        if unknown := set(self.labels.values()) - {NO_MAJORITY, *self.task.labels}:
            fix = f"{self.task.name} has {', '.join(self.task.labels)}"
            raise BadInput(f"cannot map to {', '.join(map(repr, sorted(unknown)))}", fix=fix)
        self.meanings = {label_key(label): label for label in (*self.task.labels, NO_MAJORITY)}
        self.meanings |= {label_key(label): name for label, name in self.labels.items()}
        self.unmapped = known - set(self.columns)
        self.used = self.unmapped | set(self.columns.values())
        # What is known of the records so far, whether they were checked one by one or in columns (`columns`).
        self.number = 0
        self.mapped: set[str] = set()  # the names in `columns` whose column occurred in some row
        self.labelled: bool | None = None  # whether the rows, but for contrasts, have labels
        self.has_label_column = False
        self.seen = SeenIds()
        self.waiting: dict[str, list[tuple[Record, ProblemRow]]] = {}  # variants that came before their original
        self.reordered = False  # whether such a variant came out, later than it stands in the data

    def rows(self, records: Iterable[Record]) -> Iterator[ProblemRow]:
        """Check records one by one; an original comes out before its variants."""
        yield from self.checked(self.until_labelled(records))
        self.finish()

    def checked(self, records: Iterable[Record]) -> Iterator[ProblemRow]:
        """Check some records one by one; others may have been checked before, or come after them."""
        for record in records:
            self.number += 1
            try:
                yield from self._accept(record, self.number)
            except BadInput as error:
                self._reject(record, error)

    def finish(self) -> None:
        """Check what can be known after the last record only: originals that did not come, columns that no row had."""
        if not self.number:
            raise BadInput("the data have no rows", fix="give at least one problem")
        for variants in self.waiting.values():
            for record, row in variants:
                message = f"no problem has the id {row['of']!r}"
                fix = "give the originals too (you can give several files)"
                self._reject(record, BadInput(message, where=record.where, field="of", fix=fix))
        if absent := [name for name in self.columns if name not in self.mapped]:
            message = f"no row has the column {self.columns[absent[0]]!r}"
            option = self.options["column"].format(absent[0])
            raise BadInput(message, field=absent[0], fix=f"map an existing column with {option}, or leave it out")
        if not self.accepted:
            first = f", the first: {self.rejected[0]['reason']}" if self.rejected else ""
            counts = f"{self.no_majority} without a majority label, {len(self.rejected)} rejected{first}"
            raise BadInput(f"no problems left ({counts})", fix="give at least one problem")
        if self.unlabelled and not self.has_label_column and self.gold != "any":
            message = "the data has no column `label`, and nothing that needs the right answers can be measured"
            option = self.options["column"].format("label")
            warnings.warn(f"{message}; if another column has them, map it with {option}", stacklevel=caller_level())

    def until_labelled(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records; where those without a label are to be left out, none before it is known that some have one."""
        records = iter(records)
        if self.skip_bad and self.gold == "all or none":
            odd: dict[int, Record] = {}  # what JSON would change
            with TemporaryFile("w+", encoding="ascii") as held:  # perhaps all: memory stays flat
                for number, record in enumerate(records):
                    text = _as_json(record)
                    held.write(f"{text}\n")
                    if not text:
                        odd[number] = record
                    if self.has_label(record):
                        self.labelled = True
                        break
                held.seek(0)
                for number, line in enumerate(held):
                    yield odd[number] if number in odd else Record(*json.loads(line))
        yield from records

    def has_label(self, record: Record) -> bool:
        """Whether a row has a label that is known, and is no contrast."""
        values = {} if record.error else self._split(record.row)[0]
        return label_key(plain_text(values.get("label"))) in self.meanings and not plain_text(values.get("contrast"))

    def _accept(self, record: Record, number: int) -> Iterator[ProblemRow]:
        row = self._row(record, number)
        if row["label"] == NO_MAJORITY:
            self.no_majority += 1 + len(self.waiting.pop(row["id"], ()))  # its variants are left out, too
        elif row["of"] is None:
            self._count(row)
            yield row
            for waiting, variant in self.waiting.pop(row["id"], ()):
                self.reordered = True
                try:
                    yield self._check_variant(waiting, variant, _original(row))
                except BadInput as error:
                    self._reject(waiting, error)
        elif original := self.seen.original(row["of"]):
            if original.label == NO_MAJORITY:
                self.no_majority += 1
            else:
                yield self._check_variant(record, row, original)
        else:
            self.waiting.setdefault(row["of"], []).append((record, row))

    def _check_variant(self, record: Record, row: ProblemRow, original: SeenOriginal) -> ProblemRow:
        """Require the label of the original, unless both are in a contrast suite, and take over its cluster."""
        if (suite := row.get("contrast", "")) != original.contrast:
            message = f"{row['id']!r} has {suite!r} but its original {row['of']!r} has {original.contrast!r}"
            fix = "use the same suite name on the original and all its contrasts; leave rewordings empty"
            raise BadInput(message, where=record.where, field="contrast", fix=fix)
        if (row["label"] or "") != original.label and not suite:
            labels = f"has the label {row['label']!r} but its original {row['of']!r} has {original.label!r}"
            message = f"the variant {row['id']!r} {labels}"
            raise BadInput(message, where=record.where, field="label", fix=_SAME_LABEL)
        self._count(row)
        return {**row, "cluster": original.cluster}

    def _count(self, row: ProblemRow) -> None:
        self.accepted += 1
        self.unlabelled += row["label"] is None

    def _row(self, record: Record, number: int) -> ProblemRow:
        where = record.where
        if record.error:
            raise BadInput(record.error, where=where, fix=self._or_skip("repair the row, or leave it out"))
        values, others = self._split(record.row)
        if odd := [name for name in others if "\0" in str(name)]:
            raise BadInput("found a NUL character in the name of a column", where=where, field=odd[0], fix="rename it")
        for name in (*self.task.fields, *sorted({"id", "label"} & set(self.columns))):
            if name not in values and name not in self.task.optional:
                option, other = self.options["column"].format(name), self.options["task"]
                fix = f"available: {list_names(record.row)}; map one with {option}, or choose another {other}"
                if layout := suggest_layout(list(record.row), where.rpartition(", ")[0], self.options):
                    fix = f"the columns are SNLI's: give it as {layout}"
                message = f"no column {self.columns[name]!r}" if name in self.columns else "no such column"
                raise BadInput(message, where=where, field=name, fix=fix)
        row: ProblemRow = {
            "id": _identify(values.pop("id", number), where),
            "of": name_text(values.pop("of", None)) or None,
            "how": plain_text(values.pop("how", None)) or None,
        }
        if row["of"] == row["id"]:
            raise BadInput(f"{row['id']!r} is a variant of itself", where=where, field="of")
        row.update({name: self._read_text(name, values.pop(name, ""), where) for name in self.task.fields})
        self.has_label_column |= "label" in values
        row["label"] = self._read_label(values.pop("label", None), bool(plain_text(values.get("contrast"))), where)
        row["cluster"] = plain_text(values.pop("cluster", None))
        row["cluster"] = "" if row["cluster"] in MISSING else row["cluster"]
        for name in MARKS:
            row |= _mark(name, values.pop(name, None), where)
        _refuse_misplaced(row, where)
        row |= free_columns(others, (*row, *MARKS))
        _refuse_halves(row, where)
        row["cluster"] = row["cluster"] or digest(*(row[name] for name in self.task.cluster))[:16]
        if not self.seen.add(row["id"], None if row["of"] else _original(row)):
            other = self.options["column"].format("id")
            fix = f"ids must be unique: name another column with {other}, or rename this one, and rows are numbered"
            raise BadInput(f"{row['id']!r} occurs twice", where=where, field="id", fix=fix)
        return row

    def _split(self, row: ProblemRow) -> tuple[ProblemRow, ProblemRow]:
        """Separate the columns used here, under the names used here, from the others, which are passed on."""
        mapped = {name: row[column] for name, column in self.columns.items() if column in row}
        self.mapped |= mapped.keys()
        values = {name: value for name, value in row.items() if name in self.unmapped}
        return {**values, **mapped}, {name: value for name, value in row.items() if name not in self.used}

    def _read_text(self, name: str, value: Any, where: str) -> str:
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise BadInput(f"found {shorten(value)}", where=where, field=name, fix="texts must be strings")
        if not value.strip() and name not in self.task.optional:
            fix = self._or_skip("fill it in, or leave the row out")
            raise BadInput(_EMPTY_TEXT, where=where, field=name, fix=fix)
        return value

    def _read_label(self, value: Any, contrast: bool, where: str) -> str | None:
        label = self.meanings.get(label_key(plain_text(value)))
        if label is None and not plain_text(value):
            self._refuse_unlabelled(contrast, where)
            return None
        if label is None:
            known, short = ", ".join(self.task.labels), shorten(value)[:20]
            option = self.options["label"].format(shlex.quote(str(value)[:20]) if self.options is OPTIONS else short)
            fix = f"{self.task.name} has {known}: map it with {option}, or choose another {self.options['task']}"
            raise BadInput(f"found {shorten(value)}", where=where, field="label", fix=fix)
        if not contrast:
            if self.labelled is False and self.gold == "all or none":
                message = f"found {shorten(value)}, but the rows before it have no label"
                raise BadInput(message, where=where, field="label", fix=self._all_or_none)
            self.labelled = True
        return label

    def _refuse_unlabelled(self, contrast: bool, where: str) -> None:
        if contrast:
            fix = "the metrics of contrasts compare right answers: give each contrast and its original a label"
            raise BadInput("a contrast without a label", where=where, field="label", fix=fix)
        if self.gold == "all":
            raise BadInput("found nothing", where=where, field="label", fix="give every problem a label")
        if self.labelled and self.gold == "all or none":
            message = "found nothing, but other rows have a label"
            raise BadInput(message, where=where, field="label", fix=self._all_or_none)
        self.labelled = False

    @property
    def _all_or_none(self) -> str:
        return self._or_skip("give all problems a label or none, or leave those without out")

    def _or_skip(self, fix: str) -> str:
        """How to solve it, and the option that leaves rows out, where there is one."""
        return f"{fix} with {self.options['skip']}" if self.options["skip"] else fix

    def _reject(self, record: Record, error: BadInput) -> None:
        if not self.skip_bad:
            raise error
        row = {"where": record.where, "field": error.field, "reason": str(error), "row": record.row}
        self.rejected.append(json.loads(json.dumps(row, default=str)))


def is_without_text(rejected: ProblemRow) -> bool:
    """Whether a row was rejected because a text is empty: trainings and experiments leave such rows out."""
    return str(rejected["reason"]).startswith(f"{rejected['where']}: {rejected['field']}: {_EMPTY_TEXT}")


def _as_json(record: Record) -> str:
    """A record as JSON; empty where that would not give it back as it is, as of dates."""
    try:
        text = json.dumps(record)
        return text if json.loads(text) == list(record) else ""
    except (TypeError, ValueError, RecursionError):
        return ""


def plain_text(value: Any) -> str:
    """A value as text without outer spaces; what is missing is empty."""
    return "" if value is None else str(value).strip()


def name_text(value: Any) -> str:
    """An id as text. One that pandas keeps as a float, because another row has none, is a whole number.

    >>> name_text(7.0), name_text(" a1 "), name_text(0.5)
    ('7', 'a1', '0.5')
    """
    return plain_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _identify(value: Any, where: str) -> str:
    identity = name_text(value)
    if not identity:
        raise BadInput("found nothing", where=where, field="id", fix="give every row an id, or leave the column out")
    return identity


def _original(row: ProblemRow) -> SeenOriginal:
    return SeenOriginal(row["label"] or "", row["cluster"], row.get("contrast", ""))


def _mark(name: str, value: Any, where: str) -> ProblemRow:
    """Return the column of a contrast (a suite's name) or a control (its name), or no column if it is empty."""
    if label_key(plain_text(value)) in ("true", "false"):
        what = "suite" if name == "contrast" else "control"
        fix = f"give the name of the {what}, and leave the column empty on rows that are not {name}s"
        raise BadInput(f"found {shorten(value)}", where=where, field=name, fix=fix)
    return {name: plain_text(value)} if plain_text(value) else {}


def _refuse_misplaced(row: ProblemRow, where: str) -> None:
    if "control" in row and (row["of"] is None or "contrast" in row):
        what = "contrast" if "contrast" in row else "original"
        fix = "only variants outside contrast suites can be controls; rename the column if it means something else"
        raise BadInput(f"{row['control']!r} marks the {what} {row['id']!r}", where=where, field="control", fix=fix)


def _refuse_halves(row: ProblemRow, where: str) -> None:
    r"""JSON can hold half a surrogate pair ("\\ud83d" alone); no table and no hash can."""
    for name, value in row.items():
        for text in (name, value if isinstance(value, str) else ""):
            if not text.isascii() and text != text.encode("utf-8", "replace").decode():
                fix = "write the surrogate pair, or the character itself"
                raise BadInput(f"found an unpaired surrogate in {shorten(text)}", where=where, field=name, fix=fix)


def warn_no_majority(count: int) -> None:
    """Warn of the rows that have "-" for a label, as SNLI marks problems without a majority label."""
    if count:
        rows = "1 row" if count == 1 else f"{count:,} rows"
        warnings.warn(f"left out {rows} without a majority label ({NO_MAJORITY!r})", stacklevel=caller_level())


def suggest_layout(columns: Collection[str], path: str, options: Mapping[str, str] = OPTIONS) -> str:
    """How to name a file that has the columns of SNLI or MultiNLI as released; "" if it has others.

    >>> suggest_layout(["pairID", "gold_label", "sentence1", "sentence2"], "snli_1.0_dev.jsonl")
    'snli:snli_1.0_dev.jsonl'
    >>> suggest_layout(["sentence1", "sentence2", "gold_label"], "pairs.csv")
    'pairs.csv --field premise=sentence1 --field hypothesis=sentence2 --field label=gold_label'
    >>> suggest_layout(["sentence1", "sentence2", "gold_label"], "pairs.csv", IN_FILE)
    'pairs.csv with columns = {premise = "sentence1", hypothesis = "sentence2", label = "gold_label"}'
    """
    if not set(_RELEASED.values()) <= set(columns):
        return ""
    if path.lower().endswith((".jsonl", ".tsv", ".txt")):
        return f"{'mnli' if {'genre', 'promptID'} & set(columns) else 'snli'}:{path}"
    if options is OPTIONS:
        return " ".join((path, *(f"--field {name}={column}" for name, column in _RELEASED.items())))
    if options is KEYWORDS:
        return f"{path} with columns={_RELEASED}"
    table = ", ".join(f'{name} = "{column}"' for name, column in _RELEASED.items())
    return f"{path} with columns = {{{table}}}"
