"""How sound each kind of rewriting was found, by the domain of the texts that were read: `soundness.csv`."""

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


def summary() -> str:
    """The share of sound variants by domain and kind, as `otherwords list` shows it; "few" where too few were read."""
    shown = {
        domain: [f"{rate.kind} {_percent(rate)}" for rate in rates() if rate.domain == domain] for domain in DOMAINS
    }
    return "sound " + "; ".join(
        f"on {domain} ({source}): {', '.join(shown[domain]) or 'not measured'}" for domain, source in DOMAINS.items()
    )


def fingerprint() -> str:
    """What stands for the rates in a signature."""
    return f"rates-{digest(rates())[:8]}"


def _percent(rate: KindRate) -> str:
    """A share in words; "few" where too few variants were read to call the kind sound or unsound.

    >>> _percent(KindRate("voice", "news", 97, 100)), _percent(KindRate("voice", "news", 9, 9))
    ('97 %', 'few')
    """
    return "few" if rate.is_good is None else f"{100 * rate.sound / rate.read:.0f} %"
