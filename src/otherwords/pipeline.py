"""The four stages on tables: problems -> vary -> variants -> check -> buckets -> answer -> answers -> score -> scores.

Every stage takes a table and gives one. The driver in `running` calls the same functions shard by shard.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from .answers.alignment import Columns, Names, TableOrPath, is_run, labels_of_run, model_names, open_tables, stack
from .answers.collapsing import in_parts
from .answers.groups import columns_of, of_model, one_answer
from .answers.groups import pool_templates as pooled
from .answers.looked_up import FAMILY, check_files
from .answers.reading import answered, separate_rejects
from .answers.roles import split_roles
from .answers.suspicions import Suspicions, warn_suspicious
from .answers.table import WHOLE_TABLE, Location, is_variant, label_spellings, respelled
from .datasets.source import Name
from .datasets.suite import SuiteName, open_suite
from .errors import BadInput, caller_level, setting
from .frames import LABEL_MASS, WITHHELD, by_bucket, kept, originals_of
from .harnesses.samples import LogOptions
from .language_models.budget import make_budget, spending
from .metrics.contrast import warn_unsteady_controls
from .metrics.metric import Metric, as_metric
from .models.answering import (
    TRUNCATED,
    answer_table,
    ask,
    asked_columns,
    run_canary,
    warn_truncated,
    warn_unread,
    warn_unused_labels,
    warn_withheld,
    with_templates,
)
from .models.answering import load as load_model
from .models.cache import Cache, open_cache
from .models.model import Answerer
from .models.python_callable import AnyModel, as_spec
from .models.repeating import refuse_wrong_repeats, repeats_of, warn_asked_once, warn_not_repeated, warn_remembered
from .problem import UNREADABLE, Repeat, Score, Task, get_task
from .progress import current
from .registry import Bound, checks, metrics, models
from .scoring.among_sound import read_people, refuse_without_verdicts, scores_among_sound
from .scoring.grouped import averages, family_means, measure_groups, measure_together, weigh_groups
from .scoring.requirements import (
    group_columns,
    missing_metrics,
    needs_anytime,
    refuse_unanswerable,
    refuse_unknown,
    with_required,
)
from .scoring.results import Results
from .scoring.select import (
    USUAL,
    IntervalSettings,
    WarningsTogether,
    choose,
    columns_needed,
    explain_no_pairs,
    keep_of_model,
    keep_original_metrics,
    keep_supported,
    metrics_by_role,
    read_collapsed,
    unnamed_noise,
    usable_alone,
)
from .significance.anytime import UNTIL, Plan, Stopped, ask_until, plan_asking, refuse_wrong_rule, warn_stopped
from .storage import tables
from .storage.in_memory import AnyTable, as_list, frames_or_names
from .storage.run_folder import DAMAGED, RunFolder
from .storage.specs import split_name
from .storage.user_code import as_specs
from .validity.checking import refuse_duplicate_names, refuse_unfit, verdicts, warn_replaced_verdicts, warn_unknown_ids
from .validity.mutual_entailment import Counts, count_accepted, warn_none_accepted, with_own_verdicts
from .variants.generating import generate, notes_table, numbered, prepared, texts_of, warn_unused_rows
from .words import language
from .words.language import warn_if_foreign

#: From so many answers on, a table in memory is worth collapsing.
LARGE = 200_000
#: A plug-in by its name, or as a function of what `python:FILE:function` takes.
Named = str | Bound | Metric | Callable[..., Any]


def vary(
    data: SuiteName,
    using: Named | Sequence[Named],
    task: str | Task = "",
    seed: int = 1,
    *,
    suite: bool = False,
    notes: str | Path | None = None,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
) -> pl.DataFrame:
    """Reword the originals of a table with each generator; return the variants or, with `suite`, all rows.

    `data` is a table (pandas, Polars, Arrow, rows as dicts), or names a file, a data set or a run folder; its rows are
    checked as `load` does. A suite has every original before its variants: what `check` and `answer` take.
    `using` names generators, or has functions such as `python:FILE:function` takes: of a text, or of a Problem.
    What generators left out, and why, is written to the table `notes`, if one is named.
    A language model on a server that writes, or judges what is written, is asked within the limits of `answer`.

    >>> rows = [{"premise": "It isn't wet.", "hypothesis": "It is dry.", "label": "entailment"}]
    >>> vary(rows, "contractions(field=premise)", suite=True)["premise"].to_list()
    ["It isn't wet.", 'It is not wet.']
    """
    tables.refuse_unwritable(notes)
    opened = open_suite(data, task)
    language.forget()
    originals, using = opened.table(), as_specs(as_list(using))
    current().start("variants", originals["of"].null_count() * len(using))
    with spending(make_budget(max_requests, max_cost, prices)):
        variants, table = varied(originals, using, opened.task, seed)
    current().done()
    if notes:
        tables.write([table], notes)
    return by_bucket(pl.concat([originals, variants], how="diagonal_relaxed")) if suite else variants


def varied(
    frame: pl.DataFrame, using: Sequence[str | Bound], task: Task, seed: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The variants of rows that were checked before, and the notes of the generators."""
    originals = originals_of(frame)
    generators = prepared(using, lambda: texts_of(originals, task))
    made = {split_name(how)[1] for how in frame["how"].drop_nulls().unique()}
    if repeated := {one.signature for one in generators} & made:
        fix = "give only the originals, or change the options"
        raise BadInput("the data already has its variants", where=min(repeated), fix=fix)
    variants, notes = generate(generators, originals, task, seed, numbered(frame["id"]))
    _refuse_repeated_ids(variants, frame["id"])
    named = [bound for bound, one in zip(generators, using, strict=True) if isinstance(one, str)]
    warn_unused_rows(named, originals.height)
    return variants, notes_table(notes)


