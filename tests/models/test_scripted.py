from __future__ import annotations

import json
import time

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput, WrongAnswer
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch
from otherwords.registry import models

NLI = TASKS["nli"]
TEXTS = [("It rains.", "It is wet."), ("It rains.", "It is dry."), ("Zoë sleeps. 木", "She snores.")]


def batch(texts=TEXTS, task=NLI):
    return Batch(task, {name: [text[i] for text in texts] for i, name in enumerate(task.fields)})


def script(path, *rows):
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def row(text, **answer):
    return {"premise": text[0], "hypothesis": text[1], **answer}


def ask(spec, texts=TEXTS, task=NLI):
    return load(spec, task)(batch(texts, task))


def test_it_follows_its_script(tmp_path):
    scripted_row = {"p:entailment": 0.2, "p:neutral": 0.3, "p:contradiction": 0.5}
    path = script(tmp_path / "s.jsonl", row(TEXTS[0], pred="neutral"), row(TEXTS[2], **scripted_row, note="x"))
    answers = ask(f"scripted(script={path}, otherwise=entailment)")
    assert answers.p.tolist() == [[0, 1, 0], [1, 0, 0], [0.2, 0.3, 0.5]]
    assert answers.pred.tolist() == [1, 0, 2]
    assert ask(f"scripted:{path}(otherwise=entailment)").pred.tolist() == [1, 0, 2]


def test_any_depends_on_the_text_and_the_seed_alone():
    many = [(f"premise {i}", "hypothesis") for i in range(300)]
    one, same, other = (ask(f"scripted(seed={seed})", many) for seed in (1, 1, 2))
    assert np.array_equal(one.p, same.p)
    assert not np.array_equal(one.pred, other.pred)
    assert np.bincount(one.pred).min() > 60  # all three labels, about equally often
    np.testing.assert_allclose(one.p.sum(axis=1), 1)
    assert np.array_equal(ask("scripted(seed=1)", many[::-1]).p[::-1], one.p)


def test_its_answers_are_the_same_on_every_machine():
    # 1 + (first 63 bits of SHA-256 of '[0, "entailment", "It rains.", "It is wet."]') % 1000, by hashlib alone.
    weights = [717, 934, 749]
    assert ask("scripted").p[0].tolist() == [weight / sum(weights) for weight in weights]


def test_a_label_for_everything():
    assert ask("scripted(otherwise=contradiction)").p.tolist() == [[0, 0, 1]] * 3
    assert ask("scripted(otherwise=not-entailed)", task=TASKS["rte"]).pred.tolist() == [1, 1, 1]


@pytest.mark.parametrize("otherwise", ["fail", "no-such-label"])
def test_fail(otherwise):
    with refuses(WrongAnswer):
        ask(f"scripted(otherwise={otherwise})")


def test_the_log_holds_every_text_that_was_asked(tmp_path):
    log = tmp_path / "log.jsonl"
    for _ in range(2):
        ask(f"scripted(log={log})")
    assert [tuple(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()] == TEXTS * 2


def test_delay_is_per_batch():
    start = time.perf_counter()
    ask("scripted(delay=0.05)")
    assert 0.05 <= time.perf_counter() - start < 1


def test_the_signature_knows_the_script_and_not_the_speed(tmp_path):
    assert models.make("scripted").signature == "scripted.v1(script=, otherwise=any, seed=0)"
    same = models.make(f"scripted(delay=0.1, batch_size=3, log={tmp_path / 'x'})")
    assert same.signature == "scripted.v1(script=, otherwise=any, seed=0)"
    path = script(tmp_path / "s.jsonl", row(TEXTS[0], pred="neutral"))
    before = models.make(f"scripted:{path}").signature
    script(path, row(TEXTS[0], pred="contradiction"))
    assert models.make(f"scripted:{path}").signature != before
    assert str(tmp_path) not in before


@pytest.mark.parametrize(
    "line",
    [
        "{",
        row(TEXTS[0]),
        row(TEXTS[0], pred="maybe"),
        {"premise": "x", "pred": "neutral"},
        {"premise": "x", "hypothesis": 3, "pred": "neutral"},
        row(TEXTS[0], **{"p:neutral": 1.0}),
        row(TEXTS[0], **{"p:entailment": "1", "p:neutral": 0, "p:contradiction": 0}),
    ],
)
def test_a_script_that_cannot_be_played(tmp_path, line):
    path = script(tmp_path / "s.jsonl", row(TEXTS[1], pred="neutral"), line)
    with refuses(BadInput):
        ask(f"scripted:{path}")


def test_scripted_nonsense_is_caught_like_any_models(tmp_path):
    path = script(tmp_path / "s.jsonl", row(TEXTS[0], **{"p:entailment": 2, "p:neutral": 0, "p:contradiction": 0}))
    with refuses(WrongAnswer):
        ask(f"scripted:{path}")


def test_optional_fields_may_be_left_out_of_the_script(tmp_path):
    task = TASKS["d-nli"]
    scripted_row = {"hypothesis": "H.", "update": "U.", "pred": "weakener"}
    for path in (
        script(tmp_path / "a.jsonl", scripted_row),
        script(tmp_path / "b.jsonl", {**scripted_row, "premise": None}),
    ):
        assert ask(f"scripted(script={path}, otherwise=fail)", [("", "H.", "U.")], task).pred.tolist() == [1]


@pytest.mark.parametrize("option", ["delay=-1", "batch_size=0"])
def test_options_that_cannot_work(option):
    with refuses(BadInput):
        models.make(f"scripted({option})")


def test_a_script_that_is_not_there(tmp_path):
    with refuses(BadInput):
        models.make(f"scripted:{tmp_path / 'gone.jsonl'}")
