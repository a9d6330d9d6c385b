"""Coding: names to small integers, exactly and fast. Ten million answers are an ordinary size.

Strings are hashed, the hashes sorted, and every string compared with the first of its code, so that a collision of
hashes cannot go unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, shorten

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Place:
    """Where answers come from, so that a complaint can name the row of the user's own table: `rows`, or all."""

    table: str = "the answers"
    model: str = ""
    rows: Array | None = None

    def row(self, number: int) -> str:
        """Name a row as the user counts it."""
        return f"{self.table}, row {int(number if self.rows is None else self.rows[number]) + 1}"


EVERYWHERE = Place()


def codes(column: pl.Series, where: Place) -> tuple[Array, int]:
    """Number distinct values from 0, and count them.

    The numbers follow the sorted hashes, so they depend on the set of names alone: two tables with the same names give
    each the same number, whatever the order and number of their rows. Pairing models bucket by bucket relies on that.
    Which name comes first is left open: nothing may depend on it.

    >>> one, other = (codes(pl.Series("bucket", names), EVERYWHERE)[0] for names in (["a", "b", "a"], ["b", "a", "a"]))
    >>> bool(one[0] == one[2] == other[1] == other[2] and one[1] == other[0])
    True
    """
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise BadInput("found nothing", where=where.row(row), field=column.name, fix="every answer needs one")
    texts = column.cast(pl.String)
    heads = (texts != texts.shift(1)).fill_null(True)
    if heads.sum() * 2 < len(texts):  # rows of a bucket mostly stand together: code their first rows, and repeat
        run = heads.cast(pl.Int64).cum_sum().to_numpy() - 1
        short, count = _by_hash(texts.filter(heads))
        return short[run], count
    return _by_hash(texts)


def _by_hash(texts: pl.Series) -> tuple[Array, int]:
    distinct, code = np.unique(texts.hash().to_numpy(), return_inverse=True)
    first = np.empty(len(distinct), dtype=np.int64)
    first[code] = np.arange(len(code))
    if (texts.gather(first).gather(code) != texts).any():  # two strings with one hash: once in ten million tables
        # Sorted names keep the promise of `codes` too; which of two names shares a hash is a matter of the set alone.
        code = texts.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def label_codes(column: pl.Series, names: tuple[str, ...], where: Place) -> Array:
    """Give each label its place among the names; a stranger is refused with its row."""
    texts = label_texts(column)
    found = np.full(len(texts), -1, dtype=np.int16)
    for place, name in enumerate(names):
        found[(texts == name).fill_null(False).to_numpy()] = place
    if (strangers := found < 0).any():
        row = int(np.flatnonzero(strangers)[0])
        fix = f"use one of {', '.join(names)}, or another --task" if names else "every answer needs one"
        raise BadInput(f"found {shorten(texts[row])}", where=where.row(row), field=column.name, fix=fix)
    return found


def label_texts(column: pl.Series) -> pl.Series:
    """Labels as text; a label that a program made a float (1.0) is the whole number it was."""
    if column.dtype.is_float() and (column.is_finite() & (column == column.round(0))).all():
        column = column.cast(pl.Int64)
    return column.cast(pl.String)


def has_duplicates(bucket: Array, variant: pl.Series) -> bool:
    """Whether a (bucket, variant) pair occurs twice, by hashes; sorted numbers are compared, not strings."""
    mixed = variant.hash().to_numpy() ^ (bucket.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())
