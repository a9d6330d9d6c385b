"""Contrasts: problems that differ in little from an original but not in nothing, so that the right answer may change.

Beside invariance under rewording this is the other half of understanding: a model that always says the same never
flips, and is not sensitive at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired, tally
from .table import Answers

#: The metrics of this file, as they are told in a report.
NAMES = ("sensitivity", "contrast_accuracy", "contrast_consistency")


def sensitivity(
    gold: npt.ArrayLike, original_gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike
) -> float:
    """Of the contrasts whose right answer differs from their original's, the share whose given answer differs, too.

    Three contrasts of a problem that is answered yes; the right answer to the last is yes still, so it does not count:

    >>> sensitivity(["no", "no", "yes"], ["yes"] * 3, ["hm", "yes", "no"], ["yes"] * 3)
    0.5
    """
    now, before = paired("sensitivity", pred, original_pred)
    chosen = _changing("sensitivity", gold, original_gold)
    return float(np.mean(paired("sensitivity", now != before, chosen)[0][chosen]))


def contrast_accuracy(gold: npt.ArrayLike, original_gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Of the contrasts whose right answer differs from their original's, the share that is answered right.

    >>> contrast_accuracy(["no", "no", "yes"], ["yes"] * 3, ["hm", "no", "no"])
    0.5
    """
    truth, given = paired("accuracy on contrasts", gold, pred)
    return float(np.mean((truth == given)[_changing("accuracy on contrasts", gold, original_gold)]))


def contrast_consistency(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Share of buckets that are right throughout, original and all contrasts (Gardner et al. 2020, section 2).

    >>> contrast_consistency([1, 1, 1, 0], ["a", "a", "b", "b"])
    0.5
    """
    right, count = tally("consistency on contrasts", correct, bucket)
    return float(np.mean(right == count))


def _changing(what: str, gold: npt.ArrayLike, original_gold: npt.ArrayLike) -> Array:
    truth, before = paired(what, gold, original_gold)
    if not (truth != before).any():
        raise BadInput(
            f"{what} where no right answer changes", fix="give contrasts whose label is not their original's"
        )
    return np.asarray(truth != before)


@metrics("sensitivity.v1")
def sensitivity_metric() -> Any:
    """Share of contrasts with another right answer than the original's whose predicted label differs from it, too."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last)


@metrics("contrast_accuracy.v1")
def contrast_accuracy_metric() -> Any:
    """Share of contrasts with another right answer than the original's that are answered right."""

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last)


@metrics("contrast_consistency.v1")
def contrast_consistency_metric() -> Any:
    """Share of problems answered right together with all of their contrasts (Gardner et al. 2020)."""

    def statistics(answers: Answers) -> Array:
        right, count = answers.variants
        some = count > 0
        whole = (right == count) & answers.correct[answers.originals] & some
        return np.stack([whole, some, (count + 1) * some], axis=1).astype(np.int64)

    def combine(totals: Array) -> Array:
        return divide(totals[..., 0], totals[..., 1])

    return Metric(statistics, combine, uses="contrasts", rate=True, counted=_last)


def _last(rows: Array) -> Array:
    """How many answers each bucket adds: the last of its statistics."""
    return rows[:, -1:]
