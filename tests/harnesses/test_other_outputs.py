"""Output of promptfoo, as version 0.121.20 wrote it, and of HELM, as version 0.5.16 did."""

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


def test_a_file_of_the_real_helm_is_read():
    """It has the first problem with its wordings, as perturbations, each asked twice; letters stand for words."""
    log = SAMPLES / "helm_0.5.16.json"
    assert find_harness(log) == "helm"
    names = ["model", "bucket", "variant", "gold", "pred", "again:usual:1"]
    spelled = {"entailment": "yes", "neutral": "maybe", "contradiction": "no"}
    own = OWN.filter(pl.col("bucket") == "p0").select(names)
    assert read_log(log).select(names).equals(own.with_columns(pl.col("^(gold|pred|again:.*)$").replace(spelled)))


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


def helm(folder: Path, rows: list[dict[str, Any]], **spec: str) -> Path:
    run = folder / "mmlu:model=tiny"
    run.mkdir(exist_ok=True)
    state = {"adapter_spec": {"model": "org/tiny", **spec}, "request_states": rows}
    (run / "scenario_state.json").write_text(json.dumps(state))
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


@pytest.mark.parametrize("fields", [{"train_trial_index": 1}, {"request": {"model": "tiny", "random": "1"}}])
def test_trials_of_helm_are_repeats(tmp_path, fields):
    """Trials with the same examples differ in their request alone."""
    assert "again:usual:1" in read_log(helm(tmp_path, [*states(), *({**one, **fields} for one in states())])).columns
    with pytest.raises(BadInput, match=r"scenario_state\.json, sample 'id0#': occurs twice in epoch 0"):
        read_log(helm(tmp_path, [*states(), *states()]))


def test_a_perturbation_of_helm_with_other_options_is_another_wording(tmp_path):
    rows = states()
    typos = [row for row in rows if row["instance"].get("perturbation") == {"name": "typos"}]
    for row in typos:
        row["instance"]["perturbation"] |= {"robustness": True, "computed_on": "perturbed", "prob": 0.1}
    again = json.loads(json.dumps(typos))
    for row in again:
        row["instance"]["perturbation"]["seed"] = 4
    named = ["", "dialect", "typos(prob=0.1)", "typos(prob=0.1, seed=4)"]
    assert sorted(read_log(helm(tmp_path, [*rows, *again]))["variant"].unique()) == named


@pytest.mark.parametrize(
    ("method", "modes", "answer"),
    [("multiple_choice_separate_original", 1, "yes"), ("multiple_choice_separate_calibrated", 2, "no")],
)
def test_references_that_are_asked_apart_count_as_they_do_in_helm(tmp_path, method, modes, answer):
    """The mean of a reference's tokens, without the question's; or what the question adds to their sum."""
    logs = {("no", "original"): [-2.0], ("no", "calibration"): [-6.0]}
    logs |= {(" yes", "original"): [-1.5, -1.5], (" yes", "calibration"): [-2.0, -2.0]}
    rows = []
    for reference, text in enumerate(("no", " yes")):
        for mode in ("original", "calibration")[:modes]:
            pieces = zip((text[:2], text[2:]), logs[text, mode], strict=False)
            tokens = [{"text": "?", "logprob": -9.0}, *({"text": one, "logprob": log} for one, log in pieces)]
            reply = {"text": f"?{text}", "logprob": -9.0 + sum(logs[text, mode]), "tokens": tokens}
            asked = {"reference_index": reference, "request_mode": mode, "output_mapping": None}
            rows.append({**states()[0], **asked, "result": {"completions": [reply]}})
    assert read_log(helm(tmp_path, rows, method=method))["pred"].to_list() == [answer]
    rows[-1]["result"] = None
    with pytest.raises(BadInput, match=r"scenario_state\.json, sample 'id0#': has no reply"):
        read_log(helm(tmp_path, rows, method=method))


def test_choices_of_helm_that_differ_between_instances_are_letters(tmp_path):
    """As those of other harnesses: they may be thousands of texts."""
    rows = json.loads(json.dumps(states()))
    for row in rows:
        row["output_mapping"] = {
            letter: f"{text} {row['instance']['id']}" for letter, text in (("A", "no"), ("B", "yes"))
        }
        for reference, text in zip(row["instance"]["references"], row["output_mapping"].values(), strict=True):
            reference["output"]["text"] = text
    expected = read_log(helm(tmp_path, states())).with_columns(pl.col("gold", "pred").replace({"no": "A", "yes": "B"}))
    assert read_log(helm(tmp_path, rows)).equals(expected)


def test_the_likeliest_reply_of_helm_counts_and_the_pattern_of_the_run_finds_its_letter(tmp_path):
    rows, expected = states(), read_log(helm(tmp_path, states()))
    for row in rows:
        text = f"It is ({row['result']['completions'][0]['text'].strip()})."
        row["result"]["completions"] = [{"text": "A", "logprob": -5.0}, {"text": text, "logprob": -1.0}]
    assert read_log(helm(tmp_path, rows, output_mapping_pattern=r"\(([A-Z])\)")).equals(expected)
    with pytest.raises(BadInput, match="request 1: is not as HELM writes it: missing"):
        read_log(helm(tmp_path, rows, output_mapping_pattern="("))


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
