"""Contrasts, whose right answer may differ from their original's, and controls, whose outcome is known in advance.

Neither is counted with rewordings, which must not change the answer.
"""

import warnings
from typing import Any

import numpy as np
import polars as pl

from ..answers.roles import CONTROL, is_control
from ..answers.table import COUNT, Answers, Array, is_original
from ..registry import metrics
from .metric import Metric

#: The metrics of contrasts, in the order of reports.
NAMES = ("sensitivity", "contrast_accuracy", "contrast_consistency")
#: The metric of controls.
NAME = "control_flips"
#: The control that repeats the text: any flip of it is the model's.
SAME_TEXT = "identity"


@metrics("sensitivity.v1")
def sensitivity() -> Any:
    """Share of contrasts with another right answer than the original's whose predicted label differs from it, too.

    Three contrasts of a problem that is answered yes; the right answer to the last is yes still, so it does not count:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4, "variant": ["", 1, 2, 3], "gold": ["yes", "no", "no", "yes"]}
    >>> ow.measure("sensitivity", **rows, pred=["yes", "no", "yes", "no"]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last, blind=True, labels_only=True)


@metrics("contrast_accuracy.v1")
def contrast_accuracy() -> Any:
    """Share of contrasts with another right answer than the original's that are answered right.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4, "variant": ["", 1, 2, 3], "gold": ["yes", "no", "no", "yes"]}
    >>> ow.measure("contrast_accuracy", **rows, pred=["yes", "yes", "no", "no"]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last, labels_only=True)


@metrics("contrast_consistency.v1")
def contrast_consistency() -> Any:
    """Share of problems answered right together with all of their contrasts (Gardner et al. 2020).

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": ["", 1, "", 1], "gold": ["yes", "no"] * 2}
    >>> ow.measure("contrast_consistency", **rows, pred=["yes", "no", "yes", "yes"]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        right, count = answers.variants
        some = count > 0
        whole = (right == count) & answers.correct[answers.originals] & some
        return np.stack([whole, some, (count + 1) * some], axis=1).astype(np.int64)

    return Metric(statistics, uses="contrasts", counted=_last, labels_only=True)


@metrics("control_flips.v1")
def control_flips() -> Any:
    """Share of the controls' variants whose predicted label differs from the original's: no rewordings are in it."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return Metric(statistics, uses="controls", gold=False, labels_only=True)


def warn_unsteady_controls(answers: pl.DataFrame) -> None:
    """Warn of models that answer the same text differently: their other flips may be chance, too."""
    if not is_control(answers).any():
        return
    first = answers.filter(is_original()).select("model", "bucket", pl.col("pred").alias("first"))
    again = answers.filter(pl.col(CONTROL).cast(pl.String).str.strip_chars().str.to_lowercase() == SAME_TEXT).join(
        first, on=["model", "bucket"]
    )
    if COUNT not in again.columns:
        again = again.with_columns(pl.lit(1, pl.Int64).alias(COUNT))
    asked, other = pl.col(COUNT).sum().alias("asked"), pl.col(COUNT).filter(pl.col("pred") != pl.col("first")).sum()
    counts = again.group_by("model").agg(asked, other.alias("other"))
    for model, asked, other in counts.filter(pl.col("other") > 0).sort("model").rows():
        message = f"{model}: {other:,} of {asked:,} identical texts ({SAME_TEXT}) got another answer"
        warnings.warn(f"{message}: the model is not deterministic, or its answers depend on the batch", stacklevel=3)


def _last(rows: Array) -> Array:
    """How many answers each bucket adds: the last of its statistics."""
    return rows[:, -1:]
