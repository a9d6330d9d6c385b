"""Pattern accuracy: share of problems that a model gets right in enough of their variants (Zgreaban et al. 2025).

With it: how far it drops below the accuracy on the seeds, and at which threshold they match (MERGE's QT and MT), and
the average over random subsamples of variants, as MERGE computes it.
"""

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array
from ..errors import BadInput
from ..registry import metrics
from .metric import Metric, both_shares, divide, first_less_second, paired

#: Thresholds are tried in hundredths, as Table 3 prints them; a step of PA between two of them is not looked at.
GRID = tuple(Fraction(one, 100) for one in range(1, 101))


@metrics("pa.v1")
def pa(at: float = 0.9, of: int = 0) -> Any:
    """Share of problems with at least `at` of their variants right (MERGE's PA), expected for `of` variants each.

    PA grows with luck in small buckets, so suites are compared at the same number of variants: with `of`, it is the
    expectation over random choices of that many variants of each problem, and problems with fewer are left out.
    The paper draws ten such choices and averages (`pa_subsampled`); this is where that leads. Nine right of ten, one
    of two; of two drawn from the ten, both are right with chance 8/10:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 11 + ["b"] * 3, "variant": ["", *range(10), "", 0, 1], "gold": ["yes"] * 14}
    >>> rows["pred"] = ["yes"] * 10 + ["no"] + ["yes", "yes", "no"]
    >>> [ow.measure(metric, **rows).value for metric in ("pa", "pa(at=1.0)", "pa(at=1.0, of=2)")]
    [0.5, 0.0, 0.4]
    """
    thresholds = (exact(at),)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([passing(*answers.variants, thresholds, of), _enough(answers, of)])

    return Metric(statistics, original=False, labels_only=True)


@metrics("pa_curve.v1")
def pa_curve(step: float = 0.05, of: int = 0) -> Any:
    """Pattern accuracy at every threshold from `step` to 1: the whole curve is MERGE's result.

    `of` is as in `pa`. One point of the curve, of nine right of ten and one of two:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 11 + ["b"] * 3, "variant": ["", *range(10), "", 0, 1], "gold": ["yes"] * 14}
    >>> ow.measure("pa_curve(step=0.25)", part="0.75", **rows, pred=["yes"] * 10 + ["no", "yes", "yes", "no"]).value
    0.5
    """
    thresholds = steps(step)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([passing(*answers.variants, thresholds, of), _enough(answers, of)])

    return Metric(
        statistics, _shares, parts=step_names(step), compared=False, rate=True, original=False, labels_only=True
    )


@metrics("pa_drop.v1")
def pa_drop(at: float = 0.9, of: int = 0) -> Any:
    """Pattern accuracy minus accuracy on the same originals (QT in MERGE's Table 3: negative where a model loses).

    `at` and `of` are as in `pa`. The table's caption has the difference the other way round. Both originals are right,
    and all three variants of one problem, but one of two of the other:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b"] * 3, "variant": ["", 1, 2, 3, "", 1, 2], "gold": ["yes"] * 7}
    >>> ow.measure("pa_drop", **rows, pred=["yes"] * 6 + ["no"]).value
    -0.5
    """
    thresholds = (exact(at),)

    def statistics(answers: Answers) -> Array:
        return _rows(answers, thresholds, of)

    return Metric(statistics, first_less_second, uses="both", bounds=(-1, 1), sides=both_shares, labels_only=True)


@metrics("matching_threshold.v1")
def matching_threshold(of: int = 0) -> Any:
    """Thresholds, in hundredths, low to high, where pattern accuracy is nearest that on originals (MERGE's MT).

    `of` is as in `pa`. Pattern accuracy is a step function, so a whole interval is nearest. One of two originals is
    right; the variants pass at every threshold in one problem, and up to 1/2 in the other:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3 + ["b"] * 3, "variant": ["", 1, 2] * 2, "gold": ["yes"] * 6}
    >>> rows["pred"] = ["yes", "yes", "yes", "no", "yes", "no"]
    >>> [ow.measure("matching_threshold", part=end, **rows).value for end in ("low", "high")]
    [0.51, 1.0]
    """

    def statistics(answers: Answers) -> Array:
        return _rows(answers, GRID, of)

    def combine(totals: Array) -> Array:
        nearest = _nearest(totals[..., : len(GRID)], totals[..., -2])
        return np.where(totals[..., -1:] > 0, nearest, np.nan)

    return Metric(statistics, combine, uses="both", parts=("low", "high"), smooth=False, blind=True, labels_only=True)


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
    right, names = paired("PA", correct, bucket)
    right, codes = right.astype(bool), np.unique(names, return_inverse=True)[1]
    if (most := np.bincount(codes).max()) < size:
        raise BadInput(f"no problem has {size} variants; the most is {most}", field="size", fix="use a smaller size")
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


# Thresholds, and who passes them


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


def passing(k: Array, n: Array, thresholds: tuple[Fraction, ...], of: int = 0) -> Array:
    """Whether k right of n variants pass each threshold; with `of`, the chance that so many drawn from them do.

    A row per problem, a column per threshold; zeros for problems that have too few variants.
    """
    if of < 0:
        raise BadInput(f"found {of}", field="of", fix="give a number of variants, or 0 for all")
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


def _enough(answers: Answers, of: int) -> Array:
    """Which problems have enough variants to count."""
    return (answers.n_variants >= max(of, 1)).astype(np.int8)


def _rows(answers: Answers, thresholds: tuple[Fraction, ...], of: int) -> Array:
    """A column per threshold passed, then whether the original is right, then whether the problem counts."""
    counted = _enough(answers, of)
    right = answers.correct[answers.originals] * counted
    return np.column_stack([passing(*answers.variants, thresholds, of), right, counted])


def _nearest(passed: Array, right: Array) -> Array:
    """The first and the last of the thresholds whose count of passing problems is nearest that of right originals.

    The count never grows with the threshold, so equally near thresholds are adjacent.
    """
    gap = np.abs(passed - np.asarray(right)[..., None])
    nearest = gap <= gap.min(axis=-1, keepdims=True) + 1e-9  # expected counts of draws are fractions
    first, behind = nearest.argmax(axis=-1), nearest[..., ::-1].argmax(axis=-1)
    return np.stack([(first + 1) / len(GRID), (len(GRID) - behind) / len(GRID)], axis=-1)
