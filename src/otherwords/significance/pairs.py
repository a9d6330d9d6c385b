"""Two models, or two groups, as one sample: their statistics side by side, cluster by cluster.

Its value is the difference, so that intervals and permutation tests are made of it as of any other sample. Which of the
two comes first is decided by the data, and changes nothing but the sign.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import BadInput, caller_level
from ..metrics.metric import Metric, Outside, divide, ratio
from .bootstrap import Array, Sample, by_cluster, collapse
from .intervals import slopes


@dataclass(frozen=True)
class Pairing:
    """The cluster of each bucket of both sides, and whether clusters of the same number are one, seen by both."""

    clusters: tuple[Array, Array]
    paired: bool = True

    def units(self, rows: Sequence[Array]) -> list[Array]:
        """Sums by cluster, the first side's next to the second's; apart, a table of each, with zeros for the other.

        Each side is summed by itself, so that which of them comes first changes no bit.
        """
        if self.paired:
            count = 1 + max(int(cluster.max()) for cluster in self.clusters)
            sums = [_placed(side, cluster, count) for side, cluster in zip(rows, self.clusters, strict=True)]
            return [np.concatenate(sums, axis=1)]
        one, other = (by_cluster(side, cluster) for side, cluster in zip(rows, self.clusters, strict=True))
        return [
            np.concatenate([one, np.zeros_like(one)], axis=1),
            np.concatenate([np.zeros_like(other), other], axis=1),
        ]


def _placed(rows: Array, cluster: Array, count: int) -> Array:
    """The sums of each of so many clusters, in their order; zeros where a cluster has no row."""
    own, place = np.unique(cluster, return_inverse=True)
    sums = rows[np.argsort(cluster)] if len(own) == len(rows) else by_cluster(rows, place)
    if len(own) == count:
        return sums
    placed = np.zeros((count, rows.shape[1]), dtype=sums.dtype)
    placed[own] = sums
    return placed


class MetricDifference:
    """The difference of a metric between the two halves of a row of sums: first minus second, per part."""

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

    def slopes(self, sums: Array) -> Array:
        """How each part changes with each sum; of a plain ratio, written down."""
        if self.metric.combine is not ratio or self.metric.parts:
            return slopes(self, sums)
        found = np.zeros((*sums.shape, 1))
        for start, sign in ((0, 1.0), (sums.shape[-1] // 2, -1.0)):
            share, whole = divide(sums[..., start], sums[..., start + 1]), sums[..., start + 1]
            found[..., start, 0] = divide(np.full_like(share, sign), whole)
            found[..., start + 1, 0] = divide(-sign * share, whole)
        return np.nan_to_num(found)


def pair_sample(
    metric: Metric, rows: Sequence[Array], pairing: Pairing, outside: Sequence[Outside] | None = None
) -> Sample:
    """Both sides as one sample: each row holds a cluster's sums for both, which are drawn and swapped together.

    Items from outside the buckets are paired by name, so that both models are seen on the same. Two groups without a
    cluster in common are two samples: the first inside, the second outside, with zeros in each other's columns.
    """
    width = rows[0].shape[1]
    samples = [collapse(units[(units[:, width - 1] > 0) | (units[:, -1] > 0)]) for units in pairing.units(rows)]
    if outside is not None:
        samples.append(collapse(_same_items(outside)))
    return Sample(*samples[0], MetricDifference(metric), outside=samples[1] if len(samples) > 1 else None)


def joint_sample(rows: Sequence[Sequence[Array]], pairing: Pairing) -> Sample:
    """The rows of several metrics, first and second side of each, as one sample: a cluster is one unit in all."""
    sides = [np.concatenate(side, axis=1) for side in zip(*rows, strict=True)]
    filled = [(units, units.any(axis=1)) for units in pairing.units(sides)]
    samples = [collapse(units[some] if some.any() else units[:1]) for units, some in filled]
    return Sample(*samples[0], totals_of, outside=samples[1] if len(samples) > 1 else None)


def totals_of(sums: Array) -> Array:
    """The sums themselves: several metrics have no value in common."""
    return sums


def in_order(pair: Sample, paired: bool) -> tuple[Sample, bool]:
    """The sample in the order of the two that the data alone decide, and whether that is the other way round.

    So comparing B with A is comparing A with B, with the sign changed and nothing else.
    """
    half = pair.distinct.shape[1] // 2
    turned = [(np.roll(rows, half, axis=1), counts) for rows, counts in pair.strata]
    here = [_sorted(*one) for one in pair.strata]
    there = [_sorted(*one) for one in (turned if paired else turned[::-1])]
    signs = [_precedes(one, other) for one, other in zip(there, here, strict=True)]
    other_way = next((sign > 0 for sign in signs if sign), False)
    chosen = there if other_way else here
    outside = chosen[1] if len(chosen) > 1 else None
    return replace(pair, distinct=chosen[0][0], counts=chosen[0][1], outside=outside), other_way


def _sorted(rows: Array, counts: Array) -> tuple[Array, Array]:
    order = np.lexsort(rows.T[::-1])
    return rows[order], counts[order]


def _precedes(one: tuple[Array, Array], other: tuple[Array, Array]) -> int:
    """1 where the first of two sorted tables is the smaller one, -1 where the second is, 0 where they are the same."""
    if len(one[0]) != len(other[0]):
        return 1 if len(one[0]) < len(other[0]) else -1
    for first, second in zip(one, other, strict=True):
        differ = np.flatnonzero(first.ravel() != second.ravel())
        if differ.size:
            return 1 if first.ravel()[differ[0]] < second.ravel()[differ[0]] else -1
    return 0


def _same_items(outside: Sequence[Outside]) -> Array:
    shared, *places = np.intersect1d(outside[0].names, outside[1].names, assume_unique=True, return_indices=True)
    _refuse_other_gold(outside, places, shared)
    if lost := sum(len(one.names) for one in outside) - 2 * len(shared):
        message = f"compared on the {len(shared)} test items that both answered; {lost} answers left out"
        warnings.warn(message, stacklevel=caller_level())
    rows = np.concatenate([one.rows[place] for one, place in zip(outside, places, strict=True)], axis=1)
    if not len(rows):
        return rows
    return by_cluster(rows, np.unique(outside[0].clusters[places[0]], return_inverse=True)[1])


def _refuse_other_gold(outside: Sequence[Outside], places: Sequence[Array], shared: Array) -> None:
    gold = [one.gold[place] for one, place in zip(outside, places, strict=True) if one.gold is not None]
    if len(gold) == 2 and (differ := gold[0] != gold[1]).any():
        where = f"test item {shared[differ][0]}"
        raise BadInput("the two models' test sets have different right answers", where=where, field="gold")
