"""A paper's protocol on models and data of one's own: runs and trainings as cells, then its tables and figures.

A protocol defines its cells and what is made of them; this module has what all protocols share: settings, data that are
read and drawn once, cells that are never repeated, the estimate of a dry run, and the results that are written at the
end. A run is a cell that can continue by itself: if models are added, only they are asked.
"""

import json
import re
import tempfile
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..datasets.intake import IN_FILE
from ..datasets.source import Source
from ..errors import BadInput
from ..language_models.budget import current, make_budget, spending
from ..models.answering import load
from ..problem import Task, label_key
from ..registry import load_plugins
from ..running.engines import USUAL, make_engine
from ..running.files import answer_files
from ..running.runner import run
from ..storage.files import digest
from ..storage.run_folder import RunFolder, is_whole, read_part
from ..storage.specs import split_name
from .data import PaperData, write_rows
from .dry_run import PaperEstimate, canary_requests, estimate_answers, estimate_run
from .experiment import (
    CELL,
    EXPERIMENT,
    ExperimentSettings,
    begin_cell,
    finish_cell,
    in_file,
    in_setting,
    opened,
    read_cell,
    read_settings,
    refuse_other,
    write_settings,
)
from .paper_page import PaperResults, write_results

#: The papers that have a protocol of this kind: the module and the class of each.
PROTOCOLS: dict[str, tuple[str, str]] = {
    "merge": ("merge_experiment", "Merge"),
    "paranlu": ("paranlu_experiment", "Paranlu"),
    "parte": ("parte_experiment", "Parte"),
    "sensitivity": ("sensitivity_experiment", "Sensitivity"),
}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class PaperModel(BaseModel):
    """A model of the experiment, and what tables group it by.

    `label_map` translates its labels to the task's. `family` is its architecture and `size` its number of parameters
    in millions; `distilled_from` names the model of the experiment that it was distilled from. `partial` marks one
    that sees only a part of the input.
    """

    model_config = ConfigDict(extra="forbid")

    model: str
    label_map: dict[str, str] = {}
    family: str = ""
    size: float = Field(default=0, ge=0)
    distilled_from: str = ""
    partial: bool = False


