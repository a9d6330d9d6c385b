"""The frame of a paper's protocol as one command: settings in a TOML file, a folder that is resumed, cells as jobs.

A cell is the smallest part that is worth keeping: a training and its answers. It has a folder of its own, and its file
`cell.json` is written last, so that what has one is never done again. Papers share this frame; what their cells are and
what is made of them is their own.
"""

import json
import os
import re
import shutil
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .._version import __version__
from ..errors import BadInput, OtherwordsError, ServerFailed, UnknownName, WorkerLost, setting, shorten
from ..progress import current
from ..registry import plugin_files
from ..running.engines import InProcess
from ..running.pool import Engine
from ..storage.files import lock_folder, read_json, read_toml, refuse_link, write_json, write_text
from ..storage.specs import nearest, to_toml
from ..training.recipe import how_to_write
from ..training.trainer import shown

#: The resolved settings of an experiment in its folder, and what a finished cell says of itself.
EXPERIMENT, CELL = "experiment.toml", "cell.json"
#: The key of a cell that is not finished yet.
_BEGUN = "begun.txt"
#: Tables of that file that are not settings: what the settings stood for when they were read, and by whom.
_CONTENT, _MADE = "content", "made"
#: What Pydantic adds to the place of a value that may be of several types.
_KIND = re.compile(r"float|int|str|bool|dict\[.*\]|list\[.*\]|[A-Z]\w*Part")
#: What an experiment may have in its folder.
_OWN = {EXPERIMENT, "data", "cells", "search", "to-judge", "to-paraphrase", "results", ".lock"}


