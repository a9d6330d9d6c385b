"""Fine-tuning of encoders: for the labels of NLI, or for masked words.

`recipe`, `data` and `making` turn a recipe and its data sets into a prepared folder. The other modules are the core:
they import nothing but torch, transformers and numpy, so that a bare GPU machine can train what was prepared, with
`python -m otherwords.training FOLDER`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .making import TrainingResult, train
    from .objectives import Examples
    from .prepared import prepare, train_prepared
    from .recipe import Recipe, read_recipe
    from .settings import TrainingSettings

__all__ = [
    "Examples",
    "Recipe",
    "TrainingResult",
    "TrainingSettings",
    "prepare",
    "read_recipe",
    "train",
    "train_prepared",
]

#: Imported on first use: the core must work where polars and pydantic are not installed.
_HOME = {"Examples": "objectives", "Recipe": "recipe", "TrainingResult": "making", "TrainingSettings": "settings"}
_HOME |= {"prepare": "prepared", "read_recipe": "recipe", "train": "making", "train_prepared": "prepared"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
