"""Variants of which the model under test is the judge: each model accepts its own when it answers, and no other."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from ..errors import BadInput
from ..frames import kept, reworded
from ..models.cache import Cache
from ..models.model import Answerer
from ..problem import Task, Verdict
from ..registry import Bound
from .entailing import Rule, entailment_of, mutual
from .judges import asking
from .long_texts import tell_long

#: Of each check whose judge is the model under test: how many variants there were to judge, how many it accepted.
Counts = dict[str, dict[str, int]]


def accepted(suite: pl.DataFrame, model: Answerer, cache: Cache, batch_size: int = 0) -> tuple[pl.DataFrame, Counts]:
    """Leave out variants that the model was to judge and does not accept; the verdict stands beside those that stay.

    It is asked through the same cache as for its answers. Rows that nobody left to it stay as they are. Every check
    judges all variants, so that its counts are its own whatever other checks there are.
    """
    counts: Counts = {}
    marked = suite
    for column in judged_by(suite.columns):
        verdicts = dict(_verdicts(suite, column, model, cache, batch_size))
        if verdicts:
            tell_long(column.split(":")[1], model.name, list(verdicts.values()))
            marked = _marked(marked, column.removesuffix(":by"), verdicts)
            kept_ones = sum(one.keep is True for one in verdicts.values())
            counts[column.split(":")[1]] = {"judged": len(verdicts), "accepted": kept_ones}
    return kept(marked.lazy()).collect() if counts else suite, counts


def total(parts: Iterable[Counts]) -> Counts:
    """The counts of a whole suite from those of its parts.

    >>> total([{"me": {"judged": 3, "accepted": 1}}, {}, {"me": {"judged": 2, "accepted": 2}}])
    {'me': {'judged': 5, 'accepted': 3}}
    """
    found: Counts = {}
    for part in parts:
        for check, counts in part.items():
            mine = found.setdefault(check, dict.fromkeys(counts, 0))
            mine.update({name: mine[name] + count for name, count in counts.items()})
    return found


def tell_accepted(model: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Warn where a model accepts none of the variants that it was to judge."""
    for check, one in counts.items():
        if not one["accepted"]:
            warnings.warn(f"{model}: {check}: it accepts none of {one['judged']:,} variants", stacklevel=3)


def refuse_unfit(judges: Iterable[Bound], task: Task) -> None:
    """Complain, before any work, of a check that the models of this task cannot carry out."""
    for one in judges:
        if hasattr(one.function, "refuse_task"):
            one.function.refuse_task(task)


def judged_by(names: Iterable[str]) -> list[str]:
    """Of a table's columns, those that say who is to judge."""
    return [name for name in names if re.fullmatch("check:[^:]+:by", name)]


def _verdicts(
    suite: pl.DataFrame, column: str, model: Answerer, cache: Cache, batch_size: int
) -> Iterator[tuple[str, Verdict]]:
    """Verdicts by id on the variants that were left to the model; one table may come from several calls of a check."""
    for told in suite[column].cast(pl.String).replace("", None).drop_nulls().unique().sort():
        rule = Rule.read(told, column)
        entailment_of(model.task)
        mine = suite.filter(pl.col("of").is_null() | (pl.col(column) == told))
        buckets = reworded(mine, model.task)
        names = [variant.id for bucket in buckets for variant in bucket.variants]
        found = mutual(buckets, rule, model.task, lambda pairs: asking(model, cache, pairs, batch_size))
        yield from zip(names, found, strict=True)


def _marked(suite: pl.DataFrame, check: str, verdicts: Mapping[str, Verdict]) -> pl.DataFrame:
    judged = pl.DataFrame(
        {
            "id": pl.Series(list(verdicts), dtype=pl.String),
            check: pl.Series([one.keep for one in verdicts.values()], dtype=pl.Boolean),
            f"{check}:score": pl.Series([one.score for one in verdicts.values()], dtype=pl.Float64),
        }
    )
    if judged["id"].is_duplicated().any():
        raise BadInput("two variants have the same id", field="id", fix="ids must be unique")
    names = list(dict.fromkeys([*suite.columns, *judged.columns]))
    rest = suite.drop([name for name in judged.columns if name != "id" and name in suite.columns])
    return rest.join(judged, on="id", how="left", maintain_order="left").select(names)
