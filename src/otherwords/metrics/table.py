"""The answers of one model, column by column, with every bucket, cluster and label coded as a small integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, shorten

Array = npt.NDArray[Any]
_SLACK = 5e-3


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
    def original_pred(self) -> Array:
        """The answer to the original, repeated for every row of its bucket."""
        originals = np.flatnonzero(~self.is_variant)
        by_bucket = np.zeros(self.n_buckets, dtype=self.pred.dtype)
        by_bucket[self.bucket[originals]] = self.pred[originals]
        return by_bucket[self.bucket]

    def sum_by_bucket(self, *masks: Array) -> Array:
        """Count, for every bucket, the rows where each mask holds: one column per mask.

        One pass does it: the masks of a row form a small number, and pairs of it and the bucket are counted.
        """
        kinds = 1 << len(masks)
        code = self.bucket.astype(np.int64) * kinds
        for position, mask in enumerate(masks):
            code += mask.astype(np.int64) << position
        counts = np.bincount(code, minlength=self.n_buckets * kinds).reshape(self.n_buckets, kinds)
        member = (np.arange(kinds)[:, None] >> np.arange(len(masks))) & 1
        return np.asarray(counts @ member)

    def evidence(self, uses: str) -> Array:
        """How many answers of each bucket a metric looks at."""
        if uses == "both":
            return np.bincount(self.bucket, minlength=self.n_buckets)
        wanted = self.is_variant if uses == "variants" else ~self.is_variant
        return np.bincount(self.bucket[wanted], minlength=self.n_buckets)


def read(frame: pl.DataFrame, labels: Sequence[str] = (), where: str = "the answers") -> Answers:
    """Check an answers table of one model and code its columns.

    Needed: bucket, variant (empty for the original), gold, pred; optional: cluster and `p:<label>` columns.
    """
    names = _label_names(frame, labels, where)
    is_variant = _is_variant(frame).to_numpy()
    bucket = _codes(frame["bucket"])
    size = int(bucket.max()) + 1
    _check_buckets(frame, bucket, is_variant, size, where)
    _check_probabilities(frame, where)
    gold, pred = (_coded(frame, column, names, where) for column in ("gold", "pred"))
    originals = np.flatnonzero(~is_variant)
    gold_of = np.zeros(size, dtype=gold.dtype)
    gold_of[bucket[originals]] = gold[originals]
    if (differ := gold_of[bucket] != gold).any():
        row = int(np.flatnonzero(differ)[0])
        found = f"variant {frame['variant'][row]!r} says {frame['gold'][row]!r}, its original otherwise"
        raise BadInput(
            found,
            where=f"{where}, row {row + 1}",
            field="gold",
            fix="a variant keeps the label of its original",
        )
    cluster = np.arange(size)
    if "cluster" in frame.columns:
        cluster = np.zeros(size, dtype=np.int64)
        cluster[bucket[originals]] = _codes(frame["cluster"].fill_null(frame["bucket"].cast(pl.String)))[originals]
        cluster = np.unique(cluster, return_inverse=True)[1]
    return Answers(names, bucket, is_variant, gold, pred, cluster, frame)


def _label_names(frame: pl.DataFrame, labels: Sequence[str], where: str) -> tuple[str, ...]:
    if frame.height == 0:
        raise BadInput("no answers", where=where, fix="give a table with at least one row")
    if missing := [name for name in ("bucket", "variant", "gold", "pred") if name not in frame.columns]:
        fix = f"an answers table has bucket, variant, gold, pred; found {', '.join(frame.columns)}"
        raise BadInput("no such column", where=where, field=missing[0], fix=fix)
    if labels:
        return tuple(labels)
    found = pl.concat([frame["gold"].unique().cast(pl.String), frame["pred"].unique().cast(pl.String)]).drop_nulls()
    told = [name.removeprefix("p:") for name in frame.columns if name.startswith("p:")]
    return (*told, *sorted(set(found) - set(told)))


def _is_variant(frame: pl.DataFrame) -> pl.Series:
    variant = frame["variant"]
    if variant.dtype == pl.Null:
        return pl.repeat(False, frame.height, eager=True)
    if variant.dtype == pl.String:
        return (variant.fill_null("") != "").alias("is_variant")
    return variant.is_not_null()


def _codes(column: pl.Series) -> Array:
    """Number distinct values from 0. In which order is left open: nothing depends on it (see significance.collapse)."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise BadInput("found nothing", where=f"row {row + 1}", field=column.name, fix="every answer needs one")
    if column.dtype.is_integer() and column.len() and int(column.min()) >= 0 and int(column.max()) < 4 * column.len():  # type: ignore[arg-type]
        return _dense(column.to_numpy().astype(np.int64))
    category = column.cast(pl.String).cast(pl.Categorical)
    return _dense(category.to_physical().to_numpy().astype(np.int64))


def _dense(codes: Array) -> Array:
    """Close the gaps in small integer codes."""
    low = int(codes.min())
    present = np.bincount(codes - low) > 0
    if present.all():
        return np.asarray(codes - low)
    return np.asarray((np.cumsum(present) - 1)[codes - low])


def _coded(frame: pl.DataFrame, column: str, names: tuple[str, ...], where: str) -> Array:
    texts = frame[column].cast(pl.String)
    codes = texts.replace_strict(list(names), list(range(len(names))), default=None, return_dtype=pl.Int16)
    if codes.null_count():
        row = int(codes.is_null().arg_true()[0])
        fix = f"use one of {', '.join(names)}, or another --task"
        raise BadInput(f"found {shorten(texts[row])}", where=f"{where}, row {row + 1}", field=column, fix=fix)
    return codes.to_numpy()


def _check_buckets(frame: pl.DataFrame, bucket: Array, is_variant: Array, size: int, where: str) -> None:
    """One original a bucket, no variant twice."""
    originals = np.bincount(bucket[~is_variant], minlength=size)
    if (originals != 1).any():
        row = int(np.flatnonzero((originals != 1)[bucket])[0])
        name, count = frame["bucket"][row], int(originals[bucket[row]])
        fix = "every bucket has one answer with an empty variant: the original's"
        raise BadInput(
            f"bucket {name!r} has {count} originals",
            where=f"{where}, row {row + 1}",
            field="variant",
            fix=fix,
        )
    twice = frame.select(pl.struct("bucket", "variant").hash().is_duplicated())
    if twice.to_series().any():
        found = frame.filter(pl.struct("bucket", "variant").is_duplicated())
        if found.height:
            name = found["variant"][0]
            raise BadInput(
                f"variant {name!r} is answered twice",
                where=where,
                field="variant",
                fix="give each answer once",
            )


def _check_probabilities(frame: pl.DataFrame, where: str) -> None:
    columns = [name for name in frame.columns if name.startswith("p:")]
    if not columns or all(frame[name].null_count() == frame.height for name in columns):
        return
    total = frame.select(
        pl.sum_horizontal([pl.col(name).cast(pl.Float64) for name in columns], ignore_nulls=False)
    ).to_series()
    low = frame.select(pl.min_horizontal(columns)).to_series()
    wrong = (((total - 1).abs() > _SLACK) | total.is_nan() | total.is_null() | (low < 0)).fill_null(True)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        found = {name: frame[name][row] for name in columns}
        raise BadInput(
            f"found {found}", where=f"{where}, row {row + 1}", field="p:", fix="probabilities must sum to one"
        )
