"""The tables and figures of ParaNLU (Srikanth et al. 2024), from the runs of an experiment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from ..answers.table import Array
from ..pipeline import score
from ..problem import Score, Task
from ..registry import metrics
from ..report.figures import Figure, Panel, Point, Series, consistency_plane, pareto
from ..report.tables import Plain, Table, TableCell, TableColumn
from ..storage.run_folder import RunFolder
from .paper_page import PaperResults, in_words, score_cell
from .paranlu_settings import ParanluSettings
from .reproduction import published_values

#: The two kinds of paraphrases: what the data set names, and what the generator of the settings makes.
GIVEN, AUTOMATIC = "given", "automatic"
#: What is measured of the answers alone, and what needs a test set and probabilities, too.
PLAIN = (
    *("accuracy_original", "accuracy_variants", "accuracy_buckets", "p_c", "p_c_distinct"),
    *("pvap", "pvap_distinct", "label_agreement"),
)
CORRECTED = ("accuracy_corrected", "p_c_corrected")
_RENORMALISED = " renormalised"
_RIGHT, _WRONG = "right", "wrong"
_ILLUSTRATED = {
    "Table 1": "it shows examples of paraphrases; nothing in it is measured",
    "Table 3": "it shows examples that were accepted and rejected; nothing in it is measured",
    "Table 5": "it prints prompts, which are templates here: otherwords list paranlu-d-nli",
    "Figure 1": "it illustrates a problem with its paraphrases; nothing in it is measured",
    "Figure 2": "it illustrates the metric; nothing in it is measured",
    "Figure 7": "it shows instructions for crowd workers; nothing in it is measured",
}
DEVIATIONS = (
    "Nobody writes: given paraphrases are your own.",
    "P_C of the paper draws pairs with replacement, and flatters small buckets: that of distinct pairs is beside it.",
    "Beyond two labels P_C calls two different wrong answers consistent: label agreement is beside it.",
    "Corrected values count deciles without a bucket as 0, as in the paper; renormalised values and coverage follow.",
    "The corrected values of a model by which problems were not drawn are post-stratified, as in the paper.",
)


@dataclass(frozen=True)
class Distances:
    """How far the paraphrases of a run are from their originals, and how many of those judged say the same."""

    values: Mapping[str, Score]
    judged: tuple[int, int] | None

    @classmethod
    def measured(cls, run: Path, using: Mapping[str, str], judged: tuple[int, int] | None) -> "Distances":
        """Measure the texts of a run; `using` names the metrics by column."""
        found = score(str(run), list(using.values()), replicates=400)
        first = found[0].model
        own = [one for one in found if one.model == first and one.group is None]
        return cls(dict(zip(using, own, strict=True)), judged)


@dataclass(frozen=True)
class ParaphrasedSet:
    """A data set whose paraphrases were answered, of one kind or of both.

    `problems` is their number; `split` has the scores of the given paraphrases by whether each partial-input model is
    right. `counts` say what was selected. `own` paraphrases are those that the data have themselves.
    """

    dataset: str
    problems: int
    runs: Mapping[str, Path]
    scores: Mapping[str, Sequence[Score]]
    split: Mapping[str, Sequence[Score]]
    distances: Mapping[str, Distances]
    counts: pl.DataFrame | None = None
    own: bool = False

    @cached_property
    def printed(self) -> dict[tuple[str, str], float]:
        """What the paper prints of this data set, by table and column; nothing of other data, or of a part of it."""
        if not self.own or GIVEN not in self.runs:
            return {}
        values, found = published_values("paranlu"), (self.problems, int(self.sizes().sum()))
        names = [row for table, row, column in values if (table, column) == ("2", "# paraphrases")]
        sizes = {name: (values["2", name, "# original"], values["2", name, "# paraphrases"]) for name in names}
        name = next((one for one in names if sizes[one] == found), "")
        return {
            (table, column): value for (table, row, column), value in values.items() if row in (name, f"{name} human")
        }

    def score(self, model: str, metric: str, kind: str = GIVEN) -> Score | None:
        """A score of a model on all problems."""
        return _find(self.scores.get(kind, ()), model, metric)

    @property
    def corrected(self) -> bool:
        """Whether there are corrected values: of a test set, and at least one model that gives probabilities."""
        return any(one.metric.startswith(CORRECTED[0]) for one in self.scores[GIVEN])

    def point(self, model: str, kind: str = GIVEN) -> tuple[Score, Score] | None:
        """Where a model is in the plane: corrected values if there are any, else means over buckets, for all models."""
        names = CORRECTED if self.corrected else ("accuracy_buckets", "p_c")
        known = [one for name in names if (one := self.score(model, name, kind)) and one.value is not None]
        return (known[0], known[1]) if len(known) == 2 else None

    def sizes(self, kind: str = GIVEN) -> Array:
        """How many paraphrases each problem has that has any."""
        answers = RunFolder(self.runs[kind]).scan("answers").filter(pl.col("variant").is_not_null())
        pairs = answers.select("bucket", "variant").unique().collect()
        return (
            pairs.group_by("bucket").len()["len"].sort().to_numpy()
        )  # in one order, whose deviation has one last digit


def measure(answers: pl.DataFrame, task: Task, test: Path | None, replicates: int, by: str = "") -> list[Score]:
    """All scores of answers: overall, and by a column if one is named. `test` has the models' answers to test sets."""
    groups = [by] if by else []
    found = list(score(answers, PLAIN, task=task, by=groups, replicates=replicates))
    if test is None:
        return found
    known = metrics.respell("accuracy_testset", testset=test)
    found += score(answers, known, task=task, replicates=replicates)
    probable = _with_probabilities(answers, pl.read_parquet(test), task)
    if probable.height:
        names = [*CORRECTED, "coverage"]
        specs = [metrics.respell(name, testset=test) for name in names]
        found += score(probable, specs, task=task, by=groups, replicates=replicates)
        covered = [metrics.respell(name, testset=test, renormalise=True) for name in CORRECTED]
        more = score(probable, covered, task=task, by=groups, replicates=replicates)
        found += [replace(one, metric=one.metric.split("(")[0] + _RENORMALISED) for one in more]
    return found


