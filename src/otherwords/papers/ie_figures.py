"""The figures and tables of the IE test's paper for any experiment: as data, pictures and text, in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import polars as pl

from ..problem import rounded
from ..report.drawing import finite
from ..report.figures import Axis, Figure, Mark, Panel, Point, Series
from ..scoring.layout import p_value
from ..storage import tables
from ..storage.files import write_text
from .ie_results import JUDGED, IEResults, hyperparameters, names_of_tests
from .ie_samples import RUN

#: Substitutions in Figure 8, and examples in a table of texts; the files have all hard cases.
_TOP, _EXAMPLES = 20, 4
#: Settings up to which the summary has a line for each, and the letters in a line of its notes.
_LINES, _WIDTH = 120, 110
#: The tests that decide each setting, by what they are called.
_TESTS = {
    "paper": "paper's null",
    "released": "released null",
    "exact": "exact null",
    "mcnemar": "McNemar",
    "cochran": "Cochran's Q",
    "clustered": "clusters swapped whole",
}
#: What differs from machine to machine: kept apart, so that the same experiment gives the same files.
TIMINGS = ("seconds",)


class Exhibit(NamedTuple):
    """A figure or table: the name of its files, what it is in the paper, its title, its data, and its picture.

    `shown` is the part that the page shows as text, where that is not all of the data.
    """

    name: str
    paper: str
    title: str
    frame: pl.DataFrame
    svg: str = ""
    shown: pl.DataFrame | None = None


class Absent(NamedTuple):
    """A figure or table of the paper that this experiment cannot have, and why."""

    paper: str
    why: str


def exhibits(found: IEResults) -> list[Exhibit | Absent]:
    """Every figure and table of the paper, in its order: what the experiment gives, or why it gives none."""
    makers: Sequence[Callable[[IEResults], Iterable[Exhibit | Absent]]] = (
        _figure_3, _figures_4_and_5, _figures_6_and_7, _figure_8, _tables_1_and_16, _table_2, _tables_3_to_6,
        _tables_7_to_12, _tables_13_to_15, _tables_17_and_18,
    )  # fmt: skip
    return [one for make in makers for one in make(found)]


# The figures


def _figure_3(found: IEResults) -> Iterable[Exhibit]:
    """The smallest p-value of each setting, of the baseline alone where one is named."""
    some, settings = found.decisions, found.settings
    if settings.baseline in set(some["model"]):
        some = some.filter(pl.col("model") == settings.baseline)
    frame = some.select("dataset", "model", "rho", "runs", "smallest_p", "threshold", "rejected")
    limit = Mark(frame["threshold"].to_list()[0], f"rejected below {_level(found)}", "y")
    panels = [Panel(name, _curves(part, "model", "smallest_p"), marks=[limit]) for name, part in _parts(frame)]
    title = "Smallest p-value of the runs, by the share of transformed training items"
    figure = Figure("figure-3", title, "lines", panels, _RHO, Axis("smallest p", low=0.0))
    yield Exhibit("figure-3", "Figure 3", title, frame, figure.svg())


def _figures_4_and_5(found: IEResults) -> Iterable[Exhibit]:
    """Accuracies on the test set in both wordings, a panel per model; a figure per data set."""
    columns = ("accuracy_before", "accuracy_before_std", "accuracy_after", "accuracy_after_std")
    for dataset, part in _parts(found.decisions):
        frame = part.select("dataset", "model", "rho", *columns)
        panels = [
            Panel(model, [_curve(name, rows, column) for name, column in _SIDES.items()])
            for model, rows in _parts(frame, "model")
        ]
        title = f"{dataset}: accuracy on the original and on the transformed test set"
        name = _file("figure-4", dataset)
        figure = Figure(name, title, "lines", panels, _RHO, Axis("accuracy", "share"))
        yield Exhibit(name, "Figures 4 and 5", title, frame, figure.svg())


def _figures_6_and_7(found: IEResults) -> Iterable[Exhibit | Absent]:
    """Test statistics, and accuracies on the originals: a panel per data set, a curve per model."""
    for number, column, axis in ((6, "t", Axis("t")), (7, "accuracy_before", Axis("accuracy", "share"))):
        frame = found.decisions.select("dataset", "model", "rho", column, f"{column}_std")
        panels = [Panel(name, _curves(part, "model", column)) for name, part in _parts(frame)]
        title = "Test statistic of all models" if number == 6 else "Accuracy of all models on the original test set"
        if not any(finite(one) for one in frame[column]):
            yield Absent(f"Figure {number}", f"{axis.label} is infinite in all settings")
            continue
        figure = Figure(f"figure-{number}", title, "lines", panels, _RHO, axis)
        yield Exhibit(f"figure-{number}", f"Figure {number}", title, frame, figure.svg())


def _figure_8(found: IEResults) -> Iterable[Exhibit | Absent]:
    for dataset, profile in found.settings.profiles.items():
        rows = [one.__dict__ for one in profile.whole.substitutions]
        frame = pl.DataFrame(rows, schema=["before", "after", "count", "share"])
        title = f"{dataset}: the most frequent substitutions in the training data"
        if not rows:
            yield Absent("Figure 8", f"nothing was substituted in {dataset}")
            continue
        bars = [Point(f"{_words(one['before'])} → {_words(one['after'])}", one["share"]) for one in rows[:_TOP]]
        name, shares = _file("figure-8", dataset), Axis("share of all substitutions", "share")
        figure = Figure(name, title, "bars", [Panel("", [Series("", bars)])], y=shares)
        yield Exhibit(name, "Figure 8", title, frame, figure.svg(), frame.head(_TOP))
    if not found.settings.profiles:
        yield Absent("Figure 8", "no profile of the transformation was given")


def _words(words: str) -> str:
    """The words of a substitution; an alignment of texts may find some on one side alone."""
    return words or "(nothing)"


_RHO = Axis("share of transformed training items (rho)")
_SIDES = {"original": "accuracy_before", "transformed": "accuracy_after"}


def _parts(frame: pl.DataFrame, by: str = "dataset") -> list[tuple[str, pl.DataFrame]]:
    return [(part[by][0], part) for part in frame.partition_by(by, maintain_order=True)]


def _curves(frame: pl.DataFrame, by: str, column: str) -> list[Series]:
    return [_curve(name, part, column) for name, part in _parts(frame, by)]


def _curve(name: str, frame: pl.DataFrame, column: str) -> Series:
    """Means with their standard deviations as bars, where there are any."""
    rows = frame.sort("rho").select("rho", column, f"{column}_std" if f"{column}_std" in frame.columns else pl.lit(0.0))
    return Series(name, [Point(x, y, *((y - std, y + std) if std and finite(y) else ())) for x, y, std in rows.rows()])


def _file(name: str, of: str) -> str:
    return f"{name}-{re.sub(r'[^A-Za-z0-9._-]+', '_', of)}"


# The tables


def _tables_1_and_16(found: IEResults) -> Iterable[Exhibit]:
    for number, part in ((1, "train"), (16, "test")):
        frame = found.sound.filter(pl.col("part") == part).drop("part")
        title = f"Sound rewordings in the {part}ing set" if part == "train" else "Sound rewordings in the test set"
        yield Exhibit(f"table-{number}", f"Table {number}", title, frame)


def _table_2(found: IEResults) -> Iterable[Exhibit]:
    title = "Models by signal-to-noise ratio: mean over deviation of their accuracies on the original test set"
    yield Exhibit("table-2", "Table 2", title, found.snr)


def _tables_3_to_6(found: IEResults) -> Iterable[Exhibit | Absent]:
    """Pairs that were judged, sound ones and others."""
    judged = {name: frame.filter(pl.col("sound").is_not_null()) for name, frame in found.settings.judged.items()}
    for dataset, frame in judged.items():
        for number, sound, kind in ((3, True, "sound"), (4, False, "unsound")):
            some = frame.filter(pl.col("sound") == sound)
            if some.height:
                papers = "Tables 3 and 5" if sound else "Tables 4 and 6"
                title, name = f"{dataset}: {kind} transformations", _file(f"table-{number}", dataset)
                yield Exhibit(name, papers, title, some.drop("sound"), "", some.drop("sound").head(_EXAMPLES))
    if not any(frame.height for frame in judged.values()):
        yield Absent("Tables 3 to 6", "no pair was judged sound or unsound")


def _tables_7_to_12(found: IEResults) -> Iterable[Exhibit | Absent]:
    """The options that each model was trained with, by data set; with the space they were searched in, if any."""
    if "trainer" not in found.runs.columns:
        yield Absent("Tables 7 to 12", "the cells do not tell how their models were trained")
        return
    for model, part in _parts(found.runs.sort(RUN), "model"):
        frame = hyperparameters(part, found.settings.spaces.get(model, {}))
        searched = "found by search" if model in found.settings.spaces else "as given: there was no search"
        yield Exhibit(_file("table-7", model), "Tables 7 to 12", f"Hyperparameters of {model}, {searched}", frame)


def _tables_13_to_15(found: IEResults) -> Iterable[Exhibit | Absent]:
    """Lengths by label, and words that betray a label, before and after."""
    artifacts = []
    for dataset, profile in found.settings.profiles.items():
        whole = profile.whole
        frame = pl.DataFrame([one.__dict__ for one in whole.lengths])
        mean = "" if whole.words_changed is None else f", {whole.words_changed:.2f} words each"
        title = f"{dataset}: length in words; {100 * whole.share_changed:.1f} % of the training problems change{mean}"
        yield Exhibit(_file("table-13", dataset), "Tables 13 and 14", title, frame)
        artifacts += [{"dataset": dataset, **one.__dict__} for one in whole.artifacts]
    if found.settings.profiles:
        words = dict.fromkeys(("dataset", "corpus", "label", "word"), pl.String)
        frame = pl.DataFrame(artifacts, schema={**words, "before": pl.Float64, "after": pl.Float64})
        title = "Words that betray a label (Gururangan et al. 2018): share of its problems, where it changed"
        moved = frame.filter(pl.col("before") != pl.col("after"))
        yield Exhibit("table-15", "Table 15", title, frame, "", moved)
    else:
        yield Absent("Tables 13 to 15", "no profile of the transformation was given")


def _tables_17_and_18(found: IEResults) -> Iterable[Exhibit | Absent]:
    """How the labels of hard cases are distributed, and the cases themselves."""
    title = "Hard cases: right in the original, wrong after, for all models at some rho (run 1)"
    yield Exhibit("hard-cases", "Appendix C", title, found.hard_labels)
    for dataset, frame in _parts(found.hard):
        title = f"{dataset}: hard cases, those that fool most settings first"
        ordered = frame.sort("settings", "id", descending=[True, False])
        shown = ordered.group_by("gold", maintain_order=True).head(_EXAMPLES // 2).select(ordered.columns)
        yield Exhibit(_file("table-17", dataset), "Tables 17 and 18", title, ordered, "", shown)
    if not found.hard.height:
        yield Absent("Tables 17 and 18", "no item fooled all models")


# As text


def text(found: IEResults) -> str:
    """What a person reads at the end: a line per setting, then the ranking, hard cases, and what the words mean."""
    several = found.decisions.height > _LINES
    rows = _by_model(found) if several else _by_setting(found)
    notes = [
        line for note in _notes(found) for line in wrap(note, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    ]
    return "\n".join([*_aligned(rows), "", *notes, found.settings.signature])


def _by_setting(found: IEResults) -> list[list[str]]:
    head = ["data set", "model", "rho", "accuracy", "after", "drop", "flips", "by unsound", "smallest p", "decision"]
    rows = [
        [
            *(one["dataset"], one["model"], f"{one['rho']:g}"),
            *(rounded(one[name], "share") for name in ("accuracy_before", "accuracy_after", "drop")),
            *(rounded(one[name], "share") for name in ("label_flips", "unsound_drop")),
            p_value(one["smallest_p"]),
            _decision(one),
        ]
        for one in found.decisions.iter_rows(named=True)
    ]
    return [head, *rows]


def _by_model(found: IEResults) -> list[list[str]]:
    head = ["data set", "model", "values of rho", "rejected", "equivalent", "accuracy", "after", "flips", "by unsound"]
    means = ("accuracy_before", "accuracy_after", "label_flips", "unsound_drop")
    counts = {"settings": pl.len(), "rejected": pl.col("rejected").sum(), "equivalent": pl.col("equivalent").sum()}
    table = found.decisions.group_by("dataset", "model", maintain_order=True).agg(pl.col(means).mean(), **counts)
    rows = [
        [*(str(one[name]) for name in ("dataset", "model", *counts)), *(rounded(one[name], "share") for name in means)]
        for one in table.iter_rows(named=True)
    ]
    return [head, *rows]


def _decision(one: dict[str, Any]) -> str:
    """The decision in words; rejected and equivalent at once: a difference, though not one that matters."""
    if not one["reachable"]:
        decision = "too few changed items to reject"
    elif one["rejected"]:
        decision = "not invariant" + (", within the margin" if one["equivalent"] else "")
    else:
        decision = "equivalent" if one["equivalent"] else "not rejected"
    return decision + (f" ({one['collapsed']} of {one['runs']} collapsed)" if one["collapsed"] else "")


def _notes(found: IEResults) -> list[str]:
    settings, decisions = found.settings, found.decisions
    rejected, overall = int(decisions["rejected"].sum()), int(decisions["rejected_overall"].sum())
    tests = {f"rejected_{name}": _TESTS[name] for name in names_of_tests(found.runs)}
    others = ", ".join(f"{name} {int(decisions[column].sum())}" for column, name in tests.items())
    points = f"{100 * settings.margin:g} point{'s' * (settings.margin != 0.01)}"
    lines = [
        (
            f"decision: {rejected} of {decisions.height} settings reject equal accuracy: a run has p < {_level(found)} "
            f"({settings.null} null, Bonferroni). Over all settings together (Holm): {overall}."
        ),
        f"rejected by each test: {others}.",
        f"equivalent: accuracies within {points} in every run (TOST, p < {settings.alpha:g}).",
        (
            "accuracy, after: % right on the test set as it is and transformed, over all runs; drop: the difference. "
            "flips: % of answers that change, which the test does not see where they cancel."
        ),
        _unsound_note(found),
    ]
    if marked := int((found.runs["collapsed"] != "").sum()):
        lines.append(f"collapsed: {marked} of {found.runs.height} runs have one answer, or are at chance; they count.")
    return [*lines, *_rankings(found)]


def _level(found: IEResults) -> str:
    return " or ".join(f"{one:.3g}" for one in found.decisions["threshold"].unique().sort())


def _unsound_note(found: IEResults) -> str:
    drops = found.decisions.filter(pl.col("drop") >= 0)
    gains = found.decisions.height - drops.height
    explained = f"{int(drops['explained'].sum())} of {drops.height} drops are not larger"
    explained += f"; {gains} settings gain instead, which they do not explain" if gains else ""
    parts = []
    for one in found.sound.filter(pl.col("part") == "test").iter_rows(named=True):
        source = f"{one['pairs']} pairs judged" if one["source"] == JUDGED else one["source"]
        ends = f"{100 * one['wilson_low']:.1f}–{100 * one['wilson_high']:.1f}"
        parts.append(f"{one['dataset']} {100 * one['sound']:.1f} % sound [{ends}] ({source})")
    return f"by unsound: the drop that unsound rewordings alone would explain; {explained}. {'; '.join(parts)}."


def _rankings(found: IEResults) -> list[str]:
    best = found.snr.unique(["rank"], keep="first", maintain_order=True).sort("rank")
    ratios = ", ".join(
        f"{name} {'undefined (constant)' if ratio is None else f'{ratio:.1f}'}"
        for name, ratio in best.select("model", "average").rows()
    )
    hard = found.hard_labels.unique(["dataset"], keep="first", maintain_order=True)
    cases = "; ".join(
        f"{one['dataset']} {one['items']} ({100 * one['share_of_test']:.1f} %)" for one in hard.iter_rows(named=True)
    )
    return [f"signal-to-noise ratio: {ratios}.", f"hard cases, which fool every model at some rho: {cases}."]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other: names to the left, numbers to the right, the last one as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]))
    return lines


# As files


def write(found: IEResults, folder: Path) -> list[Path]:
    """Write all tables as CSV, figures also as SVG, and `results.md`; the seconds of each run go to `timings.csv`.

    Apart from that file, the same answers and settings give the same bytes. What the page of an earlier analysis in the
    folder names, and this one does not have, is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    former = _named_by(folder / "results.md")
    shown = exhibits(found)
    timings = [name for name in TIMINGS if name in found.runs.columns]
    frames = {"runs": found.runs.drop(timings), "decisions": found.decisions}
    frames |= {one.name: one.frame for one in shown if isinstance(one, Exhibit)}
    if timings:
        frames["timings"] = found.runs.select(*RUN, *timings)
    written = []
    for name, frame in frames.items():
        written.append(folder / f"{name}.csv")
        tables.write([frame], written[-1])
    for one in shown:
        if isinstance(one, Exhibit) and one.svg:
            written.append(folder / f"{one.name}.svg")
            write_text(written[-1], one.svg)
    for name, content in {"results.txt": text(found) + "\n", "results.md": page(found, shown)}.items():
        written.append(folder / name)
        write_text(written[-1], content)
    for name in former - {path.name for path in written}:
        (folder / name).unlink(missing_ok=True)
    return written


