"""The funnel: how many variants were made and kept, and what each check dropped, and why."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from ..frames import MARKS, is_unmarked, is_verdict

#: Reasons shown for each check.
_TOP = 5
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Drops:
    """One check: how many variants it dropped, how many of those no other check dropped, and the commonest reasons.

    `unjudged` are the variants without a verdict, which are kept; `left` those that it leaves to the model under test.
    """

    name: str
    dropped: int
    alone: int
    reasons: tuple[tuple[str, int], ...]
    others: int
    unjudged: int = 0
    left: int = 0


@dataclass(frozen=True)
class Funnel:
    """From the variants that were made to those that were kept."""

    made: int
    dropped: int
    checks: tuple[Drops, ...]

    @property
    def kept(self) -> int:
        """Variants that no check dropped."""
        return self.made - self.dropped


@dataclass
class _Tally:
    dropped: int = 0
    alone: int = 0
    unjudged: int = 0
    left: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def funnel(*parts: pl.DataFrame | pl.LazyFrame) -> Funnel | None:
    """Count what each check dropped; None where nothing was checked. A missing verdict keeps the variant.

    A suite may come in parts, which are read one by one, and only their verdicts and reasons.

    >>> rows = {"id": ["a", "a1", "a2"], "of": [None, "a", "a"], "check:surface": [None, True, False]}
    >>> found = funnel(pl.DataFrame({**rows, "check:surface:reason": [None, None, "unchanged"]}))
    >>> found.made, found.kept, found.checks[0].reasons
    (2, 1, (('unchanged', 1),))
    """
    tallies: dict[str, _Tally] = {}
    made = dropped = 0
    for part in parts:
        schema = part.lazy().collect_schema()
        names = [name for name in schema if re.fullmatch("check:[^:]+(:reason|:by)?", name)]
        # Contrasts and controls are not rewordings, and get no verdicts.
        reworded = is_unmarked(schema, *MARKS)
        verdicts = part.lazy().filter(pl.col("of").is_not_null(), reworded).select("of", *names).collect()
        made += verdicts.height
        dropped += _count(verdicts, tallies)
    if not tallies:
        return None
    return Funnel(made, dropped, tuple(_drops(name, tally) for name, tally in tallies.items()))


def scans(parts: Iterable[Path]) -> list[pl.LazyFrame]:
    """The parts of a run's `buckets/`, to be read when they are counted."""
    return [pl.scan_parquet(part, glob=False) for part in sorted(parts)]


def _count(variants: pl.DataFrame, tallies: dict[str, _Tally]) -> int:
    """Add a part's verdicts to the tallies; give the number of variants that any check dropped."""
    names = [name.removeprefix("check:") for name in variants.columns if is_verdict(name)]
    drops = variants.select((~pl.col(f"check:{name}").cast(pl.Boolean).fill_null(True)).alias(name) for name in names)
    times = drops.select(pl.sum_horizontal(pl.lit(0), pl.all().cast(pl.Int64))).to_series()
    for name in names:
        tally, dropped = tallies.setdefault(name, _Tally()), drops[name]
        tally.dropped += int(dropped.sum())
        tally.alone += int((dropped & (times == 1)).sum())
        silent = variants.filter(pl.col(f"check:{name}").is_null())
        left = _left(silent, f"check:{name}:by")
        tally.left, tally.unjudged = tally.left + left, tally.unjudged + silent.height - left
        if (column := f"check:{name}:reason") in variants.columns:
            reasons = variants.filter(dropped)[column].cast(pl.String).fill_null("no reason given")
            tally.reasons.update(dict(reasons.value_counts().iter_rows()))
    return int((times > 0).sum())


def _drops(name: str, tally: _Tally) -> Drops:
    reasons = alike(tally.reasons)
    others = sum(times for _, times in reasons[_TOP:])
    return Drops(name, tally.dropped, tally.alone, tuple(reasons[:_TOP]), others, tally.unjudged, tally.left)


def _left(variants: pl.DataFrame, column: str) -> int:
    if column not in variants.columns:
        return 0
    return int((variants[column].cast(pl.String).fill_null("") != "").sum())


def alike(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Join reasons that differ only in numbers, and give the range; the commonest first.

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
