"""A study: the whole pipeline as one description, from a TOML file, a run folder or from options."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from .._version import __version__
from ..datasets.source import memory_name
from ..errors import ON_COMMAND_LINE, BadInput, shorten
from ..language_models.budget import Budget, make_budget
from ..metrics.metric import Metric
from ..models.answering import all_models, with_templates
from ..models.python_callable import as_spec
from ..problem import MOST_REPLICATES, get_task
from ..registry import load_plugins
from ..scoring.requirements import group_columns
from ..storage.files import digest, read_toml, write_text
from ..storage.in_memory import AnyTable, as_frame
from ..storage.places import without_password
from ..storage.run_folder import BY_WHOM, RunFolder
from ..storage.specs import nearest, to_toml
from ..storage.user_code import as_specs
from .engines import NAMES, USUAL, make_engine
from .pool import Engine

#: The study in its run folder.
STUDY = "study.toml"
#: Settings that change no result: where answers are kept, in which portions work is done, what is required of scores.
_HOW = frozenset({"cache", "canary", "batch_size", "shard", "require", *BY_WHOM})
_LISTS = ("data", "vary", "check", "models", "templates", "metrics", "by", "require", "repeat_ways")


class Study(BaseModel):
    """What to do, from data to scores. Every field can stand in a TOML file under the same name.

    Tables among the data are replaced by a name made from their content; `tables` gives what is named.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = "study"
    data: list[Any] = Field(description="files, data sets or tables")
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    skip_bad: bool = False
    vary: list[str] = []
    check: list[str] = ["surface"]
    models: list[str] = Field(min_length=1)
    templates: list[str] = Field([], description="of language models: one for each")
    label_map: dict[str, str | dict[str, str]] = {}
    repeats: int = Field(0, ge=0, description="how often the same is asked again, to measure noise")
    repeat_ways: list[str] = Field([], description="in which ways; none for a model's first")
    canary: bool = True
    batch_size: int = Field(0, ge=0)
    cache: str | Literal[False] | None = Field("", description='path, "" for the shared one, false for none')
    metrics: list[str] = []
    by: list[str] = []
    require: list[str] = Field([], description="gates")
    seed: int = 1
    replicates: int = Field(10_000, ge=2, le=MOST_REPLICATES)
    confidence: float = Field(0.95, gt=0, lt=1)
    interval: Literal["auto", "wilson", "percentile", "bca"] = "auto"
    shard: int = Field(0, ge=0, description="rows, 0 for what suits the plug-ins")
    plugins: list[str] = Field([], description="files that register plug-ins")
    engine: str = Field(USUAL, description=NAMES)
    workers: int = Field(0, ge=0, description="how many; 0 for what there is room for")
    gpus: list[int] = Field([], description="of the engine processes: a worker for each")
    gpu_share: float | None = Field(None, description="of a worker of the engine ray, such as 1 or 0.25")
    shared: str = Field("", description="folder or URL that all machines see, for the engine ray")
    max_requests: int | None = Field(None, ge=0, description="to servers of language models, in one call")
    max_cost: float | None = Field(None, ge=0, description="of requests, in one call, in the currency of the prices")
    prices: str = Field("", description="a TOML file: what a million tokens of each model cost")
    _tables: dict[str, pl.DataFrame] = PrivateAttr({})

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """One thing where a list is expected is a list of one; so is a table, as a list of rows, too."""
        rows = isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, Mapping) for one in value)
        return [value] if rows or not isinstance(value, (list, tuple, set)) else value

    @field_validator("models", mode="before")
    @classmethod
    def _specs(cls, value: Any) -> Any:
        """A function or a Model is known by a spec, as every model is; a `*` in a path stands for several."""
        given = value if isinstance(value, list | tuple) else [value]
        specs = [as_spec(one) if callable(one) else one for one in given]
        return all_models(specs) if all(isinstance(one, str) for one in specs) else specs

    @field_validator("vary", "check", mode="before")
    @classmethod
    def _functions(cls, value: Any) -> Any:
        """So is a generator or a check that is a function."""
        given = value if isinstance(value, list | tuple) else [value]
        return as_specs(given) if any(map(callable, given)) else value

    @field_validator("metrics", mode="before")
    @classmethod
    def _own_metrics(cls, value: Any) -> Any:
        """And a metric; it has no other name than its own."""
        given = value if isinstance(value, list | tuple) else [value]
        own = any(callable(one) or isinstance(one, Metric) for one in given)
        return as_specs(given, named=False) if own else value

    @field_validator("labels", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        """Labels may be numbers."""
        return {str(label): name for label, name in value.items()} if isinstance(value, Mapping) else value

    @field_validator("columns", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        """So may columns of a table."""
        numbers = isinstance(value, Mapping) and any(isinstance(one, int) for one in value.values())
        return {name: str(column) for name, column in value.items()} if numbers else value

    @model_validator(mode="after")
    def _known_engine(self) -> "Study":
        self.make_engine()
        return self

    def make_engine(self) -> Engine:
        """The engine that is chosen."""
        return make_engine(self.engine, self.workers, self.gpus, self.gpu_share, self.shared)

    def make_budget(self, *, dry_run: bool = False) -> Budget:
        """What it may cost; in a dry run, what it would cost."""
        return make_budget(self.max_requests, self.max_cost, self.prices, dry_run=dry_run)

    @field_validator("cache", mode="after")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value is False else value  # TOML has no null

    @model_validator(mode="after")
    def _name_tables(self) -> "Study":
        for place, one in enumerate(self.data):
            if isinstance(one, (str, os.PathLike)):
                self.data[place] = os.fspath(one)
                continue
            if one is None or isinstance(one, (bool, int, float)):
                raise BadInput(f"found {one}", field="data", fix="give names of files or data sets, or tables")
            table = as_frame(one, "the data")
            self.data[place] = memory_name(table)
            self._tables[self.data[place]] = table
        if "name" not in self.model_fields_set and self.data and self.data[0] not in self._tables:
            self.name = Path(str(self.data[0]).rpartition(":")[2]).stem.strip("-") or self.name
        return self

    @property
    def tables(self) -> list[str | pl.DataFrame]:
        """The data: names of files and data sets, and tables."""
        return [self._tables.get(one, one) for one in self.data]

    @property
    def asked(self) -> list[str]:
        """The models that are asked: those that it names, each by each template where it takes one."""
        return with_templates(self.models, self.templates)

    @property
    def grouped(self) -> list[str]:
        """The columns by which it is scored: those that it names, and those of its gates' groups."""
        return list(dict.fromkeys([*self.by, *group_columns(self.require)]))

    def changed(self, **settings: Any) -> "Study":
        """The study with other settings."""
        return read_study({**self.model_dump(), "data": self.tables}, **settings)

    @property
    def folder(self) -> Path:
        """Where its run goes by default: `runs/`, its name, and six digits of all settings that decide the result.

        Settings that have their default do not count, so that a new one in a later version changes no folder.

        >>> Study(name="../My study", data=["a.jsonl"], models=["scripted"]).folder.as_posix()
        'runs/My-study-4391c6'
        """
        plain = re.sub(r"[^\w]+", "-", self.name).strip("-_")[:40].strip("-_") or "study"
        settings = {name: value for name, value in self.model_dump(exclude_defaults=True).items() if name not in _HOW}
        return Path("runs") / f"{plain}-{digest(settings)[:6]}"

    def shown(self) -> dict[str, Any]:
        """All settings, without the password of a shared place: they are written down, and may be published."""
        return {**self.model_dump(), "shared": without_password(self.shared)}

    def write(self, folder: Path) -> None:
        """Write the study into its run folder, so that `otherwords run FOLDER` can continue it."""
        near = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
        shown = shlex.quote(" ".join(near.as_posix().splitlines()))
        head = f"# The study of this folder: `otherwords run {shown}` continues it.\n"
        made = {"otherwords": __version__, "directory": str(Path.cwd())}
        note = "\n# With which version, and the directory from which the paths above start.\n"
        write_text(folder / STUDY, head + to_toml(self.shown()) + note + to_toml({"made": made}))


def read_study(source: str | Path | dict[str, Any] | Study | AnyTable | None = None, **overrides: Any) -> Study:
    """Make a study of a TOML file, a run folder, settings, a table of data or another Study.

    Settings given by name replace those in it. A task that is a file becomes a part of the study: the file need not be
    there the next time.
    """
    if isinstance(source, Study):
        study = source.changed(**overrides) if overrides else source
    elif isinstance(source, (str, os.PathLike)):
        study = _read_file(Path(source), overrides)
    else:
        values = source if isinstance(source, dict) else {} if source is None else {"data": source}
        study = _validated({**values, **overrides}, "")
    load_plugins(study.plugins)
    if isinstance(study.task, str) and study.task.endswith(".toml"):
        return study.changed(task=asdict(get_task(study.task)))
    return study


def _read_file(path: Path, overrides: Mapping[str, Any]) -> Study:
    """The study of a TOML file or a run folder."""
    if not path.is_dir():
        return _validated({**_read_toml(path), **overrides}, str(path))
    study = _validated({**_read_folder(path), **overrides}, str(path))
    _refuse_left_behind(study, path)
    return study


def _validated(settings: dict[str, Any], where: str) -> Study:
    try:
        study = Study(**settings)
        json.dumps(study.model_dump(), ensure_ascii=False).encode()
    except ValidationError as error:
        raise _translated(error, where) from error
    except UnicodeEncodeError as error:
        raise BadInput("a name is not valid Unicode", where=where, fix="rename the file or column") from error
    return study


def _refuse_left_behind(study: Study, folder: Path) -> None:
    """Refuse to continue a run where files that its plug-ins name are not here, but where it was started."""
    path = folder / STUDY
    made = read_toml(path, "a study", "delete it").get("made", {}) if path.is_file() else {}
    start = Path(str(made.get("directory", "")))
    for field in ("plugins", "vary", "check", "models", "templates", "metrics"):
        for name in (name for spec in getattr(study, field) for name in re.split(r"""[:=(),"']""", spec)):
            if len(name) < 200 and re.search(r"[./\\]", name) and not Path(name).exists() and (start / name).exists():
                fix = f"continue it from there, or copy {name} here (the run was started in {start})"
                raise BadInput(f"{name} is not here", where=str(folder), field=field, fix=fix)


def _read_folder(folder: Path) -> dict[str, Any]:
    """The study of a run folder; of one that an earlier version made, the manifest's."""
    if (folder / STUDY).is_file():
        return _read_toml(folder / STUDY)
    run = RunFolder(folder)
    if run.is_run() and "study" in run.manifest:
        return dict(run.manifest["study"])
    fix = "give a study file or the folder of a run; to run on data, use --data"
    raise BadInput("is a folder without a study", where=str(folder), fix=fix)


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput("no such file", where=str(path), fix="give a TOML file or a run folder, or use --data")
    read = read_toml(path, "a study", "a study is a TOML file; to run on data, use --data")
    read.pop("made", None)  # about the run that wrote it
    return {"name": path.stem, **read}


#: What the command line calls settings, or other tools do.
_ELSEWHERE = {
    "with": "vary", "generators": "vary", "checks": "check", "model": "models", "metric": "metrics",
    "field": "columns", "fields": "columns", "label": "labels", "gates": "require",
}  # fmt: skip
#: What Pydantic adds to the location of a value that may be of several types.
_KINDS = ("str", "dict[str,any]", "dict[str,str]", "literal[False]")


def _translated(error: ValidationError, where: str) -> BadInput:
    """The first error as one of ours. A misspelt name comes first: it is why another is missing."""
    first = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")[0]
    field = ".".join(str(part) for part in first["loc"] if part not in _KINDS)
    if first["type"] == "extra_forbidden":
        near = _ELSEWHERE.get(field, nearest(field, list(Study.model_fields)))
        fix = (f"did you mean {near}? " if near else "") + f"available: {', '.join(Study.model_fields)}"
        return BadInput("no such setting", where=where, field=field, fix=fix)
    if first["type"] in ("missing", "too_short"):
        flag = {"data": "--data", "models": "--model"}.get(field, field) if ON_COMMAND_LINE.get() else f"{field}=[...]"
        fix = f'write {field} = ["..."]' if where else f"give {flag}, or a study file"
        return BadInput(f"no {field} named", where=where, fix=fix)
    return BadInput(f"found {shorten(first['input'])}", where=where, field=field, fix=first["msg"])
