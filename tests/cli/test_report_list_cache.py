"""otherwords report, list and cache."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from pathlib import Path

import pytest

from otherwords.problem import TASKS
from otherwords.registry import KINDS

RUN = ("run", "--data", "problems.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "run", "-q")


@pytest.fixture
def run(cli, problems, place):
    cli(*RUN)
    return place / "run"


def test_the_report_is_rendered_again_from_the_folder(cli, run):
    page = (run / "report.html").read_text(encoding="utf-8")
    (run / "report.html").unlink()
    assert cli("report", "run").stdout == "run/report.html\n"
    assert (run / "report.html").read_text(encoding="utf-8") == page


def test_the_report_somewhere_else(cli, run, place):
    assert cli("report", "run", "-o", "new folder/page.html").stdout == "new folder/page.html\n"
    assert (place / "new folder" / "page.html").is_file()


@pytest.mark.parametrize("name", ["data.jsonl", "page", "mine.csv"])
def test_a_page_does_not_take_the_place_of_data(cli, run, place, name):
    (place / name).write_text("mine")
    refused = cli("report", run, "-o", name, rc=2).stderr
    assert refused == f"error: {name}: is not the name of an HTML file; end it in .html\n"
    assert (place / name).read_text() == "mine"


def test_no_report_without_a_run(cli, run, place):
    message = "has no scores.json; give the folder of a finished run: otherwords run\n"
    assert cli("report", ".", rc=2).stderr == f"error: .: {message}"
    assert cli("report", "absent", rc=2).stderr == f"error: absent: {message}"
    assert not (place / "absent").exists()
    for damage in ("{", "[" * 200_000):
        (run / "scores.json").write_text(damage)
        assert "its scores.json is damaged" in cli("report", "run", rc=2).stderr
    (run / "scores.json").write_text("[]")
    (run / "manifest.json").unlink()
    assert "has no manifest.json; run the study again" in cli("report", "run", rc=2).stderr


def test_scores_that_do_not_say_their_unit_are_refused(cli, run):
    """Scores of earlier versions have no unit: a signal-to-noise ratio of 2 would be printed as 200 %."""
    page = (run / "report.html").read_bytes()
    later = ("unit", "interval", "confidence", "replicates", "resampled")
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    earlier = [{name: value for name, value in score.items() if name not in later} for score in scores]
    (run / "scores.json").write_text(json.dumps(earlier), encoding="utf-8")
    error = cli("report", "run", rc=2).stderr
    assert f"earlier version, without {', '.join(later)}; run the study again" in error
    assert (run / "report.html").read_bytes() == page
    cli(*RUN)
    assert cli("report", "run").stdout == "run/report.html\n"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_list_shows_every_plug_in_of_a_kind_with_a_line_each(cli, kind):
    shown = json.loads(cli("list", kind, "--json").stdout)
    assert [row["name"] for row in shown] == [plugin.full_name for plugin in KINDS[kind]]
    keys = ["kind", "name", "options", "summary", "language", "extra", "measured"]
    keys += ["needs"] if kind == "metrics" else []
    assert [row for row in shown if not row["summary"] or list(row) != keys] == []
    table = cli("list", kind).stdout
    for row in shown:
        assert row["name"] in table


def test_list_shows_all_kinds(cli):
    assert {row["kind"] for row in json.loads(cli("list", "--json").stdout)} == {*KINDS, "templates", "tasks"}
    table = cli("list").stdout
    for name in ("snli.v1", "contractions.v1", "surface.v1", "scripted.v1", "flip_rate.v1"):
        assert name in table


def test_list_takes_a_kind_with_a_hyphen_and_names_all_kinds(cli):
    assert cli("list", "masked-lms").stdout == cli("list", "masked_lms").stdout
    shown = cli("list", "-h").stdout
    for kind in KINDS:
        assert kind in shown


def test_list_shows_templates_and_one_of_them_whole(cli):
    rows = json.loads(cli("list", "templates", "--json").stdout)
    assert {"kind": "templates", "name": "letters-rte", "task": "rte", "words": ["A", "B"]}.items() <= rows[4].items()
    assert "letters-reversed-nli" in cli("list", "templates").stdout
    assert "Does the premise entail the hypothesis? Answer:" in cli("list", "parte").stdout


def test_list_of_what_does_not_exist(cli):
    assert cli("list", "model", rc=2).stderr == (
        "error: no kind and nothing named 'model'; did you mean models? The kinds are: datasets, generators, checks, "
        "masked_lms, writers, encoders, models, trainers, metrics, papers, templates, tasks.\n"
    )
    for name, near in {
        "wordnt": "wordnet",
        "wordnet(n=3)": "wordnet",
        "NLI-small": "nli-small",
        "hf:some/model": "hf",
        "flip": "flip_rate",
    }.items():
        assert near in re.split("[ ,?]+", cli("list", name, rc=2).stderr.partition("did you mean ")[2])


def test_list_shows_every_task_with_its_fields_and_the_order_of_its_labels(cli):
    rows = {row["name"]: row for row in json.loads(cli("list", "tasks", "--json").stdout)}
    assert rows.keys() == TASKS.keys()
    table = cli("list", "tasks").stdout
    for name, task in TASKS.items():
        assert (rows[name]["fields"], rows[name]["labels"]) == ([*task.fields], [*task.labels])
        assert rows[name]["targets"] == [*task.targets]
        assert rows[name]["summary"]
        assert name in table


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_list_shows_any_one_thing_in_full(cli, kind):
    for plugin in KINDS[kind]:
        [shown] = [row for row in json.loads(cli("list", plugin.full_name, "--json").stdout) if row["kind"] == kind]
        options = {name for name in plugin.options() if name != "task"}
        assert {option["name"] for option in shown["options"]} == options
        assert all(option["type"] for option in shown["options"])
        assert shown["about"].startswith(plugin.summary)
        assert plugin.name in shown["example"]
    text = cli("list", plugin.full_name).stdout
    assert text.startswith(f"{plugin.full_name}: a")
    assert all(f"  {name}: " in text for name in options)


def test_a_name_of_several_kinds_is_shown_for_all(cli):
    kinds = [row["kind"] for row in json.loads(cli("list", "hf", "--json").stdout)]
    assert kinds == ["datasets", "masked_lms", "writers", "encoders", "models"]


def test_list_says_what_a_thing_needs(cli):
    text = cli("list", "wordnet-ie").stdout
    for line in (
        "English only",
        "needs: pip install 'otherwords[spacy]'",
        "captions (SNLI) with the paper's veto list",
    ):
        assert line in text
    assert "29-48 % on MNLI, RTE and everyday text" in text
    assert "English only" in cli("list", "generators").stdout


SLOW = ("identity", "surface", "label-safety", "everyday", "nli-small")


@pytest.mark.parametrize("name", ["contractions", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def test_the_examples_of_list_work(cli, shell, place, name):
    [*older, shown] = json.loads(cli("list", name, "--json").stdout)
    assert all(one["name"] in one["example"] for one in older)
    done = shell(shown["example"])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [file.suffix for file in place.iterdir()] == [".jsonl"]


def test_cache_info(cli, run):
    shown = json.loads(cli("cache", "info", "--json").stdout)
    assert shown["path"] == os.environ["OTHERWORDS_CACHE"]
    assert shown["bytes"] > 0
    [model] = shown["models"]
    assert model["answers"] == 8
    assert model["signature"].startswith("scripted.v1(")
    table = cli("cache", "info").stdout
    assert "8 answers" in table
    assert "scripted.v1(" in table


def test_a_cache_that_is_not_there_is_not_made_by_looking(cli, place):
    path = Path(os.environ["OTHERWORDS_CACHE"])
    assert json.loads(cli("cache", "info", "--json").stdout) == {"path": str(path), "bytes": 0, "models": []}
    assert "0 answers" in cli("cache", "info").stdout
    assert cli("cache", "prune", "--all").stdout == "0 answers deleted\n"
    assert not path.exists()
    assert "mistyped.sqlite: no such file" in cli("cache", "info", "--cache", "mistyped.sqlite", rc=2).stderr
    assert not (place / "mistyped.sqlite").exists()


def test_cache_prune(cli, run, monkeypatch):
    cli("answer", "problems.jsonl", "-m", "scripted(seed=4)", "--no-canary", "-o", "x.jsonl", "-q")
    assert cli("cache", "prune", "--model", "nothing like it").stdout == "0 answers deleted\n"
    assert cli("cache", "prune", "--older-than", "1").stdout == "0 answers deleted\n"
    assert cli("cache", "prune", "--model", "seed=4").stdout == "3 answers deleted\n"
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 2)  # times are kept in whole seconds
    assert cli("cache", "prune", "--older-than", "0").stdout == "8 answers deleted\n"
    cli("answer", "problems.jsonl", "-m", "scripted", "--no-canary", "-o", "x.jsonl", "-q")
    assert cli("cache", "prune", "--all").stdout == "3 answers deleted\n"
    assert json.loads(cli("cache", "info", "--json").stdout)["models"] == []


@pytest.mark.parametrize("arguments", [(), ("--all", "--model", "x")])
def test_cache_prune_needs_a_selection(cli, arguments):
    error = cli("cache", "prune", *arguments, rc=2).stderr
    assert error == "error: no answers selected; use --model and/or --older-than, or --all\n"


def test_what_is_no_cache_is_not_touched(cli, problems, place):
    (place / "text.sqlite").write_text("not a database, but somebody's text\n" * 100)
    database = sqlite3.connect(place / "other.sqlite")
    database.execute("create table bookmarks (url text)")
    database.commit()
    database.close()
    content = (place / "other.sqlite").read_bytes()
    for command in (
        ("cache", "info"),
        ("cache", "prune", "--all"),
        ("answer", problems, "-m", "scripted", "--no-canary", "-o", "out.jsonl", "-q"),
        RUN,
    ):
        error = cli(*command, "--cache", "text.sqlite", rc=2).stderr
        assert error.startswith("error: text.sqlite: is not an answer cache, nor any database; give another")
        error = cli(*command, "--cache", "other.sqlite", rc=2).stderr
        assert error.startswith(
            "error: other.sqlite: is a database of something else (tables: bookmarks); give another"
        )
    assert (place / "other.sqlite").read_bytes() == content
    assert (place / "text.sqlite").read_text().startswith("not a database")
    assert not (place / "out.jsonl").exists()


def test_a_cache_damaged_within_gives_a_clear_error(cli, problems, run):
    path = Path(os.environ["OTHERWORDS_CACHE"])
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xa5" * (len(raw) - 4096)
    path.write_bytes(raw)
    for command in (("cache", "info"), ("answer", problems, "-m", "scripted", "--no-canary", "-o", "out.jsonl", "-q")):
        error = cli(*command, rc=2).stderr
        assert error.startswith(f"error: {path}: the answer cache is damaged; delete it (answers are asked again)")
        assert "--cache" in error
        assert error.count("\n") == 1


def test_the_docs_show_the_tasks_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(tuple(f"| `{t}`" for t in TASKS))
    ]
    cells = {row[0].strip("`"): [re.findall(r"`([^`]+)`", cell) for cell in row[1:]] for row in rows}
    assert cells == {name: [[*t.fields], [*t.labels], [*t.targets]] for name, t in TASKS.items()}


def test_the_kinds_of_structural_are_a_table(cli):
    shown = cli("list", "structural.v2").stdout
    for words in ("voice", "57/60 on", "42/54 off", "leaves", "everyday"):
        assert words in shown
    [found] = json.loads(cli("list", "structural.v2", "--json").stdout)
    assert found["kinds"][0]["domains"]["genres"] == "57/60 on"
    [first] = json.loads(cli("list", "structural.v1", "--json").stdout)
    assert "kinds" not in first


@pytest.mark.parametrize("name", ["wordnet.v1", "wordnet-ie", "masked-lm", "structural.v1"])
def test_rates_of_soundness_name_what_they_were_measured_on(name):
    """On every page that gives them, and in `list`."""
    measured = KINDS["generators"].get(name).measured
    assert "captions (SNLI)" in measured
    lower = measured.partition(";")[2].split()[0]
    for page in ("variants.md", "validity/README.md"):
        text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
        assert "captions" in text
        assert f"{lower} %" in text
