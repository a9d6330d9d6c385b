"""Metrics over several models, or several runs of one: how much accuracy varies, and what all of them miss.

The audit lists name the problems that all models miss, with every model's answers, for somebody to look at. Of the 31
seeds that no model of MERGE got right, only 29 % have the right label; so before such a list is read as a weakness of
the models, its labels should be checked.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..answers.alignment import Columns, Names, TableOrPath, align, is_run, load
from ..answers.roles import CONTRAST, CONTROL
from ..answers.table import Answers, Array
from ..datasets.suite import Suite, SuiteName, open_suite
from ..errors import BadInput, UnknownName, setting
from ..frames import with_texts
from ..problem import AGAIN, Task, get_task
from ..registry import metrics
from ..storage import tables
from ..storage.in_memory import frames_or_names
from .metric import Metric, divide

#: The lists there are, by name.
LISTS = ("never-right", "hard-cases", "hard-always")


@metrics("snr.v1")
def snr() -> Any:
    """Mean over standard deviation (ddof 0) of the models' accuracies on the originals, and both of them (IE test).

    The signal-to-noise ratio of Salvatore et al. (2023) rewards a model that is wrong in the same way each time, so
    print mean and deviation with it. Two models, right on nine and on seven of ten originals:

    >>> import otherwords as ow, polars as pl
    >>> rows = {"bucket": [*range(10)] * 2, "variant": [""] * 20, "gold": ["yes"] * 20}
    >>> rows |= {"model": ["m"] * 10 + ["n"] * 10, "pred": ["yes"] * 9 + ["no"] + ["yes"] * 7 + ["no"] * 3}
    >>> [round(one.value, 6) for one in ow.score(pl.DataFrame(rows), ["snr"])]
    [8.0, 0.8, 0.1]
    """
    return Metric(
        _accuracies,
        _signal_to_noise,
        uses="originals",
        parts=("snr", "mean", "std"),
        across="models",
        share=False,
        bounds=(0, math.inf),
        blind=True,
    )


@metrics("hard_cases.v1")
def hard_cases(every: bool = False, runs_of: str = "") -> Any:
    """Share of problems that every model gets right, and wrong in a variant (`every`: in all of them).

    `runs_of` names a column with the model that each entry of `model` is a run of: it is enough that one of its runs
    breaks, as the IE test's paper counts. Two runs of m break on one problem each, n on both:

    >>> import otherwords as ow, polars as pl
    >>> rows = {"bucket": ["a", "a", "b", "b"] * 3, "variant": [None, "1"] * 6, "gold": ["yes"] * 12}
    >>> rows |= {"model": ["m1"] * 4 + ["m2"] * 4 + ["n"] * 4, "architecture": ["m"] * 8 + ["n"] * 4}
    >>> rows["pred"] = ["yes", "no", "yes", "yes", "yes", "yes", "yes", "no", "yes", "no", "yes", "no"]
    >>> [ow.score(pl.DataFrame(rows), spec)[0].value for spec in ("hard_cases", "hard_cases(runs_of=architecture)")]
    [0.0, 1.0]
    """

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_hard(models, every, runs_of), models[0].n_variants > 0], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", across="buckets")


@metrics("never_right.v1")
def never_right() -> Any:
    """Share of problems without a variant that any model answers right (1.4 % of MERGE's seeds)."""

    def statistics(models: Sequence[Answers]) -> Array:
        return np.stack([are_never_right(models), models[0].n_variants > 0], axis=1).astype(np.int64)

    return Metric(statistics, across="buckets", original=False)


def are_hard(models: Sequence[Answers], every: bool = False, runs_of: str = "") -> Array:
    """Which buckets have an original that every model gets right, and a variant (or only variants) that it does not.

    With `runs_of`, models of which the column says the same are runs of one, for which one of them is enough.
    """
    broken: dict[str, Array] = {}
    for one in models:
        right, count = one.variants
        here = one.correct[one.originals] & ((right == 0) if every else (right < count))
        name = _run_of(one, runs_of) if runs_of else one.model
        broken[name] = broken.get(name, False) | here
    return np.asarray(np.logical_and.reduce([models[0].n_variants > 0, *broken.values()]))


def _run_of(answers: Answers, column: str) -> str:
    """The model that these answers are a run of: what a column has in all rows."""
    if column not in answers.frame.columns:
        fix = f"name one of: {', '.join(answers.frame.columns)}"
        raise BadInput(f"no column {column!r}", where=answers.model, field="runs_of", fix=fix)
    names = answers.frame[column].cast(pl.String).unique().to_list()
    if len(names) != 1 or names[0] in (None, ""):
        found = ", ".join(sorted(str(name or "nothing") for name in names)[:3])
        fix = "give all rows of a run the name of its model"
        raise BadInput(f"found {found} in {column!r}", where=answers.model, field="runs_of", fix=fix)
    return str(names[0])


def are_never_right(models: Sequence[Answers]) -> Array:
    """Which buckets have variants, and none that any model gets right."""
    right = sum(one.variants[0] for one in models)
    return np.asarray((models[0].n_variants > 0) & (right == 0))


def _accuracies(models: Sequence[Answers]) -> Array:
    """Right answers, their square, all answers: in whole numbers, so that equal models have no deviation at all."""
    right = np.array([np.count_nonzero(one.correct[one.originals]) for one in models], dtype=np.int64)
    return np.column_stack([right, right * right, [one.n_buckets for one in models], np.ones_like(right)])


def _signal_to_noise(totals: Array) -> Array:
    """SNR, mean and deviation of right / answers; all models answer the same questions."""
    right, squares, answers, runs = np.moveaxis(np.asarray(totals, dtype=np.float64), -1, 0)
    spread = np.sqrt(np.maximum(runs * squares - right * right, 0))
    return np.stack([divide(right, spread), divide(right, answers), divide(spread, answers)], axis=-1)


# Audit lists


def audit(
    answers: TableOrPath | Sequence[TableOrPath],
    which: str = "never-right",
    *,
    task: str | Task = "",
    suite: SuiteName | None = None,
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    runs_of: str = "",
    below: float | None = None,
    out: str | Path | None = None,
) -> pl.DataFrame:
    """Make one of the lists of an answers table, or of several, and write it to `out` if there is one.

    The problems come with their texts where a `suite` has them, such as the buckets of a run folder that is given.
    `columns` and `labels` map foreign columns and labels, as in `score`. `runs_of` names the column with the model of
    each run, as in the metric `hard_cases`. With `below`, the list has the problems whose mean accuracy over models, on
    their variants, is below that share, in a column `mean_accuracy`, the lowest first: MERGE looks at those below 0.05.
    """
    if which not in LISTS:
        raise UnknownName(f"no list {which!r}; available: {', '.join(LISTS)}")
    sources = frames_or_names(answers, "the answers")
    tables.refuse_unwritable(out, *sources)
    _refuse_wrong_bound(below, which)
    if runs_of and which == "never-right":
        fix = "leave it out: a run is as good as a model there"
        raise BadInput("only hard cases are counted by model", field="runs_of", fix=fix)
    names = Names(columns or {}, labels or {}, get_task(task).labels if task else ())
    if suite is None:
        suite = next((str(one) for one in sources if is_run(one)), None)
    texts = None if suite is None else open_suite(suite, task)
    models = _models(sources, names)
    if below is not None:
        problems = _listed_below(models, below)
    else:
        hard = are_never_right(models) if which == "never-right" else are_hard(models, which == "hard-always", runs_of)
        problems = _listed(models, hard)
    problems = problems if texts is None else _with_texts(problems, texts)
    if out:
        tables.write([problems], out)
    return problems


def _refuse_wrong_bound(below: float | None, which: str) -> None:
    option = setting("--below", "below")
    if below is not None and not 0 < below <= 1:
        raise BadInput(f"found {below:g}", field=option, fix="give a share above 0 and up to 1, as in 0.05")
    if below is not None and which != "never-right":
        raise BadInput(f"is a list of its own, beside {which}", field=option, fix="leave out one of them")


def _listed_below(models: Sequence[Answers], below: float) -> pl.DataFrame:
    """The problems whose mean accuracy over models is below a share, the lowest first."""
    count = models[0].n_variants
    mean = np.sum([one.variants[0] for one in models], axis=0) / np.maximum(count * len(models), 1)
    chosen = (count > 0) & (mean < below)
    names = models[0].frame["bucket"].gather(models[0].originals)
    means = pl.DataFrame({"bucket": names, "mean_accuracy": mean}).filter(pl.Series(chosen))
    listed = _listed(models, chosen).join(means, on="bucket", how="left", maintain_order="left")
    first = ["bucket", "gold", "variants", "mean_accuracy"]
    return listed.select(*first, pl.exclude(first)).sort("mean_accuracy", "bucket")


def _with_texts(problems: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Join problems to their texts; what a run wrote itself needs no intake."""
    texts = suite.runs[0].read("buckets") if len(suite.runs) == len(suite.names) == 1 else suite.table()
    originals = problems.with_columns(pl.lit(None, pl.String).alias("variant"))
    return with_texts(originals, texts, suite.task.fields, suite.name).drop("variant")


def list_hard_cases(
    answers: TableOrPath, labels: Sequence[str] = (), *, every: bool = False, runs_of: str = ""
) -> pl.DataFrame:
    """The problems that every model gets right, and wrong in a variant (`every`: in all of them): of rewordings.

    `runs_of` names the column with the model of each run: it is enough that one of its runs breaks.

    A row per problem, in the order of their names: `variants` counts them, `pred:<model>` is the answer to the
    original, `right:<model>` the number of variants answered right. Other columns of the originals follow: their
    texts, and the annotators' labels where the data has them.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "1", "2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> list_hard_cases(pl.DataFrame({**rows, "model": ["m"] * 3})).row(0, named=True)
    {'bucket': 'a', 'gold': 'yes', 'variants': 2, 'pred:m': 'yes', 'right:m': 1}
    """
    models = _models([answers], Names(known=tuple(labels)))
    return _listed(models, are_hard(models, every, runs_of))


def list_never_right(answers: TableOrPath, labels: Sequence[str] = ()) -> pl.DataFrame:
    """The problems without a variant that any model answers right, in the same columns as `list_hard_cases`.

    >>> rows = {"bucket": ["a"] * 2, "variant": [None, "1"], "gold": ["yes"] * 2, "pred": ["yes", "no"]}
    >>> list_never_right(pl.DataFrame({**rows, "annotators": ["yes no no", None]})).row(0)
    ('a', 'yes', 1, 'yes', 0, 'yes no no')
    """
    models = _models([answers], Names(known=tuple(labels)))
    return _listed(models, are_never_right(models))


def _models(sources: Sequence[TableOrPath], names: Names) -> list[Answers]:
    models = sorted(load(*sources, names=names), key=lambda model: model.name)
    roles = [model.by_role(names.known) for model in models]
    if any("rewordings" not in one for one in roles):
        name = next(model.name for model, one in zip(models, roles, strict=True) if "rewordings" not in one)
        fix = "add its answers to problems and their rewordings"
        raise BadInput(f"{name} has only answers to contrasts", where=models[0].place.table, fix=fix)
    return align([one["rewordings"].frame for one in roles], names.known)


def _listed(models: Sequence[Answers], chosen: Array) -> pl.DataFrame:
    first = models[0].frame[models[0].originals]
    others = first.drop(
        "bucket", "gold", "variant", "pred", "model", f"^p:.*|{AGAIN}.*$", CONTRAST, CONTROL, strict=False
    )
    others = others.select(column.name for column in others if column.null_count() < others.height)
    table = first.select("bucket", "gold").with_columns(pl.Series("variants", models[0].n_variants))
    for one in models:
        pred = one.frame["pred"].gather(one.originals)
        table = table.with_columns(pred.alias(f"pred:{one.model}"), pl.Series(f"right:{one.model}", one.variants[0]))
    others = others.rename({name: f"input_{name}" for name in others.columns if name in table.columns})
    return pl.concat([table, others], how="horizontal").filter(pl.Series(chosen)).sort("bucket")
