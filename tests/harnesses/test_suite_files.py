"""Suites as tasks of other harnesses; the slow tests run them in the real ones."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import sys
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.harnesses import read_log, write_suite

HERE = Path(__file__).parent
SAMPLES, ROOT = HERE / "samples", HERE.parents[1]
SUITE, SHORT = str(SAMPLES / "suite.jsonl"), str(SAMPLES / "short.toml")
#: The environment of the harnesses, which `make test-all` installs.
HARNESSES = Path(os.environ.get("OTHERWORDS_HARNESSES", ROOT / ".harnesses"))


@pytest.fixture
def harness_python() -> str:
    python = HARNESSES / "bin" / "python"
    if not python.exists():
        pytest.skip("needs Inspect, lm-evaluation-harness and HELM in .harnesses: make .harnesses/.done")
    return str(python)


@pytest.fixture
def promptfoo() -> str:
    program = HARNESSES / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        pytest.skip("needs promptfoo in .harnesses: make .harnesses/.done where npm is installed")
    return str(program)


def runs():  # type: ignore[no-untyped-def]
    """The module that runs harnesses, which is also a program."""
    spec = importlib.util.spec_from_file_location("regenerate", HERE / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["regenerate"] = module
    spec.loader.exec_module(module)
    return module


def test_a_folder_has_a_task_for_each_harness(tmp_path):
    yaml = pytest.importorskip("yaml")
    counts = write_suite([SUITE], tmp_path / "out", template=SHORT, name="mine")
    assert counts == {"problems": 4, "variants": 8}
    out = tmp_path / "out"
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert files == [
        "README.md", "data/promptfoo.jsonl", "data/test.jsonl", "inspect_task.py", "lm_eval.yaml",
        "promptfooconfig.yaml",
    ]  # fmt: skip
    task = yaml.safe_load((tmp_path / "out" / "lm_eval.yaml").read_text())
    assert (task["task"], task["output_type"], task["target_delimiter"]) == ("mine", "multiple_choice", " ")
    config = yaml.safe_load((tmp_path / "out" / "promptfooconfig.yaml").read_text())
    assert config["tests"] == "file://data/promptfoo.jsonl"
    names = [
        node.name
        for node in ast.walk(ast.parse((tmp_path / "out" / "inspect_task.py").read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert "mine" in names
    card = (tmp_path / "out" / "README.md").read_text()
    assert "@" not in card.replace("@tiny", "")
    front = yaml.safe_load(card.split("---")[1])
    assert front["configs"][0]["data_files"] == [{"split": "test", "path": "data/test.jsonl"}]


def test_rows_hold_what_scores_need(tmp_path):
    write_suite([SUITE], tmp_path / "out", template=SHORT)
    rows = [json.loads(line) for line in (tmp_path / "out" / "data" / "test.jsonl").read_text().splitlines()]
    assert [row["variant"] for row in rows[:3]] == ["", "p0-v1", "p0-v2"]
    assert rows[1]["cluster"] == "c0"
    assert rows[1]["prompt"] == "A man isn't sleeping. So: Somebody is awake. yes, maybe or no?"
    assert (rows[1]["answer"], rows[1]["label"]) == ("yes", "entailment")


def test_tests_of_promptfoo_have_no_lists_among_their_variables(tmp_path):
    """It would run a test for each element of a list."""
    write_suite([SUITE], tmp_path / "out", template=SHORT)
    tests = [json.loads(line) for line in (tmp_path / "out" / "data" / "promptfoo.jsonl").read_text().splitlines()]
    assert not [name for test in tests for name, value in test["vars"].items() if isinstance(value, list)]
    assert tests[0]["metadata"] == {
        "choices": ["yes", "maybe", "no"],
        "labels": ["entailment", "neutral", "contradiction"],
    }


def test_what_a_check_dropped_is_not_written(tmp_path):
    rows = [json.loads(line) for line in Path(SUITE).read_text().splitlines()]
    rows = [{**row, "check:x": row["id"] != "p0-v1"} for row in rows]
    (tmp_path / "suite.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert write_suite([str(tmp_path / "suite.jsonl")], tmp_path / "out") == {"problems": 4, "variants": 7}


def test_a_run_folder_is_a_suite(tmp_path):
    run = tmp_path / "run"
    ow.run(data=[SUITE], models=["scripted"], metrics=["flip_rate"], canary=False, replicates=9, out=run)
    done = CliRunner().invoke(app, ["suite", str(run), "-o", str(tmp_path / "out")])
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'out'}: 4 problems, 8 variants\n")


def test_a_folder_that_is_used_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with refuses(BadInput, where=str(tmp_path / "out")):
        write_suite([SUITE], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_harnesses_cannot_use_is_refused(tmp_path):
    with refuses(BadInput, field="name"):
        write_suite([SUITE], tmp_path / "out", name="My suite")
    rows = [
        {key: value for key, value in json.loads(line).items() if key != "label"}
        for line in Path(SUITE).read_text().splitlines()
    ]
    (tmp_path / "bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(UserWarning, match="no column `label`"), refuses(BadInput, field="label"):
        write_suite([str(tmp_path / "bare.jsonl")], tmp_path / "out")
    shots = (SAMPLES / "short.toml").read_text() + "\n[shots]\ncount = 2\n"
    (tmp_path / "shots.toml").write_text(shots)
    with refuses(BadInput, field="shots"):
        write_suite([SUITE], tmp_path / "out", template=str(tmp_path / "shots.toml"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("reply", "word"),
    [("Yes.", "yes"), ("**no**", "no"), ("yes or no", ""), ("yesterday", ""), ("", ""), ("No: it is dry.", "no")],
)
def test_the_task_of_inspect_reads_replies_strictly(tmp_path, reply, word):
    """The rule stands in the file that is written; it is taken from there, since Inspect is not in this environment."""
    write_suite([SUITE], tmp_path / "out")
    tree = ast.parse((tmp_path / "out" / "inspect_task.py").read_text())
    [rule] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "word_in"]
    space: dict[str, object] = {}
    exec(compile(f"import re\n{ast.unparse(rule)}", "inspect_task.py", "exec"), space)
    assert space["word_in"](reply, ["yes", "no"]) == word  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspect_runs_the_suite_and_the_scores_come_back(tmp_path, harness_python, kind):
    regenerate = runs()
    answers = pl.read_csv(SAMPLES / "answers.csv")
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    words = regenerate.words_of(tmp_path / "suite", answers)
    regenerate.run_harness(harness_python, "inspect", tmp_path / "suite", words, tmp_path / "logs", "--kind", kind)
    [log] = (tmp_path / "logs").glob(f"*.{kind}")
    assert list(ow.score(log)) == list(ow.score(SAMPLES / "answers.csv"))


@pytest.mark.slow
def test_lm_eval_runs_the_suite_and_the_scores_come_back(tmp_path, harness_python):
    regenerate = runs()
    answers = pl.read_csv(SAMPLES / "answers.csv").drop("again:usual:1")
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    words = regenerate.words_of(tmp_path / "suite", answers)
    regenerate.run_harness(harness_python, "lm-eval", tmp_path / "suite", words, tmp_path / "logs")
    [log] = (tmp_path / "logs").rglob("samples_*.jsonl")
    assert list(ow.score(log)) == list(ow.score(answers))


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    ["generation", "multiple_choice_joint", "multiple_choice_separate_original", "multiple_choice_separate_calibrated"],
)
def test_helm_runs_the_wordings_as_perturbations_and_the_scores_come_back(tmp_path, harness_python, method):
    """Its scenario is ours; requests, trials, replies and the file are HELM's. Labels are the words of the answers."""
    regenerate = runs()
    answers = pl.read_csv(SAMPLES / "answers.csv").drop("cluster")
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    words = regenerate.words_of(tmp_path / "suite", answers)
    regenerate.run_harness(harness_python, "helm", tmp_path / "suite", words, tmp_path / "out", "--kind", method)
    spelled = {"entailment": "yes", "neutral": "maybe", "contradiction": "no"}
    answers = answers.drop("again:usual:1") if "separate" in method else answers
    expected = answers.with_columns(pl.col("^(gold|pred|again:.*)$").replace(spelled))
    assert list(ow.score(tmp_path / "out" / "runs" / "suite" / "suite")) == list(ow.score(expected))


