"""Masked-LMs with torch: against transformers' own logits of one text at a time, in families with other heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_models import TEXT, WORDS, build, save, word_tokenizer

from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import load

INPUTS = ("input_ids", "attention_mask")
FAMILIES = [
    *("bert", "deberta"),
    *(pytest.param(family, marks=pytest.mark.slow) for family in ("roberta", "electra", "modernbert", "distilbert")),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save(build("bert", "ForMaskedLM"), tmp_path_factory.mktemp("mlm") / "tiny", word_tokenizer(INPUTS))


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
    model = build(family, "ForMaskedLM")
    folder = save(model, tmp_path / family, word_tokenizer(INPUTS))
    expected = [by_hand(model, *item) for item in some_masked()]
    for tokens in (1, 60):
        found = load(f"hf:{folder}(device=cpu, tokens={tokens})").fill(some_masked(), top=5)
        for row, (logp, own) in enumerate(expected):
            best = logp.topk(5)
            assert found.ids[row].tolist() == best.indices.tolist()
            np.testing.assert_allclose(found.logp[row], best.values, atol=1e-4)
            np.testing.assert_allclose(found.own[row], logp[own], atol=1e-4)


def test_only_the_asked_places_reach_the_head(tiny):
    """The head costs a row of the vocabulary for each place it sees: it must see one a text."""
    from otherwords.language_models.masked_lm_hf import logits_at

    model, seen = build("bert", "ForMaskedLM"), []
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
    folder = save(build("bert", ""), tmp_path / "bare", word_tokenizer(INPUTS))
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
