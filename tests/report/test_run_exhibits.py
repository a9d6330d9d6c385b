"""The tables and figures of a run are its scores, and say what it cannot give."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import Score, Task
from otherwords.report import browse
from otherwords.report import run_exhibits as exhibits_of_a_run
from otherwords.report.page import write_report
from otherwords.report.reading import count_answers, finished_run
from otherwords.report.run_exhibits import RunExhibits, beyond_scores, run_exhibits, write_run_exhibits

MODELS = ["first=scripted(seed=1)", "second=scripted(seed=2)", "constant=scripted(otherwise=entailment)"]


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few clusters


def suite(path: Path, labelled: bool = True) -> str:
    """Twelve problems, each with two rewordings of two kinds."""
    labels = ("entailment", "neutral", "contradiction")
    with path.open("w", encoding="utf-8") as file:
        for i, how in ((i, how) for i in range(12) for how in ("", "short", "long")):
            row = {"id": f"{i}{how}", "premise": f"It is wet in {i}, {how}.", "hypothesis": "It is dry."}
            row |= {"label": labels[i % 3]} if labelled else {}
            file.write(json.dumps(row | ({"of": str(i), "how": how} if how else {})) + "\n")
    return str(path)


def finished(folder: Path, labelled: bool = True, **changes: Any) -> Path:
    data = [suite(folder.parent / "data.jsonl", labelled)]
    study: dict[str, Any] = {
        "data": data,
        "models": MODELS,
        "check": [],
        "canary": False,
        "cache": False,
        "replicates": 100,
    }
    ow.run(ow.Study(**{**study, **changes}), out=folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("run") / "run", by=["how"])


@pytest.fixture(scope="module")
def found(run: Path) -> RunExhibits:
    return run_exhibits(run)


def scores(run: Path) -> list[Score]:
    return [Score(**row) for row in json.loads((run / "scores.json").read_text())]


def test_a_run_has_all_of_them(found: RunExhibits) -> None:
    assert [one.name for one in found.tables] == ["scores", "scores-by-how", "comparison"]
    assert [one.name for one in found.figures] == ["scores", "wordings", "pa-curve", "plane"]
    assert found.absent == {"substitutions": "fewer than 5 substitutions occur in 2 clusters or more"}


def test_the_table_has_every_score_with_its_interval(run: Path, found: RunExhibits) -> None:
    rows = list(csv.reader(found.tables[0].csv().splitlines()))
    numbers = {cell for row in rows[1:] for cell in row[1:] if cell}
    known = [one for one in scores(run) if one.group is None]
    assert {repr(end) for one in known for end in (one.value, one.low, one.high) if end is not None} == numbers


def test_a_model_with_one_answer_comes_last_and_is_named(found: RunExhibits) -> None:
    for table in found.tables:
        assert any(note.startswith("constant gives one answer, entailment") for note in table.notes)
    assert [column.name for column in found.tables[0].columns][-1] == "constant"


def test_figures_show_the_scores(run: Path, found: RunExhibits) -> None:
    known = {(one.model, one.metric): one for one in scores(run) if one.group is None}
    bars, _, curve, plane = found.figures
    for series in bars.panels[0].series:
        values = {point.x: (point.y, point.low, point.high) for point in series.points}
        flips = known[series.name, "flip_rate"]
        assert values["Flip rate"] == (flips.value, flips.low, flips.high)
    for series in curve.panels[0].series:
        at = {point.x: point.y for point in series.points}
        assert at[0.9] == known[series.name, "pa"].value
    for series in plane.panels[0].series:
        assert series.points[0].y == known[series.name, "p_c"].value


def test_all_pairs_are_compared(found: RunExhibits) -> None:
    headings = [row for row in found.tables[2].rows if isinstance(row, str)]
    assert len(headings) == 3
    assert all(one.endswith("− constant") for one in headings[1:])


def test_of_many_models_each_has_a_row_and_is_compared_with_the_first(
    run: Path, found: RunExhibits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhibits_of_a_run, "_SIDE_BY_SIDE", 2)
    monkeypatch.setattr(exhibits_of_a_run, "_PAIRS", 2)
    some = run_exhibits(run)
    assert [column.name for column in some.tables[0].columns] == ["model", "value"]
    assert len(some.tables[0].cells) == 3 * len(found.tables[0].cells)
    headings = [row for row in some.tables[2].rows if isinstance(row, str)]
    first = found.tables[0].columns[1].name
    assert [one.partition(" − ")[0] for one in headings] == [first, first]


def test_what_a_run_cannot_give_is_named_with_the_reason(tmp_path: Path) -> None:
    some = run_exhibits(finished(tmp_path / "run", labelled=False, models=MODELS[:1]))
    unknown = "no right answers are known"
    few = "fewer than 5 substitutions occur in 2 clusters or more"
    absent = {"comparison": "there is one model", "pa-curve": unknown, "plane": unknown, "substitutions": few}
    assert some.absent == absent
    assert [one.name for one in some.figures] == ["scores", "wordings"]


def test_numbers_that_are_no_shares_stay_numbers(tmp_path: Path) -> None:
    some = run_exhibits(finished(tmp_path / "run", models=MODELS[:1], metrics=["fleiss_kappa", "flip_directions"]))
    [score] = [one for one in scores(tmp_path / "run") if one.metric == "fleiss_kappa"]
    assert f"{score.value:.3f}".replace("-", "\u2212") in some.tables[0].markdown()
    assert [one.name for one in some.tables] == ["scores", "scores-flip_directions"]


def test_what_is_read_is_not_written(run: Path) -> None:
    before = sorted(run.rglob("*"))
    for folder in (run, run / "answers"):
        with refuses(BadInput):
            write_run_exhibits(run, folder)
    assert sorted(run.rglob("*")) == before


# What a page has of them


def large(folder: Path, **changes: Any) -> Path:
    """Thirty problems, each with three words put for another: enough to compare models, and substitutions."""
    rows = []
    for i in range(30):
        row = {"id": f"{i}", "premise": f"A man in {i} runs.", "hypothesis": "It is dry.", "label": "neutral"}
        rows.append(row)
        for word in ("person", "guy", "male", "boy", "chap", "fellow"):
            rows.append({**row, "id": f"{i}{word}", "of": f"{i}", "premise": f"A {word} in {i} runs.", "how": "x"})
    study = {"data": [rows], "models": MODELS, "check": [], "canary": False, "cache": None, "replicates": 100}
    ow.run(ow.Study(**{**study, **changes}), out=folder)
    return folder


@pytest.fixture(scope="module")
def large_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large(tmp_path_factory.mktemp("large") / "run")


def test_the_page_compares_models_as_the_table_does(large_run: Path) -> None:
    page = (large_run / "report.html").read_text(encoding="utf-8")
    tables = {one.name: one for one in run_exhibits(large_run).tables}
    assert tables["comparison"].html() in page
    assert tables["substitutions"].html() in page
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" role="img"') == 2
    assert "(Westfall and Young 1993)" in page


def test_the_front_is_who_is_not_beaten_in_both(large_run: Path) -> None:
    folder, _ = finished_run(large_run)
    about = count_answers(folder.batches("answers"))
    task = Task(**folder.manifest["task"])
    wordings = browse.look_up(None, folder.batches("answers"), folder.batches("buckets"), task)
    found = beyond_scores(folder, ["first", "second", "constant"], about, wordings)
    [plane] = [one for one in found.figures if one.name == "plane"]
    places = {one.name: (one.points[0].x, one.points[0].y) for one in plane.panels[0].series}
    assert places["constant"][1] == 1, "one answer to everything is as consistent as can be"
    beaten = {a for a in ("first", "second") for b in ("first", "second") if a != b
              and all(x <= y for x, y in zip(places[a], places[b], strict=True))}  # fmt: skip
    assert found.front == [one for one in ("first", "second") if one not in beaten], "and it is not on the front"
    guides = [one.name for one in plane.panels[0].guides]
    assert ("Pareto front" in guides) == (len(found.front) > 1)
    if len(found.front) > 1:
        assert plane.inline()


def test_a_page_does_not_compare_on_few_clusters_nor_too_many_answers(
    run: Path, large_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = (run / "report.html").read_text(encoding="utf-8")
    assert "Not compared: 12 clusters are too few to tell models apart, 20 or more are needed." in small
    assert 'aria-label="Models compared"' not in small
    monkeypatch.setattr("otherwords.report.page.MOST_COMPARED", 500)
    folder, every = finished_run(large_run)
    page = write_report(folder, every, large_run.parent / "page.html").read_text(encoding="utf-8")
    assert "Not compared: 630 answers take a while: otherwords compare RUN" in page
    monkeypatch.setattr("otherwords.report.page.MOST_COMPARED", 840)  # two pairs fit, three do not
    page = write_report(folder, every, large_run.parent / "page.html").read_text(encoding="utf-8")
    assert page.count('scope="rowgroup"') == 2 + 3  # of two pairs, and of the substitutions of three models
