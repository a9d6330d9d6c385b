"""Merged labels: a three-label model on a two-label task, where neutral and contradiction are one (Verma et al. 2023).

The paper takes the most probable of three labels, then merges. Adding up the merged labels' probabilities first may
answer otherwise (0.4, 0.35, 0.25), so both are here. Flips between merged labels vanish; they are counted too.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, as_written, cut
from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .metric import Array, Metric, divide, paired

# MERGED from metrics.flips: Flips: answers that change with the wording, right or wrong (Verma et al. 2023).


def flip_rate(pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> float:
    """Share of variants whose predicted label differs from their original's.

    >>> flip_rate(["no", "yes", "no", "no"], ["no", "no", "no", "yes"])
    0.5
    """
    now, before = paired("flip rate", pred, original_pred)
    return float(np.mean(now != before))


def flip_outcomes(gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> dict[str, float]:
    """Part the flip rate by what became of a right answer: the three shares add up to it.

    Four variants of a problem whose answer is yes; the first stays, the others flip:

    >>> flip_outcomes(["yes"] * 4, ["yes", "no", "yes", "hm"], ["yes", "yes", "no", "no"])
    {'to_wrong': 0.25, 'to_right': 0.25, 'wrong_to_wrong': 0.25}
    """
    now, before = paired("flips", pred, original_pred)
    truth, now = paired("flips", gold, now)
    return {name: float(mask.mean()) for name, mask in _outcomes(truth, now, before).items()}


def flip_directions(pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> dict[str, float]:
    """Share of variants that went from one label to another, for every ordered pair of labels that occur.

    >>> flip_directions(["no", "yes", "no", "no"], ["no", "no", "no", "yes"])
    {'no>yes': 0.25, 'yes>no': 0.25}
    """
    now, before = paired("flips", pred, original_pred)
    labels = sorted({*now.tolist(), *before.tolist()})
    return {f"{a}>{b}": float(np.mean((before == a) & (now == b))) for a, b in permutations(labels, 2)}


def flip_rate_when(right: bool, gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> float:
    """Flip rate among variants whose original was answered right (or, with False, wrong).

    >>> flip_rate_when(True, ["yes"] * 4, ["yes", "no", "yes", "no"], ["yes", "yes", "yes", "no"])
    0.3333333333333333
    """
    now, before = paired("flip rate", pred, original_pred)
    truth, now = paired("flip rate", gold, now)
    chosen = (before == truth) == right
    if not chosen.any():
        found = f"no variant has an original that was answered {'right' if right else 'wrong'}"
        raise BadInput(found, fix=f"flip_rate_when({not right}, ...) is defined, and flip_rate")
    return flip_rate(now[chosen], before[chosen])


@metrics("flip_rate.v1")
def flip_rate_metric() -> Any:
    """Share of variants whose predicted label differs from the original's (PaRTE's % changed)."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return statistics


@metrics("flip_to_wrong.v1")
def flip_to_wrong_metric() -> Any:
    """Share of variants answered wrong though the original was answered right."""
    return _share_of("to_wrong")


@metrics("flip_to_right.v1")
def flip_to_right_metric() -> Any:
    """Share of variants answered right though the original was answered wrong."""
    return _share_of("to_right")


@metrics("flip_wrong_to_wrong.v1")
def flip_wrong_to_wrong_metric() -> Any:
    """Share of variants answered wrong, in another way than the original (never with two labels)."""
    return _share_of("wrong_to_wrong")


@metrics("flip_directions.v1")
def flip_directions_metric() -> Any:
    """Share of variants that flip from one label to another, for every ordered pair of labels."""

    def statistics(answers: Answers) -> Array:
        pairs = permutations(range(len(answers.labels)), 2)
        went = [(answers.original_pred == a) & (answers.pred == b) & answers.is_variant for a, b in pairs]
        return answers.sum_by_bucket(*went, answers.is_variant)

    def combine(totals: Array) -> Array:
        return divide(totals[..., :-1], totals[..., -1:])

    def parts(answers: Answers) -> tuple[str, ...]:
        return tuple(f"{a}>{b}" for a, b in permutations(answers.labels, 2))

    return Metric(statistics, combine, parts=parts, rate=True)


