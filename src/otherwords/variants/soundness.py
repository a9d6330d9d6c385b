"""How sound each kind of rewriting was found, by the domain of the texts that were read: `soundness.csv`.

`kinds.tsv` has an example of each kind, and what its rules leave alone.
"""

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from ..errors import BadInput
from ..storage.files import digest

#: What texts are like, with the data set that was read for it.
DOMAINS = {"captions": "SNLI", "genres": "MNLI", "news": "RTE", "everyday": "everyday"}
#: With fewer variants read, a kind counts as not measured in a domain.
FEWEST = 60
#: With fewer, it does not count as unsound there, either.
FEWEST_AGAINST = 20
#: A kind with a smaller share of sound variants in a domain is off there by default.
LEAST = 0.93


class KindRate(NamedTuple):
    """How many variants of a kind on texts of a domain were read, and how many of them were sound."""

    kind: str
    domain: str
    sound: int
    read: int

    @property
    def is_good(self) -> bool | None:
        """Whether enough were sound; None where too few were read to say so."""
        enough = self.sound >= LEAST * self.read
        return enough if self.read >= (FEWEST if enough else FEWEST_AGAINST) else None


@cache
def rates() -> tuple[KindRate, ...]:
    """All that was read."""
    text = (resources.files("otherwords") / "variants" / "soundness.csv").read_text(encoding="utf-8")
    return tuple(
        KindRate(row["kind"], row["domain"], int(row["sound"]), int(row["read"]))
        for row in csv.DictReader(text.split("\n"))
    )


def sound_kinds(domain: str, found: tuple[KindRate, ...] | None = None) -> list[str]:
    """The kinds that were found sound in a domain; without one, those found sound somewhere and unsound nowhere.

    >>> some = (KindRate("voice", "captions", 99, 100), KindRate("voice", "news", 80, 100))
    >>> sound_kinds("captions", some), sound_kinds("news", some), sound_kinds("", some)
    (['voice'], [], [])
    """
    verdicts: dict[str, set[bool]] = {}
    for rate in rates() if found is None else found:
        if rate.is_good is not None and domain in ("", rate.domain):
            verdicts.setdefault(rate.kind, set()).add(rate.is_good)
    return [kind for kind, good in verdicts.items() if good == {True}]


def refuse_other_domain(domain: str, where: str) -> None:
    """Raise an error if there is no such domain; none at all is allowed."""
    if domain not in ("", *DOMAINS):
        fix = f"use {', '.join(DOMAINS)}, or leave it out"
        raise BadInput(f"unknown domain {domain!r}", where=where, field="domain", fix=fix)


class KindRow(NamedTuple):
    """A kind of rewriting: an example, what its rules leave alone, and by domain the rate and whether it is on."""

    kind: str
    example: str
    left_alone: str
    domains: dict[str, str]


def describe_kinds() -> list[KindRow]:
    """All kinds, as `otherwords list structural` shows them.

    >>> row = describe_kinds()[0]
    >>> row.kind, row.domains["captions"], row.domains["no domain"]
    ('voice', '60/60 on', 'on')
    """
    text = (resources.files("otherwords") / "variants" / "kinds.tsv").read_text(encoding="utf-8")
    found = {(rate.kind, rate.domain): rate for rate in rates()}
    on = {domain: set(sound_kinds(domain)) for domain in ("", *DOMAINS)}
    rows = []
    for kind, example, left_alone in (line.split("\t") for line in text.splitlines()[1:]):
        shown = {
            domain: _verdict(found.get((kind, domain)), "on" if kind in on[domain] else "off") for domain in DOMAINS
        }
        rows.append(KindRow(kind, example, left_alone, {**shown, "no domain": "on" if kind in on[""] else "off"}))
    return rows


def _verdict(rate: KindRate | None, state: str) -> str:
    return f"{rate.sound}/{rate.read} {state}" if rate else state


def summary() -> str:
    """How many kinds are on by domain, in the words of `otherwords list`, which shows the kinds themselves apart."""
    every = {rate.kind for rate in rates()}
    on = [f"{len(sound_kinds(domain))} on {domain} ({source})" for domain, source in DOMAINS.items()]
    return f"of {len(every)} kinds, those are on that were found 93 % sound, of 60 read: {', '.join(on)}"


def fingerprint() -> str:
    """What stands for the rates in a signature."""
    return f"rates-{digest(rates())[:8]}"
