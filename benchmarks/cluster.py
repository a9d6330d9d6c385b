"""The driver of a cluster: jobs without work on Ray and on worker processes, and what it does itself in a large study.

A cluster is a local one here, of two workers. What the driver does itself (keys, cache, files, parts) is measured with
engines whose workers take no time, in a folder and in an object store that is slow to answer.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import polars as pl
from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem

from otherwords.models.answering import load
from otherwords.problem import TASKS
from otherwords.running import Engine, asking, delegating, exchange
from otherwords.running.stages import ShardJob
from otherwords.storage.places import Place
from otherwords.storage.run_folder import RunFolder

from . import isolated
from .answers import MODEL, write_buckets

#: Jobs without work, at two sizes; seconds of CPU time of a job with work, how many of these, and how often.
JOBS, TINY_JOBS = (10_000, 100_000), (8, 16)
SECONDS, TINY_SECONDS = 1.0, 0.02
WORK, TINY_WORK = 16, 4
TURNS, TINY_TURNS = 3, 1
#: Rows that pass through the driver, at two sizes for its memory; of a shard; of a shard in the stages before.
ROWS, TINY_ROWS = (200_000, 1_000_000), (400, 800)
SHARD, SMALL_SHARD = 20_000, 2_000
#: Problems that are varied and checked through a shared place.
VARIED, TINY_VARIED = 100_000, 400
#: Seconds that each call of the slow store takes.
CALL = 0.03

_MAP = """
import os, time
os.environ["RAY_ADDRESS"] = "local"  # no cluster of somebody else
from otherwords.running.engines import make_engine
from benchmarks.cluster import nothing
name, count, folder = sys.argv[1:]
engine, start = make_engine(name, 2), time.perf_counter()
if hasattr(engine, "prepare"):
    engine.prepare(folder)
assert list(engine.map(nothing, range(8))) == list(range(8))
ready, cpu = time.perf_counter(), time.process_time()
assert all(got == number for number, got in enumerate(engine.map(nothing, range(int(count)))))
values = {"start": ready - start, "wall": time.perf_counter() - ready, "cpu": time.process_time() - cpu}
engine.close()
report(**values)
"""
_WORK = """
import os, time
os.environ["RAY_ADDRESS"] = "local"  # no cluster of somebody else
from otherwords.running.engines import make_engine
from benchmarks.cluster import work
loops, count, turns, folder = sys.argv[1:]
engines = {name: make_engine(name, 2) for name in ("processes", "ray")}
found = {name: [] for name in engines}
for turn in range(1 + int(turns)):
    for name, engine in engines.items():
        start = time.perf_counter()
        if not turn and name == "ray":
            engine.prepare(folder)
        total = sum(1 for _ in engine.map(work, [int(loops) if turn else 1] * int(count)))
        found[name].append(time.perf_counter() - start)
for engine in engines.values():
    engine.close()
report(**found)
"""
_DRIVE = """
from pathlib import Path
from benchmarks.cluster import drive_answers
rows, shard, batch, place, folder = sys.argv[1:]
report(**drive_answers(Path(folder), int(rows), int(shard), int(batch), place))
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_empty_jobs(tiny, folder), _overhead(tiny, folder), *_answers(tiny), *_parts(tiny)]


# Jobs, which workers import


def nothing(number: int) -> int:
    """A job without work."""
    return number


def work(loops: int) -> int:
    """A job that takes the interpreter so long, and lets nobody else have it."""
    return sum(number * number % 7 for number in range(loops))


def _loops(seconds: float) -> int:
    """How much work takes so much CPU time."""
    some, start = 2_000_000, time.process_time()
    work(some)
    return int(some * seconds / (time.process_time() - start))


# Engines


def _empty_jobs(tiny: bool, folder: str) -> Iterator[dict[str, Any]]:
    few, many = TINY_JOBS if tiny else JOBS
    for name in ("processes", "ray"):
        small, large = (isolated.run(_MAP, name, str(count), folder) for count in (few, many))
        detail = f"{many / large['wall']:,.0f} jobs/s; CPU of the driver {1e6 * large['cpu'] / many:.0f} microseconds "
        detail += f"a job; started in {large['start']:.1f} s"
        yield {
            "claim": f"{many:,} jobs without work by 2 workers, engine {name}, a job",
            "measured": 1e3 * large["wall"] / many,
            "unit": "ms",
            "at_most": 5.0,
            "detail": detail,
        }
        yield _memory(f"of the driver, engine {name}, at {many:,} jobs above that at {few:,}", large, small, 20)


