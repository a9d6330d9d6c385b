"""The report of a run: one HTML page that needs no network, and the sections it consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .page import render, rerender, write_report

__all__ = ["render", "rerender", "write_report"]


def __getattr__(name: str) -> Any:
    """Load the page when it is first used: commands that print names from the report need no Jinja."""
    if name not in __all__:
        raise AttributeError(f"otherwords.report has no {name!r}; it has {', '.join(__all__)}")
    from . import page

    return getattr(page, name)
