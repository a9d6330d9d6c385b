"""What ParaNLU's experiment trains, and how it selects problems (Srikanth et al. 2024, section 4.1).

A training set is divided into three parts that share no premise-hypothesis pair: one trains the classifier whose
embeddings AFLite takes, one is the pool that problems are drawn from, the rest trains the models. AFLite runs on all
but the embedder's part. Problems are drawn from the pool, as many easy as difficult ones, evenly over the deciles of
one model's confidence in the right label.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ..errors import BadInput
from ..problem import Task
from ..registry import load_plugins, trainers
from ..running.engines import make_engine
from ..selection import Chosen, aflite, deciles, partition, sample
from ..selection.rows import linked_clusters
from ..storage.files import digest
from ..storage.run_folder import is_whole, read_part
from ..training.making import refuse_unready, train_recipe
from ..training.recipe import Recipe, make_trainer, with_new_name
from .data import draw_rows, read_rows, write_rows
from .experiment import finish_cell, plugins_for, prepare_engine, read_cell, run_cells
from .paranlu_settings import EMBEDDER, POOL, REST, ParanluModel, ParanluSettings, ParaphrasedData, Selection

#: Rows that a dry run trains on, to estimate the rest from.
TRIED_ROWS = 200
#: The share of a part by which trainings are validated.
VALIDATED = 0.05


class TrainingParts(NamedTuple):
    """The parts of a training set, and how many of its rows share a pair with the test set, and are in none."""

    rows: Mapping[str, pl.DataFrame]
    in_test: int


def divided(
    data: ParaphrasedData, select: Selection, task: Task, test: pl.DataFrame | None, where: str, seed: int
) -> TrainingParts:
    """The parts of a training set; nothing that belongs together with a test item is in any of them."""
    assert data.train is not None
    rows = draw_rows(read_rows(data, data.train, task, f"{where}.train"), data.size, seed)
    found = rows
    if test is not None:
        both = pl.concat([rows, test.with_columns(pl.format("test\0{}", "id").alias("id"))], how="diagonal_relaxed")
        cluster = linked_clusters(both, task)
        found = rows.filter(~cluster.head(rows.height).is_in(cluster.tail(test.height).implode()))
    if not found.height:
        fix = "give a training set and a test set that differ"
        raise BadInput("all rows share a text with the test set", where=f"{where}.train", field="data", fix=fix)
    shares: dict[str, float | None] = {name: share for name, share in select.parts.items() if name != EMBEDDER}
    least = {name: number for name, number in select.at_least.items() if name in shares}
    if select.embedder:
        shares = {EMBEDDER: select.parts[EMBEDDER], **shares}
        least = select.at_least
    try:
        parts = partition(found, {**shares, REST: None}, at_least=least, seed=seed, task=task).table
    except BadInput as error:
        raise BadInput(error.message, where=where, field="select.parts", fix=error.fix) from None
    named = {name: parts.filter(part=name).drop("part") for name in (*shares, REST)}
    return TrainingParts(named, rows.height - found.height)


def refuse_parts(select: Selection) -> None:
    """Refuse shares of parts that are not known, or leave nothing to train on."""
    if strangers := [name for name in (*select.parts, *select.at_least) if name not in (EMBEDDER, POOL, REST)]:
        fix = f"available: {EMBEDDER} and {POOL}; the rest trains the models"
        raise BadInput(f"no part {strangers[0]!r}", field="select.parts", fix=fix)
    known = {name: share for name, share in select.parts.items() if name != EMBEDDER or select.embedder}
    if POOL not in known or (select.embedder and EMBEDDER not in known) or REST in known:
        fix = f"give shares of {EMBEDDER} and {POOL}: {{{EMBEDDER} = 0.1, {POOL} = 0.055}}"
        raise BadInput(f"found {', '.join(select.parts) or 'none'}", field="select.parts", fix=fix)
    if not all(0 < share < 1 for share in known.values()) or sum(known.values()) >= 1:
        fix = "give shares above 0 that leave something to train on"
        raise BadInput(f"found {select.parts}", field="select.parts", fix=fix)


# Trainings


@dataclass(frozen=True)
class ModelCell:
    """A training, as it travels to a worker: its folder and key, the recipe, the trainer and plug-ins."""

    folder: str
    key: str
    trainer: str
    recipe: Mapping[str, Any]
    plugins: tuple[str, ...] = ()

    @property
    def model(self) -> Path:
        """The trained folder."""
        return Path(self.folder) / "model"


def train_model(job: ModelCell) -> None:
    """Train a model, or go on with it."""
    load_plugins(job.plugins)
    started = time.perf_counter()
    done = train_recipe(Recipe(**job.recipe), make_trainer(job.trainer), job.model)
    about = {"rows": done.counts, "figures": done.figures, "seconds": round(time.perf_counter() - started, 3)}
    finish_cell(job, about)


def trainer_of(one: ParanluModel) -> str:
    """The trainer of a model, with the start of its stage."""
    spec = with_new_name(one.trainer)
    return trainers.respell(spec, start=one.start) if one.start else spec


def refuse_trainer(spec: str, where: str) -> None:
    """Refuse a trainer that does not exist, makes no model that answers, or lacks an extra, before any work."""
    try:
        bound = make_trainer(spec)
        if not bound.function.answers_as:
            raise BadInput(f"{bound.name} answers no problems", fix="choose another: otherwords list trainers")
        refuse_unready(bound)
    except BadInput as error:
        raise BadInput(error.message, where=error.where, field=error.field or where, fix=error.fix) from None


class Trainings:
    """All trainings of an experiment: of each model on each data set or on all, and of AFLite's embedders.

    `tasks` are those of the data sets, known when these have been read.
    """

    def __init__(self, settings: ParanluSettings, folder: Path, tasks: Mapping[str, Task]):
        self.settings, self.folder, self.tasks = settings, folder, tasks
        self.names = [name for name, one in settings.models.items() if one.trainer]
        self._stand_ins: dict[str, Path] = {}

    def of(self, model: str, dataset: str) -> ModelCell:
        """The training of a model that is asked about a data set."""
        one, sets = self.settings.models[model], self.settings.datasets
        used = [name for name in sets if self.tasks[name] == self.tasks[dataset]] if one.together else [dataset]
        place = f"{'together' if one.together else dataset}/models/{model}"
        return self._cell(place, used, REST, one)

    def embedder(self, dataset: str) -> ModelCell:
        """The training of the classifier whose embeddings AFLite takes."""
        return self._cell(
            f"{dataset}/embedder", [dataset], EMBEDDER, ParanluModel(trainer=self.settings.select.embedder)
        )

    def all(self) -> list[ModelCell]:
        """Every training once; what is trained on all data sets together is one."""
        sets = self.settings.datasets
        cells = [self.of(name, dataset) for name in self.names for dataset in sets]
        cells += [self.embedder(dataset) for dataset in sets if self.settings.select.embedder]
        return list({cell.folder: cell for cell in cells}.values())

    def _cell(self, place: str, used: Sequence[str], part: str, one: ParanluModel) -> ModelCell:
        settings, trainer = self.settings, trainer_of(one)
        how = {
            "valid": VALIDATED, "fields": one.fields, "share": one.share, "seed": one.seed,
            "data_seed": settings.seed, "task": asdict(self.tasks[used[0]]),
        }  # fmt: skip
        content = [settings.datasets[name].signature() for name in used]
        divided_so = settings.select.model_dump(include={"parts", "at_least", "embedder"})
        key = digest(content, divided_so, how, make_trainer(trainer).signature)[:16]
        data = [str(self.folder / "data" / f"{name}~{part}.parquet") for name in used]
        return ModelCell(
            str(self.folder / "cells" / place), key, trainer, {"data": data, **how}, tuple(settings.plugins)
        )

    def train(self, how: Mapping[str, Any]) -> None:
        """Do all trainings that are not done, on the engine."""
        if not (todo := [job for job in self.all() if read_cell(job) is None]):
            return
        given = {name: value for name, value in how.items() if name != "engine" and value is not None}
        with closing(make_engine(str(how.get("engine") or "in-process"), **given)) as engine:
            prepare_engine(engine, self.folder, [("trainers", job.trainer) for job in todo])
            plugins = plugins_for(engine, self.settings)
            run_cells(engine, train_model, [replace(job, plugins=plugins) for job in todo], "train")

    def spec(self, model: str, dataset: str) -> str:
        """A trained model under its name, or what stands in for it in a dry run."""
        job = self.of(model, dataset)
        return as_spec(model, self._stand_ins.get(job.folder, job.model))

    @contextmanager
    def tried(self) -> Iterator[float]:
        """Train what is not done on a few rows, to stand in for it within the block; give the seconds of all rows."""
        seconds = 0.0
        with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
            for number, job in enumerate(self.all()):
                if read_cell(job) is None:
                    self._stand_ins[job.folder], took = try_training(job, Path(place) / str(number))
                    seconds += took
            yield seconds
            self._stand_ins.clear()

    def table(self) -> list[list[Any]]:
        """Of each finished training: data set, model, trainer, rows to train and to validate on, and its accuracy."""
        rows: list[list[Any]] = []
        for job in self.all():
            about, names = read_cell(job) or {}, Path(job.folder).relative_to(self.folder / "cells").parts
            counts, figures = about.get("rows") or {}, about.get("figures") or {}
            numbers = (counts.get("train"), counts.get("valid"), figures.get("valid_accuracy"))
            rows.append([names[0], names[-1], job.trainer, *numbers])
        return rows


def try_training(job: ModelCell, place: Path) -> tuple[Path, float]:
    """Train on a few rows, in another place; give the folder, and the seconds that all rows would take."""
    rows = pl.concat([pl.read_parquet(path) for path in job.recipe["data"]], how="diagonal_relaxed")
    place.mkdir(parents=True)
    some = rows.sample(min(TRIED_ROWS, rows.height), seed=1, shuffle=True)
    some.write_parquet(place / "rows.parquet")
    started = time.perf_counter()
    recipe = {**job.recipe, "data": [str(place / "rows.parquet")], "share": 1.0}
    train_recipe(Recipe(**recipe), make_trainer(job.trainer), place / "model")
    seconds = time.perf_counter() - started
    return place / "model", seconds * rows.height * job.recipe["share"] / some.height


# Selection

#: A model's answers to the problems of a file.
Asked = Callable[[Path], pl.DataFrame]


def with_strata(place: Path, key: str, rows: Sequence[Path], model: str, settings: ParanluSettings, task: Task) -> Path:
    """The rows that may be selected, with what AFLite finds of them; the first file has those that are drawn from."""
    cell = ModelCell(str(place), key, "", {})
    path = place / "rows.parquet"
    if read_cell(cell) is None or not is_whole(path):
        select = settings.select
        pool = read_part(rows[0])
        found = pl.concat([read_part(one) for one in rows], how="diagonal_relaxed")
        how = select.filter.aflite(settings.seed)
        marked, done = aflite(found, model=model, encoder=select.encoder, settings=how, task=task)
        write_rows(path, marked.filter(pl.col("id").is_in(pool["id"].implode())))
        finish_cell(cell, {"rows": found.height, "leaving": list(done.leaving)})
    return path


def chosen_problems(data: Path, select: Selection, task: Task, seed: int, asked: Asked) -> Chosen:
    """The problems that are used, and how many there were and were drawn."""
    if select.how == "sample":
        size: dict[str, Any] = {"each": select.n, "by": select.by} if select.by else {"n": select.n}
        return sample(str(data), **size, seed=seed, task=task)
    by = "aflite" if select.filtered else select.by
    try:
        return deciles(str(data), asked(data), by=by, n=select.n, seed=seed, task=task)
    except BadInput as error:
        field = "select.n" if error.field in ("-n", "n") else "select.model"
        raise BadInput(error.message, where=error.where, field=field, fix=error.fix) from None


def as_spec(name: str, folder: Path) -> str:
    """A trained model under its name."""
    return f"{name}=trained(path={json.dumps(str(folder))})"
