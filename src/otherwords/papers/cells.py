"""A cell of a published table beside the value that the authors' own predictions give today."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..errors import BadInput

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
