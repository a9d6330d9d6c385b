"""Encoders trained for tasks of any number of fields and for choices; and that `hf:FOLDER` answers as was trained."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refuses
from transformers import AutoModelForMultipleChoice, AutoTokenizer
from transformers.utils import logging

from otherwords import export
from otherwords.errors import BadInput
from otherwords.models.huggingface import hf
from otherwords.models.model import Answerer
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry
from otherwords.training import train

from .conftest import NOUNS, VERBS

D_NLI, A_NLI = TASKS["d-nli"], TASKS["a-nli"]


def defeasible(path: Path, count: int = 240, seed: int = 1) -> str:
    """`no` in the update weakens, `some` strengthens; premises and hypotheses say nothing."""
    draw, lines = random.Random(seed), []
    for i in range(count):
        noun, verb, which = draw.choice(NOUNS), draw.choice(VERBS), draw.randrange(2)
        row = {"premise": f"a {noun} {verb}" if i % 3 else None, "hypothesis": f"a {draw.choice(NOUNS)} {verb} {noun}"}
        row |= {"update": f"{('some', 'no')[which]} {draw.choice(NOUNS)}", "label": D_NLI.labels[which]}
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def abductive(path: Path, count: int = 240, seed: int = 1) -> str:
    """The hypothesis that begins with `some` is right, wherever it stands."""
    draw, lines = random.Random(seed), []
    for _ in range(count):
        texts = [f"{word} {draw.choice(NOUNS)} {draw.choice(VERBS)}" for word in ("some", "no")]
        first = draw.randrange(2)
        row = {"obs1": f"a {draw.choice(NOUNS)} sleeps", "obs2": f"a {draw.choice(NOUNS)} runs"}
        lines.append(json.dumps({**row, "hyp1": texts[first], "hyp2": texts[1 - first], "label": f"hyp{first + 1}"}))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def recipe(encoder) -> dict[str, Any]:
    usual = {"epochs": 6, "batch": 16, "max_length": 24, "learning_rate": 3e-3, "device": "cpu", "valid": 0.2}
    return {"start": str(encoder), **usual}


def rows_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def ask(spec: str, task, path: str) -> tuple[np.ndarray, float]:
    """The probabilities of a model and its accuracy."""
    rows = rows_of(path)
    bound = registry.make(spec)
    batch = Batch(task, {name: [row[name] or "" for row in rows] for name in task.fields})
    answers = Answerer(spec, bound.signature, bound.function, task)(batch)
    right = [task.labels[pred] == row["label"] for pred, row in zip(answers.pred, rows, strict=True)]
    return answers.p, float(np.mean(right))


def test_defeasible_inference_is_learnt_and_answered_as_premise_and_hypothesis_then_update(recipe, tmp_path):
    data, test = defeasible(tmp_path / "d.jsonl"), defeasible(tmp_path / "test.jsonl", 60, seed=2)
    out = tmp_path / "m"
    trained = train({**recipe, "data": [data], "task": "d-nli"}, out=out)
    assert trained.figures["valid_accuracy"] > 0.9
    config = json.loads((out / "config.json").read_text())
    assert config["otherwords_join"] == "premise + hypothesis | update"
    assert json.loads((out / "trained.json").read_text())["fields"] == list(D_NLI.fields)
    p, right = ask(f"hf:{out}", D_NLI, test)
    assert right > 0.9
    assert np.array_equal(p, ask(f"trained:{out}", D_NLI, test)[0])
    assert np.array_equal(p, ask(f'hf:{out}(join="premise+hypothesis|update")', D_NLI, test)[0])
    assert not np.allclose(p, ask(f'hf:{out}(join="update | premise + hypothesis")', D_NLI, test)[0], atol=1e-3)


def test_a_model_of_partial_input_is_shown_the_update_alone_and_asked_so(recipe, tmp_path):
    data, test = defeasible(tmp_path / "d.jsonl"), defeasible(tmp_path / "test.jsonl", 60, seed=2)
    train({**recipe, "data": [data], "task": "d-nli", "fields": ["update"]}, out=tmp_path / "m")
    lines = [json.loads(line) for line in (tmp_path / "m" / "data" / "train.jsonl").read_text().splitlines()]
    assert {len(line) for line in lines} == {2}
    assert json.loads((tmp_path / "m" / "config.json").read_text())["otherwords_join"] == "update"
    p, right = ask(f"hf:{tmp_path / 'm'}", D_NLI, test)
    assert right > 0.9
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(json.dumps({**row, "premise": "a dog", "hypothesis": "no"}) for row in rows_of(test)))
    assert np.array_equal(p, ask(f"hf:{tmp_path / 'm'}", D_NLI, str(other))[0])


def test_an_exported_model_is_asked_as_it_was_trained(recipe, tmp_path):
    data = defeasible(tmp_path / "d.jsonl", 80)
    train({**recipe, "data": [data], "task": "d-nli", "fields": ["update"], "epochs": 1}, out=tmp_path / "m")
    export(tmp_path / "m", tmp_path / "onnx", weights="fp32", on=[data], task="d-nli", limit=0.0)
    assert json.loads((tmp_path / "onnx" / "config.json").read_text())["otherwords_join"] == "update"
    p, other = (ask(f"{kind}:{tmp_path / place}", D_NLI, data)[0] for kind, place in (("hf", "m"), ("onnx", "onnx")))
    np.testing.assert_allclose(p, other, atol=1e-5)
    choice = abductive(tmp_path / "a.jsonl", 40)
    train({**recipe, "data": [choice], "task": "a-nli", "epochs": 1}, out=tmp_path / "choice")
    with refuses(BadInput, where=f"hf:{tmp_path / 'choice'}", field="architectures"):
        export(tmp_path / "choice", tmp_path / "c")


def test_a_choice_is_learnt_and_answered_by_scoring_each_option(recipe, tmp_path):
    data, test = abductive(tmp_path / "a.jsonl"), abductive(tmp_path / "test.jsonl", 60, seed=2)
    out = tmp_path / "m"
    trained = train({**recipe, "data": [data], "task": "a-nli", "accumulate": 2}, out=out)
    assert trained.figures["valid_accuracy"] > 0.9
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["BertForMultipleChoice"]
    assert config["otherwords_join"] == "obs1 | option + obs2"
    p, right = ask(f"hf:{out}", A_NLI, test)
    assert right > 0.9
    np.testing.assert_allclose(p, by_transformers(out, test), atol=1e-6)
    slow = ask(f"hf:{out}(forward=transformers)", A_NLI, test)[0]
    np.testing.assert_allclose(p, slow, atol=1e-6)
    other = ask(f'hf:{out}(join="obs1 + option | obs2")', A_NLI, test)[0]
    assert not np.allclose(p, other, atol=1e-4)


def by_transformers(folder: Path, path: str) -> np.ndarray:
    """Each problem by itself, both options in one call, as the documentation of transformers does."""
    logging.disable_progress_bar()
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    logging.enable_progress_bar()
    found = []
    for row in rows_of(path):
        seconds = [f"{row[name]} {row['obs2']}" for name in ("hyp1", "hyp2")]
        inputs = tokenizer([row["obs1"]] * 2, seconds, return_tensors="pt", padding=True)
        with torch.no_grad():
            logits = model(**{name: value.unsqueeze(0) for name, value in inputs.items()}).logits
        found.append(torch.softmax(logits[0].double(), 0).numpy())
    return np.array(found)


def test_exchanging_the_options_of_a_choice_exchanges_their_probabilities(recipe, tmp_path):
    data, test = abductive(tmp_path / "a.jsonl", 60), abductive(tmp_path / "test.jsonl", 40, seed=2)
    train({**recipe, "data": [data], "task": "a-nli", "epochs": 1}, out=tmp_path / "m")
    rows = rows_of(test)
    exchanged = [{**row, "hyp1": row["hyp2"], "hyp2": row["hyp1"]} for row in rows]
    (tmp_path / "other.jsonl").write_text("\n".join(map(json.dumps, exchanged)))
    spec = f"hf:{tmp_path / 'm'}"
    first, second = (ask(spec, A_NLI, path)[0] for path in (test, str(tmp_path / "other.jsonl")))
    np.testing.assert_array_equal(first, second[:, ::-1])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"join": "premise | hypotesis"}, "join"),
        ({"join": "premise | hypothesis | update"}, "join"),
        ({"join": "premise | premise"}, "join"),
        ({"join": "premise + | update"}, "join"),
        ({"join": "premise | option"}, "join"),
        ({"fields": ["updates"]}, "fields"),
        ({"fields": ["update"], "join": "premise | update"}, "join"),
        ({"share": 0.0}, "share"),
        ({"share": 1.5}, "share"),
        ({"recombine": 9, "teachers": ["t"]}, "recombine"),
        ({"checkpoints": 3}, "checkpoints"),
        ({"start_labels": ["a"]}, "start_labels"),
        ({"start_labels": {"LABEL_0": "weakener"}}, "start_labels"),
        ({"valid_task": "rte"}, "valid_task"),
        ({"valid_label_map": {"weakener": "no"}}, "valid_label_map"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_it_begins(recipe, tmp_path, changes, field, encoder):
    data = defeasible(tmp_path / "d.jsonl", 40)
    if "teachers" in changes:
        changes = {**changes, "teachers": [str(encoder)]}
    with refuses(BadInput, field=field):
        train({**recipe, "data": [data], "task": "d-nli", **changes}, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fields": ["obs1", "hyp1"]}, "fields"),
        ({"fields": ["obs1", "obs2"]}, "fields"),
        ({"join": "obs1 | obs2"}, "join"),
        ({"join": "obs1 | hyp1"}, "join"),
        ({"start_labels": {"LABEL_0": "hyp1"}}, "start_labels"),
    ],
)
def test_what_cannot_be_a_choice(recipe, tmp_path, changes, field):
    data = abductive(tmp_path / "a.jsonl", 40)
    with refuses(BadInput, field=field):
        train({**recipe, "data": [data], "task": "a-nli", **changes}, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_choice_has_no_teachers(recipe, tmp_path, encoder):
    with refuses(BadInput, field="teachers"):
        data = abductive(tmp_path / "a.jsonl", 40)
        train({**recipe, "data": [data], "task": "a-nli", "teachers": [str(encoder)]}, out=tmp_path / "m")


def test_models_are_asked_only_what_they_can_answer(recipe, tmp_path):
    choice = abductive(tmp_path / "a.jsonl", 40)
    train({**recipe, "data": [choice], "task": "a-nli", "epochs": 1}, out=tmp_path / "choice")
    labels = defeasible(tmp_path / "d.jsonl", 40)
    train({**recipe, "data": [labels], "task": "d-nli", "epochs": 1}, out=tmp_path / "labels")
    with refuses(BadInput, where="task d-nli"):
        ask(f"hf:{tmp_path / 'choice'}", D_NLI, labels)
    with refuses(BadInput, where="task a-nli"):
        ask(f"hf:{tmp_path / 'labels'}", A_NLI, choice)
    with refuses(BadInput, field="join"):
        hf(str(tmp_path / "labels"), join="premise | hypothesis + ")
    with refuses(BadInput, field="join"):
        ask(f'hf:{tmp_path / "labels"}(join="premise | claim")', D_NLI, labels)
    batch = Batch(TASKS["nli"], {"premise": ["a dog"], "hypothesis": ["a cat"]})
    with refuses(BadInput, field="join"):
        hf(str(tmp_path / "labels"))(batch)


def test_a_choice_that_is_begun_from_a_classifier_says_that_its_head_is_replaced(recipe, tmp_path, classifier):
    data = abductive(tmp_path / "a.jsonl", 40)
    chosen = {**recipe, "data": [data], "task": "a-nli", "epochs": 1}
    with pytest.warns(UserWarning, match="its head is replaced: it labels texts"):
        train({**chosen, "start": str(classifier)}, out=tmp_path / "m")
    assert json.loads((tmp_path / "m" / "data" / "start.json").read_text())["is"] == "replaced"
    train({**chosen, "start": str(tmp_path / "m")}, out=tmp_path / "n")
    assert json.loads((tmp_path / "n" / "trained.json").read_text())["head"] == {"is": "matched"}
