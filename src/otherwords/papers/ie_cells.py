"""The data and the cells of an IE experiment (Salvatore et al. 2023, Algorithm 1): phi once, then a training a cell.

The driver prepares each data set once: its rows, and what phi makes of them. A cell reads these, draws its training and
validation rows, trains, and answers both versions of the test set.
"""

import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..datasets.source import Source
from ..errors import BadInput, caller_level
from ..frames import by_bucket, is_unmarked, join_pieces
from ..models.answering import answer_table, ask, load
from ..models.cache import Cache
from ..pipeline import varied
from ..problem import Task, get_task
from ..progress import Progress, current, reporting_to
from ..registry import generators, load_plugins, trainers
from ..significance.proportions import wilson
from ..storage.files import atomic, digest, seed_for, write_json
from ..training.data import TrainingData, TrainingRow, split_rows
from ..training.making import fit
from ..variants.generating import surveyed, texts_of
from ..variants.resampling import draws, first_rewordings, replace_rows
from .experiment import CELL, clear_cell, finish_cell

PARTS = ("train", "valid", "test")
#: Written when a data set is ready: its key, its task, and counts of its rows.
PREPARED = "prepared.json"
ANSWERS = "answers.parquet"
#: A run whose accuracy is not above that of the commonest label, at this confidence, is at chance.
_CHANCE = 0.99
_EMPTY = "found an empty text"


