"""Flips: answers that change with the wording, right or wrong (Verma et al. 2023).

By what became of a right answer, by direction, by the margin of the original answer, and with labels merged: a
three-label model on a two-label task, where neutral and contradiction are one. The paper takes the most probable of
three labels, then merges. Adding up the merged labels' probabilities first may answer otherwise (0.4, 0.35, 0.25), so
both are here. Flips between merged labels vanish; they are counted too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array, as_written, cut
from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .metric import BASELINE, Metric, divide, with_baseline

#: More bins than this could not be named distinctly, nor filled by any suite we know of.
MOST_BINS = 100
#: The labels that are one on a two-label task.
NLI = "neutral+contradiction"
#: Sums that agree in so many digits are equal: 0.2 + 0.3 depends on the order of adding in the last one.
DIGITS = 12


@metrics("flip_rate.v1")
def flip_rate() -> Any:
    """Share of variants whose predicted label differs from the original's (PaRTE's % changed).

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b"] * 2, "variant": ["", 1, 2, 3, "", 1], "gold": ["no"] * 6}
    >>> ow.measure("flip_rate", **rows, pred=["no", "no", "yes", "no", "yes", "no"]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return Metric(statistics, gold=False, labels_only=True)


@metrics("flip_to_wrong.v1")
def flip_to_wrong() -> Any:
    """Share of variants answered wrong though the original was answered right.

    The three outcomes of a flip add up to the flip rate. Four variants of two problems whose answer is yes; the first
    stays, the others flip:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3 + ["b"] * 3, "variant": ["", 1, 2] * 2, "gold": ["yes"] * 6}
    >>> rows["pred"] = ["yes", "yes", "no", "no", "yes", "hm"]
    >>> outcomes = ("flip_to_wrong", "flip_to_right", "flip_wrong_to_wrong")
    >>> [ow.measure(outcome, **rows).value for outcome in outcomes]
    [0.25, 0.25, 0.25]
    """
    return _outcome(lambda was, now, changed: was & ~now)


@metrics("flip_to_right.v1")
def flip_to_right() -> Any:
    """Share of variants answered right though the original was answered wrong."""
    return _outcome(lambda was, now, changed: ~was & now, blind=True)


@metrics("flip_wrong_to_wrong.v1")
def flip_wrong_to_wrong() -> Any:
    """Share of variants answered wrong, in another way than the original (never with two labels)."""

    def constant(answers: Answers) -> dict[str, str]:
        return {"": "0 by definition with two labels"} if len(answers.labels) < 3 else {}

    return replace(_outcome(lambda was, now, changed: ~was & ~now & changed, blind=True), no_interval=constant)


def _outcome(chosen: Callable[[Array, Array, Array], Array], blind: bool = False) -> Metric:
    """Share of variants chosen by whether the original was right, whether they are, and whether the label changed."""

    def statistics(answers: Answers) -> Array:
        was, changed = answers.original_pred == answers.gold, answers.pred != answers.original_pred
        flips = chosen(was, answers.correct, changed)
        return answers.sum_by_bucket(flips & answers.is_variant, answers.is_variant)

    return Metric(statistics, blind=blind, labels_only=True)


@metrics("flip_directions.v1")
def flip_directions() -> Any:
    """Share of variants that flip from one label to another, for every ordered pair of labels.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b"] * 2, "variant": ["", 1, 2, 3, "", 1], "gold": ["no"] * 6}
    >>> ow.measure("flip_directions", part="no>yes", **rows, pred=["no", "no", "yes", "no", "yes", "no"]).value
    0.25
    """

    def statistics(answers: Answers) -> Array:
        _refuse_one_label(answers)
        pairs = permutations(range(len(answers.labels)), 2)
        went = [(answers.original_pred == a) & (answers.pred == b) & answers.is_variant for a, b in pairs]
        return answers.sum_by_bucket(*went, answers.is_variant)

    def combine(totals: Array) -> Array:
        return divide(totals[..., :-1], totals[..., -1:])

    def parts(answers: Answers) -> tuple[str, ...]:
        _refuse_one_label(answers)
        return tuple(f"{a}>{b}" for a, b in permutations(answers.labels, 2))

    return Metric(statistics, combine, parts=parts, rate=True, gold=False, labels_only=True)


@metrics("flip_when_right.v1")
def flip_when_right(baseline: bool = False) -> Any:
    """Flip rate among variants whose original was answered right.

    With `baseline`, also the same rate where every wording of a problem takes its turn as the original, and how far
    the first is above that: a right answer is a selected one, so flips are more after a wrong one, whatever the
    wording does.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b"] * 2, "variant": ["", 1, 2, 3, "", 1], "gold": ["yes"] * 6}
    >>> ow.measure("flip_when_right", **rows, pred=["yes", "yes", "no", "yes", "no", "no"]).value
    0.3333333333333333
    """
    return _flip_rate_when(right=True, baseline=baseline)


@metrics("flip_when_wrong.v1")
def flip_when_wrong(baseline: bool = False) -> Any:
    """Flip rate among variants whose original was answered wrong; `baseline` is as in `flip_when_right`.

    The original is wrong, one variant of two is right; a turn of either wrong wording flips one of two, so that this
    original is like the others:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["yes"] * 3, "pred": ["no", "yes", "no"]}
    >>> [ow.measure("flip_when_wrong(baseline=true)", part=part, **rows).value for part in ("value", "baseline")]
    [0.5, 0.5]
    """
    return _flip_rate_when(right=False, baseline=baseline)


def _flip_rate_when(right: bool, baseline: bool) -> Any:
    def statistics(answers: Answers) -> Array:
        chosen = answers.is_variant & ((answers.original_pred == answers.gold) == right)
        return answers.sum_by_bucket(chosen & (answers.pred != answers.original_pred), chosen)

    def beside(answers: Answers) -> Array:
        turned, pairs, wordings = _turned_flips(answers, right)
        counted = np.where(pairs > 0, answers.n_variants, 0)
        return np.column_stack([statistics(answers), turned / wordings, counted, pairs / wordings])

    def sides(totals: Array) -> tuple[Array, Array]:
        value, turned = divide(totals[..., 0], totals[..., 1]), divide(totals[..., 2], totals[..., 4])
        nothing = np.full_like(value, np.nan)
        return np.stack([value, turned, value], axis=-1), np.stack([nothing, nothing, turned], axis=-1)

    if not baseline:
        return Metric(statistics, blind=not right, labels_only=True)
    return Metric(
        beside,
        lambda totals: with_baseline(*(side[..., 2] for side in sides(totals))),
        parts=BASELINE,
        counted=lambda rows: rows[:, [1, 3, 1]],
        sides=sides,
        weights=lambda rows: (rows[:, [1, 4, 1]], rows[:, [4, 4, 4]]),
        bounds=(-1, 1),
        labels_only=True,
    )


def _turned_flips(answers: Answers, right: bool) -> tuple[Array, Array, Array]:
    """Flips and pairs of wordings, summed over the turns of a bucket's right (or wrong) wordings, and all wordings.

    A wording with label l, given k times among m, flips against the m - k that have another.
    """
    counts = answers.label_counts.copy()
    every = np.arange(answers.n_buckets)
    counts[every, answers.pred[answers.originals]] += 1
    wordings = counts.sum(axis=1)
    turns = counts.copy()
    turns[every, answers.bucket_gold] = 0
    turns = counts - turns if right else turns
    flips = (turns * (wordings[:, None] - counts)).sum(axis=1)
    return flips, turns.sum(axis=1) * (wordings - 1), wordings


# Flips by margin: does the wording decide only where the model was undecided before?


@metrics("flips_by_margin.v1")
def flips_by_margin(bins: int = 5) -> Any:
    """Flip rate by the margin of the original answer: its top label's probability less the second's.

    `bins` of equal width, from 0 to 1.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3 + ["b"] * 3, "variant": ["", 1, 2] * 2, "gold": ["no"] * 6}
    >>> p = {"no": [0.55, 0.6, 0.4, 0.95, 0.9, 0.8], "yes": [0.45, 0.4, 0.6, 0.05, 0.1, 0.2]}
    >>> rows |= {"pred": ["no", "no", "yes", "no", "no", "no"], "p": p}
    >>> [ow.measure("flips_by_margin(bins=2)", part=name, **rows).value for name in bin_names(2)]
    [0.5, 0.0]
    """
    names = bin_names(bins)

    def statistics(answers: Answers) -> Array:
        _refuse_one_label(answers)
        place = cut(margin(answers.p), bins)[answers.originals]
        count = answers.n_variants
        flips = answers.sum_by_bucket((answers.pred != answers.original_pred) & answers.is_variant)[:, 0]
        rows = np.zeros((answers.n_buckets, 2 * bins + 1), dtype=np.int64)
        each = np.arange(answers.n_buckets)
        rows[each, place], rows[each, bins + place], rows[:, -1] = flips, count, count
        return rows

    def combine(totals: Array) -> Array:
        return divide(totals[..., :bins], totals[..., bins:-1])

    return Metric(statistics, combine, parts=names, rate=True, counted=lambda rows: rows[:, bins:-1], gold=False)


def _refuse_one_label(answers: Answers) -> None:
    """Refuse a table with one label, where no task names others: there is nothing to flip to."""
    if len(answers.labels) < 2:
        raise Unmeasurable("needs at least two labels", where=answers.model, fix="give the task, or all labels")


def margin(p: npt.ArrayLike) -> Array:
    """How far the most probable label is ahead of the second, for each row of probabilities.

    >>> margin([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]).tolist()
    [0.25, 1.0]
    """
    table = np.atleast_2d(as_written(p))
    if table.ndim != 2 or table.shape[1] < 2:
        raise BadInput(f"found an array of shape {table.shape}", fix="give a row per answer, a column per label")
    second, first = np.partition(table, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def bin_names(bins: int) -> tuple[str, ...]:
    """Name equally wide bins from 0 to 1; the last one is closed.

    >>> bin_names(3)
    ('[0.0,0.333)', '[0.333,0.667)', '[0.667,1.0]')
    """
    if not 1 <= bins <= MOST_BINS:
        raise BadInput(f"found {bins}", field="bins", fix=f"give a number from 1 to {MOST_BINS}")
    edges = [round(i / bins, 3) for i in range(bins + 1)]
    return tuple(f"[{edges[i]},{edges[i + 1]}{']' if i + 1 == bins else ')'}" for i in range(bins))


# Merged labels


@metrics("flip_rate_merged.v1")
def flip_rate_merged(merge: str = NLI, by: str = "argmax") -> Any:
    """Flip rate after merging labels: of the most probable label, or by adding up (by=probability).

    `merge` names the labels made one; `by` is argmax, or probability, which adds up those of merged labels. Of equal
    sums, the one that holds the model's answer wins. One of two flips is between merged labels, and vanishes:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["contradiction"] * 3}
    >>> rows["pred"] = ["contradiction", "neutral", "entailment"]
    >>> ow.measure("flip_rate_merged", **rows).value, ow.measure("flips_lost_by_merging", **rows).value
    (0.5, 0.5)
    """
    _check_merging(merge, by)

    def statistics(answers: Answers) -> Array:
        given = _given(answers, merge, by)
        return answers.sum_by_bucket((given != answers.of_original(given)) & answers.is_variant, answers.is_variant)

    return Metric(
        statistics,
        gold=False,
        no_interval=lambda answers: _all_merged(answers, merge, {"": 0}),
        labels_only=by == "argmax",
    )


@metrics("flips_lost_by_merging.v1")
def flips_lost_by_merging(merge: str = NLI) -> Any:
    """Share of variants whose flip is between merged labels, and so vanishes.

    `merge` names the labels made one.
    """
    _check_merging(merge, "argmax")

    def statistics(answers: Answers) -> Array:
        given = _given(answers, merge, "argmax")
        lost = (answers.pred != answers.original_pred) & (given == answers.of_original(given))
        return answers.sum_by_bucket(lost & answers.is_variant, answers.is_variant)

    return Metric(statistics, gold=False, labels_only=True)


@metrics("accuracy_merged.v1")
def accuracy_merged(merge: str = NLI, by: str = "argmax") -> Any:
    """Accuracy on originals and on variants after merging labels, in gold as in the answers.

    `merge` names the labels made one; `by` is argmax, or probability, which adds up those of merged labels. A gold
    label that is merged already is named in `merge`, too:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no", "neutral", "entailment"]}
    >>> merged = "accuracy_merged(merge=neutral+contradiction+no)"
    >>> ow.measure(merged, part="variants", **rows, labels=["entailment", "neutral", "contradiction", "no"]).value
    0.5
    """
    _check_merging(merge, by)

    def statistics(answers: Answers) -> Array:
        right = _given(answers, merge, by) == _groups(answers.labels, merge)[answers.gold]
        varied = answers.is_variant
        return answers.sum_by_bucket(right & ~varied, right & varied, varied, ~varied)

    def combine(totals: Array) -> Array:
        return divide(totals[..., :2], totals[..., [3, 2]])

    parts, counted = ("originals", "variants"), lambda rows: rows[:, [3, 2]]
    constant = dict.fromkeys(parts, 1)
    return Metric(
        statistics,
        combine,
        uses="both",
        parts=parts,
        rate=True,
        counted=counted,
        no_interval=lambda answers: _all_merged(answers, merge, constant),
        labels_only=by == "argmax",
    )


def _check_merging(merge: str, by: str) -> None:
    _names(merge)
    if by not in ("argmax", "probability"):
        raise BadInput(f"found {by!r}", field="by", fix="use argmax or probability")


def _all_merged(answers: Answers, merge: str, constant: Mapping[str, int]) -> dict[str, str]:
    """Why these parts have no interval where all labels are made one: their values, then, are constant."""
    if not set(answers.labels) <= set(_names(merge)):
        return {}
    return {part: f"{value} by definition where all labels are merged" for part, value in constant.items()}


def _names(merge: str) -> list[str]:
    names = [name.strip() for name in merge.split("+")]
    if len(set(names)) < 2 or "" in names or len(set(names)) < len(names):
        raise BadInput(f"found {merge!r}", field="merge", fix=f"join two or more labels with +, as in {NLI}")
    return names


def _groups(labels: tuple[str, ...], merge: str) -> Array:
    """The number of each label's group, in the order in which groups first occur."""
    if missing := [name for name in _names(merge) if name not in labels]:
        message = f"no label {missing[0]!r} to merge; available: {', '.join(labels)}"
        raise Unmeasurable(message, field="merge", fix="give the answers before merging, or the task")
    names = [merge if label in _names(merge) else label for label in labels]
    return np.array([list(dict.fromkeys(names)).index(name) for name in names])


def _given(answers: Answers, merge: str, by: str) -> Array:
    """The group of each answer's label; by probability, the one with the greatest sum.

    Of equal sums it is that of `pred`, else the first by name: nothing depends on the order of the labels, which is
    that of the table's columns where no task is named.
    """
    group = _groups(answers.labels, merge)
    if by == "argmax":
        return np.asarray(group[answers.pred])
    sums = np.zeros((len(answers.p), int(group.max()) + 1))
    for label, place in enumerate(group):
        sums[:, place] += answers.p[:, label]
    sums = np.round(sums, DIGITS)
    order = group[np.argsort(answers.labels)]  # a group comes where the first of its labels does
    greatest = order[sums[:, order].argmax(axis=1)]
    own = group[answers.pred]
    return np.where(sums[np.arange(len(sums)), own] == sums.max(axis=1), own, greatest)
