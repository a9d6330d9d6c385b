"""The four stages on tables: problems -> vary -> variants -> check -> buckets -> answer -> answers -> score -> scores.

Every stage takes a table and gives one. The driver in `running` calls the same functions shard by shard.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Literal

import polars as pl

from .answers.groups import columns_of, of_model, with_model
from .answers.reading import answered, check_columns, separate_rejects
from .answers.roles import split_roles
from .answers.table import Location, is_variant
from .errors import BadInput
from .frames import kept, problems, reworded, to_frame, variant_rows, with_standard_columns
from .metrics.contrast import warn_unsteady_controls
from .metrics.metric import as_metric
from .models.answering import TRUNCATED, answer_table, ask, run_canary, warn_truncated
from .models.answering import load as load_model
from .models.cache import Cache, open_cache
from .models.model import Answerer
from .problem import Note, Score, Task, Variant, get_task
from .progress import current
from .registry import Bound, checks, metrics, models
from .scoring.measure import measure_groups, measure_together
from .scoring.select import IntervalSettings, choose, keep_original_metrics, metrics_by_role
from .storage import tables
from .validity.checking import as_check, refuse_duplicate_names, refuse_unfit, warn_replaced_verdicts, warn_unknown_ids
from .validity.mutual_entailment import Counts, count_accepted, warn_none_accepted, with_own_verdicts
from .variants.generating import generate, notes_table, numbered, prepared, warn_unused_rows
from .words.language import warn_if_foreign


def vary(
    frame: pl.DataFrame,
    using: Sequence[str | Bound],
    task: str | Task = "nli",
    seed: int = 1,
    *,
    notes: str | Path | None = None,
) -> pl.DataFrame:
    """Reword the originals of a table with each generator; return the variants only.

    What generators left out, and why, is written to the table `notes`, if one is named.
    """
    tables.refuse_unwritable(notes)
    variants, table = varied(frame, using, task, seed)
    if notes:
        tables.write([table], notes)
    return variants


def varied(
    frame: pl.DataFrame, using: Sequence[str | Bound], task: str | Task = "nli", seed: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The variants, and the notes of the generators."""
    task = get_task(task)
    frame = with_standard_columns(frame, task)
    originals = [p for p in problems(frame, task) if not isinstance(p, Variant) and not p.extra.get("contrast")]
    clusters = dict(frame.select("id", "cluster").iter_rows())
    if len({one.id for one in originals}) < len(originals):
        raise BadInput("two problems have the same id", field="id", fix="ids must be unique")
    generators = prepared(using, originals)
    if repeated := {one.signature for one in generators} & set(frame["how"].drop_nulls()):
        fix = "give only the originals, or change the options"
        raise BadInput("the data already has its variants", where=min(repeated), fix=fix)
    counts = numbered(clusters)
    variants: list[Variant] = []
    notes: list[tuple[str, Note]] = []
    for generator in generators:
        for one in generate(generator, originals, seed, counts):
            notes.append((generator.signature, one)) if isinstance(one, Note) else variants.append(one)
    _refuse_repeated_ids(variants, clusters)
    named = [bound for bound, one in zip(generators, using, strict=True) if isinstance(one, str)]
    warn_unused_rows(named, len(originals))
    return to_frame(variant_rows(variants, clusters), task), notes_table(notes)


def _refuse_repeated_ids(variants: Sequence[Variant], taken: Mapping[str, str]) -> None:
    seen = set(taken)
    for variant in variants:
        if variant.id in seen:
            fix = "variant ids must be unique"
            raise BadInput(f"{variant.id!r} occurs twice", where=variant.how, field="id", fix=fix)
        seen.add(variant.id)


def check(suite: pl.DataFrame, using: Sequence[str | Bound], task: str | Task = "nli") -> pl.DataFrame:
    """Give every variant to each check: `check:<name>` says whether it is kept, two more columns why.

    The name is the check's, or its own where it has one: `grammar=human:verdicts.csv(column=grammar)`.
    Nothing is removed: what was dropped stays in the table, marked. Contrasts and controls are not rewordings and are
    not checked. Where the model under test is the judge, a fourth column says so, and `answer` carries it out.
    """
    task = get_task(task)
    suite = with_standard_columns(suite, task)
    bound = bind_checks(using, task)
    named = [one for one, spec in zip(bound, using, strict=True) if isinstance(spec, str)]
    warn_replaced_verdicts(named, [suite])
    buckets = reworded(suite, task) if bound else []
    ids = [variant.id for bucket in buckets for variant in bucket.variants]
    for one in bound:
        texts = (text for bucket in buckets for text in bucket.problem.text.values())
        warn_if_foreign(one.plugin, texts, as_check(one.function).language)
        verdicts = list(one.function(buckets))
        if len(verdicts) != len(ids):
            raise BadInput(f"{one.signature} returned {len(verdicts)} verdicts for {len(ids)} variants")
        column = f"check:{one.name}"
        columns = pl.DataFrame(
            {
                "id": pl.Series(ids, dtype=pl.String),
                column: pl.Series([v.keep for v in verdicts], dtype=pl.Boolean),
                f"{column}:reason": pl.Series([v.reason or None for v in verdicts], dtype=pl.String),
                f"{column}:score": pl.Series([v.score for v in verdicts], dtype=pl.Float64),
            }
        )
        if by := as_check(one.function).by:
            columns = columns.with_columns(pl.lit(by).alias(f"{column}:by"))
        old = [name for name in {*columns.columns, f"{column}:by"} if name != "id" and name in suite.columns]
        suite = suite.drop(old).join(columns, on="id", how="left", maintain_order="left")
    warn_unknown_ids(named, suite.filter(pl.col("of").is_not_null())["id"].to_list())
    return suite


