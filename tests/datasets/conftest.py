"""Fixtures for data sets: reading one through intake, and the files as released."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otherwords.datasets.intake import Intake
from otherwords.problem import get_task
from otherwords.registry import datasets

Taken = tuple[list[dict[str, Any]], Intake]


@pytest.fixture
def take() -> Callable[..., Taken]:
    """Read a data set by its spec, as a user names it, and pass its records through intake."""

    def taken(spec: str, task: str = "", skip_bad: bool = False) -> Taken:
        dataset = datasets.make(spec).function
        intake = Intake(get_task(task or dataset.task), labels=dict(dataset.labels), skip_bad=skip_bad)
        return list(intake.rows(dataset())), intake

    return taken


@pytest.fixture
def originals(shared: Path) -> Path:
    return shared / "originals"
