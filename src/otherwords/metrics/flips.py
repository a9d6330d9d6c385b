"""Flips: answers that change with the wording, right or wrong (Verma et al. 2023)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..registry import metrics
from .metric import Array, paired
from .table import Answers


def flip_rate(pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> float:
    """Share of variants whose predicted label differs from their original's.

    >>> flip_rate(["no", "yes", "no", "no"], ["no", "no", "no", "yes"])
    0.5
    """
    now, before = paired("flip rate", pred, original_pred)
    return float(np.mean(now != before))


@metrics("flip_rate.v1")
def flip_rate_metric() -> Any:
    """Share of variants whose predicted label differs from the original's (PaRTE's % changed)."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return statistics