def bind_checks(using: Sequence[str | Bound], task: Task) -> list[Bound]:
    """Bind checks; refuse two that would write the same column, and one that does not fit the task."""
    bound = [one if isinstance(one, Bound) else checks.make(one) for one in using]
    refuse_duplicate_names(bound)
    refuse_unfit(bound, task)
    return bound


def answer(
    suite: pl.DataFrame,
    model: str | Answerer,
    task: str | Task = "nli",
    *,
    cache: Cache | str | Path | Literal[False] | None = "",
    label_map: Mapping[str, str] | None = None,
    canary: bool = True,
    batch_size: int = 0,
) -> pl.DataFrame:
    """Ask a model every problem and every variant that was kept; one row per question.

    Variants that the model was to judge itself and rejects are not asked: their rows have no `pred`, and the reason in
    a column `rejected`.
    `cache` is an open cache, the path of one, "" for the one all runs share, or None for none. A model that is loaded
    already (the driver's, which answers many shards) is not put to the canary here, and nothing is warned of.
    """
    named = isinstance(model, str)
    with open_cache(cache) as store:
        if isinstance(model, str):
            model = load_model(model, get_task(task), label_map)
            if canary:
                run_canary(model, store)
        left = kept(with_standard_columns(suite, model.task).lazy()).collect()
        judged, accepted = with_own_verdicts(left, model, store, batch_size)
        asked = judged.filter(accepted)
        current().advance(judged.height - asked.height)
        columns = {name: asked[name].fill_null("").to_list() for name in model.task.fields}
        if models.has(plain := model.signature.partition("(")[0]):
            warn_if_foreign(models.get(plain), chain.from_iterable(columns.values()))
        answers = iter(ask(columns, model, store, batch_size, current().advance))
    table = answer_table(judged, model, [next(answers) if one else None for one in accepted])
    if named:
        warn_about_answers(model, [table.lazy()])
    return table


def warn_about_answers(model: Answerer, parts: Sequence[pl.LazyFrame]) -> Counts:
    """Warn, once for all parts of a model's answers, of cut texts and of checks by which it accepts no variant.

    Give how many variants it was to judge itself, and how many it accepted, for each such check.
    """
    cut = [part.select(pl.col(TRUNCATED).sum()) for part in parts if TRUNCATED in part.collect_schema()]
    asked = [part.select(pl.col("pred").count()) for part in parts]
    warn_truncated(model, *(sum(one.collect().item() for one in some) for some in (cut, asked)))
    counts = count_accepted(parts)
    warn_none_accepted(model.name, counts)
    return counts


def score(
    answers: pl.DataFrame | str | Path,
    using: Sequence[str] = (),
    *,
    by: Sequence[str] = (),
    task: str | Task = "",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    rejected: str | Path | None = None,
    out: str | Path | None = None,
) -> list[Score]:
    """Measure each model in an answers table with each metric, overall and by groups of columns.

    `using` names metrics; none means the usual ones, "all" every one that this table allows. Rows marked `contrast` are
    measured by the metrics of contrasts, and by no other: overall, and by suite where there are several. So are
    variants marked `control`, where there are rewordings beside them.
    An answer that cannot be used is an error; with a file for `rejected`, it is written there with the reason instead.
    `out` writes the scores as a table, too.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "a1", "a2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> [flips] = score(pl.DataFrame(rows), ["flip_rate"])
    >>> flips.value, flips.n_units, flips.n_answers
    (0.5, 1, 2)
    """
    source = "the answers"
    tables.refuse_unwritable(out)
    if not isinstance(answers, pl.DataFrame):
        source, using, answers = str(answers), _with_texts(using, Path(answers)), tables.read(answers)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    bound, lenient = choose(using)
    location = Location(source, fields=get_task(task).fields if task else ())
    answers, location = answered(with_model(answers, source, rejects_allowed=bool(rejected)), location)
    check_columns(answers, location)
    if rejected:
        answers, others = separate_rejects(answers, labels, location)
        if others.height:
            tables.write([others], rejected)
            warnings.warn(f"{source}: {others.height} answers left out; see {rejected}", stacklevel=2)
        location = replace(location, rows=None)
    roles = {role: (table, place) for role, table, place in split_roles(answers, location)}
    by_role = metrics_by_role(bound, roles, lenient, source)
    if "controls" in roles and not is_variant(roles["rewordings"][0]["variant"]).any():
        by_role["rewordings"] = keep_original_metrics(by_role["rewordings"], lenient, source)
    scores = []
    for model in answers["model"].unique().sort().to_list():
        own: list[Score] = []
        for role, (table, place) in roles.items():
            answers_of = of_model(table, place, model)
            own += measure_groups(by_role[role], *answers_of, columns_of(table, by), labels, settings, lenient)
        groups = list(dict.fromkeys(one.group for one in own))
        scores += sorted(own, key=lambda one: groups.index(one.group))  # all parts of a group together
    ordinary = by_role["rewordings"]
    if "rewordings" in roles and any(as_metric(one.function).across for one in ordinary):
        table = roles["rewordings"][0]
        scores += measure_together(ordinary, table, columns_of(table, by), labels, settings, lenient)
    warn_unsteady_controls(answers)
    if all(one.value is None for one in scores):
        fix = "give answers to originals and enough of their variants for the metric"
        raise BadInput("nothing to measure", where=source, fix=fix)
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in scores], infer_schema_length=None)], out)
    return scores


def _with_texts(using: Sequence[str], folder: Path) -> list[str]:
    """Let text metrics read the buckets of a run folder, unless they name a suite themselves."""
    buckets = folder / "buckets"
    if not buckets.is_dir():
        return list(using)
    return [metrics.respell(one, suite=buckets) if metrics.takes(one, "suite") else one for one in using]
