"""The answers of one model, column by column, with every bucket, cluster and label coded as a small integer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .bins import probabilities

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Answers:
    """What metrics see. Rows are answers; `bucket` numbers their buckets from 0 to `n_buckets` - 1.

    `original_pred` is, for every row, the answer to its bucket's original; `cluster` holds one number per bucket.
    """

    labels: tuple[str, ...]
    bucket: Array
    is_variant: Array
    gold: Array
    pred: Array
    cluster: Array
    frame: pl.DataFrame

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return len(self.cluster)

    @cached_property
    def correct(self) -> Array:
        """Whether each answer is right."""
        return np.asarray(self.pred == self.gold)

    @cached_property
    def originals(self) -> Array:
        """The row of each bucket's original."""
        rows = np.flatnonzero(~self.is_variant)
        by_bucket = np.empty(self.n_buckets, dtype=np.int64)
        by_bucket[self.bucket[rows]] = rows
        return by_bucket

    @cached_property
    def original_pred(self) -> Array:
        """The answer to the original, repeated for every row of its bucket."""
        return self.of_original(self.pred)

    def of_original(self, values: Array) -> Array:
        """What each row's original has: one value (or row of values) per answer."""
        return np.asarray(values[self.originals][self.bucket])

    @cached_property
    def is_changed(self) -> Array:
        """Which rows are contrasts with another right answer than their original: none among rewordings."""
        return np.asarray(self.gold != self.of_original(self.gold))

    @cached_property
    def p(self) -> Array:
        """Probabilities, a row per answer and a column per label; refused where the model gave none."""
        p = probabilities(self.frame, self.labels, self.model)
        return np.asarray(p / p.sum(axis=1, keepdims=True))  # they sum to one within SLACK only

    @property
    def model(self) -> str:
        """The name of the model whose answers these are."""
        return str(self.frame["model"][0]) if "model" in self.frame.columns else "model"

    def sum_by_bucket(self, *masks: Array) -> Array:
        """Count, for every bucket, the rows where each mask holds: one column per mask."""
        return np.stack([np.bincount(self.bucket[mask], minlength=self.n_buckets) for mask in masks], axis=1)

    def add_by_bucket(self, values: Array, mask: Array) -> Array:
        """Add up, for every bucket, the values of the rows where the mask holds.

        They are added in the order of their size: floats added in another order differ in their last bits.
        """
        rows = np.flatnonzero(mask)
        rows = rows[np.argsort(values[rows], kind="stable")]
        return np.bincount(self.bucket[rows], values[rows], self.n_buckets)

    @cached_property
    def variants(self) -> tuple[Array, Array]:
        """For every bucket: how many variants are answered right, and how many there are."""
        right, count = self.sum_by_bucket(self.correct & self.is_variant, self.is_variant).T
        return right, count

    @cached_property
    def label_counts(self) -> Array:
        """For every bucket, a column per label: how many variants are given that label."""
        cells = self.bucket[self.is_variant] * len(self.labels) + self.pred[self.is_variant]
        count = np.bincount(cells, minlength=self.n_buckets * len(self.labels))
        return count.reshape(self.n_buckets, len(self.labels))

    def evidence(self, uses: str) -> Array:
        """How many answers of each bucket a metric looks at."""
        count = self.variants[1]
        return {"originals": np.ones_like(count), "both": count + 1}.get(uses, count)
