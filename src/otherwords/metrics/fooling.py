"""Fooling rates at a fixed number of variants, so that suites with more of them do not look worse.

A problem with n variants of which f fool is fooled within k of them, drawn at random, with probability
1 - C(n-f, k) / C(n, k): the expectation over all draws, without drawing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.reading import read
from ..answers.table import Answers
from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .metric import Array, Metric, divide, ratio

# MERGED from metrics.fooling: Fooling rates: how many problems that a model gets right have a wording that it gets wrong (Arakelyan et al. 2024).

NLI = frozenset({"entailment", "neutral", "contradiction"})
Statistics = Callable[[Answers], Array]


def r_r(bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Relaxed fooling rate: of all problems answered correctly, those with at least one variant given another label.

    The columns are those of an answers table; `variant` is None for an original. Problem a is answered correctly and
    has a fooling variant, b has none but counts, c is not answered correctly:

    >>> pred = ["no", "yes", "no", "no", "yes", "no"]
    >>> r_r(["a", "a", "a", "b", "c", "c"], [None, 1, 2, None, None, 1], ["no"] * 6, pred)
    0.5
    """
    return measure(_any_statistics(relaxed), rate, columns(bucket, variant, gold, pred))


def r_s(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, opposite: str = ""
) -> float:
    """Strict fooling rate: the same, but only a variant given the opposite label fools.

    Opposites are entailment and contradiction, the two labels of a task that has two, or what `opposite` says:
    "a<->b". A gold label without an opposite, like neutral, is fooled by any other label: the paper's convention.

    >>> gold = ["entailment", "entailment", "neutral", "neutral"]
    >>> r_s(["a", "a", "b", "b"], [None, 1, None, 1], gold, ["entailment", "neutral", "neutral", "entailment"])
    0.5
    """
    return measure(_any_statistics(strict(opposite)), rate, columns(bucket, variant, gold, pred))


def r_s_without_neutral(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, opposite: str = ""
) -> float:
    """Strict fooling rate of the problems whose gold label has an opposite, all others left out.

    >>> gold = ["entailment", "entailment", "neutral", "neutral"]
    >>> r_s_without_neutral(["a", "a", "b", "b"], [None, 1, None, 1], gold, ["entailment", *["neutral"] * 3])
    0.0
    """
    return measure(_any_statistics(strict(opposite), opposite), rate, columns(bucket, variant, gold, pred))


@metrics("r_r.v1")
def r_r_metric() -> Any:
    """Relaxed fooling rate: problems answered correctly with a variant of another label, of all answered correctly."""
    return Metric(_any_statistics(relaxed), rate, uses="both", rate=True)


@metrics("r_s.v1")
def r_s_metric(opposite: str = "") -> Any:
    """Strict fooling rate: only the opposite label fools (gold neutral, which has none: any other label)."""
    return Metric(_any_statistics(strict(opposite)), rate, uses="both", rate=True)


@metrics("r_s_without_neutral.v1")
def r_s_without_neutral_metric(opposite: str = "") -> Any:
    """Strict fooling rate of the problems whose gold label has an opposite."""
    return Metric(_any_statistics(strict(opposite), opposite), rate, uses="both", rate=True)


def rate(totals: Array) -> Array:
    """Problems fooled of all problems; undefined where no problem has a variant."""
    return divide(np.where(totals[..., 1] > 0, totals[..., 0], np.nan), totals[..., 2])


def relaxed(answers: Answers) -> Array:
    """Variants that fool: given another label than their original, which was answered correctly."""
    right = answers.original_pred == answers.gold
    return np.asarray(answers.is_variant & right & (answers.pred != answers.gold))


def strict(opposite: str = "") -> Statistics:
    """Variants that fool strictly: given the opposite of the gold label, where it has one."""
    _pair(opposite)

    def fools(answers: Answers) -> Array:
        against = opposites(answers, opposite)[answers.gold]
        return np.asarray(relaxed(answers) & ((against == -1) | (answers.pred == against)))

    return fools