def _refuse_repeated_ids(variants: pl.DataFrame, taken: pl.Series) -> None:
    if pl.concat([taken, variants["id"]]).n_unique() == len(taken) + variants.height:
        return
    seen = set(taken)
    for name, how in variants.select("id", "how").iter_rows():
        if name in seen:
            fix = "variant ids must be unique"
            raise BadInput(f"{name!r} occurs twice", where=how, field="id", fix=fix)
        seen.add(name)


def check(
    suite: SuiteName,
    using: Named | Sequence[Named] = "surface",
    task: str | Task = "",
    *,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
) -> pl.DataFrame:
    """Give every variant to each check: `check:<name>` says whether it is kept, two more columns why.

    `suite` has originals and variants, as a table or by name, as in `vary`.
    `using` names checks, or has functions of a problem and a variant.
    The name is the check's, or its own where it has one: `grammar=human:verdicts.csv(column=grammar)`.
    Nothing is removed: what was dropped stays in the table, marked. Contrasts and controls are not rewordings and are
    not checked. Where the model under test is the judge, a fourth column says so, and `answer` carries it out. A judge
    on a server is asked within the limits of `answer`.
    """
    opened = open_suite(suite, task)
    language.forget()
    with spending(make_budget(max_requests, max_cost, prices)):
        return checked(opened.table(), as_specs(as_list(using)), opened.task)


def checked(suite: pl.DataFrame, using: Sequence[str | Bound], task: Task) -> pl.DataFrame:
    """The verdicts of each check on rows that passed the intake."""
    bound = bind_checks(using, task)
    named = [one for one, spec in zip(bound, using, strict=True) if isinstance(spec, str)]
    warn_replaced_verdicts(named, [suite])
    for table in verdicts(bound, suite, task):
        old = [name for name in suite.columns if name in table.columns[1:] or name == f"{table.columns[1]}:by"]
        suite = suite.drop(old).join(table, on="id", how="left", maintain_order="left")
    if named:
        warn_unknown_ids(named, suite.filter(pl.col("of").is_not_null())["id"].to_list())
    return suite


