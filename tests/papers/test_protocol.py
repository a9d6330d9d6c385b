"""The frame of a paper's protocol: settings, data, cells that are never repeated, the dry run, and what is written."""

from __future__ import annotations

import re
import subprocess
import sys

import browsing
import polars as pl
import pytest

from otherwords.errors import BadInput, OtherwordsError
from otherwords.papers import protocol
from otherwords.papers.paper_page import write_results
from otherwords.papers.protocol import PaperResults, PaperSettings, Protocol, find_protocol, run_paper
from otherwords.pipeline import score
from otherwords.report.figures import Axis, Figure, Panel, Series
from otherwords.report.tables import Table, TableCell, TableColumn


class FlipSettings(PaperSettings):
    generator: str = "contractions"


class Flips(Protocol[FlipSettings]):
    """A made-up paper with two tables and a figure: the flip rate of each model on each data set."""

    name, title, bibtex, methods = "flips", "Flips <of> a paper", "@article{flips}", "Models are asked twice."
    exhibits = ("Table 1", "Table 2", "Figure 1")
    kind = FlipSettings
    quick_size = 20

    def planned(self):
        return [self.cell(name, [name], vary=[self.settings.generator]) for name in self.settings.datasets]

    def results(self):
        rows, bars = [], []
        for cell, name in zip(self.planned(), self.settings.datasets, strict=True):
            for one in score(self.run(cell), ["flip_rate"]):
                rows.append([name, one.model, TableCell(one.value, one.low, one.high)])
                bars.append(Series.of(one.model, [name], [one.value], [one.low], [one.high]))
        columns = [TableColumn("data"), TableColumn("model"), TableColumn("flip rate", "share")]
        figure = Figure("figure-1", "Flips", "bars", [Panel("", bars)], y=Axis("flip rate", "share"))
        return PaperResults(
            {"Table 1": [Table("table-1", "Flips", columns, rows)]}, {"Figure 1": [figure]},
            {"Table 2": "no verdicts"}, ("nothing is reworded twice",), "The answers hold.",
        )  # fmt: skip


SETTINGS = {
    "datasets": {"everyday": {"data": "everyday", "size": 30}},
    "models": {"bow": "scripted", "other": {"model": "scripted(seed=2)", "family": "script"}},
    "cache": None,
    "canary": False,
}


def test_a_protocol_leaves_tables_figures_and_a_page(tmp_path):
    outcome = run_paper(Flips, SETTINGS, out=tmp_path / "flips")
    files = {path.relative_to(tmp_path / "flips").as_posix() for path in (tmp_path / "flips").rglob("*.*")}
    expected = {"tables/table-1.md", "tables/table-1.csv", "tables/table-1.tex", "figures/figure-1.svg", "report.html"}
    assert files >= {*expected, "figures/figure-1.json", "experiment.toml", "data/everyday.parquet"}
    page = (tmp_path / "flips" / "report.html").read_text()
    assert "Flips &lt;of&gt; a paper" in page
    assert "no verdicts" in page
    assert "The answers hold." in page
    runs = re.findall('<a href="(cells/[^"]*)">', page)
    assert runs
    assert all((tmp_path / "flips" / one).is_file() for one in runs), "each run has a report to browse"
    assert "No printed value stands beside one of these" in page
    signed = re.findall("<code>([^<]*)</code>", page.partition('id="signatures"')[2])
    assert any(one.startswith("contractions.v1(") for one in signed)
    assert any(one.startswith("scripted.v1(") for one in signed)
    assert outcome.results is not None
    assert len(outcome.results.tables["Table 1"][0].rows) == 2
    assert pl.read_parquet(tmp_path / "flips" / "data" / "everyday.parquet").height == 30


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_everybody_can_use_the_page_of_a_paper(browser, tmp_path, width, dark):
    panels = [Panel(f"panel {n}", [Series.of("m", ["a"], [0.5])]) for n in range(3)]
    wide = Figure("figure-1", "Three panels", "bars", panels, y=Axis("share", "share"))
    results = PaperResults({}, {"Figure 1": [wide]}, {"Table 1": "no data"}, (), "A line.")
    about = {"title": "T", "methods": "M " * 50, "bibtex": "@article{key, title = {" + "long " * 40 + "}}", "seed": 1,
             "exhibits": ("Figure 1",), "datasets": {"d": 1}, "models": {"m": "m"},
             "command": "otherwords " * 20}  # fmt: skip
    page = write_results(tmp_path, results, about)
    with browsing.opened(browser, page, width=width, dark=dark) as visit:
        assert browsing.serious_faults(visit.page) == []
        assert not browsing.too_wide(visit.page)
        drawn = visit.page.evaluate("document.querySelector('figure svg').getBoundingClientRect().width")
        assert drawn > 600, "letters keep their size: the figure is scrolled sideways"
        assert visit.complaints == []
        assert visit.beyond("file://", "data:") == []


