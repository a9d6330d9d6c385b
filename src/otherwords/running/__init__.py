"""Running a study: its description, its stages on a run folder, the driver, and the engine that carries stages out."""

from .runner import Run, run
from .stages import Engine, InProcess
from .study import Study, read_study

__all__ = ["Engine", "InProcess", "Run", "Study", "read_study", "run"]
