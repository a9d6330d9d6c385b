"""otherwords paper ie-test: what a user types and reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ie_grids import as_toml, forget_plugins, settings


@pytest.fixture
def experiment(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    forget_plugins(monkeypatch)
    (place / "x.toml").write_text(as_toml(settings(place)))
    return place / "x.toml"


def test_it_runs_from_a_file_and_continues_from_its_folder(cli, experiment):
    done = cli("paper", "ie-test", experiment, "-o", "x")
    assert (
        "mine: train 48 rows (48 can change), valid 12 rows (12 can change), test 30 rows (30 can change)"
        in done.stderr
    )
    assert "mine" in done.stdout
    assert "rejected" in done.stdout
    assert done.stdout.strip().endswith("x/results")
    assert (experiment.parent / "x" / "results" / "results.md").is_file()
    again = cli("paper", "ie-test", "-o", "x")
    assert again.stdout == done.stdout


def test_rows_that_are_left_out_are_counted(cli, experiment):
    path = experiment.parent / "test.jsonl"
    whole = path.read_text()
    first = json.loads(whole.splitlines()[0])
    odd = {**first, "id": "m", "label": "-"}, {**first, "id": "n", "premise": " "}
    path.write_text(whole + "\n".join(map(json.dumps, odd)))
    said = cli("paper", "ie-test", experiment, "-o", "x").stderr
    assert "  left out of its files: 1 rows without a majority label, 1 with an empty text" in said


def test_init_writes_a_commented_file_that_is_not_written_over(cli, place):
    said = cli("paper", "ie-test", "--init").stderr
    assert "wrote ie-test.toml" in said
    assert (place / "ie-test.toml").read_text().startswith("# The IE test")
    assert "already exists" in cli("paper", "ie-test", "--init", rc=2).stderr
    cli("paper", "ie-test", "--init", "mine.toml")
    assert (place / "mine.toml").read_text() == (place / "ie-test.toml").read_text()


@pytest.mark.slow
def test_what_init_writes_works_as_it_is(cli, place):
    pytest.importorskip("spacy", reason="needs the extra `spacy`")
    pytest.importorskip("xgboost", reason="needs the extra `boosted`")
    cli("paper", "ie-test", "--init")
    cli("paper", "ie-test", "ie-test.toml", "-o", "x", "--quick")
    assert len(list((place / "x").rglob("cell.json"))) == 2 * 3 * 2


def test_a_dry_run_counts_and_estimates(cli, experiment):
    said = cli(
        "paper", "ie-test", experiment, "-o", "x", "--dry-run", "-q", "--runs", 4, "--rho", 0, "--rho", 0.25
    ).stderr
    assert "8 trainings, 1 done, 7 left: about " in said
    assert "bow: about" in said
    assert (experiment.parent / "x/cells/mine/bow/rho-0.00/run-1/cell.json").is_file()


def test_a_scan_prints_its_proposal(cli, experiment):
    done = cli("paper", "ie-test", experiment, "-o", "x", "--scan", "--quick")
    assert "proposed: rho = [0, " in done.stdout
    assert (experiment.parent / "x/results/scan.csv").is_file()


def test_json_is_for_programs(cli, experiment):
    found = json.loads(cli("paper", "ie-test", experiment, "-o", "x", "--json").stdout)
    assert found["trainings"]["done"] == 4
    assert found["data"]["mine"]["changed"]["test"] == 30
    assert [one["rho"] for one in found["decisions"]] == [0.0, 0.5]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("x.toml",), "no folder named; name one with -o FOLDER"),
        (("no-such.toml", "-o", "x"), "no-such.toml: no such file"),
        (("x.toml", "-o", "x", "--rho", "2"), "--rho: found 2"),
        (("x.toml", "-o", "x", "--runs", "0"), "runs: found 0"),
        (("x.toml", "-o", "x.toml"), "is a file, not a folder"),
        (("x.toml", "-o", "x", "--engine", "processes", "--gpus", "0"), "gpus"),
        (("x.toml", "-o", "x", "--engine", "horses"), "engine: found 'horses'"),
        (("x.toml", "-o", "x", "--plugin", "none.py"), "none.py"),
        (("broken.toml", "-o", "x"), "cannot be read as an experiment"),
    ],
)
def test_bad_input_is_one_line(cli, experiment, options, told):
    (experiment.parent / "broken.toml").write_text("rho = [0.1,\n")
    said = cli("paper", "ie-test", *options, rc=2).stderr
    assert told in said
    assert len(said.strip().splitlines()) == 1
    assert not (experiment.parent / "x" / "cells").exists()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"premise": "A.", "conclusion": "B."},
            'map one with columns = {hypothesis = "COLUMN"}, or choose another task',
        ),
        ({"premise": "A.", "hypothesis": "B.", "label": "maybe"}, "map it with labels = {'maybe' = \"...\"}"),
        ({"sentence1": "A.", "sentence2": "B.", "gold_label": "neutral"}, "give it as snli:train.jsonl"),
    ],
)
def test_errors_about_data_name_what_the_file_has_for_it(cli, experiment, write_jsonl, row, told):
    write_jsonl(experiment.parent / "train.jsonl", [row])
    said = cli("paper", "ie-test", experiment, "-o", "x", rc=2).stderr
    assert told in said.replace(f"{experiment.parent}/", "")
    assert "--" not in said
    (experiment.parent / "train.jsonl").write_text("{broken")
    said = cli("paper", "ie-test", experiment, "-o", "x", rc=2).stderr
    assert "repair the row, or leave it out)" in said


def test_no_gpu_where_one_is_asked_for_is_an_error_before_any_training(cli, experiment):
    torch = pytest.importorskip("torch", reason="needs the extra `hf`")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    values = settings(experiment.parent, models={"deep": {"trainer": "bow_mlp", "device": "cuda"}})
    experiment.write_text(as_toml(values))
    said = cli("paper", "ie-test", experiment, "-o", "x", rc=2).stderr
    assert "cuda" in said
    assert len(said.strip().splitlines()) == 1
    assert not (experiment.parent / "x" / "data").exists()
