"""What is found out about servers: real ones, and stubs that refuse, drop and add what others are known to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import llama_cpp
import pytest
from chat_server import Answer, ChatServer, refusal
from refusals import refuses

from otherwords.errors import BadInput, LimitReached, ServerFailed
from otherwords.language_models import pacing
from otherwords.language_models.budget import Budget, Price, Prices, spending
from otherwords.language_models.completion import LENGTH, Capabilities, Message, Request
from otherwords.language_models.endpoint import ANTHROPIC, Endpoint
from otherwords.language_models.probe import CHOICES, MOST_REQUESTS, find_capabilities, find_stored, probe
from otherwords.language_models.sending import Manner
from otherwords.language_models.served import Served
from otherwords.models.api import probed

Body = dict[str, Any]


@pytest.fixture
def tiny() -> Endpoint:
    pytest.importorskip("xllamacpp")
    return Endpoint("tiny", llama_cpp.serve_tiny())


def test_llama_cpp_is_known_for_what_it_does(tiny: Endpoint) -> None:
    found = probe(tiny)
    assert found.capabilities == Capabilities(
        logprobs=100,
        constrained="grammar",
        cold="cache_prompt",
        context=llama_cpp.CONTEXT,
        dropped=("echo",),
    )
    assert (found.software, found.several) == ("llamacpp", True)
    assert found.noise.keys() == {"again", "cold", "parallel"}
    assert found.requests == 8  # and two are looked up: the list of models, and the settings


def test_llama_cpp_speaks_as_anthropic_does_too(tiny: Endpoint) -> None:
    """What is said there is what is said in the other dialect, and no tokens are forgotten."""
    claude = replace(tiny, dialect="anthropic")
    assert probe(claude).capabilities == ANTHROPIC
    chat = (Message("system", "Be brief."), Message("user", "A dog runs. Is there a dog?"))
    request = Request(messages=chat, max_tokens=6, temperature=0.0)
    one, other = (dict(Served(endpoint, ANTHROPIC).complete([request]))[0] for endpoint in (claude, tiny))
    assert (one.text, one.finish) == (other.text, LENGTH)
    assert one.usage._replace(cached=0) == other.usage._replace(cached=0)


@pytest.mark.slow
def test_the_noise_of_a_real_model_is_seen(llama_server: str) -> None:
    """Which kind moves depends on the machine; on one with two cores, 0.12 to 0.32 nat were seen."""
    found = probe(Endpoint("smollm2", llama_server))
    assert found.capabilities.context == llama_cpp.CONTEXT
    assert max(found.noise.values()) > 0.001


def test_what_was_found_is_kept_until_it_is_asked_for_again(tiny: Endpoint) -> None:
    assert find_stored(tiny) is None
    with spending(Budget()) as budget:
        found = find_capabilities(tiny)
        assert budget.spent(tiny.identity).requests == found.requests
        assert find_capabilities(tiny) == find_stored(tiny) == found
        assert budget.spent(tiny.identity).requests == found.requests
        find_capabilities(tiny, fresh=True)
        assert budget.spent(tiny.identity).requests == 2 * found.requests
    assert find_stored(replace(tiny, model="other")) is None


def test_a_damaged_result_is_found_out_again(tiny: Endpoint) -> None:
    found = find_capabilities(tiny)
    (path,) = (Path(os.environ["OTHERWORDS_CACHE"]).parent / "probes").iterdir()
    for content in ("", "[]", "{}", json.dumps({**found.as_json(), "layout": 0})):
        path.write_text(content)
        assert find_stored(tiny) is None
    assert find_capabilities(tiny).capabilities == found.capabilities


def test_limits_hold_for_it(tiny: Endpoint) -> None:
    with spending(Budget(max_requests=3)) as budget, refuses(LimitReached):
        probe(tiny)
    assert budget.spent(tiny.identity).requests == 0, "a probe that cannot be finished is not begun"
    with spending(Budget(max_requests=MOST_REQUESTS["openai"])):
        assert probe(tiny).requests <= MOST_REQUESTS["openai"]


def test_a_probe_that_a_limit_of_costs_ends_says_what_to_do(tiny: Endpoint) -> None:
    prices = Prices({tiny.model: Price(1.0, 1.0, 1.0)})
    with spending(Budget(max_cost=0.001, prices=prices)), refuses(LimitReached):
        probe(tiny)


# Servers as others are: that of vLLM as 0.32 replied (tests/golden/vllm_replies.json), the others from what is known of
# their interfaces; none of them was recorded


def _reply(body: Body, text: str, logprobs: Any = None, **more: Any) -> Answer:
    chat = "messages" in body
    choice = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    usage = {"prompt_tokens": 40, "completion_tokens": 1}
    choices = []
    for number, one in enumerate([text, f"{text} again"][: more.pop("n", 1)]):
        said = {"message": {"role": "assistant", "content": one}} if chat else {"text": one}
        choices.append({**choice, **said, "index": number})
    return 200, {}, json.dumps({"model": body["model"], "choices": choices, "usage": usage | more}).encode()


def _chat_top(count: int) -> dict[str, Any]:
    top = [{"token": f"t{number}", "logprob": -1.0 - number} for number in range(count)]
    return {"content": [{"token": "t0", "logprob": -1.0, "top_logprobs": top}]}


def openai(path: str, body: Body) -> Answer | None:
    """Chats only; at most 20 log-probabilities; schemas; no field that it does not know."""
    known = {"model", "messages", "max_tokens", "temperature", "logprobs", "top_logprobs", "seed", "n"}
    known.add("response_format")
    if not path.endswith("/chat/completions"):
        return refusal(404, "This is a chat model and not supported in the v1/completions endpoint.")
    if unknown := body.keys() - known:
        return refusal(400, f"Unrecognized request argument supplied: {min(unknown)}")
    if body.get("top_logprobs", 0) > 20:
        return refusal(400, "Invalid value for 'top_logprobs': must be less than or equal to 20.")
    if "response_format" in body:
        return _reply(body, json.dumps({"answer": CHOICES[1]}))
    text = f"drawn with {body.get('seed')}" if body.get("temperature") else "Yes"
    return _reply(body, text, _chat_top(body["top_logprobs"]) if body.get("logprobs") else None, n=body.get("n", 1))


def reasoning(path: str, body: Body) -> Answer | None:
    """Thinks first, and refuses to be told how to draw."""
    if not path.endswith("/chat/completions") or "logprobs" in body:
        return refusal(400, "not supported with this model")
    if "temperature" in body:
        return refusal(400, "Unsupported value: 'temperature' does not support 0 with this model.")
    if "response_format" in body:
        return _reply(body, json.dumps({"answer": CHOICES[0]}), completion_tokens_details={"reasoning_tokens": 60})
    return _reply(body, "", completion_tokens_details={"reasoning_tokens": 16})


_drawn = count()


def deaf(path: str, body: Body) -> Answer | None:
    """A gateway that accepts all and knows little: no log-probabilities, no seed, one text, no choices."""
    return _reply(body, f"Well, number {next(_drawn)}." if body.get("temperature") else "Well.")


def vllm(path: str, body: Body) -> Answer | None:
    """Scores prompts, in the layout of plain completions; choices by a field of its own."""
    if body.get("logprobs") and (body.get("top_logprobs") or body["logprobs"]) > 20:
        return refusal(400, "Requested sample logprobs of 100, which is greater than max allowed: 20")
    if "structured_outputs" in body:
        return _reply(body, body["structured_outputs"]["choice"][0])
    if body.get("echo"):
        prompt = body["prompt"]
        tokens = ["<s>", *(prompt[start : start + 5] for start in range(0, len(prompt), 5)), "."]
        logprobs = {"tokens": tokens, "token_logprobs": [None, *[-0.5] * (len(tokens) - 1)], "top_logprobs": None}
        return _reply(body, prompt, logprobs, prompt_tokens=len(tokens) - 1)
    text = f"drawn with {body.get('seed')}" if body.get("temperature") else "Yes"
    if "messages" in body:
        return _reply(body, text, _chat_top(body["top_logprobs"]) if body.get("logprobs") else None, n=body.get("n", 1))
    return _reply(body, text)


USUAL = Capabilities(plain=False, logprobs=20, constrained="response_format")
EXPECTED = {
    openai: USUAL,
    reasoning: replace(USUAL, logprobs=0, temperature=False, seed=False, reasons=True),
    deaf: Capabilities(seed=False, dropped=("echo", "logprobs", "response_format", "n", "seed")),
    vllm: Capabilities(logprobs=20, scoring=True, constrained="structured_outputs", dropped=("response_format",)),
}


@pytest.mark.parametrize("server", EXPECTED, ids=lambda one: one.__name__)
def test_other_servers_are_known_for_what_they_do(server: Callable[[str, Body], Answer | None]) -> None:
    with ChatServer(answer=server) as stub:
        found = probe(Endpoint("tiny", stub.url))
    assert found.capabilities == EXPECTED[server]
    assert found.several == (server in (openai, vllm))
    assert set(found.noise.values()) <= {0.0}


@pytest.mark.parametrize("obeyed", [True, False])
def test_seeds_are_tried_where_two_texts_at_once_are_refused(obeyed: bool) -> None:
    def single(path: str, body: Body) -> Answer | None:
        if body.get("n", 1) > 1:
            return refusal(400, "n must be 1")
        return openai(path, body if obeyed else {**body, "seed": 1})

    with ChatServer(answer=single) as stub:
        found = probe(Endpoint("tiny", stub.url))
    assert found.capabilities == replace(USUAL, seed=obeyed)
    assert not found.several


def test_seeds_and_limits_are_tried_where_even_a_model_that_is_sure_of_its_answers_writes_much() -> None:
    def sure(path: str, body: Body) -> Answer | None:
        if body.get("n", 1) > 1:
            return refusal(400, "n must be 1")
        asked = str(body.get("messages")).endswith("Answer yes or no.'}]")
        if body.get("temperature"):
            return _reply(body, "Yes." if asked else f"drawn with {body['seed']}", completion_tokens=2 if asked else 90)
        return openai(path, body)

    with ChatServer(answer=sure) as stub:
        found = probe(Endpoint("tiny", stub.url)).capabilities
    assert found == replace(USUAL, dropped=("max_tokens",))


def test_numbers_that_move_are_measured() -> None:
    numbers = count()

    def moving(path: str, body: Body) -> Answer | None:
        if not body.get("top_logprobs"):
            return openai(path, body)
        top, moved = _chat_top(20), 0.125 * (next(numbers) % 2)
        for one in top["content"][0]["top_logprobs"]:
            one["logprob"] -= moved
        return _reply(body, "Yes", top)

    with ChatServer(answer=moving) as stub:
        found = probe(Endpoint("tiny", stub.url))
    assert found.noise["again"] == 0.125
    assert found.noise["parallel"] in (0.0, 0.125)  # whichever of the two requests comes first


def test_a_server_that_cannot_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer(key="secret-key") as stub, refuses(BadInput):
        probe(Endpoint("tiny", stub.url))
    with pytest.raises(ServerFailed, match=r"cannot be reached .*, 3 times"):
        probe(Endpoint("tiny", stub.url), Manner(timeout=1.0))


class Loading(ChatServer):
    """Lists its models, as vLLM does, once it was asked."""

    def _judge(self, path: str, headers: dict[str, str], raw: bytes) -> tuple[str, str, Answer]:
        if raw:
            return super()._judge(path, headers, raw)
        self.looks += 1
        listed = json.loads((Path(__file__).parents[1] / "golden" / "vllm_replies.json").read_bytes())["models"]
        return "", "", (200, {}, json.dumps(listed).encode()) if self.bodies else refusal(503, "Loading model")


def test_a_server_that_is_just_loading_is_known_for_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BACKOFF", 0.01)
    loading = count()
    busy = refusal(503, "Loading model")
    with Loading(answer=lambda path, body: busy if next(loading) < 6 else vllm(path, body)) as stub:
        found = probe(Endpoint("tiny", stub.url))
    assert (found.software, found.capabilities.context) == ("vllm", 512)


def test_ten_requests_are_enough_for_vllm() -> None:
    with Loading(answer=vllm) as stub:
        found = probe(Endpoint("tiny", stub.url))
    can = Capabilities(logprobs=20, scoring=True, constrained="structured_outputs", cold="cache_salt", context=512)
    assert found.capabilities == can
    assert found.noise.keys() == {"again", "cold", "parallel"}
    assert found.several
    assert stub.requests + stub.looks <= 10


def test_a_busy_server_is_waited_for() -> None:
    seen: set[str] = set()

    def busy(path: str, body: Body) -> Answer | None:
        key = json.dumps(body, sort_keys=True)
        if key in seen:
            return openai(path, body)
        seen.add(key)
        return refusal(429, "Rate limit reached", headers={"retry-after": "0.01"})

    with ChatServer(answer=busy) as stub:
        assert probe(Endpoint("tiny", stub.url)).capabilities == USUAL


def test_faults_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third reply fails or cannot be read."""
    monkeypatch.setattr(pacing, "BACKOFF", 0.01)
    numbers = count()

    def faulty(path: str, body: Body) -> Answer | None:
        number = next(numbers)
        faults = (refusal(500, "an error"), refusal(503, "busy"), (200, {}, b'{"id": "x", "choices": ['))
        return faults[number // 3 % 3] if number % 3 == 0 else openai(path, body)

    with ChatServer(answer=faulty) as stub:
        assert probe(Endpoint("tiny", stub.url)).capabilities == USUAL


def test_a_server_that_breaks_at_a_field_cannot_do_what_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BACKOFF", 0.01)

    def breaking(path: str, body: Body) -> Answer | None:
        return refusal(500, "an error") if body.get("logprobs") else openai(path, body)

    with ChatServer(answer=breaking) as stub:
        assert probe(Endpoint("tiny", stub.url)).capabilities == replace(USUAL, logprobs=0)


def test_a_server_that_wants_a_long_rest_is_left_alone() -> None:
    with ChatServer(answer=lambda path, body: refusal(429, "tomorrow", headers={"retry-after": "86400"})) as stub:
        with pytest.raises(ServerFailed, match="refuses requests for 86,400 seconds"):
            probe(Endpoint("tiny", stub.url))
        assert stub.requests == 1


def test_what_is_on_no_server_cannot_be_probed() -> None:
    with refuses(BadInput):
        probed("scripted")


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"choices": []}', b'{"error": {"message": "overloaded"}}'])
def test_a_server_whose_replies_nobody_understands_is_refused(body: bytes) -> None:
    """It accepts everything, and gives no answer: it can be asked neither in chats nor otherwise."""
    shown = "overloaded" if b"over" in body else re.escape(body.decode())
    with (
        ChatServer(answer=lambda *_: (200, {}, body)) as server,
        pytest.raises(ServerFailed, match=f"lacks what was asked for: '{shown}'"),
    ):
        probe(Endpoint("m", server.url), Manner(2.0, 2.0))
