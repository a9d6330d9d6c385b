"""Trainers: from rows to a folder that answers as a model; a recipe says which rows, a search finds the options.

The modules that train an encoder when its folder is prepared import nothing but torch, transformers and numpy, so that
a bare GPU machine can do it, with `python -m otherwords.training FOLDER`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bag_of_words import BagOfWords
    from .making import TrainingResult, fit, train
    from .objectives import Examples
    from .prepared import prepare, train_prepared
    from .recipe import Recipe, read_recipe
    from .search import train_best
    from .settings import TrainingSettings

__all__ = [
    "BagOfWords",
    "Examples",
    "Recipe",
    "TrainingResult",
    "TrainingSettings",
    "fit",
    "prepare",
    "read_recipe",
    "train",
    "train_best",
    "train_prepared",
]

#: Imported on first use: the core must work where polars and pydantic are not installed.
_HOME = {"Examples": "objectives", "Recipe": "recipe", "TrainingResult": "making", "TrainingSettings": "settings"}
_HOME |= {"BagOfWords": "bag_of_words", "fit": "making", "train_best": "search"}
_HOME |= {"prepare": "prepared", "read_recipe": "recipe", "train": "making", "train_prepared": "prepared"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
