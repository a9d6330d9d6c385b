"""Draws: the filters are those of transformers, tokens come as often as they are likely, chance is a row's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from otherwords.language_models.decoding import drawn, kept, uniforms  # noqa: E402
from otherwords.language_models.writer import (
    Decoding,  # noqa: E402
    load,  # noqa: E402
)


@pytest.mark.parametrize("top_k", [0, 1, 5, 40, 1000])
@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
def test_the_filters_are_those_of_transformers(top_k, top_p, temperature):
    logits = torch.randn(20, 600, generator=torch.Generator().manual_seed(3)) * 3
    scores = transformers.TemperatureLogitsWarper(temperature)(None, logits)
    if top_k:
        scores = transformers.TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = transformers.TopPLogitsWarper(top_p)(None, scores)
    found, ids = kept(logits, Decoding("sample", temperature=temperature, top_k=top_k, top_p=top_p))
    found = found / found.sum(-1, keepdim=True)
    whole = found if ids is None else torch.zeros_like(logits).scatter(1, ids, found)
    torch.testing.assert_close(whole, scores.softmax(-1), rtol=1e-4, atol=1e-6)


def test_tokens_are_drawn_as_often_as_they_are_likely():
    logits = torch.tensor([[2.0, 0.0, 1.0, -3.0]])
    expected = logits.softmax(-1)[0].numpy()
    chance = torch.from_numpy(uniforms([5], 1, 20_000)[0])
    for decoding in (Decoding("sample"), Decoding("sample", top_k=3)):
        tokens = drawn(logits.expand(20_000, -1), chance, decoding).numpy()
        shares = np.bincount(tokens, minlength=4) / 20_000
        wanted = expected if not decoding.top_k else np.where(np.arange(4) < 3, expected, 0) / expected[:3].sum()
        np.testing.assert_allclose(shares, wanted, atol=0.015)  # four standard errors


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4, unique=True), st.integers(1, 3), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_numbers_are_of_the_seed_the_candidate_and_the_place(seeds, copies, most):
    found = uniforms(seeds, copies, most)
    assert found.shape == (len(seeds) * copies, most)
    assert len(np.unique(found)) == found.size
    for place, seed in enumerate(seeds):
        alone = uniforms([seed], copies + 1, most + 3)[:copies, :most]
        assert (found[place * copies : (place + 1) * copies] == alone).all()


def test_seeds_of_any_size_are_safe():
    found = uniforms([2**63 - 1, 2**63, 2**64 - 1, 2**63 + 1], 2, 3)
    assert len(np.unique(found)) == found.size
    assert (uniforms([2**64 + 7, -1], 1, 3) == uniforms([7, 2**64 - 1], 1, 3)).all()


def test_other_seeds_write_other_texts_and_a_greedy_one_needs_none(saved, prompts):
    writer, decoding = load(f"hf:{saved('t5')}(device=cpu, max_new=8)"), Decoding("sample", 4, temperature=1.5)
    one, other = (writer.write(prompts, [seed] * len(prompts), decoding) for seed in (1, 2))
    assert one != other
    assert len({draft.text for drafts in one for draft in drafts}) > 10
    assert writer.write(prompts, [1] * len(prompts), Decoding()) == writer.write(
        prompts, [2] * len(prompts), Decoding()
    )


def test_a_near_frozen_draw_is_greedy(saved, prompts):
    writer, seeds = load(f"hf:{saved('gpt2')}(device=cpu, max_new=8)"), list(range(8))
    cold = writer.write(prompts, seeds, Decoding("sample", temperature=1e-4))
    assert cold == writer.write(prompts, seeds, Decoding())
