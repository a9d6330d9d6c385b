"""The circularity report: fooling rates on the variants that the model itself accepts, or that another judge accepts.

Arakelyan et al. (2024) count a variant only if the model under test finds that it means the same. Each model is then
asked different variants, perhaps without those that would have fooled it most. The report measures what that changes.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from .. import pipeline
from ..answers.looked_up import check_files, is_looked_up
from ..datasets.source import files_of
from ..datasets.suite import SuiteName
from ..errors import BadInput, UnknownName, Unmeasurable
from ..language_models.budget import make_budget, shown, spending
from ..metrics.metric import as_metric
from ..models.answering import load as load_model
from ..models.answering import refuse_wrong_models, run_canary
from ..models.cache import Cache, cache_path, open_cache
from ..models.model import Answerer, LabelMap
from ..models.python_callable import AnyModel, as_spec
from ..problem import Task
from ..progress import current
from ..registry import Bound
from ..scoring.select import IntervalSettings, choose, title
from ..storage import tables
from ..storage.in_memory import as_list
from .rates import EVERY_SELF, NOBODY, Acceptance, Disagreement, Judged, Measuring
from .verdicts import Earlier, Judging, accepted, bind_judges, read_suite

JUDGES = ("self", "nli-small")
#: The paper's rates, which grow with the number of variants left, and one that does not: at a single variant.
METRICS = ("r_r", "r_s", "r_s_without_neutral", "r_r_at(k=1)")


@dataclass(frozen=True)
class Circularity:
    """The circularity report: `judged` has a row per model, group and judge, the first of each without a judge.

    `shared` has, for several models, each one's rates on the variants that all of them accept for themselves.
    `judges` explains the judges by their signatures; `earlier` says what was dropped before, `spent` what the servers
    of models and judges were asked.
    """

    judges: dict[str, str]
    judged: tuple[Judged, ...]
    acceptance: tuple[Acceptance, ...]
    disagreements: tuple[Disagreement, ...]
    shared: tuple[Judged, ...]
    earlier: Earlier = field(default_factory=Earlier)
    spent: dict[str, dict[str, Any]] = field(default_factory=dict)

    def under(self, judge: str, model: str = "", group: str | None = None) -> Judged:
        """What was found under a judge: of the only model or the one that is named, of the whole or of one group."""
        rows = (*self.judged, *self.shared)
        return next(one for one in rows if one.judge == judge and model in ("", one.model) and one.group == group)


def circularity(
    suite: SuiteName,
    model: AnyModel | Sequence[AnyModel],
    judges: str | Sequence[str] = JUDGES,
    task: str | Task | Mapping[str, Any] = "",
    *,
    using: str | Sequence[str] = METRICS,
    by: str | Sequence[str] = (),
    label_map: LabelMap | None = None,
    canary: bool = True,
    cache: Cache | str | Path | None = "",
    batch_size: int = 0,
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    out: str | Path | None = None,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
) -> Circularity:
    """Measure models on the variants of a suite that each judge finds equivalent to their originals.

    `suite` is a table, a run folder, or files with originals and variants; contrasts and controls are left out, and so
    is what a check dropped, except mutual entailment, which is judged again (`earlier` of the report counts both). A
    judge is "self", for the model under test, or a model (`mutual-entailment(judge=MODEL, label_map=...,
    threshold=...)` where there is more to say); it accepts no text that is longer than it reads. Under all judges the
    same problems are counted: all that are answered correctly. Without labels, there are no rates, but what the judges
    accept. `out` names a file for the answers, with a column `accepted:<judge>` for each. Models and judges on servers
    are asked within the limits of `answer`.

    >>> rows = {"id": ["a", "a1"], "of": [None, "a"], "premise": ["It rains."] * 2, "label": ["entailment"] * 2}
    >>> suite = pl.DataFrame({**rows, "hypothesis": ["It is wet.", "It is moist."]})
    >>> found = circularity(suite, "scripted(otherwise=entailment)", ["self"], canary=False, cache=None).under("self")
    >>> found.accepted, found.without, found.score("r_r").value
    (1, 0, 0.0)
    """
    tables.refuse_unwritable(out, *files_of(suite))
    judges, by, models = as_list(judges), as_list(by), _named_models(model, label_map)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    table, chosen, earlier = read_suite(suite, task)
    metrics = _measurable(choose(using)[0], table, named=list(using) != list(METRICS))
    _refuse_wrong_groups(by, table, chosen)
    measuring = Measuring(metrics, chosen.labels, settings)
    with spending(make_budget(max_requests, max_cost, prices)) as budget:
        bound = bind_judges(judges, chosen)
        with open_cache(cache) as store:
            judging = Judging(table, chosen, bound, store, canary)
            answers = [
                _answers(table, load_model(one, chosen, label_map), judging, canary, batch_size) for one in models
            ]
    if out:
        tables.write(answers, out)
    return replace(_report(answers, bound, measuring, by, earlier), spent=budget.as_json())


def estimate_circularity(
    suite: SuiteName,
    model: AnyModel | Sequence[AnyModel],
    judges: str | Sequence[str] = JUDGES,
    task: str | Task | Mapping[str, Any] = "",
    *,
    label_map: LabelMap | None = None,
    canary: bool = True,
    cache: str | Path | None = "",
    prices: str | Path = "",
) -> dict[str, dict[str, Any]]:
    """What the report would take of each server, by its model: requests, tokens and costs. Nothing is sent."""
    models = _named_models(model, label_map)
    table, chosen, _ = read_suite(suite, task)
    path = cache_path(cache)
    with spending(make_budget(prices=prices, dry_run=True)) as budget, Cache(path if _is_file(path) else None) as store:
        judging = Judging(table, chosen, bind_judges(as_list(judges), chosen), store, canary)
        for one in models:
            _answers(table, load_model(one, chosen, label_map), judging, canary, 0)
    return {name: shown(spent, budget.prices.currency) for name, spent in budget.planned.items()}


def _is_file(path: Path | None) -> bool:
    return path is not None and path.is_file()


def _named_models(model: AnyModel | Sequence[AnyModel], label_map: LabelMap | None) -> list[str]:
    models = [as_spec(one) for one in as_list(model)]  # type: ignore[arg-type]  # of a Union mypy infers one part
    if not models:
        raise BadInput("no model named", fix="name one or more: nli-small, hf:NAME_OR_PATH")
    refuse_wrong_models(models, label_map)
    return models


def _report(
    answers: Sequence[pl.DataFrame],
    judges: Mapping[str, Bound],
    measuring: Measuring,
    by: Sequence[str],
    earlier: Earlier,
) -> Circularity:
    """The report on the answers of some models, with a column of verdicts for each judge."""
    by_self = [name for name, one in judges.items() if one.function.judge is None]
    asked = [(name, one, one["model"][0] if name in by_self else "") for name in judges for one in answers]
    once = {(name, model): (name, one, model) for name, one, model in reversed(asked)}  # others: on the first table
    return Circularity(
        {name: one.signature for name, one in judges.items()},
        tuple(row for one in answers for row in measuring.judged(one, [NOBODY, *judges], by)),
        tuple(
            row
            for name, one, model in reversed(once.values())
            for row in measuring.acceptance(one, name, judges[name], model)
        ),
        tuple(measuring.disagreement(one, *pair) for one in answers for pair in combinations(judges, 2)),
        tuple(row for one in _shared(answers, by_self) for row in measuring.judged(one, [EVERY_SELF], by)),
        earlier,
    )


def _measurable(using: list[Bound], table: pl.DataFrame, *, named: bool) -> list[Bound]:
    """The metrics that can be measured; without labels those that need none. What the user `named` is not left out."""
    if not table["label"].null_count():
        return using
    lacking = [title(one, using) for one in using if as_metric(one.function).gold]
    if lacking and named:
        fix = f"give every problem a label; without {', '.join(lacking)}, the judges can be compared"
        raise Unmeasurable("no gold labels", where="circularity", field="label", fix=fix)
    if lacking:
        message = "fooling rates are about problems that a model answers right"
        warnings.warn(f"no gold labels; not measured: {', '.join(lacking)}: {message}", stacklevel=3)
    return [one for one in using if not as_metric(one.function).gold]


def _refuse_wrong_groups(by: Sequence[str], table: pl.DataFrame, task: Task) -> None:
    known = {*table.columns, "label", "original"} - {"id", "of", *task.fields}
    known -= {"label", "original"} if table["label"].null_count() else set()
    check_files(by)
    if wrong := [name for name in by if name not in known and not is_looked_up(name)]:
        raise UnknownName(f"no column {wrong[0]!r} to group by; available: {', '.join(sorted(known))}")


def _answers(suite: pl.DataFrame, model: Answerer, judging: Judging, canary: bool, batch_size: int) -> pl.DataFrame:
    """A model's answers to the whole suite, with the verdict of each judge on every variant."""
    if canary:
        run_canary(model, judging.cache)
    current().start("answers", suite.height + len(judging.names))
    answers = pipeline.answers_of(model, suite, judging.cache, batch_size)
    verdicts = judging.by(model, batch_size)
    current().done()
    return answers.join(verdicts, on="variant", how="left", maintain_order="left")


def _shared(answers: Sequence[pl.DataFrame], by_self: Sequence[str]) -> list[pl.DataFrame]:
    """The answers of several models, with a column for what all of them accept for themselves."""
    if len(answers) < 2 or not by_self:
        return []
    each = pl.concat([one.select("variant", pl.col(accepted(by_self[0])).alias("it")) for one in answers])
    every = each.drop_nulls("variant").group_by("variant").agg(pl.col("it").all().alias(accepted(EVERY_SELF)))
    return [one.join(every, on="variant", how="left", maintain_order="left") for one in answers]
