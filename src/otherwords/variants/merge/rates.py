"""Rates from the notes of `masked-lm`: what its filters removed, which masked-LMs agreed, what is left of seeds."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from ...errors import BadInput
from .tallying import FILTERS, KEPT

#: All word classes together.
ALL = "all"
_FIX = "give the notes of masked-lm: vary --notes FILE, or notes/ of a run folder"


def filter_rates(notes: pl.DataFrame) -> pl.DataFrame:
    """Table 6: of the suggestions that reached a filter, the share in per cent that it removed.

    By masked-LM, word class, field and filter, in the order in which filters are applied. What is counted is a
    suggestion at a place, so that for a word that stands twice in a text each counts twice, at every filter: what
    reached one is what it removed and what reached the next. At the class alone less may arrive, because it is looked
    at only where a problem may have suggestions enough. An ablation has the filters that it applies.

    >>> about = {"model": ["bert"], "word_class": ["noun"], "field": ["premise"], "reached": ["200"]}
    >>> notes = pl.DataFrame({"id": ["p"], "what": [FILTERS[0]], "count": [30], **about})
    >>> filter_rates(notes).row(0)
    ('bert', 'noun', 'premise', 'no whole word', 30, 200, 15.0)
    """
    found = _of_masked_lm(notes, *FILTERS)
    keys = ["model", "word_class", "field", "what"]
    sums = found.group_by(keys).agg(removed=pl.col("count").sum(), reached=pl.col("reached").cast(pl.Int64).sum())
    order = pl.col("what").replace_strict({name: place for place, name in enumerate(FILTERS)}, return_dtype=pl.Int64)
    return sums.sort("model", "word_class", "field", order).select(
        "model",
        "word_class",
        "field",
        pl.col("what").str.strip_prefix("left out: ").alias("filter"),
        "removed",
        "reached",
        percent=100 * pl.col("removed") / pl.col("reached"),
    )


def overlap(notes: pl.DataFrame) -> pl.DataFrame:
    """Figure 9: how many suggestions of a seed two masked-LMs have in common, and on the diagonal one has alone.

    >>> about = {"word_class": ["noun"] * 3, "origin": ["a", "a+b", "b"]}
    >>> overlap(pl.DataFrame({"id": ["p", "p", "q"], "what": [KEPT] * 3, "count": [4, 2, 1], **about})).rows()
    [('a', 2.0, 1.0), ('b', 1.0, 0.5)]
    """
    found = _of_masked_lm(notes, KEPT)
    seeds = found["id"].n_unique()
    by_origin = found.group_by("origin").agg(pl.col("count").sum()).sort("origin").rows()
    models = sorted({model for origin, _ in by_origin for model in origin.split("+")})
    cells = {(one, other): 0 for one in models for other in models}
    for origin, count in by_origin:
        names = origin.split("+")
        for one, other in combinations(names, 2) if len(names) > 1 else [(names[0], names[0])]:
            cells[one, other] += count
            cells[other, one] += count if one != other else 0
    return pl.DataFrame({"model": models, **{one: [cells[other, one] / seeds for other in models] for one in models}})


def unique_variants(variants: pl.DataFrame) -> dict[str, float]:
    """Table 2's Uni: how many variants of a subsample are in no other, on average; by word class, and of all.

    >>> unique_variants(pl.DataFrame({"word_class": ["noun"] * 3, "subsamples": ["1 2", "1", "2"]}))
    {'all': 1.0, 'noun': 1.0}
    """
    told = _of_one(with_columns(variants, "word_class", "subsamples"), "how")
    numbers = pl.col("subsamples").str.split(" ")
    draws = told.select(numbers.list.explode(empty_as_null=True, keep_nulls=True).n_unique()).item()
    alone = told.filter(numbers.list.len() == 1)
    counts = {name: alone.filter(word_class=name).height / draws for name in sorted(told["word_class"].unique())}
    return {ALL: alone.height / draws, **counts}


def seed_counts(variants: pl.DataFrame, notes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Table 2: seeds by word class, how many variants each has on average, and their labels in per cent.

    Where `notes` are given, the average is of all suggestions that passed the filters, drawn or not, as in the paper.

    >>> rows = {"of": ["p", "p", "q"], "word_class": ["noun", "verb", "noun"], "label": ["yes", "yes", "no"]}
    >>> seed_counts(pl.DataFrame(rows)).rows()
    [('all', 2, 1.5, 50.0, 50.0), ('noun', 2, 1.0, 50.0, 50.0), ('verb', 1, 1.0, 0.0, 100.0)]
    """
    made = _of_one(with_columns(variants, "of", "word_class", "label"), "how")
    kept = made.select("word_class", id="of", count=1) if notes is None else _of_masked_lm(notes, KEPT)
    _refuse_others(made, kept)
    labels = sorted(made["label"].unique())
    rows = []
    for name in (ALL, *sorted(made["word_class"].unique())):
        mine, theirs = (table if name == ALL else table.filter(word_class=name) for table in (made, kept))
        seeds = mine.unique("of")
        shares = {label: 100 * seeds.filter(label=label).height / seeds.height for label in labels}
        average = theirs["count"].sum() / theirs["id"].n_unique()
        rows.append({"word_class": name, "seeds": seeds.height, "variants": average, **shares})
    return pl.DataFrame(rows)


def _of_masked_lm(notes: pl.DataFrame, *what: str) -> pl.DataFrame:
    """The notes that say one of these; where there are none, the table is another one."""
    if "what" not in notes.columns or not (found := notes.filter(pl.col("what").is_in(what))).height:
        raise BadInput("the notes tell of no suggestions of masked-LMs", fix=_FIX)
    return _of_one(found, "generator")


def _of_one(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Numbers of several generators, such as an ablation and the whole, mean nothing together."""
    names = sorted(table[column].drop_nulls().unique()) if column in table.columns else []
    if len(names) > 1:
        fix = f"give those of one, as in table.filter({column}={names[0]!r})"
        raise BadInput(f"the table is of {len(names)} generators", field=column, fix=fix)
    return table


def _refuse_others(made: pl.DataFrame, kept: pl.DataFrame) -> None:
    if "how" in made.columns and "generator" in kept.columns and made["how"][0] != kept["generator"][0]:
        fix = f"give the notes of {made['how'][0]}"
        raise BadInput("the notes are of another generator than the variants", field="generator", fix=fix)


def with_columns(variants: pl.DataFrame, *names: str) -> pl.DataFrame:
    """The variants that have a value in each of these columns, which only those of `masked-lm` have."""
    if lost := [name for name in names if name not in variants.columns]:
        fix = "give the variants of masked-lm; with subsamples=10, they have a column subsamples"
        raise BadInput(f"the table has no column {', '.join(lost)}", fix=fix)
    if not (found := variants.drop_nulls(list(names))).height:
        raise BadInput("there are no variants of masked-lm", fix="give some")
    return found
