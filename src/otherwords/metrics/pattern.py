"""Pattern accuracy: share of problems that a model gets right in enough of their variants (Zgreaban et al. 2025)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, tally
from .table import Answers


def pa(correct: npt.ArrayLike, bucket: npt.ArrayLike, at: float = 0.9, of: int = 0) -> float:
    """Share of problems with at least `at` of their variants right: PA@x.

    PA grows with luck in small buckets, so suites are compared at the same number of variants: with `of`, it is the
    expectation over random choices of that many variants of each problem, and problems with fewer are left out.
    The paper draws ten such choices and averages (`pa_subsampled`); this is where that leads. Nine right of ten, one
    of two; of two drawn from the ten, both are right with chance 8/10:

    >>> correct, bucket = [1] * 9 + [0] + [1, 0], ["a"] * 10 + ["b"] * 2
    >>> pa(correct, bucket), pa(correct, bucket, at=1.0)
    (0.5, 0.0)
    >>> pa(correct, bucket, at=1.0, of=2)
    0.4
    """
    k, n = large_enough(*tally("PA", correct, bucket), of)
    return float(passing(k, n, (exact(at),), of).mean())


def pa_curve(correct: npt.ArrayLike, bucket: npt.ArrayLike, step: float = 0.05, of: int = 0) -> dict[str, float]:
    """Pattern accuracy at every threshold from `step` to 1; `of` is as in `pa`.

    >>> pa_curve([1] * 9 + [0] + [1, 0], ["a"] * 10 + ["b"] * 2, step=0.25)
    {'0.25': 1.0, '0.50': 1.0, '0.75': 0.5, '1.00': 0.0}
    """
    k, n = large_enough(*tally("PA", correct, bucket), of)
    return dict(zip(step_names(step), passing(k, n, steps(step), of).mean(axis=0).tolist(), strict=True))


@metrics("pa.v1")
def pa_metric(at: float = 0.9, of: int = 0) -> Any:
    """Share of problems with at least `at` of their variants right (MERGE's PA), expected for `of` variants each."""
    thresholds = (exact(at),)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([passing(*answers.variants, thresholds, of), said(answers, of)])

    return statistics


@metrics("pa_curve.v1")
def pa_curve_metric(step: float = 0.05, of: int = 0) -> Any:
    """Pattern accuracy at every threshold from `step` to 1: the whole curve is MERGE's result.

    `of` is as in `pa`.
    """
    thresholds = steps(step)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([passing(*answers.variants, thresholds, of), said(answers, of)])

    return Metric(statistics, _shares, parts=step_names(step), compared=False, rate=True)


def exact(threshold: float) -> Fraction:
    """A threshold as it is written: 0.55 of 100 variants are 55, though 0.55 * 100 is more than 55 in floats."""
    if not 0 < threshold <= 1:
        raise BadInput(f"found {threshold!r}", field="at", fix="give a share of variants above 0 and at most 1")
    return Fraction(str(threshold))


def needed(threshold: Fraction, size: int) -> int:
    """How many of `size` variants must be right, at least one."""
    return math.ceil(threshold * size)


def steps(step: float) -> tuple[Fraction, ...]:
    """The thresholds of a curve: `step`, twice that, and so on up to 1."""
    size = exact(step)
    if size.numerator != 1 or size.denominator > 1000:
        raise BadInput(f"found {step!r}", field="step", fix="give a step that divides 1, such as 0.05 or 0.01")
    return tuple(size * (one + 1) for one in range(size.denominator))


def step_names(step: float) -> tuple[str, ...]:
    """The thresholds of a curve as they are printed.

    >>> step_names(0.25)
    ('0.25', '0.50', '0.75', '1.00')
    """
    digits = max(2, len(str(step).partition(".")[2]))
    return tuple(f"{float(one):.{digits}f}" for one in steps(step))


def said(answers: Answers, of: int) -> Array:
    """Which problems have variants enough to say something."""
    return (answers.variants[1] >= max(of, 1)).astype(np.int8)


def large_enough(k: Array, n: Array, of: int) -> tuple[Array, Array]:
    """Leave out problems with fewer than `of` variants; complain where none is left."""
    if not (n >= of).any():
        raise BadInput(f"no problem has {of} variants; the most is {n.max()}", field="of", fix="ask for fewer")
    return k[n >= of], n[n >= of]


def passing(k: Array, n: Array, thresholds: tuple[Fraction, ...], of: int = 0) -> Array:
    """Whether k right of n variants pass each threshold; with `of`, the chance that so many drawn from them do.

    A row per problem, a column per threshold; zeros for problems that have too few variants.
    """
    if of < 0:
        raise BadInput(f"found {of}", field="of", fix="give a number of variants, or 0 for all there are")
    # It depends on the two counts alone, so it is worked out once for each pair of them that occurs.
    _, pairs, place = np.unique(n * (int(n.max()) + 1) + k, return_index=True, return_inverse=True)
    table = _expected(k[pairs], n[pairs], thresholds, of) if of else _passed(k[pairs], n[pairs], thresholds)
    return np.asarray(table[place])


def _passed(k: Array, n: Array, thresholds: tuple[Fraction, ...]) -> Array:
    """Small numbers: a hundred thresholds of a million problems are 100 MB."""
    sizes, place = np.unique(n, return_inverse=True)
    need = np.array([[needed(one, size) for one in thresholds] for size in sizes.tolist()])
    return np.asarray((k[:, None] >= need[place]) & (n > 0)[:, None]).astype(np.int8)


def _expected(k: Array, n: Array, thresholds: tuple[Fraction, ...], of: int) -> Array:
    tails = np.array([_tails(right, size, of) for right, size in zip(k.tolist(), n.tolist(), strict=True)])
    return np.asarray(tails[:, [needed(one, of) for one in thresholds]])


def _tails(right: int, size: int, of: int) -> list[float]:
    """Chance that at least 0, 1, ... of `of` variants are right, drawn without replacement; 0 where there are too few.

    The hypergeometric distribution; a quotient of whole numbers is rounded once, so that no processor differs.
    """
    if size < of:
        return [0.0] * (of + 1)
    ways = [math.comb(right, j) * math.comb(size - right, of - j) for j in range(of, -1, -1)]
    whole = math.comb(size, of)
    return [tail / whole for tail in accumulate(ways)][::-1]


def _shares(totals: Array) -> Array:
    return divide(totals[..., :-1], totals[..., -1:])
