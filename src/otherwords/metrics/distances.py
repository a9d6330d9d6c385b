"""How far variants are from their originals in their words: what a flip rate should be read beside."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import Unmeasurable
from ..registry import metrics
from ..storage import tables
from .metric import Array, Metric
from .table import Answers
from .words import jaccard, lexical_distance, refuse_fuzzy, token_overlap

#: The fields of the four tasks.
FIELDS = ("premise", "hypothesis", "update", "obs1", "obs2", "hyp1", "hyp2")
Compare = Callable[[str, str], float]


@metrics("jaccard.v1")
def jaccard_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Shared words over all words of original and variant, averaged over variants (PaRTE keeps up to 0.75).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return _averaged(jaccard, fields, suite)


@metrics("lexical_distance.v1")
def lexical_distance_metric(fields: str = "", suite: Path = Path()) -> Any:
    """Edits between the words of original and variant in any order, averaged over variants (`lex` in ParaNLU).

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    return _averaged(lexical_distance, fields, suite)


@metrics("token_overlap.v1")
def token_overlap_metric(fuzzy: float = 1.0, fields: str = "", suite: Path = Path()) -> Any:
    """Share of the original's words that the variant has, too (at least `fuzzy` alike), averaged over variants.

    `fields` names the text columns, with commas between; `suite` a table of id and texts, for answers without them.
    """
    refuse_fuzzy(fuzzy)
    return _averaged(partial(token_overlap, fuzzy=fuzzy), fields, suite)


def _averaged(compare: Compare, fields: str, suite: Path) -> Metric:
    """The mean over all variants of the mean over their fields.

    `fields` names the text columns, with commas between, and all of them count; without it, those of the tasks' fields
    count that a variant changed, which in ParaNLU are both hypotheses of an a-NLI problem. The texts are columns of
    the answers, or else of the table `suite`, by the `id` of variant or original.
    """
    named = tuple(name.strip() for name in fields.split(",") if name.strip())
    texts = cache(partial(tables.read, suite)) if suite != Path() else None  # once, not for every model and group

    def statistics(answers: Answers) -> Array:
        found = _texts(answers, named, texts() if texts else None)
        pairs = [_pairs(answers, found[name]) for name in found.columns]
        values = np.stack([_compared(pair, compare) for pair in pairs], axis=1)
        counts = np.stack([(pair["one"] != pair["other"]).to_numpy() for pair in pairs], axis=1)
        # All that is named counts, and a variant that changed nothing is as near as can be, not nowhere.
        counts |= bool(named) | ~counts.any(axis=1, keepdims=True)
        means = (values * counts).sum(axis=1) / counts.sum(axis=1)
        return np.column_stack([answers.add_by_bucket(means, answers.is_variant), answers.variants[1]])

    return Metric(statistics, compared=False)


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


def _compared(pairs: pl.DataFrame, compare: Compare) -> Array:
    """Compare texts; the same two are compared once."""
    distinct = pairs.unique()
    values = pl.Series("value", [compare(*pair) for pair in distinct.iter_rows()], dtype=pl.Float64)
    found = pairs.join(distinct.with_columns(values), on=["one", "other"], how="left", maintain_order="left")
    return found["value"].to_numpy()
