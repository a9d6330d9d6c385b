"""Student's t over a handful of scores, as papers compare groups over models (Zgreaban et al. 2025, section 5)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput

#: Deviations and differences below this share of the largest score are rounding, not variation.
ROUNDING = 1e-12


class T(NamedTuple):
    """A t statistic, its degrees of freedom, and the two-sided p-value."""

    t: float
    df: float
    p: float


def t_test(one: npt.ArrayLike, other: npt.ArrayLike, paired: bool = True) -> T:
    """Compare the means of two lists of scores: paired where they belong to the same models, else after Welch.

    Where nothing varies, but for rounding, equal means give t = 0 and p = 1, and others an infinite t and p = 0.

    >>> [round(number, 3) for number in t_test([0.80, 0.85, 0.90], [0.70, 0.78, 0.79])]
    [7.766, 2.0, 0.016]
    >>> t_test([0.1 + 0.2] * 3, [0.3] * 3)
    T(t=0.0, df=2.0, p=1.0)
    """
    a, b = (np.asarray(scores, dtype=np.float64) for scores in (one, other))
    if min(a.size, b.size) < 2 or (paired and a.shape != b.shape):
        raise BadInput(f"found {a.size} and {b.size} scores", fix="give two or more of each, equally many if paired")
    noise = ROUNDING * float(max(np.abs(a).max(), np.abs(b).max()))
    samples = [a - b] if paired else [a, b]
    parts = np.array([_squared_error(sample, noise) for sample in samples])
    freedom = np.array([sample.size - 1.0 for sample in samples])
    spread, difference = float(parts.sum()), float(a.mean() - b.mean())
    df = float(spread**2 / (parts**2 / freedom).sum()) if spread else float(freedom.sum())
    if abs(difference) <= noise:
        difference = 0.0
    if spread == 0:
        return T(0.0, df, 1.0) if difference == 0 else T(float(np.copysign(np.inf, difference)), df, 0.0)
    return _two_sided(difference / float(np.sqrt(spread)), df)


def _squared_error(sample: npt.NDArray[np.float64], noise: float) -> float:
    """The squared standard error of a mean, 0 where the scores differ by rounding alone."""
    deviation = float(np.std(sample, ddof=1))
    return deviation**2 / sample.size if deviation > noise else 0.0


def _two_sided(t: float, df: float) -> T:
    from scipy.special import stdtr

    p: Any = 2 * stdtr(df, -abs(t))
    return T(t, df, float(p))
