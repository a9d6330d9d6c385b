"""Export of a trained model as one small ONNX file with the same answers: graph, stored weights, and comparison.

The names are imported on first use: onnx and torch are extras.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparing import Comparison
    from .export import Export, record

#: `export` itself is `otherwords.export`: here the name is that of the module.
_HOME = {"Comparison": "comparing", "Export": "export", "record": "export"}

__all__ = ["Comparison", "Export", "record"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"{__name__} has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