class PaperSettings(ExperimentSettings):
    """What a paper's experiment on data sets and models has: see the template that `--init` writes."""

    datasets: dict[str, PaperData] = Field(min_length=1)
    models: dict[str, PaperModel] = Field(min_length=1)
    cache: str | Literal[False] | None = ""
    canary: bool = True

    @field_validator("cache", mode="after")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value is False else value  # TOML has no null

    @field_validator("models", mode="before")
    @classmethod
    def _specs(cls, value: Any) -> Any:
        """A name alone is a model."""
        named = value.items() if isinstance(value, Mapping) else ()
        return {name: {"model": one} if isinstance(one, str) else one for name, one in named} or value

    @field_validator("datasets", mode="before")
    @classmethod
    def _data(cls, value: Any) -> Any:
        """A file alone is a data set, and so are several."""
        named = value.items() if isinstance(value, Mapping) else ()
        return {name: {"data": one} if isinstance(one, str | list) else one for name, one in named} or value

    @field_validator("datasets", "models", mode="after")
    @classmethod
    def _file_names(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if not _NAME.fullmatch(name) or len(name) > 80:
                raise BadInput(
                    f"found {name!r}", field="the name of a table", fix="use letters, digits, and - _ . between them"
                )
        return value


Settings = TypeVar("Settings", bound=PaperSettings)


@dataclass(frozen=True)
class RunCell:
    """A run of the experiment: its folder, what decides its content, and its study."""

    folder: str
    key: str
    study: dict[str, Any]


@dataclass(frozen=True)
class PaperOutcome:
    """The folder of an experiment, and its results, or of a dry run the estimate."""

    folder: Path
    estimate: PaperEstimate | None = None
    results: PaperResults | None = None


class Protocol(ABC, Generic[Settings]):
    """A paper's experiment on its way. A subclass is one paper: its settings, its cells, its results."""

    #: What the command and the file of settings are called.
    name: ClassVar[str]
    #: The paper, and how it is cited.
    title: ClassVar[str]
    bibtex: ClassVar[str]
    #: What the paper does, in a paragraph for one's own methods section.
    methods: ClassVar[str]
    #: All tables and figures of the paper: each is among the results, or named as missing.
    exhibits: ClassVar[tuple[str, ...]]
    #: The settings, and those that `--quick` sets instead.
    kind: ClassVar[type[PaperSettings]]
    quick_settings: ClassVar[Mapping[str, Any]] = {}
    quick_size: ClassVar[int] = 200
    #: Settings that decide what is made of cells, not what they hold.
    may_change: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Settings, folder: Path, engine: Mapping[str, Any]):
        self.settings, self.folder, self.engine = settings, folder.absolute(), dict(engine)
        self.tasks: dict[str, Task] = {}
        self.rows: dict[str, int] = {}

    @classmethod
    def template(cls) -> str:
        """The commented settings that `--init` writes; they work as they are, on bundled data."""
        return (files(__package__) / f"{cls.name}.toml").read_text(encoding="utf-8")

    @classmethod
    def shrink(cls, settings: Any) -> None:
        """Make an experiment small: `--quick`."""
        for data in settings.datasets.values():
            cls.shrink_data(data)

    @classmethod
    def shrink_data(cls, data: PaperData) -> None:
        """Draw few problems of a data set."""
        data.size = min(data.size or cls.quick_size, cls.quick_size)

    # What a paper says itself

    def refuse(self) -> None:
        """Refuse settings that cannot work, before any work; data are not read yet."""

    def data_sets(self) -> Mapping[str, PaperData]:
        """All data that are read and drawn. Those that no model is asked are called after their table: `table~name`."""
        return self.settings.datasets

    def named_files(self) -> Mapping[str, str]:
        """Digests of other files that decide what cells hold, by what they are."""
        return {}

    def refuse_problems(self, where: str, problems: pl.DataFrame) -> None:
        """Refuse problems that cannot be used, such as those without a column that a step needs."""

    @abstractmethod
    def planned(self) -> Iterable[RunCell]:
        """The runs that can be known before any is done: what a dry run tries."""

    def asked(self) -> Iterable[RunCell]:
        """What models are asked besides, problems as they are: what a dry run tries, too."""
        return ()

    def trainings(self) -> int:
        """How many models are trained."""
        return 0

    @abstractmethod
    def results(self) -> PaperResults:
        """Do all cells, and make the tables and figures of the paper."""

    # What all share

    def prepare(self) -> None:
        """Load the models' names, read and draw all data, and take the folder; what is there is kept."""
        settings, content = self.settings, dict[str, str]()
        for name, data in self.data_sets().items():
            content[f"the data of {name}"] = self.signed(_setting_of(name), data)
        self._refuse_unknown_teachers()
        self.refuse()
        content |= self.named_files()
        refuse_other(self.folder, settings, content, (*self.may_change, "cache", "canary"), ("datasets", "models"))
        for name, data in self.data_sets().items():
            where = _setting_of(name)
            with in_setting(f"{where}.data"):
                problems, self.tasks[name] = self.read(name, data, where)
            self.refuse_problems(where, problems)
            self.rows[name] = problems.height
            write_rows(self.problems(name), problems)
        for name in settings.models:
            self.refuse_unfit_model(name)
        write_settings(self.folder, settings, content)

    def signed(self, where: str, data: PaperData) -> str:
        """A digest of a data set; a file that cannot be read is told by the setting that names it."""
        with in_setting(f"{where}.data"):
            return data.signature()

    def _refuse_unknown_teachers(self) -> None:
        models = self.settings.models
        for name, one in models.items():
            if one.distilled_from and (one.distilled_from not in models or one.distilled_from == name):
                others = ", ".join(other for other in models if other != name)
                fix = f"name another model: {others}" if others else "add the model that it was distilled from"
                field = f"models.{name}.distilled_from"
                raise BadInput(f"no other model {one.distilled_from!r}", field=field, fix=fix)

    def read(self, name: str, data: PaperData, where: str) -> tuple[pl.DataFrame, Task]:
        """The problems of a data set, drawn, and their task."""
        return data.problems(where, self.settings.seed)

    def refuse_unfit_model(self, name: str) -> None:
        """Refuse a model that cannot be loaded, or not for the task of a data set, before any work."""
        one = self.settings.models[name]
        for dataset in self.settings.datasets:
            task = self.tasks[dataset]
            known = [label_key(label) for label in task.labels]
            if strange := [meant for meant in one.label_map.values() if label_key(meant) not in known]:
                fix = f"the labels of {dataset} are {', '.join(task.labels)}"
                raise BadInput(f"{strange[0]!r} is not a label", field=f"models.{name}.label_map", fix=fix)
            with in_setting(f"models.{name}"):
                load(self.spec(name, dataset), task, one.label_map)

    def problems(self, dataset: str) -> Path:
        """Where the problems of a data set are, drawn."""
        return self.folder / "data" / f"{dataset}.parquet"

    def spec(self, model: str, dataset: str) -> str:
        """A model under its name in the experiment, as it is asked about a data set."""
        return f"{model}={split_name(self.settings.models[model].model)[1]}"

    def cell(
        self, place: str, datasets: Sequence[str], models: Sequence[str] | None = None, **settings: Any
    ) -> RunCell:
        """A run in the folder `cells/PLACE`, of some data sets and models (None: all); the settings are of a study."""
        chosen = list(self.settings.models if models is None else models)
        maps = {name: one for name in chosen if (one := self.settings.models[name].label_map)}
        study = {
            "name": place.replace("/", "-"), "data": [str(self.problems(one)) for one in datasets],
            "models": [self.spec(one, datasets[0]) for one in chosen], "label_map": maps, "seed": self.settings.seed,
            "task": asdict(self.tasks[datasets[0]]),
            "cache": self.settings.cache, "canary": self.settings.canary, "plugins": self.settings.plugins, **settings,
        }  # fmt: skip
        data = [self.data_sets()[one].signature() for one in datasets]
        here = json.dumps(str(self.folder))[1:-1]  # a folder that was moved holds the same cells
        return RunCell(
            str(self.folder / "cells" / place),
            digest(data, json.dumps(study, default=str).replace(here, ""))[:16],
            study,
        )

    def run(self, cell: RunCell) -> Path:
        """The folder of a cell's run; one that is done is not repeated."""
        place = Path(cell.folder)
        if read_cell(cell) is None:
            started = time.perf_counter()
            (place / CELL).unlink(missing_ok=True)
            before, folder = _spent_in(place / "run"), place / "run"
            try:
                run({**cell.study, **self.engine, **current().left}, out=folder)
            finally:
                current().count(_spent_in(folder), before)
            finish_cell(cell, {"seconds": round(time.perf_counter() - started, 3)})
        return place / "run"

    def plain(self, place: str, dataset: str, model: str, data: Path | None = None, **study: Any) -> RunCell:
        """The cell of a model's answers to problems without rewordings, in `cells/PLACE`."""
        return self.cell(place, [dataset], [model], data=[str(data or self.problems(dataset))], **study)

    def answers(self, cell: RunCell) -> pl.DataFrame:
        """A model's answers to problems without rewordings: a cell that is done once."""
        [asked], path = cell.study["data"], Path(cell.folder) / "answers.parquet"
        if read_cell(cell) is None or not is_whole(path):
            begin_cell(cell)
            how = {name: cell.study[name] for name in ("label_map", "cache", "canary", "plugins")}
            by_whom = {name: self.engine[name] for name in ("workers", "gpus", "gpu_share") if name in self.engine}
            engine = make_engine(self.engine.get("engine") or USUAL, **by_whom)
            source = Source([asked], cell.study["task"], options=IN_FILE)
            done = answer_files(source, str(path), cell.study["models"], engine=engine, **how, **current().left)
            current().count(done.spent.get("now", {}))
            finish_cell(cell, {"rows": done.rows})
        return read_part(path)

    def about(self) -> dict[str, Any]:
        """What the page says of the experiment, beside its results."""
        settings, command = self.settings, f"otherwords paper {self.name} experiment.toml -o FOLDER"
        return {
            "title": self.title, "methods": self.methods, "bibtex": self.bibtex, "exhibits": self.exhibits,
            "seed": settings.seed, "datasets": self.rows, "command": command,
            "models": {name: getattr(one, "trainer", "") or one.model for name, one in settings.models.items()},
        }  # fmt: skip

    # A dry run

    def estimated(self) -> PaperEstimate:
        """What all planned runs would take, from a try of each on a few problems; nothing is sent to a server."""
        total = PaperEstimate(problems=sum(self.rows.values()), trainings=self.trainings())
        with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
            studies = []
            for name, cells, how in (("run", self.planned(), estimate_run), ("asked", self.asked(), estimate_answers)):
                for number, cell in enumerate(cells):
                    if read_cell(cell) is None:
                        total += how(cell.study, Path(place) / f"{name}-{number}", self.settings.seed)
                        studies.append(cell.study)
        return total + PaperEstimate(requests=canary_requests(studies))


