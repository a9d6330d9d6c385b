"""Where a language model is served: its address, its key, and how errors speak of both without giving the key away."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadInput, caller_level, shorten
from ..storage.files import digest
from .completion import Capabilities

#: The dialects, with the address and the variable of the key that their own packages use, and that of another address.
DIALECTS = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
#: What an Anthropic-style endpoint can do, as far as nobody has asked it.
ANTHROPIC = Capabilities(plain=False, seed=False)
#: Fields that no `extra` may set: limits of costs count on them, and replies are read by them.
_OWN = frozenset(
    {"model", "messages", "prompt", "max_tokens", "max_completion_tokens", "n", "best_of", "stream", "logprobs", "echo"}
)
#: What stands for a key in messages.
HIDDEN = "[key]"
#: A shorter value is no key: it would also stand in words.
_SHORTEST = 6
#: Characters without a break from which on a name is taken for a key, unless it is in capitals without digits.
_RANDOM = 16
#: What is no name of a model: it was to say where that is, and would go to another server.
_OPTIONS = re.compile(r"[@,\[{]?\s*(?:https?://|url\s*=)|\(", re.I)
_ADDRESS = "give it as http://HOST:PORT/v1 or https://HOST/v1"
#: Half of a character.
_HALF = re.compile("[\ud800-\udfff]")
#: Characters that an address may have.
_LONGEST = 2000


@dataclass(frozen=True)
class Endpoint:
    """A model by its name on a server: the address without the last part of the path, the dialect, and the key's place.

    The key is read from the environment when a request is sent, and is never kept. `extra` are fields that are added to
    the body of every request. `served_as` is the name that its replies must have, where the user says so.
    """

    model: str
    url: str = ""
    dialect: str = "openai"
    key_env: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    served_as: str = ""

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            fix = f"use one of {', '.join(DIALECTS)}"
            raise BadInput(f"found {self.dialect!r}", where=f"api:{self.model}", field="dialect", fix=fix)
        usual, key_env, variable = DIALECTS[self.dialect]
        url = self.url or os.environ.get(variable, "") or usual
        where = "url" if self.url else variable
        object.__setattr__(self, "url", _checked(url, f"api:{self.model}", where))
        object.__setattr__(self, "key_env", self.key_env or key_env)
        refuse_key(self.key_env, f"api:{self.model}", key_env)

    @property
    def identity(self) -> str:
        """The model, where it is served, and what else decides its answers: what these are known by."""
        added = f"+{digest(json.dumps(self.extra, sort_keys=True))[:12]}" if self.extra else ""
        named = f"={self.served_as}" if self.served_as else ""
        dialect = f"+{self.dialect}" if self.dialect != "openai" else ""
        return f"{self.model}{named}@{self.url.partition('://')[2]}{dialect}{added}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is this machine."""
        return _is_loopback(urlsplit(self.url).hostname or "")

    @property
    def key(self) -> str:
        """The key, from the environment; a server that needs none gets none."""
        return os.environ.get(self.key_env, "").strip()

    def headers(self) -> dict[str, str]:
        """What is sent with every request."""
        key = self.key
        if not key.isascii() or not key.isprintable():
            fix = f"set {self.key_env} to the key alone"
            raise BadInput("has characters that no key has", where=f"${self.key_env}", fix=fix)
        if self.dialect == "anthropic":
            return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
        return {"authorization": f"Bearer {key}"} if key else {}

    def scrub(self, text: str) -> str:
        """A text for messages: without the key, which a server may have sent back."""
        key = self.key
        return text if len(key) < _SHORTEST else _spellings(key).sub(HIDDEN, text)

    def read_json(self, content: bytes) -> Any:
        """What a server sent as JSON, without the key: replies are stored, and shown where they cannot be read."""
        value, key = json.loads(content), self.key
        if b"\\ud" in content or b"\\uD" in content:
            value = _changed(value, _whole)
        if len(key) < _SHORTEST or not (key.encode() in content or b"\\" in content):  # else it may be escaped
            return value
        return _changed(value, self.scrub)

    def warn_unencrypted(self) -> None:
        """Warn of an address on another machine that anybody on the way can read."""
        if self.url.startswith("http:") and not self.is_loopback:
            message = f"{self.url} is not encrypted: texts{' and the key' if self.key else ''} can be read on the way"
            warnings.warn(f"{message}; use https://", stacklevel=caller_level())