@metrics("flip_when_right.v1")
def flip_when_right_metric() -> Any:
    """Flip rate among variants whose original was answered right."""
    return _among(right=True)


@metrics("flip_when_wrong.v1")
def flip_when_wrong_metric() -> Any:
    """Flip rate among variants whose original was answered wrong."""
    return _among(right=False)


def _outcomes(gold: Array, now: Array, before: Array) -> dict[str, Array]:
    """The three kinds of flip; an answer that was right and is right has not changed."""
    was, is_ = before == gold, now == gold
    return {"to_wrong": was & ~is_, "to_right": ~was & is_, "wrong_to_wrong": ~was & ~is_ & (now != before)}


def _share_of(outcome: str) -> Any:
    def statistics(answers: Answers) -> Array:
        flips = _outcomes(answers.gold, answers.pred, answers.original_pred)[outcome]
        return answers.sum_by_bucket(flips & answers.is_variant, answers.is_variant)

    return statistics


def _among(right: bool) -> Any:
    def statistics(answers: Answers) -> Array:
        chosen = answers.is_variant & ((answers.original_pred == answers.gold) == right)
        return answers.sum_by_bucket(chosen & (answers.pred != answers.original_pred), chosen)

    return statistics


# MERGED from metrics.margins: Flips by margin: does the wording decide only where the model was undecided before?

#: More bins than this could not be told apart by name, nor filled by any suite we know of.
MOST_BINS = 100


