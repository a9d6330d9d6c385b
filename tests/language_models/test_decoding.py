"""Beam search and sampling: token for token what transformers finds, and in groups what a search by hand finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import transformers
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.language_models.decoding import drawn, kept, uniforms
from otherwords.language_models.writer import Decoding, load

KINDS = ["t5", "gpt2", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bart", "marian", "llama"))]
#: Model, penalty and temperature of diverse groups.
DIVERSE = [
    *(("t5", 0.8, 0.45), ("gpt2", 1.0, 1.0)),
    *(
        pytest.param(*one, marks=pytest.mark.slow)
        for one in (("t5", 5.0, 2.0), ("gpt2", 0.8, 0.45), ("marian", 1.0, 1.0))
    ),
]
MOST = 10


def original(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    auto = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    transformers.utils.logging.disable_progress_bar()
    try:
        return auto.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)
    finally:
        transformers.utils.logging.enable_progress_bar()


def generated(model, tokenizer, prompt: str, beams: int, count: int) -> list[list[str]]:
    """What transformers generates for one prompt alone, as tokens."""
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    given = {"attention_mask": torch.ones_like(ids), "do_sample": False, "max_new_tokens": MOST}
    rows = model.generate(ids, num_beams=beams, num_return_sequences=count, **given)
    begun = 1 if model.config.is_encoder_decoder else ids.shape[1]
    return [tokenizer.decode(row[begun:], skip_special_tokens=True) for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_and_beams_are_those_of_transformers(saved_writer, prompts, kind):
    writer = load(f"hf:{saved_writer(kind)}(device=cpu, max_new={MOST}, tokens=150)")
    model, tokenizer = original(saved_writer(kind))
    reasons = set()
    for decoding in (Decoding("greedy"), Decoding("beams", 3, beams=3), Decoding("beams", 2, beams=4)):
        found = writer.write(prompts, [0] * len(prompts), decoding)
        reasons |= {draft.fault for drafts in found for draft in drafts}
        for prompt, drafts in zip(prompts, found, strict=True):
            expected = generated(model, tokenizer, prompt, decoding.beams, decoding.count)
            assert [draft.text for draft in drafts] == expected
    assert len(reasons) == (
        1 if kind == "gpt2" else 2
    )  # some came to an end, and some, if it is no GPT-2, were cut off


def next_logits(model, ids: list[int], text: list[int]):
    """What the model says of the next token; the decoder of one that has an encoder begins with its own token."""
    with torch.no_grad():
        if not model.config.is_encoder_decoder:
            return model(torch.tensor([ids + text])).logits[0, -1]
        begun = torch.tensor([[model.config.decoder_start_token_id, *text]])
        logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=begun).logits[0, -1]
    for word in model.generation_config.bad_words_ids or []:
        logits[word[0]] = -math.inf
    return logits


def by_hand(model, ids: list[int], groups: int, penalty: float, temperature: float) -> list[list[int]]:
    """Diverse groups of one beam each, without a cache, a batch or tensors where lists will do.

    A group holds the best finished text so far, and stops when going on cannot be better. In the step in which it stops
    it still takes a token from those that follow.
    """
    texts: list[list[int]] = [[] for _ in range(groups)]
    sums, best, stopped = [0.0] * groups, [(-math.inf, [])] * groups, [False] * groups
    for step in range(MOST):
        taken: list[int] = []
        for g in range(groups):
            if stopped[g]:
                continue
            logp = (next_logits(model, ids, texts[g]) / temperature).log_softmax(-1).tolist()
            logp = [value - penalty * taken.count(token) for token, value in enumerate(logp)]
            order = sorted(range(len(logp)), key=lambda token: -logp[token])
            last = step + 1 == MOST
            if order[0] == 1 or last:
                score = (sums[g] + logp[order[0]]) / (step + 1)
                best[g] = max(best[g], (score, [*texts[g], order[0]]), key=lambda one: one[0])
            going = next(token for token in order if token != 1)
            taken.append(going)
            texts[g], sums[g] = [*texts[g], going], sums[g] + logp[going]
            stopped[g] = last or sums[g] / (step + 1) <= best[g][0]
    return [[token for token in text if token != 1] for _, text in best]


@pytest.mark.parametrize(("kind", "penalty", "temperature"), DIVERSE)
def test_diverse_groups_are_those_of_a_search_by_hand(saved_writer, prompts, kind, penalty, temperature):
    writer = load(f"hf:{saved_writer(kind)}(device=cpu, max_new={MOST})")
    model, tokenizer = original(saved_writer(kind))
    decoding = Decoding("diverse", 4, diversity=penalty, temperature=temperature)
    found = writer.write(prompts, [0] * len(prompts), decoding)
    for prompt, drafts in zip(prompts, found, strict=True):
        expected = by_hand(model, tokenizer(prompt)["input_ids"], 4, penalty, temperature)
        assert [draft.text for draft in drafts] == [tokenizer.decode(row, skip_special_tokens=True) for row in expected]


@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_the_first_group_is_plain_and_the_penalty_makes_the_others_differ(saved_writer, prompts, kind):
    writer, seeds = load(f"hf:{saved_writer(kind)}(device=cpu, max_new={MOST})"), [0] * len(prompts)
    plain = writer.write(prompts, seeds, Decoding("beams", 1, beams=2))
    diverse = writer.write(prompts, seeds, Decoding("diverse", 5, beams=2, diversity=10.0))
    same = writer.write(prompts, seeds, Decoding("diverse", 5, beams=2, diversity=0.0))
    for one, many, none in zip(plain, diverse, same, strict=True):
        assert many[0] == one[0]
        assert len({draft.text for draft in many}) > 1
        assert none == [one[0]] * 5


# Sampling


@pytest.mark.parametrize("top_k", [0, 1, 40, 1000])
@pytest.mark.parametrize("top_p", [0.05, 0.95, 1.0])
@pytest.mark.parametrize("temperature", [0.3, 1.7])
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
@settings(max_examples=at_most(30), deadline=None)
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


def test_other_seeds_write_other_texts_and_a_greedy_one_needs_none(saved_writer, prompts):
    writer, decoding = load(f"hf:{saved_writer('t5')}(device=cpu, max_new=8)"), Decoding("sample", 4, temperature=1.5)
    one, other = (writer.write(prompts, [seed] * len(prompts), decoding) for seed in (1, 2))
    assert one != other
    assert len({draft.text for drafts in one for draft in drafts}) > 10
    assert writer.write(prompts, [1] * len(prompts), Decoding()) == writer.write(
        prompts, [2] * len(prompts), Decoding()
    )


def test_a_near_frozen_draw_is_greedy(saved_writer, prompts):
    writer, seeds = load(f"hf:{saved_writer('gpt2')}(device=cpu, max_new=8)"), list(range(8))
    cold = writer.write(prompts, seeds, Decoding("sample", temperature=1e-4))
    assert cold == writer.write(prompts, seeds, Decoding())
