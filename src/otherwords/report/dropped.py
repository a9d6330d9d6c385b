"""What the checks dropped, and for which reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

#: Reasons shown for each check.
_TOP = 5
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Drops:
    """One check: how many variants it dropped, how many of those no other check dropped, and the commonest reasons."""

    name: str
    dropped: int
    alone: int
    reasons: tuple[tuple[str, int], ...]
    others: int


@dataclass(frozen=True)
class Funnel:
    """From the variants that were made to those that were kept."""

    made: int
    dropped: int
    checks: tuple[Drops, ...]


def funnel(buckets: pl.DataFrame) -> Funnel | None:
    """Count what each check dropped; None where nothing was checked. A verdict that is absent keeps."""
    names = [name.removeprefix("check:") for name in buckets.columns if re.fullmatch("check:[^:]+", name)]
    if not names:
        return None
    variants = buckets.filter(pl.col("of").is_not_null())
    drops = variants.select((~pl.col(f"check:{name}").fill_null(True)).alias(name) for name in names)
    times = drops.select(pl.sum_horizontal(pl.all().cast(pl.Int64))).to_series()
    return Funnel(
        variants.height, int((times > 0).sum()), tuple(_drops(name, variants, drops[name], times) for name in names)
    )


def _drops(name: str, variants: pl.DataFrame, dropped: pl.Series, times: pl.Series) -> Drops:
    column = f"check:{name}:reason"
    given: Mapping[str, int] = {}
    if column in variants.columns:
        given = Counter(variants.filter(dropped)[column].cast(pl.String).fill_null("no reason given").to_list())
    reasons = alike(given)
    alone = int((dropped & (times == 1)).sum())
    return Drops(name, int(dropped.sum()), alone, tuple(reasons[:_TOP]), sum(n for _, n in reasons[_TOP:]))


def alike(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Put reasons together that differ in their numbers alone, and say the range; the commonest first.

    >>> alike({"length ratio 3.10": 2, "empty text": 4, "length ratio 4.52": 3})
    [('length ratio 3.10 to 4.52', 5), ('empty text', 4)]
    """
    groups: dict[tuple[str, ...], list[tuple[list[str], int]]] = {}
    for reason, times in reasons.items():
        groups.setdefault(tuple(_NUMBER.split(reason)), []).append((_NUMBER.findall(reason), times))
    found = [(_spelled(words, members), sum(times for _, times in members)) for words, members in groups.items()]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _spelled(words: tuple[str, ...], members: list[tuple[list[str], int]]) -> str:
    text = words[0]
    for place, word in enumerate(words[1:]):
        values = sorted({numbers[place] for numbers, _ in members}, key=lambda number: (float(number), number))
        text += (values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}") + word
    return text
