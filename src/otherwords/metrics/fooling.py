"""Fooling rates: how many problems that a model gets right have a wording that it gets wrong (Arakelyan et al. 2024).

At a fixed number of variants, too, so that suites with more of them do not look worse: a problem with n variants of
which f fool is fooled within k of them, drawn at random, with probability 1 - C(n-f, k) / C(n, k), the expectation over
all draws, without drawing.
"""

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.reading import read
from ..answers.table import Answers, Array
from ..errors import BadInput, Unmeasurable
from ..problem import UNREADABLE
from ..registry import metrics
from .metric import BASELINE, Metric, divide, with_baseline

NLI = frozenset({"entailment", "neutral", "contradiction"})
Statistics = Callable[[Answers], Array]


@metrics("r_r.v1")
def r_r(baseline: bool = False) -> Any:
    """Relaxed fooling rate: problems answered correctly with a variant of another label, of all answered correctly.

    Problem a is answered correctly and has a fooling variant, b has none but counts, c is not answered correctly:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "a", "b", "c", "c"], "variant": ["", 1, 2, "", "", 1], "gold": ["no"] * 6}
    >>> rows["pred"] = ["no", "yes", "no", "no", "yes", "no"]
    >>> ow.measure("r_r", **rows).value
    0.5

    With `baseline`, also the same rate where every wording takes its turn as the original, and how far the first is
    above that. Two of three turns of a are correct, and fooled; so is one of two of c; b is as it was. Of 2/3 + 1/2 + 1
    problems answered correctly, 2/3 + 1/2 are fooled:

    >>> round(ow.measure("r_r(baseline=true)", part="baseline", **rows).value, 4)
    0.5385
    """
    if not baseline:
        return Metric(_any_statistics(relaxed), rate, uses="both", rate=True, labels_only=True)
    return Metric(
        _turned_statistics,
        lambda totals: with_baseline(*(side[..., 2] for side in _both_rates(totals))),
        uses="both",
        parts=BASELINE,
        counted=lambda rows: rows[:, [3, 4, 3]],
        sides=_both_rates,
        weights=lambda rows: (rows[:, [2, 7, 2]], rows[:, [7, 7, 7]]),
        bounds=(-1, 1),
        labels_only=True,
    )


@metrics("r_s.v1")
def r_s(opposite: str = "") -> Any:
    """Strict fooling rate: only the opposite label fools (gold neutral, which has none: any other label).

    Opposites are entailment and contradiction, the two labels of a task that has two, or what `opposite` says:
    "a<->b". That a gold label without an opposite is fooled by any other label is the paper's convention;
    `r_s_without_neutral` leaves such problems out.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": ["", 1, "", 1]}
    >>> rows |= {"gold": ["entailment"] * 2 + ["neutral"] * 2, "pred": ["entailment", *["neutral"] * 2, "entailment"]}
    >>> ow.measure("r_s", **rows).value, ow.measure("r_s_without_neutral", **rows).value
    (0.5, 0.0)
    """
    return Metric(_any_statistics(strict(opposite)), rate, uses="both", rate=True, labels_only=True)


@metrics("r_s_without_neutral.v1")
def r_s_without_neutral(opposite: str = "") -> Any:
    """Strict fooling rate of the problems whose gold label has an opposite.

    `opposite` is as in `r_s`.
    """
    return Metric(_any_statistics(strict(opposite), opposite), rate, uses="both", rate=True, labels_only=True)


@metrics("r_r_at.v1")
def r_r_at(k: int = 5) -> Any:
    """Relaxed fooling rate at k variants: the expectation over draws of k; problems with fewer are left out.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3}
    >>> ow.measure("r_r_at(k=1)", **rows, pred=["no", "yes", "no"]).value
    0.5
    """
    return Metric(_at_statistics(relaxed, k), labels_only=True)


@metrics("r_s_at.v1")
def r_s_at(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants: the expectation over draws of k; problems with fewer are left out.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k), labels_only=True)


@metrics("r_s_without_neutral_at.v1")
def r_s_without_neutral_at(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants, of the problems whose gold label has an opposite.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k, opposite), labels_only=True)


