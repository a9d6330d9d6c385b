"""From Parquet through keys and cache to Parquet, with a model that costs nothing, against a bare loop in the same run.

And with one that takes the time of a GPU, to see how long that would be idle.

The bare loop reads the same shards, hashes each row in Python, upserts all of them with one `executemany` into a table
like that of the cache, with the same settings, and writes the shards again.
"""

from __future__ import annotations

import functools
import os
import shutil
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

from otherwords.models import answering, cache, model
from otherwords.models.python_callable import as_spec
from otherwords.problem import TASKS, Batch
from otherwords.running import asking, stages
from otherwords.storage.run_folder import RunFolder

from . import bare

ROWS, TINY_ROWS, SHARD = 500_000, 200, 20_000
#: Microseconds a row at 60,000 rows a second.
MOST = 1e6 / 60_000
MODEL = """
import numpy as np

def free(batch):
    return np.tile([0.0, 1.0, 0.0], (len(batch), 1))
"""
#: Rows a second of a pretended device, which needs no Python while it works, and rows that it is given at a time.
DEVICE, AT_ONCE = 30_000, 131_072
#: The steps: where the function is looked up, its name, and what it does. Those inside others count by themselves.
STEPS = (
    (asking, "_read_shard", "read"),
    (answering, "_distinct_columns", "deduplicate"),
    (answering, "keys_of", "key"),
    (cache.Cache, "find", "look up"),
    (answering.Asker, "look_up", "sort into batches"),
    (model.Model, "__call__", "model"),
    (model.Answerer, "__call__", "check answers"),
    (answering.Asker, "ask", "ask"),
    (cache.Cache, "store", "store"),
    (asking, "write_answers", "write"),
)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    rows = TINY_ROWS if tiny else ROWS
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place) / "run")
        shards = write_buckets(folder, rows, min(SHARD, rows // 2))
        (Path(place) / "model.py").write_text(MODEL)
        specs = [f"m{number}=python:{place}/model.py:free(batch_size={1024 + number})" for number in range(2)]
        jobs = [_jobs(folder, shards, spec, f"{place}/cache.sqlite") for spec in specs]
        loop = _timed(lambda: _bare(folder, shards, Path(place)))
        with _steps() as seconds:
            cold = _timed(lambda: asking.answer_shards(jobs[0]))
        shares = _shares(seconds, cold[1])
        shutil.rmtree(folder.path / "answers")
        warm = _timed(lambda: asking.answer_shards(jobs[1]))
        calls: list[tuple[float, float]] = []
        waits = _jobs(folder, shards, as_spec(_device(calls)), f"{place}/device.sqlite")
        device = _timed(lambda: asking.answer_shards(waits))
    busy, between = sum(end - start for start, end in calls), calls[-1][1] - calls[0][0]
    detail = f"{_speed(cold, rows)}; bare {_speed(loop, rows)}; {shares}"
    claims = [("asked and stored", cold, 1.5, detail), ("all in the cache already", warm, 1.0, _speed(warm, rows))]
    path = "Parquet -> keys -> cache -> Parquet"
    return [
        {
            "claim": f"{path}, free model, {rows:,} rows {what}, times a bare loop (CPU time)",
            "measured": took[1] / loop[1],
            "unit": "times",
            "at_most": most,
            "detail": detail,
        }
        for what, took, most, detail in claims
    ] + [
        {
            "claim": f"{path}, the same, a row",
            "measured": cold[0] / rows * 1e6,
            "unit": "microseconds",
            "at_most": MOST,
            "detail": f"{rows / cold[0]:,.0f} rows/s on {os.cpu_count()} cores",
        },
        {
            "claim": f"a device that answers {DEVICE:,} rows a second waits for Python, from its first row to its last",
            "measured": 100 * (1 - busy / between),
            "unit": "% of the time",
            "at_most": 5.0,
            "detail": f"{len(calls)} calls, busy {busy:.1f} s, the whole stage {device[0]:.1f} s",
        },
    ]


def write_buckets(folder: RunFolder, rows: int, size: int) -> int:
    """Write buckets of an original and three variants; the number of shards."""
    for number, start in enumerate(range(0, rows, size)):
        some = range(start, min(start + size, rows))
        names = [f"p{i // 4}-{i % 4}" if i % 4 else f"p{i // 4}" for i in some]
        columns = {
            "id": names,
            "of": [f"p{i // 4}" if i % 4 else None for i in some],
            "premise": [f"Person {i // 4} walked {i} metres along the river before breakfast on a day." for i in some],
            "hypothesis": [f"Person {i // 4} was up early, in wording {i % 4}." for i in some],
            "label": ["neutral"] * len(some),
            "cluster": [f"p{i // 4}" for i in some],
            "how": ["recorded.v1" if i % 4 else None for i in some],
        }
        folder.write("buckets", number, f"key {number}", pl.DataFrame(columns))
    return number + 1


def _device(calls: list[tuple[float, float]]) -> model.Model:
    """A model that sleeps as long as a device would work, and notes when."""

    def device(batch: Batch) -> Any:
        start = time.perf_counter()
        time.sleep(len(batch) / DEVICE)
        calls.append((start, time.perf_counter()))
        return np.tile([0.0, 1.0, 0.0], (len(batch), 1))

    return model.Model(device, batch_size=AT_ONCE, version="1")


def _jobs(folder: RunFolder, shards: int, spec: str, path: str) -> list[stages.ShardJob]:
    return [stages.ShardJob(str(folder.path), number, TASKS["nli"], (spec,), cache=path) for number in range(shards)]


def _bare(folder: RunFolder, shards: int, place: Path) -> None:
    frames = [pl.read_parquet(folder.part("buckets", number)) for number in range(shards)]
    keys = [key for frame in frames for key in bare.keys_of(frame)]
    with cache.Cache(place / "bare.sqlite") as store:
        database = sqlite3.connect(store.path, isolation_level=None)
        database.execute("pragma synchronous = normal")
        database.execute("begin immediate")
        insert = "insert or replace into answers (key, model, pred, p, at) values (?, 1, 1, ?, 0)"
        database.executemany(insert, [(key, b"p" * 24) for key in keys])
        database.execute("commit")
        database.close()
    for number, frame in enumerate(frames):
        frame.drop("premise", "hypothesis").write_parquet(place / f"bare-{number}.parquet")


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and seconds of CPU time of all threads."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def _speed(took: tuple[float, float], rows: int) -> str:
    return f"{took[0]:.1f} s, {took[1] / rows * 1e6:.1f} microseconds of CPU time a row"


@contextmanager
def _steps() -> Iterator[dict[str, float]]:
    """Measure the CPU time of each step, in whatever thread it runs; at the end, without that of steps inside it."""
    seconds: dict[str, float] = defaultdict(float)

    def measured(function: Callable[..., Any], step: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*given: Any, **options: Any) -> Any:
            start = time.thread_time()
            result = function(*given, **options)
            seconds[step] += time.thread_time() - start
            return result

        return timed

    with ExitStack() as stack:
        for owner, name, step in STEPS:
            stack.enter_context(mock.patch.object(owner, name, measured(getattr(owner, name), step)))
        yield seconds
    seconds["sort into batches"] -= seconds["key"] + seconds["look up"]
    seconds["ask"] -= seconds["check answers"]
    seconds["check answers"] -= seconds["model"]


def _shares(seconds: dict[str, float], whole: float) -> str:
    rest = whole - sum(seconds.values())
    return ", ".join(f"{step} {value / whole:.0%}" for step, value in [*seconds.items(), ("rest", rest)])