def _setting_of(dataset: str) -> str:
    """The table of settings that a data set stands in."""
    return dataset.replace("~", ".") if "~" in dataset else f"datasets.{dataset}"


def _spent_in(run: Path) -> dict[str, Any]:
    """What all calls spent on a run."""
    spent: dict[str, Any] = RunFolder(run).manifest.get("spent", {}).get("in_all", {})
    return spent


def find_protocol(name: str) -> type[Protocol[Any]]:
    """The protocol of a paper; its module is imported when it is asked for."""
    module, kind = PROTOCOLS[name]
    found: type[Protocol[Any]] = getattr(import_module(f".{module}", __package__), kind)
    return found


def run_paper(
    protocol: type[Protocol[Any]],
    source: str | Path | Mapping[str, Any] | None = None,
    *,
    out: str | Path,
    quick: bool = False,
    dry_run: bool = False,
    engine: Mapping[str, Any] | None = None,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
    **overrides: Any,
) -> PaperOutcome:
    """Run a paper's protocol into a folder. Finished cells are never repeated; another experiment there is refused.

    `source` is a TOML file, a mapping, or None: the experiment that the folder holds, else the bundled one. With
    `quick`, few problems and draws. With `dry_run`, a few problems of each run, and an estimate of all; nothing is sent
    to a server. `engine` has the settings of a study that say by whom work is done: engine, workers, gpus. All that is
    asked of servers in one call ends at `max_requests` and `max_cost`, by the table `prices`.
    """
    folder = Path(out)
    settings = _read(protocol, source, folder, quick, overrides)
    with in_file(source), in_setting("plugins"):
        load_plugins(settings.plugins)
    experiment = protocol(settings, folder, engine or {})
    with spending(make_budget(max_requests, max_cost, prices, dry_run=dry_run)), opened(folder):
        with in_file(source):
            experiment.prepare()
        if dry_run:
            return PaperOutcome(folder, estimate=experiment.estimated())
        with in_file(source):
            results = experiment.results()
        lacking = [
            one for one in protocol.exhibits if not {one} & {*results.tables, *results.figures, *results.missing}
        ]
        assert not lacking, f"neither there nor missing: {lacking}"
        write_results(experiment.folder, results, experiment.about())
        return PaperOutcome(folder, results=results)


def _read(
    protocol: type[Protocol[Any]],
    source: str | Path | Mapping[str, Any] | None,
    folder: Path,
    quick: bool,
    overrides: Mapping[str, Any],
) -> PaperSettings:
    if source is None:
        source = folder if (folder / EXPERIMENT).is_file() else tomllib.loads(protocol.template())
    settings = read_settings(protocol.kind, source, **{**(protocol.quick_settings if quick else {}), **overrides})
    if quick:
        protocol.shrink(settings)
    return settings