def _with_probabilities(answers: pl.DataFrame, test: pl.DataFrame, task: Task) -> pl.DataFrame:
    """The answers of models that give probabilities everywhere: others get no corrected values."""
    names = [f"p:{label}" for label in task.labels]
    sure = set(answers["model"])
    for frame in (answers, test):
        if not set(names) <= set(frame.columns):
            return answers.clear()
        lacking = pl.any_horizontal(pl.col(name).is_null() for name in names)
        sure -= set(frame.filter(lacking)["model"])
    return answers.filter(pl.col("model").is_in(sorted(sure)))


def _find(scores: Iterable[Score], model: str, metric: str, value: str = "") -> Score | None:
    """A score by the name of its metric, overall or of the group with this value."""
    for one in scores:
        group = (one.group or "").rpartition("=")[2]
        if one.model == model and one.metric.split("(")[0] == metric and group == value:
            return one
    return None


@dataclass(frozen=True)
class TrainedModels:
    """What was trained, a row each, and how many rows of each training set share a pair with its test set."""

    rows: Sequence[Sequence[Plain]] = ()
    in_test: Mapping[str, int] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """A table of all trainings, if there were any."""
        columns = [
            *map(TableColumn, ("data", "model", "trainer")), TableColumn("rows", "count", "trained on"),
            TableColumn("rows", "count", "validated on"), TableColumn("right", "share", "validated on"),
        ]  # fmt: skip
        rows: list[Sequence[TableCell | Plain] | str] = [list(row) for row in self.rows]
        return [Table("trainings", "Trainings", columns, rows)] if rows else []

    def deviations(self) -> Iterable[str]:
        """What was left out of training sets."""
        for name, count in self.in_test.items():
            if count:
                yield f"{count:,} training rows of {name} share a pair with its test set, and are in no part."


