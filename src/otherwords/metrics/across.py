"""What several models, or several runs of one, say together: how much their accuracy wavers, what all of them miss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired, tally
from .table import Answers


def snr(accuracies: npt.ArrayLike) -> float:
    """Signal-to-noise ratio of runs: mean accuracy over its standard deviation, with ddof 0 (Salvatore et al. 2023).

    It rewards a model that is wrong in the same way each time, so print mean and deviation beside it.

    >>> round(snr([0.8, 0.9]), 6)
    17.0
    """
    values, _ = paired("SNR", accuracies, accuracies)
    if values.min() == values.max():
        fix = "give several runs that differ; of a constant accuracy only the mean can be told"
        raise BadInput(f"SNR of {values.size} equal accuracies", fix=fix)
    return float(values.mean() / values.std())


def hard_cases(before: npt.ArrayLike, after: npt.ArrayLike, model: Sequence[str] = ()) -> Array:
    """Which problems every model gets right as they were and wrong in other words.

    A row per run, a column per problem: whether the original, and the variant, is right. Rows of the same `model` are
    runs of it, and it is enough that one of them breaks. That is how the IE test's 249 and 531 come about; as worded
    there ("regardless of rho", every run a model of its own) none is left.

    >>> before, after = [[1, 1, 1], [1, 1, 0]], [[0, 1, 0], [0, 0, 0]]
    >>> hard_cases(before, after)
    array([ True, False, False])
    >>> hard_cases(before, after, model=["bert", "bert"])
    array([ True,  True,  True])
    """
    right, still = paired("hard cases", before, after)
    names = np.asarray(model if len(model) else range(len(right)))
    if right.ndim != 2 or len(names) != len(right):
        fix = "give a row per run, a column per problem, and one model for each row"
        raise BadInput(f"hard cases of shape {right.shape} and {len(names)} models", fix=fix)
    broken = right.astype(bool) & ~still.astype(bool)
    return np.asarray(np.logical_and.reduce([broken[names == one].any(axis=0) for one in np.unique(names)]))


def never_right(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Share of problems none of whose variants any model answers right; give all models' answers to variants.

    >>> never_right([0, 0, 1, 0], ["a", "a", "b", "b"])
    0.5
    """
    right, _ = tally("share never right", correct, bucket)
    return float(np.mean(right == 0))


@metrics("snr.v1")
def snr_metric() -> Any:
    """Mean over standard deviation (ddof 0) of the models' accuracies on the originals, and both of them (IE test)."""
    return Metric(_accuracies, _wavering, uses="originals", parts=("snr", "mean", "std"), across="models", share=False)


@metrics("hard_cases.v1")
def hard_cases_metric(every: bool = False) -> Any:
    """Share of problems that every model gets right, and wrong in a variant (`every`: in all of them)."""

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_hard(models, every), models[0].variants[1] > 0], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", across="buckets")


@metrics("never_right.v1")
def never_right_metric() -> Any:
    """Share of problems none of whose variants any model answers right (1.4 % of MERGE's seeds)."""

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_never_right(models), models[0].variants[1] > 0], axis=1).astype(np.int64)

    return Metric(statistics, across="buckets")


def are_hard(models: Sequence[Answers], every: bool = False) -> Array:
    """Which buckets have an original that every model gets right, and a variant (or only variants) that it does not."""
    found = models[0].variants[1] > 0
    for one in models:
        right, count = one.variants
        found &= one.correct[one.originals] & ((right == 0) if every else (right < count))
    return found


def are_never_right(models: Sequence[Answers]) -> Array:
    """Which buckets have variants, and none that any model gets right."""
    right = sum(one.variants[0] for one in models)
    return np.asarray((models[0].variants[1] > 0) & (right == 0))


def _accuracies(models: Sequence[Answers]) -> Array:
    """Right answers, their square, all answers: in whole numbers, so that equal models have no deviation at all."""
    right = np.array([np.count_nonzero(one.correct[one.originals]) for one in models], dtype=np.int64)
    return np.column_stack([right, right * right, [one.n_buckets for one in models], np.ones_like(right)])


def _wavering(totals: Array) -> Array:
    """SNR, mean and deviation of right / answers; all models answer the same questions."""
    right, squares, answers, runs = np.moveaxis(np.asarray(totals, dtype=np.float64), -1, 0)
    spread = np.sqrt(np.maximum(runs * squares - right * right, 0))
    return np.stack([divide(right, spread), divide(right, answers), divide(spread, answers)], axis=-1)