def opposites(answers: Answers, opposite: str = "") -> Array:
    """For every label the number of its opposite, -1 where it has none."""
    labels = answers.labels
    pair = _pair(opposite) or (("entailment", "contradiction") if set(labels) <= NLI else labels)
    found = np.full(len(labels), -1)
    if len(pair) > 2 or (opposite and not set(pair) <= set(labels)):
        raise Unmeasurable(
            f"cannot tell the opposite among the labels {', '.join(labels)}",
            where=answers.model,
            fix='name two of them: opposite="a<->b"',
        )
    # A label that nobody gave has no number: -2 equals no answer, but is an opposite all the same.
    numbers = {name: place for place, name in enumerate(labels)}
    for one, other in (pair, pair[::-1]) if len(pair) == 2 else ():
        if one in numbers:
            found[numbers[one]] = numbers.get(other, -2)
    return found


def counted_problems(answers: Answers, opposite: str | None = None) -> Array:
    """Which problems are answered correctly; unless `opposite` is None, of those whose gold label has an opposite."""
    counted = answers.correct[answers.originals]
    if opposite is not None:
        counted = counted & (opposites(answers, opposite) != -1)[answers.gold[answers.originals]]
    return np.asarray(counted)


def columns(bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike) -> Answers:
    """Read the four columns of an answers table given as arrays."""
    named = {"bucket": bucket, "variant": variant, "gold": gold, "pred": pred}
    lists = {name: np.asarray(values, dtype=object).tolist() for name, values in named.items()}
    if len({len(values) for values in lists.values()}) > 1:
        found = ", ".join(f"{name} has {len(values)}" for name, values in lists.items())
        raise BadInput(f"columns of different lengths: {found}", fix="give one entry per answer")
    return read(pl.DataFrame(lists, strict=False))


def measure(statistics: Statistics, combine: Callable[[Array], Array], answers: Answers) -> float:
    """Measure one table, or say that there is nothing to be measured in it."""
    value = float(combine(statistics(answers).sum(axis=0)))
    if np.isnan(value):
        raise BadInput(
            "no fooling rate", fix="give problems that are answered correctly, and (enough of) their variants"
        )
    return value


def _any_statistics(fools: Statistics, opposite: str | None = None) -> Statistics:
    """Rows of: fooled at least once, has variants, answered correctly (and has an opposite label, where asked)."""

    def statistics(answers: Answers) -> Array:
        counted = counted_problems(answers, opposite)
        fooled = answers.sum_by_bucket(fools(answers))[:, 0] > 0
        return np.stack([fooled & counted, (answers.variants[1] > 0) & counted, counted], axis=1).astype(np.int64)

    return statistics


def _pair(opposite: str) -> tuple[str, ...]:
    """The two labels in `a<->b`; none where the labels themselves tell."""
    pair = tuple(label.strip() for label in opposite.split("<->")) if opposite else ()
    if pair and (len(pair) != 2 or "" in pair or pair[0] == pair[1]):
        raise BadInput(f"found {opposite!r}", field="opposite", fix="name two labels: a<->b")
    return pair


# MERGED from metrics.fooling_at: Fooling rates at a fixed number of variants, so that suites with more of them do not look worse.


