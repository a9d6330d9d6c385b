"""What a server really supports, found out by ten requests: what it returns, obeys, ignores and repeats.

Servers of one interface differ in what they know of it, and many accept what they do not do. What was found is stored
for each endpoint; measured noise is shown, and decides nothing.
"""

from __future__ import annotations

import json
import queue
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .. import progress
from ..errors import BadInput, LimitReached, ServerFailed, caller_level, setting
from ..storage.files import answer_cache_path, digest, write_json
from . import budget as budgets
from .completion import LENGTH, Capabilities, Completion, Message, Request
from .dialects import NO_LOGPROBS
from .endpoint import Endpoint
from .pacing import backoff
from .sending import FIRST_TRIES, UNREADABLE_REPLY, Manner, Sender, Try, refuse_missing
from .served import in_thread

#: How many of the likeliest tokens are asked for, the usual number first; the last is more than most give.
TOPS, MOST = (20, 5), 100
#: Requests that a probe takes at most, if none has to be tried again. On llama.cpp it takes 8, on vLLM and OpenAI 9,
#: besides one or two that look something up; others refuse or ignore more, and take more.
MOST_REQUESTS = {"openai": 20, "anthropic": 2}
#: How many tries a request has that fails for a moment.
_TRIES = 5
#: The fields by which servers are held to choices, see `dialects`, and those by which they forget beginnings.
_CONSTRAINTS = ("response_format", "grammar", "structured_outputs", "guided_choice")
_FORGETTING = {"llamacpp": "cache_prompt", "vllm": "cache_salt"}
#: What no model says by itself.
CHOICES = ("quartz", "zephyr")
_STORY = "An old man in a red coat walks his two dogs along the river while it rains."
_QUESTION = f"{_STORY} Is anybody outside? Answer yes or no."
#: To which no model, however sure it is, writes the same with two seeds.
_OPEN = f"{_STORY} What happens next? Invent something that nobody expects."
#: Longer, and one that begins alike, to be asked at the same time: with 44 tokens llama.cpp repeats itself to the bit,
#: with 109 it differs by up to 0.3 nat.
_LONG = (
    f"{_STORY} The children of the village play in the puddles near the bridge, and their mothers call them in vain. "
    "On the other side, three musicians wait under a tree with their instruments, because the concert in the garden "
    "of the inn cannot begin before the sky is clear again. Nobody has seen the boat that left the harbour yesterday."
)
_NOISE, _BESIDE = f"{_LONG} Is anybody outside? Answer yes or no.", f"{_LONG} Who waits, and for what? Answer briefly."
_LAYOUT = 1
#: Seconds, and bytes, that a server may take to list its models.
_LOOK, _LARGEST_LIST = 20.0, 16_000_000


