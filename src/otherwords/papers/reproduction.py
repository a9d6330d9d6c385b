"""Recompute the tables of a paper: the protocols by name, and what came of it in a sentence."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..errors import BadInput, UnknownName

# MERGED from papers.cells: A cell of a published table beside the value that the authors' own predictions give today.

Key = tuple[str, str, str]
#: How the reason of a cell starts whose printed value is cut to its digits, not rounded.
CUT = "printed truncated"


@dataclass(frozen=True)
class Cell:
    """What a paper prints in a table's row and column, and what was obtained, unrounded and in the printed unit.

    `published` is None for what the paper shows only as a figure, or not at all; `obtained` where the data lack it.
    `digits` counts the printed decimals; `reason` says why the two differ, where that is known.
    """

    table: str
    row: str
    column: str
    published: float | None
    obtained: float | None
    digits: int = 1
    reason: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the obtained value rounds to the printed one, or is cut to it where the reason says so.

        None where there is nothing to compare.
        """
        if self.published is None or self.obtained is None:
            return None
        above, unit = self.obtained - self.published, 10.0**-self.digits
        if self.reason.startswith(CUT) and 0 <= above < unit - 1e-9:
            return True
        return abs(above) <= 0.5 * unit + 1e-9


def against_published(paper: str, obtained: Mapping[Key, float | None]) -> list[Cell]:
    """Set what was obtained beside the values in `<paper>.csv`, in their order, then what the paper does not print."""
    text = (files(__package__) / f"{paper}.csv").read_text(encoding="utf-8")
    printed = {(row["table"], row["row"], row["column"]): row for row in csv.DictReader(text.splitlines())}
    cells = [
        Cell(*key, float(row["published"]), obtained.get(key), _digits(row["published"]), row["reason"])
        for key, row in printed.items()
    ]
    return cells + [Cell(*key, None, value) for key, value in obtained.items() if key not in printed]


def _digits(printed: str) -> int:
    return len(printed.partition(".")[2])


def find(data: Path, paper: str, *names: str) -> list[Path]:
    """The data files of a paper, or a complaint that names the first that is missing."""
    paths = [data / paper / name for name in names]
    for path in paths:
        if not path.is_file():
            fix = f"give the folder that holds {paper}/{path.name}"
            raise BadInput("no such file", where=str(path), fix=fix)
    return paths


# MERGED from papers.reproduction: Recompute the tables of a paper: the protocols by name, and what came of it in a sentence.

#: The papers whose authors released predictions.
PAPERS = {"paranlu": "paranlu", "ie-test": "ie_test", "parte": "parte"}


def reproduce(paper: str, data: str | Path) -> list[Cell]:
    """Set every printed value of a paper beside what the authors' predictions, under `data`, give."""
    if paper not in PAPERS:
        raise UnknownName(f"no paper {paper!r}; there are: {', '.join(PAPERS)}")
    protocol = importlib.import_module(f".{PAPERS[paper]}", __package__)
    cells: list[Cell] = protocol.reproduce(Path(data))
    return cells


def chosen(cells: Sequence[Cell], tables: Sequence[str]) -> list[Cell]:
    """The cells of some tables, or of all where none is named."""
    known = list(dict.fromkeys(cell.table for cell in cells))
    if strangers := [name for name in tables if name not in known]:
        raise UnknownName(f"no table {strangers[0]!r}; there are: {', '.join(known)}")
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