def _memory(whose: str, large: dict[str, Any], small: dict[str, Any], most: float) -> dict[str, Any]:
    one, other = large["peak_mb"], small["peak_mb"]
    detail = f"{one:.0f} MB against {other:.0f} MB"
    claim = f"peak memory {whose}"
    return {"claim": claim, "measured": one - other, "unit": "MB", "at_most": most, "detail": detail}


def _overhead(tiny: bool, folder: str) -> dict[str, Any]:
    seconds, count, turns = (TINY_SECONDS, TINY_WORK, TINY_TURNS) if tiny else (SECONDS, WORK, TURNS)
    found = isolated.run(_WORK, str(_loops(seconds)), str(count), str(turns), folder)
    ours, peer = found["ray"], found["processes"]
    ratios = [one / other for one, other in zip(ours[1:], peer[1:], strict=True)]
    detail = f"{statistics.median(ours[1:]):.1f} s against {statistics.median(peer[1:]):.1f} s, in turns: ratios "
    detail += f"{', '.join(f'{one:.2f}' for one in ratios)}; "
    detail += f"before that, a cluster started in {ours[0]:.1f} s, worker processes in {peer[0]:.1f} s"
    claim = f"{count} jobs of {seconds:g} s of CPU time by 2 workers on Ray, times by 2 worker processes"
    return {"claim": claim, "measured": statistics.median(ratios), "unit": "x", "at_most": 1.3, "detail": detail}


# What the driver does itself


class Apart(Engine):
    """An engine whose jobs are done here, but count for nothing: `seconds` is what they took."""

    def __init__(self) -> None:
        self.seconds, self.jobs = 0.0, 0

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any], give_up: Any = None) -> Iterator[Any]:
        for job in jobs:
            start, token = time.perf_counter(), _WORKER.set(True)
            result = self.do(function, job)
            _WORKER.reset(token)
            self.seconds += time.perf_counter() - start
            self.jobs += 1
            yield result

    def do(self, function: Callable[[Any], Any], job: Any) -> Any:
        return function(job)


