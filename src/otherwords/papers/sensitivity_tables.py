"""The tables and figures of the sensitivity paper (Arakelyan et al. 2024), from the runs of an experiment."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl
from rapidfuzz.distance import Indel

from ..pipeline import score
from ..problem import Score
from ..report.figures import Axis, Figure, Panel, Point, Series
from ..report.tables import Table, TableCell, TableColumn
from ..storage.run_folder import RunFolder
from ..words.distance import words
from .paper_page import PaperResults, in_words, score_cell, score_point

if TYPE_CHECKING:
    from .protocol import PaperModel, PaperSettings

#: The order of labels on which the paper's Kolmogorov-Smirnov statistic depends.
LABELS_ORDER = "entailment+neutral+contradiction"
#: What those who accept rewordings are called in tables.
JUDGES = {"self": "accepted by the model itself", "judge": "accepted by an independent judge"}
_DOMAINS = {"in": "in domain", "out": "out of domain"}
_DRAWING = "a drawing of the method, without data"

DEVIATIONS = (
    "Rewordings come from the generator of the settings; the paper's are drawn from flan-t5-xl by group beam search.",
    "r_r and r_s are over all problems answered right, also those without an accepted rewording (in Table 2).",
    "For gold neutral r_s equals r_r, as in the paper; r_s without neutral stands beside it.",
    "Rates under an independent judge stand beside those under the model itself, which is circular.",
    "The paper's KS statistic depends on the order of labels; that of the original label's probability is beside it.",
    "Flipped rewordings differ by construction: divergences have no p-value.",
    "The paper does not define its fuzzy match: here it is 100 times the normalized Indel similarity of both texts.",
)


@dataclass(frozen=True)
class MeasuredModel:
    """A model on a data set: its first answers, and the scores and run of its rewordings by who accepted them."""

    dataset: str
    model: str
    first: pl.DataFrame
    scores: Mapping[str, Sequence[Score]] = field(default_factory=dict)
    runs: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def accuracy(self) -> Score:
        """The accuracy of its first answers."""
        return score(self.first, ["accuracy_original"], replicates=2)[0]

    def score(self, accept: str, metric: str, label: str = "") -> Score | None:
        """A score of the run, of all problems or of those with this right label."""
        group = f"label={label}" if label else None
        named = (one for one in self.scores.get(accept, ()) if one.metric == metric and one.group == group)
        return next(named, None)

    def value(self, accept: str, metric: str, label: str = "") -> float | None:
        """Its value, if it has one."""
        found = self.score(accept, metric, label)
        return found.value if found else None


def make_results(
    settings: "PaperSettings", measured: Sequence[MeasuredModel], rows: Mapping[str, int], wanted: int = 0
) -> PaperResults:
    """All tables and figures that the runs allow; the others are named with the reason.

    `wanted` is how many rewordings of a problem must pass, where the generator refines until they do.
    """
    accepts = [one for one in JUDGES if any(one in some.scores for some in measured)]
    models = settings.models
    tables: dict[str, list[Table]] = {"Table 1": [_table_1(measured, rows)]}
    figures: dict[str, list[Figure]] = {}
    missing = dict.fromkeys(("Figure 1", "Figure 5"), _DRAWING)
    if not accepts:
        missing |= dict.fromkeys(
            ("Table 2", "Table 3", "Table 4", "Figure 2", "Figure 3", "Figure 4"), "nothing was right"
        )
        return PaperResults(tables, figures, missing, DEVIATIONS, "No model answers any problem right.")
    domains = {name: data.domain for name, data in settings.datasets.items()}
    tables["Table 2"] = [_table_2(measured, accept, rows, domains, wanted) for accept in accepts]
    tables["Table 3"] = [_table_3(measured, accept, rows) for accept in accepts]
    tables["Table 4"] = [_table_4(measured, accept) for accept in accepts]
    if pairs := list(_distilled(models)):
        tables["Distillation"] = [_distillation(measured, accept, pairs) for accept in accepts]
    else:
        missing["Distillation (section 5.1)"] = "no model says what it was distilled from: distilled_from = ..."
    sized, unmeasured = _families(models), "no model gives probabilities, or no rewording was accepted"
    of_sizes = "no family has models of two sizes: give models family = ... and size = ..."
    for name, some, reason in (
        ("Figure 2", _figure_2(measured, accepts, sized, models), "no rewording was accepted" if sized else of_sizes),
        ("Figure 3", _figure_3(measured, accepts), unmeasured), ("Figure 4", _figure_4(measured, accepts), unmeasured),
    ):  # fmt: skip
        if drawn := list(some):
            figures[name] = drawn
        else:
            missing[name] = reason
    missing["Human evaluation (section 3.1)"] = "needs people: 100 pairs, equivalent or not"
    return PaperResults(tables, figures, missing, DEVIATIONS, _summary(measured, accepts[0]))


def _summary(measured: Sequence[MeasuredModel], accept: str) -> str:
    pairs = [(one, one.score(accept, "r_r")) for one in measured]
    parts = [
        f"{one.model} on {one.dataset} {in_words(found)}" for one, found in pairs if found and found.low is not None
    ]
    return f"Problems answered right that a rewording fools ({JUDGES[accept]}): {'; '.join(parts)}." if parts else ""


# Tables


def _table_1(measured: Sequence[MeasuredModel], rows: Mapping[str, int]) -> Table:
    models = list(dict.fromkeys(one.model for one in measured))
    columns = [TableColumn("data"), TableColumn("problems", "count"), *(TableColumn(name, "share") for name in models)]
    lines: list[list[TableCell | str | int]] = [
        [dataset, count, *(score_cell(one.accuracy) for one in measured if one.dataset == dataset)]
        for dataset, count in rows.items()
    ]
    return Table("table-1", "Accuracy on the original problems", columns, lines)


def _table_2(
    measured: Sequence[MeasuredModel], accept: str, rows: Mapping[str, int], domains: Mapping[str, str], wanted: int
) -> Table:
    names = {"r_s": "r_s", "r_r": "r_r", "r_s_without_neutral": "r_s, no neutral"}
    few = {"too_few_variants": f"fewer than {wanted}"} if wanted else {}
    columns = [
        TableColumn("data"), TableColumn("model"), TableColumn("right", "count"),
        *(TableColumn(name, "share") for name in (*names.values(), *few.values(), "no rewording")),
    ]  # fmt: skip
    lines: list[list[TableCell | str | int | float | None] | str] = []
    for one in measured:
        right = one.first.filter(pl.col("pred") == pl.col("gold")).height
        cells = [score_cell(one.score(accept, metric)) for metric in (*names, *few)]
        lines.append([one.dataset, one.model, right, *cells, _without(one, accept)])
    for domain, name in _DOMAINS.items():
        some = [one for one in measured if domains[one.dataset] == domain]
        if some:
            means = [_average(some, accept, metric, rows) for metric in names]
            lines.append([name, "mean of models", None, *means, *(None for _ in few), None])
    notes = (
        ["Means are over data sets, weighted by their problems in Table 1, and over models, which weigh alike."]
        if lines
        else []
    )
    return Table(f"table-2-{accept}", f"Fooling rates, rewordings {JUDGES[accept]}", columns, lines, notes)


def accepted_answers(run: Path) -> pl.DataFrame:
    """The answers of a run to rewordings, without those that the model itself rejected."""
    return RunFolder(run).read("answers").filter(pl.col("pred").is_not_null(), pl.col("variant").is_not_null())


def _without(one: MeasuredModel, accept: str) -> float | None:
    """The share of the problems answered right that have no accepted rewording."""
    if accept not in one.runs:
        return None
    right = one.first.filter(pl.col("pred") == pl.col("gold")).height
    return 1 - accepted_answers(one.runs[accept])["bucket"].n_unique() / right


def _average(some: Sequence[MeasuredModel], accept: str, metric: str, rows: Mapping[str, int]) -> float | None:
    """The mean over models, which weigh alike, of their means over data sets, weighted by size."""
    means = []
    for model in dict.fromkeys(one.model for one in some):
        known = [(rows[one.dataset], one.value(accept, metric)) for one in some if one.model == model]
        if any(value is None for _, value in known):
            return None
        means.append(sum(size * (value or 0.0) for size, value in known) / sum(size for size, _ in known))
    return fmean(means) if means else None


def _table_3(measured: Sequence[MeasuredModel], accept: str, rows: Mapping[str, int]) -> Table:
    labels = sorted({str(label) for one in measured for label in one.first["gold"].unique()}, key=_label_place)
    groups = [*((label, label) for label in labels), ("", "all")]
    columns = [
        TableColumn("data"),
        *(TableColumn(metric, "share", shown) for _, shown in groups for metric in ("r_s", "r_r")),
    ]
    lines = []
    for dataset in rows:
        some = [one for one in measured if one.dataset == dataset]
        pairs = [(label, metric) for label, _ in groups for metric in ("r_s", "r_r")]
        values = [_mean(one.value(accept, metric, label) for one in some) for label, metric in pairs]
        lines.append([dataset, *values])
    title = f"Fooling rates by right label, mean of all models, rewordings {JUDGES[accept]}"
    return Table(f"table-3-{accept}", title, columns, lines)


def _label_place(label: str) -> tuple[int, str]:
    order = LABELS_ORDER.split("+")
    return (order.index(label) if label in order else len(order), label)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None and math.isfinite(one)]
    return fmean(known) if known else None


def _table_4(measured: Sequence[MeasuredModel], accept: str) -> Table:
    """Hypotheses alone: of all models together, each accepted pair of texts counts once."""
    columns = [
        TableColumn("data"), TableColumn("pairs", "count"), TableColumn("fuzzy match, 0-100", "number", digits=2),
        TableColumn("words of h", "number", digits=2), TableColumn("words of h'", "number", digits=2),
        TableColumn("words shared", "number", digits=2),
    ]  # fmt: skip
    lines: list[list[str | int | float | None]] = []
    for dataset in dict.fromkeys(one.dataset for one in measured):
        pairs = {pair for one in measured if one.dataset == dataset for pair in _accepted(one, accept)}
        if pairs:
            lines.append([dataset, len(pairs), *map(fmean, zip(*map(_overlap, sorted(pairs)), strict=True))])
        else:
            lines.append([dataset, 0, None, None, None, None])
    notes = ["words: without punctuation, in lower case; shared: how many of h occur in h', each time"]
    return Table(f"table-4-{accept}", f"Original and reworded hypotheses, {JUDGES[accept]}", columns, lines, notes)


def _accepted(one: MeasuredModel, accept: str) -> Iterator[tuple[str, str]]:
    """The original and the reworded hypothesis of all rewordings that were accepted and answered."""
    if accept not in one.runs:
        return
    asked = accepted_answers(one.runs[accept])["variant"]
    texts = RunFolder(one.runs[accept]).read("buckets").select("id", "of", "hypothesis")
    before = (pl.col("id").alias("of"), pl.col("hypothesis").alias("before"))
    originals = texts.filter(pl.col("of").is_null()).select(before)
    chosen = texts.filter(pl.col("id").is_in(asked.implode())).join(originals, on="of")
    yield from chosen.select("before", "hypothesis").iter_rows()


def _overlap(pair: tuple[str, str]) -> tuple[float, int, int, int]:
    before, after = map(words, pair)
    shared = sum(word in set(after) for word in before)
    return 100 * Indel.normalized_similarity(*pair), len(before), len(after), shared


def _distilled(models: Mapping[str, "PaperModel"]) -> Iterator[tuple[str, str]]:
    return ((name, one.distilled_from) for name, one in models.items() if one.distilled_from in models)


def _distillation(measured: Sequence[MeasuredModel], accept: str, pairs: Sequence[tuple[str, str]]) -> Table:
    """The fooling rates of a distilled model less those of its teacher."""
    known = {(one.dataset, one.model): one for one in measured}
    names = ("data", "distilled", "from")
    columns = [*map(TableColumn, names), *(TableColumn(f"{one} less", "share") for one in ("r_r", "r_s"))]
    lines = []
    for dataset in dict.fromkeys(one.dataset for one in measured):
        for small, large in pairs:
            both = known[dataset, small], known[dataset, large]
            lines.append([dataset, small, large, *(_less(*both, accept, metric) for metric in ("r_r", "r_s"))])
    title = f"Fooling rate of distilled models less that of their teachers, {JUDGES[accept]}"
    return Table(f"distillation-{accept}", title, columns, lines)


def _less(one: MeasuredModel, other: MeasuredModel, accept: str, metric: str) -> float | None:
    first, second = one.value(accept, metric), other.value(accept, metric)
    return None if first is None or second is None else first - second


# Figures


def _families(models: Mapping[str, "PaperModel"]) -> list[str]:
    """The families that have models of two sizes or more."""
    sizes: dict[str, set[float]] = {}
    for one in models.values():
        if one.family and one.size:
            sizes.setdefault(one.family, set()).add(one.size)
    return [name for name, some in sizes.items() if len(some) > 1]


def _figure_2(
    measured: Sequence[MeasuredModel],
    accepts: Sequence[str],
    families: Sequence[str],
    models: Mapping[str, "PaperModel"],
) -> Iterator[Figure]:
    """The rates of each family's models, from the smallest to the largest."""
    for accept in accepts:
        panels = []
        for family in families:
            for dataset in dict.fromkeys(one.dataset for one in measured):
                some = [one for one in measured if one.dataset == dataset and models[one.model].family == family]
                some.sort(key=lambda one: models[one.model].size)
                series = [
                    Series(metric, [score_point(one.model, one.score(accept, metric)) for one in some])
                    for metric in ("r_s", "r_r")
                ]
                panels.append(Panel(f"{family}, {dataset}", series))
        if _has_values(panels):
            title = f"Fooling rates by size, {JUDGES[accept]}"
            yield Figure(f"figure-2-{accept}", title, "bars", panels, Axis("model"), Axis("fooling rate", "share"))


