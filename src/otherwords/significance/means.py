"""Student's t over a handful of scores, as papers compare groups over models (Zgreaban et al. 2025, section 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput


class T(NamedTuple):
    """A t statistic, its degrees of freedom, and the two-sided p-value."""

    t: float
    df: float
    p: float


def t_test(one: npt.ArrayLike, other: npt.ArrayLike, paired: bool = True) -> T:
    """Compare the means of two lists of scores: paired where they belong to the same models, else after Welch.

    Where nothing varies, equal means give t = 0 and p = 1, and others an infinite t and p = 0.

    >>> [round(number, 3) for number in t_test([0.80, 0.85, 0.90], [0.70, 0.78, 0.79])]
    [7.766, 2.0, 0.016]
    """
    a, b = (np.asarray(scores, dtype=np.float64) for scores in (one, other))
    if min(a.size, b.size) < 2 or (paired and a.shape != b.shape):
        raise BadInput(f"a t test of {a.size} and {b.size} scores", fix="give two of each, in pairs where paired")
    if paired:
        spread, df = np.var(a - b, ddof=1) / a.size, a.size - 1.0
    else:
        parts = np.array([np.var(a, ddof=1) / a.size, np.var(b, ddof=1) / b.size])
        spread = parts.sum()
        df = float(spread**2 / (parts**2 / (np.array([a.size, b.size]) - 1)).sum()) if spread else a.size + b.size - 2.0
    difference = a.mean() - b.mean()
    if spread == 0:
        return T(0.0, float(df), 1.0) if difference == 0 else T(float(np.copysign(np.inf, difference)), float(df), 0.0)
    return _two_sided(float(difference / np.sqrt(spread)), float(df))


def _two_sided(t: float, df: float) -> T:
    from scipy.special import stdtr

    p: Any = 2 * stdtr(df, -abs(t))
    return T(t, df, float(p))
