"""Many tests at once: p-values adjusted for their number, after Bonferroni, Holm, and Benjamini and Hochberg; maxT."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UnknownName

Array = npt.NDArray[Any]
#: Statistics closer than this, as a share, are ties: their standard errors are no better known than that.
TIE = 1e-6


def adjust(p_values: npt.ArrayLike, method: str = "holm") -> Array:
    """Adjusted p-values, in the order given: a test is rejected at alpha where its adjusted p-value is at most alpha.

    `bonferroni` and `holm` keep the chance of any false rejection below alpha whatever the tests have in common; Holm's
    rejects at least as much. `benjamini-hochberg` keeps the expected share of false ones among the rejections below it,
    for tests that are independent or positively dependent.

    >>> adjust([0.01, 0.04, 0.03], "bonferroni").round(2).tolist()
    [0.03, 0.12, 0.09]
    >>> adjust([0.01, 0.04, 0.03], "holm").round(2).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust([0.01, 0.04, 0.03], "benjamini-hochberg").round(2).tolist()
    [0.03, 0.04, 0.04]
    """
    if method not in _METHODS:
        raise UnknownName(f"no adjustment named {method!r}; available: {', '.join(_METHODS)}")
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(_METHODS[method](p[order]), 1.0)
    return adjusted


def reject(p_values: npt.ArrayLike, alpha: float = 0.05, method: str = "holm") -> Array:
    """Which tests are rejected at level alpha, in the order given.

    >>> reject([0.01, 0.04, 0.03], 0.05, "benjamini-hochberg").tolist()
    [True, True, True]
    """
    return np.asarray(adjust(p_values, method) <= level(alpha))


def step_down(observed: Array, drawn: Array) -> Array:
    """Adjusted p-values from statistics and their replicates, a row each (maxT); NaN where there is no statistic.

    The largest statistic is held against the largest of all in each replicate, the next against the largest of the
    others, and so on (Westfall and Young 1993, algorithm 4.1).

    >>> step_down(np.array([3.0, 1.0]), np.array([[0.5, 2.0], [3.5, 0.1], [0.0, 0.5]])).tolist()
    [0.5, 0.5]
    """
    known = np.flatnonzero(~np.isnan(observed))
    order = known[np.argsort(-np.abs(observed[known]), kind="stable")]
    sizes = np.nan_to_num(np.abs(drawn[:, order[::-1]]), nan=np.inf)  # an undefined one counts as large
    largest = np.maximum.accumulate(sizes, axis=1)[:, ::-1]  # of this metric and of all that differ less
    reached = (largest >= np.abs(observed[order]) * (1 - TIE)).sum(axis=0)
    p = np.full(len(observed), np.nan)
    p[order] = np.maximum.accumulate((1 + reached) / (len(drawn) + 1))
    return p


def level(alpha: float) -> float:
    """A level of significance, refused unless it is between 0 and 1."""
    if not 0 < alpha < 1:
        raise BadInput(f"found {alpha!r}", field="alpha", fix="give a number between 0 and 1, such as 0.05")
    return alpha


def _checked(p_values: npt.ArrayLike) -> Array:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise BadInput(f"found p-values of shape {p.shape}", fix="give a list with at least one p-value")
    if not np.all((p >= 0) & (p <= 1)):  # NaN is neither
        wrong = p[~((p >= 0) & (p <= 1))][0]
        raise BadInput(f"found {wrong}", field="p_values", fix="p-values lie between 0 and 1")
    return p


def _bonferroni(p: Array) -> Array:
    return p * len(p)


def _holm(p: Array) -> Array:
    """The smallest of m by m, the next by m - 1, ...; never less than the one before (Holm 1979)."""
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _benjamini_hochberg(p: Array) -> Array:
    """The i-th smallest of m by m / i; never more than the one after (Benjamini and Hochberg 1995)."""
    scaled = p * (len(p) / np.arange(1, len(p) + 1))
    return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])


_METHODS: dict[str, Callable[[Array], Array]] = {
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini-hochberg": _benjamini_hochberg,
}
