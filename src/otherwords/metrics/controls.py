"""Controls: variants whose outcome is known beforehand, beside the rewordings and never among them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy.typing as npt
import polars as pl

from ..registry import metrics
from .flips import flip_rate
from .metric import Array, Metric
from .parting import CONTROL, is_control
from .splitting import is_original
from .table import Answers

#: The metric of this file, as it is told in a report.
NAME = "control_flips"
#: The control that repeats the text: any flip of it is the model's.
SAME_TEXT = "identity"


def control_flips(pred: npt.ArrayLike, original_pred: npt.ArrayLike, control: npt.ArrayLike) -> dict[str, float]:
    """Share of variants whose answer differs from their original's, control by control.

    A model that is steady, and that does read:

    >>> control_flips(["no", "no", "yes"], ["no", "no", "no"], ["identity", "scramble", "scramble"])
    {'identity': 0.0, 'scramble': 0.5}
    """
    table = pl.DataFrame({"pred": pred, "before": original_pred, CONTROL: control})
    parts = {name: table.filter(pl.col(CONTROL) == name) for name in table[CONTROL].unique().sort()}
    return {name: flip_rate(part["pred"].to_numpy(), part["before"].to_numpy()) for name, part in parts.items()}


@metrics("control_flips.v1")
def control_flips_metric() -> Any:
    """Share of the controls' variants whose predicted label differs from the original's: no rewordings are in it."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return Metric(statistics, uses="controls")


def tell_unsteady(answers: pl.DataFrame) -> None:
    """Warn of models that answer the same text differently: what else they do may be chance, too."""
    if not is_control(answers).any():
        return
    first = answers.filter(is_original()).select("model", "bucket", pl.col("pred").alias("first"))
    again = answers.filter(pl.col(CONTROL).cast(pl.String).str.strip_chars().str.to_lowercase() == SAME_TEXT).join(
        first, on=["model", "bucket"]
    )
    counts = again.group_by("model").agg(pl.len(), (pl.col("pred") != pl.col("first")).sum().alias("other"))
    for model, asked, other in counts.filter(pl.col("other") > 0).sort("model").rows():
        found = f"{model}: {other:,} of {asked:,} texts asked again ({SAME_TEXT}) got another answer"
        warnings.warn(f"{found}: it is not reproducible, or its answers depend on the batch", stacklevel=3)
