"""The whole story: problems -> vary -> variants -> check -> buckets -> answer -> answers -> score -> scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from .answers.groups import columns_of, of_model, with_model
from .answers.reading import check_columns, is_variant, separate_rejects
from .answers.roles import split_roles
from .answers.table import Location
from .errors import BadInput
from .frames import kept, problems, reworded, to_frame, variant_rows, with_standard_columns
from .metrics.contrast import warn_unsteady_controls
from .metrics.metric import as_metric
from .models.answering import TRUNCATED, answer_table, ask, run_canary, warn_truncated
from .models.answering import load as load_model
from .models.cache import Cache, default_path
from .models.model import Answerer
from .problem import Note, Score, Task, Variant, get_task
from .progress import current
from .registry import Bound, checks, metrics
from .scoring.measure import measure_groups, measure_together
from .scoring.select import IntervalSettings, choose, keep_original_metrics, metrics_by_role
from .storage import tables
from .validity.checking import as_check, refuse_duplicate_names, refuse_unfit, warn_replaced_verdicts, warn_unknown_ids
from .validity.mutual_entailment import Counts, drop_rejected, warn_none_accepted
from .variants.generating import generate, notes_table, numbered, prepared, warn_unused_rows


def vary(
    frame: pl.DataFrame,
    using: Sequence[str | Bound],
    task: str | Task = "nli",
    seed: int = 1,
    *,
    notes: str | Path | None = None,
) -> pl.DataFrame:
    """Put the originals of a table in other words with each generator; give the variants alone.

    What generators left out, and why, is written to the table `notes`, if one is named.
    """
    tables.refuse_unwritable(notes)
    variants, said = varied(frame, using, task, seed)
    if notes:
        tables.write([said], notes)
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
    bound = prepared(using, originals)
    if made_before := {one.signature for one in bound} & set(
        frame["how"].drop_nulls() if "how" in frame.columns else ()
    ):
        fix = "give the originals alone, or other options"
        raise BadInput("its variants are there already", where=min(made_before), fix=fix)
    counts = numbered(clusters)
    made: list[Variant] = []
    said: list[tuple[str, Note]] = []
    for generator in bound:
        for one in generate(generator, originals, seed, counts):
            said.append((generator.signature, one)) if isinstance(one, Note) else made.append(one)
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
    warn_unused_rows([one for one, said in zip(bound, using, strict=True) if isinstance(said, str)], len(originals))
    return to_frame(variant_rows(made, clusters), task), notes_table(said)


def check(suite: pl.DataFrame, using: Sequence[str | Bound], task: str | Task = "nli") -> pl.DataFrame:
    """Judge every variant with each check: `check:<name>` says whether it is kept, two more columns why.

    The name is the check's, or its own where it has one: `grammar=human:verdicts.csv(column=grammar)`.
    Nothing is removed: what was dropped stays in the table, marked. Contrasts and controls are no rewordings, and are
    not judged. Where the model under test is to be judge, a fourth column says so, and `answer` carries it out.
    """
    task = get_task(task)
    suite = with_standard_columns(suite, task)
    judges = [_bind(checks, one) for one in using]
    refuse_duplicate_names(judges)
    refuse_unfit(judges, task)
    mine = [bound for bound, one in zip(judges, using, strict=True) if isinstance(one, str)]
    warn_replaced_verdicts(mine, [suite])
    gathered = reworded(suite, task) if judges else []
    names = [variant.id for bucket in gathered for variant in bucket.variants]
    for bound in judges:
        verdicts = list(bound.function(gathered))
        if len(verdicts) != len(names):
            raise BadInput(f"{bound.signature} gave {len(verdicts)} verdicts on {len(names)} variants")
        column = f"check:{bound.name}"
        judged = pl.DataFrame(
            {
                "id": pl.Series(names, dtype=pl.String),
                column: pl.Series([v.keep for v in verdicts], dtype=pl.Boolean),
                f"{column}:reason": pl.Series([v.reason or None for v in verdicts], dtype=pl.String),
                f"{column}:score": pl.Series([v.score for v in verdicts], dtype=pl.Float64),
            }
        )
        if by := as_check(bound.function).by:
            judged = judged.with_columns(pl.lit(by).alias(f"{column}:by"))
        old = [name for name in {*judged.columns, f"{column}:by"} if name != "id" and name in suite.columns]
        suite = suite.drop(old).join(judged, on="id", how="left", maintain_order="left")
    warn_unknown_ids(mine, _ids(suite))
    return suite


def _ids(suite: pl.DataFrame) -> list[str]:
    return suite.filter(pl.col("of").is_not_null())["id"].to_list()


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

    Variants that the model itself was to judge, and does not accept, have no row.
    `cache` is an open cache, the path of one, "" for the one all runs share, or None for none.
    """
    if not isinstance(cache, Cache):
        with Cache(None if cache is None else cache or default_path()) as opened:
            return answer(suite, model, task, cache=opened, label_map=label_map, canary=canary, batch_size=batch_size)
    if isinstance(model, str):
        model = load_model(model, get_task(task), label_map)
        if canary:
            run_canary(model, cache)
    suite = with_standard_columns(suite, model.task)
    table, counts = answer_shard(suite, model, cache, batch_size)
    warn_none_accepted(model.name, counts)
    warn_truncated(model, int(table[TRUNCATED].sum()) if TRUNCATED in table.columns else 0, len(table))
    return table