def bind_checks(using: Sequence[str | Bound], task: Task) -> list[Bound]:
    """Bind checks; refuse two that would write the same column, and one that does not fit the task."""
    bound = [one if isinstance(one, Bound) else checks.make(one) for one in using]
    refuse_duplicate_names(bound)
    refuse_unfit(bound, task)
    return bound


def answer(
    suite: SuiteName,
    model: AnyModel,
    task: str | Task = "",
    *,
    cache: Cache | str | Path | Literal[False] | None = "",
    label_map: Mapping[str, str] | None = None,
    template: str = "",
    canary: bool = True,
    batch_size: int = 0,
    until: str | None = None,
    seed: int = 1,
    confidence: float = 0.95,
    repeats: int = 0,
    repeat_ways: str | Sequence[str] = (),
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
) -> pl.DataFrame:
    """Ask a model every problem and every kept variant; return one row per question.

    `suite` is a table or a name, as in `vary`; `model` the name of a model, a function from a Batch to labels or
    probabilities, or an `ow.Model`. Variants that the model was to judge itself and rejects are not asked: their rows
    have no `pred`, and the reason in a column `rejected`. A language model is asked by a `template`, a name or a .toml
    file; what it says and cannot be read is `unreadable`.
    `cache` is an open cache, the path of one, "" for the one all runs share, or None for none.
    `until` stops asking when a question is answered: "flip_rate within 0.01", when its anytime interval at this
    `confidence` is at most 0.01 to each side of its middle; "flip_rate<=0.1", when it lies on one side of the bound.
    Clusters are asked in random order, by `seed` and content. The columns `until` and `asked` say so, and `score`
    then gives the metric its anytime interval.
    `repeats` asks the same again, so many times in each of the `repeat_ways` (by default the model's first): the
    answers are columns `again:<way>:<number>`, from which `score` measures the noise.
    A language model on a server is sent `max_requests` at most, and none that may cost more than is left of `max_cost`,
    by the table of `prices`; what it answered until then is in the cache.

    >>> rows = [{"premise": "It rains.", "hypothesis": "It is wet.", "label": "entailment"}]
    >>> answer(rows, lambda batch: ["neutral"] * len(batch), canary=False, cache=None)["pred"].to_list()
    ['neutral']
    """
    if until is not None:
        refuse_wrong_rule(until, confidence)
    ways = [repeat_ways] if isinstance(repeat_ways, str) else list(repeat_ways)
    refuse_wrong_repeats(repeats, ways)
    opened = open_suite(suite, task)
    language.forget()
    plan = plan_asking(until, opened.table(), opened.task, seed, confidence) if until is not None else None
    with spending(make_budget(max_requests, max_cost, prices)), open_cache(cache) as store:
        [chosen] = with_templates([as_spec(model)], [template] if template else [])
        loaded = load_model(chosen, opened.task, label_map)
        warn_unused_labels(label_map or {}, {loaded.name: loaded.model.labels})
        if canary:
            run_canary(loaded, store)
        again = repeats_of(loaded, repeats, ways)
        warn_not_repeated([loaded.name] if repeats and not again else [])
        warn_asked_once({loaded.name: again})
        warn_remembered(loaded, again)
        rows = opened.table()
        current().start("answers", rows.height * (1 + len(again)))
        if plan:
            table, _ = answers_until(loaded, plan, store, batch_size, again)
        else:
            table = answers_of(loaded, rows, store, batch_size, again)
        current().done()
    warn_about_answers(loaded, [table.lazy()])
    return table


def answers_of(
    model: Answerer, suite: pl.DataFrame, store: Cache, batch_size: int = 0, repeats: Sequence[Repeat] = ()
) -> pl.DataFrame:
    """The answers of a loaded model to rows that were checked before; also to those that are asked again."""
    left = kept(suite.lazy()).collect()
    judged, accepted = with_own_verdicts(left, model, store, batch_size)
    asked = judged.filter(accepted)
    current().advance((judged.height - asked.height) * (1 + len(repeats)))
    columns = asked_columns(asked, model)
    warn_if_foreign_to(model, (columns[name] for name in model.task.fields))
    answers = ask(columns, model, store, batch_size, current().advance, model.tally)
    again = {one.column: ask(columns, model.repeated(one), store, batch_size, current().advance) for one in repeats}
    return answer_table(judged, model, answers, accepted, again)


