"""A metric is statistics per unit plus a way to combine their sums; every interval and test follows from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from .table import Answers

Array = npt.NDArray[Any]
Uses = Literal["originals", "variants", "both"]


def ratio(totals: Array) -> Array:
    """Divide the first sum by the second: a rate. Works on one row of sums or on a row per bootstrap replicate."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1])


@dataclass(frozen=True)
class Metric:
    """Statistics per bucket, how their sums combine to a number, and which answers the metric looks at.

    `statistics` returns one row per bucket; a row whose last entry is zero has nothing to say. `combine` turns summed
    rows into the value, along the last axis. `uses` tells which answers are counted as evidence.
    """

    statistics: Callable[[Answers], Array]
    combine: Callable[[Array], Array] = ratio
    uses: Uses = "variants"


def paired(what: str, one: npt.ArrayLike, other: npt.ArrayLike) -> tuple[Array, Array]:
    """Two columns as arrays, refused where they are empty or not equally long: NumPy would repeat the shorter one."""
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        raise BadInput(f"{what} of columns of shapes {first.shape} and {second.shape}", fix="give one entry per answer")
    if first.size == 0:
        raise BadInput(f"{what} of no answers", fix="give at least one")
    return first, second


def as_metric(function: Any) -> Metric:
    """Let a factory return the bare statistics where a ratio over variants is all it needs."""
    return function if isinstance(function, Metric) else Metric(function)
