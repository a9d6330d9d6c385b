"""Independent references: what a paper computes from arrays of its own, which no metric takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def snr(accuracies: npt.ArrayLike) -> float:
    """Signal-to-noise ratio of runs: mean accuracy over its standard deviation, with ddof 0 (Salvatore et al. 2023)."""
    values = np.asarray(accuracies)
    return float(values.mean() / values.std())


def hard_cases(before: npt.ArrayLike, after: npt.ArrayLike, model: Sequence[str] = ()) -> np.ndarray:
    """Which problems every model gets right as they were and wrong in other words: a row per run, a column per problem.

    Rows of the same `model` are runs of it, and it is enough that one of them breaks. That is how the IE test's 249 and
    531 come about; as worded there ("regardless of rho", every run a model of its own) none is left.
    """
    right, still = np.asarray(before).astype(bool), np.asarray(after).astype(bool)
    names = np.asarray(model if len(model) else range(len(right)))
    broken = right & ~still
    return np.logical_and.reduce([broken[names == one].any(axis=0) for one in np.unique(names)])
