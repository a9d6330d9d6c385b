"""The tables and figures of PaRTE (Verma et al. 2023), from the suites and scores of an experiment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ..problem import Score
from ..report.figures import Axis, Figure, Panel, Point, Series
from ..report.tables import Plain, Table, TableCell, TableColumn
from .paper_page import PaperResults, in_words, score_cell, score_point

if TYPE_CHECKING:
    from .protocol import PaperModel

#: What was paraphrased, as ids end, and what it is called.
KINDS = {"p": "premise", "h": "hypothesis", "ph": "both"}
#: The bars of Figures 2 to 4, by the groups of scores.
BARS = {
    "Figure 2": ("sentences", {"one": "one paraphrased", "both": "both paraphrased"}),
    "Figure 3": ("label", {}),
    "Figure 4": ("original", {"right": "original right", "wrong": "original wrong"}),
}
_TITLES = {
    "Figure 2": "Changed answers, one or both sentences paraphrased",
    "Figure 3": "Changed answers by right label",
    "Figure 4": "Changed answers by whether the original was answered right",
    "Figure 5": "Changed answers by source",
}
_PEOPLE = {
    "Figure 6": "errors that people found in 100 paraphrases: repetition, tense, punctuation",
    "Figure 7": "the instructions of a form for people",
}
DEVIATIONS = (
    "A flip between labels that are merged for two-label data does not count, as in the paper; a table counts them.",
    "All shares have 95 % intervals over clusters of problems with the same premise; the paper gives none.",
)
Row = list[TableCell | Plain]
#: Of each data set with three labels, the accuracies of all models before and after merging.
ThreeWay = Mapping[str, Mapping[str, Sequence[Score]]]


@dataclass(frozen=True)
class Step:
    """How many rows a step left of a data set, by what was paraphrased."""

    dataset: str
    name: str
    rows: Mapping[str, int]


@dataclass(frozen=True)
class TestedData:
    """A data set: originals and paraphrased versions, the scores of all models, and those before merging labels."""

    name: str
    suite: pl.DataFrame
    scores: Sequence[Score]
    merging: Mapping[str, Sequence[Score]]

    def score(self, model: str, metric: str, group: str | None = None) -> Score | None:
        """A score of a model, of all rows or of a group."""
        return find_score(self.scores, model, metric, group)


def find_score(scores: Sequence[Score], model: str, metric: str, group: str | None = None) -> Score | None:
    """The first score of a model by a metric, if there is one."""
    named = (one for one in scores if (one.model, one.metric, one.group) == (model, metric, group))
    return next(named, None)


def make_results(
    models: Mapping[str, "PaperModel"],
    tested: Sequence[TestedData],
    steps: Sequence[Step],
    plain: ThreeWay,
    source: str,
) -> PaperResults:
    """All tables and figures that the runs allow; the others are named with the reason."""
    tables = {"Section 3": [_section_3(steps)], "Table 1": [_table_1(tested)]}
    tables["Table 2"] = [_table_2(list(models), tested, plain)]
    figures = {"Figure 1": [_figure_1(list(models), tested)]}
    for name, (column, titles) in BARS.items():
        figures[name] = [_bars(name, list(models), tested, column, titles)]
    missing = dict(_PEOPLE)
    if source:
        figures["Figure 5"] = [_bars("Figure 5", list(models), tested, source, {})]
    else:
        missing["Figure 5"] = "no column says where problems come from: source_column = ..."
    if any(one.merging for one in tested):
        tables["Label merging"] = [_merging(tested)]
    else:
        missing["Label merging (METHODS 4)"] = "no model answers in NLI's three labels without a label_map"
    if not plain:
        missing["Table 2, MNLI"] = "no data with three labels: [mnli.NAME], or no model that answers in them"
    return PaperResults(tables, figures, missing, DEVIATIONS, _summary(list(models), tested))


def _summary(models: Sequence[str], tested: Sequence[TestedData]) -> str:
    pairs = [(one, model, one.score(model, "flip_rate")) for one in tested for model in models]
    parts = [
        f"{model} on {one.name} {in_words(found)}" for one, model, found in pairs if found and found.low is not None
    ]
    return f"Answers that change where sentences are paraphrased: {'; '.join(parts)}." if parts else ""


# Tables


def _section_3(steps: Sequence[Step]) -> Table:
    columns = [TableColumn("data"), TableColumn("step"), *(TableColumn(name, "count") for name in KINDS.values())]
    lines: list[Row] = [
        [one.dataset, one.name, *(one.rows.get(kind, 0) for kind in KINDS), sum(one.rows.values())] for one in steps
    ]
    notes = ["Sentences up to the fourth step, problems from recombining on."]
    title = "How many paraphrases each step left"
    return Table("section-3", title, [*columns, TableColumn("all", "count")], lines, notes)


def _table_1(tested: Sequence[TestedData]) -> Table:
    """The first example of each kind in each data set."""
    names = ("data", "paraphrased", "label", "premise", "hypothesis", "premise'", "hypothesis'")
    lines = [[one.name, *example] for one in tested for example in _examples(one.suite)]
    return Table("table-1", "An example of each kind", [TableColumn(name) for name in names], lines)


def _examples(suite: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    before = suite.select(pl.col("id").alias("of"), pl.col("premise").alias("p"), pl.col("hypothesis").alias("h"))
    pairs = suite.join(before, on="of", how="inner", maintain_order="left")
    for kind, name in KINDS.items():
        some = pairs.filter(pl.col("paraphrased") == kind).head(1)
        yield from ((name, *row) for row in some.select("label", "p", "h", "premise", "hypothesis").iter_rows())


def _table_2(models: Sequence[str], tested: Sequence[TestedData], plain: ThreeWay) -> Table:
    metrics = {
        "accuracy_original_weighted": "original", "accuracy_variants": "paraphrased", "flip_rate": "changed",
    }  # fmt: skip
    columns = [
        TableColumn("model"),
        *(TableColumn(way, "share", name) for name, some in plain.items() for way in some),
        *(column for one in tested for column in _columns(one.name, metrics.values())),
    ]
    lines: list[Row] = []
    for model in models:
        ways = [scores for some in plain.values() for scores in some.values()]
        line: Row = [model, *(score_cell(find_score(scores, model, "accuracy_original")) for scores in ways)]
        for one in tested:
            line += [*(score_cell(one.score(model, metric)) for metric in metrics), one.suite["of"].count()]
        lines.append(line)
    notes = ["An original counts as often as it has paraphrased versions. In brackets: 95 % interval."]
    return Table("table-2", "Accuracy, and answers that changed", columns, lines, notes)


def _columns(group: str, names: Iterable[str]) -> list[TableColumn]:
    return [*(TableColumn(name, "share", group) for name in names), TableColumn("rows", "count", group)]


def _merging(tested: Sequence[TestedData]) -> Table:
    titles = list(dict.fromkeys(title for one in tested for title in one.merging))
    columns = [TableColumn("data"), TableColumn("model"), *(TableColumn(title, "share") for title in titles)]
    lines: list[Row] = []
    for one in tested:
        for model in dict.fromkeys(some.model for scores in one.merging.values() for some in scores):
            cells = (next((s for s in one.merging.get(title, ()) if s.model == model), None) for title in titles)
            lines.append([one.name, model, *map(score_cell, cells)])
    notes = [
        "Merged: neutral and contradiction are one label; the most probable of three labels is taken first.",
        "p(N) + p(C): their probabilities are added up first.",
    ]
    return Table("label-merging", "Changed answers before and after merging labels", columns, lines, notes)


# Figures


def _figure_1(models: Sequence[str], tested: Sequence[TestedData]) -> Figure:
    """How often an answer became wrong, and how often right: counts."""
    ways = {"flip_to_wrong": "right to wrong", "flip_to_right": "wrong to right"}
    if any((found := one.score(model, "flip_wrong_to_wrong")) and found.value for one in tested for model in models):
        ways["flip_wrong_to_wrong"] = "wrong to wrong"
    panels = []
    for one in tested:
        series = [Series(name, [_count(one, model, way) for model in models]) for way, name in ways.items()]
        panels.append(Panel(_panel(one, tested), series))
    return Figure("figure-1", "Direction of changed answers", "bars", panels, Axis("model"), Axis("changed answers"))


def _count(one: TestedData, model: str, metric: str) -> Point:
    found = one.score(model, metric)
    return Point(model, None if found is None or found.value is None else round(found.value * found.n_answers))


def _panel(one: TestedData, tested: Sequence[TestedData]) -> str:
    return one.name if len(tested) > 1 else ""


def _bars(
    name: str, models: Sequence[str], tested: Sequence[TestedData], column: str, titles: Mapping[str, str]
) -> Figure:
    """The share of changed answers by the groups of a column: one bar for each, for each model."""
    start = f"{column}="
    found = {one.group for data in tested for one in data.scores if one.group and one.group.startswith(start)}
    values = list(titles) or sorted(group.removeprefix(start) for group in found)
    panels = []
    for data in tested:
        points = {
            value: [score_point(model, data.score(model, "flip_rate", f"{start}{value}")) for model in models]
            for value in values
        }
        panels.append(Panel(_panel(data, tested), [Series(titles.get(one, one), some) for one, some in points.items()]))
    file = name.lower().replace(" ", "-")
    return Figure(file, _TITLES[name], "bars", panels, Axis("model"), Axis("changed answers", "share"))