def to_collect(
    waiting: Sequence[str], trained: TrainedModels, selected: Mapping[str, pl.DataFrame | None]
) -> PaperResults:
    """What there is before paraphrases are written: trainings, and what was selected."""
    counts = [table for name, some in selected.items() if some is not None for table in _selection(name, some)]
    tables = {"Section 4.1": [*trained.tables(), *counts]}
    names = [f"Table {number}" for number in (2, 4, 6, 7)] + [f"Figure {number}" for number in (3, 4, 5, 6, 8)]
    missing = dict(_ILLUSTRATED) | dict.fromkeys(names, "paraphrases have to be written first: to-paraphrase/")
    shown = {name: some for name, some in tables.items() if some}
    return PaperResults(shown, {}, missing, list(trained.deviations()), " ".join(waiting))


def make_results(
    settings: ParanluSettings, sets: Sequence[ParaphrasedSet], trained: TrainedModels, waiting: Sequence[str] = ()
) -> PaperResults:
    """All tables and figures that the runs allow; the others are named with the reason."""
    shown = {name: one for name, one in settings.models.items() if not one.stage}
    full = [name for name, one in shown.items() if not one.partial]
    partial = [name for name, one in shown.items() if one.partial]
    tables: dict[str, list[Table]] = {"Table 2": [_table_2(sets), *_selections(sets)], "Table 6": [_table_6(sets)]}
    figures: dict[str, list[Figure]] = {}
    missing = dict(_ILLUSTRATED) | {f"Paraphrases of {one.partition(':')[0]}": one for one in waiting}
    if made := trained.tables():
        tables["Section 5.1"] = made
    tables["Table 4"] = [table for one in sets for table in (_table_4(one, full), _table_4_beyond(one, full))]
    figures["Figure 3"] = [_plane("figure-3", "Accuracy and consistency", sets[:1], full)]
    if sets[1:]:
        figures["Figure 8"] = [_plane("figure-8", "Accuracy and consistency", sets[1:], full)]
    else:
        missing["Figure 8"] = "it is Figure 3 for further data sets, and there is one"
    if some := [one for one in sets if any(one.point(model, AUTOMATIC) for model in full)]:
        figures["Figure 4"], tables["Figure 4"] = [_figure_4(some, full)], [_kinds(some, full)]
    elif settings.automatic:
        missing["Figure 4"] = "no problem has two automatic paraphrases: give a generator that finds more"
    else:
        missing["Figure 4"] = "no generator of automatic paraphrases is named: automatic = ..."
    if partial and full:
        tables["Table 7"] = [_table_7(sets, partial, full)]
    else:
        missing["Table 7"] = "no model sees a part of the input only: give one partial = true, and others not"
    for name, stages in (("Figure 5", settings.pretraining), ("Figure 6", settings.finetuning)):
        if stages:
            figures[name], tables[name] = [_dynamics(name, stages, sets)], [_stages(name, stages, sets)]
        else:
            key = "pretraining" if name == "Figure 5" else "finetuning"
            missing[name] = f"no models at several stages: {key} = {{NAME = [MODEL, MODEL, ...]}}"
    deviations = [*_deviations(settings, sets), *trained.deviations()]
    return PaperResults(tables, figures, missing, deviations, _summary(sets, full), _signatures(sets))


def _signatures(sets: Sequence[ParaphrasedSet]) -> list[str]:
    """Those of all metrics."""
    scores = [found for one in sets for some in (*one.scores.values(), *one.split.values()) for found in some]
    scores += [found for one in sets for apart in one.distances.values() for found in apart.values.values()]
    return list(dict.fromkeys(one.signature for one in scores))


