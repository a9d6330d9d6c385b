"""Sequence-pair classifiers with torch, against transformers on one pair at a time; and wrong folders of every kind."""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_models import KNOWN, LABELS, WORDS, build, save, word_tokenizer
from transformers import BertConfig, BertForSequenceClassification, EsmTokenizer
from transformers.utils import logging

from otherwords.errors import BadInput, MissingExtra, WrongAnswer
from otherwords.inference import hf_folders
from otherwords.models import answering
from otherwords.models.model import Answerer, as_model
from otherwords.problem import TASKS, Batch
from otherwords.registry import encoders
from otherwords.registry import models as registry

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def bert() -> BertForSequenceClassification:
    return build("bert")


@pytest.fixture(scope="module")
def saved(bert, tmp_path_factory) -> Path:
    return save(bert, tmp_path_factory.mktemp("hf") / "tiny", word_tokenizer())


@pytest.fixture
def tiny(saved, tmp_path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def load(spec: str) -> Answerer:
    bound = registry.make(spec)
    return Answerer(spec, bound.signature, as_model(bound.function), TASKS["nli"], {})


def batch(texts: list[tuple[str, str]]) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def some_texts(count: int = 15) -> list[tuple[str, str]]:
    rng = random.Random(3)
    return [(" ".join(rng.choices(KNOWN, k=rng.randrange(9))), rng.choice(KNOWN)) for _ in range(count)]


def by_hand(bert: BertForSequenceClassification, texts: list[tuple[str, str]]) -> np.ndarray:
    """Each pair by itself, tokenized here, in the order of `LABELS`."""
    rows = []
    for first, second in texts:
        a, b = ["[CLS]", *first.split(), "[SEP]"], [*second.split(), "[SEP]"]
        ids = torch.tensor([[WORDS.index(word) for word in a + b]])
        with torch.no_grad():
            logits = bert(input_ids=ids, token_type_ids=torch.tensor([[0] * len(a) + [1] * len(b)])).logits
        rows.append(torch.softmax(logits[0].double(), dim=0).numpy())
    return np.array(rows)


def test_answers_are_what_the_model_computes(bert, saved):
    answers = load(f"hf:{saved}")(batch(some_texts()))
    expected = by_hand(bert, some_texts())[:, [LABELS.index(label) for label in TASKS["nli"].labels]]
    np.testing.assert_allclose(answers.p, expected, rtol=1e-4)
    assert len(set(answers.pred.tolist())) > 1


@pytest.mark.parametrize(("size", "tokens"), [(1, 0), (7, 30)])
def test_any_order_and_batch_gives_the_same_labels(saved, size, tokens):
    texts, model = some_texts(), load(f"hf:{saved}(tokens={tokens}, device=cpu)")
    whole = model(batch(texts))
    order = random.Random(size).sample(range(len(texts)), len(texts))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        answers = model(batch([texts[row] for row in rows]))
        assert answers.pred.tolist() == whole.pred[rows].tolist()
        np.testing.assert_allclose(answers.p, whole.p[rows], atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_arithmetic_is_another_model_with_nearly_the_same_answers(bert, saved, dtype):
    bound = registry.make(f"hf:{saved}(dtype={dtype}, device=cpu)")
    assert bound.signature.endswith(f":{dtype}")
    found, expected = bound.function(batch(some_texts())).answers, by_hand(bert, some_texts())
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert not np.allclose(found, expected, atol=1e-6)


def test_arithmetic_that_does_not_exist_is_refused(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(dtype=int8)")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while the compiler is imported
@pytest.mark.parametrize("forward", ["transformers", pytest.param("compiled", marks=pytest.mark.slow), "lean"])
def test_every_forward_pass_computes_the_same(bert, saved, forward):
    bound = registry.make(f"hf:{saved}(forward={forward}, device=cpu)")
    assert bound.signature.endswith(f":float32:{forward}")
    np.testing.assert_allclose(bound.function(batch(some_texts())).answers, by_hand(bert, some_texts()), rtol=1e-4)


def test_on_a_processor_gelu_is_exact_unless_asked(saved):
    usual, lean = (load(f"hf:{saved}({options}device=cpu)") for options in ("", "forward=lean, "))
    assert usual.signature.endswith(":float32")
    np.testing.assert_array_equal(usual(batch(some_texts())).p, lean(batch(some_texts())).p)


def test_a_processor_does_not_compute_in_float8(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(dtype=float8, device=cpu)")


@pytest.fixture
def float8(monkeypatch) -> None:
    """Every device multiplies in 8 bits; without its kernels, as torch's own operations do."""
    monkeypatch.setattr(hf_folders, "refuse_float8", lambda *_: None)


@pytest.mark.usefixtures("float8")
@pytest.mark.parametrize(("dtype", "most", "least"), [("float32", 0.01, 1e-6), ("float8", 0.3, 1e-3)])
def test_the_fused_pass_is_another_model_with_similar_answers(bert, saved, dtype, most, least):
    """GELU in its tanh form is other arithmetic, and so is float8: answers must not be mixed with those of others."""
    bound = registry.make(f"hf:{saved}(dtype={dtype}, forward=fused, device=cpu)")
    assert bound.signature.endswith(f":{dtype}:fused")
    found, expected = bound.function(batch(some_texts())).answers, by_hand(bert, some_texts())
    np.testing.assert_allclose(found, expected, atol=most)
    assert not np.allclose(found, expected, atol=least)


@pytest.mark.usefixtures("float8")
@pytest.mark.parametrize("forward", ["lean", "transformers", "compiled"])
def test_other_forward_passes_do_not_compute_in_float8(saved, forward):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(dtype=float8, forward={forward}, device=cpu)")


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.usefixtures("float8")
def test_a_model_without_a_lean_pass_does_not_compute_in_float8(tmp_path):
    folder = save(build("deberta-v2"), tmp_path / "tiny", word_tokenizer())
    with refuses(BadInput):
        registry.make(f"hf:{folder}(dtype=float8, device=cpu)")


def test_encoders_do_not_compute_in_float8(saved):
    with refuses(BadInput):
        encoders.make(f"hf:{saved}(dtype=float8, device=cpu)")


def test_forward_passes_that_do_not_exist_are_refused(saved, tmp_path):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(forward=fast)")


def test_a_negative_budget_is_refused(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(tokens=-1)")


#: XLNet pads on the left, DeBERTa has relative positions, MPNet counts from behind the pad.
FAMILIES = [
    *("roberta", "deberta-v2"),
    *(
        pytest.param(family, marks=pytest.mark.slow)
        for family in ("xlm-roberta", "camembert", "electra", "mpnet", "modernbert", "distilbert", "xlnet")
    ),
]


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_as_each_pair_alone(family, tmp_path):
    """Expected: transformers' own model on one pair at a time, with its own mask of ones."""
    model = build(family)
    takes = [name for name in word_tokenizer().model_input_names if name in signature(model.forward).parameters]
    tokenizer = word_tokenizer(takes, padding_side="left" if family == "xlnet" else "right")  # it reads the last token
    folder = save(model, tmp_path / "tiny", tokenizer)
    expected = []
    for pair in some_texts():
        with torch.no_grad():
            logits = model(**tokenizer(*pair, return_tensors="pt")).logits
        expected.append(torch.softmax(logits[0].double(), dim=0).numpy())
    for tokens in (1, 40):
        found = registry.make(f"hf:{folder}(tokens={tokens}, device=cpu)").function(batch(some_texts())).answers
        np.testing.assert_allclose(found, np.array(expected), atol=1e-5)


def test_two_labels_where_the_task_has_three_need_a_map(tmp_path, tiny, bert):
    config = BertConfig.from_dict({**bert.config.to_dict(), "id2label": {0: "yes", 1: "no"}})
    save(BertForSequenceClassification(config), tiny)
    with refuses(BadInput):
        answering.load(f"hf:{tiny}", TASKS["nli"])
    with pytest.warns(UserWarning, match="none of its labels .* means neutral"):
        mapped = answering.load(f"hf:{tiny}", TASKS["nli"], {"yes": "entailment", "no": "contradiction"})
    answers = mapped(batch(some_texts()))
    np.testing.assert_allclose(answers.p.sum(axis=1), 1)
    assert not answers.p[:, TASKS["nli"].labels.index("neutral")].any()


def test_tokens_that_the_model_does_not_know_are_reported(tiny, bert):
    config = BertConfig.from_dict({**bert.config.to_dict(), "vocab_size": len(WORDS) - 2})
    save(BertForSequenceClassification(config), tiny)
    with refuses(WrongAnswer):
        load(f"hf:{tiny}")(batch([("no cat sleeps", "it rains")]))


def test_it_does_not_promise_what_padding_breaks(saved):
    assert not as_model(registry.make(f"hf:{saved}").function).batch_invariant


def test_half_precision_weights_are_computed_in_single(bert, tiny):
    save(BertForSequenceClassification.from_pretrained(tiny).half(), tiny)
    np.testing.assert_allclose(
        registry.make(f"hf:{tiny}").function(batch(some_texts())).answers, by_hand(bert, some_texts()), atol=0.02
    )


def test_the_signature_has_the_name_and_content_but_no_path(saved, tiny, tmp_path):
    signed = registry.make(f"hf:{saved}").signature
    assert str(saved.parent) not in signed
    assert re.fullmatch(r"hf\.v1\(max_length=256\)#tiny@[0-9a-f]{12}:float32", signed)
    assert registry.make(f"hf:{tiny}(device=cpu, tokens=20, dtype=float32)").signature == signed
    (tiny / "README.md").write_text("no part of the model")
    assert registry.make(f"hf:{tiny}").signature == signed
    config = (tiny / "config.json").read_text()
    (tiny / "config.json").write_text(config.replace("neutral", "Neutral"))
    assert registry.make(f"hf:{tiny}").signature != signed


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """A hub that cannot be reached, and its cache, empty."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def test_a_hub_model_is_known_by_its_commit(bert, saved, offline):
    kept = offline / "models--org--tiny"
    shutil.copytree(saved, kept / "snapshots" / COMMIT)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(COMMIT)
    bound = registry.make("hf:org/tiny")
    assert bound.signature == "hf.v1(max_length=256)#org/tiny@0123456789ab:float32"
    np.testing.assert_allclose(bound.function(batch(some_texts())).answers, by_hand(bert, some_texts()), rtol=1e-4)
    assert registry.make(f"hf:org/tiny(revision={COMMIT})").signature == bound.signature
    with refuses(BadInput):
        registry.make("hf:org/tiny(revision=v2)")


@pytest.mark.parametrize("name", ["no-such-org/no-such-model", "./nowhere", "/no/such/folder", "~/nowhere-at-all"])
def test_what_cannot_be_found_says_where_it_was_looked_for(offline, monkeypatch, tmp_path, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    with refuses(BadInput):
        registry.make(f"hf:{name}")


def test_cut_pairs_are_flagged(saved):
    long, short = ("a dog runs in the park", "it rains"), ("a dog runs", "it rains")
    answers = load(f"hf:{saved}(max_length=8)")(batch([long, short, long]))  # the short one has exactly eight
    assert answers.cut.tolist() == [True, False, True]
    np.testing.assert_allclose(answers.p[0], answers.p[1], atol=1e-6)  # the longer text is cut


@pytest.mark.parametrize("forward", ["lean", "transformers"])
def test_pairs_beyond_the_models_positions_are_cut(bert, saved, forward):
    """It has 32, of which three go to special tokens and two to the shorter text."""
    model = load(f"hf:{saved}(forward={forward}, device=cpu)")
    assert (model.model.max_length, model.model.positions) == (32, 32)
    assert load(f"hf:{saved}(max_length=20)").model.max_length == 20
    reply = model.model(batch([("a dog " * 30, "it rains"), ("a dog", "it rains")]))
    assert reply.cut.tolist() == [True, False]
    read = [(" ".join(["a dog"] * 13 + ["a"]), "it rains"), ("a dog", "it rains")]
    np.testing.assert_allclose(reply.answers, by_hand(bert, read), rtol=1e-4)


def test_no_problems_no_answers(saved):
    found = registry.make(f"hf:{saved}").function(batch([]))
    assert (found.answers.shape, found.cut.shape) == ((0, 3), (0,))
    assert len(load(f"hf:{saved}")(batch([]))) == 0


def test_multiple_choice_is_refused(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}").function(Batch(TASKS["a-nli"], {name: ["a"] for name in TASKS["a-nli"].fields}))


@pytest.mark.parametrize(
    "missing", [["tokenizer.json"], ["tokenizer.json", "tokenizer_config.json"], ["config.json"], ["model.safetensors"]]
)
def test_an_incomplete_folder_is_refused(tiny, missing):
    for name in missing:
        (tiny / name).unlink()
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_pickled_weights_are_refused(bert, tiny):
    (tiny / "model.safetensors").unlink()
    torch.save(bert.state_dict(), tiny / "pytorch_model.bin")
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_weights_cut_short_are_refused(tiny):
    content = (tiny / "model.safetensors").read_bytes()
    (tiny / "model.safetensors").write_bytes(content[: len(content) // 2])
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def rewrite(config: Path, **changes: object) -> None:
    config.write_text(json.dumps({**json.loads(config.read_text()), **changes}))


def test_labels_that_do_not_fit_the_weights_are_refused(tiny):
    rewrite(tiny / "config.json", id2label={"0": "yes", "1": "no"}, label2id={"yes": 0, "no": 1})
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_a_folder_without_label_names_is_refused(tiny):
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(
        json.dumps({k: v for k, v in config.items() if k not in ("id2label", "label2id")})
    )
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_generic_label_names_are_passed_on(tiny):
    names = {str(i): f"LABEL_{i}" for i in range(3)}
    rewrite(tiny / "config.json", id2label=names, label2id={name: int(i) for i, name in names.items()})
    assert as_model(registry.make(f"hf:{tiny}").function).labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_an_encoder_without_a_head_is_refused(bert, tiny):
    save(bert.bert, tiny)
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_code_that_comes_with_a_model_is_not_run(tiny):
    (tiny / "evil.py").write_text("raise SystemExit('was run')")
    auto = {"AutoModelForSequenceClassification": "evil.Model", "AutoConfig": "evil.Config"}
    rewrite(tiny / "config.json", model_type="evil", auto_map=auto)
    with refuses(BadInput):
        registry.make(f"hf:{tiny}")


def test_a_device_that_is_not_there_is_refused(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(device=abacus)")


def test_a_folder_has_no_revision(saved):
    with refuses(BadInput):
        registry.make(f"hf:{saved}(revision=main)")


def test_loading_leaves_logging_and_terminal_alone(tiny, capfd):
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    registry.make(f"hf:{tiny}")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def test_without_the_extra_the_error_is_the_command(monkeypatch, saved):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with refuses(MissingExtra):
        registry.make(f"hf:{saved}")


def test_a_tokenizer_written_in_python_serves_too(bert, tiny):
    """ESM's has no other form; with our words in its vocabulary it makes the same rows."""
    for file in (tiny / "tokenizer.json", tiny / "tokenizer_config.json"):
        file.unlink()
    (tiny / "vocab.txt").write_text("\n".join(WORDS))
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "pad_token": "[PAD]", "mask_token": "[UNK]"}
    slow = EsmTokenizer(str(tiny / "vocab.txt"), eos_token="[SEP]", **names)
    slow.save_pretrained(tiny)
    assert not slow.is_fast
    texts = [(" ".join(rest), "it rains") for rest in (["a", "dog"], ["the", "park", "sleeps"], ["no"])]
    answers = load(f"hf:{tiny}(device=cpu)")(batch(texts))
    ids = [
        [2, *(WORDS.index(word) for word in a.split()), 3, *(WORDS.index(word) for word in b.split()), 3]
        for a, b in texts
    ]
    with torch.no_grad():
        logits = torch.cat([bert(input_ids=torch.tensor([row])).logits for row in ids])
    expected = torch.softmax(logits.double(), dim=1).numpy()[:, [LABELS.index(label) for label in TASKS["nli"].labels]]
    np.testing.assert_allclose(answers.p, expected, rtol=1e-4)
    cut = load(f"hf:{tiny}(device=cpu, max_length=8)")(batch([*texts, ("a dog runs in the park", "it rains")])).cut
    assert cut.tolist() == [False, False, False, True]
