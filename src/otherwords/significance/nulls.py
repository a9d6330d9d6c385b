"""The IE test's paired t (Salvatore et al. 2023) and its null distributions, drawn or summed over counts of changes.

With d = n10 - n01 and D = n10 + n01 the statistic is t = d / sqrt(D - d^2 / n), which grows with d / sqrt(D) and with
nothing else. Replicates are therefore compared by d |d| / D, in whole numbers: ties are ties on every machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, xlog1py, xlogy

from ..errors import BadInput
from ..storage.files import seed_for

Array = npt.NDArray[Any]
NULLS = ("paper", "released", "exact")
TAILS = ("paper", "inclusive")
#: n^3 has to fit into 63 bits; beyond, floats decide, which may miss a tie.
_WHOLE = 2_000_000
#: Numbers of changes are left out of the exact sum where all of them together have less than exp(-100) of its mass.
_NEGLIGIBLE = 100.0


def paired_t(n: int, n10: int, n01: int) -> float:
    """sqrt(n) * mean(A - B) / std(A - B), with ddof 0 as in the paper's equation 13; 0 where A = B everywhere.

    Where all items change in one direction the deviation is 0 too, but the drop is total: t is then infinite.

    >>> round(paired_t(100, 12, 5), 4)
    1.7228
    """
    if n < 1 or n10 < 0 or n01 < 0 or n10 + n01 > n:
        raise BadInput(f"no {n} items have {n10} and {n01} changes", fix="give counts from 0, and their sum up to n")
    drop, changes = n10 - n01, n10 + n01
    if drop == 0:
        return 0.0
    if abs(drop) == n:
        return math.copysign(math.inf, drop)
    return drop / math.sqrt(changes - drop * drop / n)


def p_value(n: int, n10: int, n01: int, null: str, tails: str, replicates: int, seed: int) -> float:
    """The p-value of observed counts under a null distribution, with the paper's tails or inclusive ones.

    >>> p_value(100, 12, 5, "exact", "paper", 0, 0) <= p_value(100, 12, 5, "exact", "inclusive", 0, 0)
    True
    """
    if null == "exact":
        return _exact(n, n10, n01, tails)
    if replicates < 1:
        raise BadInput(f"{replicates} replicates", field="replicates", fix="draw at least one, or sum the null: exact")
    random = np.random.default_rng(seed_for(seed, "ie_test", null))
    drop, changes = (_swapped if null == "paper" else _half_swapped)(random, n, n10, n01, replicates)
    sign = compare(drop, changes, n, n10 - n01, n10 + n01)
    above, below, tied = (int((sign == one).sum()) for one in (1, -1, 0))
    if tails == "paper":  # equation 14
        return 2 * min(below + tied, above) / replicates
    return min(1.0, 2 * (1 + tied + min(below, above)) / (replicates + 1))


def compare(drop: Array, changes: Array, n: int, observed: int, discordant: int) -> Array:
    """The sign of t* - t, for replicates with these drops and numbers of changes; without any change t* is 0.

    Three changes of four in one direction against two of two, then three of three:

    >>> compare(np.array([2, 3]), np.array([4, 3]), 10, observed=2, discordant=2)
    array([-1,  1])
    """
    whole = np.int64 if n <= _WHOLE else np.float64
    drop, changes = drop.astype(whole), np.maximum(changes, 1).astype(whole)
    return np.asarray(np.sign(drop * np.abs(drop) * discordant - changes * (observed * abs(observed))))


def _swapped(random: np.random.Generator, n: int, n10: int, n01: int, size: int) -> tuple[Array, Array]:
    """The paper's null: D resampled pairs are discordant, and a fair coin decides the direction of each."""
    changes = random.binomial(n, (n10 + n01) / n, size)
    return 2 * random.binomial(changes, 0.5) - changes, changes


def _half_swapped(random: np.random.Generator, n: int, n10: int, n01: int, size: int) -> tuple[Array, Array]:
    """The released code's null: rows are resampled, and the first floor(n / 2) of them swapped."""
    shares = np.array([n10, n01, n - n10 - n01]) / n
    first = random.multinomial(n // 2, shares, size)
    second = random.multinomial(n - n // 2, shares, size)
    drop = second[:, 0] - second[:, 1] - first[:, 0] + first[:, 1]
    return drop, n - first[:, 2] - second[:, 2]


def _exact(n: int, n10: int, n01: int, tails: str) -> float:
    """The null is symmetric: both tails follow from P(t* >= |t|) and P(t* > |t|)."""
    at_least, above = _upper_tails(n, abs(n10 - n01), n10 + n01)
    if tails == "inclusive":
        return min(1.0, 2 * at_least)
    return 2 * above if n10 >= n01 else 2 * min(at_least, 1 - at_least)


def _upper_tails(n: int, observed: int, discordant: int) -> tuple[float, float]:
    """Sum over D ~ Bin(n, discordant / n) of the chance that K ~ Bin(D, 1/2) reaches t, and that it exceeds it."""
    changes = _likely(n, discordant / n)
    log_weight = gammaln(n + 1) - gammaln(changes + 1) - gammaln(n - changes + 1)
    log_weight += xlogy(changes, discordant / n) + xlog1py(n - changes, -discordant / n)
    weight = np.exp(log_weight)
    weight /= weight.sum()
    least = np.ceil(np.sqrt(np.maximum(changes, 1) / discordant) * observed).astype(np.int64)
    # The root is rounded; whole numbers decide between it and its neighbours.
    least -= compare(np.maximum(least - 1, 0), changes, n, observed, discordant) >= 0
    least = np.maximum(least, 0)
    least += compare(least, changes, n, observed, discordant) < 0
    more = least + (compare(least, changes, n, observed, discordant) == 0)
    return tuple(float(weight @ _reach(changes, drop)) for drop in (least, more))  # type: ignore[return-value]


def _reach(changes: Array, drop: Array) -> Array:
    """P(2K - D >= drop) for K ~ Bin(D, 1/2)."""
    k = (changes + drop + 1) // 2
    inside = betainc(np.maximum(k, 1), np.maximum(changes - k + 1, 1), 0.5)
    return np.where(k > changes, 0.0, np.where(k <= 0, 1.0, inside))


def _likely(n: int, share: float) -> Array:
    """The outcomes of Bin(n, share), less a negligible share of either tail, by Bernstein's inequality."""
    third = _NEGLIGIBLE / 3
    reach = third + np.sqrt(third**2 + 2 * _NEGLIGIBLE * n * share * (1 - share))
    return np.arange(max(0, int(n * share - reach)), min(n, int(n * share + reach) + 1) + 1)
