"""Fooling rates: how many problems that a model gets right have a wording that it gets wrong (Arakelyan et al. 2024).

Equation 3 of the paper prints its condition inverted; the text and equation 4 say what is counted here. The variants
are all there are of a problem, so the rates grow with their number: see `fooling_at` for a fixed number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .metric import Array, Metric, divide
from .reading import read
from .table import Answers

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
