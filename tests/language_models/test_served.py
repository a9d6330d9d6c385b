"""A language model on a server: every request answered once, whatever happens on the way; nothing sent in vain."""

import asyncio
import gzip
import json
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chat_server import FAULTS, ChatServer, refusal

from otherwords.errors import BadInput, LimitReached, OtherwordsError, ServerFailed
from otherwords.language_models import pacing, sending
from otherwords.language_models.budget import Budget, Price, Prices, spending
from otherwords.language_models.completion import FILTER, Capabilities, Completion, Message, Request
from otherwords.language_models.endpoint import Endpoint
from otherwords.language_models.probe import probe
from otherwords.language_models.replies import ReplyStore, replies_path
from otherwords.language_models.sending import Manner
from otherwords.language_models.served import Counted, Served

MANNER = Manner()
KEY = "sk-very-secret-0123456789"


def asked(number: int, **more: Any) -> Request:
    return Request(messages=(Message("user", f"question {number}"),), max_tokens=1, logprobs=5, **more)


def served(server: ChatServer, *, concurrency: int = 16, manner: Manner = MANNER, **more: Any) -> Served:
    can = Capabilities(logprobs=20, cold="cache_prompt")
    return Served(Endpoint("tiny", server.url, **more), can, concurrency=concurrency, manner=manner)