@dataclass(frozen=True)
class ProbeResult:
    """What was found out about an endpoint.

    `noise` has the greatest difference in the log-probability of a token between the first reply and one to the same
    request: asked `again`, `cold` or in `parallel` with others; a kind that was not measured is not there. `several`
    says whether it writes more than one text for a request, `software` what the server calls itself.
    """

    model: str
    url: str
    capabilities: Capabilities
    noise: Mapping[str, float] = field(default_factory=dict)
    several: bool = False
    software: str = ""
    requests: int = 0
    date: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it is stored and printed."""
        return {"layout": _LAYOUT, **asdict(self)}


def find_capabilities(
    endpoint: Endpoint,
    manner: Manner = Manner(),  # noqa: B008 (a tuple)
    *,
    fresh: bool = False,
) -> ProbeResult:
    """What was found out before about an endpoint; or now, and stored."""
    found = None if fresh else find_stored(endpoint)
    if found is None:
        found = probe(endpoint, manner)
        write_json(_path(endpoint), found.as_json())
    return found


def find_or_expect(endpoint: Endpoint, manner: Manner) -> ProbeResult | None:
    """The same; but a dry run sends nothing: it has what was found out before, or a warning that this is not known."""
    if not budgets.current().dry_run:
        return find_capabilities(endpoint, manner)
    found = find_stored(endpoint)
    if found is None:
        message = f"api:{endpoint.model}: what its server can do is not known: about ten requests more, and perhaps"
        warnings.warn(f"{message} others; `otherwords probe` finds it out first", stacklevel=caller_level())
    return found


def find_stored(endpoint: Endpoint) -> ProbeResult | None:
    """What was found out before; none where that is absent, damaged, or of another layout."""
    try:
        stored = json.loads(_path(endpoint).read_bytes())
        if stored.pop("layout") != _LAYOUT:
            return None
        given = stored.pop("capabilities")
        given["dropped"] = tuple(given["dropped"])
        if given.keys() != {one.name for one in fields(Capabilities)}:
            return None
        return ProbeResult(capabilities=Capabilities(**given), **stored)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _path(endpoint: Endpoint) -> Path:
    """Beside the answer cache that all runs share."""
    return answer_cache_path().parent / "probes" / f"{digest(endpoint.identity)[:24]}.json"


def probe(endpoint: Endpoint, manner: Manner = Manner()) -> ProbeResult:  # noqa: B008
    """Find out what a server does. An endpoint that cannot be used at all raises."""
    refuse_missing()
    return _Prober(endpoint, manner).run()


class _Prober:
    """Asks an endpoint step by step; each step adds to what is known."""

    def __init__(self, endpoint: Endpoint, manner: Manner):
        self.endpoint, self.budget = endpoint, budgets.current()
        self.can = Capabilities(chat=False, plain=False, temperature=False, seed=False)
        self.sender = Sender(endpoint, self.can, 2, manner)
        self.software, self.several = "", False
        self.noise: dict[str, float] = {}
        self.first: Completion | None = None  # what other replies to the same are held against, and one of them
        self.again: Completion | None = None
        self.first_error: BadInput | None = None
        self.requests = 0
        self.error: BadInput | None = None
        self.unread = ""  # why the last reply was none

    def run(self) -> ProbeResult:
        """All steps. Where a limit leaves no room for them, nothing is sent: what is half known is of no use."""
        self.budget.refuse_dry_run(self.endpoint.model)
        most, left = MOST_REQUESTS[self.endpoint.dialect], self.budget.requests_left
        if most > left:
            raise self._no_room(
                f"takes up to {most} requests, and {setting('--max-requests', 'max_requests')} allows {left:,}"
            )
        try:
            return self._run()
        except LimitReached as error:
            raise self._no_room(f"was not finished: {error}") from error

    def _no_room(self, found: str) -> LimitReached:
        name = self.endpoint.model
        fix = f"raise the limit, or probe first (otherwords probe 'api:{name}(...)'); a model with readout=tokens or "
        fix += "readout=text needs no probe"
        return LimitReached(f"api:{name}: to find out what its server can do {found}; {fix}")

    def _run(self) -> ProbeResult:
        self._find_form()
        if self.endpoint.dialect == "openai":
            self._look_up()  # now that it replies: one that is loading its model has no list yet
        self._find_logprobs()
        if self.endpoint.dialect == "openai":
            self._find_constraint()
            self._find_seed()
            if self.can.logprobs:
                self._measure_noise()
        endpoint, date = self.endpoint, time.strftime("%Y-%m-%d", time.gmtime())
        found = (self.can, self.noise, self.several, self.software, self.requests, date)
        return ProbeResult(endpoint.model, endpoint.url, *found)

    # Steps

    def _look_up(self) -> None:
        """What the list of models says of this one: who serves it, and how much it reads."""
        listed = self._get(f"{self.endpoint.url}/models")
        models = [one for one in _list(listed, "data") if isinstance(one, dict)]
        named = [one for one in models if one.get("id") == self.endpoint.model] or (models if len(models) == 1 else [])
        if not named:
            return
        about: dict[str, Any] = named[0]
        self.software = str(about.get("owned_by") or "")
        meta = about.get("meta") if isinstance(about.get("meta"), dict) else {}
        context = about.get("max_model_len") or about.get("context_length") or (meta or {}).get("n_ctx")
        if self.software == "llamacpp":  # its context is shared by requests at the same time
            props = self._get(f"{self.endpoint.url.removesuffix('/v1')}/props")
            settings = props.get("default_generation_settings") if isinstance(props, dict) else None
            context = (settings if isinstance(settings, dict) else {}).get("n_ctx") or context
        if isinstance(context, int):
            self._learn(context=context)

    def _find_form(self) -> None:
        """How it can be asked at all; whether it thinks first, and tells the log-probability of a given text.

        All that most accept is asked for at once.
        """
        limit = 16
        simple = self._chat(_NOISE, max_tokens=limit, temperature=None)
        if self.endpoint.dialect == "openai":
            self._ask_first(replace(simple, temperature=0.0, logprobs=TOPS[0]))
        chat = self.first or self._ask(simple)
        refused = self.error or ServerFailed(f"api:{self.endpoint.model}: {self.endpoint.url} {self.unread}")
        plain = self._finds_plain(chat is not None) if self.endpoint.dialect == "openai" else False
        if not chat and not plain:
            raise refused
        reasons = chat is not None and (chat.usage.reasoning > 0 or (not chat.text and chat.finish == LENGTH))
        self._learn(chat=chat is not None, plain=plain, reasons=reasons)
        self._note_length(chat, limit)

    def _finds_plain(self, replies: bool) -> bool:
        """Whether it continues texts; one that gives the log-probability of a text does.

        So does one that `replies` to chats, and here with less than was asked for. Of another, nothing was understood.
        """
        scored = self._ask(Request(text=f"{_STORY} It is", scored=" wet outside", temperature=None))
        if scored and scored.score is not None:
            self._learn(scoring=True)
            return True
        if replies and not self.error:
            self._drop("echo")
            return True
        return self._ask(Request(text=_QUESTION, max_tokens=1, temperature=None)) is not None

    def _find_logprobs(self) -> None:
        """Whether a temperature is accepted, and how many log-probabilities come."""
        useful = self.endpoint.dialect == "openai" and not self.can.reasons
        for top in TOPS if useful else ():
            if top != TOPS[0] or not self.can.chat:  # else it was asked for with the form
                self._ask_first(self._usual(_NOISE, logprobs=top, temperature=0.0))
            if self.first:
                if top == TOPS[0]:
                    self.again = self._ask(self._usual(_NOISE, logprobs=MOST, temperature=0.0))
                self._learn(temperature=True, logprobs=max(_given(self.first, top), _given(self.again, MOST)))
                return
            if self.first_error and self.first_error.message == NO_LOGPROBS:
                self._learn(temperature=True)
                self._drop("logprobs")
                return
        self._learn(temperature=bool(self.first or self._ask(self._usual(temperature=0.0))))

    def _find_constraint(self) -> None:
        """By which field it is held to choices: the first that is obeyed, its own software's before the others."""
        own = {"llamacpp": "grammar", "vllm": "structured_outputs"}.get(self.software, "response_format")
        for name in sorted(_CONSTRAINTS, key=lambda one: one != own):
            self.can = replace(self.can, constrained=name)
            held = self._usual(_BESIDE, choices=CHOICES, max_tokens=4096 if self.can.reasons else 48)
            reply = self._ask_beside(held) if name == own and self.can.logprobs else self._ask(held)
            if reply and reply.text in CHOICES:
                return
            if reply and name == own:
                self._drop(name)
        self._learn(constrained="")

    def _find_seed(self) -> None:
        """Whether equal seeds write equal texts, and others other ones; and whether several come at once."""
        if not self.can.temperature or self.can.reasons:
            return
        drawn = self._usual(_OPEN, max_tokens=12, temperature=1.0, seed=1, n=2)
        one = self._ask(drawn)
        self.several = one is not None and len(one.more) == 1
        if one and not self.several:
            self._drop("n")
        if not one:  # two at once are refused
            drawn = replace(drawn, n=1)
            one = self._ask(drawn)
        self._note_length(one, drawn.max_tokens * drawn.n)
        if not (one and (again := self._ask(drawn))):
            return
        texts, same = [one.text, *one.more], (one.text, one.more) == (again.text, again.more)
        if same and len({*texts}) == 1 and (other := self._ask(replace(drawn, seed=2))):
            texts += [other.text, *other.more]
        self._learn(seed=same and len({*texts}) > 1)
        if not same:
            self._drop("seed")

    def _measure_noise(self) -> None:
        """How far log-probabilities move when the same is asked again, cold, and beside another request."""
        again = self.again if self.again and self.again.top else self._ask(self._noisy())
        self._note("again", again)
        for name in _forgetting(self.software, again):
            self._learn(cold=name)
            cold = self._ask(replace(self._noisy(), way="cold"))
            if cold and cold.usage.cached == 0:
                self._note("cold", cold)
                break
            self._learn(cold="")
        if "parallel" not in self.noise:
            self._ask_beside(self._usual(_BESIDE))

    # What the steps share

    def _chat(self, text: str, **more: Any) -> Request:
        return Request(messages=(Message("user", text),), **more)

    def _usual(self, text: str = _QUESTION, **more: Any) -> Request:
        """A request in the form that the server knows, with no more than it is known to accept."""
        settings = {"max_tokens": 1, "temperature": 0.0 if self.can.temperature else None, **more}
        return self._chat(text, **settings) if self.can.chat else Request(text=text, **settings)

    def _noisy(self) -> Request:
        """What noise is measured by."""
        return self._usual(_NOISE, logprobs=min(self.can.logprobs, TOPS[0]))

    def _learn(self, **found: Any) -> None:
        self.can = replace(self.can, **found)

    def _drop(self, name: str) -> None:
        self._learn(dropped=(*self.can.dropped, name))

    def _note(self, kind: str, other: Completion | None) -> None:
        if self.first and self.first.top and other and other.top:
            one, two = self.first.top[0], other.top[0]
            self.noise[kind] = max((abs(one[token] - two[token]) for token in one.keys() & two.keys()), default=0.0)

    def _note_length(self, reply: Completion | None, most: int) -> None:
        """Note where more was written than was allowed."""
        if reply and reply.usage.completion > most and not self.can.reasons and "max_tokens" not in self.can.dropped:
            self._drop("max_tokens")

    def _ask(self, request: Request) -> Completion | None:
        return self._ask_all([request])[0]

    def _ask_first(self, request: Request) -> None:
        self.first = self._ask(request)
        self.first_error = self.error

    def _ask_beside(self, request: Request) -> Completion | None:
        """The reply to a request beside which noise is measured; one that is refused at once is no company."""
        usual, reply = self._ask_all([self._noisy(), request])
        if reply:
            self._note("parallel", usual)
        return reply

    def _ask_all(self, requests: Sequence[Request]) -> list[Completion | None]:
        """The replies to requests at the same time; None where one is refused, or not understood."""
        self.sender.can, self.error = self.can, None
        replies: list[Completion | None] = [None] * len(requests)
        left, tries, begin = dict(enumerate(requests)), 0, time.monotonic()
        while left:
            tries += 1
            self.requests += len(left)
            progress.current().note(f"finding out what {self.endpoint.model} can do: request {self.requests}")
            failed: dict[int, Try] = {}
            for place, ended in zip(left, self._tried(list(left.values())), strict=True):
                replies[place], self.unread = ended.reply, ended.reason
                if isinstance(ended.error, BadInput):
                    self.error = ended.error
                elif ended.error:
                    raise ended.error
                elif ended.reply is None and not ended.reason.startswith(UNREADABLE_REPLY):
                    failed[place] = ended
            more = any(requests[place].logprobs for place in failed)
            left = {place: requests[place] for place in self._to_try_again(failed, tries, begin, more)}
        return replies

    def _to_try_again(self, failed: Mapping[int, Try], tries: int, begin: float, more: bool) -> Iterable[int]:
        """Wait before another try of what failed; raise where the server is given up: one that was busy from
        the first, as while it loads its model, when patience ends.

        One that replies, but with an error of its own to one request over and over, cannot do what that asks for. So
        it may be with the first request, if that asks for `more` than a text.
        """
        if not failed:
            return ()
        last, wait = list(failed.values())[-1], max(one.wait for one in failed.values())
        server = f"{self.endpoint.url} {last.reason}"
        if wait > self.sender.manner.patience:
            raise ServerFailed(f"api:{self.endpoint.model}: {server} and refuses requests for {wait:,.0f} seconds")
        loads = not self.sender.names and all(one.busy for one in failed.values())
        if (loads and time.monotonic() - begin < self.sender.manner.patience) or tries < (
            _TRIES if self.sender.names else FIRST_TRIES
        ):
            time.sleep(wait or backoff(tries))
            return failed
        replied = self.sender.names or (more and not loads)
        if not replied or not all(one.reason.startswith("replied with 5") for one in failed.values()):
            raise ServerFailed(f"api:{self.endpoint.model}: {server}, {tries} times")
        self.error = BadInput(f"{server}, {tries} times", where=f"api:{self.endpoint.model}")
        return ()

    def _tried(self, requests: list[Request]) -> list[Try]:
        """In a thread, because the caller may have an event loop already."""
        done: queue.SimpleQueue[list[Try] | BaseException | None] = queue.SimpleQueue()

        async def send() -> None:
            done.put(await self.sender.try_once(requests, self.budget))

        (tried,) = in_thread(send, done)
        return tried

    def _get(self, url: str) -> Any:
        """What a server says at an address, if it says anything."""
        import httpx2

        try:
            with httpx2.stream("GET", url, headers=self.endpoint.headers(), timeout=_LOOK) as reply:
                content, begin = bytearray(), time.monotonic()
                for some in reply.iter_bytes():
                    content += some
                    if len(content) > _LARGEST_LIST or time.monotonic() - begin > _LOOK:
                        return None
            return self.endpoint.read_json(bytes(content)) if reply.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
            return None


def _forgetting(software: str, again: Completion | None) -> Iterator[str]:
    """The fields that may make a server forget: its own, or any where it is seen to remember."""
    if software in _FORGETTING:
        yield _FORGETTING[software]
    elif again and again.usage.cached:
        yield from _FORGETTING.values()


def _given(reply: Completion | None, asked: int) -> int:
    """How many log-probabilities come: as many as were asked for, unless there are far fewer.

    A few may be missing: tokens that are the same as text are one.
    """
    found = len(reply.top[0]) if reply and reply.top else 0
    return asked if found > asked / 2 else found


def _list(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
