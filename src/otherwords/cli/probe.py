"""otherwords probe"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .display import bars, console, print_json

if TYPE_CHECKING:
    from ..language_models.probe import ProbeResult

#: How each kind of noise is asked for.
_NOISE = {
    "again": "repeated",
    "cold": "without the prefix cache",
    "parallel": "beside another request",
}


def probe(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model on a server, as in api:NAME(url=...).")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Probe again, even if the result is already stored.")] = False,
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many requests it would take at most; send none.")
    ] = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Find out what a language model server really supports.

    Takes about ten requests. Tests how many log-probabilities the server returns, whether it scores given texts, can be
    constrained to choices, and accepts temperature and seed; which fields it silently ignores; its context length; and
    how much its numbers vary between identical requests. The result is stored for this endpoint and decides how answers
    of `--model api:NAME` are read.
    """
    from ..models.api import most_probes, probed

    if dry_run:
        most = most_probes(model, fresh=fresh)
        line = f"up to {most} requests" if most else "no request: it was found out before"
        print_json({"requests": most}) if json else typer.echo(line)
        return
    with bars(quiet):
        found = probed(model, fresh=fresh, max_requests=max_requests, max_cost=max_cost, prices=prices)
    if json:
        print_json(found.as_json())
    else:
        _print(found)


def _print(found: ProbeResult) -> None:
    from rich.table import Table

    table = Table("", f"{found.model} at {found.url}", box=None, pad_edge=False)
    for name, value in _rows(found):
        table.add_row(name, value)
    console().print(table, markup=False, highlight=False)


def _rows(found: ProbeResult) -> list[tuple[str, str]]:
    can = found.capabilities
    forms = [name for name, able in (("chat", can.chat), ("plain completions", can.plain)) if able]
    drawn = can.temperature and not can.reasons
    measured = ((name, found.noise[kind]) for kind, name in _NOISE.items() if kind in found.noise)
    noise = [(f"  {name}", f"up to {value:.3f} nat") for name, value in measured]
    return [
        ("interfaces", " and ".join(forms)),
        ("log-probabilities", f"top {can.logprobs} per token" if can.logprobs else "none"),
        ("scores given texts", _yes(can.scoring)),
        ("constrained decoding", can.constrained or "none"),
        ("temperature", "accepted" if can.temperature else "refused"),
        ("seed", "obeyed" if can.seed else "not obeyed" if drawn else "not tried"),
        ("several completions at once", _yes(found.several) if drawn else "not tried"),
        ("prefix cache turned off by", can.cold or "nothing known"),
        ("reasoning model", _yes(can.reasons)),
        ("context length", f"{can.context:,} tokens" if can.context else "unknown"),
        ("silently ignored fields", ", ".join(can.dropped) or "none of those tried"),
        ("software", found.software or "unknown"),
        ("noise in log-probabilities", "" if noise else "not measured"),
        *noise,
        ("probed", f"with {found.requests} requests on {found.date}"),
    ]


def _yes(able: bool) -> str:
    return "yes" if able else "no"
