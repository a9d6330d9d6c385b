"""Pseudo-log-likelihoods and words of many tokens, against transformers' logits of one row at a time."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM
from transformers.utils import logging

from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import load

TEXTS = ["a dog runs.", "playing in the park while it rains", "no runner sleeps.", "a dog runs."]
ROBERTA_TEXTS = ["a dog runs in the park", "the dog sleeps", "no cat runs", "dogs run"]


@pytest.fixture(scope="module")
def onnx(masked_folder):
    return load(f"onnx:{masked_folder}(max_length=32)")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory) -> Path:
    """A RoBERTa of two layers, whose words carry the blank before them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    known = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "show_progress": False}
    tokenizer.train_from_iterator(ROBERTA_TEXTS * 5, trainers.BpeTrainer(special_tokens=special, **known))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    mask = AddedToken("<mask>", lstrip=True, special=True)
    names = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": mask}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"], **names
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(3)
    config = RobertaConfig(vocab_size=len(fast), max_position_embeddings=40, initializer_range=0.5, **sizes)
    place = tmp_path_factory.mktemp("roberta") / "tiny"
    logging.disable_progress_bar()
    RobertaForMaskedLM(config).eval().save_pretrained(place)
    logging.enable_progress_bar()
    fast.save_pretrained(place)
    return place


def logp(model, ids: list[int], at: int, own: int) -> float:
    """One row, one place, one token."""
    with torch.inference_mode():
        return float(model(torch.tensor([ids])).logits[0, at].double().log_softmax(dim=0)[own])


def one_by_one(model, ids: list[int], mask: int) -> list[float]:
    """Every token between the first and the last, each masked alone."""
    return [logp(model, [*ids[:at], mask, *ids[at + 1 :]], at, ids[at]) for at in range(1, len(ids) - 1)]


def test_pseudo_log_likelihoods_are_what_transformers_computes(masked_bert, onnx):
    found = onnx.pseudo_logp(TEXTS)
    assert [len(row) for row in found] == [4, 8, 5, 4]  # play ##ing; run ##ner
    for text, row in zip(TEXTS, found, strict=True):
        assert row.dtype == np.float32
        np.testing.assert_allclose(row, one_by_one(masked_bert, onnx.tokenizer.encode(text).ids, 4), atol=1e-5)


def test_they_are_for_tokens_of_bytes_too(roberta):
    model, found = RobertaForMaskedLM.from_pretrained(roberta).eval(), load(f"hf:{roberta}(device=cpu)")
    for text, row in zip(ROBERTA_TEXTS, found.pseudo_logp(ROBERTA_TEXTS), strict=True):
        ids = found.tokenizer.encode(text).ids
        np.testing.assert_allclose(row, one_by_one(model, ids, found.tokenizer.token_to_id("<mask>")), atol=1e-4)


def test_a_word_of_two_tokens_by_the_chain_rule(masked_bert, onnx):
    """[CLS] a run ##ner sleeps [SEP]: first `run` before a mask, then `##ner` behind it."""
    run, ner, mask = (onnx.tokenizer.token_to_id(token) for token in ("run", "##ner", "[MASK]"))
    ids = onnx.tokenizer.encode("a runner sleeps").ids
    assert ids[2:4] == [run, ner]
    both = logp(masked_bert, [*ids[:2], mask, mask, *ids[4:]], 2, run) + logp(
        masked_bert, [*ids[:3], mask, *ids[4:]], 3, ner
    )
    np.testing.assert_allclose(onnx.word_logp([("a runner sleeps", 2, 8)]), [both], atol=1e-5)


