"""How servers are asked and how they reply: bodies made of Requests, Completions made of what comes back.

`openai` is spoken by OpenAI, vLLM, llama.cpp, Ollama and gateways, in chats and in plain completions; `anthropic` by
one vendor, without log-probabilities.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadInput
from .completion import FILTER, LENGTH, STOP, Capabilities, Completion, Request, Usage, final_answer
from .endpoint import Endpoint

#: Why a completion ended, in the words of servers; any other word is an end by itself.
_ENDS = {"length": LENGTH, "max_tokens": LENGTH, "content_filter": FILTER, "refusal": FILTER}


#: Where OpenAI's own models are served.
_OPENAI = re.compile(r"https://(api\.openai\.com|[\w-]+\.openai\.azure\.com)/")
#: Why a reply without log-probabilities is an error where they were asked for.
NO_LOGPROBS = "gives no log-probabilities"
#: The greatest log-probability, with some room for rounding, and the one by which servers say that they give none.
_SURE, _NEVER = 0.01, -9999.0


class Malformed(Exception):
    """A body that is no reply."""


def body_of(endpoint: Endpoint, request: Request, can: Capabilities) -> tuple[str, dict[str, Any]]:
    """The path below the address, and the body, of a request. What the model cannot do raises."""
    if endpoint.dialect == "anthropic":
        path, body = "/messages", _anthropic(endpoint, request)
    elif request.messages:
        path, body = "/chat/completions", _chat(endpoint, request)
    else:
        path, body = "/completions", _plain(request)
    if endpoint.dialect == "openai":
        if request.choices:
            body |= _held_to(request.choices, can.constrained, f"api:{endpoint.model}")
        if request.way == "cold":
            body |= _forgetting(request, can.cold, f"api:{endpoint.model}")
    return path, {"model": endpoint.model, **body, **endpoint.extra}


def _chat(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    if request.scored:
        fix = "score texts as plain completions (chat=false), or use another readout"
        raise BadInput("a chat gives no log-probability of a given text", where=f"api:{endpoint.model}", fix=fix)
    # OpenAI's own models that reason refuse the older name; others do not know the newer.
    limit = "max_completion_tokens" if _OPENAI.match(endpoint.url) else "max_tokens"
    messages = [{"role": one.role, "content": one.content} for one in request.messages]
    body = {"messages": messages, limit: request.max_tokens, **_sampling(request)}
    return body | ({"logprobs": True, "top_logprobs": request.logprobs} if request.logprobs else {})


def _plain(request: Request) -> dict[str, Any]:
    if request.scored:
        scored = {"prompt": request.text + request.scored, "max_tokens": 1, "echo": True, "logprobs": 1}
        return scored | _sampling(request)
    body = {"prompt": request.text, "max_tokens": request.max_tokens, **_sampling(request)}
    return body | ({"logprobs": request.logprobs} if request.logprobs else {})


def _sampling(request: Request) -> dict[str, Any]:
    """How tokens are drawn; what is None, or as usual, is not sent."""
    names = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
    body = {name: value for name in names if (value := getattr(request, name)) is not None}
    body |= {"n": request.n} if request.n > 1 else {}
    return body | ({"stop": list(request.stop)} if request.stop else {})


def _anthropic(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    names = ("seed", "frequency_penalty", "presence_penalty")
    asked = [name for name in names if getattr(request, name) is not None]
    asked += [name for name in ("logprobs", "choices", "scored", "text") if getattr(request, name)]
    asked += ["n"] if request.n > 1 else []
    asked += ["way"] if request.way == "cold" else []
    if asked:
        fix = "use the readout text and a chat template, or an OpenAI-compatible endpoint"
        where = f"api:{endpoint.model}(dialect=anthropic)"
        raise BadInput(f"this kind of endpoint knows no {asked[0]}", where=where, fix=fix)
    system = "\n\n".join(one.content for one in request.messages if one.role == "system")
    messages = [{"role": one.role, "content": one.content} for one in request.messages if one.role != "system"]
    body: dict[str, Any] = {"messages": messages, "max_tokens": request.max_tokens}
    body |= {"system": system} if system else {}
    body |= {name: value for name in ("temperature", "top_p") if (value := getattr(request, name)) is not None}
    return body | ({"stop_sequences": list(request.stop)} if request.stop else {})


def _held_to(choices: Sequence[str], field: str, where: str) -> dict[str, Any]:
    """The field that holds a server to choices."""
    if field == "grammar":  # llama.cpp
        return {"grammar": f"root ::= {' | '.join(json.dumps(one, ensure_ascii=False) for one in choices)}"}
    if field == "structured_outputs":  # vLLM
        return {"structured_outputs": {"choice": list(choices)}}
    if field == "guided_choice":  # vLLM before 0.12
        return {"guided_choice": list(choices)}
    if field == "response_format":
        schema = {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(choices)}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        named = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    raise BadInput("is not known to hold its answers to choices", where=where, fix="use another readout, such as text")


def _forgetting(request: Request, field: str, where: str) -> dict[str, Any]:
    """The field that makes a server forget beginnings that it has read before."""
    if field == "cache_prompt":  # llama.cpp
        return {"cache_prompt": False}
    if field == "cache_salt":  # vLLM: beginnings with another salt are not shared
        content = repr((request.messages, request.text, request.repeat)).encode("utf-8", "surrogatepass")
        return {"cache_salt": hashlib.sha256(content).hexdigest()[:32]}
    raise BadInput("is not known to forget beginnings", where=where, fix="leave out the way cold (repeat_ways)")


# Replies


def completion_of(endpoint: Endpoint, request: Request, body: Any) -> Completion:
    """What a server replied. A body that has not what every reply has is Malformed."""
    try:
        if endpoint.dialect == "anthropic":
            return _from_anthropic(body)
        return _scored(request, body) if request.scored else _from_openai(request, body)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from error


def lacks_logprobs(request: Request, reply: Completion) -> bool:
    """Whether log-probabilities were asked for, and a text came without."""
    return bool(request.logprobs and not reply.top and reply.text) and reply.finish != FILTER


def _from_openai(request: Request, body: Mapping[str, Any]) -> Completion:
    choices = sorted(body["choices"], key=lambda one: one.get("index") or 0)
    first = choices[0]
    texts = [_text_of(one) for one in choices]
    finish, *ends = (_ENDS.get(str(one.get("finish_reason")), STOP) for one in choices)
    whole, top = _top(first.get("logprobs"))
    answers = [final_answer(text) for text in texts]
    if len(answers[0]) < len(texts[0]):
        top = _after(whole, top, len(texts[0]) - len(answers[0]))
    if request.choices:
        answers = [_unwrapped(one) for one in answers]
    return Completion(answers[0], finish, top, None, _usage(body.get("usage")), tuple(answers[1:]), tuple(ends))


def _text_of(choice: Mapping[str, Any]) -> str:
    if "message" in choice:
        message = choice["message"]
        if message.get("refusal"):
            return str(message["refusal"])
        content = message.get("content")
        if content is None and "role" not in message:
            raise ValueError("a message without content")
        if isinstance(content, list):  # parts; those of thinking are none of the answer
            return "".join(str(one["text"]) for one in content if one.get("type", "text") == "text")
        return str(content or "")
    text = choice["text"]
    if not isinstance(text, str):
        raise ValueError("a text that is none")
    return text


def _unwrapped(text: str) -> str:
    """The choice in an object that follows the schema of choices; another text as it is."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer["answer"]) if isinstance(answer, dict) and "answer" in answer else text