def _deviations(settings: ParanluSettings, sets: Sequence[ParaphrasedSet]) -> Iterable[str]:
    yield from DEVIATIONS
    given = [name for name, one in settings.models.items() if one.model]
    if given:
        yield f"Not trained here: {', '.join(given)}; what they were trained on is not known."
    if settings.parser and not settings.trees:
        yield "syn compares dependency trees; the paper compares constituency trees: trees = ..."
    if settings.encoder and not settings.regressor:
        yield "sem is 1 less the cosine distance of sentence vectors; the paper has BLEURT: regressor = ..."
    if without := [one.dataset for one in sets if not one.corrected]:
        yield f"Without a test set, or probabilities of any model, values are not corrected: {', '.join(without)}."
    elif unsure := [name for name in settings.models if not all(one.score(name, "coverage") for one in sets)]:
        yield f"Without probabilities, there are no corrected values, and no place in figures: {', '.join(unsure)}."
    if settings.select.how == "none":
        yield "All problems were used; the paper draws them evenly over deciles of a model's confidence."
    if written := [name for name, one in settings.datasets.items() if one.generator]:
        yield f"Given paraphrases come from a generator, not from people: {', '.join(written)}."


def _summary(sets: Sequence[ParaphrasedSet], models: Sequence[str]) -> str:
    places = [(one, name, place) for one in sets for name in models if (place := one.point(name))]
    parts = [f"{name} on {one.dataset} {in_words(a)} and {in_words(p_c)}" for one, name, (a, p_c) in places]
    return f"Accuracy on paraphrases and consistency P_C: {'; '.join(parts)}." if parts else ""


# Tables


def _table_2(sets: Sequence[ParaphrasedSet]) -> Table:
    columns = [
        TableColumn("data"), TableColumn("problems", "count"), TableColumn("with paraphrases", "count"),
        TableColumn("paraphrases", "count"), TableColumn("mean", "number", "of each", 1),
        TableColumn("deviation", "number", "of each", 1),
    ]  # fmt: skip
    rows: list[Sequence[TableCell | Plain] | str] = []
    for one in sets:
        sizes = one.sizes()
        mean, deviation = float(sizes.mean()), float(sizes.std())
        columns_in_print = ("# paraphrases", "mean # paraphrases/ex", "std")
        printed = [one.printed.get(("2", column)) for column in columns_in_print]
        cells = map(TableCell, (int(sizes.sum()), mean, deviation))
        with_print = [replace(cell, published=value) for cell, value in zip(cells, printed, strict=True)]
        rows.append([one.dataset, one.problems, len(sizes), *with_print])
    return Table("table-2", "Problems and their paraphrases", columns, rows)


def _selections(sets: Sequence[ParaphrasedSet]) -> Iterable[Table]:
    """What was selected, by stratum and decile."""
    for one in sets:
        if one.counts is not None:
            yield from _selection(one.dataset, one.counts)


def _selection(dataset: str, counts: pl.DataFrame) -> Iterable[Table]:
    units = {"problems": "count", "drawn": "count", "decile": "count"}
    columns = [TableColumn(name, units.get(name, "text")) for name in counts.columns]  # type: ignore[arg-type]
    rows = [list(row) for row in counts.iter_rows()]
    yield Table(f"selection-{dataset}", f"Problems selected from {dataset}", columns, rows)


def _table_4(one: ParaphrasedSet, models: Sequence[str]) -> Table:
    """The paper's columns, and P_C of distinct pairs and PVAP; on the front is who nobody beats in both."""
    names = {
        "A_O": "accuracy_original", "A_T": "accuracy_testset", "A_par": "accuracy_variants", "P_C": "p_c",
        "A~": CORRECTED[0], "P~_C": CORRECTED[1], "P_C distinct": "p_c_distinct", "PVAP": "pvap",
    }  # fmt: skip
    front = pareto({name: place for name in models if (place := _place_of(one, name))})
    marked = ("A~", "P~_C") if one.corrected else ("P_C",)
    columns = [TableColumn("model"), *(TableColumn(name, "share") for name in names)]
    rows: list[Sequence[TableCell | Plain] | str] = []
    for model in models:
        own = {short: one.score(model, metric) for short, metric in names.items()}
        sign = {short: "†" if model in front and short in marked else "" for short in names}
        rows.append([model, *(score_cell(found, sign[short]) for short, found in own.items())])
    values = "corrected values" if one.corrected else "means over buckets"
    notes = [f"† by {values}, no other model is better in accuracy or consistency and at least as good in the other."]
    return Table(f"table-4-{one.dataset}", f"Accuracy and consistency on {one.dataset}", columns, rows, notes)


