"""Metrics on a handful of arrays, without a bootstrap: what tests by hand and by hypothesis put in, a number out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from otherwords.answers.reading import read
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics


def parts_of(spec: str, frame: pl.DataFrame, labels: Sequence[str] = ()) -> dict[str, float]:
    """The values of a metric by part, NaN where it is undefined; a metric of one number has the part ""."""
    metric = as_metric(metrics.make(spec).function)
    data = read(frame, labels)
    values = metric.by_part(metric.statistics(data).sum(axis=0))
    return dict(zip(metric.part_names(data), values.tolist(), strict=True))


def value_of(spec: str, frame: pl.DataFrame, labels: Sequence[str] = ()) -> float:
    """The value of a metric that gives one number."""
    [value] = parts_of(spec, frame, labels).values()
    return value


def on_correct(spec: str) -> Callable[..., float]:
    """A metric as a function of whether each variant is right, its bucket, and whether the originals are right."""

    def value(correct: Sequence[Any], bucket: Sequence[Any], original: Sequence[Any] | None = None) -> float:
        return value_of(spec, correct_table(correct, bucket, original), ("x", "y"))

    return value


def correct_table(correct: Sequence[Any], bucket: Sequence[Any], original: Sequence[Any] | None = None) -> pl.DataFrame:
    """Answers to variants that are right or wrong; `original` says of every variant whether its original is right."""
    right = np.asarray(correct).astype(bool)
    names = np.asarray(bucket).astype(str)
    first = dict(zip(names[::-1], np.ones(len(names), bool) if original is None else original[::-1], strict=True))
    originals = [(name, None, "x", "x" if was else "y") for name, was in first.items()]
    variants = [(name, str(i), "x", "x" if r else "y") for i, (name, r) in enumerate(zip(names, right, strict=True))]
    schema = {"bucket": pl.String, "variant": pl.String, "gold": pl.String, "pred": pl.String}
    return pl.DataFrame([*originals, *variants], schema=schema, orient="row")


def pair_table(pred: Sequence[str], original_pred: Sequence[str], gold: Sequence[str] | None = None) -> pl.DataFrame:
    """Buckets of one variant each: the answer to it, and to its original."""
    rows = []
    for i, (now, before) in enumerate(zip(pred, original_pred, strict=True)):
        right = before if gold is None else gold[i]
        rows += [(i, None, right, before), (i, "1", right, now)]
    schema = {"bucket": pl.Int64, "variant": pl.String, "gold": pl.String, "pred": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
