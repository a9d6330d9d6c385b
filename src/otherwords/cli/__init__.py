"""The command line: one file per command; a command parses, then makes one library call."""

from __future__ import annotations

from .app import app


def main() -> None:
    """Run the command line."""
    app()
