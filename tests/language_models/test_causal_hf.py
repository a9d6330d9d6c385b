"""Causal models from folders: what a shared prefix saves changes nothing, whatever the architecture."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import save_causal

from otherwords.errors import BadInput
from otherwords.inference import shared_prefix
from otherwords.inference.hf_folders import find
from otherwords.language_models import causal_hf
from otherwords.language_models.causal_hf import CausalModel, open_causal
from otherwords.language_models.completion import STOP, Message, Request

SHOTS = "".join(f"Premise: A man number {n} sleeps.\nHypothesis: He is awake.\nAnswer: no\n\n" for n in range(8))
ENDS = ["A dog runs in the park", "It rains", "No cat sleeps while it rains and a dog runs", "A man sleeps " * 5]
WORDS = [" yes", " no", " maybe", " never"]
#: Architectures whose prefix can be shared, and those where it must not be.
SHARED, NOT_SHARED = ("llama", "gpt2"), ("mistral", "falcon")
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
        shared_prefix, "continuing", lambda model, prefix: seen.append(prefix.length) or real(model, prefix)
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
    used = [length for length in prefixes if length > 100 and any(model._prefixes.values())]
    assert bool(used) == (family in (*SHARED, *MORE_SHARED))


def test_a_chat_is_asked_in_its_template(opened, prefixes):
    model = opened(chat=True)
    turns = [
        Message("system", "Answer yes or no. " * 8),
        *(Message("user", f"It rains? {SHOTS}"), Message("assistant", "no")),
    ]
    requests = [Request(messages=(*turns, Message("user", end))) for end in ENDS]
    found = model.continuations(requests, ["yes", "no"], first=True)
    lines = [f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in requests[1].messages]
    text = "".join(lines) + "<|im_start|>assistant\n"
    assert found[1] == pytest.approx(
        [directly(model, text, one, True, special=False) for one in ("yes", "no")], abs=1e-4
    )
    assert max(prefixes) > 100


def test_order_and_budget_do_not_matter(opened):
    model, requests = opened(), asked()
    whole = model.continuations(requests, WORDS, first=False)
    small = causal_hf.CausalModel(replace(model.opened, tokens=30))
    assert np.abs(small.continuations(requests[::-1], WORDS, first=False)[::-1] - whole).max() < 1e-4


def test_one_prompt_with_other_shots_does_not_keep_the_rest_from_sharing(opened, prefixes):
    model = causal_hf.CausalModel(opened().opened)
    requests = [*asked(), *asked(SHOTS.replace("number 2", "number 9"), ENDS[:1])]
    found = model.continuations(requests, WORDS, first=True)
    assert max(prefixes) > 200
    assert found[-1] == pytest.approx([directly(model, requests[-1].text, one, True) for one in WORDS], abs=1e-4)
    assert found[0] == pytest.approx([directly(model, requests[0].text, one, True) for one in WORDS], abs=1e-4)


def test_where_memory_ends_batches_are_halved(opened, monkeypatch):
    model, requests, sizes, real = opened(), asked(), [], causal_hf.forward
    whole = model.continuations(requests, WORDS, first=True)

    def small(model, prefix, read, input_ids, at, **more):
        sizes.append(len(input_ids))
        if len(input_ids) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(model, prefix, read, input_ids, at, **more)

    monkeypatch.setattr(causal_hf, "forward", small)
    assert np.abs(model.continuations(requests, WORDS, first=True) - whole).max() < 1e-4
    assert max(sizes) > 1


def test_a_model_whose_numbers_would_change_is_not_shared(opened, prefixes, monkeypatch):
    """Whatever the reason: here, a mistake in how two attentions are merged."""
    monkeypatch.setattr(torch, "lerp", lambda old, own, share: old + own * share)
    model = causal_hf.CausalModel(opened().opened)
    found = model.continuations(asked(), WORDS, first=True)
    assert prefixes
    assert not any(model._prefixes.values())
    assert found[0] == pytest.approx([directly(model, asked()[0].text, one, True) for one in WORDS], abs=1e-4)


def test_a_prompt_longer_than_the_model_reads_is_refused(opened):
    with pytest.raises(BadInput, match=r"a prompt has \d+ tokens, and the model reads 2048; use fewer shots"):
        opened().continuations([Request(text=SHOTS * 20)], WORDS, first=True)


def test_a_prompt_without_tokens_is_refused(opened, monkeypatch):
    model = opened()
    monkeypatch.setattr(model, "_encode", lambda texts, special: [[] for _ in texts])
    with pytest.raises(BadInput, match="no tokens for a prompt"):
        list(model.complete([Request(text="", max_tokens=3)]))


@pytest.mark.parametrize("fast", [True, False])
def test_a_tokenizer_that_ends_every_text_does_not_end_prompts(opened, prefixes, tmp_path, monkeypatch, fast):
    """As with add_eos_token, which some training leaves behind: what follows the end of a text is another text."""
    folder = save_causal(tmp_path / "tiny", "llama")
    saved = json.loads((folder / "tokenizer.json").read_text())
    post, end = saved["post_processor"], {"id": "</s>", "type_id": 0}
    post["single"].append({"SpecialToken": end})
    post["special_tokens"]["</s>"] = {"id": "</s>", "ids": [1], "tokens": ["</s>"]}
    (folder / "tokenizer.json").write_text(json.dumps(saved))
    usual, ending = opened(), open_causal(find(str(folder)), device="cpu")
    monkeypatch.setattr(type(ending.opened.tokenizer), "is_fast", fast)
    assert ending.opened.tokenizer("It rains")["input_ids"][-1] == 1
    expected = usual.continuations(asked(), WORDS, first=False)
    assert np.abs(ending.continuations(asked(), WORDS, first=False) - expected).max() < 1e-5
    assert max(prefixes) > 100
    requests = [replace(one, max_tokens=4) for one in asked()]
    texts = [[reply.text for _, reply in sorted(model.complete(requests))] for model in (usual, ending)]
    assert texts[0] == texts[1]


def test_a_template_with_thoughts_is_that_of_a_model_that_thinks(opened):
    own, tokenizer = opened(chat=True).opened, copy.copy(opened(chat=True).opened.tokenizer)
    tokenizer.chat_template += "{{ '<think>' }}"
    assert CausalModel(replace(own, tokenizer=tokenizer)).capabilities.reasons
    assert not CausalModel(own).capabilities.reasons


def test_a_plain_model_cannot_chat(opened):
    with pytest.raises(BadInput, match="no template for chats"):
        opened().continuations([Request(messages=(Message("user", "It rains?"),))], WORDS, first=True)


# Completions


def test_greedy_texts_are_those_of_transformers(opened):
    model, requests = opened(), asked()
    replies = dict(model.complete([replace(one, max_tokens=5) for one in requests]))
    for number, request in enumerate(requests):
        ids = model.opened.tokenizer(request.text, return_tensors="pt")
        whole = model.opened.model.generate(**ids, max_new_tokens=5, do_sample=False)
        expected = model.opened.tokenizer.decode(whole[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        assert replies[number].text == expected


def test_a_text_ends_where_it_is_to_stop(opened):
    model, (request, *_) = opened(), asked()
    ((_, whole),) = model.complete([replace(request, max_tokens=6)])
    ((_, cut),) = model.complete([replace(request, max_tokens=6, stop=(whole.text[3],))])
    assert (cut.text, cut.finish) == (whole.text.split(whole.text[3])[0], STOP)


def test_samples_depend_on_the_seed(opened):
    model, (request, *_) = opened(), asked()
    ask = replace(request, max_tokens=6, temperature=1.5, n=3)
    once, again, other = (dict(model.complete([replace(ask, seed=seed)]))[0] for seed in (1, 1, 2))
    assert once == again != other
    assert len(once.more) == 2


def test_problems_do_not_draw_by_the_same_numbers(opened):
    """A likely and an unlikely answer fall by chance in each problem by itself, and in each repetition anew."""
    model = opened()
    requests = [Request(text=f"A dog number {number} runs", max_tokens=1, temperature=9.0) for number in range(40)]
    once, same, repeated = (
        [reply.text for _, reply in sorted(model.complete([replace(one, repeat=repeat) for one in requests]))]
        for repeat in (0, 0, 1)
    )
    assert once == same != repeated
    assert len({*once}) > 20
    assert dict(model.complete(requests[7:8]))[0].text == once[7]


def test_few_of_the_likeliest_tokens_are_drawn_from(opened):
    model, (request, *_) = opened(), asked()
    ((_, greedy),) = model.complete([replace(request, max_tokens=6)])
    drawn = dict(
        model.complete([replace(request, max_tokens=6, temperature=5.0, top_k=top_k, n=2) for top_k in (1, None)])
    )
    assert (drawn[0].text, drawn[0].more) == (greedy.text, (greedy.text,))
    assert drawn[1].text != greedy.text


def test_where_nothing_is_drawn_all_texts_are_the_same(opened):
    model, (request, *_) = opened(), asked()
    ((_, one),) = model.complete([replace(request, max_tokens=4)])
    ((_, three),) = model.complete([replace(request, max_tokens=4, n=3)])
    assert (three.text, three.more, three.ends) == (one.text, (one.text,) * 2, (one.finish,) * 2)


@pytest.mark.parametrize("option", [{"choices": ("yes", "no")}, {"frequency_penalty": 0.5}, {"logprobs": 5}])
def test_what_is_not_computed_is_refused(opened, option):
    with pytest.raises(BadInput, match=f"{next(iter(option))} is not computed here"):
        list(opened().complete([replace(asked()[0], **option)]))


def test_a_penalty_of_tokens_that_were_written_is_none_for_the_first(opened):
    """PaRTE's prompt has one, and asks for one token."""
    request = replace(asked()[0], max_tokens=1)
    with_penalty, without = (
        dict(opened().complete([one]))[0].text for one in (replace(request, frequency_penalty=0.1), request)
    )
    assert with_penalty == without
