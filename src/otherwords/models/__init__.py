"""Models: plug-ins that turn a batch of problems into labels or probabilities, one per module.

`Model` is what a plug-in returns, `Answerer` a model made ready for a task; `ask` goes through the answer cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cache import Cache, default_path
from .model import Answerer, Model, Reply, as_model
from .predictions import Cached, Predictions

if TYPE_CHECKING:
    from .answering import answer_table, ask, load, run_canary

__all__ = [
    "Answerer",
    "Cache",
    "Cached",
    "Model",
    "Predictions",
    "Reply",
    "answer_table",
    "as_model",
    "ask",
    "default_path",
    "load",
    "run_canary",
]


def __getattr__(name: str) -> Any:
    """Import what needs polars when it is used: on a GPU machine there may be none."""
    if name not in __all__:
        raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join(__all__)}")
    from . import answering

    return getattr(answering, name)
