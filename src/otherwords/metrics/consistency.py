"""Paraphrastic consistency: is a model right, or wrong, on all wordings of a problem alike? (Srikanth et al. 2024)"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..registry import metrics
from .metric import Array, paired
from .table import Answers


def p_c(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Chance that two wordings of a problem, drawn with replacement, are both right or both wrong.

    The paper's estimator (its equation 2): the unweighted mean over buckets of theta^2 + (1 - theta)^2, with theta the
    share of the bucket's variants that are right. Three variants right of four, and two of two:

    >>> p_c([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.8125
    """
    right, names = paired("P_C", correct, bucket)
    codes = np.unique(names, return_inverse=True)[1]
    k, n = np.bincount(codes, right.astype(bool)), np.bincount(codes)
    return float(_agreement(k, n).mean())


@metrics("p_c.v1")
def p_c_metric() -> Any:
    """Paraphrastic consistency P_C as in the ParaNLU paper (two variants drawn with replacement)."""

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([_agreement(k, n), n > 0], axis=1)

    return statistics


def _agreement(k: Array, n: Array) -> Array:
    """theta^2 + (1-theta)^2 from counts; 0 for a bucket without variants, which the mean leaves out."""
    return np.asarray((k * k + (n - k) * (n - k)) / np.maximum(n * n, 1))
