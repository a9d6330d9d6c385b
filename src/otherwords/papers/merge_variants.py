"""MERGE's tables about its variants (section 4): seeds, shared words, masked-LMs, filters, and who accepts what."""

import polars as pl

from ..frames import problems as as_problems
from ..language_models.masked_lm import load
from ..report.figures import Axis, Figure, Panel, Series
from ..report.tables import Table, TableColumn
from ..variants.masked_lm.counts import CLASS, KEPT, UNLIKELY, filter_rates, overlap, seed_counts, unique_variants
from ..variants.masked_lm.suggestions import CLASSES, shared_words
from ..words.tagging import tagger
from .merge_suite import MULTI, Exhibits, MergeSuite, Row


def add_variants(found: Exhibits) -> None:
    """Add what describes the variants, before any model is asked."""
    suite = found.suite
    found.add("Table 2", _table_2(suite))
    found.add("Table 4", _table_4(suite))
    found.add("Table 5", _table_5(suite))
    filters = filter_rates(suite.notes)
    found.add("Table 6", _table_6(suite, filters))
    found.add("Table 6", _all_filters(suite, filters))
    found.add("Table 8", _table_8(suite))
    found.add("Table 9", _table_9(suite))
    found.add("Figure 9", _figure_9(suite), "no suggestion passed all filters")


def _table_2(suite: MergeSuite) -> Table:
    counts, unique = seed_counts(suite.variants, suite.notes), {}
    if "subsamples" in suite.variants.columns:
        unique = unique_variants(suite.variants)
    labels = counts.columns[3:]
    columns = [
        TableColumn("class"), TableColumn("seeds", "count"), TableColumn("suggestions per seed", "number", digits=1),
        *(TableColumn(one, "share", "labels of seeds") for one in labels), TableColumn("unique", "number", digits=1),
    ]  # fmt: skip
    rows: list[Row] = [
        [name, seeds, mean, *(part / 100 for part in shares), unique.get(name)]
        for name, seeds, mean, *shares in counts.rows()
    ]
    notes = ["unique: variants that are in one draw only, a mean over draws."]
    return Table(suite.file("table-2"), "Seeds and their variants after filtering", columns, rows, notes)


def _table_4(suite: MergeSuite) -> Table:
    """Problems that share a word of each class, adverbs too, before any masked-LM is asked."""
    tag, task = tagger(), suite.task
    items = as_problems(suite.problems, task)
    tagged = tag(item.text[name] or "" for item in items for name in task.targets)
    shared: dict[str, list[str | None]] = {name: [] for name in CLASSES}
    for item in items:
        words, _ = shared_words(item, {name: next(tagged) for name in task.targets}, list(CLASSES))
        for word_class in {word.word_class for word in words}:
            shared[word_class].append(item.label)
    columns = [
        TableColumn("class"),
        TableColumn("problems", "count"),
        *(TableColumn(one, "share") for one in task.labels),
    ]
    rows: list[Row] = [
        [name, len(some), *(some.count(label) / len(some) if some else None for label in task.labels)]
        for name, some in shared.items()
    ]
    return Table(suite.file("table-4"), "Problems whose texts share a word, and their labels", columns, rows)


def _table_5(suite: MergeSuite) -> Table:
    columns = [TableColumn("name"), TableColumn("masked-LM"), TableColumn("family"), TableColumn("vocabulary", "count")]
    rows: list[Row] = [
        [name, one.model, one.family, len(load(one.model).vocabulary)]
        for name, one in suite.settings.masked_lms.items()
    ]
    return Table(suite.file("table-5"), "Masked-LMs that suggest words", columns, rows)


def _table_6(suite: MergeSuite, filters: pl.DataFrame) -> Table:
    """The two filters that the paper shows, by masked-LM, class and text."""
    shown = {CLASS.removeprefix("left out: "): "another class", UNLIKELY.removeprefix("left out: "): "no likelier"}
    fields = [name for name in suite.task.targets if name in filters["field"].unique().to_list()]
    cells = {(*row[:4],): row[6] / 100 for row in filters.rows()}
    columns = [
        TableColumn("masked-LM"), TableColumn("class"),
        *(TableColumn(name, "share", title) for title in shown.values() for name in fields),
    ]  # fmt: skip
    rows: list[Row] = [
        [model, word_class, *(cells.get((model, word_class, name, one)) for one in shown for name in fields)]
        for model, word_class in filters.select("model", "word_class").unique(maintain_order=True).rows()
    ]
    of = "all suggestions" if suite.settings.counts == "all" else "the suggestions that reached the filter"
    notes = [f"Shares of {of}."]
    return Table(
        suite.file("table-6"), "Suggestions removed for their class and their probability", columns, rows, notes
    )


def _all_filters(suite: MergeSuite, filters: pl.DataFrame) -> Table:
    sums = filters.group_by("model", "filter", maintain_order=True).agg(pl.col("removed", "reached").sum())
    columns = [
        TableColumn("masked-LM"), TableColumn("filter"),
        TableColumn("removed", "count"), TableColumn("reached", "count"), TableColumn("share", "share"),
    ]  # fmt: skip
    rows: list[Row] = [[*row, row[2] / row[3]] for row in sums.rows()]
    return Table(suite.file("table-6-filters"), "What each filter removed, of all classes and texts", columns, rows)


def _table_8(suite: MergeSuite) -> Table:
    columns = [TableColumn("name"), TableColumn("model"), TableColumn("family"), TableColumn("counterpart")]
    rows: list[Row] = [
        [name, one.model, one.family, suite.settings.counterparts.get(name, "")]
        for name, one in suite.settings.models.items()
    ]
    return Table(suite.file("table-8"), "Models that are asked", columns, rows)


def _table_9(suite: MergeSuite) -> Table:
    """Variants of a draw that one masked-LM alone accepts, and those of single masked-LMs of other families."""
    draws = suite.settings.draws
    times = pl.col("subsamples").str.split(" ").list.len() if "subsamples" in suite.variants.columns else pl.lit(1)
    by_origin = suite.variants.group_by("origin").agg(times.sum().alias("count"))
    counts = {origin: count / draws for origin, count in by_origin.rows()}
    single = {name: counts.get(name, 0.0) for name in suite.settings.masked_lms}
    several = sum(counts.values()) - sum(single.values())
    family = {name: one.family or name for name, one in suite.settings.masked_lms.items()}
    rows: list[Row] = [
        [name, mean, sum(other for one, other in single.items() if family[one] != family[name])]
        for name, mean in single.items()
    ]
    rows.append([MULTI, several, sum(single.values())])
    columns = [TableColumn("masked-LM"), *(TableColumn(one, "number", digits=1) for one in ("alone", "others"))]
    notes = ["others: variants of one masked-LM alone, of another family; in the last row, of any."]
    return Table(suite.file("table-9"), "Variants of a draw by the masked-LM that accepts them", columns, rows, notes)


def _figure_9(suite: MergeSuite) -> Figure | None:
    if not (suite.notes["what"] == KEPT).any():
        return None
    matrix = overlap(suite.notes)
    rows = [Series.of(model, matrix.columns[1:], list(means)) for model, *means in matrix.rows()]
    note = "Diagonal: suggestions of that masked-LM alone."
    title = "Suggestions of a seed that two masked-LMs share"
    return Figure(suite.file("figure-9"), title, "heat", [Panel("", rows)], Axis(), Axis("suggestions"), note)
