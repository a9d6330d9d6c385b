"""Recompute the tables of a paper: each printed value with the value obtained now, and a summary."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ..answers.table import Answers
from ..errors import BadInput, UnknownName
from ..metrics.metric import as_metric
from ..problem import Score
from ..registry import Bound, papers
from ..scoring.measure import measure_answers
from ..scoring.select import IntervalSettings

#: A table, a row and a column of a paper.
Key = tuple[str, str, str]
#: How the reason of a cell starts whose printed value is truncated to its digits, not rounded.
TRUNCATED = "printed truncated"
#: Both ends of a 95 % interval, in the printed unit.
Ends = tuple[float, float]
#: The default interval and the former one, each None where there is none.
Both = tuple[Ends | None, Ends | None]
#: The intervals that `score` gives by default, and those that it gave before.
PRESENT, FORMER = IntervalSettings(), IntervalSettings(interval="percentile")


class WithIntervals(NamedTuple):
    """What was obtained for a cell that is a metric, with its interval and the former one, a percentile bootstrap.

    They are in the printed unit, and None where there is none.
    """

    value: float
    interval: Ends | None = None
    percentile: Ends | None = None


@dataclass(frozen=True)
class Cell:
    """What a paper prints in a table's row and column, and what was obtained, unrounded and in the printed unit.

    `published` is None for what the paper shows only as a figure, or not at all; `obtained` where the data lack it.
    `digits` counts the printed decimals; `reason` says why the two differ, where that is known. `interval` and
    `percentile` are as in `WithIntervals`.
    """

    table: str
    row: str
    column: str
    published: float | None
    obtained: float | None
    digits: int = 1
    reason: str = ""
    interval: Ends | None = None
    percentile: Ends | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the obtained value rounds to the printed one, or is truncated to it where the reason says so.

        None where there is nothing to compare.
        """
        if self.published is None or self.obtained is None:
            return None
        above, unit = self.obtained - self.published, 10.0**-self.digits
        if self.reason.startswith(TRUNCATED) and 0 <= above < unit - 1e-9:
            return True
        return abs(above) <= 0.5 * unit + 1e-9


#: What a paper's factory returns: from a folder with its data to its cells.
Reproduce = Callable[[Path], Iterable[Cell]]


def reproduce(paper: str, data: str | Path) -> list[Cell]:
    """Compare every printed value of a paper with what the data under `data` give: `otherwords list papers`."""
    return list(papers.make(paper).function(Path(data)))


def against_published(paper: str, obtained: Mapping[Key, float | WithIntervals | None]) -> list[Cell]:
    """Pair what was obtained with the values in `<paper>.csv`, in their order, then what the paper does not print."""
    printed = _printed(paper)
    cells = [
        _cell(key, obtained.get(key), float(row["published"]), _digits(row["published"]), row["reason"])
        for key, row in printed.items()
    ]
    return cells + [_cell(key, found) for key, found in obtained.items() if key not in printed]


def published_values(paper: str) -> dict[Key, float]:
    """What a paper prints, by table, row and column; shares are in per cent."""
    return {key: float(row["published"]) for key, row in _printed(paper).items()}


def _printed(paper: str) -> dict[Key, dict[str, str]]:
    text = (files(__package__) / f"{paper}.csv").read_text(encoding="utf-8")
    return {(row["table"], row["row"], row["column"]): row for row in csv.DictReader(text.splitlines())}


def _cell(
    key: Key, found: float | WithIntervals | None, published: float | None = None, digits: int = 1, reason: str = ""
) -> Cell:
    value, *intervals = found if isinstance(found, WithIntervals) else (found,)
    return Cell(*key, published, value, digits, reason, *intervals)


def percent_intervals(chosen: Mapping[str, Bound], answers: Answers) -> dict[str, Both]:
    """Both intervals of metrics with one number each, in per cent: the default, and the percentile bootstrap.

    They are made with seed 1 and 10,000 replicates; what has no closed form has the same twice. Warns of few clusters.
    """
    drawn = dict(zip(chosen, measure_answers(list(chosen.values()), answers, None, FORMER), strict=True))
    closed = {name: one for name, one in chosen.items() if PRESENT.kind(as_metric(one.function)) != "percentile"}
    present = drawn | dict(zip(closed, measure_answers(list(closed.values()), answers, "", PRESENT), strict=True))
    return {name: in_percent(present[name], drawn[name]) for name in chosen}


def in_percent(present: Score, former: Score) -> Both:
    """The intervals of two scores in per cent.

    Where all replicates are alike, the former has no width: this is shown as it was, but not as the default interval.
    """
    interval, percentile = (
        None if one.low is None or one.high is None else (100 * one.low, 100 * one.high) for one in (present, former)
    )
    return None if present.low == present.high else interval, percentile


def _digits(printed: str) -> int:
    return len(printed.partition(".")[2])


def find(data: Path, paper: str, *names: str) -> list[Path]:
    """The data files of a paper; the first that is missing is an error."""
    paths = [data / paper / name for name in names]
    for path in paths:
        if not path.is_file():
            fix = f"give the folder that holds {paper}/{path.name}"
            raise BadInput("no such file", where=str(path), fix=fix)
    return paths


def of_tables(cells: Sequence[Cell], tables: Sequence[str]) -> list[Cell]:
    """The cells of some tables, or of all where none is named."""
    known = list(dict.fromkeys(cell.table for cell in cells))
    if unknown := [name for name in tables if name not in known]:
        raise UnknownName(f"no table {unknown[0]!r}; available: {', '.join(known)}")
    return [cell for cell in cells if not tables or cell.table in tables]


def summary(cells: Sequence[Cell]) -> str:
    """Say how many printed values agree.

    >>> summary([Cell("4", "BoW", "P_C", 82.2, 82.21), Cell("4", "BiLSTM", "A_O", 53.5, 53.6, reason="misprint")])
    '2 printed values, 1 as printed, 1 otherwise (of these 1 for a known reason), 0 not in the data'
    """
    printed = [cell for cell in cells if cell.published is not None]
    agree = sum(cell.agrees is True for cell in printed)
    differ = [cell for cell in printed if cell.agrees is False]
    known = sum(bool(cell.reason) for cell in differ)
    absent = len(printed) - agree - len(differ)
    return (
        f"{len(printed)} printed values, {agree} as printed, {len(differ)} otherwise (of these {known} for a known "
        f"reason), {absent} not in the data"
    )
