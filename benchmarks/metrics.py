"""All metrics together on ten million answers, against one plain Polars group-by-sum of the same table.

Both start from the table in memory; ours takes the way of `otherwords.score`: distinct buckets are found, measured once
and counted, cluster by cluster. Measured for the table as the answer stage writes it (the rows of a bucket stand
together) and shuffled, which is the worst case. Intervals are timed apart.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from . import isolated

ROWS, SIZE = 10_000_000, 10
TINY_ROWS = 1_000

_MAKE = """
import numpy as np, polars as pl
rows, size, path, shuffled = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "shuffled"
random = np.random.default_rng(0)
buckets = rows // size
names = pl.Series(["entailment", "neutral", "contradiction"])
gold = np.repeat(random.integers(0, 3, buckets), size)
pred = np.where(random.random(rows) < 0.8, gold, random.integers(0, 3, rows))
table = pl.DataFrame({"b": np.repeat(np.arange(buckets), size), "v": np.tile(np.arange(size), buckets)}).select(
    pl.lit("model").alias("model"),
    pl.format("problem-{}", "b").alias("bucket"),
    pl.when(pl.col("v") > 0).then(pl.format("problem-{}~recorded.{}", "b", "v")).alias("variant"),
    pl.Series("gold", names.gather(gold)),
    pl.Series("pred", names.gather(pred)),
    pl.format("premise-{}", pl.col("b") // 3).alias("cluster"),
    *(pl.Series(f"p:{name}", np.where(pred == i, 0.8, 0.1)) for i, name in enumerate(names)),
    pl.Series("correct", (gold == pred).astype(np.int64)),
)
if shuffled:
    table = table.sample(fraction=1, shuffle=True, seed=1)
table.write_parquet(path)
report(rows=table.height)
"""

_PEER = """
import time, polars as pl
table = pl.read_parquet(sys.argv[1])
times = []
for _ in range(5):
    start = time.perf_counter()
    table.group_by("bucket").agg(pl.col("correct").sum())
    times.append(time.perf_counter() - start)
report(seconds=sorted(times)[2])
"""

_OURS = """
import time, polars as pl
from otherwords.answers import reading as answers
from otherwords.answers.collapsing import collapse, in_parts
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics
from otherwords.scoring.measure import sample_of, statistics_of
from otherwords.scoring.select import USUAL, role_of
from otherwords.significance.bootstrap import bootstrap
from otherwords.significance.intervals import closed_form, percentile
import scipy.special  # loaded once in a process
names = ("accuracy_original.v1", "accuracy_variants.v1", "p_c.v1", "flip_rate.v1")
chosen = [as_metric(metrics.make(name).function) for name in names]
frame = pl.read_parquet(sys.argv[1])
times = []
for _ in range(3):
    start = time.perf_counter()
    data = answers.read(collapse(in_parts(frame)))
    rows = [one.statistics(data) * data.occurrences[:, None] for one in chosen]
    values = [float(one.combine(part.sum(axis=0))) for one, part in zip(chosen, rows)]
    times.append(time.perf_counter() - start)
usual = [as_metric(metrics.make(name).function) for name in USUAL]
usual = [one for one in usual if role_of(one) == "rewordings" and not (one.repeats or one.label_mass)]
samples = [sample_of(one, *statistics_of(one, data), "", times=data.times) for one in usual]
start = time.perf_counter()
for one, sample in zip(usual, samples):
    closed_form(one, [(sample.distinct, sample.counts)], 0.95)
closed = time.perf_counter() - start
start = time.perf_counter()
for drawn in bootstrap(samples, 10_000, 1):
    percentile(drawn, 0.95)
report(seconds=sorted(times)[1], intervals=closed, drawn=time.perf_counter() - start, values=values)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    results, count = [], TINY_ROWS if tiny else ROWS
    with tempfile.TemporaryDirectory() as folder:
        for order in ("in buckets", "shuffled"):
            path = str(Path(folder) / "answers.parquet")
            isolated.run(_MAKE, str(count), str(SIZE), path, order)
            peer, ours = isolated.run(_PEER, path), isolated.run(_OURS, path)
            detail = f"group-by-sum {peer['seconds']:.2f} s; four metrics {ours['seconds']:.2f} s"
            claim = f"four metrics on {count:,} answers ({order}), times one Polars group-by-sum"
            results.append(_row(claim, ours["seconds"] / peer["seconds"], "x", 3, detail))
            claim = f"intervals of the usual metrics on it ({order}), times those of 10,000 replicates"
            detail = f"{ours['intervals']:.3f} s against {ours['drawn']:.2f} s"
            results.append(_row(claim, ours["intervals"] / ours["drawn"], "x", 1, detail))
            results.append(_row(f"peak memory of that ({order})", ours["peak_mb"] / 1000, "GB", 4, "table included"))
    return results


def _row(claim: str, measured: float, unit: str, at_most: float, detail: str) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "unit": unit, "at_most": at_most, "detail": detail}
