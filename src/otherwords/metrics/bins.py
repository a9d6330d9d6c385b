"""Bins: probabilities cut at decimal edges, which binary fractions miss by a hair."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from .metric import Array
from .table import Answers

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


def to_be_cut(answers: Answers) -> Array:
    """Probabilities to be cut into bins: where they were stored in single precision, without its last digit.

    They are normalised, so they may be off by twice what `as_written` mends.
    """
    p = answers.p  # complains where there are none
    single = any(answers.frame.schema[f"p:{label}"] == pl.Float32 for label in answers.labels)
    return np.round(p, SINGLE - 1) if single else p