@metrics("too_few_variants.v1")
def too_few_variants(k: int = 5) -> Any:
    """Share of the correctly answered problems that have fewer than k variants."""
    _check_k(k)

    def statistics(answers: Answers) -> Array:
        return np.stack([_too_few(answers, k), answers.correct[answers.originals]], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", compared=False, blind=True, labels_only=True)


def list_too_few_variants(answers: pl.DataFrame, k: int = 5) -> list[str]:
    """The correctly answered problems of one model that have fewer than k variants, in the order of the table.

    >>> rows = {"bucket": ["a", "a", "b", "c"], "variant": ["", "1", "", ""], "gold": ["no"] * 4}
    >>> list_too_few_variants(pl.DataFrame({**rows, "pred": ["no", "no", "no", "yes"]}), k=1)
    ['b']
    """
    _check_k(k)
    data = read(answers)
    return [str(name) for name in data.frame["bucket"][np.sort(data.originals[_too_few(data, k)])]]


# Which variants fool, and which problems count


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
    labels = tuple(label for label in answers.labels if label != UNREADABLE)
    pair = _pair(opposite) or (("entailment", "contradiction") if set(labels) <= NLI else labels)
    against = np.full(len(answers.labels), -1)
    if len(pair) > 2 or (opposite and not set(pair) <= set(labels)):
        raise Unmeasurable(
            f"no known pair of opposites among the labels {', '.join(labels)}",
            where=answers.model,
            fix='name two of them: opposite="a<->b"',
        )
    # A label that nobody gave has no number: -2 equals no answer, but is an opposite all the same.
    numbers = {name: place for place, name in enumerate(answers.labels)}
    for one, other in (pair, pair[::-1]) if len(pair) == 2 else ():
        if one in numbers:
            against[numbers[one]] = numbers.get(other, -2)
    return against


def counted_problems(answers: Answers, opposite: str | None = None) -> Array:
    """Which problems are answered correctly; unless `opposite` is None, of those whose gold label has an opposite."""
    counted = answers.correct[answers.originals]
    if opposite is not None:
        counted = counted & (opposites(answers, opposite) != -1)[answers.gold[answers.originals]]
    return np.asarray(counted)


def fooled_within(k: int, fooling: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Chance that k variants, drawn without replacement from `count`, hold at least one of the `fooling` ones.

    Three of ten fool and five are drawn: 1 - C(7,5) / C(10,5) = 1 - 21/252.

    >>> fooled_within(5, [3], [10]).tolist()
    [0.9166666666666666]
    """
    _check_k(k)
    f, n = (each.ravel() for each in np.broadcast_arrays(np.asarray(fooling), np.asarray(count)))
    if (n < k).any() or (f < 0).any() or (f > n).any():
        raise BadInput("found more draws or fooling variants than variants", fix=f"leave out problems with n < {k}")
    # The chance depends on the two counts alone: worked out once for each pair that occurs, in whole numbers.
    first, place = np.unique(n * (int(n.max(initial=0)) + 1) + f, return_index=True, return_inverse=True)[1:]
    chances = [1 - Fraction(comb(int(n[i] - f[i]), k), comb(int(n[i]), k)) for i in first]
    return np.array(chances, dtype=np.float64)[place]


def _any_statistics(fools: Statistics, opposite: str | None = None) -> Statistics:
    """Rows of: fooled at least once, has variants, answered correctly (and has an opposite label, where asked)."""

    def statistics(answers: Answers) -> Array:
        counted = counted_problems(answers, opposite)
        fooled = answers.sum_by_bucket(fools(answers))[:, 0] > 0
        return np.stack([fooled & counted, (answers.n_variants > 0) & counted, counted], axis=1).astype(np.int64)

    return statistics


def _turned_statistics(answers: Answers) -> Array:
    """Rows of `r_r`; the answers of each problem that counts, and of one that counts in some turn; then the same rows
    averaged over the turns: a right wording counts, and is fooled where any other is wrong.
    """
    value = _any_statistics(relaxed)(answers)
    right, variants = answers.variants
    right, wordings = right + answers.correct[answers.originals], variants + 1
    counted = right / wordings
    several = np.stack([value[:, 2] > 0, right > 0], axis=1) * wordings[:, None]
    return np.column_stack([value, several, counted * (right < wordings), counted * (variants > 0), counted])


def _both_rates(totals: Array) -> tuple[Array, Array]:
    """The rate and its baseline, for each of the parts BASELINE; the second is NaN where the part is no difference."""
    value, turned = rate(totals[..., :3]), rate(totals[..., 5:])
    nothing = np.full_like(value, np.nan)
    return np.stack([value, turned, value], axis=-1), np.stack([nothing, nothing, turned], axis=-1)


def _pair(opposite: str) -> tuple[str, ...]:
    """The two labels in `a<->b`; none where it is empty."""
    pair = tuple(label.strip() for label in opposite.split("<->")) if opposite else ()
    if pair and (len(pair) != 2 or "" in pair or pair[0] == pair[1]):
        raise BadInput(f"found {opposite!r}", field="opposite", fix="name two labels: a<->b")
    return pair


def _at_statistics(fools: Statistics, k: int, opposite: str | None = None) -> Statistics:
    """Rows of: the chance of being fooled within k variants, and one; zeros for a problem that has fewer.

    With `opposite`, zeros also for a problem whose gold label has none.
    """
    _check_k(k)

    def statistics(answers: Answers) -> Array:
        count = answers.n_variants
        enough = counted_problems(answers, opposite) & (count >= k)
        fooling = answers.sum_by_bucket(fools(answers))[:, 0]
        rows = np.zeros((answers.n_buckets, 2))
        rows[enough, 0], rows[enough, 1] = fooled_within(k, fooling[enough], count[enough]), 1
        return rows

    return statistics


def _too_few(answers: Answers, k: int) -> Array:
    return np.asarray(answers.correct[answers.originals] & (answers.n_variants < k))


def _check_k(k: int) -> None:
    if k < 1:
        raise BadInput(f"found {k}", field="k", fix="draw at least one variant")