def warn_if_foreign_to(model: Answerer, columns: Iterable[Iterable[str | None]]) -> None:
    """Warn, once, where the texts are in a language that the model was not made for."""
    if models.has(plain := model.signature.partition("(")[0]):
        warn_if_foreign(models.get(plain), chain.from_iterable(columns))


def answers_until(
    model: Answerer, plan: Plan, store: Cache, batch_size: int = 0, repeats: Sequence[Repeat] = ()
) -> tuple[pl.DataFrame, Stopped]:
    """The answers of a loaded model, cluster by cluster, until the plan's rule is answered; how that ended."""
    table, stopped = ask_until(plan, lambda rows: answers_of(model, rows, store, batch_size, repeats))
    if not stopped.known:
        warnings.warn(f"{model.name}: {stopped}", stacklevel=caller_level())
    return table, stopped


def warn_about_answers(model: Answerer, parts: Sequence[pl.LazyFrame]) -> Counts:
    """Warn, once for all parts of a model's answers, of cut texts and of checks by which it accepts no variant.

    Give how many variants it was to judge itself, and how many it accepted, for each such check.
    """
    cut = [part.select(pl.col(TRUNCATED).sum()) for part in parts if TRUNCATED in part.collect_schema()]
    asked = [part.select(pl.col("pred").count()) for part in parts]
    truncated, count = (sum(one.collect().item() for one in some) for some in (cut, asked))
    warn_truncated(model, truncated, count)
    warn_withheld(model, count_withheld(parts), count)
    warn_unread(model, count_unread(parts), count, _mean_mass(parts))
    counts = count_accepted(parts)
    warn_none_accepted(model.name, counts)
    return counts


def count_unread(parts: Sequence[pl.LazyFrame]) -> int:
    """How many answers could not be read, but for those that were withheld."""
    unread = sum(part.select((pl.col("pred") == UNREADABLE).sum()).collect().item() for part in parts)
    return int(unread) - count_withheld(parts, unread=True)


def count_withheld(parts: Sequence[pl.LazyFrame], *, unread: bool = False) -> int:
    """How many rows have an answer that a filter withheld; with `unread`, those whose first answer it was."""
    marked = [part.filter(pl.col(WITHHELD)) for part in parts if WITHHELD in part.collect_schema()]
    if unread:
        marked = [part.filter(pl.col("pred") == UNREADABLE) for part in marked]
    return sum(part.select(pl.len()).collect().item() for part in marked)


def _mean_mass(parts: Sequence[pl.LazyFrame]) -> float | None:
    """What labels had of the probability, on average; None of models that do not say."""
    some = [part.select(pl.col(LABEL_MASS)) for part in parts if LABEL_MASS in part.collect_schema()]
    return pl.concat(some).mean().collect().item() if some else None


