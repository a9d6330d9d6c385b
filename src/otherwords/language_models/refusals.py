"""What a server's refusal means: which ask for another try, which are final, and what the user can do about those."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadInput, OtherwordsError, ServerFailed, shorten
from .completion import FILTER, Completion, Request
from .endpoint import Endpoint

#: Too much is asked at a time, or the server is busy: fewer requests at a time.
BUSY = frozenset({429, 503, 529})
#: Another try may do.
_AGAIN = frozenset({408, 409, 425, *BUSY})
#: Characters of a server's message that are shown.
_SHOWN = 300
_TOO_LONG = re.compile(
    r"context.?(length|size|window)|maximum (context|model|input)|prompt is too long|too many (input )?tokens"
    r"|exceed_context_size|longer than the (maximum|model)|input (is )?too (long|large)",
    re.I,
)
_NO_MODEL = re.compile(
    r"model.{0,200}(not found|not exist|unknown|invalid(?!_request)|not loaded|not available|try pulling)"
    r"|(unknown|invalid|no such|not a valid) model|model_not_found",
    re.I | re.S,
)
_NO_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.I)
_FILTERED = re.compile(r"content_filter|content management policy|ResponsibleAIPolicyViolation", re.I)
#: What to do about a field that is refused. Its error may say "this model" and "invalid", too.
_FIELDS = {
    re.compile(r"log_?prob", re.I): "use another readout, such as text",
    re.compile(r"temperature|top_p|penalty", re.I): "find out what it accepts: otherwords probe",
}


def message_of(endpoint: Endpoint, body: bytes) -> str:
    """What a server says in the body of a refusal, its message if there is one, else the text; without the key."""
    # A key may look like a tag to what shortens texts, and may be escaped in them: it is looked for before and after.
    return endpoint.scrub(_message(endpoint.scrub(body[:20_000].decode("utf-8", "replace"))))


def _message(text: str) -> str:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return " ".join(re.sub(r"<[^>]*>", " ", text).split())
    if isinstance(value, Mapping) and "error" in value:
        value = value["error"]
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else json.dumps(value)
    message = value.get("message") or value.get("detail") or value
    kinds = [one for name in ("code", "type") if isinstance(one := value.get(name), str)]
    text = message if isinstance(message, str) else json.dumps(message)
    return f"{text} ({kinds[0]})" if kinds else text


def judge(
    endpoint: Endpoint, request: Request, status: int, body: bytes, location: str = ""
) -> Completion | OtherwordsError | None:
    """What a refusal means: None where the request may be tried again, else an error, or a reply that was withheld."""
    message = message_of(endpoint, body)
    shown = message if len(message) <= _SHOWN else f"{message[: _SHOWN - 1]}…"
    where = f"api:{endpoint.model}"
    if status in (400, 403, 422) and _FILTERED.search(message):
        return Completion("", FILTER)
    if status in (402, 429) and _NO_MONEY.search(message):
        return ServerFailed(f"{where}: {endpoint.url} refuses further requests: {shown}; add credit, or wait")
    if 300 <= status < 400:
        fix = "give the final address as url"
        there = f"to {shorten(endpoint.scrub(location), 100)}" if location else "and does not say where to"
        return BadInput(f"{endpoint.url} redirects {there}", where=where, fix=fix)
    if status in _AGAIN or status >= 500:
        return None
    field_fix = next((fix for pattern, fix in _FIELDS.items() if pattern.search(message)), "")
    if status == 401 or (status == 403 and not field_fix):
        return _wrong_key(endpoint, status, shown)
    if _TOO_LONG.search(message) or status == 413:
        text = request.messages[-1].content if request.messages else request.text
        start = text.rstrip().rpartition("\n\n")[2][:80]  # templates end alike: the problem stands before that
        fix = "use a shorter prompt (fewer shots) or a model with a longer context, or leave the problem out"
        message = f"a prompt is too long for the model ({shown}); its last paragraph begins with {start!r}"
        return BadInput(message, where=where, fix=fix)
    if _NO_MODEL.search(message) and not field_fix:
        return BadInput(f"{endpoint.url} does not know this model: {shown}", where=where, fix="check the name")
    if status in (404, 405):
        fix = "check the url: most end in /v1; if there is only chat or only completions, set chat=true or chat=false"
        return BadInput(f"{endpoint.url} has no such endpoint ({status}: {shown})", where=where, fix=fix)
    fix = field_fix or "see what the server says"
    return BadInput(f"{endpoint.url} refused the request ({status}): {shown}", where=where, fix=fix)


def _wrong_key(endpoint: Endpoint, status: int, shown: str) -> BadInput:
    found = "is not accepted" if endpoint.key else "is not set, and the server requires a key"
    fix = f"set {endpoint.key_env} to a valid key, or name another variable: key_env=..."
    return BadInput(
        f"the key in {endpoint.key_env} {found} ({status}: {shown})", where=f"api:{endpoint.model}", fix=fix
    )


def is_same_model(asked: str, named: str) -> bool:
    """Whether a reply may be of the model that was asked for: by the same name, that of a version, or a path of it.

    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06"), is_same_model("org/Small", "/models/small.gguf")
    (True, True)
    >>> is_same_model("gpt-4o", "gpt-4o-mini"), is_same_model("gpt-4o", "other")
    (False, False)
    """
    one, other = _plain(asked), _plain(named)
    if one == other or not other:
        return True
    rest = other.removeprefix(one) if other.startswith(one) else one.removeprefix(other)
    return rest not in (one, other) and bool(re.fullmatch(r"[-@:.](latest|preview|v?[\d.@-]+)", rest))


def _plain(name: str) -> str:
    last = re.split(r"[/\\]", name.strip().rstrip("/\\"))[-1].lower()
    return last.removesuffix(".gguf")
