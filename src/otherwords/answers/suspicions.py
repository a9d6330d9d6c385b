"""Answers tables that can be read, and are probably not what was meant: the user is warned."""

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import polars as pl

from ..errors import caller_level, shorten
from ..problem import TASKS, UNREADABLE, label_key
from .table import ORIGINAL, Location, cluster_text, is_variant, label_spellings, label_texts

#: How far a probability may be below the highest one and count as equal to it.
_EQUAL = 1e-6
#: Labels that a warning lists.
_MOST = 6


def warn_suspicious(frame: pl.DataFrame, where: Location, labels: Sequence[str] = ()) -> None:
    """Warn, once for a table of one model or several, of answers that cannot be right, or contradict themselves.

    `labels` are those that there are, where that is known: an answer among them may be absent from the right answers.
    """
    found = Suspicions(where.table)
    found.add(frame, where)
    found.warn(labels)


class Suspicions:
    """Answers that cannot be right, or contradict themselves, found in one part of a table after the other."""

    def __init__(self, table: str):
        self.table, self.rows = table, 0
        self.stated, self.gold, self.pred = set[str](), set[str](), set[str]()
        self.strange: list[pl.DataFrame] = []
        self.improbable, self.first_improbable = 0, ""
        self.in_two, self.first_in_two = 0, ""
        self.heads, self.alone, self.clustered = 0, 0, False

    def add(self, frame: pl.DataFrame, where: Location) -> None:
        """Look at some whole buckets; `where` says which rows of the table they are."""
        self.rows += frame.height
        self.stated |= {name.removeprefix("p:") for name in frame.columns if name.startswith("p:")}
        if "gold" in frame.columns:
            self._add_labels(frame)
        self._add_improbable(frame, where)
        if "cluster" in frame.columns and frame["cluster"].null_count() < frame.height:
            self._add_other_clusters(frame)
        if "cluster" in frame.columns:
            self._add_alone(frame)

    def warn(self, labels: Sequence[str] = ()) -> None:
        """Warn of all that was found."""
        self._warn_never_gold(labels)
        if self.improbable:
            count = f"{self.table}: {self.improbable:,} of {self.rows:,} answers are not the most probable label"
            use = "labels count as in pred, probabilities as in the p: columns"
            warnings.warn(f"{count} ({self.first_improbable}); {use}", stacklevel=caller_level())
        if self.in_two:
            many = f"{self.in_two:,} bucket{'s are' if self.in_two > 1 else ' is'} in more than one cluster"
            message = f"{self.table}: {many}, the first {self.first_in_two}"
            warnings.warn(f"{message}; a bucket belongs where its original belongs", stacklevel=caller_level())
        if self.clustered and 0 < self.alone < self.heads:
            count = f"{self.alone:,} of {self.heads:,} buckets are without a cluster (empty, or NaN)"
            warnings.warn(f"{self.table}: {count}; each counts as a cluster of its own", stacklevel=caller_level())

    def _add_labels(self, frame: pl.DataFrame) -> None:
        """Count the answers that are not among the right ones of these rows: distinct labels mostly tell of none."""
        gold, pred = (label_texts(frame[name]) for name in ("gold", "pred"))
        right, given = (set(column.unique().drop_nulls()) - {UNREADABLE} for column in (gold, pred))
        self.gold, self.pred = self.gold | right, self.pred | given
        if given - right:
            strange = frame.select("model", pred.alias("pred")).filter(~pred.is_in([*right, UNREADABLE]))
            self.strange.append(strange.group_by("model", "pred", maintain_order=True).len())

    def _warn_never_gold(self, labels: Sequence[str]) -> None:
        """Labels that are answered and never right; not where task or probabilities show that there are such labels.

        Nor where all right answers are the same, and some answers are right: others then are simply wrong.
        """
        gold, pred = self.gold, self.pred
        lists = (gold, labels, self.stated, *(task.labels for task in TASKS.values()))
        if not gold or any(gold | pred <= set(known) for known in lists) or (len(gold) == 1 and gold <= pred):
            return
        strange = pl.concat(self.strange).filter(~pl.col("pred").is_in(list(gold)))
        for (model,), own in strange.group_by("model", maintain_order=True):
            counts = own.group_by("pred").agg(pl.col("len").sum()).sort("len", "pred", descending=[True, False])
            shown = ", ".join(f"{shorten(text)} ({count:,})" for text, count in counts.head(_MOST).iter_rows())
            shown += ", ..." if counts.height > _MOST else ""
            names = ", ".join(sorted(gold)[:_MOST]) + (", ..." if len(gold) > _MOST else "")
            total = int(own["len"].sum())
            many = f"{total:,} answer{'s' if total > 1 else ''} of {model}"
            message = f"{self.table}: {many} can never be right: {shown}; gold has {names}"
            fix = f"--label {counts['pred'][0]}=... says what a label means"
            warnings.warn(
                f"{message}. If it means one of them: {fix} (in Python labels={{...}})", stacklevel=caller_level()
            )

    def _add_improbable(self, frame: pl.DataFrame, where: Location) -> None:
        """Answers that have not the highest of their probabilities; one of several equal ones may be the answer."""
        p = frame.select(pl.col("^p:.*$").cast(pl.Float64, strict=False))
        if not p.width:
            return
        pred = label_texts(frame["pred"])
        own = [pl.when(pred == name.removeprefix("p:")).then(pl.col(name)) for name in p.columns]
        other = p.select(pl.max_horizontal(pl.all()) - pl.coalesce(*own, pl.lit(0.0)) > _EQUAL)
        found = other.to_series().fill_null(False) & (pred != UNREADABLE).fill_null(True)
        self.improbable += int(found.sum())
        if found.any() and not self.first_improbable:
            row = int(found.arg_true()[0])
            values = p.row(row, named=True)
            highest = max((value, name.removeprefix("p:")) for name, value in values.items() if value)[1]
            first = f"the first in {where.row(row)}, pred {pred[row]!r}, most probable {highest!r}"
            self.first_improbable = first

    def _add_other_clusters(self, frame: pl.DataFrame) -> None:
        """Buckets with a variant in another cluster than the original: hashes tell fast that there is none."""
        cluster = pl.col("cluster").cast(pl.String).fill_null("")
        bucket = pl.col("bucket").cast(pl.String)
        hashes = frame.select(key=bucket.hash() ^ pl.col("model").hash(1), cluster=cluster.hash(2))
        if hashes["key"].n_unique() == hashes.select(pl.col("key") ^ pl.col("cluster")).to_series().n_unique():
            return
        rows = frame.select(
            "model", bucket, cluster_text().fill_null(""), pl.Series(ORIGINAL, ~is_variant(frame["variant"]))
        )
        first = pl.col("cluster").sort_by(pl.col(ORIGINAL), descending=True, maintain_order=True).first()
        rows = rows.with_columns(first.over("model", "bucket").alias("used"))
        differing = rows.filter((pl.col("cluster") != "") & (pl.col("cluster") != pl.col("used")))
        self.in_two += differing.select("model", "bucket").n_unique()
        if differing.height and not self.first_in_two:
            name, other, used = differing.select("bucket", "cluster", "used").row(0)
            used = f"{used!r} and {other!r}" if used else f"none at its original, and {other!r}"
            self.first_in_two = f"{name!r} ({used})"

    def _add_alone(self, frame: pl.DataFrame) -> None:
        """Buckets without a cluster beside others that have one: each is its own cluster, as if it shared nothing."""
        varied = is_variant(frame["variant"])
        heads = frame.filter(~varied) if not varied.all() else frame.unique(["model", "bucket"], keep="first")
        self.heads += heads.height
        self.alone += int(heads.select(cluster_text().is_null()).to_series().sum())
        self.clustered = self.clustered or frame["cluster"].null_count() < frame.height


def warn_misspelled(frames: Sequence[pl.DataFrame], meaning: Mapping[str, str]) -> None:
    """Warn of a label that others are mapped to, if it occurs nowhere and is a letter away from another."""
    mapped = {label_key(found) for found in meaning}
    written = {label_key(text) for text in label_spellings(frames)} - mapped
    usual = {label_key(label): label for task in TASKS.values() for label in task.labels}
    for found, label in meaning.items():
        close = get_close_matches(label_key(label), [*sorted(written), *usual], 1, 0.85)
        if close and label_key(label) not in {*written, *usual}:
            message = f"no other label is called so; did you mean {usual.get(close[0], close[0])}?"
            warnings.warn(f"--label {found}={label}: {message}", stacklevel=4)
