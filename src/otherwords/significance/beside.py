"""Two samples as one: two models' rows side by side, cluster by cluster, or two groups each in its own columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..metrics.metric import Metric, Outside
from .resampling import Sample
from .rows import by_cluster, collapse

Array = npt.NDArray[Any]


class Minus:
    """Combine both halves of a row of sums, and take the difference: the first minus the second, per part."""

    def __init__(self, metric: Metric):
        self.metric = metric

    def both(self, totals: Array) -> tuple[Array, Array]:
        """The values of the two, each with its parts along the last axis."""
        half = totals.shape[-1] // 2
        return self.metric.by_part(totals[..., :half]), self.metric.by_part(totals[..., half:])

    def __call__(self, totals: Array) -> Array:
        """The difference, per part."""
        one, other = self.both(totals)
        return np.asarray(one - other)


def beside(
    metric: Metric, rows: Sequence[Array], cluster: Array, name: str, outside: Sequence[Outside] | None = None
) -> Sample:
    """Pair two models: a cluster's sums for the one beside those for the other; they are drawn and swapped together.

    Items from outside the buckets are paired by name, so that both models are seen on the same.
    """
    width = rows[0].shape[1]
    units = by_cluster(np.concatenate(rows, axis=1), cluster)
    told = collapse(units[(units[:, width - 1] > 0) | (units[:, -1] > 0)])
    return Sample(*told, Minus(metric), name, None if outside is None else collapse(_same_items(outside)))


def apart(metric: Metric, rows: Sequence[Array], clusters: Sequence[Array], name: str) -> Sample:
    """Two groups of different units: the one inside, the other outside, each with zeros in the other's columns."""
    told = []
    for place, (mine, cluster) in enumerate(zip(rows, clusters, strict=True)):
        units = by_cluster(mine, cluster)
        units = units[units[:, -1] > 0]
        blank = np.zeros_like(units)
        told.append(collapse(np.concatenate([blank, units] if place else [units, blank], axis=1)))
    return Sample(*told[0], Minus(metric), name, told[1])


def _same_items(outside: Sequence[Outside]) -> Array:
    shared, *places = np.intersect1d(outside[0].names, outside[1].names, assume_unique=True, return_indices=True)
    _refuse_other_gold(outside, places, shared)
    if lost := sum(len(one.names) for one in outside) - 2 * len(shared):
        said = f"compared on the {len(shared)} test items that both answered"
        warnings.warn(f"{said}; {lost} answers left out", stacklevel=4)
    rows = np.concatenate([one.rows[place] for one, place in zip(outside, places, strict=True)], axis=1)
    if not len(rows):
        return rows
    return by_cluster(rows, np.unique(outside[0].clusters[places[0]], return_inverse=True)[1])


def _refuse_other_gold(outside: Sequence[Outside], places: Sequence[Array], shared: Array) -> None:
    gold = [one.gold[place] for one, place in zip(outside, places, strict=True) if one.gold is not None]
    if len(gold) == 2 and (differ := gold[0] != gold[1]).any():
        where = f"test item {shared[differ][0]}"
        raise BadInput("the two models' test sets tell different right answers", where=where, field="gold")
