"""The tables and figures of a run: its scores, its models compared, what can be drawn of them, its substitutions.

The page has those that its own tables do not show (`beyond_scores`), as far as they cost little; files have all.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import ALL_MODELS, Score, Task
from ..progress import Progress, reporting_to
from ..scoring.compare import compare
from ..scoring.difference import Difference
from ..scoring.layout import difference_notes, foot_of
from ..scoring.measure import FEW_CLUSTERS
from ..storage.run_folder import RunFolder
from ..storage.specs import short_names
from . import browse, numbers, plot
from .exhibits import refuse_unusable, write_exhibits
from .figures import Axis, Figure, Mark, Panel, Point, Series, consistency_plane, pareto
from .reading import AnswerCounts, count_answers, finished_run
from .substitutions import substitution_table
from .tables import Table, TableCell, TableColumn, Unit

#: Models that stand side by side in a table; of more, each has a row. Models up to which all pairs are compared.
_SIDE_BY_SIDE, _PAIRS = 4, 6
#: Answers that are compared for a page, at most: beyond, comparing would take longer than the run's own scores.
MOST_COMPARED = 1_000_000
#: Metrics above which a figure of all of them says little.
_MANY = 12
#: The accuracy that belongs to P_C, and the whole curve of pattern accuracy.
_PLANE, _CURVE = ("accuracy_buckets", "p_c"), "pa_curve"


@dataclass(frozen=True)
class RunExhibits:
    """What a run gives, and by name what it cannot give, with the reason.

    `front` are the models that no other beats in accuracy or consistency without losing in the other.
    """

    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    front: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the tables and figures that are there."""
        return [*(one.name for one in self.tables), *(one.name for one in self.figures)]


