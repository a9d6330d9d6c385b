"""Pattern accuracy averaged over random subsamples of variants, as MERGE computes it (Zgreaban et al. 2025).

`pa` and `pa_curve` with `of` give what these averages lead to, without drawing; here one may draw as the paper does.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from .metric import Array, tally
from .pattern import exact, large_enough, needed, step_names, steps


def pa_subsampled(
    correct: npt.ArrayLike, bucket: npt.ArrayLike, at: float = 0.9, size: int = 20, draws: int = 10, seed: int = 1
) -> float:
    """PA@x as the paper has it: draw `size` variants of every problem, `draws` times, and average.

    >>> pa_subsampled([1] * 30 + [0] * 30, ["a"] * 30 + ["b"] * 30)
    0.5
    """
    return float(_average(correct, bucket, (exact(at),), size, draws, seed)[0])


def pa_curve_subsampled(
    correct: npt.ArrayLike, bucket: npt.ArrayLike, step: float = 0.05, size: int = 20, draws: int = 10, seed: int = 1
) -> dict[str, float]:
    """The whole curve, averaged over the same draws at every threshold: each point is what `pa_subsampled` gives.

    Two of each problem's variants are drawn; of a both are right, of b always one, of c none:

    >>> pa_curve_subsampled([1, 1, 1, 1, 0, 0, 0], ["a", "a", "a", "b", "b", "c", "c"], step=0.5, size=2)
    {'0.50': 0.6666666666666666, '1.00': 0.3333333333333333}
    """
    thresholds = steps(step)
    shares = _average(correct, bucket, thresholds, size, draws, seed)
    return dict(zip(step_names(step), shares.tolist(), strict=True))


def _average(
    correct: npt.ArrayLike,
    bucket: npt.ArrayLike,
    thresholds: tuple[Fraction, ...],
    size: int,
    draws: int,
    seed: int,
) -> Array:
    """The mean over draws of the share of problems that pass, for each threshold."""
    if size < 1 or draws < 1:
        raise BadInput(f"found size={size}, draws={draws}", fix="draw at least one variant, at least once")
    large_enough(*tally("PA", correct, bucket), size)
    right = np.asarray(correct).astype(bool)
    codes = np.unique(np.asarray(bucket), return_inverse=True)[1]
    need, random = np.array([needed(one, size) for one in thresholds]), np.random.default_rng(seed)
    drawn = np.concatenate([_drawn(right, codes, size, random) for _ in range(draws)])
    return np.asarray((drawn[:, None] >= need).mean(axis=0))


def _drawn(right: Array, codes: Array, size: int, random: np.random.Generator) -> Array:
    """How many are right of one random choice of `size` variants, for every problem that has so many."""
    order = np.lexsort((random.random(len(codes)), codes))
    n = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(n) - n, n)
    chosen = order[rank < size]
    return np.asarray(np.bincount(codes[chosen], right[chosen], len(n))[n >= size])
