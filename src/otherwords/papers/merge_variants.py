"""MERGE's variants (section 4): seeds, shared words, masked-LMs, filters, who accepts what, and what people say."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from ..datasets.records import Record
from ..datasets.source import plain_records
from ..errors import BadInput, shorten
from ..frames import problems as as_problems
from ..language_models.masked_lm import load
from ..report.figures import Axis, Figure, Panel, Series
from ..report.tables import Plain, Table, TableCell, TableColumn
from ..storage.files import seed_for
from ..storage.tables import write
from ..validity.people import has_questions, read_verdicts
from ..variants.masked_lm.counts import CLASS, KEPT, UNLIKELY, filter_rates, overlap, seed_counts, unique_variants
from ..variants.masked_lm.suggestions import CLASSES, shared_words
from ..variants.resampling import draws
from ..words.tagging import tagger
from .merge_suite import MULTI, MergeSettings, MergeSuite, Rating
from .reproduction import published_values

Row = list[TableCell | Plain]
#: The sum of fluency and reasoning from which on a variant is good; 5 is the best of each.
GOOD = 9
#: The paper's masked-LMs (BART was left out), and how many problems of SNLI's test set have a label.
PAPERS_MODELS = {
    *("google-bert/bert-base-cased", "google-bert/bert-large-cased", "FacebookAI/roberta-base"),
    *("FacebookAI/roberta-large", "albert/albert-base-v2", "albert/albert-xxlarge-v2"),
    *("google/electra-base-generator", "google/electra-large-generator"),
}
SNLI_TEST = 9_824
#: What is drawn from all classes together.
ALL = "all"
_MARKS = [str(mark) for mark in range(1, 6)]
#: Exhibits that hold nothing to be measured.
_DRAWN = {
    "Table 1": "it compares the designs of earlier studies; nothing in it is measured",
    "Figure 1": "it illustrates the metric; nothing in it is measured",
    "Figure 2": "it illustrates the method; nothing in it is measured",
}


class Exhibits:
    """Tables, figures and reasons as they are made."""

    def __init__(self, suite: MergeSuite) -> None:
        self.suite = suite
        self.tables: dict[str, list[Table]] = {}
        self.figures: dict[str, list[Figure]] = {}
        self.missing: dict[str, str] = dict(_DRAWN)

    def add(self, exhibit: str, made: Table | Figure | None, reason: str = "") -> None:
        """Put what was made under the name of an exhibit, or the reason why it was not."""
        if made is None:
            self.missing[exhibit] = reason
        elif isinstance(made, Table):
            self.tables.setdefault(exhibit, []).append(made)
        else:
            self.figures.setdefault(exhibit, []).append(made)


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


def printed_seeds(settings: MergeSettings, problems: int) -> dict[tuple[str, str], float]:
    """What the paper prints in Table 2, by class and column, where seeds come about as they do there, and else nothing.

    >>> some = {"datasets": {"x": "everyday"}, "models": {"y": "scripted"}}
    >>> printed_seeds(MergeSettings(**some, masked_lms={"z": "mlm-small"}), 9824)
    {}
    >>> own = {name.replace("/", "-"): f"hf:{name}" for name in PAPERS_MODELS}
    >>> printed_seeds(MergeSettings(**some, masked_lms=own), 9824)["noun", "seeds"]
    1808.0
    >>> printed_seeds(MergeSettings(**some, masked_lms=own), 10_000)  # such as a draw of other data
    {}
    """
    how = (settings.top, settings.least, settings.n, settings.draws, sorted(settings.classes))
    named = {one.model.removeprefix("hf:") for one in settings.masked_lms.values()}
    if how != (200, 20, 20, 10, ["adjective", "noun", "verb"]) or named != PAPERS_MODELS or problems != SNLI_TEST:
        return {}
    return {(row, column): value for (table, row, column), value in published_values("merge").items() if table == "2"}


def _table_2(suite: MergeSuite) -> Table:
    printed = printed_seeds(suite.settings, suite.problems.height)
    counts, unique = seed_counts(suite.variants, suite.notes), {}
    if "subsamples" in suite.variants.columns:
        unique = unique_variants(suite.variants)
    labels = counts.columns[3:]
    columns = [
        TableColumn("class"), TableColumn("seeds", "count"), TableColumn("suggestions per seed", "number", digits=1),
        *(TableColumn(one, "share", "labels of seeds") for one in labels), TableColumn("unique", "number", digits=1),
    ]  # fmt: skip
    rows: list[Row] = [
        [
            name,
            TableCell(seeds, published=printed.get((name, "seeds"))),
            TableCell(mean, published=printed.get((name, "variants per seed"))),
            *(TableCell(part / 100, published=_share(printed.get((name, f"% {label}"))))
              for label, part in zip(labels, shares, strict=True)),
            TableCell(unique.get(name), published=printed.get((name, "unique variants"))),
        ]
        for name, seeds, mean, *shares in counts.rows()
    ]  # fmt: skip
    notes = ["unique: variants that are in one draw only, a mean over draws."]
    return Table(suite.file("table-2"), "Seeds and their variants after filtering", columns, rows, notes)


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


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
    by_origin = suite.variants.group_by("origin").agg(times.sum().alias("count")).sort("origin")
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


# Annotation: reading ratings


def read_ratings(paths: Sequence[str]) -> list[Rating]:
    """All ratings, of sheets or of the form `fluency`; rows in which neither mark is filled in are left out."""
    found = []
    for path in paths:
        records = _answered_pages(path) if has_questions(Path(path)) else plain_records(Path(path))
        some = [one for record in records if (one := _rating(record)) is not None]
        if not some:
            fix = "fill in the columns fluency and reasoning, 1 to 5, or do not name it"
            raise BadInput("has no rating", where=path, field="verdicts", fix=fix)
        found += some
    return found


def _answered_pages(path: str) -> Iterator[Record]:
    """What each annotator said of a variant by the form `fluency`, as a row of a sheet; adjudicators do not rate."""
    rows = read_verdicts(path).filter(~pl.col("adjudicated"))
    for (variant, annotator), some in rows.group_by("variant", "annotator", maintain_order=True):
        marks = dict(some.select("question", "answer").iter_rows())
        row = {"id": variant, **marks, "explanation": marks.get("why", "")}
        yield Record(f"{path}, {variant!r} by {annotator}", row)


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
    """Labels that people find right, by the problem's id, from a table with the columns id and label.

    Of the form `label`, the answer of the adjudicator or of most annotators; where two are as frequent, none.
    """
    if path and has_questions(Path(path)):
        return _most_frequent_labels(path)
    rows = [record.row for record in plain_records(Path(path))] if path else []
    if path and not all("id" in row and "label" in row for row in rows):
        raise BadInput("no columns id and label", where=path, field="corrected", fix="give both")
    return {str(row["id"]): str(row["label"]) for row in rows}


def _most_frequent_labels(path: str) -> dict[str, str]:
    table = read_verdicts(path).filter(question="label")
    if not table.height:
        raise BadInput("nobody was asked which label is right", where=path, field="corrected", fix="use the form label")
    overrides = pl.col("adjudicated") | ~pl.col("adjudicated").any().over("variant")
    most = table.filter(overrides).group_by("variant").agg(pl.col("answer").mode())
    return {variant: answers[0] for variant, answers in most.sort("variant").iter_rows() if len(answers) == 1}


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
            sheet = drawn.select("id", "of", *texts, "label", "replaced", "replacement")
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