def _top(given: Any) -> tuple[list[str], tuple[Mapping[str, float], ...]]:
    """The tokens of a completion, and the likeliest at each place with their log-probabilities, in either layout."""
    if not given:
        return [], ()
    if given.get("content") is not None:  # of chats; llama.cpp has it everywhere
        places = given["content"]
        tops = (one.get("top_logprobs") or () for one in places)
        likeliest = tuple(_merged((token["token"], token["logprob"]) for token in top) for top in tops)
        return [str(one["token"]) for one in places], likeliest
    dicts = given.get("top_logprobs") or ()
    return [str(one) for one in given.get("tokens") or ()], tuple(_merged((one or {}).items()) for one in dicts)


def _merged(pairs: Any) -> dict[str, float]:
    """Tokens of one text are summed: bytes that are no text by themselves look alike."""
    top: dict[str, float] = {}
    for token, value in pairs:
        logprob = float(value)
        if not logprob <= _SURE:
            raise ValueError("a log-probability that is none")
        if logprob <= _NEVER:
            continue
        if token in top:
            high, low = max(top[token], logprob), min(top[token], logprob)
            logprob = high + math.log1p(math.exp(low - high))
        top[str(token)] = logprob
    return top


def _after(tokens: Sequence[str], top: tuple[Mapping[str, float], ...], begin: int) -> tuple[Mapping[str, float], ...]:
    """The places from a character on: those of the final answer, without what was thought before."""
    place = 0
    for number, token in enumerate(tokens):
        if place >= begin:
            return top[number:]
        place += len(token)
    return ()


def _scored(request: Request, body: Mapping[str, Any]) -> Completion:
    """The log-probability of a text after another, where the server gives that of each token of a prompt.

    The text is what the prompt ends with: tokens are counted from there, because a server may show marks of the
    beginning as tokens with a text of their own. One that reaches over the border counts with the text.
    """
    given, usage = body["choices"][0]["logprobs"], _usage(body.get("usage"))
    count = usage.prompt or len(given["tokens"]) - 1  # the last one is written, because none is not allowed
    scored, score = "", 0.0
    for token, logprob in reversed([*zip(given["tokens"], given["token_logprobs"], strict=True)][:count]):
        scored, score = token + scored, score + float(logprob)
        if len(scored) >= len(request.scored):
            break
    if not score <= _SURE * max(1, len(scored)):
        raise ValueError("a log-probability that is none")
    if not scored.endswith(request.scored):
        raise ValueError("the reply does not end with the text")
    return Completion(request.scored, STOP, (), score, usage)


def _usage(given: Any) -> Usage:
    """The tokens of a reply. Some servers count what was thought in the total alone; it is paid for as written."""
    if not isinstance(given, Mapping):
        return Usage()
    prompt, completion = given.get("prompt_tokens_details") or {}, given.get("completion_tokens_details") or {}
    counts = (given.get("prompt_tokens"), prompt.get("cached_tokens"), given.get("completion_tokens"))
    read, cached, written, thought, total = (
        max(0, int(one or 0)) for one in (*counts, completion.get("reasoning_tokens"), given.get("total_tokens"))
    )
    unnamed = max(0, total - read - written)
    return Usage(read, cached, written + unnamed, max(thought, unnamed))


def _from_anthropic(body: Mapping[str, Any]) -> Completion:
    texts = [str(one["text"]) for one in body["content"] if one["type"] == "text"]
    used = body.get("usage") or {}
    cached, written = (int(used.get(f"cache_{one}_input_tokens") or 0) for one in ("read", "creation"))
    usage = Usage(int(used.get("input_tokens") or 0) + cached + written, cached, int(used.get("output_tokens") or 0))
    usage = Usage(*(max(0, one) for one in usage))
    return Completion(final_answer("".join(texts)), _ENDS.get(str(body["stop_reason"]), STOP), usage=usage)