class ExperimentSettings(BaseModel):
    """What every paper's experiment has. Every field can stand in a TOML file under the same name."""

    model_config = ConfigDict(extra="forbid")

    seed: int = Field(1, strict=True)
    plugins: list[str] = []

    @field_validator("plugins", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


Settings = TypeVar("Settings", bound=ExperimentSettings)


class CellJob(Protocol):
    """A cell as it travels to a worker: names, paths and numbers, among them its folder and its key.

    The key is a digest of all that decides what the cell will hold.
    """

    @property
    def folder(self) -> str:
        """Where it goes."""
        ...

    @property
    def key(self) -> str:
        """What decides its content."""
        ...


Job = TypeVar("Job", bound=CellJob)


# Settings


def read_settings(
    kind: type[Settings], source: str | Path | Mapping[str, Any], where: str = "", **overrides: Any
) -> Settings:
    """Read the settings of an experiment from a TOML file, the folder of one, or a mapping; others come on top."""
    if not isinstance(source, Mapping):
        path = Path(source)
        path = path / EXPERIMENT if path.is_dir() else path
        where, source = str(path), _read_toml(path)
    values = {name: value for name, value in source.items() if name not in (_CONTENT, _MADE)}
    try:
        return kind(**{**values, **overrides})
    except ValidationError as error:
        raise _translated(error, kind, where, overrides) from error
    except BadInput as error:  # of a validator, which does not know where its value stands
        name = error.field.removeprefix("--")
        if name in overrides:
            raise
        raise BadInput(error.message, where=where, field=name, fix=error.fix) from None


def write_template(path: Path, text: str) -> None:
    """Write the commented settings that a user begins with; what is there is not replaced."""
    if path.exists():
        raise BadInput("already exists", where=str(path), fix="name another file, or delete it")
    write_text(path, text)


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        fix = "give a TOML file (--init writes one), or the folder of an experiment"
        raise BadInput("no such file", where=str(path), fix=fix)
    return read_toml(path, "an experiment", "an experiment is a TOML file: --init writes one")


def _translated(error: ValidationError, kind: type[BaseModel], where: str, given: Mapping[str, Any]) -> BadInput:
    """The first error as one of ours. A misspelt name comes first: it is why another is missing.

    Where a setting may be a table or a number, what is wrong with a table is told of the table. A setting that was
    `given` beside the file is named as an option.
    """
    found = [(one, [str(part) for part in one["loc"] if not _KIND.fullmatch(str(part))]) for one in error.errors()]
    first, names = min(found, key=lambda one: (one[0]["type"] != "extra_forbidden", -len(one[1])))
    field, known = ".".join(names), _names_beside(kind, names)
    if names[0] in given:
        where, field = "", setting(f"--{field}", field)
    if first["type"] == "extra_forbidden":
        near = nearest(names[-1], known)
        fix = (f"did you mean {near}? " if near else "") + f"available: {', '.join(known)}"
        return BadInput("no such setting", where=where, field=field, fix=fix)
    if first["type"] in ("missing", "too_short"):
        return BadInput("is missing", where=where, field=field, fix=f"write {names[-1]} = ...")
    return BadInput(f"found {shorten(first['input'])}", where=where, field=field, fix=how_to_write(first))


def _names_beside(kind: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The settings that stand where a wrong one does: those of the whole, or of one of its tables."""
    if len(path) > 1 and path[0] in kind.model_fields:
        inner = kind.model_fields[path[0]].annotation
        for one in (inner, *typing.get_args(inner)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                return _names_beside(one, path[2:] if one is not inner else path[1:])
    return list(kind.model_fields)


@contextmanager
def in_setting(key: str) -> Iterator[None]:
    """Let errors that a setting causes name it; what they name themselves stays in the message."""
    try:
        yield
    except BadInput as error:
        table = key.rpartition(".")[0] or key
        if any(part and (part.startswith(table) or part in key.split(", ")) for part in (error.where, error.field)):
            raise
        place = "".join(f"{part}: " for part in (error.where, error.field) if part)
        raise BadInput(f"{place}{error.message}", field=key, fix=error.fix) from None
    except (UnknownName, ServerFailed) as error:
        raise type(error)(f"{key}: {error}") from None


@contextmanager
def in_file(source: Any) -> Iterator[None]:
    """Let errors of settings name the file that these stand in."""
    try:
        yield
    except BadInput as error:
        if not isinstance(source, str | Path) or str(source) in error.where:
            raise
        where = f"{source}: {error.where}" if error.where else str(source)
        raise BadInput(error.message, where=where, field=error.field, fix=error.fix) from None
    except UnknownName as error:
        raise UnknownName(f"{source}: {error}" if isinstance(source, str | Path) else str(error)) from None


# The folder


@contextmanager
def opened(folder: Path) -> Iterator[None]:
    """Hold the folder of an experiment for the block: one process at a time works on it."""
    refuse_link(folder)
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", where=str(folder), fix="choose another folder with -o")
    new = not (folder / EXPERIMENT).is_file()
    others = sorted(one.name for one in folder.iterdir() if one.name not in _OWN) if folder.is_dir() and new else []
    if others:
        fix = "choose a new folder with -o"
        raise BadInput(f"is not an experiment folder: it contains {', '.join(others[:3])}", where=str(folder), fix=fix)
    made = not folder.exists()
    empty = made or not any(folder.iterdir())
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, folder / ".lock"):
        try:
            yield
        except OtherwordsError:
            if empty and not (folder / EXPERIMENT).is_file():  # refused before it began: nothing of it stays
                _remove_all(folder, made)
            raise


def _remove_all(folder: Path, made: bool) -> None:
    for one in folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    if made:
        folder.rmdir()


def refuse_other(
    folder: Path,
    settings: ExperimentSettings,
    content: Mapping[str, str],
    may_change: Sequence[str],
    grow: Sequence[str],
) -> None:
    """Refuse a folder that holds another experiment, with what differs.

    `content` says what the settings stand for: signatures of data and plug-ins. Settings in `may_change` decide which
    cells there are and what is made of them, not what a cell holds. Tables in `grow` may have more entries than before,
    or fewer: those of the same name must be the same.
    """
    if not (folder / EXPERIMENT).is_file():
        return
    there, now = _read_toml(folder / EXPERIMENT), {**settings.model_dump(mode="json"), _CONTENT: dict(content)}
    made = there.pop(_MADE, {})
    changes = list(_changes(there, now, {*may_change, "plugins"}, {*grow, _CONTENT}))
    if (version := made.get("otherwords")) != __version__:
        changes.append(f"otherwords is {version} there, {__version__} now")
    if changes:
        fix = "choose another folder with -o, or delete it"
        raise BadInput(f"contains another experiment: {'; '.join(changes[:4])}", where=str(folder), fix=fix)


def write_settings(folder: Path, settings: ExperimentSettings, content: Mapping[str, str]) -> None:
    """Write the resolved settings into the folder: from now on it holds this experiment."""
    head = "# The experiment of this folder, with all settings: the same command continues it.\n"
    made = {"otherwords": __version__, "directory": os.fspath(Path.cwd())}
    tables: dict[str, Any] = {}
    for name, value in settings.model_dump(mode="json").items():
        nested = isinstance(value, Mapping) and value and all(isinstance(one, Mapping) for one in value.values())
        tables |= {f"{name}.{json.dumps(key)}": one for key, one in value.items()} if nested else {name: value}
    write_text(folder / EXPERIMENT, head + to_toml({**tables, _CONTENT: dict(content), _MADE: made}))


def _changes(there: Mapping[str, Any], now: Mapping[str, Any], free: set[str], grow: set[str]) -> Iterator[str]:
    """What differs between two settings, in words."""
    for name in dict.fromkeys([*there, *now]):
        one, other = there.get(name), now.get(name)
        if name in free:
            continue
        if name in grow and isinstance(one, Mapping) and isinstance(other, Mapping):
            start = "" if name == _CONTENT else f"{name}."
            for key in sorted(one.keys() & other.keys()):
                for change in _changes(_as_table(one[key]), _as_table(other[key]), free, set()):
                    yield f"{start}{key}{'.' if isinstance(one[key], Mapping) else ''}{change}"
        elif _plain(one) != _plain(other):
            yield f"{name} is {_shown(one)} there, {_shown(other)} now"


def _as_table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {"": value}


def _plain(value: Any) -> Any:
    """A value without what TOML leaves out."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if one is not None and one != {}} or None
    return value


def _shown(value: Any) -> str:
    return "not set" if value is None else shown(value)


# Cells


def read_cell(job: CellJob) -> dict[str, Any] | None:
    """What a finished cell says of itself; None of one that is to be done, or done again because it is another's."""
    found = read_json(Path(job.folder) / CELL)
    return found if found.get("key") == job.key else None


def begin_cell(job: CellJob) -> Path:
    """The folder of a cell that is to be done, without what another experiment left in it; what was begun is kept."""
    place, begun = Path(job.folder), Path(job.folder) / _BEGUN
    known = begun.read_text(encoding="utf-8") if begun.is_file() else ""
    if place.is_dir() and known.strip() != job.key:
        shutil.rmtree(place)
    write_text(begun, f"{job.key}\n")
    return place


def finish_cell(job: CellJob, about: Mapping[str, Any]) -> None:
    """Mark a cell as finished."""
    place = Path(job.folder)
    write_json(place / CELL, {"key": job.key, "otherwords": __version__, **about})
    (place / _BEGUN).unlink(missing_ok=True)


def run_cells(engine: Engine, function: Callable[[Job], Any], jobs: Sequence[Job], stage: str) -> list[dict[str, Any]]:
    """Do all cells that are not finished, on the engine; give what each says of itself, in order."""
    current().start(stage, len(jobs))
    todo = [job for job in jobs if read_cell(job) is None]
    current().advance(len(jobs) - len(todo))
    for _ in engine.map(function, todo, _give_up):
        current().advance(1)
    current().done()
    return [read_cell(job) or {} for job in jobs]


def _give_up(job: CellJob, reason: str) -> Any:
    raise WorkerLost(f"{reason}; the cell is {job.folder}")


def prepare_engine(engine: Engine, folder: Path, named: Sequence[tuple[str, str]]) -> None:
    """Let an engine that has to, such as Ray, find out whether workers see the folder and can make what is named."""
    engine.prepare(str(folder.absolute()), [], plugin_files(), list(named), own=True)


def plugins_for(engine: Engine, settings: ExperimentSettings) -> tuple[str, ...]:
    """The files of plug-ins that workers load: those of the settings, and others that this process has."""
    loaded = [] if isinstance(engine, InProcess) else plugin_files()
    return tuple(dict.fromkeys([*settings.plugins, *loaded]))