def score(
    answers: AnyTable | Name | Sequence[AnyTable | Name],
    using: Named | Sequence[Named] = (),
    *,
    by: str | Sequence[str] = (),
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    logs: LogOptions = LogOptions(),  # noqa: B008 (frozen)
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    shrink: bool = False,
    anytime: bool | int = False,
    require: Sequence[str] = (),
    rejected: str | Path | None = None,
    average: str = "",
    sizes: Mapping[str, float] | None = None,
    pool_templates: bool = False,
    verdicts: AnyTable | str | Path | None = None,
    sound: str = "",
    judge: str = "",
    unsound: float | None = None,
    out: str | Path | None = None,
) -> Results[Score]:
    """Measure each model in an answers table, or in several, with each metric, overall and by groups of columns.

    `answers` is a table of any kind, a file or a run folder, or several of them. `using` names metrics, or has
    functions of the answers; none means the usual ones, "all" every one that this table allows. Rows marked `contrast`
    are measured by the metrics of contrasts, and by no other: overall, and by suite where there are several. So are
    variants marked `control`, where there are rewordings beside them.
    `columns` maps the names used here to the table's (`pred` -> `prediction`), `labels` the table's labels to others.
    Where tables differ: `columns={"gpt": {"pred": "answer"}}` for gpt.csv alone, or a list with a mapping for each.
    A log of Inspect, lm-evaluation-harness, promptfoo or HELM is read as `logs` says (`harnesses.LogOptions`).
    An answer that cannot be used is an error; with a file for `rejected`, it is written there with the reason instead.
    `out` writes the scores as a table, too. What a gate in `require` is about is measured, too, with its groups: where
    the table lacks what it needs, that is an error, before anything is measured.
    `average` names a column, such as the data set: each metric is also averaged over its groups, weighted by their
    problems or by `sizes`, and over models, which weigh alike.
    `shrink` adds to the groups of `by` values that are shrunk towards each other, and ranks them by these.
    `anytime` adds the ends of an interval that holds however often somebody looks while answers come in; so does a
    gate on them (`flip_rate.anytime_high<=0.1`). As a number, it is the most that a cluster may ever weigh, such as how
    many variants a problem may have; otherwise that is what the heaviest so far weighs.
    The templates of a language model are models of their own, unless `pool_templates` makes them one: a problem then
    counts once for each, in one cluster.
    `verdicts` of people on some variants (a file, a database of `annotate`, a table) add shares among sound variants:
    `sound` says which answers mean that one is sound ("fluency+reasoning>=9"; by default by the questions asked),
    `judge` which column or check of the run has a judge's scores of all variants. `unsound` is the greatest part of
    variants that may be unsound, and adds bounds that need no verdict.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "a1", "a2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> [flips] = score(pl.DataFrame(rows), ["flip_rate"])
    >>> flips.value, flips.n_units, flips.n_answers
    (0.5, 1, 2)
    """
    sources, by = frames_or_names(answers, "the answers"), as_list(by)
    by = by if not average or average in by else [*by, average]
    using, require = as_specs(as_list(using), named=False), as_list(require)
    for path in (out, rejected):
        tables.refuse_unwritable(path, *sources, *([verdicts] if isinstance(verdicts, str | Path) else []))
    check_files(by)
    with_people = verdicts is not None or unsound is not None
    refuse_without_verdicts(verdicts, sound, judge, pool_templates)
    settings = IntervalSettings(seed, replicates, confidence, interval, anytime or needs_anytime(require))
    refuse_unknown(require, using)
    more = missing_metrics(require, choose(using)[0])
    if shrink and (not by or interval not in ("auto", "wilson")):
        fix = "name a column with --by (by=...), and leave out --interval"
        raise BadInput("groups are shrunk by their Wilson intervals", field=setting("--shrink", "shrink"), fix=fix)
    if len(sources) == 1 and not isinstance(sources[0], pl.DataFrame):
        using, more = (_with_texts(some, Path(sources[0])) for some in (using, more))
    known = get_task(task).labels if task else ()
    names = Names(columns or {}, labels or {}, known, logs)
    needed = _needed([*(using or USUAL), *more], by, require)
    changed = columns or labels or logs.bucket_from or rejected or average or sizes or pool_templates or with_people
    plain = len(sources) == 1 and not changed
    opened = _open_run(sources[0], needed, known) if plain else None
    table, location, *found = opened or _open(sources, names, rejected)
    if pool_templates:
        table = pooled(table, location.table)
    weights = weigh_groups(table, average, sizes or {}) if average or sizes else None
    rows, where = (table, location) if opened else _collapsed(table, location, needed, known)
    if with_people:  # before anything is measured, as all that may be wrong
        people, judged = read_people(verdicts, table, _suite_of(sources), sound, judge, unsound)
    scores = scored(rows, using, by=by, task=task, settings=settings, where=where, require=require, more=more)
    scores = scores.shrunk() if shrink else scores
    if shrink and all(one.shrunk is None for one in scores):
        why = "no metric here is a share with Wilson's interval in two groups or more"
        warnings.warn(f"nothing to shrink: {why}", stacklevel=caller_level())
    there = known or next(filter(None, map(labels_of_run, sources)), ())
    found[0].warn(there) if found else warn_suspicious(table, location, there)
    if weights:
        scores += averages(scores, weights)
    scores += family_means(scores, by)
    if with_people:
        scores += scores_among_sound(judged, people, by=by, labels=known, settings=settings, where=location)
    if out:
        tables.write([scores.to_polars()], out)
    return scores


