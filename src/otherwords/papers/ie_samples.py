"""The matched samples of an IE experiment: answers checked, retrainings put to the vote, and all counted in one pass.

A row is an item of a test set as one run answers it: `gold`, the label `before` and `after` the transformation, and
whether this `changed` the item at all. Items of a `cluster` (a premise, say) are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ..errors import BadInput

#: What identifies a setting, and a run of it.
SETTING = ("dataset", "model", "rho")
RUN = (*SETTING, "run")
#: The columns that a matched sample must have.
_MATCHED = (*RUN, "id", "gold", "before", "after", "changed")


@dataclass(frozen=True)
class Survey:
    """What one pass over matched samples gives: the counts of each run, and the items that fool all models.

    `hard` has a row per item that each model, at some rho, gets right before and wrong after, in run 1; `settings`
    counts in how many settings of model and rho it does so. `golds` counts the labels of each data set's test set.
    """

    runs: pl.DataFrame
    hard: pl.DataFrame
    golds: pl.DataFrame


def checked(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Refuse a table without the columns of a matched sample, without rows, or with answers missing."""
    columns = rows.collect_schema().names()
    if missing := [name for name in _MATCHED if name not in columns]:
        raise BadInput(
            f"no column {missing[0]!r}", where="matched samples", fix=f"give the columns {_listed(_MATCHED)}"
        )
    lacking = pl.any_horizontal(pl.col("gold", "before").is_null()) | (pl.col("changed") & pl.col("after").is_null())
    found = rows.select(rows=pl.len(), lacking=lacking.sum()).collect(engine="streaming")
    if not found["rows"].item():
        raise BadInput("no rows", where="matched samples", fix="answer the test set first")
    if lost := found["lacking"].item():
        [first] = rows.filter(lacking).head(1).collect().rows(named=True)
        where = f"{_title(first)}, id {first['id']!r}"
        fix = "every item needs its right label, and an answer to each of its wordings"
        raise BadInput(f"{lost} rows have no label or no answer", where=where, fix=fix)
    after = pl.when("changed").then("after").otherwise("before")  # what the transformation left alone stays as it is
    return rows.with_columns(after, pl.col("rho").cast(pl.Float64).round(6), pl.col("run").cast(pl.Int64))


