"""The tables and figures of a run: its scores, its models compared, and what can be drawn of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from ..answers.groups import constant_answers
from ..problem import ALL_MODELS, Score
from ..scoring.compare import compare
from ..scoring.difference import Difference
from ..scoring.layout import difference_notes, foot_of
from ..storage.run_folder import RunFolder
from ..storage.specs import short_names
from . import numbers, plot
from .exhibits import refuse_unusable, write_exhibits
from .figures import Axis, Figure, Mark, Panel, Point, Series, consistency_plane
from .page import count_answers, finished_run
from .tables import Table, TableCell, TableColumn, Unit

#: Models that stand side by side in a table; of more, each has a row. Models up to which all pairs are compared.
_SIDE_BY_SIDE, _PAIRS = 4, 6
#: Metrics above which a figure of all of them says little.
_MANY = 12
#: The accuracy that belongs to P_C, and the whole curve of pattern accuracy.
_PLANE, _CURVE = ("accuracy_buckets", "p_c"), "pa_curve"


@dataclass(frozen=True)
class RunExhibits:
    """What a run gives, and by name what it cannot give, with the reason."""

    tables: list[Table]
    figures: list[Figure]
    absent: dict[str, str]


def write_run_exhibits(run: str | Path, folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Write the tables and figures of a finished run into a folder; give the files, and what is not there and why."""
    refuse_unusable(folder, run)
    found = run_exhibits(run)
    return write_exhibits(folder, found.tables, found.figures, run), found.absent


def run_exhibits(run: str | Path) -> RunExhibits:
    """All tables and figures of a finished run."""
    folder, every = finished_run(run)
    with folder.naming_damage():
        about = count_answers(folder.batches("answers"))
    scores = [one for one in every if one.model != ALL_MODELS]
    constant = constant_answers(about.given)
    bars = [bar for model in dict.fromkeys(one.model for one in scores) if (bar := about.flips.bar(model)).total]
    models = plot.ranked(list(dict.fromkeys(one.model for one in scores)), scores, bars, constant)
    scores.sort(key=lambda one: models.index(one.model))
    notes = list(filter(None, (plot.one_answer_note(constant),)))
    absent: dict[str, str] = {}
    tables = [*_score_tables(scores, models, notes), *_comparison(folder, models, notes, absent)]
    figures = [*_score_bars(scores, models), *_wordings(sorted(bars, key=lambda bar: models.index(bar.model)), absent)]
    figures += _curve_and_plane(folder, models, any(bar.known for bar in bars), absent)
    return RunExhibits(tables, figures, absent)


# Tables


def _score_tables(scores: Sequence[Score], models: Sequence[str], notes: Sequence[str]) -> Iterable[Table]:
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
    folder: RunFolder, models: Sequence[str], notes: Sequence[str], absent: dict[str, str]
) -> Iterable[Table]:
    """Pairs of models: all of them, or of many models each against the first, which flips least."""
    if len(models) < 2:
        absent["comparison"] = "there is one model"
        return
    pairs = list(combinations(models, 2)) if len(models) <= _PAIRS else [(models[0], one) for one in models[1:]]
    rows: list[Any] = []
    every: list[Difference] = []
    for pair in pairs:
        found = compare(folder.path, models=list(pair), **_settings(folder))
        rows += [f"{pair[0]} − {pair[1]}", *map(_difference_row, found)]
        every += found
    columns = [TableColumn("metric"), TableColumn("first", "share"), TableColumn("second", "share")]
    columns += [TableColumn("difference", "share"), TableColumn("p", "p"), TableColumn("p (maxT)", "p")]
    pairwise = ["p (maxT) is adjusted for the metrics of one pair, not for the pairs."] if len(pairs) > 1 else []
    yield Table("comparison", "Models compared", columns, rows, [*difference_notes(every)[:2], *pairwise, *notes])


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


def _curve_and_plane(folder: RunFolder, models: Sequence[str], known: bool, absent: dict[str, str]) -> Iterable[Figure]:
    """Pattern accuracy by threshold, and the plane of accuracy and consistency: where right answers are known."""
    from ..pipeline import score

    if not known:
        absent |= dict.fromkeys(("pa-curve", "plane"), "no right answers are known")
        return
    found = score(folder.path, [*_PLANE, _CURVE], **_settings(folder))
    measured = [one for one in found if one.value is not None and one.model in models]
    curves = [_curve([one for one in measured if one.model == model]) for model in models]
    x, y = Axis("share of rewordings that must be right", "share"), Axis("problems", "share")
    panel = Panel("", [one for one in curves if one.points], marks=[Mark(0.9, "90 %")])
    if panel.series:
        yield Figure("pa-curve", "Pattern accuracy by threshold", "curves", [panel], x, y)
    points = [Series(model, _place([one for one in measured if one.model == model])) for model in models]
    if any(one.points for one in points):
        yield consistency_plane("plane", "Accuracy and consistency", [Panel("", points)])
    else:
        absent["plane"] = "no problem has two answered rewordings"


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
