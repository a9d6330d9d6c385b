"""Intervals of a share k of n, such as the share of sound rewordings in a sample that people judged."""

from __future__ import annotations

import math

from ..errors import BadInput


def wald(k: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The textbook interval share +- z * sqrt(share * (1 - share) / n), cut at 0 and 1.

    Papers print it, so it is here; near 0 and 1 it is too narrow, and at 0 and n it has no width. `wilson` is the
    better one. Both take a k that is not whole, such as 400 times a printed share. Sound substitutions in MultiNLI's
    test set (Salvatore et al. 2023, Table 16), 80.5 % of 400:

    >>> low, high = wald(322, 400)
    >>> print(f"{low:.1%} to {high:.1%}")
    76.6% to 84.4%
    """
    share, z = _checked(k, n, confidence)
    half = z * math.sqrt(share * (1 - share) / n)
    return max(0.0, share - half), min(1.0, share + half)


def wilson(k: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of Wilson (1927): all shares that a test at this level would not reject.

    >>> low, high = wilson(322, 400)
    >>> print(f"{low:.1%} to {high:.1%}")
    76.3% to 84.1%
    """
    share, z = _checked(k, n, confidence)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the bound is 0 or 1 exactly; the difference of two roots would miss it by a rounding error.
    low = 0.0 if k == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if k == n else min(1.0, (centre + half) / scale)
    return low, high


def _checked(k: float, n: int, confidence: float) -> tuple[float, float]:
    from scipy.special import ndtri  # here, as scoring imports this file and most scores need no such interval

    if n < 1:
        raise BadInput(f"a share of {n} items", field="n", fix="give at least one item")
    if not 0 <= k <= n:
        raise BadInput(f"found {k} of {n}", field="k", fix="give a count from 0 to n")
    if not 0 < confidence < 1:
        raise BadInput(f"found {confidence}", field="confidence", fix="give a number between 0 and 1, such as 0.95")
    return k / n, float(ndtri((1 + confidence) / 2))
