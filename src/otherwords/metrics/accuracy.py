"""Accuracy on the originals and on their variants."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..registry import metrics
from .metric import Array, Metric, paired
from .table import Answers


def accuracy(gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Share of right answers.

    >>> accuracy(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])
    0.75
    """
    right, given = paired("accuracy", gold, pred)
    return float(np.mean(right == given))


@metrics("accuracy_original.v1")
def accuracy_original() -> Any:
    """Accuracy on the original problems (A_O in ParaNLU)."""

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & ~answers.is_variant, ~answers.is_variant)

    return Metric(statistics, uses="originals")


@metrics("accuracy_variants.v1")
def accuracy_variants() -> Any:
    """Accuracy pooled over all variants, so that buckets weigh by their size (ParaNLU's accuracy on paraphrases)."""

    def statistics(answers: Answers) -> Array:
        return np.stack(answers.variants, axis=1)

    return statistics