def _table_4_beyond(one: ParaphrasedSet, models: Sequence[str]) -> Table:
    """What the paper does not print."""
    names = {
        "A mean of buckets": "accuracy_buckets", "PVAP distinct": "pvap_distinct", "label agreement": "label_agreement",
        "A~": CORRECTED[0] + _RENORMALISED, "P~_C": CORRECTED[1] + _RENORMALISED, "coverage": "coverage",
    }  # fmt: skip
    over = {"A~": "renormalised", "P~_C": "renormalised"}
    columns = [TableColumn("model"), *(TableColumn(name, "share", over.get(name, "")) for name in names)]
    rows: list[Sequence[TableCell | Plain] | str] = [
        [model, *(score_cell(one.score(model, metric)) for metric in names.values())] for model in models
    ]
    title = f"Further values on {one.dataset}"
    return Table(f"table-4-beyond-{one.dataset}", title, columns, rows)


def _place_of(one: ParaphrasedSet, model: str) -> tuple[float, float] | None:
    place = one.point(model)
    return None if place is None else (float(place[0].value or 0), float(place[1].value or 0))


def _table_6(sets: Sequence[ParaphrasedSet]) -> Table:
    named = list(dict.fromkeys(name for one in sets for some in one.distances.values() for name in some.values))
    judged = any(some.judged for one in sets for some in one.distances.values())
    columns = [
        TableColumn("data"), TableColumn("paraphrases"), TableColumn("number", "count"),
        *(TableColumn(name, "share") for name in named),
        *([TableColumn("mutual entailment", "share")] if judged else []),
    ]  # fmt: skip
    rows: list[Sequence[TableCell | Plain] | str] = []
    for one in sets:
        for kind, some in one.distances.items():
            values = [
                _similarity(found) if found.metric.startswith("embedding_distance") else score_cell(found)
                for found in some.values.values()
            ]
            if kind == GIVEN and "lex" in some.values and (lex := one.printed.get(("6", "lex"))) is not None:
                place = list(some.values).index("lex")
                values[place] = replace(values[place], published=lex / 100)
            rate = [some.judged[1] / some.judged[0] if some.judged and some.judged[0] else None] if judged else []
            rows.append([one.dataset, kind, int(one.sizes(kind).sum()), *values, *rate])
    absent = {"syn": "trees or parser", "sem": "regressor or encoder"}
    notes = [f"{name}: {key} = ... is not set" for name, key in absent.items() if name not in named]
    return Table("table-6", "Paraphrases and their originals, given and automatic", columns, rows, notes)


def _similarity(found: Score) -> TableCell:
    """A distance as a similarity."""
    low, high = (None if one is None else 1 - one for one in (found.high, found.low))
    return TableCell(None if found.value is None else 1 - found.value, low, high)


def _stages(name: str, stages: Mapping[str, Sequence[str]], sets: Sequence[ParaphrasedSet]) -> Table:
    """The numbers of Figures 5 and 6, in the order of the stages."""
    columns = [
        *map(TableColumn, ("data", "curve", "model")),
        TableColumn("accuracy", "share"),
        TableColumn("P_C", "share"),
    ]
    rows: list[Sequence[TableCell | Plain] | str] = []
    for one in sets:
        for curve, models in stages.items():
            for model in models:
                accuracy, consistency = one.point(model) or (None, None)
                rows.append([one.dataset, curve, model, score_cell(accuracy), score_cell(consistency)])
    file = name.lower().replace(" ", "-")
    return Table(f"{file}-values", f"The values of {name}", columns, rows, [_axes(sets)])


def _kinds(sets: Sequence[ParaphrasedSet], models: Sequence[str]) -> Table:
    """The numbers of Figure 4; automatic paraphrases reword fewer problems, if a generator cannot reword some."""
    names = ("data", "model", "paraphrases")
    columns = [*map(TableColumn, names), TableColumn("accuracy", "share"), TableColumn("P_C", "share")]
    rows: list[Sequence[TableCell | Plain] | str] = []
    for one in sets:
        for model in models:
            for kind in one.runs:
                accuracy, consistency = one.point(model, kind) or (None, None)
                rows.append([one.dataset, model, kind, score_cell(accuracy), score_cell(consistency)])
    return Table("figure-4-values", "Accuracy and consistency by kind of paraphrases", columns, rows)


