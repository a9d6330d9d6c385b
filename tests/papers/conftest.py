"""What the tests of papers share: every paper is reproduced once, its intervals from few replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from otherwords.papers import Cell, reproduce, reproduction

#: Replicates of intervals; drawing the usual 10,000 takes most of the time of a reproduction.
FEW = 300


@pytest.fixture(scope="session")
def reproduced() -> Callable[[str, Path], list[Cell]]:
    def with_few_replicates(paper: str, data: Path) -> list[Cell]:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("PRESENT", "FORMER"):
                patch.setattr(reproduction, name, replace(getattr(reproduction, name), replicates=FEW))
            return reproduce(paper, data)

    return cache(with_few_replicates)


@pytest.fixture
def few_replicates() -> int:
    """How many replicates the intervals of `reproduced` come from."""
    return FEW
