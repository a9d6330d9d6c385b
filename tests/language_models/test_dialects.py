"""Requests as servers get them, and what their replies become."""

import json
import math
import re
from pathlib import Path

import pytest

from otherwords.errors import BadInput
from otherwords.language_models.completion import FILTER, LENGTH, STOP, Capabilities, Message, Request, Usage
from otherwords.language_models.dialects import Malformed, body_of, completion_of
from otherwords.language_models.endpoint import Endpoint
from otherwords.language_models.refusals import judge

GOLDEN = Path(__file__).parent.parent / "golden" / "requests"
CHAT = (Message("system", "Answer with one word."), Message("user", "Zoë sleeps. Does she?"))
OPENAI = Endpoint("gpt-4o", "https://api.openai.com/v1")
VLLM = Endpoint("org/small", "http://127.0.0.1:8000/v1/", extra={"top_k": 1})
LLAMA = Endpoint("small", "http://127.0.0.1:8080/v1")
CLAUDE = Endpoint("claude", dialect="anthropic")
SAMPLED = Request(messages=CHAT, max_tokens=8, temperature=0.7, top_p=0.9, seed=3, n=2, stop=("\n",))
#: The fields are those of OpenAI's chats and completions, of llama.cpp's and vLLM's additions, of Anthropic's messages.
BODIES = {
    "openai-chat": (OPENAI, Request(messages=CHAT, max_tokens=1, logprobs=20), Capabilities()),
    "openai-chat-sampled": (LLAMA, SAMPLED, Capabilities()),
    "openai-completions": (VLLM, Request(text="Zoë sleeps:", max_tokens=1, logprobs=5), Capabilities()),
    "openai-completions-scored": (VLLM, Request(text="Zoë sleeps:", scored=" yes"), Capabilities()),
    "llama-cpp-choices-cold": (
        LLAMA,
        Request(messages=CHAT, choices=("yes", 'n"o'), way="cold"),
        Capabilities(constrained="grammar", cold="cache_prompt"),
    ),
    "vllm-choices": (
        VLLM,
        Request(messages=CHAT, choices=("yes", "no")),
        Capabilities(constrained="structured_outputs"),
    ),
    "schema-choices": (
        OPENAI,
        Request(messages=CHAT, choices=("yes", "no"), temperature=None),
        Capabilities(constrained="response_format"),
    ),
    "anthropic-messages": (CLAUDE, Request(messages=CHAT, max_tokens=4, stop=("\n",)), Capabilities()),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_as_the_dialect_has_them(name: str) -> None:
    path, body = body_of(*BODIES[name])
    golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert {"path": path, "body": body} == golden


@pytest.mark.parametrize(
    ("url", "field"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://own-name.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://openai.azure.com.example.org/v1", "max_tokens"),
        ("http://127.0.0.1:8080/v1", "max_tokens"),
    ],
)
def test_openais_own_models_have_the_newer_limit_wherever_they_are_served(url: str, field: str) -> None:
    _, body = body_of(Endpoint("m", url), Request(messages=CHAT, max_tokens=3), Capabilities())
    assert {name: body[name] for name in body if "tokens" in name} == {field: 3}


def test_every_golden_body_is_compared() -> None:
    assert {one.stem for one in GOLDEN.glob("*.json")} == set(BODIES)


@pytest.mark.parametrize(
    ("endpoint", "request_", "can", "named"),
    [
        (CLAUDE, Request(messages=CHAT, logprobs=5), Capabilities(), "knows no logprobs"),
        (CLAUDE, Request(text="Zoë sleeps:"), Capabilities(), "knows no text"),
        (OPENAI, Request(messages=CHAT, scored=" yes"), Capabilities(), "no log-probability of a given text"),
        (OPENAI, Request(messages=CHAT, choices=("a", "b")), Capabilities(), "hold its answers to choices"),
        (OPENAI, Request(messages=CHAT, way="cold"), Capabilities(), "forget beginnings"),
    ],
)
def test_what_a_server_cannot_do_is_refused_before_it_is_asked(endpoint, request_, can, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        body_of(endpoint, request_, can)


def chat(content: str, finish: str = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "finish_reason": finish, "message": {"role": "a", "content": content}, **more}]}