def majority(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The paper's Alternative 2: for each item and wording, the label that most retrainings of a run gave.

    Of labels with equally many votes, the one wins whose first vote came from the retraining with the lowest number.
    """
    keys = [*RUN, "id"]
    sides = [_most_voted(rows, keys, side) for side in ("before", "after")]
    kept = [pl.col("cluster").first()] if "cluster" in rows.collect_schema() else []
    same = rows.group_by(keys).agg(pl.col("gold").first(), pl.col("changed").any(), *kept)
    return same.join(sides[0], on=keys).join(sides[1], on=keys)


def _most_voted(rows: pl.LazyFrame, keys: Sequence[str], side: str) -> pl.LazyFrame:
    counted = rows.group_by(*keys, side).agg(votes=pl.len(), first=pl.col("vote").min())
    winner = pl.col(side).sort_by(["votes", "first"], descending=[True, False]).first()
    return counted.group_by(keys).agg(winner)


def with_correctness(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A and B of the paper: whether the answers before and after are right."""
    return rows.with_columns(A=pl.col("before") == pl.col("gold"), B=pl.col("after") == pl.col("gold"))


def survey(rows: pl.LazyFrame, left_out: Iterable[str] = ()) -> Survey:
    """Count matched samples that have A and B, streamed; labels and changes are counted where they are known.

    Models `left_out` do not have to be fooled for an item to be a hard case.
    """
    lost, gained = pl.col("A") & ~pl.col("B"), pl.col("B") & ~pl.col("A")
    counts = {"n": pl.len(), "right": pl.col("A").sum(), "n10": lost.sum(), "n01": gained.sum()}
    columns = rows.collect_schema().names()
    if "changed" in columns:
        counts |= {"changed": pl.col("changed").sum(), "flipped": (pl.col("before") != pl.col("after")).sum()}
        counts |= {"distinct": pl.col("id").hash().n_unique(), "answers": pl.col("before").n_unique()}
    fooled = rows.filter(lost, pl.col("run") == 1, ~pl.col("model").is_in(list(left_out)))
    # As many as there are models and settings: an item that fools all models is among those of each.
    items = fooled.group_by("dataset", "id", "gold").agg(models=pl.col("model").n_unique(), settings=pl.len())
    golds = rows.filter(pl.col("run") == 1).group_by(*SETTING, "gold").agg(n=pl.len())
    tables = [rows.group_by(RUN).agg(**counts), items, golds, *([_drops(rows)] if "cluster" in columns else [])]
    runs, hard, labels, *clustered = pl.collect_all(tables, engine="streaming")
    runs = runs.with_columns(pl.exclude(*SETTING).cast(pl.Int64))
    for drops in clustered:
        runs = runs.join(drops, on=RUN)
    runs = runs.with_columns(pl.col("rho").cast(pl.Float64).round(6)).sort(RUN)
    return Survey(runs, _fooled_by_all(hard, runs, left_out), _gold_labels(labels))


def _drops(rows: pl.LazyFrame) -> pl.LazyFrame:
    """For each run, how many more items are right before than after in each cluster where these differ."""
    cluster = pl.coalesce(pl.col("cluster").cast(pl.String), pl.format("item {}", "id"))
    drop = pl.col("A").cast(pl.Int64).sum() - pl.col("B").cast(pl.Int64).sum()
    sums = rows.group_by(*RUN, cluster.alias("cluster")).agg(drop=drop)
    drops = pl.col("drop").filter(pl.col("drop") != 0).sort()
    return (
        sums.group_by(RUN).agg(clusters=pl.len().cast(pl.Int64), drops=drops).with_columns(pl.col("run").cast(pl.Int64))
    )


def _fooled_by_all(items: pl.DataFrame, runs: pl.DataFrame, left_out: Iterable[str]) -> pl.DataFrame:
    """Of the items that fool a model, those that fool all models of their data set; `always` at every rho of each."""
    asked = runs.filter(pl.col("run") == 1, ~pl.col("model").is_in(list(left_out)))
    all_of = asked.group_by("dataset").agg(every=pl.col("model").n_unique(), of=pl.len())
    hard = items.join(all_of, on="dataset").filter(pl.col("models") == pl.col("every"))
    chosen = hard.select("dataset", "id", "gold", "settings", always=pl.col("settings") == pl.col("of"))
    return chosen.sort("dataset", "id")


def _gold_labels(labels: pl.DataFrame) -> pl.DataFrame:
    """How often each label is the right one in a data set: its runs have one test set, so the first one tells."""
    first = labels.sort(SETTING).group_by("dataset", maintain_order=True).first().select(SETTING)
    first = labels.join(first, on=SETTING)
    return first.select("dataset", "gold", "n").sort("dataset", "gold")


def refuse_odd_runs(cells: pl.DataFrame, found: Survey) -> None:
    """Refuse an item that occurs twice, runs on different test sets, and runs without a cell or the reverse."""
    twice = found.runs.filter(pl.col("distinct") < pl.col("n"))
    if twice.height:
        fix = "give each item once; with several retrainings of a run, their numbers in a column 'vote'"
        raise BadInput("an id occurs more than once", where=_title(twice.row(0, named=True)), field="id", fix=fix)
    for late in found.runs.group_by(SETTING, maintain_order=True).agg(pl.col("run").min()).iter_rows(named=True):
        if late["run"] != 1:
            raise BadInput("the first run is not number 1", where=_title(late), field="run", fix="count runs from 1")
    sizes = found.runs.group_by("dataset", maintain_order=True).agg(pl.col("n").unique().sort())
    for dataset, several in sizes.filter(pl.col("n").list.len() > 1).rows():
        fix = "all runs of a data set need the same test set"
        raise BadInput(f"found test sets of {_listed(several)} rows", where=dataset, fix=fix)
    known = cells.select(pl.col("rho").cast(pl.Float64).round(6), *(pl.col(one) for one in RUN if one != "rho"))
    known = known.with_columns(pl.col("run").cast(pl.Int64))
    for what, some, others in (("answers", known, found.runs), ("cell", found.runs, known)):
        for lost in some.join(others, on=RUN, how="anti").sort(RUN).head(1).iter_rows(named=True):
            raise BadInput(f"the run has no {what}", where=_title(lost), fix="finish the experiment")


def _title(run: Mapping[str, Any]) -> str:
    return f"{run['dataset']}, {run['model']}, rho {run['rho']:g}, run {run['run']}"


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names))


def describe_hard(hard: pl.DataFrame, golds: pl.DataFrame) -> pl.DataFrame:
    """How many hard cases each data set has, which share of its test set, and how their labels are distributed.

    `always` counts those "regardless of rho", as the paper words it: fooled by every model at every rho.
    """
    sizes = golds.group_by("dataset", maintain_order=True).agg(n=pl.col("n").sum())
    totals = hard.group_by("dataset").agg(items=pl.len(), always=pl.col("always").sum())
    counted = hard.group_by("dataset", "gold").agg(of_label=pl.len())
    table = golds.select("dataset", "gold").join(sizes, on="dataset").join(totals, on="dataset", how="left")
    table = table.join(counted, on=["dataset", "gold"], how="left")
    whole = table.with_columns(pl.col("items", "always", "of_label").fill_null(0).cast(pl.Int64))
    share = pl.when(pl.col("items") > 0).then(pl.col("of_label") / pl.col("items"))
    return whole.with_columns(share_of_test=pl.col("items") / pl.col("n"), share=share).sort("dataset", "gold")