class Copying(Apart):
    """Asks a model once for each number of texts, and copies its answers from then on."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[int, tuple[str, bytes]] = {}

    def do(self, function: Callable[[Any], Any], job: Any) -> Any:
        place = Place(job.place)
        texts = place.fetch(job.name)
        assert texts is not None
        height = pl.scan_parquet(texts).select(pl.len()).collect().item()
        if height not in self._answers:
            name = function(job).name
            data = place.fetch(name)
            assert data is not None
            self._answers[height] = (name.removeprefix(job.name), data)
        end, data = self._answers[height]
        place.store(job.name + end, data)
        return delegating.Answered(job.name + end)


#: Whether it is a worker that calls the store: its time is not the driver's.
_WORKER = ContextVar("worker", default=False)


class SlowStore(MemoryFileSystem):  # type: ignore[misc]
    """An object store in memory, each of whose calls takes a while."""

    protocol = "slow"

    def cat_file(self, *given: Any, **more: Any) -> Any:
        _wait()
        return super().cat_file(*given, **more)

    def pipe_file(self, *given: Any, **more: Any) -> Any:
        _wait()
        return super().pipe_file(*given, **more)

    def rm_file(self, *given: Any, **more: Any) -> Any:
        _wait()
        return super().rm_file(*given, **more)


def _wait() -> None:
    if not _WORKER.get():
        time.sleep(CALL)


register_implementation("slow", SlowStore, clobber=True)


def drive_answers(folder: Path, rows: int, shard: int, batch: int, place: str) -> dict[str, float]:
    """Let a model that costs nothing answer so many rows: through workers that take no time, or in this process.

    `place` is where the files of texts and answers lie; "" is for this process.
    """
    run_folder = RunFolder(folder / "run")
    shards = write_buckets(run_folder, rows, shard)
    (folder / "model.py").write_text(MODEL)
    about = (TASKS["nli"], (f"python:{folder}/model.py:free(batch_size={batch})",))
    cache, engine = str(folder / "cache.sqlite"), Copying()
    jobs = [ShardJob(str(run_folder.path), number, *about, cache=cache) for number in range(shards)]
    model, cpu, start = load(about[1][0], about[0]), time.process_time(), time.perf_counter()
    made = delegating.delegate(engine, model, jobs, place) if place else asking.answer_shards(jobs)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert sum(one.rows for one in made) == rows
    return {"wall": wall, "cpu": cpu, "workers": engine.seconds, "pieces": engine.jobs}


def _answers(tiny: bool) -> Iterator[dict[str, Any]]:
    few, many = TINY_ROWS if tiny else ROWS
    size = many // 4 if tiny else SHARD
    large, here = _driven(many, size), _driven(many, size, place="")
    small, stored = _driven(few, size), _driven(few, size, place="slow://place")
    pieces = _driven(few, size, batch=64)
    yield {
        "claim": f"handing out and taking back {many:,} rows to answer, times answering them here (free model)",
        "measured": large["wall"] / here["wall"],
        "unit": "x",
        "at_most": 3.0,
        "detail": f"{_rate(many, large)}; here {many / here['wall']:,.0f} rows/s",
    }
    yield _memory(f"of that driver at {many:,} rows above that at {few:,}", large, small, 150)
    for what, found in ((f"a store of {1e3 * CALL:.0f} ms a call", stored), ("pieces of 1,024 rows", pieces)):
        yield {
            "claim": f"the same with {what}, {few:,} rows, a row, times shards of {size:,} in a folder",
            "measured": found["wall"] / small["wall"],
            "unit": "x",
            "at_most": 4.0,
            "detail": f"{_rate(few, found)}; in a folder, {_rate(few, small)}",
        }


def _driven(rows: int, shard: int, batch: int = 1 << 16, place: str = "shared") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/{place}" if place == "shared" else place
        return isolated.run(_DRIVE, str(rows), str(shard), str(batch), where, folder)


def _rate(rows: int, found: dict[str, Any]) -> str:
    return (
        f"{rows / found['wall']:,.0f} rows/s ({1e6 * found['cpu'] / rows:.1f} microseconds of CPU time a row), "
        f"{found['pieces']:.0f} files each way, {found['pieces'] / found['wall']:.1f}/s; "
        f"of {found['wall']:.1f} s, the pretended workers took {found['workers']:.1f} s"
    )


def _parts(tiny: bool) -> Iterator[dict[str, Any]]:
    """Parts of the stages before, which travel through a shared place."""
    count, size = (TINY_VARIED, TINY_VARIED // 4) if tiny else (VARIED, SMALL_SHARD)
    for what, place in (("a folder", ""), (f"a store of {1e3 * CALL:.0f} ms a call", "slow://parts")):
        with tempfile.TemporaryDirectory() as name:
            driver, workers, shards = _exchange(Path(name), count, size, place or f"{name}/shared")
        yield {
            "claim": f"shards of {size:,} rows to `contractions` and to `surface` through {what}: the driver's time",
            "measured": 1e3 * driver / shards,
            "unit": "ms a shard and stage",
            "at_most": 1e3 * (0.1 + (8 * CALL if place else 0)),
            "detail": f"{shards / driver:,.0f} shards/s, {size * shards / driver:,.0f} rows/s; "
            f"the work itself {1e3 * workers / shards:.0f} ms a shard",
        }


def _exchange(folder: Path, count: int, size: int, place: str) -> tuple[float, float, int]:
    """Vary and check problems: the seconds of the driver, those of the work, and how many shards there were."""
    run_folder, walk = RunFolder(folder / "run"), "didn't walk {} metres along the river before breakfast on a cold day"
    shards = range(0, count, size)
    for number, start in enumerate(shards):
        names = [f"p{one}" for one in range(start, start + size)]
        columns = {"id": names, "of": None, "how": None, "label": "neutral", "cluster": names}
        columns["premise"] = [f"Person {name} {walk.format(name)}." for name in names]
        columns["hypothesis"] = [f"Person {name} was not up early." for name in names]
        kinds = {"of": pl.String, "how": pl.String}
        run_folder.write("problems", number, f"key {number}", pl.DataFrame(columns, schema_overrides=kinds))
    engine, start_time = Apart(), time.perf_counter()
    engine.shared = place
    for stage, using in (("variants", "contractions"), ("buckets", "surface")):
        jobs = (ShardJob(str(run_folder.path), number, TASKS["nli"], (f"{using}.v1",)) for number in range(len(shards)))
        made = list(exchange.map_elsewhere(engine, stage, jobs))
        assert len(made) == len(shards)
    return time.perf_counter() - start_time - engine.seconds, engine.seconds, engine.jobs
