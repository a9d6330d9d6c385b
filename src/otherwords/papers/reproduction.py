"""Recompute the tables of a paper: the protocols by name, and what came of it in a sentence."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from ..errors import UnknownName
from .cells import Cell

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
