"""MERGE's annotation: variants drawn for people, their ratings of fluency and reasoning, and what they say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from ..datasets.records import Record
from ..datasets.source import plain_records
from ..errors import BadInput, shorten
from ..report.figures import Axis, Figure, Panel, Series
from ..report.tables import Table, TableColumn
from ..storage.files import seed_for
from ..storage.tables import write
from ..variants.resampling import draws

#: The sum of fluency and reasoning from which on a variant is good; 5 is the best of each.
GOOD = 9
#: What is drawn from all classes together.
ALL = "all"
_MARKS = [str(mark) for mark in range(1, 6)]


class Rating(NamedTuple):
    """What one annotator gave a variant, from 1 (poor) to 5 (good), and why."""

    id: str
    fluency: int
    reasoning: int
    why: str


def read_ratings(paths: Sequence[str]) -> list[Rating]:
    """All ratings; rows in which neither mark is filled in are left out."""
    found = []
    for path in paths:
        some = [one for record in plain_records(Path(path)) if (one := _rating(record)) is not None]
        if not some:
            fix = "fill in the columns fluency and reasoning, 1 to 5, or do not name it"
            raise BadInput("has no rating", where=path, field="verdicts", fix=fix)
        found += some
    return found


def _rating(record: Record) -> Rating | None:
    cells = {name: str(record.row.get(name) or "").strip() for name in ("id", "fluency", "reasoning", "explanation")}
    if not cells["fluency"] and not cells["reasoning"]:
        return None
    for name in ("fluency", "reasoning"):
        if cells[name] not in _MARKS:
            fix = "give 1 (poor) to 5 (good)"
            raise BadInput(f"found {shorten(cells[name])}", where=record.where, field=name, fix=fix)
    if not cells["id"]:
        raise BadInput("found nothing", where=record.where, field="id", fix="give the id of the variant")
    return Rating(cells["id"], int(cells["fluency"]), int(cells["reasoning"]), cells["explanation"])


def read_corrected(path: str) -> dict[str, str]:
    """Labels that a person finds right, by the problem's id, from a table with the columns id and label."""
    rows = [record.row for record in plain_records(Path(path))] if path else []
    if path and not all("id" in row and "label" in row for row in rows):
        raise BadInput("no columns id and label", where=path, field="corrected", fix="give both")
    return {str(row["id"]): str(row["label"]) for row in rows}


# Sheets to fill in


def drawn_for_judges(variants: pl.DataFrame, count: int, seed: int) -> dict[str, pl.DataFrame]:
    """So many variants of each class, and as many of all, whichever the machine."""
    classes = sorted(variants["word_class"].unique())
    pools = {**{name: variants.filter(word_class=name) for name in classes}, ALL: variants}
    return {
        name: pool[pl.Series(draws(pool["id"], seed_for(seed, "judge", name))).arg_sort()[:count].sort()]
        for name, pool in pools.items()
    }


def draw_for_judges(folder: Path, dataset: str, variants: pl.DataFrame, count: int, seed: int) -> None:
    """Write variants for people to rate; a table that is there is kept, because somebody may have filled it in."""
    for name, drawn in drawn_for_judges(variants, count, seed).items() if count else ():
        path = folder / "to-judge" / f"{dataset}-{name}.csv"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            texts = [one for one in drawn.columns if one in ("premise", "hypothesis")]
            sheet = drawn.select("id", *texts, "label", "replaced", "replacement")
            write([sheet.with_columns(pl.lit("").alias(one) for one in ("fluency", "reasoning", "explanation"))], path)


# What people say


def judged_variants(variants: pl.DataFrame, ratings: Sequence[Rating]) -> pl.DataFrame:
    """The variants that were rated, with the mean of each mark over annotators, and whether they are `good`."""
    table = pl.DataFrame(ratings, schema=list(Rating._fields), orient="row")
    means = table.group_by("id", maintain_order=True).agg(pl.col("fluency", "reasoning").mean(), pl.col("why").first())
    good = (pl.col("fluency") + pl.col("reasoning") >= GOOD).alias("good")
    return variants.join(means, on="id", maintain_order="left").with_columns(good)


def examples(name: str, judged: pl.DataFrame, fields: Sequence[str]) -> Table:
    """Table 7: rated variants, the best first; a few of each sum."""
    total = (pl.col("fluency") + pl.col("reasoning")).alias("total")
    some = judged.with_columns(total).sort("total", "id", descending=[True, False])
    some = some.group_by("total", maintain_order=True).head(3)
    columns = [*(TableColumn(one) for one in (*fields, "label", "original", "suggested")),
               *(TableColumn(one, "number", digits=1) for one in "FR"), TableColumn("explanation")]  # fmt: skip
    shown = some.select(*fields, "label", "replaced", "replacement", "fluency", "reasoning", "why")
    notes = ["F fluency, R reasoning: 1 poor, 5 good; means over annotators."]
    return Table(name, "Examples of annotated variants", columns, [list(row) for row in shown.rows()], notes)


def good_by_model(
    name: str, judged: pl.DataFrame, samples: Mapping[str, pl.DataFrame], weights: Mapping[str, float]
) -> Figure | None:
    """Figure 3: the share of good variants of each masked-LM, by class, and weighted as classes occur among seeds."""
    by_class = {
        word_class: _good_shares(judged.filter(pl.col("id").is_in(drawn["id"].implode())))
        for word_class, drawn in samples.items()
        if word_class != ALL
    }
    by_class = {word_class: shares for word_class, shares in by_class.items() if shares}
    models = sorted({model for shares in by_class.values() for model in shares})
    if not models:
        return None
    series = [Series.of(one, models, [shares.get(model) for model in models]) for one, shares in by_class.items()]
    weighted = [_weighted({one: shares[model] for one, shares in by_class.items() if model in shares}, weights)
                for model in models]  # fmt: skip
    series.append(Series.of("weighted by class", models, weighted))
    title = f"Share of good variants (fluency + reasoning of {GOOD} or more)"
    return Figure(name, title, "bars", [Panel("", series)], Axis("masked-LM"), Axis("good", "share"))


def marks_given(name: str, judged: pl.DataFrame, drawn: pl.DataFrame) -> Figure | None:
    """Figure 10: how often each pair of marks was given, of variants of all classes."""
    some = judged.filter(pl.col("id").is_in(drawn["id"].implode()))
    if not some.height:
        return None
    rounded = some.select(pl.col("fluency", "reasoning").round().cast(pl.Int64).cast(pl.String))
    counts = rounded.group_by("fluency", "reasoning").len().rows()
    pairs = {(fluency, reasoning): count / some.height for fluency, reasoning, count in counts}
    rows = [Series.of(f"fluency {f}", _MARKS, [pairs.get((f, r), 0.0) for r in _MARKS]) for f in reversed(_MARKS)]
    note = f"{int(some['good'].sum())} of {some.height} variants are good ({GOOD} or more together)."
    return Figure(name, "Marks of people", "heat", [Panel("", rows)], Axis("reasoning"), Axis("given", "share"), note)


def _good_shares(judged: pl.DataFrame) -> dict[str, float]:
    """The share of good variants of each masked-LM; one that several accept counts for each."""
    each = judged.with_columns(pl.col("origin").str.split("+")).explode("origin")
    return dict(each.group_by("origin").agg(pl.col("good").mean()).sort("origin").rows())


def _weighted(shares: Mapping[str, float], weights: Mapping[str, float]) -> float:
    whole = sum(weights[one] for one in shares)
    return sum(share * weights[one] for one, share in shares.items()) / whole
