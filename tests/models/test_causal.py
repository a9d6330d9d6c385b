"""`hf:` with a causal model: a classifier by template and readout, and options of the other kind are refused."""

from __future__ import annotations

import pytest
from tiny_models import build, save, save_causal, word_tokenizer

from otherwords.errors import BadInput
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch

NLI = TASKS["nli"]
TEXTS = [
    ("A dog runs in the park.", "It rains."),
    ("No cat sleeps.", "A cat sleeps while it rains."),
    ("It rains.", "No."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("causal") / "tiny", "llama")


def asked() -> Batch:
    premises, hypotheses = zip(*TEXTS, strict=True)
    return Batch(NLI, {"premise": list(premises), "hypothesis": list(hypotheses)})


def test_a_causal_model_answers_as_a_classifier(folder):
    answerer = load(f"hf:{folder}(device=cpu, readout=score)", NLI)
    answers = answerer(asked())
    print(answers, answerer.signature, answerer.model)
