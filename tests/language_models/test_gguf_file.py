"""A language model in a GGUF file: what it replies, scores and refuses; no answer depends on another."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_gguf
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.language_models.completion import LENGTH, STOP, Message, Request
from otherwords.language_models.gguf_file import GgufFile

QUESTION = "A dog runs. Does an animal move? Answer yes or no."
CHAT = Request(messages=(Message("user", QUESTION),), max_tokens=1)
PLAIN = Request(text="The capital of France is", max_tokens=1)


@pytest.fixture(scope="module")
def model(smollm2: Path) -> GgufFile:
    return GgufFile(smollm2, context=1024, threads=1)


def _one(model: GgufFile, request: Request) -> Any:
    ((number, completion),) = model.complete([request])
    assert number == 0
    return completion


def test_a_text_is_continued_with_the_likeliest_tokens_beside_it(model: GgufFile) -> None:
    reply = _one(model, replace(PLAIN, logprobs=5))
    assert (reply.text, reply.finish, reply.usage.prompt, reply.usage.completion) == (" Paris", LENGTH, 5, 1)
    (top,) = reply.top
    assert len(top) == 5
    assert max(top, key=top.__getitem__) == " Paris"


def test_a_penalty_of_tokens_that_were_written_is_none_for_the_first(model: GgufFile) -> None:
    said = replace(PLAIN, text=f"{PLAIN.text} Paris. {PLAIN.text}")
    assert [_one(model, replace(said, frequency_penalty=some)).text for some in (None, 100.0)] == [" Paris"] * 2


def test_every_token_of_the_vocabulary_has_a_probability(model: GgufFile) -> None:
    assert model.capabilities.logprobs == 49152
    (top,) = _one(model, replace(PLAIN, logprobs=49152)).top
    assert math.fsum(map(math.exp, top.values())) == pytest.approx(1, abs=1e-3)  # in float32


def test_whole_texts_are_scored_token_by_token(model: GgufFile) -> None:
    """By the chain rule: what the grammar made the model write has the probabilities that it has without a grammar."""
    assert len(model.tokens(" entailment")) == 2
    first, second = model.tokens(" entailment")
    ((start,),) = model.continuations([PLAIN], [" entailment"], first=True)
    assert model.first_tokens([" entailment"]) == [first]
    rest = model._log_probabilities(replace(PLAIN, text=PLAIN.text + " entail"), [second])
    scored = _one(model, replace(PLAIN, scored=" entailment"))
    assert scored.score == pytest.approx(start + rest[0], abs=1e-3)
    ((both,),) = model.continuations([PLAIN], [" entailment"], first=False)
    assert both == scored.score


def test_words_are_those_behind_a_prompt_where_a_text_alone_gets_a_blank(tmp_path: Path) -> None:
    """Such a tokenizer would make of both words, as they stand in ParaNLU's prompt, two blanks and a letter."""
    file = GgufFile(tiny_gguf.save_sentence_piece(tmp_path / "tiny.gguf"), threads=1)
    pieces = [[tiny_gguf.PIECES[token - 259] for token in file.tokens(text)] for text in (" W", " S", "W")]
    assert pieces == [["▁W"], ["▁S"], ["W"]]
    ((first,),) = file.continuations([PLAIN], [" W"], first=True)
    assert _one(file, replace(PLAIN, scored=" W")).score == pytest.approx(first, abs=1e-4)


def test_choices_are_kept_to(model: GgufFile) -> None:
    reply = _one(model, replace(CHAT, choices=("perhaps", 'say "no"', "café"), max_tokens=8))
    assert reply.text in ("perhaps", 'say "no"', "café")
    assert reply.finish == STOP


def test_an_answer_depends_on_nothing_but_its_request(model: GgufFile) -> None:
    """Neither on what was asked before, nor on whether the beginning is known; bit by bit."""
    asked = [replace(CHAT, logprobs=20), replace(PLAIN, logprobs=20)]
    asked.append(replace(CHAT, messages=(Message("user", f"{QUESTION} Or maybe."),), logprobs=20))
    forth = dict(model.complete(asked))
    back = dict(model.complete(asked[::-1]))
    assert [forth[0], forth[1], forth[2]] == [back[2], back[1], back[0]]
    assert all(one.usage.cached == 0 for one in forth.values())


def test_seeds_decide_what_is_drawn(model: GgufFile) -> None:
    request = Request(text="A dog", max_tokens=5, temperature=1.0, n=2, seed=3)
    one, again = _one(model, request), _one(model, request)
    assert one == again
    assert len({one.text, *one.more, _one(model, replace(request, n=1, seed=99)).text}) == 3
    assert _one(model, replace(request, n=1, seed=4)).text == one.more[0]


def test_a_known_beginning_is_used_only_where_wanted(model: GgufFile, smollm2: Path) -> None:
    warm = GgufFile(smollm2, context=512, threads=1, cache_prompt=True)
    for one, some in ((model, False), (warm, True)):
        assert _one(one, CHAT).usage.cached == 0
        assert (_one(one, CHAT).usage.cached > 0) == some
    assert _one(warm, replace(CHAT, way="cold")).usage.cached == 0
    assert model.identity != warm.identity


def test_nobody_else_is_answered_at_its_port(model: GgufFile) -> None:
    address = f"{model._server.listening_address}/v1/chat/completions"
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}).encode()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(urllib.request.Request(address, body))


def test_nothing_is_written_to_the_terminal(smollm2: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _one(GgufFile(smollm2, context=512, threads=1), replace(PLAIN, choices=("a", "b")))
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_used_is_refused(tmp_path: Path, smollm2: Path, model: GgufFile) -> None:
    text, half, whole = tmp_path / "text.gguf", tmp_path / "half.gguf", tmp_path / "whole.gguf"
    text.write_text("no model")
    half.write_bytes(smollm2.read_bytes()[:5000])
    whole.symlink_to(smollm2)
    with refuses(BadInput, where=f"gguf:{tmp_path / 'absent.gguf'}"):
        GgufFile(tmp_path / "absent.gguf")
    with refuses(BadInput, where=f"gguf:{text}"):
        GgufFile(text)
    with refuses(BadInput, where=f"gguf:{half}"):
        GgufFile(half)
    with refuses(BadInput, field="context"):
        GgufFile(whole, context=-1)
    with refuses(BadInput, field="context"):
        GgufFile(whole, context=9000)
    with pytest.raises(BadInput, match="context: a prompt has 2001 tokens, and the context 1024; give a larger"):
        _one(model, replace(PLAIN, text="so " * 2000))
    with pytest.raises(BadInput, match="'' has no token; give a text"):
        model.continuations([PLAIN], [""], first=True)


def test_log_probabilities_of_any_labels_come_in_rows(model: GgufFile) -> None:
    logs = model.continuations([CHAT, PLAIN], ["Yes", "No", "zygote"], first=True)
    assert logs.shape == (2, 3)
    assert np.isfinite(logs).all()
    assert logs[0, :2].min() > logs[0, 2]
