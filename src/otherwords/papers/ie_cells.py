"""The cells of an IE experiment (Salvatore et al. 2023, Algorithm 1), and what is made of all of them.

A cell reads a prepared data set, draws its training and validation rows, trains, and answers both versions of the test
set. Its job is names, paths and numbers, so that any engine can do it.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput
from ..frames import by_bucket, main_columns
from ..models.answering import answer_table, ask, load
from ..models.cache import Cache
from ..problem import Task
from ..profiling.profile import Profile, profile
from ..progress import Progress, reporting_to
from ..registry import load_plugins, trainers
from ..report.figures import Axis, Figure, Mark, Panel, Series
from ..significance.ie_test import decide, ie_test, matched
from ..storage.files import atomic, read_json, seed_for
from ..storage.run_folder import is_whole, read_part
from ..training.data import TrainingData, TrainingRow
from ..training.making import fit
from ..training.search import Mapper, forget_models, search
from ..variants.resampling import replace_rows
from .experiment import CELL, begin_cell, finish_cell
from .ie_data import changed_pairs, read_prepared
from .ie_samples import majority, with_correctness

ANSWERS = "answers.parquet"
#: The paper's interval, for want of a better one, and the width from which an interval says nothing.
_USUAL, _NEARLY_ALL = (0.4, 0.6), 0.8
#: Columns of `cells`, in order.
_CELL = {
    "dataset": pl.String, "model": pl.String, "rho": pl.Float64, "run": pl.Int64, "trainer": pl.String,
    "train_rows": pl.Int64, "train_changed": pl.Int64, "valid_rows": pl.Int64, "valid_changed": pl.Int64,
    "test_rows": pl.Int64, "test_changed": pl.Int64, "valid_accuracy": pl.Float64,
    "seconds": pl.Float64, "seed": pl.Int64,
}  # fmt: skip


def rho_name(rho: float) -> str:
    """A value of rho as folders are called.

    >>> rho_name(0.4), rho_name(1), rho_name(0.125)
    ('0.40', '1.00', '0.125')
    """
    return f"{rho:.2f}" if math.isclose(rho, round(rho, 2), abs_tol=1e-12) else repr(float(rho))


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
    started, place = time.perf_counter(), begin_cell(job)
    with reporting_to(Progress()):
        data, counts = sample(job)
        trainer = job.trainer
        if job.budget:
            trainer = search_options(job, data, place / "search")
        bound = trainers.make(trainer)
        accuracy, seconds = [], 0.0
        for vote in range(1, job.votes + 1):
            folder = _vote_folder(job, vote)
            begun = time.perf_counter()
            figures = fit(bound, data, folder, job.seed_of(f"train {vote}"))
            seconds += time.perf_counter() - begun
            accuracy.append(figures.get("valid_accuracy"))
            answer_suite(job, folder)
    finish_cell(
        job,
        {
            "dataset": job.dataset, "model": job.model, "rho": job.rho, "run": job.run, "votes": job.votes,
            "trainer": bound.signature, "spec": trainer, "seed": job.seed_of("train 1"), **counts,
            "valid_accuracy": accuracy[0],
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


def search_options(job: TrainingCell, data: TrainingData, folder: Path, mapper: Mapper = map) -> str:
    """Search for the options of a trainer on some rows; give its spec with the best.

    The table of the trials stays, and what was learnt in each of them goes.
    """
    best = search(trainers.make(job.trainer), job.space, data, folder, job.budget, job.seed_of("search"), mapper)
    forget_models(folder)
    return trainers.respell(job.trainer, **best)


def searched_spec(folder: Path) -> str:
    """The trainer with the options that a finished search chose."""
    return str(read_json(folder / CELL).get("spec", ""))


def answer_suite(job: TrainingCell, folder: Path) -> None:
    """Ask the model in a folder the originals of the test set and what phi changed, and write its answers there."""
    task, suite = _task(job.data), _suite(job.data)
    model = load(f"{job.model}=trained(path={json.dumps(str(folder))})", task)
    with Cache(None) as cache:
        answers = ask({name: suite[name] for name in task.fields}, model, cache)
    with atomic(folder / ANSWERS) as draft:
        answer_table(suite, model, answers).write_parquet(draft)


def matched_rows(job: TrainingCell) -> pl.LazyFrame:
    """The matched sample of a finished cell: a row per test item, with the answers before and after phi.

    An item that phi leaves alone has the same answer twice. With several votes, there is a row for each.
    """
    votes = [_matched(job, vote) for vote in range(1, job.votes + 1)]
    return pl.concat(votes) if len(votes) > 1 else votes[0].drop("vote")


def _vote_folder(job: TrainingCell, vote: int) -> Path:
    return Path(job.folder) if vote == 1 else Path(job.folder) / f"vote-{vote}"


def _matched(job: TrainingCell, vote: int) -> pl.LazyFrame:
    path = _vote_folder(job, vote) / ANSWERS
    if not is_whole(path):
        raise BadInput("is missing or damaged", where=str(path), fix=f"delete {job.folder}, and run again")
    answers = pl.scan_parquet(path, glob=False)
    after = answers.filter(pl.col("variant").is_not_null()).select("bucket", pl.col("pred").alias("after"))
    before = answers.filter(pl.col("variant").is_null()).select(
        "bucket", "gold", "cluster", pl.col("pred").alias("before")
    )
    joined = before.join(after, on="bucket", how="left", maintain_order="left")
    return joined.select(
        pl.lit(job.dataset).alias("dataset"),
        pl.lit(job.model).alias("model"),
        pl.lit(job.rho, pl.Float64).alias("rho"),
        pl.lit(job.run, pl.Int64).alias("run"),
        pl.lit(vote, pl.Int64).alias("vote"),
        pl.col("bucket").alias("id"),
        "cluster",
        "gold",
        "before",
        pl.coalesce("after", "before").alias("after"),
        pl.col("after").is_not_null().alias("changed"),
    )


# What cells of one data set share in a process


@lru_cache(maxsize=6)
def _part(data: str, part: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a part, and what phi makes of those that it changes."""
    folder = Path(data)
    return read_part(folder / f"{part}.parquet"), read_part(folder / f"{part}.variants.parquet")