def test_a_chat_reply_has_text_end_tokens_and_usage() -> None:
    tops = [
        {"token": "yes", "logprob": -0.5},
        {"token": "\ufffd", "logprob": -1.0},
        {"token": "\ufffd", "logprob": -1.0},
    ]
    body = chat("yes", logprobs={"content": [{"token": "yes", "logprob": -0.5, "top_logprobs": tops}]})
    body["usage"] = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    reply = completion_of(OPENAI, Request(messages=CHAT, logprobs=3), body)
    assert (reply.text, reply.finish, reply.usage) == ("yes", STOP, Usage(9, 4, 5, 3))
    assert reply.top[0]["yes"] == -0.5
    assert math.isclose(reply.top[0]["\ufffd"], math.log(2) - 1.0)  # summed: they are one text


def test_a_plain_reply_has_its_own_layout_and_llama_cpp_that_of_chats() -> None:
    tops = {"yes": -0.5, " no": -1.5}
    own = {"text": "yes", "finish_reason": "length", "logprobs": {"tokens": ["yes"], "top_logprobs": [tops]}}
    listed = [{"token": token, "logprob": log} for token, log in tops.items()]
    other = {**own, "logprobs": {"content": [{"token": "yes", "logprob": -0.5, "top_logprobs": listed}]}}
    first, second = (completion_of(VLLM, Request(text="x", logprobs=2), {"choices": [one]}) for one in (own, other))
    assert first == second
    assert (first.finish, dict(first.top[0])) == (LENGTH, tops)


@pytest.mark.parametrize(
    ("content", "finish", "text"),
    [
        ("<think>Is it?\nYes.</think>\n\nyes", "stop", "yes"),
        ("<think>Is it?", "length", ""),
        ("yes <think>", "stop", ""),
        ("Is it?</think> yes", "stop", "yes"),
        ("yes, I think", "stop", "yes, I think"),
        (None, "content_filter", ""),
    ],
)
def test_only_the_final_answer_is_the_text(content, finish: str, text: str) -> None:
    assert completion_of(OPENAI, Request(messages=CHAT), chat(content, finish)).text == text


def test_the_first_place_of_a_model_that_thinks_is_that_of_its_answer() -> None:
    tokens = ["<think>", "hm", "</think>", "\n", "yes", "."]
    places = [{"token": one, "logprob": -1, "top_logprobs": [{"token": one, "logprob": -1}]} for one in tokens]
    reply = completion_of(
        LLAMA, Request(messages=CHAT, logprobs=1), chat("".join(tokens), logprobs={"content": places})
    )
    assert [list(one) for one in reply.top] == [["yes"], ["."]]


def test_several_texts_come_in_their_order_and_a_schema_is_unwrapped() -> None:
    choices = [{"index": one, "message": {"role": "a", "content": f'{{"answer": "{one}"}}'}} for one in (1, 0)]
    reply = completion_of(OPENAI, Request(messages=CHAT, choices=("0", "1"), n=2), {"choices": choices})
    assert (reply.text, reply.more) == ("0", ("1",))


def test_a_text_is_scored_by_its_own_tokens() -> None:
    logprobs = {"tokens": ["Zoë", " slee", "ps:", " y", "es", "."], "token_logprobs": [None, -1, -2, -3, -4, -5]}
    request = Request(text="Zoë sleeps:", scored=" yes")
    reply = completion_of(VLLM, request, {"choices": [{"text": "", "logprobs": logprobs}]})
    assert reply.score == -7
    cut = {"tokens": ["Zoë"], "token_logprobs": [None]}
    with pytest.raises(Malformed, match="does not end with the text"):
        completion_of(VLLM, request, {"choices": [{"text": "", "logprobs": cut}]})


# vLLM, as it replied


def recorded(name: str) -> tuple[int, dict]:
    """The status and the body of a reply that vLLM 0.32 gave; the file says to what."""
    reply = json.loads((GOLDEN.parent / "vllm_replies.json").read_text(encoding="utf-8"))["replies"][name]
    return reply["status"], reply["reply"]


def test_what_vllm_scores_is_the_end_of_the_prompt_though_its_tokens_begin_with_a_mark() -> None:
    request = Request(text="A man sleeps. He is", scored=" awake")
    _, body = recorded("scored")
    assert body["choices"][0]["logprobs"]["tokens"][0] == "<s>"
    reply = completion_of(VLLM, request, body)
    assert reply.score == body["choices"][0]["logprobs"]["token_logprobs"][-2]
    del body["usage"]
    assert completion_of(VLLM, request, body).score == reply.score


