"""The application: its commands, and how errors and warnings reach the user."""

import errno
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .._version import __version__
from ..errors import ON_COMMAND_LINE, OtherwordsError, ServerFailed, WorkerLost
from . import (
    agreement,
    annotate,
    answer,
    audit,
    cache,
    check,
    circularity,
    compare,
    convert,
    doctor,
    export,
    list_plugins,
    paper,
    probe,
    profile,
    report,
    reproduce,
    resample,
    run,
    score,
    select,
    suite,
    train,
    vary,
    view,
)

#: A function that is a command, or an application whose commands are subcommands.
Definition = Callable[..., Any] | typer.Typer
COMMANDS: dict[str, Definition] = {
    "run": run.run,
    "vary": vary.vary,
    "resample": resample.resample,
    "select": select.app,
    "check": check.check,
    "profile": profile.profile,
    "probe": probe.probe,
    "answer": answer.answer,
    "score": score.score,
    "compare": compare.compare,
    "circularity": circularity.circularity,
    "annotate": annotate.annotate,
    "verdicts": annotate.app,
    "agreement": agreement.agreement,
    "audit": audit.audit,
    "reproduce": reproduce.reproduce,
    "paper": paper.app,
    "report": report.report,
    "view": view.view,
    "suite": suite.suite,
    "export": export.export,
    "convert": convert.convert,
    "list": list_plugins.list_plugins,
    "train": train.app,
    "cache": cache.app,
    "doctor": doctor.doctor,
}
#: What the help of a command ends with, where it has to be looked up.
EPILOGS: dict[str, Callable[[], str]] = {"reproduce": reproduce.list_papers}


#: What is left of a command that was stopped; of the others, nothing.
_NOTHING_KEPT = "nothing was written: run the same command again"
_KEPT = {
    "run": "finished work is kept: run the same command again to continue",
    "train": "finished work is kept: run the same command again to continue",
    "paper": "finished work is kept: run the same command again to continue",
    "annotate": "verdicts are kept: run the same command again to continue",
    "view": "the runs are as they were",
    **dict.fromkeys(
        ("answer", "circularity"),
        "nothing was written, but answers that were given are in the cache, unless there was none (--no-cache): "
        "run the same command again to continue",
    ),
}


class Terminated(KeyboardInterrupt):
    """SIGTERM: the command ends as after Ctrl-C, with another exit code."""


class LazyCommands(Mapping[str, Any]):
    """Commands by name; each is built, with all its options, at first use: `--help` lists them all and needs none."""

    def __init__(self, definitions: Mapping[str, Definition]):
        self._definitions = definitions

    def __getitem__(self, name: str) -> Any:
        return _build(name, self._definitions[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def outlines(self) -> list[TyperCommand]:
        """Every command with its name and its help, and no options."""
        return [
            TyperCommand(name, help=_help(definition), rich_markup_mode=None)
            for name, definition in self._definitions.items()
        ]


def _help(definition: Definition) -> str:
    return str(definition.info.help) if isinstance(definition, typer.Typer) else inspect.getdoc(definition) or ""


@functools.cache
def _build(name: str, definition: Definition) -> Any:
    """As typer builds it in an application of several commands."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(definition, typer.Typer):
        app.add_typer(definition, name=name)
        return typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    app.command(name, epilog=EPILOGS[name]() if name in EPILOGS else None)(_after_plugins(definition))
    return typer.main.get_command(app)


def _after_plugins(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, after the files of its option --plugin, if it has one, were loaded."""

    @functools.wraps(command)
    def loaded(**options: Any) -> Any:
        if files := options.get("plugin"):
            from ..registry import load_plugins

            load_plugins(files)
        return command(**options)

    return loaded


class Commands(TyperGroup):
    """Prints errors of the library as one line on standard error and sets the exit code; catches nothing else."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self._lazy = LazyCommands(COMMANDS)
        self.commands = self._lazy  # type: ignore[assignment]  # nobody adds to it

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, without building them."""
        outlines = self._lazy.outlines()
        limit = formatter.width - 6 - max(len(one.name or "") for one in outlines)
        with formatter.section("Commands"):
            formatter.write_dl([(one.name or "", one.get_short_help_str(limit)) for one in outlines])

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            calling = ON_COMMAND_LINE.set(True)
            try:
                return super().invoke(ctx)
            except OtherwordsError as error:
                stopped = isinstance(error, WorkerLost | ServerFailed)
                kept = f"; {_KEPT.get(ctx.invoked_subcommand, _NOTHING_KEPT)}" if stopped else ""
                _print_error(f"{error}{kept}", error if ctx.params.get("debug") else None)
                raise typer.Exit(error.exit_code) from error
            except BrokenPipeError:
                sys.stdout = None  # the reader went away: print nothing more
                raise typer.Exit(0) from None
            except OSError as error:
                kept = _KEPT.get(ctx.invoked_subcommand, _NOTHING_KEPT)
                _print_error(_describe_disk_error(error, kept), error if ctx.params.get("debug") else None)
                raise typer.Exit(2) from error
            except Exception as error:
                if type(error).__module__ != "sqlite3":  # not imported here, because `otherwords --help` needs none
                    raise
                _print_error(f"a temporary database cannot be used: {error}; free some space where TMPDIR points")
                raise typer.Exit(2) from error
            except KeyboardInterrupt as stop:
                _print_error(f"interrupted; {_KEPT.get(ctx.invoked_subcommand, _NOTHING_KEPT)}")
                raise typer.Exit(143 if isinstance(stop, Terminated) else 130) from None
            finally:
                ON_COMMAND_LINE.reset(calling)


app = typer.Typer(
    cls=Commands,
    name="otherwords",
    help="Does an NLI model still give the same answer when the same problem is put in other words?",
    epilog="Every stage reads and writes tables: vary FILE --suite | check - | answer - | score - . "
    "Exit codes: 0 ok, 1 a check or gate failed, 2 wrong usage or input.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: twice as fast, and it can be searched
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"otherwords {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(
        False, "--debug", envvar="OTHERWORDS_DEBUG", help="Show where an error was raised, as Python does."
    ),
) -> None:
    pass


def _describe_disk_error(error: OSError, kept: str) -> str:
    """A full disk is for the user to fix; `kept` says what is left of the work."""
    place = f"{error.filename}: " if error.filename else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "disk" in str(error.strerror)  # as SQLite says
    fix = f"free some space; {kept}" if full else ""
    return "; ".join(part for part in (f"{place}{error.strerror or error}", fix) if part)


def _print_error(message: str, error: BaseException | None = None) -> None:
    if error is not None:
        import traceback

        typer.echo("".join(traceback.format_exception(error)), err=True)
    typer.secho(f"error: {message}", fg="red", err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.secho(f"warning: {message}", fg="yellow", err=True)