def replies(model: Served, requests: list[Request]) -> list[Completion]:
    found = dict(model.complete(requests))
    assert len(found) == len(requests)
    return [found[number] for number in range(len(requests))]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, and no key from outside."""
    monkeypatch.setattr(pacing, "BACKOFF", 0.02)
    monkeypatch.setattr(pacing, "LONGEST", 0.1)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


def test_faults_lose_nothing_and_nothing_is_answered_twice(store: Path) -> None:
    requests = [asked(number) for number in range(150)]
    with ChatServer() as server:
        right = replies(served(server), requests)
    with ChatServer(faults=0.3, slow=60.0) as server:
        model = served(server, manner=Manner(timeout=2.0))
        model.keep_replies(store, 0.0)
        budget = Budget()
        with spending(budget):
            assert replies(model, requests) == right
        assert {*server.faulty} == {"", *["429", "500", "cut", "slow", "malformed"], "wrong model"}
        assert set(server.finished.values()) == {1}
        assert len(server.finished) == len(requests)
        spent = budget.spent(model.identity)
        assert spent.requests == server.requests == spent.retries + len(requests)
        again = served(server)
        again.keep_replies(store, 0.0)
        before = server.requests
        assert replies(again, requests) == right
        assert server.requests == before


def test_equal_requests_are_asked_once_and_repeats_each(store: Path) -> None:
    with ChatServer() as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        replies(model, [asked(1), asked(2), asked(1), asked(1)])
        assert server.requests == 2
        again = [asked(1, way=way, repeat=number) for way in ("", "cold", "alone") for number in (1, 2)]
        replies(model, again)
        replies(model, again)
        assert server.requests == 2 + 6
        assert sum("cache_prompt" in one for one in server.bodies) == 2


def test_what_must_be_alone_is_alone() -> None:
    with ChatServer(latency=0.01) as server:
        replies(served(server), [asked(number, way="alone") for number in range(8)])
        assert server.most_in_flight == 1
        replies(served(server), [asked(number) for number in range(60)])
        assert server.most_in_flight > 4


def test_fresh_models_use_no_older_replies(store: Path) -> None:
    with ChatServer() as server:
        for not_before in (0.0, time.time() + 100, 0.0):
            model = served(server)
            model.keep_replies(store, not_before)
            replies(model, [asked(1)])
        assert server.requests == 2


def test_it_works_where_an_event_loop_runs_already() -> None:
    async def cell() -> list[Completion]:
        return replies(model, [asked(1), asked(2)])

    with ChatServer() as server:
        model = served(server)
        assert len(asyncio.run(cell())) == 2


def test_a_busy_server_is_asked_less_and_then_more() -> None:
    calm = [False]

    def answer(path: str, body: dict[str, Any]) -> Any:
        too_many = server.in_flight > 4 and not calm[0]
        return refusal(429, "Rate limit reached", headers={"retry-after": "0.01"}) if too_many else None

    with ChatServer(latency=0.02, answer=answer) as server:  # long enough for requests to be there at the same time
        model = served(server, concurrency=32)
        replies(model, [asked(number) for number in range(100)])
        slow = model._sender.pace.limit
        assert slow < 12  # it begins with 16, and the server bears 4
        calm[0] = True
        replies(model, [asked(number) for number in range(100, 400)])
        assert model._sender.pace.limit > slow + 5


def test_nothing_is_sent_before_a_server_wants_it() -> None:
    times: list[float] = []

    def answer(path: str, body: dict[str, Any]) -> Any:
        times.append(time.monotonic())
        return refusal(429, "Rate limit reached", headers={"Retry-After": "0.3"}) if len(times) == 3 else None

    with ChatServer(answer=answer) as server:
        replies(served(server, concurrency=2), [asked(number) for number in range(12)])
    waits = [later - one for one, later in pairwise(times)]
    assert max(waits) >= 0.28  # one may have been under way


def test_limits_in_headers_are_obeyed() -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        left = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "250ms"}
        status, _, content = 200, {}, json.dumps(server._reply(path, body, "x", "tiny")).encode()
        return status, left, content

    with ChatServer(answer=answer) as server:
        begin = time.monotonic()
        replies(served(server, concurrency=1), [asked(number) for number in range(4)])
        assert time.monotonic() - begin > 0.7


@pytest.mark.parametrize(
    ("status", "message", "named"),
    [
        (401, "Incorrect API key provided: sk-x.", "OPENAI_API_KEY"),
        (403, "Forbidden", "OPENAI_API_KEY"),
        (404, "The model `tiny` does not exist or you do not have access to it.", "does not know this model"),
        (404, 'model "tiny" not found, try pulling it first', "does not know this model"),  # Ollama
        (404, "The model `tiny` does not exist.", "does not know this model"),  # vLLM
        (400, "model not found", "does not know this model"),
        (404, "File Not Found", "has no such endpoint"),  # llama.cpp at another path
        (400, "This model's maximum context length is 128 tokens. However, you requested 900 tokens", "too long"),
        (400, "the request exceeds the available context size, try increasing it", "too long"),  # llama.cpp
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "too long"),  # Anthropic
        (400, "logprobs are not supported with reasoning models", "another readout"),
        (400, "logprobs are not supported with this model (invalid_request_error)", "another readout"),
        (403, "You are not allowed to request logprobs from this model (invalid_request_error)", "another readout"),
        (400, "Unsupported value: 'temperature'", "temperature"),
        (400, "`temperature` is deprecated for this model. (invalid_request_error)", "otherwords probe"),
        (400, "Something of this model is wrong (invalid_request_error)", "refused the request"),
        (422, "Unprocessable", "refused the request"),
        (429, "You exceeded your current quota, please check your plan (insufficient_quota)", "refuses further"),
        (302, "", "redirects to"),
    ],
)
def test_a_final_refusal_is_said_once_and_clearly(status: int, message: str, named: str) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        return refusal(status, message, headers={"location": "https://elsewhere.example/v1"} if status == 302 else {})

    with ChatServer(answer=answer) as server:
        with pytest.raises(OtherwordsError, match=named):
            replies(served(server), [asked(number) for number in range(50)])
        assert server.requests == 1  # the first is sent by itself


def test_a_refusal_in_the_midst_keeps_what_was_answered(store: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        too_long = body["messages"][-1]["content"] == "question 60"
        return refusal(400, "maximum context length exceeded") if too_long else None

    requests = [asked(number) for number in range(100)]
    with ChatServer(answer=answer) as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        with pytest.raises(BadInput, match=r"too long for the model .*; its last paragraph begins with 'question 60'"):
            replies(model, requests)
        server.answer = None
        replies(model, requests)
        assert set(server.finished.values()) == {1}


def test_no_server_is_said_after_few_tries() -> None:
    model = Served(Endpoint("tiny", "http://127.0.0.1:9/v1"))
    with pytest.raises(ServerFailed, match=r"127\.0\.0\.1:9/v1 cannot be reached .*start the server"):
        replies(model, [asked(number) for number in range(50)])


def test_no_log_probabilities_are_said_at_the_first_request() -> None:
    with ChatServer(logprobs=False) as server:
        with pytest.raises(BadInput, match=r"gives no log-probabilities; use another readout"):
            replies(served(server), [asked(number) for number in range(50)])
        assert server.requests == 1


@pytest.mark.parametrize("echoed", [f"Incorrect API key provided: {KEY}.", "no"])
def test_a_key_is_in_no_message(echoed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer(answer=lambda path, body: refusal(401, echoed)) as server:
        with pytest.raises(BadInput) as caught:
            replies(served(server), [asked(1)])
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    error: BaseException | None = caught.value
    while error:
        assert KEY not in str(error)
        error = error.__cause__ or error.__context__


def test_a_key_does_not_go_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer() as other:
        moved = {"location": f"{other.url}/chat/completions"}
        moving = ChatServer(answer=lambda path, body: refusal(307, "", headers=moved))
        with moving as server, pytest.raises(BadInput, match="redirects to"):
            replies(served(server), [asked(1)])
        assert other.headers == []


def test_what_a_filter_withheld_is_kept_as_such_and_not_stored(store: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        number = int(body["messages"][-1]["content"].split()[-1])
        if number % 3 == 1:  # as Azure does it
            return refusal(400, "The response was filtered", code="content_filter")
        if number % 3 == 2:
            reply = server._reply(path, body, "x", "tiny")
            reply["choices"][0] |= {"finish_reason": "content_filter", "message": {"role": "a", "content": ""}}
            return 200, {}, json.dumps(reply).encode()
        return None

    with ChatServer(answer=answer) as server:
        for count in (9, 6):
            model = served(server)
            model.keep_replies(store, 0.0)
            before = server.requests
            found = replies(model, [asked(number) for number in range(9)])
            assert [one.finish == FILTER for one in found] == [bool(number % 3) for number in range(9)]
            assert server.requests - before == count


def test_a_dead_server_is_given_up_and_what_it_said_is_kept(store: Path) -> None:
    dead = [False]

    def answer(path: str, body: dict[str, Any]) -> Any:
        dead[0] = dead[0] or server.requests > 100
        return refusal(500, "dead") if dead[0] else None

    requests = [asked(number) for number in range(300)]
    with ChatServer(answer=answer) as server:
        model = served(server, manner=Manner(patience=0.3))
        model.keep_replies(store, 0.0)
        with pytest.raises(ServerFailed, match=r"replied with 500; .* in a row failed.*; \d+ of 300 requests were"):
            replies(model, requests)
        assert server.requests < 100 + 16 * sending.TRIES
        server.answer = None
        replies(model, requests)
        assert set(server.finished.values()) == {1}


def test_a_server_that_wants_a_long_rest_is_left_alone() -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        return refusal(429, "come tomorrow", headers={"retry-after": "86400"}) if server.requests > 20 else None

    begin = time.monotonic()
    with ChatServer(answer=answer) as server, pytest.raises(ServerFailed, match="refuses requests for 86,400 seconds"):
        replies(served(server), [asked(number) for number in range(100)])
    assert time.monotonic() - begin < 5


def test_one_request_that_always_fails_does_not_hold_up_the_others(store: Path, monkeypatch) -> None:
    monkeypatch.setattr(pacing, "LONGEST", 0.03)

    def answer(path: str, body: dict[str, Any]) -> Any:
        return refusal(500, "poison") if body["messages"][-1]["content"] == "question 30" else None

    with ChatServer(answer=answer) as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        with pytest.raises(ServerFailed, match=f"replied with 500, {sending.TRIES} times for one request; 59 of 60"):
            replies(model, [asked(number) for number in range(60)])


@pytest.mark.parametrize("name", ["tiny-2024-08-06", "/models/tiny.gguf", "org/tiny", "something.else"])
def test_a_server_may_go_by_another_name(name: str) -> None:
    with ChatServer(model=name) as server:
        replies(served(server), [asked(number) for number in range(5)])


def test_a_strange_name_in_the_first_reply_alone_is_wrong() -> None:
    """A gateway may hand the first request to another model, too."""

    def answer(path: str, body: dict[str, Any]) -> Any:
        name = "another-one" if server.requests % 5 == 1 else "tiny"
        return 200, {}, json.dumps(server._reply(path, body, "x", name)).encode()

    with ChatServer(answer=answer) as server:
        replies(served(server, concurrency=1), [asked(number) for number in range(12)])
        assert server.requests == 12 + 3


def test_the_name_of_replies_can_be_required(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(model="tiny-2") as server:
        replies(served(server, served_as="tiny-2"), [asked(1)])
        with pytest.raises(ServerFailed, match="replied as 'tiny-2'"):
            replies(served(server, served_as="tiny-1"), [asked(1)])


def prices() -> Prices:
    return Prices({"tiny": Price(100.0, 100.0, 100.0)}, "EUR")


@pytest.mark.parametrize("limits", [{"max_requests": 70}, {"max_cost": 0.05}])
def test_a_limit_stops_for_good_and_what_was_paid_for_is_not_asked_again(limits: dict[str, Any], store: Path) -> None:
    requests = [asked(number) for number in range(300)]
    kinds = [kind for kind in FAULTS if kind != "slow"]  # nothing is given up on the way: the ledger is exact
    with ChatServer(latency=0.002, faults=0.1, kinds=kinds) as server:
        for _ in range(200):
            model = served(server, concurrency=32, served_as="tiny")
            model.keep_replies(store, 0.0)
            budget, before = Budget(**limits, prices=prices()), server.requests
            try:
                with spending(budget):
                    replies(model, requests)
            except LimitReached:
                pass
            else:
                break
            finally:
                assert server.requests - before <= limits.get("max_requests", 10**9)
                assert budget.cost <= limits.get("max_cost", 10**9)
                assert budget.spent(model.identity).requests == server.requests - before
        for _ in range(100):  # the server counts a reply after it has sent it
            if len(server.finished) == 300:
                break
            time.sleep(0.02)
        assert set(server.finished.values()) == {1}
        assert len(server.finished) == 300


def test_a_dry_run_counts_what_is_not_stored_and_sends_nothing(store: Path, tmp_path: Path) -> None:
    with ChatServer() as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        budget = Budget(prices=prices(), dry_run=True)
        with spending(budget), pytest.raises(Counted):
            replies(model, [asked(number) for number in range(10)])
        assert server.requests == 0
        assert list(tmp_path.iterdir()) == []
        replies(model, [asked(number) for number in range(4)])
        with spending(budget), pytest.raises(Counted):
            replies(model, [asked(number) for number in range(12)])
        planned = budget.planned[model.identity]
        assert planned.requests == 10 + 2, "by then, the replies to the first ten are stored"
        assert planned.cost
        later = Budget(prices=prices(), dry_run=True)
        with spending(later), pytest.raises(Counted):
            replies(model, [asked(number) for number in range(10)])
        assert later.planned[model.identity].requests == 6


def test_whoever_stops_reading_stops_the_sending(store: Path) -> None:
    with ChatServer(latency=0.02) as server:
        model = served(server, concurrency=4)
        model.keep_replies(store, 0.0)
        for _, _ in model.complete([asked(number) for number in range(500)]):
            break
        time.sleep(0.1)
        sent = server.requests
        time.sleep(0.1)
        assert server.requests == sent < 40


@pytest.mark.skipif(not hasattr(signal, "siginterrupt"), reason="needs signals of POSIX")
@pytest.mark.parametrize("asks", ["complete", "probe"])
def test_an_interrupt_does_not_wait_for_a_server_that_hangs(asks: str) -> None:
    """Nor where the system goes on waiting after a signal, as Polars has it."""
    with ChatServer(latency=20) as server:
        endpoint = Endpoint("tiny", server.url, "anthropic")  # of which no list of models is read first
        asking = {"complete": lambda: replies(served(server), [asked(1)]), "probe": lambda: probe(endpoint)}
        usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes of pytest-xdist ignore it
        signal.siginterrupt(signal.SIGINT, False)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        try:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                asking[asks]()
        finally:
            signal.signal(signal.SIGINT, usual)
        assert time.monotonic() - begin < 10


def test_anthropic_is_asked_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ChatServer(key=KEY) as server:
        model = served(server, dialect="anthropic")
        found = replies(model, [Request(messages=(Message("user", "hm"),), temperature=None)])
        assert found[0].text in ("entailment", "neutral", "contradiction")
        assert found[0].usage.completion == 1


def test_a_reply_that_cannot_be_stored_stops_the_sending_and_is_said(store: Path) -> None:
    with ReplyStore(replies_path(store)) as file, closing(sqlite3.connect(file.path)) as database:
        full = "create trigger full before insert on replies begin select raise(abort, 'the disk is full'); end"
        database.execute(full)
        with ChatServer(latency=0.01) as server:
            model = served(server, concurrency=4)
            model.keep_replies(store, 0.0)
            with pytest.raises(OSError, match="replies cannot be written"):
                replies(model, [asked(number) for number in range(100)])
        assert server.requests < 20


def test_a_server_that_counts_no_tokens_costs_the_most() -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        reply = server._reply(path, body, "x", "tiny")
        return 200, {}, json.dumps({**reply, "usage": None}).encode()

    budget = Budget(max_cost=0.05, prices=prices())
    with ChatServer(answer=answer) as server, spending(budget), pytest.raises(LimitReached):
        replies(served(server), [asked(number) for number in range(100)])
    assert 0.03 < budget.cost <= 0.05


def test_a_reply_without_log_probabilities_is_paid_for() -> None:
    budget = Budget(prices=prices())
    with ChatServer(logprobs=False) as server, spending(budget), pytest.raises(BadInput):
        replies(served(server), [asked(1)])
    assert budget.cost > 0


def test_replies_come_as_they_are_stored(store: Path) -> None:
    """Whatever was given out is in the file already."""
    with ChatServer(faults=0.2, slow=0.01) as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        seen: Counter[int] = Counter()
        for number, _ in model.complete([asked(number) for number in range(60)]):
            seen[number] += 1
            database = sqlite3.connect(replies_path(store))
            assert database.execute("select count(*) from replies").fetchone()[0] >= len(seen)
            database.close()
        assert len(seen) == 60


def test_a_key_that_a_server_sends_back_is_nowhere(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def echo(path: str, body: dict[str, Any]) -> Any:
        if "question 9" in str(body):
            return (302, {"location": f"http://elsewhere/?key={KEY}"}, b"")
        choice = {"message": {"role": "assistant", "content": KEY}}
        return (200, {}, json.dumps({"model": KEY, "choices": [choice]}).encode())

    with ChatServer(answer=echo) as server:
        model = served(server)
        model.keep_replies(store, 0.0)
        (reply,) = replies(model, [Request(messages=(Message("user", "question 1"),))])
        assert KEY not in reply.text
        with pytest.raises(BadInput, match="redirects to 'http://elsewhere/") as caught:
            replies(model, [asked(9)])
    assert KEY not in str(caught.value)
    with ReplyStore(replies_path(store)) as kept:
        assert [one["replies"] for one in kept.info()] == [1]
    assert not any(KEY.encode() in one.read_bytes() for one in store.parent.iterdir())


@pytest.mark.parametrize("body", ["Bearer KEY", "<p>Bearer KEY</p>", '{"error": "KEY"}', "[KEY"])
def test_a_key_with_a_tag_in_it_is_hidden_in_what_is_shown_of_a_page(
    monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-Zq9/+x<y>7ab")
    for status in (200, 400):
        page = (status, {}, body.replace("KEY", "sk-Zq9/+x<y>7ab").encode())
        with ChatServer(answer=lambda *_, page=page: page) as server, pytest.raises(OtherwordsError) as caught:
            replies(served(server), [asked(1)])
        assert "Zq9" not in str(caught.value)
        assert "[key]" in str(caught.value)


def test_a_body_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_LARGEST", 1_000_000)
    bomb = gzip.compress(b" " * 5_000_000)
    with (
        ChatServer(answer=lambda path, body: (200, {"content-encoding": "gzip"}, bomb)) as server,
        pytest.raises(ServerFailed, match="sent more than 1 MB, 3 times"),
    ):
        replies(served(server), [asked(1)])


def test_what_came_instead_of_a_reply_is_shown() -> None:
    with (
        ChatServer(answer=lambda path, body: (200, {}, b"<html>Please log in</html>")) as server,
        pytest.raises(ServerFailed, match="that is no JSON: 'Please log in', 3 times"),
    ):
        replies(served(server), [asked(1)])


def test_a_first_reply_of_another_model_lets_no_more_of_it_in() -> None:
    names = iter(["another", "tiny", "another", "tiny", "tiny", "tiny"])

    def answer(path: str, body: dict[str, Any]) -> Any:
        choice = {"message": {"role": "assistant", "content": "yes"}}
        return (200, {}, json.dumps({"model": next(names), "choices": [choice]}).encode())

    requests = [Request(messages=(Message("user", f"question {number}"),)) for number in range(4)]
    with ChatServer(answer=answer) as server:
        assert len(replies(served(server, concurrency=1), requests)) == 4
        assert server.requests == 6


def test_a_worker_sends_nothing_before_its_last_reply_is_stored() -> None:
    """So a killed process loses no more than what was in flight."""
    counts: list[tuple[int, int]] = []

    def keep(some: dict[bytes, Completion]) -> None:
        time.sleep(0.03)  # what is sent in the meantime arrives
        counts.append((counts[-1][0] + len(some) if counts else len(some), server.requests))

    with ChatServer(model="tiny") as server:
        can, endpoint = Capabilities(logprobs=20), Endpoint("tiny", server.url)
        sender = sending.Sender(endpoint, can, 1, MANNER)
        requests = [sending.Asked(bytes([number]), asked(number)) for number in range(4)]
        asyncio.run(sender.send(requests, Budget(), keep))
    assert counts == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_prompt_that_is_too_long_is_told_by_its_problem() -> None:
    text = "Three shots.\n\nPremise: A man, a dog.\nHypothesis: He sleeps.\nAnswer:\n"
    long = refusal(400, "This model's maximum context length is 8 tokens")
    with (
        ChatServer(answer=lambda path, body: long) as server,
        pytest.raises(BadInput, match=r"its last paragraph begins with 'Premise: A man, a dog"),
    ):
        replies(served(server), [Request(text=text)])
