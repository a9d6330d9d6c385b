"""How far variants are from their originals in their words: what a flip rate should be read beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import Unmeasurable
from ..registry import metrics
from ..storage import tables
from ..words.distance import jaccard, lexical_distance, refuse_fuzzy, token_overlap
from .metric import Array, Metric
from .table import Answers

#: The fields of the four tasks.
FIELDS = ("premise", "hypothesis", "update", "obs1", "obs2", "hyp1", "hyp2")
Compare = Callable[[str, str], float]
#: The text of the original, and that of the variant.
Pair = tuple[str, str]
CompareAll = Callable[[Sequence[Pair]], Sequence[float]]


@metrics("jaccard.v1")
def jaccard_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Shared words over all words of original and variant, averaged over variants (PaRTE keeps up to 0.75).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return averaged(each(jaccard), fields, suite)


@metrics("lexical_distance.v1")
def lexical_distance_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Edits between the words of original and variant in any order, averaged over variants (`lex` in ParaNLU).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return averaged(each(lexical_distance), fields, suite)


@metrics("token_overlap.v1")
def token_overlap_metric(fuzzy: float = 1.0, fields: str = "", suite: Path = Path()) -> Any:
    """Share of the original's words that the variant has, too (at least `fuzzy` alike), averaged over variants.

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    refuse_fuzzy(fuzzy)
    return averaged(each(partial(token_overlap, fuzzy=fuzzy)), fields, suite)


def averaged(compare: CompareAll, fields: str, suite: Path, **more: Any) -> Metric:
    """The mean over all variants of what `compare` finds between their texts and the original's; see `by_variant`."""
    values_of = by_variant(compare, fields, suite)

    def statistics(answers: Answers) -> Array:
        return np.column_stack([answers.add_by_bucket(values_of(answers), answers.is_variant), answers.variants[1]])

    return Metric(statistics, compared=False, **more)


def by_variant(compare: CompareAll, fields: str, suite: Path) -> Callable[[Answers], Array]:
    """For every answer, the mean of a comparison with its original over their fields.

    `fields` names the text columns, with commas between, and all of them count; without it, those of the tasks' fields
    count that a variant changed, which in ParaNLU are both hypotheses of an a-NLI problem. The texts are columns of
    the answers, or else of the table `suite`, by the `id` of variant or original.
    """
    named = tuple(name.strip() for name in fields.split(",") if name.strip())
    texts = cache(partial(tables.read, suite)) if suite != Path() else None  # once, not for every model and group
    known: dict[Pair, float] = {}

    def values_of(answers: Answers) -> Array:
        found = _texts(answers, named, texts() if texts else None)
        pairs = [_pairs(answers, found[name]) for name in found.columns]
        values = np.stack([_compared(pair, compare, known) for pair in pairs], axis=1)
        counts = np.stack([(pair["one"] != pair["other"]).to_numpy() for pair in pairs], axis=1)
        # All that is named counts, and a variant that changed nothing is as near as can be, not nowhere.
        counts |= bool(named) | ~counts.any(axis=1, keepdims=True)
        return np.asarray((values * counts).sum(axis=1) / counts.sum(axis=1))

    return values_of


def each(compare: Compare) -> CompareAll:
    """Compare the texts of one pair after the other."""
    return lambda pairs: [compare(*pair) for pair in pairs]


def _texts(answers: Answers, named: tuple[str, ...], suite: pl.DataFrame | None) -> pl.DataFrame:
    """The text fields of every answer, from its own table or by name from the suite's."""
    table = answers.frame if suite is None else suite
    wanted = named or tuple(name for name in FIELDS if name in table.columns)
    missing = [name for name in wanted if name not in table.columns]
    if missing or not wanted:
        fix = (
            "write fields= with names of text columns, or suite= with a table of id and texts (a run's buckets folder)"
        )
        what = missing[0] if missing else ", ".join(FIELDS)
        raise Unmeasurable("there are no texts", where=answers.model, field=what, fix=fix)
    if suite is not None:
        table = _by_name(answers, suite, wanted)
    return table.select(pl.col(wanted).cast(pl.String).fill_null(""))


def _by_name(answers: Answers, suite: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    if "id" not in suite.columns or suite["id"].is_duplicated().any():
        fix = "a suite has one row per problem and variant, each with an id of its own"
        raise Unmeasurable("the suite has no ids to go by", where=answers.model, field="id", fix=fix)
    names = answers.frame.select(
        pl.when(pl.Series(answers.is_variant))
        .then(pl.col("variant").cast(pl.String))
        .otherwise(pl.col("bucket").cast(pl.String))
        .alias("id")
    )
    known = suite.select(pl.col("id").cast(pl.String), *wanted, pl.lit(True).alias("known"))
    found = names.join(known, on="id", how="left", maintain_order="left")
    if found["known"].null_count():
        lacking = found.filter(pl.col("known").is_null())["id"][0]
        fix = "give the suite that was answered: its ids are the answers' variants and, of originals, buckets"
        raise Unmeasurable(f"the suite has no text of {lacking!r}", where=answers.model, field="id", fix=fix)
    return found


def _pairs(answers: Answers, text: pl.Series) -> pl.DataFrame:
    """Every answer's text and that of its original."""
    return pl.DataFrame({"one": text.gather(answers.originals).gather(answers.bucket), "other": text})


def _compared(pairs: pl.DataFrame, compare: CompareAll, known: dict[Pair, float]) -> Array:
    """Compare texts; the same two are compared once, for all models and groups."""
    distinct = pairs.unique()
    rows = [(str(one), str(other)) for one, other in distinct.iter_rows()]
    new = [row for row in rows if row not in known]
    known.update(zip(new, compare(new) if new else (), strict=True))
    values = pl.Series("value", [known[row] for row in rows], dtype=pl.Float64)
    found = pairs.join(distinct.with_columns(values), on=["one", "other"], how="left", maintain_order="left")
    return found["value"].to_numpy()
