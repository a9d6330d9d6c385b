"""Audit lists: the problems that all models trip over, with every model's answers, for somebody to look at.

Of the 31 seeds that no model of MERGE got right, only 29 % have the right label; so before a list like this is read as
a weakness of the models, its labels should be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.alignment import Source, aligned, load
from ..answers.roles import CONTRAST, CONTROL
from ..answers.table import Answers
from ..errors import BadInput, UnknownName
from ..frames import with_texts
from ..problem import Task, get_task
from ..registry import metrics
from ..storage import tables
from ..storage.run_folder import RunFolder
from .metric import Array, Metric, divide, paired, tally

# MERGED from metrics.across: What several models, or several runs of one, say together: how much their accuracy wavers, what all of them miss.


def snr(accuracies: npt.ArrayLike) -> float:
    """Signal-to-noise ratio of runs: mean accuracy over its standard deviation, with ddof 0 (Salvatore et al. 2023).

    It rewards a model that is wrong in the same way each time, so print mean and deviation beside it.

    >>> round(snr([0.8, 0.9]), 6)
    17.0
    """
    values, _ = paired("SNR", accuracies, accuracies)
    if values.min() == values.max():
        fix = "give several runs that differ; of a constant accuracy only the mean can be told"
        raise BadInput(f"SNR of {values.size} equal accuracies", fix=fix)
    return float(values.mean() / values.std())


def hard_cases(before: npt.ArrayLike, after: npt.ArrayLike, model: Sequence[str] = ()) -> Array:
    """Which problems every model gets right as they were and wrong in other words.

    A row per run, a column per problem: whether the original, and the variant, is right. Rows of the same `model` are
    runs of it, and it is enough that one of them breaks. That is how the IE test's 249 and 531 come about; as worded
    there ("regardless of rho", every run a model of its own) none is left.

    >>> before, after = [[1, 1, 1], [1, 1, 0]], [[0, 1, 0], [0, 0, 0]]
    >>> hard_cases(before, after)
    array([ True, False, False])
    >>> hard_cases(before, after, model=["bert", "bert"])
    array([ True,  True,  True])
    """
    right, still = paired("hard cases", before, after)
    names = np.asarray(model if len(model) else range(len(right)))
    if right.ndim != 2 or len(names) != len(right):
        fix = "give a row per run, a column per problem, and one model for each row"
        raise BadInput(f"hard cases of shape {right.shape} and {len(names)} models", fix=fix)
    broken = right.astype(bool) & ~still.astype(bool)
    return np.asarray(np.logical_and.reduce([broken[names == one].any(axis=0) for one in np.unique(names)]))


def never_right(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Share of problems none of whose variants any model answers right; give all models' answers to variants.

    >>> never_right([0, 0, 1, 0], ["a", "a", "b", "b"])
    0.5
    """
    right, _ = tally("share never right", correct, bucket)
    return float(np.mean(right == 0))


@metrics("snr.v1")
def snr_metric() -> Any:
    """Mean over standard deviation (ddof 0) of the models' accuracies on the originals, and both of them (IE test)."""
    return Metric(_accuracies, _wavering, uses="originals", parts=("snr", "mean", "std"), across="models", share=False)


@metrics("hard_cases.v1")
def hard_cases_metric(every: bool = False) -> Any:
    """Share of problems that every model gets right, and wrong in a variant (`every`: in all of them)."""

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_hard(models, every), models[0].variants[1] > 0], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", across="buckets")


@metrics("never_right.v1")
def never_right_metric() -> Any:
    """Share of problems none of whose variants any model answers right (1.4 % of MERGE's seeds)."""

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_never_right(models), models[0].variants[1] > 0], axis=1).astype(np.int64)

    return Metric(statistics, across="buckets")


def are_hard(models: Sequence[Answers], every: bool = False) -> Array:
    """Which buckets have an original that every model gets right, and a variant (or only variants) that it does not."""
    found = models[0].variants[1] > 0
    for one in models:
        right, count = one.variants
        found &= one.correct[one.originals] & ((right == 0) if every else (right < count))
    return found


def are_never_right(models: Sequence[Answers]) -> Array:
    """Which buckets have variants, and none that any model gets right."""
    right = sum(one.variants[0] for one in models)
    return np.asarray((models[0].variants[1] > 0) & (right == 0))


def _accuracies(models: Sequence[Answers]) -> Array:
    """Right answers, their square, all answers: in whole numbers, so that equal models have no deviation at all."""
    right = np.array([np.count_nonzero(one.correct[one.originals]) for one in models], dtype=np.int64)
    return np.column_stack([right, right * right, [one.n_buckets for one in models], np.ones_like(right)])


