"""otherwords: does an NLI model still give the same answer when the same problem is put in other words?

The public names, loaded when first used: `import otherwords` itself loads neither numpy nor polars.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .datasets.records import Dataset
    from .datasets.suite import load
    from .errors import OtherwordsError
    from .exporting.export import export
    from .judging.circularity import Circularity, circularity
    from .metrics.metric import Metric
    from .models.cache import Cache
    from .models.model import Model
    from .papers.reproduction import reproduce
    from .pipeline import answer, check, score, vary
    from .problem import TASKS, Batch, Bucket, Problem, Score, Task, Variant, Verdict
    from .profiling.profile import Profile, profile
    from .progress import show_progress
    from .running.runner import Run, run
    from .running.study import Study
    from .scoring.compare import compare, compare_groups
    from .scoring.difference import Difference
    from .scoring.measure import measure
    from .scoring.results import Results
    from .training.making import train
    from .validity.checking import Check
    from .variants.generating import Generator

_HOME = {
    "Dataset": "datasets.records",
    "load": "datasets.suite",
    "measure": "scoring.measure",
    "OtherwordsError": "errors",
    "export": "exporting.export",
    "circularity": "judging.circularity",
    "Circularity": "judging.circularity",
    "Metric": "metrics.metric",
    "Cache": "models.cache",
    "Model": "models.model",
    "reproduce": "papers.reproduction",
    **dict.fromkeys(("answer", "check", "score", "vary"), "pipeline"),
    **dict.fromkeys(("TASKS", "Batch", "Bucket", "Problem", "Score", "Task", "Variant", "Verdict"), "problem"),
    "Profile": "profiling.profile",
    "profile": "profiling.profile",
    "show_progress": "progress",
    **dict.fromkeys(("Run", "run"), "running.runner"),
    "Study": "running.study",
    **dict.fromkeys(("compare", "compare_groups"), "scoring.compare"),
    "Difference": "scoring.difference",
    "Results": "scoring.results",
    "train": "training.making",
    "Check": "validity.checking",
    "Generator": "variants.generating",
}

__all__ = [
    "TASKS",
    "Batch",
    "Bucket",
    "Cache",
    "Check",
    "Circularity",
    "Dataset",
    "Difference",
    "Generator",
    "Metric",
    "Model",
    "OtherwordsError",
    "Problem",
    "Profile",
    "Results",
    "Run",
    "Score",
    "Study",
    "Task",
    "Variant",
    "Verdict",
    "__version__",
    "answer",
    "check",
    "circularity",
    "compare",
    "compare_groups",
    "export",
    "load",
    "measure",
    "profile",
    "reproduce",
    "run",
    "score",
    "show_progress",
    "train",
    "vary",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"otherwords has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
