"""`hf:` with a causal model: a classifier by template and readout, and options of the other kind are refused."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import build, save, save_causal, word_tokenizer

from otherwords.errors import BadInput
from otherwords.language_models.completion import Request
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch

NLI = TASKS["nli"]
TEXTS = [
    ("A dog runs in the park.", "It rains."),
    ("No cat sleeps.", "A cat sleeps while it rains."),
    ("It rains.", "No."),
]
TEMPLATE = """
name = "tiny"
task = "nli"
form = "plain"
prompt = "{premise} {hypothesis} Answer:"
[words]
entailment = "yes"
neutral = "maybe"
contradiction = "no"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = save_causal(tmp_path_factory.mktemp("causal") / "tiny", "llama")
    (place.parent / "tiny.toml").write_text(TEMPLATE)
    return place


def ask(spec: str):
    premises, hypotheses = zip(*TEXTS, strict=True)
    answerer = load(spec, NLI)
    return answerer, answerer(Batch(NLI, {"premise": list(premises), "hypothesis": list(hypotheses)}))


def test_a_causal_model_answers_by_the_log_probabilities_of_label_texts(folder):
    answerer, answers = ask(f'hf:{folder}(device=cpu, readout=score, template="{folder.parent}/tiny.toml")')
    scorer = answerer.model.function.readout.model
    requests = [Request(text=f"{premise} {hypothesis} Answer:") for premise, hypothesis in TEXTS]
    logs = scorer.continuations(requests, [" yes", " maybe", " no"], first=False)
    assert answers.p == pytest.approx(np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True), abs=1e-5)
    assert answers.pred.tolist() == logs.argmax(axis=1).tolist()
    assert answers.mass == pytest.approx(np.exp(logs).sum(axis=1), rel=1e-3)


def test_template_and_readout_and_dtype_are_signed_and_the_place_is_not(folder):
    spec = f'hf:{folder}(device=cpu, template="{folder.parent}/tiny.toml"'
    signatures = [
        load(f"{spec}{more})", NLI).signature for more in ("", ", tokens=99", ", readout=score", ", dtype=bfloat16")
    ]
    assert len({*signatures}) == 3
    assert signatures[0] == signatures[1]
    assert str(folder.parent) not in "".join(signatures)
    assert load(f"hf:{folder}(device=cpu)", NLI).signature not in signatures


def test_it_says_what_depends_on_the_batch_and_on_all_cores(folder):
    model = load(f"hf:{folder}(device=cpu)", NLI).model
    assert (model.batch_invariant, model.uses_all_cores, model.ways) == (False, True, ("shuffled",))


@pytest.mark.parametrize("option", ["max_length=99", "forward=lean", "join=premise"])
def test_options_of_classifiers_are_refused(folder, option):
    with pytest.raises(
        BadInput, match=f"LlamaForCausalLM is a causal model, which has no option {option.split('=')[0]}"
    ):
        load(f"hf:{folder}(device=cpu, {option})", NLI)


@pytest.mark.parametrize("option", ["template=words", "readout=text", "shots=3", "seed=1"])
def test_options_of_language_models_are_refused_for_a_classifier(tmp_path, option):
    saved = save(build("bert"), tmp_path / "bert", word_tokenizer())
    name = option.split("=")[0]
    with pytest.raises(BadInput, match=f"BertForSequenceClassification is a classifier, which has no option {name}"):
        load(f"hf:{saved}(device=cpu, {option})", NLI)


def test_an_encoder_with_the_head_of_a_decoder_is_refused(tmp_path):
    saved = save(build("bert", "ForCausalLM"), tmp_path / "bert", word_tokenizer())
    with pytest.raises(BadInput, match="its tokens see those behind them"):
        load(f"hf:{saved}(device=cpu)", NLI)