def _table_7(sets: Sequence[ParaphrasedSet], partial: Sequence[str], full: Sequence[str]) -> Table:
    """Problems by whether a partial-input model is right on the original, which makes its own A_O 1 or 0."""
    names = {"A_O": "accuracy_original", "A_par": "accuracy_variants", "A~": CORRECTED[0]}
    beyond = {"P_C": "p_c", "P~_C": CORRECTED[1]}
    columns = [
        *map(TableColumn, ("data", "partial", "full", "artifacts")), TableColumn("problems", "count"),
        *(TableColumn(name, "share", "partial input") for name in names),
        *(TableColumn(name, "share", "full input") for name in (*names, *beyond)),
    ]  # fmt: skip
    rows: list[Sequence[TableCell | Plain] | str] = []
    for one in sets:
        for blind in partial:
            for model in full:
                for ending, artifacts in ((_RIGHT, "likely"), (_WRONG, "unlikely")):
                    scores = one.split[blind]
                    own = [_find(scores, blind, metric, ending) for metric in names.values()]
                    own[0] = own[0] and replace(own[0], low=None, high=None)  # a constant, by the split
                    other = [_find(scores, model, metric, ending) for metric in (*names.values(), *beyond.values())]
                    count = own[0].n_units if own[0] else 0
                    rows.append(
                        [one.dataset, blind, model, artifacts, count, *map(score_cell, own), *map(score_cell, other)]
                    )
    notes = ["Where the partial-input model is right by luck, it is right less often in other words: part of its drop."]
    return Table("table-7", "Problems likely and unlikely to have artifacts", columns, rows, notes)


# Figures


def _drawn(place: tuple[Score, Score] | None) -> Point:
    if place is None:
        return Point(0.5, None)
    x, y = place
    return Point(float(x.value or 0), y.value, y.low, y.high, x.low, x.high)


def _plane(name: str, title: str, sets: Sequence[ParaphrasedSet], models: Sequence[str]) -> Figure:
    panels = [
        Panel(one.dataset, [Series(model, [_drawn(place)]) for model in models if (place := one.point(model))])
        for one in sets
    ]
    return consistency_plane(name, title, panels, note=_axes(sets))


def _axes(sets: Sequence[ParaphrasedSet]) -> str:
    plain = [one.dataset for one in sets if not one.corrected]
    return f"Means over problems, not corrected: {', '.join(plain)}." if plain else "Corrected by the test set."


def _figure_4(sets: Sequence[ParaphrasedSet], models: Sequence[str]) -> Figure:
    panels = []
    for one in sets:
        places = {kind: [one.point(model, kind) for model in models] for kind in one.runs}
        panels.append(
            Panel(one.dataset, [Series(kind, [_drawn(place) for place in some]) for kind, some in places.items()])
        )
    title = "All models on given and on automatic paraphrases"
    return consistency_plane("figure-4", title, panels, note=_axes(sets))


def _dynamics(name: str, stages: Mapping[str, Sequence[str]], sets: Sequence[ParaphrasedSet]) -> Figure:
    """Models at several stages of training, with a curve through them in their order."""
    panels = []
    for one in sets:
        models = list(dict.fromkeys(model for some in stages.values() for model in some))
        curves = [
            Series("", [_drawn(place) for model in some if (place := one.point(model))]) for some in stages.values()
        ]
        series = [Series(model, [_drawn(place)]) for model in models if (place := one.point(model))]
        panels.append(Panel(one.dataset, series, curves))
    title = "More pretraining" if name == "Figure 5" else "More examples in fine-tuning"
    order = "; ".join(f"{curve}: {', '.join(some)}" for curve, some in stages.items())
    return consistency_plane(name.lower().replace(" ", "-"), title, panels, note=f"{_axes(sets)} In order, {order}.")