def test_replies_of_vllm_are_read() -> None:
    chat = completion_of(VLLM, Request(messages=CHAT, logprobs=5), recorded("chat_logprobs")[1])
    assert (chat.text, chat.finish, len(chat.top)) == ("^", LENGTH, 1)
    assert set(chat.top[0]) == {"^", "?", ""}  # tokens that have no text are one
    assert chat.top[0][""] == pytest.approx(math.log(sum(map(math.exp, (-2.758841, -2.765385, -2.818371)))), abs=1e-5)
    plain = completion_of(VLLM, Request(text="x", logprobs=5), recorded("plain_logprobs")[1])
    assert (plain.text, plain.usage) == ("u", Usage(7, 0, 1))
    assert plain.top[0]["is"] == pytest.approx(-2.667657, abs=1e-6)
    held = completion_of(VLLM, Request(messages=CHAT, choices=("quartz", "zephyr")), recorded("structured_outputs")[1])
    assert (held.text, held.finish) == ("zephyr", STOP)
    free = completion_of(VLLM, Request(messages=CHAT, choices=("quartz", "zephyr")), recorded("guided_choice")[1])
    assert free.text not in ("quartz", "zephyr")  # this version accepts the field of earlier ones, and ignores it
    assert len(completion_of(VLLM, Request(messages=CHAT, n=2), recorded("several")[1]).more) == 1


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("too_long", "a prompt is too long for the model"),
        ("unknown_model", "does not know this model: The model `other` does not exist"),
        ("too_many_logprobs", r"refused the request \(400\): .*max allowed: 40.*; use another readout, such as text"),
    ],
)
def test_refusals_of_vllm_say_what_to_do(name: str, found: str) -> None:
    status, body = recorded(name)
    error = judge(VLLM, Request(messages=CHAT), status, json.dumps(body).encode())
    assert isinstance(error, BadInput)
    assert re.search(found, str(error))


def test_a_message_of_anthropic_has_all_its_texts_and_counts_cached_tokens() -> None:
    body = {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "y"},
            {"type": "text", "text": "es"},
        ],
        "stop_reason": "refusal",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2},
    }
    reply = completion_of(CLAUDE, Request(messages=CHAT), body)
    assert (reply.text, reply.finish, reply.usage) == ("yes", FILTER, Usage(7, 4, 2))


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {}}]}, {"choices": [{"text": 3}]}, "x"],
)
def test_what_is_no_reply_is_malformed(body) -> None:
    for request in (Request(messages=CHAT), Request(text="x", scored="y")):
        with pytest.raises(Malformed):
            completion_of(OPENAI, request, body)


@pytest.mark.parametrize("details", [{}, {"completion_tokens_details": {"reasoning_tokens": 300}}])
def test_thoughts_that_are_counted_in_the_total_alone_are_written_and_paid(details) -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 321, **details}
    assert completion_of(OPENAI, Request(text="x"), chat("yes") | {"usage": usage}).usage == Usage(20, 0, 301, 300)


@pytest.mark.parametrize("usage", [{"prompt_tokens": math.inf}, {"prompt_tokens_details": [1]}])
def test_tokens_that_cannot_be_counted_make_no_reply(usage) -> None:
    with pytest.raises(Malformed):
        completion_of(OPENAI, Request(text="x"), chat("yes") | {"usage": usage})


def test_tokens_that_were_paid_back_are_none() -> None:
    reply = completion_of(OPENAI, Request(text="x"), chat("yes") | {"usage": {"prompt_tokens": -(10**9)}})
    assert reply.usage == Usage()


@pytest.mark.parametrize("logprob", [math.inf, 3.0, math.nan])
def test_a_log_probability_above_nought_is_none(logprob: float) -> None:
    with pytest.raises(Malformed):
        completion_of(OPENAI, Request(text="x"), with_top({"yes": logprob, "no": -1.0}))


def test_a_token_that_the_server_does_not_know_is_not_there() -> None:
    reply = completion_of(OPENAI, Request(text="x"), with_top({"yes": -9999.0, "no": -1.0, "so": -math.inf}))
    assert reply.top == ({"no": -1.0},)


def with_top(top: dict[str, float]) -> dict[str, object]:
    places = [{"token": "yes", "top_logprobs": [{"token": one, "logprob": value} for one, value in top.items()]}]
    choice = {"message": {"role": "assistant", "content": "yes"}, "logprobs": {"content": places}}
    return {"choices": [choice]}


def test_a_message_in_parts_is_their_text() -> None:
    parts = [{"type": "thinking", "thinking": "no?"}, {"type": "text", "text": "yes"}]
    body = {"choices": [{"message": {"role": "assistant", "content": parts}}]}
    assert completion_of(OPENAI, Request(text="x"), body).text == "yes"