def _wavering(totals: Array) -> Array:
    """SNR, mean and deviation of right / answers; all models answer the same questions."""
    right, squares, answers, runs = np.moveaxis(np.asarray(totals, dtype=np.float64), -1, 0)
    spread = np.sqrt(np.maximum(runs * squares - right * right, 0))
    return np.stack([divide(right, spread), divide(right, answers), divide(spread, answers)], axis=-1)


# MERGED from metrics.audit: Audit lists: the problems that all models trip over, with every model's answers, for somebody to look at.

#: The lists there are, by name.
LISTS = ("never-right", "hard-cases", "hard-always")


def audit(
    answers: Source, which: str = "never-right", *, task: str | Task = "", out: str | Path | None = None
) -> pl.DataFrame:
    """Make one of the lists of an answers table, and write it to `out` if there is one.

    The problems of a run folder come with their texts.
    """
    if which not in LISTS:
        raise UnknownName(f"no list {which!r}; there are: {', '.join(LISTS)}")
    tables.refuse_unwritable(out)
    labels = get_task(task).labels if task else ()
    if which == "never-right":
        found = list_never_right(answers, labels)
    else:
        found = list_hard_cases(answers, labels, every=which == "hard-always")
    found = _with_texts(found, answers)
    if out:
        tables.write([found], out)
    return found


def _with_texts(problems: pl.DataFrame, answers: Source) -> pl.DataFrame:
    if isinstance(answers, pl.DataFrame) or not (Path(answers) / "buckets").is_dir():
        return problems
    folder = RunFolder(answers)
    fields = folder.manifest.get("task", {}).get("fields", ())
    originals = problems.with_columns(pl.lit(None, pl.String).alias("variant"))
    return with_texts(originals, folder.read("buckets"), fields).drop("variant")


def list_hard_cases(answers: Source, labels: Sequence[str] = (), *, every: bool = False) -> pl.DataFrame:
    """The problems that every model gets right, and wrong in a variant (`every`: in all of them): of rewordings.

    A row per problem, in the order of their names: `variants` counts them, `pred:<model>` is the answer to the
    original, `right:<model>` the number of variants answered right. What the originals have besides comes along: their
    texts, and the annotators' labels where the data has them.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "1", "2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> list_hard_cases(pl.DataFrame({**rows, "model": ["m"] * 3})).row(0, named=True)
    {'bucket': 'a', 'gold': 'yes', 'variants': 2, 'pred:m': 'yes', 'right:m': 1}
    """
    models = _models(answers, labels)
    return _listed(models, are_hard(models, every))


def list_never_right(answers: Source, labels: Sequence[str] = ()) -> pl.DataFrame:
    """The problems none of whose variants any model answers right, in the same columns as `list_hard_cases`.

    >>> rows = {"bucket": ["a"] * 2, "variant": [None, "1"], "gold": ["yes"] * 2, "pred": ["yes", "no"]}
    >>> list_never_right(pl.DataFrame({**rows, "annotators": ["yes no no", None]})).row(0)
    ('a', 'yes', 1, 'yes', 0, 'yes no no')
    """
    models = _models(answers, labels)
    return _listed(models, are_never_right(models))


def _models(answers: Source, labels: Sequence[str]) -> list[Answers]:
    sides = sorted(load(answers), key=lambda side: side.name)
    parted = [side.parts(labels) for side in sides]
    if any("rewordings" not in one for one in parted):
        found = next(side.name for side, one in zip(sides, parted, strict=True) if "rewordings" not in one)
        fix = "give its answers to problems and their rewordings, too"
        raise BadInput(f"{found} has answers to contrasts only", where=sides[0].place.table, fix=fix)
    return aligned([one["rewordings"].frame for one in parted], labels)


def _listed(models: Sequence[Answers], chosen: Array) -> pl.DataFrame:
    first = models[0].frame[models[0].originals]
    along = first.drop("bucket", "gold", "variant", "pred", "model", "^p:.*$", CONTRAST, CONTROL, strict=False)
    along = along.select(one.name for one in along if one.null_count() < along.height)
    table = first.select("bucket", "gold").with_columns(pl.Series("variants", models[0].variants[1]))
    for one in models:
        pred = one.frame["pred"].gather(one.originals)
        table = table.with_columns(pred.alias(f"pred:{one.model}"), pl.Series(f"right:{one.model}", one.variants[0]))
    along = along.rename({name: f"input_{name}" for name in along.columns if name in table.columns})
    return pl.concat([table, along], how="horizontal").filter(pl.Series(chosen)).sort("bucket")
