"""What the tests of data sets share: the door that all rows go through, and the authors' own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otherwords.datasets.intake import Intake
from otherwords.problem import get_task
from otherwords.registry import datasets

DATA = Path(__file__).parents[2].parent / "shared" / "data"
Taken = tuple[list[dict[str, Any]], Intake]


@pytest.fixture
def take() -> Callable[..., Taken]:
    """Read a data set by its spec, as a user names it, and send its records through the door."""

    def taken(spec: str, task: str = "", skip_bad: bool = False) -> Taken:
        dataset = datasets.make(spec).function
        intake = Intake(get_task(task or dataset.task), labels=dict(dataset.labels), skip_bad=skip_bad)
        return list(intake.rows(dataset())), intake

    return taken


@pytest.fixture
def shared() -> Path:
    if not DATA.is_dir():
        pytest.skip("needs shared/data")
    return DATA


@pytest.fixture
def originals(shared: Path) -> Path:
    return shared / "originals"
