"""Running a study: its description, its stages on a run folder, the driver, and the engine that carries stages out."""

from .engines import InProcess
from .pool import Engine
from .processes import Processes
from .runner import Run, run
from .study import Study, read_study

__all__ = ["Engine", "InProcess", "Processes", "Run", "Study", "read_study", "run"]
