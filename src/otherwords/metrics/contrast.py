"""Controls: variants whose outcome is known beforehand, beside the rewordings and never among them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.groups import is_original
from ..answers.roles import CONTROL, is_control
from ..answers.table import Answers
from ..errors import BadInput
from ..registry import metrics
from .flips import flip_rate
from .metric import Array, Metric, divide, paired, tally

# MERGED from metrics.contrast: Contrasts: problems that differ in little from an original but not in nothing, so that the right answer may change.

#: The metrics of this file, as they are told in a report.
NAMES = ("sensitivity", "contrast_accuracy", "contrast_consistency")


def sensitivity(
    gold: npt.ArrayLike, original_gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike
) -> float:
    """Of the contrasts whose right answer differs from their original's, the share whose given answer differs, too.

    Three contrasts of a problem that is answered yes; the right answer to the last is yes still, so it does not count:

    >>> sensitivity(["no", "no", "yes"], ["yes"] * 3, ["hm", "yes", "no"], ["yes"] * 3)
    0.5
    """
    now, before = paired("sensitivity", pred, original_pred)
    chosen = _changing("sensitivity", gold, original_gold)
    return float(np.mean(paired("sensitivity", now != before, chosen)[0][chosen]))


def contrast_accuracy(gold: npt.ArrayLike, original_gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Of the contrasts whose right answer differs from their original's, the share that is answered right.

    >>> contrast_accuracy(["no", "no", "yes"], ["yes"] * 3, ["hm", "no", "no"])
    0.5
    """
    truth, given = paired("accuracy on contrasts", gold, pred)
    return float(np.mean((truth == given)[_changing("accuracy on contrasts", gold, original_gold)]))


def contrast_consistency(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Share of buckets that are right throughout, original and all contrasts (Gardner et al. 2020, section 2).

    >>> contrast_consistency([1, 1, 1, 0], ["a", "a", "b", "b"])
    0.5
    """
    right, count = tally("consistency on contrasts", correct, bucket)
    return float(np.mean(right == count))


def _changing(what: str, gold: npt.ArrayLike, original_gold: npt.ArrayLike) -> Array:
    truth, before = paired(what, gold, original_gold)
    if not (truth != before).any():
        raise BadInput(
            f"{what} where no right answer changes", fix="give contrasts whose label is not their original's"
        )
    return np.asarray(truth != before)


@metrics("sensitivity.v1")
def sensitivity_metric() -> Any:
    """Share of contrasts with another right answer than the original's whose predicted label differs from it, too."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last)


@metrics("contrast_accuracy.v1")
def contrast_accuracy_metric() -> Any:
    """Share of contrasts with another right answer than the original's that are answered right."""

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & answers.is_changed, answers.is_changed)

    return Metric(statistics, uses="contrasts", counted=_last)


@metrics("contrast_consistency.v1")
def contrast_consistency_metric() -> Any:
    """Share of problems answered right together with all of their contrasts (Gardner et al. 2020)."""

    def statistics(answers: Answers) -> Array:
        right, count = answers.variants
        some = count > 0
        whole = (right == count) & answers.correct[answers.originals] & some
        return np.stack([whole, some, (count + 1) * some], axis=1).astype(np.int64)

    def combine(totals: Array) -> Array:
        return divide(totals[..., 0], totals[..., 1])

    return Metric(statistics, combine, uses="contrasts", rate=True, counted=_last)


def _last(rows: Array) -> Array:
    """How many answers each bucket adds: the last of its statistics."""
    return rows[:, -1:]


# MERGED from metrics.controls: Controls: variants whose outcome is known beforehand, beside the rewordings and never among them.

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


def warn_unsteady_controls(answers: pl.DataFrame) -> None:
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