def test_words_of_bytes_by_the_chain_rule(roberta):
    """The blank before a word is in its first token, whether or not the span has it."""
    model, found = RobertaForMaskedLM.from_pretrained(roberta).eval(), load(f"hf:{roberta}(device=cpu)")
    text, mask = "the doggy runs", found.tokenizer.token_to_id("<mask>")
    encoded = found.tokenizer.encode(text)
    places = [at for at, token in enumerate(encoded.tokens) if token in ("Ġdog", "g", "y")]
    assert len(places) == 3
    rows = [[*encoded.ids[:at], *[mask] * (places[-1] + 1 - at), *encoded.ids[places[-1] + 1 :]] for at in places]
    expected = sum(logp(model, row, at, encoded.ids[at]) for row, at in zip(rows, places, strict=True))
    for first, last in ((4, 9), (3, 9), (4, 10)):
        np.testing.assert_allclose(found.word_logp([(text, first, last)]), [expected], atol=1e-4)


def test_a_word_of_one_token_is_the_fillings_own(onnx):
    items = [
        (text, text.index(word), text.index(word) + len(word)) for text in TEXTS for word in text.strip(".").split()
    ]
    own, found = onnx.fill(items).own, onnx.word_logp(items)
    one = ~np.isnan(own)
    assert 0 < one.sum() < len(items)
    assert found[one].tobytes() == own[one].tobytes()
    assert np.isfinite(found).all()


def test_a_word_in_no_vocabulary_has_no_probability(onnx):
    found = onnx.word_logp([("a Zebra runs", 2, 7), ("a dog runs", 2, 5), ("a Zebra runs", 8, 12)])
    assert np.isnan(found).tolist() == [True, False, False]
    assert np.isnan(onnx.word_logp([("a Zebra runs", 2, 7)])).all()


def test_long_texts_are_read_around_each_token(masked_bert, masked_folder):
    """Eleven tokens of which eight are read: the special ones, and six around the mask."""
    model, text = load(f"onnx:{masked_folder}(max_length=8)"), "a dog runs in the park while it rains"
    found, windows = model.pseudo_logp([text])[0], {1: (1, 7), 6: (3, 9), 9: (4, 10)}
    ids = model.tokenizer.encode(text).ids
    assert len(found) == 9
    for at, (first, last) in windows.items():
        row = [ids[0], *ids[first:last], ids[-1]]
        row[at - first + 1] = 4
        assert found[at - 1] == pytest.approx(logp(masked_bert, row, at - first + 1, ids[at]), abs=1e-5)
    whole = model.word_logp([(text, 0, 1), (text, len(text) - 5, len(text))])
    np.testing.assert_array_equal(whole, found[[0, 8]])


@pytest.mark.parametrize("options", ["tokens=1", "tokens=60, threads=2", "tokens=100000"])
def test_neither_order_nor_company_nor_budget_changes_a_bit(masked_folder, onnx, options):
    other, order = load(f"onnx:{masked_folder}(max_length=32, {options})"), random.Random(1).sample(range(4), 4)
    whole, some = onnx.pseudo_logp(TEXTS), other.pseudo_logp([TEXTS[i] for i in order])
    assert [row.tobytes() for row in some] == [whole[i].tobytes() for i in order]
    items = [(text, 0, len(text)) for text in TEXTS]
    assert other.word_logp(items[1:2]).tobytes() == onnx.word_logp(items)[1:2].tobytes()


def test_a_sentence_is_likelier_than_its_words_in_disorder():
    found = load("mlm-small").pseudo_logp(["A dog runs in the park.", "Park the in runs dog a."])
    assert math.fsum(found[0]) > math.fsum(found[1]) + 10


def test_a_text_without_tokens_has_none(onnx):
    dog, blank, again = onnx.pseudo_logp(["a dog", " ", "a dog"])
    assert (len(dog), len(blank), dog.tolist()) == (2, 0, again.tolist())
    assert [len(one) for one in onnx.pseudo_logp([" ", ""])] == [0, 0]


def test_nothing_to_read_is_refused(onnx):
    with refuses(BadInput):
        onnx.pseudo_logp([])
    with refuses(BadInput):
        onnx.word_logp([])
    with refuses(BadInput):
        onnx.word_logp([("a dog", 3, 3)])
    with refuses(BadInput):
        onnx.word_logp([("a dog", 1, 2)])
