"""Merged labels: a three-label model on a two-label task, where neutral and contradiction are one (Verma et al. 2023).

The paper takes the most probable of three labels, then merges. Adding up the merged labels' probabilities first may
answer otherwise (0.4, 0.35, 0.25), so both are here. Flips between merged labels vanish; they are counted too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .flips import flip_rate
from .metric import Array, Metric, divide, paired
from .table import Answers

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
