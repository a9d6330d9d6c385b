"""Language models on servers: any endpoint that is OpenAI-compatible, and Anthropic's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import progress
from ..errors import BadInput
from ..language_models.budget import make_budget, spending
from ..language_models.completion import Capabilities
from ..language_models.endpoint import ANTHROPIC, Endpoint, endpoint_of
from ..language_models.probe import MOST_REQUESTS, ProbeResult, find_capabilities, find_or_expect, find_stored
from ..language_models.sending import Manner
from ..language_models.served import CONCURRENCY, Served, refuse_wrong
from ..problem import Task, get_task
from ..registry import models
from .model import Model
from .prompting import prompted
from .readouts import AUTO, TEXT, TOKENS, TOP, wanted_readout
from .templates import read_template

#: Problems asked at a time: a minute of a fast server, so that few of its moments are without requests.
PROBLEMS = 8192
#: Options that are signed by the identity, or change no answer.
_UNSIGNED = (
    *("model", "url", "key_env", "dialect", "extra", "template", "readout", "shots", "shots_from", "seed"),
    *("chat", "concurrency", "timeout", "patience", "served_as"),
)


@models("api.v1", unsigned=_UNSIGNED, example="api:example(url=http://127.0.0.1:9/v1, readout=tokens)", extra="api")
def api(
    model: str,
    url: str | None = None,
    key_env: str = "",
    dialect: str = "openai",
    template: str = "",
    readout: str = AUTO,
    shots: int = -1,
    shots_from: str | list[str] = "",
    seed: int = 0,
    chat: str = "auto",
    concurrency: int = CONCURRENCY,
    timeout: float = 120.0,
    patience: float = 120.0,
    served_as: str = "",
    extra: Any = None,
    task: Task | None = None,
) -> Model:
    """Ask a language model on a server, by a template.

    `url` is the address without /chat/completions ($OPENAI_BASE_URL, or OpenAI's own); the key is in the variable that
    `key_env` names ($OPENAI_API_KEY), and nowhere else. `dialect` is openai or anthropic. `template`, `readout`,
    `shots`, `shots_from` and `seed` say how problems are put and answers read. With `chat` true or false it is asked so
    only. Up to `concurrency` requests are in flight, fewer where the server has too many. A reply may take `timeout`
    seconds; a server that gives none for `patience` seconds is given up. `served_as` is the name that its replies must
    have; otherwise that of the model, or of its first reply. `extra` are more fields of every request, as in
    {"top_k": 1}. What the server can do is found out by about ten requests (`otherwords probe`), once, where the
    readout depends on it.
    """
    where, task = f"api:{model}", task or get_task("nli")
    if chat not in ("auto", "true", "false"):
        raise BadInput(f"found {chat!r}", where=where, field="chat", fix="use auto, true or false")
    refuse_wrong(where, concurrency, Manner(timeout, patience))
    endpoint = endpoint_of(model, url, dialect, key_env, extra, served_as)
    wanted = wanted_readout(readout, read_template(template, task))  # what is wrong here is said before a probe
    endpoint.warn_unencrypted()
    manner = Manner(timeout, patience)
    served = Served(endpoint, _capabilities(endpoint, manner, chat, wanted), concurrency=concurrency, manner=manner)
    asked = prompted(
        served,
        task,
        template=template,
        readout=readout,
        shots=shots,
        shots_from=shots_from,
        seed=seed,
        where=where,
        batch_size=PROBLEMS,
    )
    return replace(asked, by_driver=True, keep_replies=served.keep_replies)


def probed(
    spec: str,
    *,
    fresh: bool = False,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
) -> ProbeResult:
    """What the server of a model does: as it was found out before, or now, within the limits of `answer`."""
    endpoint, manner = _named_endpoint(spec)
    endpoint.warn_unencrypted()
    shown = progress.current()
    shown.start("probe", 1)
    with spending(make_budget(max_requests, max_cost, prices)):
        found = find_capabilities(endpoint, manner, fresh=fresh)
    shown.advance(1)
    shown.done()
    return found


def most_probes(spec: str, *, fresh: bool = False) -> int:
    """How many requests a probe would send at most, if none had to be tried again."""
    endpoint, _ = _named_endpoint(spec)
    return 0 if find_stored(endpoint) and not fresh else MOST_REQUESTS[endpoint.dialect]


def _named_endpoint(spec: str) -> tuple[Endpoint, Manner]:
    plugin, options = models.read(spec)
    if plugin.name != "api":
        raise BadInput("is not on a server", where=spec, fix="give a model on one, as in api:NAME(url=...)")
    named = {name: options[name] for name in ("model", "url", "dialect", "key_env", "extra", "served_as")}
    manner = Manner(options["timeout"], options["patience"])
    refuse_wrong(spec, options["concurrency"], manner)
    return endpoint_of(**named), manner


def _capabilities(endpoint: Endpoint, manner: Manner, chat: str, readout: str) -> Capabilities:
    """What the server can do: as it was found out, or is now; or, where it matters little, as servers usually can.

    What it cannot do after all, it refuses at the first request. A dry run sends nothing.
    """
    usual = ANTHROPIC if endpoint.dialect == "anthropic" else Capabilities(logprobs=TOP)
    if usual is ANTHROPIC or readout in (TOKENS, TEXT):
        found = find_stored(endpoint)
    else:
        found = find_or_expect(endpoint, manner)
    can = found.capabilities if found else usual
    return replace(can, chat=can.chat and chat != "false", plain=can.plain and chat != "true")