def test_finished_cells_are_not_run_again_and_a_new_model_is_added(tmp_path, monkeypatch):
    run_paper(Flips, SETTINGS, out=tmp_path / "flips")
    before = (tmp_path / "flips" / "report.html").read_bytes()
    monkeypatch.setattr(protocol, "run", lambda *_, **__: pytest.fail("a finished cell was run"))
    run_paper(Flips, out=tmp_path / "flips")
    assert (tmp_path / "flips" / "report.html").read_bytes() == before
    monkeypatch.undo()
    more = {**SETTINGS, "models": {**SETTINGS["models"], "third": "scripted(seed=3)"}}
    outcome = run_paper(Flips, more, out=tmp_path / "flips")
    assert [row[1] for row in outcome.results.tables["Table 1"][0].rows] == ["bow", "other", "third"]


def test_a_folder_that_was_moved_goes_on(tmp_path, monkeypatch):
    run_paper(Flips, SETTINGS, out=tmp_path / "flips")
    (tmp_path / "flips").rename(tmp_path / "moved")
    more = {**SETTINGS, "models": {**SETTINGS["models"], "third": "scripted(seed=3)"}}
    with monkeypatch.context() as patch:
        patch.setattr(protocol, "run", lambda *_, **__: pytest.fail("a finished cell was run"))
        run_paper(Flips, out=tmp_path / "moved")
    outcome = run_paper(Flips, more, out=tmp_path / "moved")
    assert [row[1] for row in outcome.results.tables["Table 1"][0].rows] == ["bow", "other", "third"]


def test_another_experiment_in_the_folder_is_refused(tmp_path):
    run_paper(Flips, SETTINGS, out=tmp_path / "flips")
    with pytest.raises(BadInput, match="contains another experiment: generator is"):
        run_paper(Flips, {**SETTINGS, "generator": "structural"}, out=tmp_path / "flips")


def test_a_dry_run_counts_without_results(tmp_path):
    outcome = run_paper(Flips, SETTINGS, out=tmp_path / "flips", dry_run=True)
    assert outcome.estimate.problems == 30
    assert outcome.estimate.answers >= 60
    assert outcome.estimate.requests == 0
    assert not (tmp_path / "flips" / "report.html").exists()
    assert not (tmp_path / "flips" / "cells").exists()


def test_quick_takes_fewer_problems(tmp_path):
    run_paper(Flips, SETTINGS, out=tmp_path / "flips", quick=True)
    assert pl.read_parquet(tmp_path / "flips" / "data" / "everyday.parquet").height == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": {"no": "no-such-model"}}, "no-such-model"),
        ({"models": {"a/b": "scripted"}}, "found 'a/b'"),
        ({"datasets": {"x": "nowhere.jsonl"}}, "nowhere.jsonl"),
        ({"datasets": {"x": {"data": "everyday", "where": {"split": "none"}}}}, "no rows left"),
        ({"generators": "contractions"}, "no such setting"),
    ],
)
def test_bad_settings_are_refused_before_any_work(tmp_path, change, message):
    with pytest.raises(Exception, match=message):
        run_paper(Flips, {**SETTINGS, **change}, out=tmp_path / "flips")
    assert not (tmp_path / "flips").exists()


# File, key, and what would work, before any work