def _named_by(page: Path) -> set[str]:
    """The files beside a page of results that it links to, and the times of its runs."""
    if not page.is_file():
        return set()
    return {"timings.csv"} | set(
        re.findall(r"\]\(((?:figure|table)-[\w.-]+\.(?:csv|svg))\)", page.read_text(encoding="utf-8"))
    )


def page(found: IEResults, shown: Sequence[Exhibit | Absent]) -> str:
    """All results as one page of Markdown: the summary, then every figure and table, and those that there are not."""
    parts = ["# IE test: results", "", "```text", text(found), "```", ""]
    parts += [
        "All numbers: [runs.csv](runs.csv), a row per run; [decisions.csv](decisions.csv), a row per setting.",
        "",
    ]
    for one in shown:
        if isinstance(one, Absent):
            parts += [f"## {one.paper}", "", f"Not here: {one.why}.", ""]
            continue
        frame = one.frame if one.shown is None else one.shown
        part = "" if frame.height == one.frame.height else f" ({frame.height} of {one.frame.height} rows)"
        parts += [f"## {one.title}", "", f"{one.paper} of the paper; data: [{one.name}.csv]({one.name}.csv){part}", ""]
        parts += [f"![{one.title}]({one.name}.svg)", ""] if one.svg else []
        parts += [*_markdown(frame), ""]
    return "\n".join(parts)


def _markdown(frame: pl.DataFrame) -> list[str]:
    rows = [["" if value is None else _cell(value) for value in row] for row in frame.rows()]
    lines = [frame.columns, ["---"] * frame.width, *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _cell(value: Any) -> str:
    """A value in a table of Markdown: numbers to four digits, text on one line."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return " ".join(str(value).replace("|", "\\|").split())
