"""Output of promptfoo, as version 0.121.20 wrote it, and of HELM, in the layout that its documentation describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.harnesses import find_harness, read_log, write_suite

SAMPLES = Path(__file__).parent / "samples"
OWN = pl.read_csv(SAMPLES / "answers.csv").with_columns(pl.col("variant").fill_null(""))


@pytest.fixture
def results(tmp_path: Path) -> list[dict[str, Any]]:
    """What promptfoo would write of our suite, each test asked twice."""
    write_suite([str(SAMPLES / "suite.jsonl")], tmp_path / "suite", template=str(SAMPLES / "short.toml"))
    tests = [json.loads(line) for line in (tmp_path / "suite" / "data" / "promptfoo.jsonl").read_text().splitlines()]
    rows = []
    for name in ("pred", "again:usual:1"):
        for place, test in enumerate(tests):
            given = test["vars"]
            own = OWN.row(
                by_predicate=(pl.col("bucket") == given["bucket"]) & (pl.col("variant") == given["variant"]), named=True
            )
            word = dict(zip(test["metadata"]["labels"], test["metadata"]["choices"], strict=True))[own[name]]
            rows.append(
                {
                    "promptIdx": 0,
                    "testIdx": place,
                    "testCase": test,
                    "provider": {"id": "mockllm/tiny", "label": ""},
                    "prompt": {"raw": given["prompt"], "label": "{{prompt}}"},
                    "vars": given,
                    "response": {"output": word.title() + "."},
                    "success": word == given["answer"],
                    "score": 1,
                }
            )
    return rows


def promptfoo(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "results.json"
    whole = {"version": 3, "timestamp": "", "prompts": [], "results": rows, "stats": {}}
    path.write_text(json.dumps({"evalId": "eval-1", "results": whole, "config": {"tests": []}, "shareableUrl": None}))
    return path


def test_a_file_of_the_real_promptfoo_is_read():
    """It has the first problem with its wordings, each asked twice."""
    log = SAMPLES / "promptfoo_0.121.20.json"
    assert find_harness(log) == "promptfoo"
    names = ["model", "bucket", "variant", "gold", "pred", "cluster", "again:usual:1"]
    assert read_log(log).select(names).equals(OWN.filter(pl.col("bucket") == "p0").select(names))


def test_promptfoo_gives_the_scores_of_our_own_table(tmp_path, results):
    log = promptfoo(tmp_path, results)
    assert find_harness(log) == "promptfoo"
    assert list(ow.score(log, replicates=199)) == list(ow.score(SAMPLES / "answers.csv", replicates=199))
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in results))
    assert find_harness(lines) == "promptfoo"
    assert list(ow.score(lines, replicates=199)) == list(ow.score(SAMPLES / "answers.csv", replicates=199))


def test_prompts_of_promptfoo_are_models_of_their_own(tmp_path, results):
    half = len(results) // 2
    for row in results[half:]:
        row["prompt"] = {"raw": row["prompt"]["raw"], "label": "second"}
    table = read_log(promptfoo(tmp_path, results))
    assert table["model"].unique().sort().to_list() == ["mockllm/tiny", "mockllm/tiny@second"]


def test_the_right_answer_may_be_an_assertion(tmp_path, results):
    for row in results:
        row["vars"] = {name: row["vars"][name] for name in ("id", "bucket", "variant", "cluster")}
        row["testCase"] = {"assert": [{"type": "iequals", "value": "yes"}, {"type": "cost", "threshold": 1}]}
    with pytest.warns(UserWarning, match="answers are none of the labels"):
        table = read_log(promptfoo(tmp_path, results[:12]))
    assert set(table["gold"]) == {"yes"}


def test_a_result_of_promptfoo_without_an_answer_is_named(tmp_path, results):
    results[2] |= {"response": None, "error": "429 too many requests"}
    log = promptfoo(tmp_path, results)
    with refuses(BadInput, where=f"{log}, sample 'p0-v2'"):
        read_log(log)
    del results[2]["testIdx"], results[2]["vars"]
    del results[2]["testCase"]
    log = promptfoo(tmp_path, results)
    with refuses(BadInput, where=f"{log}, result 3"):
        read_log(log)
    log.write_text(log.read_text()[:2000])
    with pytest.raises(BadInput, match=r"results\.json, sample \d+: broken JSON"):
        read_log(log)


def states(separate: bool = False) -> list[dict[str, Any]]:
    """Requests of HELM: each instance as it is, and perturbed; a letter is answered, or references are asked apart."""
    rows: list[dict[str, Any]] = []
    for number, perturbation in [(one, name) for one in range(3) for name in ("", "dialect", "typos")]:
        correct = number % 2
        references = [
            {"output": {"text": text}, "tags": ["correct"] * (place == correct)}
            for place, text in enumerate(("no", "yes"))
        ]
        instance = {
            "id": f"id{number}",
            "input": {"text": f"Question {number} {perturbation}"},
            "references": references,
            "split": "test",
        }
        instance |= {"perturbation": {"name": perturbation}} if perturbation else {}
        chosen = correct if perturbation != "typos" else 0
        for reference in (0, 1) if separate else (None,):
            state = {"instance": instance, "train_trial_index": 0, "request": {"model": "tiny"}}
            if reference is None:
                state |= {
                    "output_mapping": {"A": "no", "B": "yes"},
                    "result": {"completions": [{"text": f" {'AB'[chosen]}"}]},
                }
            else:
                likely = -1.0 if reference == chosen else -3.0
                state |= {"reference_index": reference, "result": {"completions": [{"text": "x", "logprob": likely}]}}
            rows.append(state)
    return rows


def helm(folder: Path, rows: list[dict[str, Any]]) -> Path:
    run = folder / "mmlu:model=tiny"
    run.mkdir(exist_ok=True)
    (run / "scenario_state.json").write_text(
        json.dumps({"adapter_spec": {"model": "org/tiny"}, "request_states": rows})
    )
    return run


@pytest.mark.parametrize("separate", [False, True])
def test_perturbations_of_helm_are_wordings(tmp_path, separate):
    run = helm(tmp_path, states(separate))
    assert find_harness(run) == "helm"
    table = read_log(run)
    assert table["model"].unique().to_list() == ["org/tiny"]
    assert sorted(table["variant"].unique()) == ["", "dialect", "typos"]
    [flips] = ow.score(run, "flip_rate")
    assert (flips.value, flips.n_units, flips.n_answers) == (1 / 6, 3, 6)


def test_trials_of_helm_are_repeats(tmp_path):
    again = [{**one, "train_trial_index": 1} for one in states()]
    assert "again:usual:1" in read_log(helm(tmp_path, [*states(), *again])).columns


def test_a_request_of_helm_that_lacks_something_is_named(tmp_path):
    rows = states()
    del rows[4]["instance"]["id"]
    run = helm(tmp_path, rows)
    with refuses(BadInput, where=f"{run / 'scenario_state.json'}, request 5"):
        read_log(run)
    rows = states()
    rows[4]["result"] = None
    run = helm(tmp_path, rows)
    with refuses(BadInput, where=f"{run / 'scenario_state.json'}, sample 'id1#dialect'"):
        read_log(run)