@pytest.mark.slow
def test_promptfoo_runs_the_suite_and_the_scores_come_back(tmp_path, promptfoo):
    regenerate = runs()
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    words = regenerate.words_of(tmp_path / "suite", pl.read_csv(SAMPLES / "answers.csv"))
    logs = [tmp_path / "results.json", tmp_path / "results.jsonl"]
    regenerate.run_promptfoo(promptfoo, tmp_path / "suite", words, logs, "--repeat", "2")
    for log in logs:
        assert list(ow.score(log)) == list(ow.score(SAMPLES / "answers.csv"))
    grades = read_log(logs[0], graded=True)
    assert (grades["pred"] == "right").to_list() == [row["gold"] == row["pred"] for row in read_log(logs[0]).to_dicts()]


@pytest.mark.slow
def test_an_error_in_promptfoo_is_named(tmp_path, promptfoo):
    regenerate = runs()
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    words = regenerate.words_of(tmp_path / "suite", pl.read_csv(SAMPLES / "answers.csv"))
    words[next(prompt for prompt in words if "isn't" in prompt)] = []
    log = tmp_path / "results.json"
    regenerate.run_promptfoo(promptfoo, tmp_path / "suite", words, [log], "--filter-first-n", "3")
    with pytest.raises(BadInput, match=r"sample 'p0-v1': ended with an error: 'the model is gone'"):
        read_log(log)


@pytest.mark.slow
def test_hugging_face_loads_the_folder_by_its_card(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_suite([SUITE], tmp_path / "suite", template=SHORT)
    loaded = datasets.load_dataset(str(tmp_path / "suite"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"]
    assert loaded["test"].num_rows == 12
    assert loaded["test"][1]["choices"] == ["yes", "maybe", "no"]
