"""Bins: probabilities cut at decimal edges, which binary fractions miss by a hair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import Unmeasurable

Array = npt.NDArray[Any]
#: Digits that single precision holds of a number below 1; 0.7 is 0.69999999 in it.
SINGLE = 7


def as_written(values: npt.ArrayLike) -> Array:
    """Numbers in double precision; those that come in single precision as the decimals that they stand for.

    >>> as_written(np.array([0.7, 0.9], dtype=np.float32)).tolist()
    [0.7, 0.9]
    """
    given = np.asarray(values)
    double = given.astype(np.float64)
    return np.round(double, SINGLE) if given.dtype == np.float32 else double


def cut(shares: Array, bins: int) -> Array:
    """The number of the bin, of equally wide ones from 0 to 1, that each share lies in; the last one is closed.

    They are rounded first, because 0.6 - 0.2 is a little less than 0.4 in binary, and 0.29 * 100 less than 29.

    >>> cut(np.array([0.0, 0.6 - 0.2, 1.0]), 5).tolist()
    [0, 2, 4]
    """
    return np.asarray(np.minimum(np.floor(np.round(shares * bins, 9)).astype(np.int64), bins - 1))


def probabilities(frame: pl.DataFrame, labels: Sequence[str], where: str) -> Array:
    """The columns `p:<label>` as they are stated, a column per label; refused where the model gave none."""
    names = [f"p:{label}" for label in labels]
    if missing := [name for name in names if name not in frame.columns]:
        fix = f"columns {', '.join(names)} would work"
        raise Unmeasurable("the answers have no probabilities", where=where, field=missing[0], fix=fix)
    table = frame.select(names).cast(pl.Float64)
    if sum(table.null_count().row(0)):
        raise Unmeasurable("the model gave no probabilities", where=where, fix="only its labels are known")
    single = [name for name in names if frame.schema[name] == pl.Float32]
    return table.with_columns(pl.col(single).round(SINGLE)).to_numpy()