@lru_cache(maxsize=2)
def _suite(data: str) -> pl.DataFrame:
    """The test set, each original before its variant."""
    main = main_columns(_task(data))
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


# All cells


def cells_table(found: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """What all cells say of themselves, a row each."""
    rows = [{name: one.get(name) for name in _CELL} for one in found]
    return pl.DataFrame(rows, schema=_CELL, orient="row")


def matched_table(cells: Sequence[TrainingCell]) -> pl.LazyFrame:
    """The matched samples of all cells, read when they are collected."""
    return pl.concat([matched_rows(cell) for cell in cells])


def both_wordings(data: Path, task: Task) -> pl.DataFrame:
    """The wordings of the test set, before and after."""
    rows = read_part(data / "test.parquet").select("id", *task.fields)
    after = changed_pairs(data, "test", task).select(
        pl.col("of").alias("id"), *(f"{name}_after" for name in task.fields)
    )
    joined = rows.join(after, on="id", how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"{name}_after").fill_null(pl.col(name)) for name in task.fields)


def train_profile(data: Path, task: Task) -> Profile:
    """What phi does to a training set; where its generator tells its `changes`, these are taken."""
    rows, variants = _part(str(data.absolute()), "train")
    notes = ["changes"] if "changes" in variants.columns else []
    both = [rows.select(main_columns(task)), variants.select(*main_columns(task), *notes)]
    return profile(by_bucket(pl.concat(both, how="diagonal_relaxed")), task)


# A scan of rho


@dataclass(frozen=True)
class ScannedRho:
    """A scan with the baseline: the smallest p-value at each rho, whether it rejects, and the values it proposes."""

    dataset: str
    table: pl.DataFrame
    proposed: tuple[float, ...]
    accepted: tuple[float, float] | None


def scanned(cells: Sequence[TrainingCell], alpha: float) -> ScannedRho:
    """What finished cells of one model on one data set say about each rho, by the exact null."""
    rows = []
    for rho in sorted({cell.rho for cell in cells}):
        decision = decide([_p_value(cell) for cell in cells if cell.rho == rho], alpha)
        rows.append({"rho": rho, "smallest_p": decision.smallest, "rejected": decision.rejected})
    table = pl.DataFrame(rows)
    proposed, accepted = propose(table["rho"].to_list(), table["rejected"].to_list())
    return ScannedRho(cells[0].dataset, table, proposed, accepted)


def scan_chart(scans: Sequence[ScannedRho], baseline: str, level: float) -> str:
    """The paper's Figure 3: the smallest p-value at each rho, a panel per data set."""
    limit = Mark(level, f"rejected below {level:.2g}", "y")
    points = {one.dataset: [one.table[name].to_list() for name in ("rho", "smallest_p")] for one in scans}
    panels = [Panel(name, [Series.of(baseline, *both)], marks=[limit]) for name, both in points.items()]
    title = "Smallest p-value of the runs of the baseline"
    return Figure("scan", title, "lines", panels, Axis("rho"), Axis("smallest p", low=0.0), wide=True).svg()


def _p_value(cell: TrainingCell) -> float:
    """That of a cell under the exact null; several classifiers of a sample vote, as in the results."""
    rows = matched_rows(cell)
    right = with_correctness(majority(rows) if cell.votes > 1 else rows).select("A", "B").collect()
    return ie_test(matched(right["A"], right["B"]), null="exact", tails="inclusive").p


def propose(rho: Sequence[float], rejected: Sequence[bool]) -> tuple[tuple[float, ...], tuple[float, float] | None]:
    """Values of rho worth an expensive model, as the paper chose them from its scan, and where the baseline accepts.

    The paper took the interval where the baseline does not reject, [0.4, 0.6], three values of it, and two towards
    either end. Here the interval is the one in which runs without a rejection outnumber the others most, so that a
    single value does not end it; its ends and middle are taken, 0 and 1, and what lies halfway between.

    >>> tenths = [step / 10 for step in range(11)]
    >>> propose(tenths, [not 0.4 <= one <= 0.6 for one in tenths])
    ((0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0), (0.4, 0.6))
    >>> propose(tenths, [True] * 11)
    ((0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0), None)
    """
    best = sums = start = 0
    accepted: tuple[float, float] | None = None
    for place, no in enumerate(rejected):
        if sums <= 0:
            sums, start = 0, place
        sums += -1 if no else 1
        if sums > best:
            best, accepted = sums, (rho[start], rho[place])
    low, high = accepted or _USUAL
    if high - low > _NEARLY_ALL:  # as on MNLI: the scan says nothing, and the paper took the values of SNLI
        low, high = _USUAL
    elif high - low < 0.05:  # one value, or two: no interval
        low, high = max(0.0, low - 0.1), min(1.0, high + 0.1)
    some = (0.0, low / 2, low, (low + high) / 2, high, (1 + high) / 2, 1.0)
    return tuple(sorted({round(one, 2) for one in some})), accepted
