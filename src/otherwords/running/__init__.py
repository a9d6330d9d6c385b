"""Running a study: its description, its stages on a run folder, the driver, and the engine that carries stages out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .pool import Engine
from .processes import Processes

if TYPE_CHECKING:
    from .engines import InProcess
    from .runner import Run, run
    from .study import Study, read_study

__all__ = ["Engine", "InProcess", "Processes", "Run", "Study", "read_study", "run"]

_HOMES = {"InProcess": "engines", "Run": "runner", "Study": "study", "read_study": "study", "run": "runner"}


def __getattr__(name: str) -> Any:
    """Import the driver and the report when they are used: a worker process needs neither, and starts twice as fast."""
    if name not in _HOMES:
        raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