def answer_shard(
    suite: pl.DataFrame, model: Answerer, cache: Cache, batch_size: int = 0
) -> tuple[pl.DataFrame, Counts]:
    """The same for a part of a suite, and how many variants the model was to judge and accepted.

    What was cut or not accepted is told once for all parts.
    """
    left = kept(suite.lazy()).collect()
    asked, counts = drop_rejected(left, model, cache, batch_size)
    current().advance(left.height - asked.height)
    columns = {name: asked[name].fill_null("").to_list() for name in model.task.fields}
    return answer_table(asked, model, ask(columns, model, cache, batch_size, current().advance)), counts


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
    answers = with_model(answers, source, rejects_allowed=bool(rejected))
    check_columns(answers, Location(source))
    if rejected:
        answers, others = separate_rejects(answers, labels)
        if others.height:
            tables.write([others], rejected)
            warnings.warn(f"{source}: {others.height} answers left out; see {rejected}", stacklevel=2)
    location = Location(source, fields=get_task(task).fields if task else ())
    parted = {part: (table, place) for part, table, place in split_roles(answers, location)}
    dealt = metrics_by_role(bound, parted, lenient, source)
    if "controls" in parted and not is_variant(parted["rewordings"][0]["variant"]).any():
        dealt["rewordings"] = keep_original_metrics(dealt["rewordings"], lenient, source)
    scores = []
    for model in answers["model"].unique().sort().to_list():
        mine: list[Score] = []
        for part, (table, place) in parted.items():
            theirs = of_model(table, place, model)
            mine += measure_groups(dealt[part], *theirs, columns_of(table, by), labels, settings, lenient)
        told = list(dict.fromkeys(one.group for one in mine))
        scores += sorted(mine, key=lambda one: told.index(one.group))  # all parts of a group together
    ordinary = dealt["rewordings"]
    if "rewordings" in parted and any(as_metric(one.function).across for one in ordinary):
        table = parted["rewordings"][0]
        scores += measure_together(ordinary, table, columns_of(table, by), labels, settings, lenient)
    warn_unsteady_controls(answers)
    if all(one.value is None for one in scores):
        fix = "give answers to originals and to their variants, as many as the metric asks for"
        raise BadInput("nothing to measure", where=source, fix=fix)
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in scores], infer_schema_length=None)], out)
    return scores


def _with_texts(using: Sequence[str], folder: Path) -> list[str]:
    """Metrics of texts find those of a run folder in its buckets, unless they are told where."""
    buckets = folder / "buckets"
    if not buckets.is_dir():
        return list(using)
    return [metrics.respell(one, suite=buckets) if metrics.takes(one, "suite") else one for one in using]


def _bind(registry: Any, spec: str | Bound) -> Bound:
    bound: Bound = spec if isinstance(spec, Bound) else registry.make(spec)
    return bound