def fooled_within(k: int, fooling: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Chance that k variants, drawn without replacement from `count`, hold at least one of the `fooling` ones.

    Three of ten fool and five are drawn: 1 - C(7,5) / C(10,5) = 1 - 21/252.

    >>> fooled_within(5, [3], [10]).tolist()
    [0.9166666666666666]
    """
    _check(k)
    f, n = (each.ravel() for each in np.broadcast_arrays(np.asarray(fooling), np.asarray(count)))
    if (n < k).any() or (f < 0).any() or (f > n).any():
        raise BadInput("found more draws or fooling variants than variants", fix=f"leave out problems with n < {k}")
    # The chance depends on the two counts alone: worked out once for each pair that occurs, in whole numbers.
    first, place = np.unique(n * (int(n.max(initial=0)) + 1) + f, return_index=True, return_inverse=True)[1:]
    chances = [1 - Fraction(comb(int(n[i] - f[i]), k), comb(int(n[i]), k)) for i in first]
    return np.array(chances, dtype=np.float64)[place]


def r_r_at(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, k: int = 5
) -> float:
    """Relaxed fooling rate at k variants, over the correctly answered problems that have so many.

    >>> r_r_at(["a"] * 3, [None, 1, 2], ["no"] * 3, ["no", "yes", "no"], k=1)
    0.5
    """
    return measure(_at_statistics(relaxed, k), ratio, columns(bucket, variant, gold, pred))


def r_s_at(
    bucket: npt.ArrayLike,
    variant: npt.ArrayLike,
    gold: npt.ArrayLike,
    pred: npt.ArrayLike,
    k: int = 5,
    opposite: str = "",
) -> float:
    """Strict fooling rate at k variants, over the correctly answered problems that have so many.

    >>> gold = ["entailment"] * 3
    >>> r_s_at(["a"] * 3, [None, 1, 2], gold, ["entailment", "contradiction", "neutral"], k=1)
    0.5
    """
    return measure(_at_statistics(strict(opposite), k), ratio, columns(bucket, variant, gold, pred))


def r_s_without_neutral_at(
    bucket: npt.ArrayLike,
    variant: npt.ArrayLike,
    gold: npt.ArrayLike,
    pred: npt.ArrayLike,
    k: int = 5,
    opposite: str = "",
) -> float:
    """Strict fooling rate at k variants, of the problems whose gold label has an opposite, all others left out.

    >>> gold = ["entailment"] * 3 + ["neutral"] * 2
    >>> pred = ["entailment", "contradiction", "neutral", "neutral", "entailment"]
    >>> r_s_without_neutral_at(["a"] * 3 + ["b"] * 2, [None, 1, 2, None, 1], gold, pred, k=1)
    0.5
    """
    return measure(_at_statistics(strict(opposite), k, opposite), ratio, columns(bucket, variant, gold, pred))


def too_few_variants(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, k: int = 5
) -> list[str]:
    """The correctly answered problems that have fewer than k variants, in the order of the table.

    >>> too_few_variants(["a", "a", "b", "c"], [None, 1, None, None], ["no"] * 4, ["no", "no", "no", "yes"], k=1)
    ['b']
    """
    _check(k)
    answers = columns(bucket, variant, gold, pred)
    few = _few(answers, k)
    return [str(name) for name in answers.frame["bucket"][np.sort(answers.originals[few])]]


@metrics("r_r_at.v1")
def r_r_at_metric(k: int = 5) -> Any:
    """Relaxed fooling rate at k variants: the expectation over which k are drawn; problems with fewer say nothing."""
    return Metric(_at_statistics(relaxed, k))


@metrics("r_s_at.v1")
def r_s_at_metric(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants: the expectation over which k are drawn; problems with fewer say nothing.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k))


@metrics("r_s_without_neutral_at.v1")
def r_s_without_neutral_at_metric(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants, of the problems whose gold label has an opposite.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k, opposite))


@metrics("too_few_variants.v1")
def too_few_variants_metric(k: int = 5) -> Any:
    """Share of the correctly answered problems that have fewer than k variants."""
    _check(k)

    def statistics(answers: Answers) -> Array:
        return np.stack([_few(answers, k), answers.correct[answers.originals]], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", compared=False)


def _at_statistics(fools: Statistics, k: int, opposite: str | None = None) -> Statistics:
    """Rows of: the chance of being fooled within k variants, and one; zeros for a problem that has fewer.

    With `opposite`, zeros also for a problem whose gold label has none.
    """
    _check(k)

    def statistics(answers: Answers) -> Array:
        count = answers.variants[1]
        enough = counted_problems(answers, opposite) & (count >= k)
        fooling = answers.sum_by_bucket(fools(answers))[:, 0]
        rows = np.zeros((answers.n_buckets, 2))
        rows[enough, 0], rows[enough, 1] = fooled_within(k, fooling[enough], count[enough]), 1
        return rows

    return statistics


def _few(answers: Answers, k: int) -> Array:
    return np.asarray(answers.correct[answers.originals] & (answers.variants[1] < k))


def _check(k: int) -> None:
    if k < 1:
        raise BadInput(f"found {k}", field="k", fix="draw at least one variant")
