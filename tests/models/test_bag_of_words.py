from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch, Task
from otherwords.registry import models

NLI = TASKS["nli"]
ROWS = [
    {"premise": "a dog runs", "hypothesis": "a dog runs", "label": "entailment"},
    {"premise": "a dog runs", "hypothesis": "nobody runs", "label": "contradiction"},
    {"premise": "a dog runs", "hypothesis": "a brown dog", "label": "neutral"},
    {"premise": "a cat eats", "hypothesis": "a cat eats", "label": "entailment"},
    {"premise": "a cat eats", "hypothesis": "nobody eats", "label": "contradiction"},
    {"premise": "a cat eats", "hypothesis": "a brown cat", "label": "neutral"},
]


def asked(model, frame):
    batch = Batch(model.task, {name: frame[name].to_list() for name in model.task.fields})
    return model(batch)


@pytest.fixture(scope="module")
def model():
    return load("bag_of_words", NLI)


def test_it_learns_what_it_is_shown(model):
    frame = ow.load("everyday(split=train)")
    answers = asked(model, frame)
    right = [NLI.labels[pred] == label for pred, label in zip(answers.pred, frame["label"], strict=True)]
    assert np.mean(right) > 0.9


def test_it_has_something_to_say_of_texts_it_has_never_seen(model):
    answers = asked(model, ow.load("everyday"))
    assert set(answers.pred.tolist()) == {0, 1, 2}
    np.testing.assert_allclose(answers.p.sum(axis=1), 1, atol=3e-6)
    assert answers.p.min() >= 0
    unknown = model(Batch(NLI, {"premise": ["zzz", "?!"], "hypothesis": ["qqq", "…"]}))
    assert np.isfinite(unknown.p).all()


def test_words_shared_with_the_premise_are_distinguished_from_new_ones(jsonl):
    learnt = load(f"bag_of_words(train={jsonl(*ROWS)})", NLI)
    new = learnt(
        Batch(NLI, {"premise": ["a horse runs"] * 3, "hypothesis": ["a horse runs", "nobody runs", "a brown horse"]})
    )
    assert [NLI.labels[pred] for pred in new.pred] == ["entailment", "contradiction", "neutral"]


def test_the_same_training_gives_the_same_bits_in_every_process():
    code = """
import hashlib
import otherwords as ow
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch
frame = ow.load("everyday")
model = load("bag_of_words(steps=50)", TASKS["nli"])
answers = model(Batch(model.task, {name: frame[name].to_list() for name in model.task.fields}))
print(hashlib.sha256(answers.p.tobytes()).hexdigest())
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    here = asked(load("bag_of_words(steps=50)", NLI), ow.load("everyday"))
    assert hashlib.sha256(here.p.tobytes()).hexdigest() == printed


def test_order_of_training_problems_hardly_matters(jsonl):
    frame = ow.load("everyday")
    one = asked(load(f"bag_of_words(train={jsonl(*ROWS)})", NLI), frame)
    other = asked(load(f"bag_of_words(train={jsonl(*ROWS[::-1], name='other.jsonl')})", NLI), frame)
    np.testing.assert_allclose(one.p, other.p, atol=2e-6)


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.csv"])
def test_it_trains_on_files_by_their_ending(tmp_path, name):
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("premise,hypothesis,label\n" + "".join(",".join(row.values()) + "\n" for row in ROWS))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    answers = load(f"bag_of_words(train={path})", NLI)(
        Batch(NLI, {"premise": ["a dog runs"], "hypothesis": ["nobody runs"]})
    )
    assert NLI.labels[answers.pred[0]] == "contradiction"


def test_it_trains_on_released_layouts_with_their_labels(jsonl):
    rows = [{"uid": i, "context": row["premise"], **row, "label": row["label"][0]} for i, row in enumerate(ROWS)]
    assert load(f'bag_of_words(train="anli:{jsonl(*rows)}")', NLI).signature.count("anli.v1(path=rows.jsonl#") == 1


def test_any_task(jsonl):
    mood = Task("mood", ("text",), ("good", "bad"))
    rows = [{"text": "what a fine day", "label": "good"}, {"text": "what a sad day", "label": "bad"}]
    answers = load(f"bag_of_words(train={jsonl(*rows)})", mood)(Batch(mood, {"text": ["a sad song", "a fine song"]}))
    assert [mood.labels[pred] for pred in answers.pred] == ["bad", "good"]


def test_the_signature_covers_the_training_data_and_no_place(jsonl, tmp_path):
    path = jsonl(*ROWS)
    before = models.make(f"bag_of_words(train={path})").signature
    assert models.make(f"bag_of_words(train={path}, batch_size=3)").signature == before
    assert models.make(f"bag_of_words(train={path})", task=NLI).signature == before
    assert models.make(f"bag_of_words(train={path}, penalty=2)").signature != before
    assert str(tmp_path) not in before
    jsonl(*ROWS, ROWS[0])
    assert models.make(f"bag_of_words(train={path})").signature != before
    assert models.make("bag_of_words").signature.startswith(
        "bag_of_words.v1(penalty=1.0, steps=200)#everyday.v1(split=train)@"
    )


@pytest.mark.parametrize("penalty", [0, 1, 1e3, 1e9])
def test_any_penalty_leaves_numbers(jsonl, penalty):
    answers = asked(load(f"bag_of_words(train={jsonl(*ROWS[:2])}, penalty={penalty})", NLI), ow.load("everyday"))
    assert np.isfinite(answers.p).all()


def test_what_it_cannot_train_on(jsonl, tmp_path):
    with refuses(BadInput):
        models.make(f"bag_of_words(train={tmp_path / 'gone.jsonl'})")
    with refuses(UnknownName):
        models.make("bag_of_words(train=nothing)")
    with refuses(BadInput):
        models.make(f"bag_of_words(train={jsonl({**ROWS[0], 'label': 'yes'})})")
    with refuses(BadInput):
        models.make(f"bag_of_words(train={jsonl(name='empty.jsonl')})")
    with refuses(BadInput):
        models.make("bag_of_words(steps=0)")
    with refuses(BadInput):
        models.make("bag_of_words(penalty=-1)")
