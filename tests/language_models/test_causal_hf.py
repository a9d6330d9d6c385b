"""Causal models from folders: what a shared prefix saves changes nothing, whatever the architecture."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import save_causal

from otherwords.errors import BadInput
from otherwords.inference import shared_prefix
from otherwords.inference.hf_folders import find
from otherwords.language_models import causal_hf
from otherwords.language_models.causal_hf import open_causal
from otherwords.language_models.completion import LENGTH, STOP, Message, Request

SHOTS = "".join(f"Premise: A man number {n} sleeps.\nHypothesis: He is awake.\nAnswer: no\n\n" for n in range(8))
ENDS = ["A dog runs in the park", "It rains", "No cat sleeps while it rains and a dog runs", "A man sleeps " * 5]
WORDS = [" yes", " no", " maybe", " never"]
#: Architectures whose prefix can be shared, and those where it must not be.
SHARED, NOT_SHARED = ("llama", "gpt2"), ("mistral",)
MORE_SHARED, MORE_NOT_SHARED = ("qwen2", "opt", "gpt_neox"), ("gemma2", "bloom")


def asked(shots: str = SHOTS, ends=ENDS) -> list[Request]:
    return [Request(text=f"{shots}Premise: {end}.\nHypothesis: He sleeps.\nAnswer:") for end in ends]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A function that opens a tiny model, once for all tests."""
    known = {}

    def get(family: str = "llama", chat: bool = False):
        if (family, chat) not in known:
            folder = save_causal(tmp_path_factory.mktemp(family) / "tiny", family, chat=chat)
            known[family, chat] = open_causal(find(str(folder)), device="cpu")
        return known[family, chat]

    return get


def slow(*families: str):
    return [pytest.param(one, marks=pytest.mark.slow) for one in families]


@pytest.fixture
def prefixes(monkeypatch):
    """The beginnings that models were continued from."""
    seen, real = [], shared_prefix.continuing
    monkeypatch.setattr(
        causal_hf, "continuing", lambda model, prefix: seen.append(prefix.length) or real(model, prefix)
    )
    return seen


def directly(model, text: str, continuation: str, first: bool, special: bool = True) -> float:
    """The log-probability by one plain forward pass of the whole text, with all logits."""
    tokenizer = model.opened.tokenizer
    before = tokenizer(text, add_special_tokens=special)["input_ids"]
    after = tokenizer(continuation, add_special_tokens=False)["input_ids"][: 1 if first else None]
    with torch.inference_mode():
        logs = model.opened.model(input_ids=torch.tensor([before + after])).logits[0].log_softmax(-1)
    return sum(float(logs[len(before) - 1 + place, token]) for place, token in enumerate(after))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("family", [*SHARED, *NOT_SHARED, *slow(*MORE_SHARED, *MORE_NOT_SHARED)])
def test_log_probabilities_are_those_of_a_plain_forward_pass(opened, prefixes, family, first):
    model, requests = opened(family), asked()
    found = model.continuations(requests, WORDS, first=first)
    expected = [[directly(model, one.text, word, first) for word in WORDS] for one in requests]
    assert np.abs(found - np.array(expected)).max() < 1e-4
    assert np.ptp(found, axis=0).min() > 0.01  # the prompts are told apart
    used = [length for length in prefixes if length > 100]
    assert bool(used) == (family in (*SHARED, *MORE_SHARED))
