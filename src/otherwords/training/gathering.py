"""From the data sets of a recipe to the rows that are trained and validated on, and those that are neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ..datasets.source import Source
from ..errors import BadInput
from ..problem import Task
from .apart import shares, split, squeezed
from .recipe import Recipe

_EMPTY = "found an empty text"


class Row(NamedTuple):
    """The texts of a problem and its label; a sentence for a masked-LM has none."""

    texts: tuple[str, ...]
    label: str | None = None


Keys = Callable[[Row], tuple[str, ...]]
#: What a row that is left out has in common with what it must be apart from.
_SHARED = {
    "without": "a text with `without`",
    "valid": "a sentence with `valid`",
    "valid by premise": "a premise with `valid`",
}


@dataclass
class Gathered:
    """What is trained on, what is validated on, and what was left out: how many rows for which reason, and which."""

    task: Task
    train: list[Row] = field(default_factory=list)
    valid: list[Row] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, Any]] = field(default_factory=list)

    def leave(self, reason: str, **what: Any) -> None:
        """Put down that a row is left out."""
        self.reasons[reason] += 1
        self.left_out.append({"reason": reason, **what})


def gather(recipe: Recipe, objective: str = "nli") -> Gathered:
    """Read all data of a recipe; keep what is tested and validated on apart from what is trained on.

    For a masked-LM the rows are the distinct sentences of the data, without labels.
    """
    found = Gathered(Source(recipe.data, recipe.task, recipe.columns, recipe.labels).chosen)
    tested = {squeezed(text) for text in _texts(recipe, found.task)}
    rows = _apart(found, _rows(recipe, recipe.data, found), lambda row: row.texts, tested, "without")
    if objective == "masked-lm":
        _validate(found, recipe, _sentences(rows), lambda row: row.texts, "valid")
    else:
        _validate(found, recipe, rows, partial(_premise, found.task), "valid by premise")
    if not found.train:
        told = ", ".join(f"{count} {reason}" for reason, count in found.reasons.items())
        raise BadInput(f"no row is left to train on ({told})", field="data", fix="give more data")
    return found


def _validate(found: Gathered, recipe: Recipe, rows: list[Row], keys: Keys, what: str) -> None:
    """Part rows in training and validation, or read the latter."""
    if isinstance(recipe.valid, list):
        found.valid = list(_rows(recipe, recipe.valid, found, " in `valid`"))
        if what == "valid":
            found.valid = _sentences(found.valid, _fields(recipe, found.task))
        met = {squeezed(key) for row in found.valid for key in keys(row)}
        found.train = _apart(found, rows, keys, met, what)
    elif recipe.valid:
        names = ["\n".join(keys(row)) for row in rows]
        found.train, found.valid = split(rows, names, recipe.valid, recipe.data_seed) if rows else ([], [])
    else:
        found.train = rows


def _premise(task: Task, row: Row) -> tuple[str]:
    """What makes two problems dependent: the task's clustering texts, as one."""
    return ("\n".join(row.texts[task.fields.index(name)] for name in task.cluster),)


def _sentences(rows: Sequence[Row], fields: Sequence[int] = ()) -> list[Row]:
    """All distinct texts, each as a row, in the order of their first occurrence."""
    texts = (row.texts[i] for row in rows for i in fields or range(len(row.texts)))
    return [Row((text,)) for text in dict.fromkeys(texts) if text.strip()]


def _fields(recipe: Recipe, task: Task) -> list[int]:
    if strangers := sorted(set(recipe.valid_fields) - set(task.fields)):
        fix = f"{task.name} has {', '.join(task.fields)}"
        raise BadInput(f"found {strangers[0]!r}", field="valid_fields", fix=fix)
    return [task.fields.index(name) for name in recipe.valid_fields]


def _apart(found: Gathered, rows: Iterable[Row], keys: Keys, others: set[str], what: str) -> list[Row]:
    kept = []
    for row in rows:
        if shares(keys(row), others):
            found.leave(f"shares {_SHARED[what]}", texts=row.texts, label=row.label)
        else:
            kept.append(row)
    return kept


def _rows(recipe: Recipe, names: Sequence[str], found: Gathered, which: str = "") -> Iterator[Row]:
    """Rows with a label and all their texts. Each data set may have ids of its own."""
    for name in names:
        source = Source([name], found.task, recipe.columns, recipe.labels, skip_bad=True)
        for row in source:
            if row.get("control"):
                found.leave(f"is a control{which}", where=name, id=row["id"])
            else:
                yield Row(tuple(row[field] for field in found.task.fields), row["label"])
        found.reasons[f"no majority label{which}"] += source.intake.no_majority
        for bad in source.intake.rejected:
            if _EMPTY not in bad["reason"] and not recipe.skip_bad:
                raise BadInput(bad["reason"])
            reason = "empty text" if _EMPTY in bad["reason"] else "bad row"
            found.leave(reason + which, where=bad["where"], found=bad["reason"])


def _texts(recipe: Recipe, task: Task) -> Iterator[str]:
    """Every text of data sets that must stay unseen, those of rows without a majority label, too."""
    for name in recipe.without:
        for bound in Source([name], task, recipe.columns, recipe.labels).bound:
            for record in bound.function():
                yield from _unseen(record, recipe, task)


def _unseen(record: Any, recipe: Recipe, task: Task) -> Iterator[str]:
    columns = [recipe.columns.get(name, name) for name in task.fields]
    if record.error or not all(column in record.row for column in columns):
        message = record.error or f"has no column {' or no '.join(columns)}"
        raise BadInput(message, where=record.where, fix="repair it: what it says must not be trained on")
    yield from (text for column in columns if isinstance(text := record.row[column], str) and text.strip())