def margin(p: npt.ArrayLike) -> Array:
    """How far the most probable label is ahead of the second, for each row of probabilities.

    >>> margin([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]).tolist()
    [0.25, 1.0]
    """
    table = np.atleast_2d(as_written(p))
    if table.ndim != 2 or table.shape[1] < 2:
        raise BadInput(f"margin of an array of shape {table.shape}", fix="give a row per answer, a column per label")
    second, first = np.partition(table, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def flips_by_margin(
    pred: npt.ArrayLike, original_pred: npt.ArrayLike, original_margin: npt.ArrayLike, bins: int = 5
) -> dict[str, float]:
    """Flip rate of the variants whose original's margin lies in each of equally wide bins; empty bins are left out.

    >>> flips_by_margin(["no", "yes", "no", "no"], ["no"] * 4, [0.1, 0.1, 0.9, 1.0], bins=2)
    {'[0.0,0.5)': 0.5, '[0.5,1.0]': 0.0}
    """
    names = bin_names(bins)
    now, before = paired("flips by margin", pred, original_pred)
    ahead, now = paired("flips by margin", original_margin, now)
    if not ((ahead >= 0) & (ahead <= 1)).all():
        raise BadInput("a margin lies between 0 and 1", field="original_margin", fix="give what margin(p) returns")
    place = cut(as_written(ahead), bins)
    count, flips = (np.bincount(place[chosen], minlength=bins) for chosen in (now == now, now != before))
    return {names[i]: float(flips[i] / count[i]) for i in np.flatnonzero(count)}


@metrics("flips_by_margin.v1")
def flips_by_margin_metric(bins: int = 5) -> Any:
    """Flip rate by the margin of the original answer: its top label's probability less the second's.

    `bins` of equal width, from 0 to 1.
    """
    names = bin_names(bins)

    def statistics(answers: Answers) -> Array:
        if len(answers.labels) < 2:
            raise Unmeasurable("a margin needs two labels", where=answers.model, fix="name the task, or all labels")
        place = cut(margin(answers.p), bins)[answers.originals]
        _, count = answers.variants
        flips = answers.sum_by_bucket((answers.pred != answers.original_pred) & answers.is_variant)[:, 0]
        rows = np.zeros((answers.n_buckets, 2 * bins + 1), dtype=np.int64)
        each = np.arange(answers.n_buckets)
        rows[each, place], rows[each, bins + place], rows[:, -1] = flips, count, count
        return rows

    def combine(totals: Array) -> Array:
        return divide(totals[..., :bins], totals[..., bins:-1])

    return Metric(statistics, combine, parts=names, rate=True, counted=lambda rows: rows[:, bins:-1])


def bin_names(bins: int) -> tuple[str, ...]:
    """Name equally wide bins from 0 to 1; the last one is closed.

    >>> bin_names(3)
    ('[0.0,0.333)', '[0.333,0.667)', '[0.667,1.0]')
    """
    if not 1 <= bins <= MOST_BINS:
        raise BadInput(f"found {bins}", field="bins", fix=f"give a number from 1 to {MOST_BINS}")
    edges = [round(i / bins, 3) for i in range(bins + 1)]
    return tuple(f"[{edges[i]},{edges[i + 1]}{']' if i + 1 == bins else ')'}" for i in range(bins))


# MERGED from metrics.merging: Merged labels: a three-label model on a two-label task, where neutral and contradiction are one (Verma et al. 2023).

NLI = "neutral+contradiction"
#: Sums that agree in so many digits are equal: 0.2 + 0.3 depends on the order of adding in the last one.
DIGITS = 12


def merged(pred: npt.ArrayLike, merge: str = NLI) -> Array:
    """Labels with those in `merge`, which `+` joins, made one.

    >>> merged(["entailment", "neutral", "contradiction"]).tolist()
    ['entailment', 'neutral+contradiction', 'neutral+contradiction']
    """
    labels = np.asarray(pred).astype(object)
    return np.where(np.isin(labels.astype(str), _names(merge)), merge, labels)


def merged_by_probability(p: npt.ArrayLike, labels: tuple[str, ...], merge: str = NLI) -> Array:
    """The most probable label of each row after the probabilities of the labels in `merge` were added up.

    Of equals it is the one that holds the most probable label before merging (then the first by name), in whatever
    order the labels stand: 0.5 wins against 0.3 + 0.2.

    >>> merged_by_probability([[0.4, 0.35, 0.25]], ("entailment", "neutral", "contradiction")).tolist()
    ['neutral+contradiction']
    """
    table = np.atleast_2d(np.asarray(p, dtype=np.float64))
    if table.shape[1] != len(labels) or not table.size:
        fix = f"give a row per answer, a column per label: {', '.join(labels)}"
        raise BadInput(f"probabilities of shape {table.shape}", field="p", fix=fix)
    group, order = _groups(tuple(labels), merge), np.argsort(labels)
    likely = order[np.round(table[:, order], DIGITS).argmax(axis=1)]
    names = np.array(list(dict.fromkeys(merged(labels, merge).tolist())), dtype=object)
    return np.asarray(names[_most_probable(table, tuple(labels), group, likely)])


def flip_rate_merged(pred: npt.ArrayLike, original_pred: npt.ArrayLike, merge: str = NLI) -> float:
    """Flip rate after merging predicted labels.

    >>> flip_rate_merged(["neutral", "entailment"], ["contradiction", "contradiction"])
    0.5
    """
    now, before = paired("flip rate", pred, original_pred)
    return flip_rate(merged(now, merge), merged(before, merge))


def flips_lost_by_merging(pred: npt.ArrayLike, original_pred: npt.ArrayLike, merge: str = NLI) -> float:
    """Share of variants whose flip is between merged labels, and so vanishes.

    >>> flips_lost_by_merging(["neutral", "entailment"], ["contradiction", "contradiction"])
    0.5
    """
    now, before = paired("flips", pred, original_pred)
    return float(np.mean((now != before) & (merged(now, merge) == merged(before, merge))))


def accuracy_merged(gold: npt.ArrayLike, pred: npt.ArrayLike, merge: str = NLI) -> float:
    """Share of answers that are right after merging. A gold label that is merged already is named in `merge` too.

    >>> accuracy_merged(["no", "no", "entailment"], ["neutral", "entailment", "no"], "neutral+contradiction+no")
    0.3333333333333333
    """
    right, given = paired("accuracy", gold, pred)
    return float(np.mean(merged(right, merge) == merged(given, merge)))


@metrics("flip_rate_merged.v1")
def flip_rate_merged_metric(merge: str = NLI, by: str = "argmax") -> Any:
    """Flip rate after merging labels: of the most probable label, or by adding up (by=probability).

    `merge` names the labels made one; `by` is argmax, or probability, which adds up those of merged labels.
    """
    _check(merge, by)

    def statistics(answers: Answers) -> Array:
        given = _given(answers, merge, by)
        return answers.sum_by_bucket((given != answers.of_original(given)) & answers.is_variant, answers.is_variant)

    return statistics


@metrics("flips_lost_by_merging.v1")
def flips_lost_by_merging_metric(merge: str = NLI) -> Any:
    """Share of variants whose flip is between merged labels, and so vanishes.

    `merge` names the labels made one.
    """
    _check(merge, "argmax")

    def statistics(answers: Answers) -> Array:
        given = _given(answers, merge, "argmax")
        lost = (answers.pred != answers.original_pred) & (given == answers.of_original(given))
        return answers.sum_by_bucket(lost & answers.is_variant, answers.is_variant)

    return statistics


@metrics("accuracy_merged.v1")
def accuracy_merged_metric(merge: str = NLI, by: str = "argmax") -> Any:
    """Accuracy on originals and on variants after merging labels, in gold as in the answers.

    `merge` names the labels made one; `by` is argmax, or probability, which adds up those of merged labels.
    """
    _check(merge, by)

    def statistics(answers: Answers) -> Array:
        right = _given(answers, merge, by) == _groups(answers.labels, merge)[answers.gold]
        varied = answers.is_variant
        return answers.sum_by_bucket(right & ~varied, right & varied, varied, ~varied)

    def combine(totals: Array) -> Array:
        return divide(totals[..., :2], totals[..., [3, 2]])

    parts, counted = ("originals", "variants"), lambda rows: rows[:, [3, 2]]
    return Metric(statistics, combine, uses="both", parts=parts, rate=True, counted=counted)


def _names(merge: str) -> list[str]:
    names = [name.strip() for name in merge.split("+")]
    if len(set(names)) < 2 or "" in names or len(set(names)) < len(names):
        raise BadInput(f"found {merge!r}", field="merge", fix=f"join two or more labels with +, as in {NLI}")
    return names


def _check(merge: str, by: str) -> None:
    _names(merge)
    if by not in ("argmax", "probability"):
        raise BadInput(f"found {by!r}", field="by", fix="use argmax or probability")


def _groups(labels: tuple[str, ...], merge: str) -> Array:
    """The number of each label's group, in the order in which groups first occur."""
    if missing := [name for name in _names(merge) if name not in labels]:
        found = f"no label {missing[0]!r} to merge; there are {', '.join(labels)}"
        raise Unmeasurable(found, field="merge", fix="give the answers as they were before merging, or name the task")
    names = merged(labels, merge).tolist()
    return np.array([list(dict.fromkeys(names)).index(name) for name in names])


def _given(answers: Answers, merge: str, by: str) -> Array:
    group = _groups(answers.labels, merge)
    if by == "argmax":
        return np.asarray(group[answers.pred])
    return _most_probable(answers.p, answers.labels, group, answers.pred)


def _most_probable(p: Array, labels: tuple[str, ...], group: Array, pred: Array) -> Array:
    """Add up the probabilities of each group and give the greatest: of equals that of `pred`, else the first by name.

    So nothing depends on the order of the labels, which is that of the table's columns where no task is named.
    """
    sums = np.zeros((len(p), int(group.max()) + 1))
    for label, place in enumerate(group):
        sums[:, place] += p[:, label]
    sums = np.round(sums, DIGITS)
    order = group[np.argsort(labels)]  # a group stands where the first of its labels does
    found = order[sums[:, order].argmax(axis=1)]
    return np.where(sums[np.arange(len(p)), group[pred]] == sums.max(axis=1), group[pred], found)