def write_run_exhibits(run: str | Path, folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Write the tables and figures of a finished run into a folder; give the files, and what is not there and why."""
    refuse_unusable(folder, run)
    found = run_exhibits(run)
    return write_exhibits(folder, found.tables, found.figures, run), found.absent


def run_exhibits(run: str | Path) -> RunExhibits:
    """All tables and figures of a finished run."""
    folder, every = finished_run(run)
    task = Task(**folder.manifest["task"])
    with folder.naming_damage():
        answers, buckets = folder.batches("answers"), folder.batches("buckets")
        about = count_answers(answers)
        wordings = browse.look_up(about.browsable(buckets, task), answers, buckets, task)
    scores = [one for one in every if one.model != ALL_MODELS]
    models, bars = about.ranked(scores)
    scores.sort(key=lambda one: models.index(one.model))
    notes = list(filter(None, (plot.one_answer_note(about.constant),)))
    more = beyond_scores(folder, models, about, wordings)
    figures = [
        *_score_bars(scores, models),
        *_wordings(bars, more.absent),
    ]
    return RunExhibits([*score_tables(scores, models, notes), *more.tables], [*figures, *more.figures], more.absent)


def beyond_scores(
    folder: RunFolder, models: Sequence[str], about: AnswerCounts, wordings: browse.Wordings, most: int | None = None
) -> RunExhibits:
    """The models compared, in a table and in the plane, the curve of pattern accuracy, and the substitutions.

    `most` is how many answers are compared at most, for a page: which does not compare either where clusters are too
    few to tell. What is warned of here, the run was warned of.
    """
    constant = about.constant
    notes = list(filter(None, (plot.one_answer_note(constant),)))
    own = [one for one in models if one in about.flips.models]
    found = RunExhibits()
    with warnings.catch_warnings(), reporting_to(Progress()):
        warnings.simplefilter("ignore")
        with _named_as_absent(found, "comparison"):
            if most is not None:
                _refuse_few(wordings)
            found.tables.extend(_comparison(folder, own, notes, found.absent, about.answers, most))
        with _named_as_absent(found, "pa-curve", "plane"):
            found.figures.extend(_curve_and_plane(folder, own, wordings.known, [*constant], found))
    table = substitution_table(wordings, own, _settings(folder).get("confidence", 0.95))
    if isinstance(table, str):
        found.absent["substitutions"] = table
    else:
        found.tables.append(table)
    return found


def _refuse_few(wordings: browse.Wordings) -> None:
    """Refuse to compare models on a page where their intervals would not be reliable."""
    clusters = wordings.rows["cluster"].n_unique()
    if clusters < FEW_CLUSTERS:
        raise BadInput(f"{clusters} clusters are too few to tell models apart, {FEW_CLUSTERS} or more are needed")


@contextmanager
def _named_as_absent(found: RunExhibits, *names: str) -> Iterator[None]:
    """Name what cannot be made of these answers, with the reason; the rest of a report does not hang on it."""
    try:
        yield
    except BadInput as error:
        for name in names:
            if name not in found.names:
                found.absent.setdefault(name, error.message)


# Tables


def score_tables(scores: Sequence[Score], models: Sequence[str], notes: Sequence[str]) -> Iterable[Table]:
    """All scores: over all data, by each grouping column, and apart from these metrics that have many parts."""
    kinds: dict[tuple[str, str], list[Score]] = {}
    for one in scores:
        metric, _, part = one.metric.partition(":")
        column = (one.group or "").partition("=")[0]
        kinds.setdefault((column, metric if part else ""), []).append(one)
    for (column, metric), own in kinds.items():
        name = "-".join(filter(None, ("scores", _file(metric), column and f"by-{_file(column)}")))
        title = f"{numbers.meaning(metric)[0] if metric else 'Scores'}{f' by {column}' if column else ''}"
        yield _score_table(name, title, own, [one for one in models if any(s.model == one for s in own)], notes)


def _score_table(name: str, title: str, scores: Sequence[Score], models: Sequence[str], notes: Sequence[str]) -> Table:
    """Models side by side, a row per metric and group; of many models, a row for each."""
    short, foot = _short_groups(list(dict.fromkeys(one.group for one in scores)))
    cells = {(one.metric, one.group, one.model): one for one in scores}
    beside, rows = len(models) <= _SIDE_BY_SIDE, list[Any]()
    for metric in dict.fromkeys(one.metric for one in scores):
        heading = numbers.meaning(metric)[0]
        rows += [heading] if short or not beside else []
        for group in dict.fromkeys(one.group for one in scores if one.metric == metric):
            own = {model: cells.get((metric, group, model)) for model in models}
            if beside:
                label = short[group] if group else heading
                rows.append([label, *map(_score_cell, own.values())])
            else:
                labels = {model: f"{short[group]}, {model}" if group else model for model in models}
                rows += [[labels[model], _score_cell(score)] for model, score in own.items() if score]
    columns = [TableColumn("group" if short else "metric" if beside else "model")]
    columns += [TableColumn(model, "share") for model in models] if beside else [TableColumn("value", "share")]
    return Table(name, title, columns, rows, [*_score_notes(scores), *notes, *filter(None, (foot,))])


def _short_groups(groups: Sequence[str | None]) -> tuple[dict[str, str], str]:
    """What a table calls the groups of its column, and the line that says what short names of generators stand for."""
    values = {one: one.partition("=")[2] for one in groups if one}
    generated = any(one.startswith("how=") for one in values)
    short = short_names(list(values.values())) if generated else {one: one for one in values.values()}
    return {one: short[value] for one, value in values.items()}, foot_of(short).replace("\n", "; ")


def _score_cell(score: Score | None) -> TableCell:
    if score is None:
        return TableCell(None)
    return TableCell(score.value, score.low, score.high, unit="share" if score.unit == "share" else "number")


def _score_notes(scores: Sequence[Score]) -> list[str]:
    confidence = numbers.confidence(scores)
    kinds = ", ".join(one.name for one in numbers.intervals(scores))
    notes = ["Shares in per cent."]
    if confidence:
        notes.append(f"In brackets: {confidence} % intervals ({kinds}) over {numbers.resampled(scores) or 'cluster'}s.")
    return notes


def _comparison(
    folder: RunFolder,
    models: Sequence[str],
    notes: Sequence[str],
    absent: dict[str, str],
    answers: int,
    most: int | None,
) -> Iterable[Table]:
    """Pairs of models: all of them, or of many models each against the first, which flips least."""
    if len(models) < 2:
        absent["comparison"] = "there is one model"
        return
    pairs = list(combinations(models, 2)) if len(models) <= _PAIRS else [(models[0], one) for one in models[1:]]
    if most is not None and len(pairs) * 2 * answers / len(models) > most:
        pairs = [(models[0], one) for one in models[1:]]
    if most is not None and len(pairs) * 2 * answers / len(models) > most:
        absent["comparison"] = f"{answers:,} answers take a while: otherwords compare RUN, or report RUN --tables DIR"
        return
    found = [compare(folder.path, models=list(pair), **_settings(folder)) for pair in pairs]
    yield comparison_table(*found, notes=notes)


def comparison_table(*pairs: Sequence[Difference], notes: Sequence[str] = ()) -> Table:
    """Pairs of models and their differences, metric by metric."""
    rows: list[Any] = []
    for found in pairs:
        rows += [f"{found[0].model} − {found[0].other}", *map(_difference_row, found)]
    columns = [TableColumn("metric"), TableColumn("first", "share"), TableColumn("second", "share")]
    columns += [TableColumn("difference", "share"), TableColumn("p", "p"), TableColumn("p (maxT)", "p")]
    remarks = difference_notes([one for found in pairs for one in found])[:2]
    remarks += ["p (maxT) is adjusted for the metrics of one pair, not for the pairs."] if len(pairs) > 1 else []
    return Table("comparison", "Models compared", columns, rows, [*remarks, *notes])


def _difference_row(one: Difference) -> list[Any]:
    unit: Unit = "share" if one.unit == "share" else "number"
    both = [TableCell(value, unit=unit) for value in (one.value, one.other_value)]
    difference = TableCell(one.difference, one.low, one.high, unit=unit)
    return [numbers.meaning(one.metric)[0], *both, difference, one.p, one.p_maxt]


def _settings(folder: RunFolder) -> dict[str, Any]:
    """How the run's own scores were made."""
    study: Mapping[str, Any] = folder.manifest.get("study") or {}
    return {name: study[name] for name in ("seed", "replicates", "confidence", "interval") if name in study}


def _file(name: str) -> str:
    """A name of a metric or column as part of a file's."""
    return "".join(one if one.isalnum() and one.isascii() else "_" for one in name).strip("_") or ("x" if name else "")


# Figures


def _score_bars(scores: Sequence[Score], models: Sequence[str]) -> Iterable[Figure]:
    """The metrics that are shares, over all data, as bars with their intervals; of many metrics, the usual ones."""
    own = [one for one in scores if one.unit == "share" and one.group is None and ":" not in one.metric]
    if len({one.metric for one in own}) > _MANY:
        own = [one for one in own if one.metric in numbers.MEANINGS]
    if not any(one.value is not None for one in own):
        return
    series = [
        Series(
            model,
            [Point(numbers.meaning(one.metric)[0], one.value, one.low, one.high) for one in own if one.model == model],
        )
        for model in models
    ]
    note = f"Bars of error: {numbers.confidence(own)} % intervals." if numbers.confidence(own) else ""
    yield Figure("scores", "Scores", "bars", [Panel("", series)], y=Axis("share", "share"), note=note)


def _wordings(bars: Sequence[plot.Bar], absent: dict[str, str]) -> Iterable[Figure]:
    """How many problems of each model are always right, depend on the wording, or are always wrong."""
    if not bars:
        absent["wordings"] = "no problem has two answered wordings"
        return
    series = [
        Series(bar.model, [Point(part.label, part.number / bar.total) for part in bar.segments()]) for bar in bars
    ]
    title = "Problems by what the model answers to their wordings"
    yield Figure("wordings", title, "bars", [Panel("", series)], y=Axis("problems", "share"))


def _curve_and_plane(
    folder: RunFolder, models: Sequence[str], known: bool, constant: Sequence[str], into: RunExhibits
) -> Iterable[Figure]:
    """Pattern accuracy by threshold, and the plane of accuracy and consistency: where right answers are known."""
    from ..pipeline import score

    if not known:
        into.absent.update(dict.fromkeys(("pa-curve", "plane"), "no right answers are known"))
        return
    found = score(folder.path, [*_PLANE, _CURVE], **_settings(folder))
    measured = [one for one in found if one.value is not None and one.model in models]
    curves = [_curve([one for one in measured if one.model == model]) for model in models]
    x, y = Axis("share of rewordings that must be right", "share"), Axis("problems", "share")
    panel = Panel("", [one for one in curves if one.points], marks=[Mark(0.9, "90 %")])
    if panel.series:
        yield Figure("pa-curve", "Pattern accuracy by threshold", "curves", [panel], x, y)
    points = [Series(model, _place([one for one in measured if one.model == model])) for model in models]
    if not any(one.points for one in points):
        into.absent["plane"] = "no problem has two answered rewordings"
        return
    places = {one.name: one.points[0] for one in points if one.points and one.name not in constant}
    front = pareto({name: (float(one.x), one.y or 0.0) for name, one in places.items()})
    into.front.extend(name for name in models if name in front)
    line = sorted((places[name] for name in front), key=lambda one: (one.x, -(one.y or 0.0)))
    guide = [Series("Pareto front", [Point(one.x, one.y) for one in line])] if len(line) > 1 else []
    yield consistency_plane("plane", "Accuracy and consistency", [Panel("", points, guide)])


def _curve(scores: Sequence[Score]) -> Series:
    own = [one for one in scores if one.metric.startswith(f"{_CURVE}:")]
    points = [Point(float(one.metric.partition(":")[2]), one.value, one.low, one.high) for one in own]
    return Series(scores[0].model if scores else "", points)


def _place(scores: Sequence[Score]) -> list[Point]:
    """Where a model is in the plane, with both intervals."""
    by_name = {one.metric: one for one in scores}
    if not all(name in by_name for name in _PLANE):
        return []
    across, up = (by_name[name] for name in _PLANE)
    return [Point(across.value or 0.0, up.value, up.low, up.high, across.low, across.high)]
