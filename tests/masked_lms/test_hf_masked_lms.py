"""Masked-LMs with torch: against transformers' own logits of one text at a time, in families with other heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast
from transformers.utils import logging

from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import load

TEXT = "a dog runs in the park while it rains and no cat sleeps"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split()]
SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
FAMILIES = {
    "bert": {**SHAPE, "max_position_embeddings": 32},
    "roberta": {**SHAPE, "max_position_embeddings": 40},
    "electra": {**SHAPE, "embedding_size": 8},
    "deberta": {**SHAPE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "modernbert": {**SHAPE, "global_attn_every_n_layers": 2},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
}


def made(family: str) -> torch.nn.Module:
    torch.manual_seed(5)
    known = {"vocab_size": len(WORDS), "pad_token_id": 0, **FAMILIES[family]}
    model = AutoModelForMaskedLM.from_config(AutoConfig.for_model(family, **known)).eval()
    for weights in model.parameters():
        weights.data += torch.randn_like(weights) * 0.2
    return model


def save(model: torch.nn.Module, folder: Path) -> Path:
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", special)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    inputs = ["input_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=inputs, **names).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save(made("bert"), tmp_path_factory.mktemp("mlm") / "tiny")


def some_masked() -> list[tuple[str, int, int]]:
    """Each word of a few texts of several lengths in turn."""
    texts = [" ".join(TEXT.split()[first:last]) for first, last in ((0, 3), (2, 9), (4, 7), (0, 13))]
    items = []
    for text in texts:
        for word in text.split():
            first = f" {text} ".index(f" {word} ")
            items.append((text, first, first + len(word)))
    return items


def by_hand(model: torch.nn.Module, text: str, first: int, last: int) -> tuple[torch.Tensor, int]:
    """Log-probabilities of all tokens at the mask, and the number of the token that stood there."""
    words = (text[:first] + "[MASK]" + text[last:]).split()
    ids = [2, *(WORDS.index(word) for word in words), 3]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, words.index("[MASK]") + 1]
    return torch.log_softmax(logits.double(), dim=0), WORDS.index(text[first:last])


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.parametrize("family", FAMILIES)
def test_fillings_are_what_each_text_alone_gets(family, tmp_path):
    model = made(family)
    folder = save(model, tmp_path / family)
    for tokens in (1, 60, 0):
        found = load(f"hf:{folder}(device=cpu, tokens={tokens})").fill(some_masked(), top=5)
        for row, item in enumerate(some_masked()):
            logp, own = by_hand(model, *item)
            best = logp.topk(5)
            assert found.ids[row].tolist() == best.indices.tolist()
            np.testing.assert_allclose(found.logp[row], best.values, atol=1e-4)
            np.testing.assert_allclose(found.own[row], logp[own], atol=1e-4)


def test_only_the_asked_places_reach_the_head(tiny):
    """The head costs a row of the vocabulary for each place it sees: it must see one a text."""
    from otherwords.language_models.masked_lm_hf import logits_at

    model, seen = made("bert"), []
    model.cls.register_forward_hook(lambda head, given, out: seen.append(tuple(out.shape)))
    with torch.no_grad():
        logits_at(model, torch.tensor([2, 1]), input_ids=torch.full((2, 7), 5))
        assert seen == [(2, 1, len(WORDS))]
        assert model(input_ids=torch.full((2, 7), 5)).logits.shape == (2, 7, len(WORDS))  # and is itself afterwards


def test_the_signature_has_content_and_arithmetic_but_no_path(tiny):
    single, half = load(f"hf:{tiny}(device=cpu)"), load(f"hf:{tiny}(device=cpu, dtype=bfloat16)")
    assert str(tiny.parent) not in single.signature
    assert single.signature.endswith(":float32")
    assert half.signature == single.signature.replace(":float32", ":bfloat16")
    np.testing.assert_allclose(half.fill(some_masked(), 3).own, single.fill(some_masked(), 3).own, atol=0.1)


def test_an_encoder_without_a_head_is_refused(tmp_path):
    folder = save(made("bert").bert, tmp_path / "bare")
    with refuses(BadInput):
        load(f"hf:{folder}")


@pytest.mark.parametrize("options", ["tokens=-1", "max_length=3"])
def test_sizes_that_cannot_work_are_refused(tiny, options):
    with refuses(BadInput):
        load(f"hf:{tiny}({options})")


def test_of_texts_beyond_the_models_positions_those_around_the_mask_are_read(tiny):
    long = [("a dog " * 30, 0, 1), ("a dog", 0, 1)]
    found, expected = (load(f"hf:{tiny}({options})").fill(long) for options in ("max_length=999", "max_length=32"))
    assert found.cut.tolist() == [True, False]
    assert found.ids.tolist() == expected.ids.tolist()
    np.testing.assert_array_equal(found.logp, expected.logp)
