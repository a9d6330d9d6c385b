"""Worker processes use all cores: a stage on `--engine processes` against the same stage in one process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from otherwords.running.processes import cores

from . import isolated, spine

#: At most so much of the time in one process: of a cheap function, the driver's reading and writing is a third.
LIMITS = {"model": 0.9, "generator": 0.75}
ROWS, TINY_ROWS = {"model": 150_000, "generator": 12_000}, {"model": 40}
SHARDS = 24
#: A model that is a Python function, and takes about a tenth of a millisecond for a pair.
MODEL = """
LABELS = ("entailment", "neutral", "contradiction")
def ask(batch):
    pairs = zip(batch["premise"], batch["hypothesis"])
    return [LABELS[sum(a == b for a in one for b in other) % 3] for one, other in pairs]
"""
_WORK = """
import os, time, warnings
from pathlib import Path
import polars as pl
from otherwords.datasets.source import Source
from otherwords.running.files import answer_files, vary_files
kind, data, folder, shard, engine = sys.argv[1:]
os.chdir(folder)
warnings.simplefilter("ignore")
start = time.perf_counter()
settings = {"shard": int(shard), "engine": engine}
if kind == "model":
    answer_files(Source([data]), "out.parquet", ["python:model.py:ask"], cache=None, canary=False, **settings)
else:
    vary_files(Source([data]), "out.parquet", ["wordnet"], **settings)
wall = time.perf_counter() - start
used = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
report(wall=wall, cpu=sum(one.ru_utime + one.ru_stime for one in used),
       content=str(pl.read_parquet("out.parquet").hash_rows().sum()))
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    names = {"model": "answers of a Python function", "generator": "variants of `wordnet`"}
    if tiny:
        del names["generator"]  # which takes seconds to load
    return [_compare(kind, name, (TINY_ROWS if tiny else ROWS)[kind], tiny) for kind, name in names.items()]


def _compare(kind: str, name: str, count: int, tiny: bool) -> dict[str, Any]:
    found = {}
    workers = 2 if tiny else cores()
    for engine in ("in-process", f"processes:{workers}"):
        with tempfile.TemporaryDirectory() as folder:
            spine.write_problems(Path(folder) / "data.jsonl", map(_pair, range(count)))
            (Path(folder) / "model.py").write_text(MODEL)
            data = str(Path(folder) / "data.jsonl")
            found[engine] = isolated.run(_WORK, kind, data, folder, str(max(1, count // SHARDS)), engine)
    one, several = found.values()
    assert one["content"] == several["content"], "the results differ"
    detail = f"{several['wall']:.1f} s against {one['wall']:.1f} s; "
    detail += f"CPU {several['cpu']:.1f} s against {one['cpu']:.1f} s"
    claim = f"{name} of {count:,} problems by {workers} workers, times the same in one process"
    # Two cores could halve it; each worker takes a second or more to start.
    ratio = several["wall"] / one["wall"]
    return {"claim": claim, "measured": ratio, "unit": "x", "at_most": LIMITS[kind], "detail": detail}


def _pair(number: int) -> tuple[str, str]:
    animal = ("dog", "horse", "cat", "woman", "child")[number % 5]
    premise = f"A small {animal} runs along the street behind house number {number} in the morning light."
    return premise, f"A {animal} is outside near house {number}."