def in_toml(folder, paper: str, changes: dict[str, str]):
    """The template of a paper with something of it changed."""
    text = find_protocol(paper).template()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("paper", "changes", "found"),
    [
        ("paranlu", {"seed = 1": "sead = 2"}, "mine.toml: sead: no such setting; did you mean seed?"),
        (
            "paranlu",
            {'data = "everyday" ': 'data = "none.jsonl" '},
            "mine.toml: datasets.everyday.data: none.jsonl: no",
        ),
        (
            "paranlu",
            {'# regressor = "hf:FOLDER"': 'regressor = "hf:/none"'},
            "mine.toml: regressor: hf:/none: no folder",
        ),
        ("paranlu", {'judge = "nli-small"': 'judge = "nobody"'}, "mine.toml: judge: no models named 'nobody'"),
        ("paranlu", {'how = "none"': 'how = "sample"\nn = 200'}, "mine.toml: datasets.everyday: select.n: too few"),
        ("paranlu", {'how = "none"': 'how = "sample"\nby = "kind"'}, "mine.toml: datasets.everyday: select.by: no col"),
        ("paranlu", {'model = "bag_of_words"': 'model = "hf:/none"'}, "mine.toml: models.bag-of-words: hf:/none: no f"),
        ("paranlu", {'generator = "recorded"': 'paraphrases = "no.csv"'}, "paraphrases: no.csv: no such file"),
        (
            "sensitivity",
            {"# distilled_from": "distilled_from"},
            "mine.toml: models.nli-small.distilled_from: no other mo",
        ),
        (
            "parte",
            {'data = "everyday"': 'data = "blank.jsonl"', 'source_column = ""': 'source_column = "kind"'},
            "mine.toml: datasets.everyday: source_column: 'p0' has no value for 'kind'; fill",
        ),
        (
            "paranlu",
            {
                'data = "everyday"': 'data = "blank.jsonl"',
                '"recorded"': '"contractions"',
                'how = "none"': 'how = "sample"\nn = 1\nby = "kind"',
            },
            "mine.toml: datasets.everyday: select.by: 'p0' has no value for 'kind'; fill",
        ),
        (
            "paranlu",
            {'testset = {data = "everyday(split=train)"}': 'testset = {data = "none.jsonl"}'},
            "mine.toml: datasets.everyday.testset: none.jsonl: no such file",
        ),
        (
            "paranlu",
            {'testset = {data = "everyday(split=train)"}': 'testset = {data = "everyday", where = {a = "b"}}'},
            "mine.toml: datasets.everyday.testset: where.a: no such column",
        ),
        ("parte", {'verify = ["stack"]': 'verify = ["human:none.csv"]'}, "mine.toml: verify: none.csv: no such file"),
        ("parte", {'source_column = ""': 'source_column = "from"'}, "mine.toml: datasets.everyday: source_column: no"),
        (
            "parte",
            {"# label_map": "label_map = {a = 'maybe'} #"},
            "mine.toml: models.nli-small.label_map: 'maybe' is no",
        ),
        ("merge", {'counts = "reached"': 'corrected = "none.csv"'}, "mine.toml: corrected: none.csv: no such file"),
        ("merge", {'classes = ["noun"': 'classes = ["pronoun"'}, "mine.toml: classes: no 'pronoun'; available: noun"),
        ("sensitivity", {'judge = "nli-small"': 'judge = "nli"'}, "mine.toml: judge: no models named 'nli'"),
        ("sensitivity", {'data = "everyday"': 'task = "d-nli"\ndata = "everyday"'}, "mine.toml: datasets.everyday"),
    ],
)
def test_what_is_wrong_names_file_and_key(tmp_path, monkeypatch, paper, changes, found):
    pytest.importorskip("spacy")  # for what the templates of three papers name
    row = {"premise": "A dog runs.", "hypothesis": "It moves.", "label": "neutral"}
    blank = [{"id": f"p{number}", **row, "kind": kind} for number, kind in enumerate(["", "a", "a"])]
    pl.DataFrame(blank).write_ndjson(tmp_path / "blank.jsonl")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OtherwordsError) as caught:
        run_paper(find_protocol(paper), in_toml(tmp_path, paper, changes), out=tmp_path / "out")
    assert found in str(caught.value).replace(f"{tmp_path}/", "")
    assert not (tmp_path / "out").exists()


def test_an_extra_that_is_not_installed_is_named_up_front(tmp_path):
    """The templates of three papers need spaCy; nothing is begun without it. In a process without it."""
    code = """
import sys
sys.modules["spacy"] = None
from pathlib import Path
from otherwords.errors import MissingExtra
from otherwords.papers.protocol import find_protocol, run_paper
for paper in ("merge", "parte", "sensitivity"):
    try:
        run_paper(find_protocol(paper), out=Path(sys.argv[1]), quick=True)
    except MissingExtra as error:
        print(paper, "pip install 'otherwords[spacy]'" in str(error), Path(sys.argv[1]).exists())
"""
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["merge True False", "parte True False", "sensitivity True False", ""]
