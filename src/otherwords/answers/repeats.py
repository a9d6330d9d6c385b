"""Answers to the same, asked again: columns `again:<way>:<number>` beside `pred`.

A table may lack some of them: where a cell is empty, that text was not asked that time. A model without any of these
answers has no repeats, whatever the table says of others.
"""

import re
from collections.abc import Iterable

import numpy as np
import polars as pl

from ..errors import BadInput, Unmeasurable
from ..problem import AGAIN, USUAL_WAY
from .table import Answers, Array, Location, label_codes

_COLUMN = re.compile(rf"{AGAIN}(?P<way>[^:]+):(?P<number>[1-9][0-9]*)")
#: How to get repeats.
FIX = "ask again: otherwords answer ... --repeats 2 (in Python repeats=2), or give columns again:usual:1, ..."


def repeat_columns(columns: Iterable[str]) -> dict[str, list[str]]:
    """The columns of repeats by way, in the order of their numbers, whatever the order of the columns.

    >>> repeat_columns(["pred", "again:usual:10", "again:usual:2", "again:cold:1"])
    {'cold': ['again:cold:1'], 'usual': ['again:usual:2', 'again:usual:10']}
    """
    found: dict[str, dict[int, str]] = {}
    for name in columns:
        if match := _COLUMN.fullmatch(name):
            found.setdefault(match["way"], {})[int(match["number"])] = name
    return {way: [some[number] for number in sorted(some)] for way, some in sorted(found.items())}


def has_repeats(frame: pl.DataFrame) -> bool:
    """Whether any text was asked again."""
    return any(frame[name].count() for some in repeat_columns(frame.columns).values() for name in some)


def check_repeats(frame: pl.DataFrame, labels: tuple[str, ...], where: Location) -> None:
    """Refuse columns of repeats that have another name, and answers that are no labels."""
    known = {name for some in repeat_columns(frame.columns).values() for name in some}
    for name in frame.columns:
        if not name.startswith(AGAIN):
            continue
        if name not in known:
            fix = "a repeat is named again:WAY:NUMBER, with a number from 1, as in again:usual:1"
            raise BadInput(f"found the column {name!r}", where=where.table, fix=fix)
        _codes(frame[name], labels, where)


def ways_of(answers: Answers) -> list[str]:
    """The ways in which a model was asked again, the usual one first."""
    found = repeat_columns(answers.frame.columns)
    there = [way for way, names in found.items() if any(answers.frame[name].count() for name in names)]
    return sorted(there, key=lambda way: (way != USUAL_WAY, way))


def asked_in(answers: Answers, way: str = "") -> Array:
    """All answers that were asked in one way, a column for each time, as codes of labels; -1 where there is none.

    Without a way, that of the table: the usual one, where it was asked again as usual. The first answers were asked as
    usual.
    """
    there = ways_of(answers)
    if not there or (way and way not in there):
        what = f"nothing was asked again in the way {way!r}" if way and there else "nothing was asked again"
        fix = f"it has {', '.join(there)}" if there else FIX
        raise Unmeasurable(what, where=answers.model, fix=fix)
    return _asked(answers, way or there[0])


def asked_as_usual(answers: Answers) -> Array:
    """The same of the usual way: the first answers, and those to what was asked again like them."""
    return _asked(answers, USUAL_WAY)


def _asked(answers: Answers, way: str) -> Array:
    names = repeat_columns(answers.frame.columns).get(way, [])
    columns = [_codes(answers.frame[name], answers.labels, Location()) for name in names]
    first = [answers.pred] if way == USUAL_WAY else []
    return np.column_stack([*first, *columns])


def _codes(column: pl.Series, labels: tuple[str, ...], where: Location) -> Array:
    """Labels as their places, -1 where a cell is empty."""
    text = column.cast(pl.String).str.strip_chars().fill_null("")
    empty = (text == "").to_numpy()
    if empty.all():
        return np.full(len(column), -1, dtype=np.int16)
    filled = column.cast(pl.String).set(pl.Series(empty), labels[0]) if empty.any() else column
    return np.where(empty, np.int16(-1), label_codes(filled, labels, where))