def _has_values(panels: Iterable[Panel]) -> bool:
    return any(point.y is not None for panel in panels for series in panel.series for point in series.points)


def _figure_3(measured: Sequence[MeasuredModel], accepts: Sequence[str]) -> Iterator[Figure]:
    """Divergence of probabilities, by whether the label flipped: the paper's two, and the two that are better."""
    ways = {
        "jsd_means": "JSD of means (paper), bits", "ks_labels": "KS over labels (paper)",
        "jsd_pairs": "JSD, mean of pairs, bits", "ks_split": "KS of the label's probability",
    }  # fmt: skip
    for accept in accepts:
        panels = [
            Panel(title, [_bars(measured, accept, f"{metric}:{part}", part) for part in ("kept", "flipped")])
            for metric, title in ways.items()
        ]
        if _has_values(panels):
            title = f"Divergence after rewording, mean of all models, {JUDGES[accept]}"
            yield Figure(f"figure-3-{accept}", title, "bars", panels, Axis("data"), Axis("divergence"))


def _bars(measured: Sequence[MeasuredModel], accept: str, metric: str, name: str) -> Series:
    points = []
    for dataset in dict.fromkeys(one.dataset for one in measured):
        values = (one.value(accept, metric) for one in measured if one.dataset == dataset)
        points.append(Point(dataset, _mean(values)))
    return Series(name, points)


def _figure_4(measured: Sequence[MeasuredModel], accepts: Sequence[str]) -> Iterator[Figure]:
    """The standard deviation of probabilities, on originals, and on rewordings by whether the label flipped."""
    names = {"originals": "originals", "kept": "label kept", "flipped": "label flipped"}
    for accept in accepts:
        panels = [Panel("", [_bars(measured, accept, f"sigma:{part}", name) for part, name in names.items()])]
        if _has_values(panels):
            title = f"Deviation of the probabilities, mean of all models, {JUDGES[accept]}"
            yield Figure(f"figure-4-{accept}", title, "bars", panels, Axis("data"), Axis("deviation"))
