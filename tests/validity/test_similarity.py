"""Similarity as a tiny encoder sees it, computed by hand with transformers; what is empty or out of range."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks

TEXT = "a dog runs in the park while it rains and no cat sleeps"
WORDS = ["[PAD]", "[UNK]", *TEXT.split()]
ONE = Problem("p", TASKS["nli"], {"premise": "a dog runs", "hypothesis": "it rains"}, "neutral")


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(7)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, initializer_range=0.5, **sizes)
    return BertModel(config).eval()


@pytest.fixture(scope="module")
def encoder(bert, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("similarity") / "tiny"
    logging.disable_progress_bar()
    bert.save_pretrained(folder)
    logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.normalizer = normalizers.StripAccents()
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]"}
    PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
    return folder


def cosine(bert, one: str, other: str) -> float:
    vectors = []
    for text in (one, other):
        with torch.inference_mode():
            ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
            vectors.append(bert(input_ids=ids).last_hidden_state[0].mean(dim=0).double().numpy())
    return float(vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1]))


def judged(encoder: Path, least: float, *texts: dict[str, str]):
    bucket = Bucket(ONE, tuple(ONE.restate(**text) for text in texts))
    return list(checks.make(f'similarity(encoder="hf:{encoder}(device=cpu)", least={least})').function([bucket]))


def test_the_score_is_the_smallest_cosine_over_changed_fields(bert, encoder):
    premise, hypothesis = "a cat sleeps", "it runs and rains"
    cosines = cosine(bert, ONE.text["premise"], premise), cosine(bert, ONE.text["hypothesis"], hypothesis)
    texts = [{"premise": premise}, {"hypothesis": hypothesis}, {"premise": premise, "hypothesis": hypothesis}, {}]
    expected = [*cosines, min(cosines), 1.0]
    verdicts = judged(encoder, -1, *texts)
    np.testing.assert_allclose([verdict.score for verdict in verdicts], expected, atol=1e-5)
    assert all(verdict.keep for verdict in verdicts)
    middle = sum(cosines) / 2
    keeps = [verdict.keep for verdict in judged(encoder, middle, *texts)]
    assert keeps == [value >= middle for value in expected]
    assert keeps.count(False) == 2


def test_a_drop_has_its_reason(encoder):
    verdict = judged(encoder, 1, {"hypothesis": "no cat"})[0]
    assert verdict.reason == f"cosine {verdict.score:.3f} below 1"


def test_empty_texts_are_dropped(encoder):
    for text in ("", " ", "\u200b", "\u0301"):  # the last is lost on this tokenizer
        verdict = judged(encoder, -1, {"hypothesis": text, "premise": "a cat sleeps"})[0]
        assert (verdict.keep, verdict.reason, verdict.score) == (False, "empty text", None)


def test_white_space_and_absent_fields_change_nothing(encoder):
    verdict = judged(encoder, 1, {"hypothesis": " it  rains "})[0]
    assert (verdict.keep, verdict.score) == (True, 1.0)
    one = Problem("q", TASKS["d-nli"], {"premise": None, "hypothesis": "it rains", "update": "a dog"}, "weakener")
    check = checks.make(f'similarity(encoder="hf:{encoder}(device=cpu)", least=-1)').function
    verdicts = list(check([Bucket(one, (one.restate(premise=""), one.restate(premise="a cat")))]))
    assert [(verdict.keep, verdict.reason) for verdict in verdicts] == [(True, ""), (False, "empty text")]


def test_the_signature_has_the_encoder_by_content(encoder):
    signature = checks.make(f'similarity(encoder="hf:{encoder}(device=cpu)")').signature
    assert signature.startswith("similarity.v1(least=0.7)#hf.v1()#tiny@")
    assert str(encoder.parent) not in signature


@pytest.mark.parametrize("least", [-1.1, 1.01, float("nan")])
def test_limits_that_no_cosine_has(least):
    with refuses(BadInput):
        checks.get("similarity").factory(least=least)


def test_what_the_encoder_does_not_read_to_its_end_is_dropped_and_reported(encoder):
    """The beginnings that it would read are the same, so that the cosine would be 1."""
    start = " ".join(["it rains"] * 8)  # 16 words: as many as it has positions
    one = Problem("p", TASKS["nli"], {"premise": f"{start} a dog sleeps", "hypothesis": "it rains"}, "neutral")
    variants = one.restate(premise=f"{start} no dog sleeps"), one.restate(hypothesis=start), one.restate(premise=start)
    check = checks.make(f'similarity(encoder="hf:{encoder}(device=cpu)", least=-1)').function
    with pytest.warns(UserWarning, match=r"^similarity: 2 of 3 variants .* longer than the encoder accepts") as result:
        long, fits, shortened = check([Bucket(one, variants)])
    assert len(result) == 1
    for verdict in (long, shortened):
        assert (verdict.keep, verdict.reason, verdict.score) == (False, "longer than the encoder reads", None)
    assert fits.keep
    assert fits.score is not None
