"""What asking costs: prices that the user gives, limits that are never exceeded, and the ledger of what was spent."""

from __future__ import annotations

import math
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput, LimitReached, decode, setting, shorten
from .batch_files import RequestTaker
from .completion import Capabilities, Request, Usage

#: Prices are for so many tokens.
MILLION = 1_000_000
#: What they can cost at most: more is a slip.
_DEAREST = 1e12
#: Characters of a token, about, where nothing better is known.
CHARACTERS = 4
#: Tokens that a server may add to each message, and to each request: roles, marks of beginnings and ends.
_PER_MESSAGE, _PER_REQUEST = 16, 64
#: Seconds between two times that the ledger is saved.
_SAVE = 5.0
_FIX = 'write ["MODEL"] and below it input = 2.5 and output = 10.0, for a million tokens'


class Counted(Exception):
    """Requests were counted in a dry run, and none was sent."""


class Price(NamedTuple):
    """What a million tokens of a model cost: of prompts, of prompts that the server knew already, of completions."""

    input: float
    cached: float
    output: float

    def of(self, used: Usage) -> float:
        """What a request costs."""
        new = max(0, used.prompt - used.cached)
        return (new * self.input + used.cached * self.cached + used.completion * self.output) / MILLION


@dataclass(frozen=True)
class Prices:
    """Prices by the name of a model, in a currency."""

    by_model: Mapping[str, Price] = field(default_factory=dict)
    currency: str = ""
    where: str = ""

    def of(self, model: str) -> Price | None:
        """The price of a model, if it is known."""
        return self.by_model.get(model)


def read_prices(path: str | Path) -> Prices:
    """Read a table of prices: `currency`, and a TOML table for each model."""
    where, file = str(path), Path(path)
    if not file.is_file():
        raise BadInput("no such file", where=where, fix=f"give a TOML file of prices: {_FIX}")
    try:
        read = tomllib.loads(decode(file.read_bytes(), where))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"cannot be read as TOML: {error}", where=where, fix=_FIX) from error
    currency = read.pop("currency", "")
    if not isinstance(currency, str):
        raise BadInput(f"found {shorten(currency)}", where=where, field="currency", fix='such as "USD"')
    return Prices({name: _price(name, values, where) for name, values in read.items()}, currency, where)


def _price(name: str, values: Any, where: str) -> Price:
    if not isinstance(values, Mapping) or not {"input", "output"} <= values.keys():
        raise BadInput("has no input and output", where=where, field=name, fix=_FIX)
    if unknown := values.keys() - {*Price._fields}:
        fix = f"available: {', '.join(Price._fields)}"
        raise BadInput("no such price", where=where, field=f"{name}.{min(unknown)}", fix=fix)
    given = {**values, "cached": values.get("cached", values["input"])}
    for kind, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _DEAREST:
            raise BadInput(
                f"found {shorten(value)}", where=where, field=f"{name}.{kind}", fix=f"give 0 to {_DEAREST:g}"
            )
    return Price(float(given["input"]), float(given["cached"]), float(given["output"]))


@dataclass
class Spent:
    """What asking a model took: requests, those of them that repeated a failed one, tokens, and money if it is known.

    `unknown` counts requests that failed on the way back: the server may have charged them, they count at their most.
    """

    requests: int = 0
    retries: int = 0
    unknown: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    cost: float | None = None

    def add(self, used: Usage, cost: float | None) -> None:
        """Count the tokens of a reply, and what they cost."""
        self.prompt += used.prompt
        self.cached += used.cached
        self.completion += used.completion
        self.reasoning += used.reasoning
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    @property
    def tokens(self) -> int:
        """Of prompts and completions."""
        return self.prompt + self.completion