def _suite_of(sources: Sequence[TableOrPath]) -> pl.DataFrame | None:
    """The ids and verdicts of checks of a run's variants; None where the answers are not those of one run."""
    if len(sources) > 1 or isinstance(sources[0], pl.DataFrame) or not is_run(sources[0]):
        return None
    parts = [pl.scan_parquet(part, glob=False) for part in RunFolder(sources[0]).parts("buckets")]
    return pl.concat(parts, how="diagonal_relaxed").select("id", "^check:.*$").collect() if parts else None


def _needed(using: Sequence[str], by: Sequence[str], require: Sequence[str]) -> tuple[list[Bound], list[str]]:
    """The metrics of a scoring, and the columns that it groups by."""
    return choose(using)[0], [*by, *group_columns(require)]


def _open_run(
    source: TableOrPath, needed: tuple[list[Bound], list[str]], known: Sequence[str]
) -> tuple[pl.DataFrame, Location, Suspicions] | None:
    """The answers of a whole run folder, collapsed part by part; None where that cannot be: others may need a word."""
    if isinstance(source, pl.DataFrame) or not is_run(source):
        return None
    folder, where = RunFolder(source), Location(str(source))
    if not len(folder.parts("answers")) == len(folder.parts("buckets")) * len(folder.inner("answers")) > 0:
        return None
    try:
        parts = folder.batches("answers")
        distinct = read_collapsed(parts, *needed, known)
    except DAMAGED:
        return None
    if distinct is None:
        return None
    found, rows = Suspicions(where.table), 0
    for part in parts:
        some = part.select(columns_needed(list(part.collect_schema()), *needed)).collect()
        found.add(*answered(some, replace(where, rows=np.arange(rows, rows + some.height))))
        rows += some.height
    return respelled(distinct, label_spellings([distinct], known), where), where, found


def _collapsed(
    table: pl.DataFrame, where: Location, needed: tuple[list[Bound], list[str]], known: Sequence[str]
) -> tuple[pl.DataFrame, Location]:
    """A large table in memory, collapsed where its metrics need no more; any other as it is."""
    distinct = read_collapsed(in_parts(table), *needed, known) if table.height >= LARGE else None
    return (table, where) if distinct is None else (distinct, replace(where, rows=None))


def _open(sources: Sequence[TableOrPath], names: Names, rejected: str | Path | None) -> tuple[pl.DataFrame, Location]:
    """Read all tables as one; answers that cannot be used are errors, or go to the file `rejected`."""
    models = model_names(sources) if len(sources) > 1 else ()
    models = [name or f"model {number}" for number, name in enumerate(models, 1)]
    opened = open_tables(sources, names, models, rejects_allowed=bool(rejected))
    if not rejected:
        return stack(opened)
    usable, left_out = [], []
    for table, place in opened:
        kept, others = separate_rejects(table, names.known, place)
        usable.append((kept, replace(place, rows=None)))
        if others.height:
            warnings.warn(f"{place.table}: {others.height} answers left out; see {rejected}", stacklevel=caller_level())
            left_out.append(others.select(pl.lit(place.table).alias("table"), pl.all()) if len(opened) > 1 else others)
    if left_out:
        tables.write(left_out, rejected)
    return stack(usable)


