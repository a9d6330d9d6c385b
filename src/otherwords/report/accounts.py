"""What happened before the answers, as the manifest tells it: what generators gave up, and what models accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Entries of the manifest that have a section of their own, and need none in the foot.
TOLD = ("unvaried", "left_out", "self_judged")


class GivenUp(NamedTuple):
    """A generator: problems that it made nothing of, and candidates that it left out, the commonest reason first."""

    generator: str
    problems: int
    reasons: list[tuple[str, int]]


class Accepted(NamedTuple):
    """A check by which a model judged rewordings itself: how many, and how many it accepted."""

    model: str
    check: str
    judged: int
    accepted: int


def given_up(manifest: Mapping[str, Any]) -> list[GivenUp]:
    """What every generator gave up; nothing of those that gave up nothing.

    >>> given_up({"unvaried": {"a.v1(n=1)": 2, "b.v1()": 0}, "left_out": {"a.v1(n=1)": {"empty": 3, "endless": 4}}})
    [GivenUp(generator='a.v1', problems=2, reasons=[('endless', 4), ('empty', 3)])]
    """
    unvaried, left_out = (_mapping(manifest.get(name)) for name in ("unvaried", "left_out"))
    signatures = list(dict.fromkeys([*unvaried, *left_out]))
    heads = short_names(signatures)
    found = [GivenUp(heads[one], int(unvaried.get(one, 0)), _sorted(_mapping(left_out.get(one)))) for one in signatures]
    return [one for one in found if one.problems or one.reasons]


def accepted(manifest: Mapping[str, Any]) -> list[Accepted]:
    """What each model accepted of the rewordings that it was to judge itself.

    >>> accepted({"self_judged": {"m": {"mutual-entailment": {"judged": 9, "accepted": 4}}}})
    [Accepted(model='m', check='mutual-entailment', judged=9, accepted=4)]
    """
    told = _mapping(manifest.get("self_judged"))
    return [
        Accepted(model, check, counts["judged"], counts["accepted"])
        for model, checks in told.items()
        for check, counts in _mapping(checks).items()
    ]


def short_names(signatures: Sequence[str]) -> dict[str, str]:
    """Signatures without their options, unless another one differs in these alone."""
    heads = [one.partition("(")[0] or one for one in signatures]
    return {one: head if heads.count(head) == 1 else one for one, head in zip(signatures, heads, strict=True)}


def _sorted(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
