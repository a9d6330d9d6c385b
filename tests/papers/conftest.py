"""What the tests of papers share: every paper is reproduced once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from otherwords.papers import Cell, reproduce


@pytest.fixture(scope="session")
def reproduced() -> Callable[[str, Path], list[Cell]]:
    return cache(reproduce)