def scored(
    answers: pl.DataFrame,
    using: Sequence[str],
    *,
    by: Sequence[str],
    task: str | Task,
    settings: IntervalSettings,
    where: Location = WHOLE_TABLE,
    require: Sequence[str] = (),
    more: Sequence[str] = (),
    checked: bool = False,
) -> Results[Score]:
    """The scores of a table that needs no names mapped: model by model, then of all models together.

    `more` are metrics that nobody chose and gates in `require` are about. What gates need of the table is looked for,
    unless that was `checked`.
    """
    answers, where = answered(answers, where)
    by = [column for column in by if not column.startswith(FAMILY)]  # whose groups are means of what follows
    bound, lenient = choose(using)
    settings.warn_few(bound)
    labels: Sequence[str] = ()
    if task:
        labels, where = get_task(task).labels, replace(where, fields=get_task(task).fields)
    elif not any(name.startswith("p:") for name in answers.columns):  # a model that never gives a label could give it
        labels = sorted(set(label_spellings([answers]).values()))
    roles = {role: (table, place) for role, table, place in split_roles(answers, where)}
    bound, by, required = with_required(require, bound, more, by, roles)
    if not checked:
        refuse_unanswerable(require, bound, roles, labels)
    by_role = metrics_by_role(bound, roles, lenient, where.table)
    if {"controls", "rewordings"} <= set(roles) and not is_variant(roles["rewordings"][0]["variant"]).any():
        by_role["rewordings"] = keep_original_metrics(by_role["rewordings"], lenient, where.table)
    rows = {role: table for role, (table, _) in roles.items()}
    by_role = keep_supported(by_role, rows, lenient, where.table, required)
    scores: list[Score] = []
    is_measured = False
    with WarningsTogether():
        for model in answers["model"].unique().sort().to_list():
            own: list[Score] = []
            for role, (table, place) in roles.items():
                answers_of = of_model(table, place, model)
                using_here = keep_of_model(by_role[role], answers_of[0], lenient, model)
                grouped = columns_of(table, by)
                found = measure_groups(using_here, *answers_of, grouped, labels, settings, lenient)
                is_measured |= any(one.value is not None for one in found)
                if noise := unnamed_noise(using_here, answers_of[0]):
                    own += measure_groups(noise, *answers_of, grouped, labels, settings, lenient=True)
                own += found
            order = {group: place for place, group in enumerate(dict.fromkeys(one.group for one in own))}
            scores += sorted(own, key=lambda one: order[one.group])  # all parts of a group together
        ordinary = by_role["rewordings"]
        if "rewordings" in roles and any(as_metric(one.function).across for one in ordinary):
            table = roles["rewordings"][0]
            together = measure_together(ordinary, table, columns_of(table, by), labels, settings, lenient)
            is_measured |= any(one.value is not None for one in together)
            scores += together
    warn_unsteady_controls(answers)
    _warn_stopped(answers, scores)
    if not is_measured:
        fix = "give answers to originals and enough of their variants for the metric"
        reason = f": {why}" if (why := explain_no_pairs(scores)) else ""
        raise BadInput(f"nothing to measure{reason}", where=where.table, fix=fix)
    results = Results(scores)
    results.one_answer = one_answer(answers)
    return results


def _warn_stopped(answers: pl.DataFrame, scores: Sequence[Score]) -> None:
    """Warn of intervals of a table whose asking was stopped by looking that do not allow for it."""
    for model in answers["model"].unique().sort().to_list() if UNTIL in answers.columns else ():
        others = [one.metric for one in scores if one.model == model and one.interval not in ("", "anytime")]
        warn_stopped(model, answers.filter(pl.col("model") == model), others)


def _with_texts(using: Sequence[str], folder: Path) -> list[str]:
    """Let text metrics read the buckets of a run folder, unless they name a suite themselves."""
    buckets = folder / "buckets"
    if not buckets.is_dir():
        return list(using)
    if "all" in using:
        using = [*using, *(name for name in usable_alone() if metrics.takes(name, "suite"))]
    return [metrics.respell(one, suite=buckets) if metrics.takes(one, "suite") else one for one in using]
