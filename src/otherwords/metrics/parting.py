"""Contrasts apart from rewordings: what must change an answer is never counted with what must not.

A row of an answers table is a contrast where its column `contrast` names a suite; so is the original it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from ..errors import BadInput
from .coding import Array, Place

#: The column that names the suite; empty or absent for problems and their rewordings.
CONTRAST = "contrast"


def halves(answers: pl.DataFrame, where: Place) -> Iterator[tuple[bool, pl.DataFrame, Place]]:
    """Part a table: problems with their rewordings (False), then contrasts (True); what has no rows does not come.

    A bucket is one or the other: an original that is marked and a variant that is not, or that names another suite,
    are refused.

    >>> rows = {"bucket": ["a", "b", "b"], "variant": [None, None, "b1"], "contrast": [None, "med", "med"]}
    >>> [(contrasts, part.height) for contrasts, part, _ in halves(pl.DataFrame(rows), Place())]
    [(False, 1), (True, 2)]
    """
    marked = is_contrast(answers)
    if CONTRAST in answers.columns and (row := first_mixed(answers)) is not None:
        found = f"bucket {answers['bucket'][row]!r} is marked in part, or with two names"
        fix = "name one suite on the original and on all its contrasts; rewordings have none"
        raise BadInput(found, where=where.row(row), field=CONTRAST, fix=fix)
    for contrasts in (False, True):
        rows = np.flatnonzero(marked == contrasts)
        if len(rows):
            counted = rows if where.rows is None else where.rows[rows]
            part = answers if len(rows) == answers.height else answers[rows]
            yield contrasts, part, Place(where.table, where.model, counted)


def is_contrast(table: pl.DataFrame) -> Array:
    """Which rows of a table, of answers or of a suite, are contrasts or their originals."""
    if CONTRAST not in table.columns or table[CONTRAST].dtype == pl.Null:
        return np.zeros(table.height, dtype=bool)
    if table[CONTRAST].dtype not in (pl.String, pl.Categorical, pl.Enum):
        fix = "it names the suite a contrast belongs to, and is empty elsewhere; rename it if it says something else"
        raise BadInput(f"found {table[CONTRAST].dtype}, not text", field=CONTRAST, fix=fix)
    return np.asarray(table[CONTRAST].cast(pl.String).fill_null("") != "")


def first_mixed(answers: pl.DataFrame) -> int | None:
    """The first row of a bucket whose rows do not all name the same suite, or all none."""
    mixed = answers.select(is_mixed(answers)).to_series()
    return int(mixed.arg_true()[0]) if mixed.any() else None


def is_mixed(answers: pl.DataFrame) -> pl.Expr:
    """Which rows are in a bucket that is marked in part; a bucket is one model's."""
    key = ["model", "bucket"] if "model" in answers.columns else ["bucket"]
    return pl.col(CONTRAST).cast(pl.String).fill_null("").n_unique().over(key) > 1
