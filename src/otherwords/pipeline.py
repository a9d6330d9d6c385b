"""The whole story: problems -> vary -> variants -> check -> buckets -> answer -> answers -> score -> scores."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from . import significance
from ._version import __version__
from .errors import BadInput, UnknownName
from .frames import buckets, kept, problems, to_frame, variant_rows
from .metrics import reading
from .metrics.coding import Place
from .metrics.metric import Metric, as_metric
from .metrics.sifting import sift
from .models.answering import answer_table, ask, sing
from .models.answering import load as load_model
from .models.cache import Cache, default_path
from .models.model import Answerer
from .problem import Problem, Score, Task, Variant, get_task
from .progress import current
from .registry import Bound, checks, generators, metrics
from .storage import tables
from .storage.files import seed_for

#: Problems given to a generator at a time, so that a model behind it can fill a device.
BATCH = 256


def vary(frame: pl.DataFrame, using: Sequence[str | Bound], task: str | Task = "nli", seed: int = 1) -> pl.DataFrame:
    """Put the originals of a table in other words with each generator; give the variants alone."""
    task = get_task(task)
    originals = [p for p in problems(frame, task) if not isinstance(p, Variant)]
    clusters = dict(frame.select("id", "cluster").iter_rows())
    bound = [_bind(generators, one) for one in using]
    _refuse_twice([one.signature for one in bound])
    counts: Counter[tuple[str, str]] = Counter()
    made = [v for generator in bound for v in _generate(generator, originals, seed, counts)]
    seen: set[str] = set()
    for variant in made:
        if variant.id in seen or variant.id in clusters:
            raise BadInput(
                f"{variant.id!r} occurs twice",
                where=variant.how,
                field="id",
                fix="variants need ids of their own",
            )
        seen.add(variant.id)
    return to_frame(variant_rows(made, clusters), task)


def _generate(
    generator: Bound, originals: list[Problem], seed: int, counts: Counter[tuple[str, str]]
) -> Iterator[Variant]:
    """Variants of one generator. They are numbered together with those of its namesake under other options."""
    name = generator.plugin.name
    for start in range(0, len(originals), BATCH):
        some = originals[start : start + BATCH]
        given = {problem.id for problem in some}
        seeds = [seed_for(seed, generator.signature, problem.id) for problem in some]
        for made in generator.function(some, seeds):
            if made.of not in given:
                raise BadInput(f"{generator.signature} made a variant of {made.of!r}, which it was not given")
            counts[made.of, name] += 1
            identity = made.id or f"{made.of}~{name}.{counts[made.of, name]}"
            yield Variant(identity, made.task, made.text, made.label, made.extra, of=made.of, how=generator.signature)


def check(suite: pl.DataFrame, using: Sequence[str | Bound], task: str | Task = "nli") -> pl.DataFrame:
    """Judge every variant with each check: `check:<name>` says whether it is kept, two more columns why.

    Nothing is removed: what was dropped stays in the table, marked.
    """
    task = get_task(task)
    judges = [_bind(checks, one) for one in using]
    _refuse_twice([one.plugin.name for one in judges])
    gathered = buckets(suite, task) if judges else []
    names = [variant.id for bucket in gathered for variant in bucket.variants]
    for bound in judges:
        verdicts = list(bound.function(gathered))
        if len(verdicts) != len(names):
            raise BadInput(f"{bound.signature} gave {len(verdicts)} verdicts on {len(names)} variants")
        column = f"check:{bound.plugin.name}"
        judged = pl.DataFrame(
            {
                "id": pl.Series(names, dtype=pl.String),
                column: pl.Series([v.keep for v in verdicts], dtype=pl.Boolean),
                f"{column}:reason": pl.Series([v.reason or None for v in verdicts], dtype=pl.String),
                f"{column}:score": pl.Series([v.score for v in verdicts], dtype=pl.Float64),
            }
        )
        old = [name for name in judged.columns if name != "id" and name in suite.columns]
        suite = suite.drop(old).join(judged, on="id", how="left", maintain_order="left")
    return suite


def answer(
    suite: pl.DataFrame,
    model: str | Answerer,
    task: str | Task = "nli",
    *,
    cache: Cache | str | Path | None = "",
    label_map: Mapping[str, str] | None = None,
    canary: bool = True,
    batch_size: int = 0,
) -> pl.DataFrame:
    """Ask a model every problem and every variant that was kept; one row per question.

    `cache` is an open cache, the path of one, "" for the one all runs share, or None for none.
    """
    if not isinstance(cache, Cache):
        with Cache(None if cache is None else cache or default_path()) as opened:
            return answer(suite, model, task, cache=opened, label_map=label_map, canary=canary, batch_size=batch_size)
    if isinstance(model, str):
        model = load_model(model, get_task(task), label_map)
        if canary:
            sing(model, cache)
    asked = kept(suite.lazy()).collect()
    columns = {name: asked[name].fill_null("").to_list() for name in model.task.fields}
    return answer_table(asked, model, ask(columns, model, cache, batch_size, current().advance))


def score(
    answers: pl.DataFrame | str | Path,
    using: Sequence[str] = (),
    *,
    by: Sequence[str] = (),
    task: str | Task = "",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    rejected: str | Path | None = None,
    out: str | Path | None = None,
) -> list[Score]:
    """Measure each model in an answers table with each metric (default: all), overall and by groups of columns.

    An answer that cannot be used is an error; with a file for `rejected`, it is written there with the reason instead.
    `out` writes the scores as a table, too.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "a1", "a2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> [flips] = score(pl.DataFrame(rows), ["flip_rate"])
    >>> flips.value, flips.n_units, flips.n_answers
    (0.5, 1, 2)
    """
    source = "the answers"
    if out:
        tables.refuse_unwritable(out)
    if not isinstance(answers, pl.DataFrame):
        source, answers = str(answers), tables.read(answers)
    if not 0 < confidence < 1 or replicates < 1:
        raise BadInput("confidence must lie between 0 and 1, replicates above 0")
    labels = get_task(task).labels if task else ()
    bound = [metrics.make(name) for name in using] or [metrics.make(plugin.full_name) for plugin in metrics]
    answers = _with_model(answers, source, sifted=bool(rejected))
    reading.check_columns(answers, Place(source))
    if rejected:
        answers, others = sift(answers, labels)
        if others.height:
            tables.write([others], rejected)
            warnings.warn(f"{source}: {others.height} answers left out; see {rejected}", stacklevel=2)
    scores = []
    for model in answers["model"].unique().sort().to_list():
        here = answers["model"] == model
        mine, place = answers.filter(here), Place(source, model, here.arg_true().to_numpy())
        known: tuple[str, ...] = ()
        for group, part in _groups(mine, by):
            data = reading.read(part, labels or known, place)  # a wrong row is found in the whole, before any group
            known = data.labels
            for one in bound:
                scores.append(_score(one, data, model, group, seed, replicates, confidence))
    if all(one.value is None for one in scores):
        fix = "give answers to originals and to their variants"
        raise BadInput("nothing to measure", where=source, fix=fix)
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in scores], infer_schema_length=None)], out)
    return scores


def _with_model(answers: pl.DataFrame, source: str, sifted: bool) -> pl.DataFrame:
    if answers.height == 0:
        raise BadInput("no answers", where=source, fix="give a table with at least one row")
    if "model" not in answers.columns:
        return answers.with_columns(pl.lit("model").alias("model"))
    if answers["model"].null_count() and not sifted:
        row = int(answers["model"].is_null().arg_true()[0])
        fix = "name the model of every answer, or leave the column out"
        raise BadInput("found nothing", where=Place(source).row(row), field="model", fix=fix)
    return answers.with_columns(pl.col("model").cast(pl.String))


def _score(
    bound: Bound,
    data: reading.Answers,
    model: str,
    group: str | None,
    seed: int,
    replicates: int,
    confidence: float,
) -> Score:
    metric: Metric = as_metric(bound.function)
    rows = metric.statistics(data)
    used = rows[:, -1] > 0
    units = significance.by_cluster(rows, data.cluster)
    distinct, counts = significance.collapse(units[units[:, -1] > 0])  # the others have nothing to say
    value = float(metric.combine(significance.totals(distinct, counts)))
    low = high = None
    if math.isnan(value):
        warnings.warn(
            f"{bound.plugin.name} of {model}: nothing to measure{f' in {group}' if group else ''}",
            stacklevel=2,
        )
    elif counts.sum() > 1:
        drawn = significance.bootstrap(distinct, counts, metric.combine, replicates, seed, bound.signature)
        low, high = significance.percentile(drawn, confidence)
    cluster = "cluster" if "cluster" in data.frame.columns else "bucket"
    interval = f"interval=percentile(confidence={confidence}, replicates={replicates}, cluster={cluster})"
    signature = f"{bound.signature} {interval} seed={seed} otherwords={__version__}"
    evidence = int(data.evidence(metric.uses)[used].sum())
    return Score(
        bound.plugin.name,
        signature,
        model,
        group,
        None if math.isnan(value) else value,
        low,
        high,
        int(used.sum()),
        evidence,
    )


def _groups(answers: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """The whole table, then its groups: variants by their own value, each with its original for company."""
    yield None, answers
    original = pl.col("variant").is_null() | (pl.col("variant").cast(pl.String) == "")
    for column in by:
        if column == "label" and "label" not in answers.columns:
            answers = answers.with_columns(pl.col("gold").alias("label"))  # as it is called in the data
        if column not in answers.columns:
            raise UnknownName(f"no column {column!r} to group by; there are: {', '.join(answers.columns)}")
        for value in answers[column].drop_nulls().unique().sort().to_list():
            inside = answers.filter(pl.col(column) == value)
            company = answers.filter(original, pl.col("bucket").is_in(inside["bucket"].unique().implode()))
            yield f"{column}={value}", pl.concat([company, inside.filter(~original)])


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadInput(f"{twice[0]} is named twice", fix="name it once")


def _bind(registry: Any, spec: str | Bound) -> Bound:
    bound: Bound = spec if isinstance(spec, Bound) else registry.make(spec)
    return bound
