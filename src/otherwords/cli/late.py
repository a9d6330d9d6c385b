"""Commands that are made when they are called: `--help`, which lists them all, needs none of their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand

#: A function that is a command, or an application whose commands are commands of a command.
Source = Callable[..., Any] | typer.Typer


class LateCommands(Mapping[str, Any]):
    """Commands by name; each is made, with all its options, when it is first asked for."""

    def __init__(self, sources: Mapping[str, Source]):
        self._sources = sources
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _command(name, self._sources[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def outlines(self) -> list[TyperCommand]:
        """Every command with its name and its help, and no options."""
        return [TyperCommand(name, help=_help(source), rich_markup_mode=None) for name, source in self._sources.items()]


def _help(source: Source) -> str:
    return str(source.info.help) if isinstance(source, typer.Typer) else inspect.getdoc(source) or ""


def _command(name: str, source: Source) -> Any:
    """As typer makes it in an application of several commands."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(source, typer.Typer):
        app.add_typer(source, name=name)
        return typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    app.command(name)(source)
    return typer.main.get_command(app)