class DataPart(BaseModel):
    """Files or data sets that are read as one; `where` keeps rows with these values: {split = ["dev", "test"]}."""

    model_config = ConfigDict(extra="forbid")

    data: list[str] = Field(min_length=1)
    where: dict[str, list[str]] = {}

    @field_validator("data", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("where", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        several = {name: one if isinstance(one, list) else [one] for name, one in value.items()}
        return {name: [_as_text(one) for one in some] for name, some in several.items()}


def _as_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


class IEData(BaseModel):
    """A data set of the experiment: its three parts, how to read them, and how many rows of it are used.

    `valid` is a part, or a share of the training rows that is split off by premise. `train_size` rows are drawn once,
    before anything is replaced, and so are `test_size`; 0 means all. `generator` is phi, if not the experiment's.
    `verdicts` names tables of verdicts on pairs to be judged, by part, if not those in the folder.
    """

    model_config = ConfigDict(extra="forbid")

    train: DataPart
    test: DataPart
    valid: float | DataPart = 0.1
    train_size: int = Field(0, ge=0)
    test_size: int = Field(0, ge=0)
    generator: str = ""
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    verdicts: dict[str, str] = {}

    @field_validator("train", "test", "valid", mode="before")
    @classmethod
    def _parts(cls, value: Any) -> Any:
        return {"data": value} if isinstance(value, str | list) else value

    def source(self, part: DataPart, names: Sequence[str] = ()) -> Source:
        """What a part is read from."""
        return Source(list(names) or part.data, self.task, self.columns, self.labels, skip_bad=True, gold="all")

    def signature(self) -> str:
        """A digest of the content of its files, and of how they are read."""
        parts = [part for part in (self.train, self.valid, self.test) if isinstance(part, DataPart)]
        return digest([[self.source(part).signature, part.where] for part in parts])[:16]

    def texts_task(self) -> Task:
        """The task of its problems."""
        return self.source(self.train).chosen


# Preparing: the rows of each part, and phi of them


class Prepared(NamedTuple):
    """What is known of a data set that is ready: its key, its task, how many rows each part has and phi changes."""

    key: str
    task: Task
    rows: dict[str, int]
    changed: dict[str, int]
    generator: str


def prepare_data(name: str, data: IEData, generator: str, seed: int, folder: Path, warn: bool = True) -> Prepared:
    """Read and draw the rows of a data set, apply phi to all of them, and write both; what is there is kept.

    The generator surveys the texts of the whole data set, drawn or not, if it has to see them.
    """
    key = digest(data.signature(), data.model_dump(exclude={"verdicts"}), _signature(generator), seed)[:16]
    if (ready := read_prepared(folder)) and ready.key == key:
        return ready
    task = data.texts_task()
    whole = _whole_parts(name, data, task, seed)
    sizes = {part: getattr(data, f"{part}_size", 0) for part in whole}
    if warn:
        _warn_fewer(name, whole, sizes)
    drawn = {part: _draw(rows, sizes[part], seed) for part, rows in whole.items()}
    spec = surveyed(generator, lambda: _all_texts(whole.values(), task), folder / "tables", key)
    current().start(f"phi {name}", sum(rows.height for rows in drawn.values()))
    counts = {part: _write_part(folder, part, rows, spec, task, seed) for part, rows in drawn.items()}
    current().done()
    about = {
        "key": key, "task": asdict(task), "rows": {part: rows.height for part, rows in drawn.items()},
        "changed": counts, "generator": _signature(spec),
        "before_drawing": {part: rows.height for part, rows in whole.items()},
    }  # fmt: skip
    write_json(folder / PREPARED, about)
    return read_prepared(folder)  # type: ignore[return-value]


def read_prepared(folder: Path) -> Prepared | None:
    """What is known of a data set, if it is ready."""
    path = folder / PREPARED
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return Prepared(found["key"], get_task(found["task"]), found["rows"], found["changed"], found["generator"])


def _signature(generator: str) -> str:
    return generators.make(generator).signature


def _write_part(folder: Path, part: str, rows: pl.DataFrame, spec: str, task: Task, seed: int) -> int:
    """Write the rows of a part and what phi makes of them; give the number of rows that it changes."""
    variants = first_rewordings(rows, varied(rows, [spec], task, seed)[0], task)
    for name, frame in ((f"{part}.variants.parquet", variants), (f"{part}.parquet", rows)):
        with atomic(folder / name) as draft:
            frame.write_parquet(draft)
    return variants.height


def _whole_parts(name: str, data: IEData, task: Task, seed: int) -> dict[str, pl.DataFrame]:
    train, test = _read(data, data.train, task, f"{name}: train"), _read(data, data.test, task, f"{name}: test")
    if isinstance(data.valid, DataPart):
        valid = _read(data, data.valid, task, f"{name}: valid")
    elif data.valid == 0:
        valid = train.clear()
    else:
        keys = ["\n".join(text or "" for text in row) for row in train.select(task.cluster).iter_rows()]
        first, second = split_rows(range(train.height), keys, data.valid, seed)
        train, valid = train[first], train[second]
    shared = train.join(test.select(task.fields).unique(), on=task.fields, how="semi", nulls_equal=True).height
    if shared:
        message = f"{name}: {shared:,} of {train.height:,} rows to train on have the texts of a row of the test set"
        warnings.warn(message, stacklevel=caller_level())
    return {"train": train, "valid": valid, "test": test}


def _read(data: IEData, part: DataPart, task: Task, where: str) -> pl.DataFrame:
    """The problems of a part, with labels; rows without a majority or with an empty text are left out."""
    frames = [_read_one(data, part, name, task) for name in part.data]
    if len(frames) > 1 and pl.concat([one["id"] for one in frames]).is_duplicated().any():
        frames = [one.with_columns(pl.format("{}:{}", pl.lit(k), "id").alias("id")) for k, one in enumerate(frames, 1)]
    rows = pl.concat(frames, how="diagonal_relaxed")
    for column, values in part.where.items():
        if column not in rows.columns:
            fix = f"there are {', '.join(rows.columns)}"
            raise BadInput("no such column", where=where, field=f"where.{column}", fix=fix)
        rows = rows.filter(pl.col(column).cast(pl.String).is_in(values))
    if not rows.height:
        raise BadInput("no rows left", where=where, field="where" if part.where else "data", fix="give other data")
    return rows


def _read_one(data: IEData, part: DataPart, name: str, task: Task) -> pl.DataFrame:
    source = data.source(part, [name])
    rows = join_pieces(list(source.pieces()), task)
    if bad := next((one["reason"] for one in source.intake.rejected if _EMPTY not in one["reason"]), ""):
        raise BadInput(bad)
    return rows.filter(pl.col("of").is_null(), is_unmarked(rows.columns, "contrast", "control"))


def _draw(rows: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """So many rows, in their order, if there are more; which ones hangs on the seed and their ids."""
    if not size or size >= rows.height:
        return rows
    order = pl.Series(draws(rows["id"], seed_for(seed, "size"))).arg_sort()
    return rows[order[:size].sort()]


def _warn_fewer(name: str, whole: Mapping[str, pl.DataFrame], sizes: Mapping[str, int]) -> None:
    for part, size in sizes.items():
        if size > (there := whole[part].height):
            message = f"{name}: {part} has {there:,} rows, not {size:,}: all are used"
            warnings.warn(message, stacklevel=caller_level())


def _all_texts(frames: Any, task: Task) -> Iterator[str]:
    whole = list(frames)
    current().start("survey", sum(rows.height for rows in whole))
    for rows in whole:
        yield from texts_of(rows, task)
        current().advance(rows.height)
    current().done()


# A cell


@dataclass(frozen=True)
class TrainingCell:
    """One training of Algorithm 1: run number `run` of a model on a data set whose rows are replaced at `rho`.

    `data` is the folder of the prepared data set, `key` what decides the content of the cell. With `votes`, so many
    classifiers are trained on one sample. With a `budget`, options are searched for inside the sample.
    """

    folder: str
    key: str
    data: str
    dataset: str
    model: str
    trainer: str
    rho: float
    run: int
    seed: int
    votes: int = 1
    budget: int = 0
    space: str = ""
    plugins: tuple[str, ...] = ()

    def seed_of(self, what: str) -> int:
        """The seed of a draw: neither the data set's name nor the model's has a part in it."""
        return seed_for(self.seed, f"{self.rho:.6g}", self.run, what) % 2**31


def train_cell(job: TrainingCell) -> None:
    """Draw a sample, train on it, answer both versions of the test set, and say what was done."""
    load_plugins(job.plugins)
    started, place = time.perf_counter(), clear_cell(job)
    with reporting_to(Progress()):
        data, counts = sample(job)
        trainer = job.trainer
        if job.budget:
            trainer = _search(job, data, place / "search")
        bound = trainers.make(trainer)
        accuracy, states, seconds = [], [], 0.0
        for vote in range(1, job.votes + 1):
            folder = place if vote == 1 else place / f"vote-{vote}"
            begun = time.perf_counter()
            figures = fit(bound, data, folder, job.seed_of(f"train {vote}"))
            seconds += time.perf_counter() - begun
            accuracy.append(figures.get("valid_accuracy"))
            states.append(collapsed(answer_suite(job, folder)))
    finish_cell(
        job,
        {
            "dataset": job.dataset, "model": job.model, "rho": job.rho, "run": job.run, "votes": job.votes,
            "trainer": bound.signature, "spec": trainer, "seed": job.seed_of("train 1"), **counts,
            "valid_accuracy": accuracy[0], "collapsed": next(filter(None, states), ""),
            "fit_seconds": round(seconds, 3), "seconds": round(time.perf_counter() - started, 3),
        },
    )  # fmt: skip


def sample(job: TrainingCell) -> tuple[TrainingData, dict[str, int]]:
    """The rows of a cell: those of the training and the validation set, each replaced with probability rho."""
    task, counts = _task(job.data), dict[str, int]()
    rows: dict[str, list[TrainingRow]] = {}
    for part in ("train", "valid"):
        frame, done = replace_rows(*_part(job.data, part), job.rho, job.seed_of(part), task)
        rows[part] = [TrainingRow(tuple(text or "" for text in texts), label) for *texts, label in _texts(frame, task)]
        counts |= {f"{part}_rows": done.rows, f"{part}_changed": done.changed}
    originals, variants = _part(job.data, "test")
    counts |= {"test_rows": originals.height, "test_changed": variants.height}
    return TrainingData(task, task.fields, rows["train"], rows["valid"]), counts


def _texts(frame: pl.DataFrame, task: Task) -> Iterator[tuple[Any, ...]]:
    return frame.select(*task.fields, "label").iter_rows()


def search_cell(job: TrainingCell) -> None:
    """Search once for all samples of a data set, on its rows before any is replaced, and say what was chosen."""
    load_plugins(job.plugins)
    started, place = time.perf_counter(), clear_cell(job)
    with reporting_to(Progress()):
        chosen = _search(job, sample(replace(job, rho=0.0))[0], place)
    seconds = round(time.perf_counter() - started, 3)
    finish_cell(job, {"dataset": job.dataset, "model": job.model, "spec": chosen, "seconds": seconds})


def searched_spec(folder: Path) -> str:
    """The trainer with the options that a finished search chose."""
    path = folder / CELL
    return str(json.loads(path.read_text(encoding="utf-8"))["spec"]) if path.is_file() else ""


def _search(job: TrainingCell, data: TrainingData, folder: Path) -> str:
    """Search for the options of a trainer on some rows; give its spec with the best."""
    from ..training.search import search

    best = search(trainers.make(job.trainer), job.space, data, folder, job.budget, job.seed_of("search"))
    return trainers.respell(job.trainer, **best)


def answer_suite(job: TrainingCell, folder: Path) -> pl.DataFrame:
    """Ask the model in a folder the originals of the test set and what phi changed, and write its answers there."""
    task, suite = _task(job.data), _suite(job.data)
    model = load(f"{job.model}=trained(path={json.dumps(str(folder))})", task)
    with Cache(None) as cache:
        answers = ask({name: suite[name] for name in task.fields}, model, cache)
    table = answer_table(suite, model, answers)
    with atomic(folder / ANSWERS) as draft:
        table.write_parquet(draft)
    return table


def matched_rows(job: TrainingCell) -> pl.LazyFrame:
    """The matched sample of a finished cell: a row per test item and vote, with the answers before and after phi.

    An item that phi leaves alone has the same answer twice.
    """
    place, votes = Path(job.folder), range(1, job.votes + 1)
    folders = {vote: place if vote == 1 else place / f"vote-{vote}" for vote in votes}
    return pl.concat([_matched(job, folder, vote) for vote, folder in folders.items()])


def _matched(job: TrainingCell, folder: Path, vote: int) -> pl.LazyFrame:
    answers = pl.scan_parquet(folder / ANSWERS, glob=False)
    after = answers.filter(pl.col("variant").is_not_null()).select("bucket", pl.col("pred").alias("after"))
    before = answers.filter(pl.col("variant").is_null()).select("bucket", "gold", pl.col("pred").alias("before"))
    joined = before.join(after, on="bucket", how="left", maintain_order="left")
    return joined.select(
        pl.lit(job.dataset).alias("dataset"),
        pl.lit(job.model).alias("model"),
        pl.lit(job.rho, pl.Float64).alias("rho"),
        pl.lit(job.run, pl.Int64).alias("run"),
        pl.lit(vote, pl.Int64).alias("vote"),
        pl.col("bucket").alias("id"),
        "gold",
        "before",
        pl.coalesce("after", "before").alias("after"),
        pl.col("after").is_not_null().alias("changed"),
    )


def collapsed(answers: pl.DataFrame) -> str:
    """Whether a run has learnt nothing: it has one answer to everything, or is right no more often than such a one."""
    originals = answers.filter(pl.col("variant").is_null())
    if originals["pred"].n_unique() == 1:
        return "one answer"
    commonest = max(originals["gold"].value_counts()["count"]) / originals.height
    right = int((originals["gold"] == originals["pred"]).sum())
    low, _ = wilson(right, originals.height, confidence=_CHANCE)
    return "at chance" if low <= commonest else ""


# What cells of one data set share in a process


@lru_cache(maxsize=6)
def _part(data: str, part: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a part, and what phi makes of those that it changes."""
    folder = Path(data)
    return tuple(pl.read_parquet(folder / f"{part}{end}.parquet", glob=False) for end in ("", ".variants"))  # type: ignore[return-value]


@lru_cache(maxsize=2)
def _suite(data: str) -> pl.DataFrame:
    """The test set, each original before its variant."""
    main = ["id", "of", "how", *_task(data).fields, "label", "cluster"]
    return by_bucket(pl.concat([frame.select(main) for frame in _part(data, "test")], how="vertical_relaxed"))


@lru_cache(maxsize=4)
def _task(data: str) -> Task:
    ready = read_prepared(Path(data))
    if ready is None:
        raise BadInput("is not prepared", where=data, fix="run the experiment again")
    return ready.task


def forget() -> None:
    """Clear what is kept in memory: an earlier experiment of this process may have had the same folder."""
    for cached in (_part, _suite, _task):
        cached.cache_clear()