def most_tokens(request: Request, can: Capabilities = Capabilities()) -> Usage:  # noqa: B008 (frozen)
    """The most tokens that a request can take: none is shorter than a byte.

    A server that drops the limit of a completion without a word may write as much as it reads.
    """
    texts = [one.content for one in request.messages] or [request.text, request.scored]
    size = sum(len(text.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for text in texts) + _PER_REQUEST
    written = can.context if "max_tokens" in can.dropped else max(1, request.max_tokens)
    return Usage(size, 0, written * request.n)


def likely_tokens(request: Request) -> Usage:
    """The tokens that a request takes, about."""
    texts = [one.content for one in request.messages] or [request.text, request.scored]
    completion = 1 if request.scored else request.max_tokens * request.n
    return Usage(sum(len(text) // CHARACTERS + 4 for text in texts), 0, completion)


class Reservation(NamedTuple):
    """What a request may cost at most, until it is known."""

    model: str
    cost: float
    price: Price | None
    retry: bool = False


class Budget:
    """The limits of a run, and what it spent. What a request can cost at most is reserved before it is sent.

    So a limit holds with many requests in flight. In a `dry_run`, requests are counted in `planned`, and none is sent;
    where there is a `batch`, it takes them instead.
    """

    def __init__(
        self,
        max_requests: int | None = None,
        max_cost: float | None = None,
        prices: Prices | None = None,
        *,
        dry_run: bool = False,
    ):
        self.max_requests, self.max_cost, self.prices = max_requests, max_cost, prices or Prices()
        self.dry_run = dry_run
        self.ledger: dict[str, Spent] = {}
        self.planned: dict[str, Spent] = {}
        self.batch: RequestTaker | None = None
        self._planned_keys: set[bytes] = set()
        self._requests, self._cost, self._reserved = 0, 0.0, 0.0
        self._outstanding = 0
        self._excess: dict[str, float] = {}
        self._lock = threading.Lock()
        self._save: Callable[[], None] | None = None
        self._saved = time.monotonic()

    def saving(self, save: Callable[[], None]) -> None:
        """Let the ledger be saved now and then, while requests are sent: `save` is called in the caller's thread."""
        self._save = save

    def save_sometimes(self) -> None:
        """Save the ledger if that was not done for a while: a killed process shall not forget what it spent."""
        if self._save and time.monotonic() - self._saved > _SAVE:
            self._saved = time.monotonic()
            self._save()

    def price(self, model: str) -> Price | None:
        """The price of a model; with a limit of costs it must be known."""
        price = self.prices.of(model)
        if price is None and self.max_cost is not None:
            known = ", ".join(self.prices.by_model) or "none"
            fix = f"{_FIX}; it has {known}" if self.prices.where else f"give a table: {setting('--prices', 'prices')}"
            where = self.prices.where or setting("--max-cost", "max_cost")
            raise BadInput(f"no price of {model}", where=where, fix=fix)
        return price

    def spent(self, identity: str) -> Spent:
        """What was spent on a model so far."""
        return self.ledger.setdefault(identity, Spent())

    @property
    def cost(self) -> float:
        """What all models took so far."""
        return self._cost

    @property
    def requests_left(self) -> float:
        """How many requests may yet be sent."""
        return math.inf if self.max_requests is None else self.max_requests - self._requests

    @property
    def left(self) -> dict[str, Any]:
        """The limits that there are, less what was spent: what another budget may spend in its place."""
        left: dict[str, Any] = {}
        if self.max_requests is not None:
            left["max_requests"] = max(0, self.max_requests - self._requests)
        if self.max_cost is not None:
            left["max_cost"] = max(0.0, self.max_cost - self._cost)
        return left | ({"prices": self.prices.where} if self.prices.where else {})

    def count(self, spent: Mapping[str, Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]] = {}) -> None:
        """Count what another budget spent: its ledger, less what that had `before`."""
        with self._lock:
            for ledger, sign in ((spent, 1), (before, -1)):
                self._requests += sign * sum(one.get("requests", 0) for one in ledger.values())
                self._cost += sign * sum(one.get("cost", 0.0) for one in ledger.values())

    def reserve(
        self,
        identity: str,
        model: str,
        request: Request,
        can: Capabilities = Capabilities(),  # noqa: B008 (frozen)
        *,
        retry: bool = False,
    ) -> Reservation | None:
        """Reserve what a request may cost; None where that must wait until requests in flight are settled.

        Raises where a limit leaves no room for it. `can` says what is known of the server.
        """
        self.refuse_dry_run(model)
        price = self.price(model)
        self._refuse_boundless(model, can)
        cost = price.of(most_tokens(request, can)) + self._excess.get(identity, 0.0) if price else 0.0
        with self._lock:
            if self.max_requests is not None and self._requests >= self.max_requests:
                raise self._reached(f"{self.max_requests:,} requests were sent", "--max-requests", "max_requests")
            if self.max_cost is not None and self._cost + self._reserved + cost > self.max_cost:
                if self._outstanding:
                    return None
                spent = f"{self._cost:,.4f} of {self.max_cost:,.4f} {self.prices.currency}".rstrip()
                found = f"{spent} are spent, and the next request may cost {cost:,.4f}"
                raise self._reached(found, "--max-cost", "max_cost")
            self._requests += 1
            self._outstanding += 1
            self._reserved += cost
            spent_on = self.spent(identity)
            spent_on.requests += 1
            spent_on.retries += retry
        return Reservation(identity, cost, price, retry)

    def _refuse_boundless(self, model: str, can: Capabilities) -> None:
        """Refuse a limit of costs where a server writes as much as it likes, and nobody knows how much that may be."""
        if self.max_cost is not None and "max_tokens" in can.dropped and not can.context:
            raise boundless(model, "its server drops max_tokens without a word, and does not say how much it reads")

    def refuse_dry_run(self, model: str) -> None:
        """Refuse to send anything in a dry run."""
        if self.dry_run:
            fix = f"find it out first: otherwords probe 'api:{model}(...)'"
            raise BadInput("the server has not been probed yet, and a dry run sends nothing", fix=fix)

    def _reached(self, found: str, flag: str, keyword: str) -> LimitReached:
        return LimitReached(f"{found}: the limit {setting(flag, keyword)} is reached")

    def release(self, held: Reservation) -> None:
        """A request was not sent after all."""
        with self._lock:
            self._requests -= 1
            self._outstanding -= 1
            self._reserved -= held.cost
            spent = self.spent(held.model)
            spent.requests -= 1
            spent.retries -= held.retry

    def settle(self, held: Reservation, used: Usage | None, *, charged: bool = True) -> None:
        """A request ended: with these tokens, or without a reply, for which it may yet have been `charged`.

        A reply of a server that does not count tokens may have cost its most. One that counts more than was possible,
        as with a prompt of its own before ours, is expected to do so again.
        """
        used = used if used and any(used) else None
        cost = held.price.of(used) if held.price and used else held.cost if charged else 0.0
        with self._lock:
            self._outstanding -= 1
            self._reserved -= held.cost
            self._cost += cost
            if cost > held.cost:
                self._excess[held.model] = self._excess.get(held.model, 0.0) + cost - held.cost
            spent = self.spent(held.model)
            spent.unknown += used is None and charged
            spent.add(used or Usage(), cost if held.price else None)

    def plan(self, identity: str, model: str, request: Request, key: bytes) -> None:
        """Count a request that would be sent, under its key: the reply to an equal one is known by then."""
        if key in self._planned_keys:
            return
        self._planned_keys.add(key)
        used, price = likely_tokens(request), self.price(model)
        planned = self.planned.setdefault(identity, Spent())
        planned.requests += 1
        planned.add(used, price.of(used) if price else None)

    def as_json(self) -> dict[str, dict[str, Any]]:
        """The ledger for a manifest: what was spent on each model, and the currency."""
        return {model: shown(spent, self.prices.currency) for model, spent in self.ledger.items() if spent.requests}


def boundless(model: str, found: str) -> BadInput:
    """The error about a server for which a limit of costs cannot hold."""
    flag = setting("--max-cost", "max_cost")
    fix = f"limit the requests instead: {setting('--max-requests N', 'max_requests=N')}"
    return BadInput(f"{found}: the cost of a request has no bound", where=f"api:{model}", field=flag, fix=fix)


def shown(spent: Spent, currency: str) -> dict[str, Any]:
    """What was spent, as JSON; cost and currency only where they are known."""
    values = asdict(spent)
    if spent.cost is None:
        del values["cost"]
    else:
        values |= {"cost": round(spent.cost, 9)} | ({"currency": currency} if currency else {})
    return values


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two entries of a ledger together; costs of two currencies are not added, the later stands alone."""
    same = one.get("currency", "") == other.get("currency", "")
    numbers = {name for name in (*one, *other) if name not in ("currency", *(() if same else ("cost",)))}
    total = {**one, **other}
    return total | {name: round(one.get(name, 0) + other.get(name, 0), 9) for name in numbers}


def make_budget(
    max_requests: int | None = None, max_cost: float | None = None, prices: str | Path = "", *, dry_run: bool = False
) -> Budget:
    """The budget that settings describe. A limit of costs needs prices."""
    for name, value in (("max_requests", max_requests), ("max_cost", max_cost)):
        kinds = (int,) if name == "max_requests" else (int, float)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value >= 0):
            fix = f"give {'a whole' if kinds == (int,) else 'a'} number, 0 or more"
            raise BadInput(f"found {shorten(value)}", field=setting(f"--{name.replace('_', '-')}", name), fix=fix)
    if not isinstance(prices, str | Path):
        raise BadInput(
            f"found {shorten(prices)}", field=setting("--prices", "prices"), fix="give a TOML file of prices"
        )
    if max_cost is not None and not prices:
        fix = f"give them: {setting('--prices FILE', 'prices=FILE')}"
        raise BadInput("costs are not known without prices", field=setting("--max-cost", "max_cost"), fix=fix)
    return Budget(max_requests, max_cost, read_prices(prices) if prices else None, dry_run=dry_run)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget:
    """The budget of the run; without one, there are no limits and no prices."""
    return _current.get() or Budget()


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Whatever is asked in the block is counted, and limited, by a budget."""
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)