def endpoint_of(
    model: str,
    url: str | None = None,
    dialect: str = "openai",
    key_env: str = "",
    extra: Any = None,
    served_as: str = "",
) -> Endpoint:
    """The endpoint that the options of this name mean."""
    if not model.strip():
        raise BadInput("no model named", where="api", fix="write api:NAME(url=...)")
    if url is not None and not (isinstance(url, str) and url.strip()):  # else texts would go to another server
        raise BadInput("is not a valid address", where=f"api:{model}", field="url", fix=_ADDRESS)
    if model.count("(") != model.count(")"):  # else the address in it is not read, and texts go to another server
        raise BadInput("the options have no end", where=f"api:{shorten(model)}", fix="write api:NAME(url=...)")
    if not url and _OPTIONS.search(model):
        who = f"api:{_OPTIONS.split(model)[0].strip()}"
        raise BadInput("its name holds an address or options, and no url", where=who, fix="write api:NAME(url=...)")
    if extra is not None and not isinstance(extra, dict):
        raise BadInput(f"found {extra!r}", where=f"api:{model}", field="extra", fix='give an object: {"top_k": 1}')
    if own := sorted(_OWN & (extra or {}).keys()):
        fix = "leave it out: templates, readouts and options say what is sent there"
        raise BadInput(f"sets {own[0]}", where=f"api:{model}", field="extra", fix=fix)
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError):
        fix = "use texts, numbers, true, false, null, lists and objects"
        raise BadInput("has what JSON has not", where=f"api:{model}", field="extra", fix=fix) from None
    return Endpoint(model, url or "", dialect, key_env, dict(extra or {}), served_as)


@lru_cache(maxsize=8)
def _spellings(key: str) -> re.Pattern[str]:
    """A key as it may be written: with marks as they are, or as addresses, JSON and web pages escape them."""
    return re.compile("".join(one if one.isalnum() else _spelled(one) for one in key))


def _spelled(mark: str) -> str:
    code = f"(?:{ord(mark):x}|{ord(mark):X})"
    plain = rf"\\?{re.escape(mark)}"
    return rf"(?:{plain}|%{code}|\\u00{code}|&#{ord(mark)};|&#x{code};|{re.escape(escape(mark))})"


def _whole(text: str) -> str:
    """A text without halves of characters, which JSON can have, and no table."""
    return _HALF.sub("\ufffd", text)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with all its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed(one, change) for one in value]
    if isinstance(value, dict):
        return {change(name): _changed(one, change) for name, one in value.items()}
    return value


def _checked(url: str, where: str, field: str) -> str:
    """The address without a slash at its end; what is none, or has a secret in it, is refused and not shown."""
    fix = _ADDRESS
    try:
        parts = urlsplit(url.strip())
        port, host = parts.port, parts.hostname
        if port == 0 or len(url) > _LONGEST:
            raise ValueError
        (host or "").encode("ascii" if (host or "").isascii() else "idna")
    except ValueError:
        raise BadInput("is not a valid address", where=where, field=field, fix=fix) from None
    if parts.username or parts.password or "@" in parts.netloc:
        fix = "leave out user and password; the variable that key_env names holds the key"
        raise BadInput("the address has a user or password in it", where=where, field=field, fix=fix)
    if parts.query or parts.fragment:
        fix = "leave out all from ? or # on; a key belongs in the variable that key_env names"
        raise BadInput("the address has parameters", where=where, field=field, fix=fix)
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput("is not a valid address", where=where, field=field, fix=fix)
    shown = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    for end in ("/chat/completions", "/completions", "/messages"):
        path = path.removesuffix(end)
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}"


def refuse_key(name: str, where: str, example: str = "OPENAI_API_KEY") -> None:
    """Refuse what stands for the name of a variable and is none; it is not shown, because it may be the key itself."""
    if name and not _is_variable(name):
        fix = f"name the variable that holds the key, such as {example}"
        raise BadInput("is not a valid variable name", where=where, field="key_env", fix=fix)


def _is_variable(name: str) -> bool:
    """Whether this is the name of a variable, and not a key: nobody names one by a long text of letters and digits.

    >>> [_is_variable(name) for name in ("GROQ_API_KEY", "hf_token", "gsk_" + "a1B2c3D4" * 4, "hf_" + "aBcDefgh" * 2)]
    [True, True, False, False]
    """
    if not (name.isidentifier() and name.isascii()):
        return False
    if name in os.environ:
        return True
    parts = [part for part in name.split("_") if len(part) >= _RANDOM]
    return not any(part != part.upper() or any(one.isdigit() for one in part) for part in parts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
