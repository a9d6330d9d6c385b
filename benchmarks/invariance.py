"""The IE test from counts, against resampling rows; all of the paper's runs, against one grouping; an experiment.

All but the first need the released matched samples (20 million rows) beside the checkout; they are left out without.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from . import isolated

DATA = Path(__file__).parents[2] / "shared" / "data"
#: MultiNLI's two development sets, as in the paper, and its number of replicates.
ITEMS, REPLICATES = 19_647, 1_000
TINY_ITEMS, TINY_REPLICATES = 2_000, 100
#: How far the p-values of the three forms may lie apart.
SLACK, TINY_SLACK = 0.02, 0.3

#: The peer is vectorised: rows are drawn in blocks of replicates, as bytes, and only then summed.
_BOOTSTRAP = """
import time
import numpy as np
from otherwords.significance.ie_test import Matched, ie_test, paired_t
n, size, slack = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
n10, n01 = n * 900 // 19_647, n * 810 // 19_647
sample, observed = Matched(n, n * 15_500 // 19_647, n10, n01), paired_t(n, n10, n01)
rows = np.repeat(np.array([1, -1, 0], dtype=np.int8), [n10, n01, n - n10 - n01])

def resampled(seed, block=50):
    random, t = np.random.default_rng(seed), []
    for _ in range(size // block):
        drawn = rows[random.integers(0, n, (block, n), dtype=np.int32)]
        drawn = np.where(random.integers(0, 2, (block, n), dtype=np.int8) == 1, -drawn, drawn)
        drop, changes = drawn.sum(axis=1, dtype=np.int64), np.abs(drawn).sum(axis=1, dtype=np.int64)
        t.append(drop / np.sqrt(changes - drop * drop / n))
    t = np.concatenate(t)
    return 2 * min((t <= observed).mean(), (t > observed).mean())

def median(function, times):
    seconds, values = [], []
    for seed in range(times):
        start = time.perf_counter()
        values.append(function(seed))
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[times // 2], float(np.mean(values))

counted = lambda seed: ie_test(sample, replicates=size, seed=seed).p
counted(0)
peer, ours, exact = median(resampled, 5), median(counted, 101), median(lambda seed: ie_test(sample, "exact").p, 21)
assert abs(peer[1] - ours[1]) < slack and abs(ours[1] - exact[1]) < slack / 2, (peer, ours, exact)
report(peer=peer[0], ours=ours[0], exact=exact[0])
"""

_GROUPED = """
import time
import polars as pl
times = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    table = pl.scan_parquet(sys.argv[1] + "/ie_test/matched.parquet")
    table.group_by("dataset", "model", "rho", "batch").agg(pl.col("A", "B").sum()).collect(engine="streaming")
    times.append(time.perf_counter() - start)
report(seconds=sorted(times)[len(times) // 2])
"""

_SURVEYED = """
import time
from pathlib import Path
from otherwords.papers.ie_test import survey
from otherwords.significance.ie_test import paired_t
times = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    found = survey(Path(sys.argv[1]))
    t = [paired_t(run["n"], run["n10"], run["n01"]) for run in found.runs.iter_rows(named=True)]
    times.append(time.perf_counter() - start)
assert len(t) == 1361 and found.hard.height == 780
report(seconds=sorted(times)[len(times) // 2])
"""

#: The deep models' 350 runs as an experiment of a user: ids and labels as texts.
_EXPERIMENT = """
import time
import polars as pl
from pathlib import Path
from otherwords.papers.ie_figures import write
from otherwords.papers.ie_results import results
from otherwords.papers.ie_samples import RUN
folder, batches = Path(sys.argv[2]), int(sys.argv[3])
def label(shift):
    return pl.col("label").replace_strict({i: "ENC"[(i + shift) % 3] for i in range(3)}, return_dtype=pl.String)
rows = pl.scan_parquet(sys.argv[1] + "/ie_test/matched.parquet")
rows = rows.filter(pl.col("batch") <= batches, pl.col("model") != "xgb").select(
    "dataset", "model", rho=pl.col("rho").cast(pl.Float64).round(2), run=pl.col("batch").cast(pl.Int64),
    id=pl.format("t{}", "i"), gold=label(0), before=pl.when("A").then(label(0)).otherwise(label(1)),
    after=pl.when("B").then(label(0)).otherwise(label(1)), changed=pl.lit(True))
rows.sink_parquet(folder / "matched.parquet")
matched = pl.scan_parquet(folder / "matched.parquet")
start = time.perf_counter()
cells = matched.select(RUN).unique().collect(engine="streaming")
grouped = time.perf_counter() - start
start = time.perf_counter()
found = results(cells, matched)
write(found, folder / "results")
report(seconds=time.perf_counter() - start, grouped=grouped, rows=int(found.runs["n"].sum()), runs=found.runs.height)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    sizes = (TINY_ITEMS, TINY_REPLICATES, TINY_SLACK) if tiny else (ITEMS, REPLICATES, SLACK)
    results = [_bootstrap(*sizes)]
    if (DATA / "ie_test" / "matched.parquet").is_file():
        results += _survey(passes=1 if tiny else 5) + _experiment(batches=1 if tiny else 5)
    else:
        print("left out: the pass over all matched samples needs ../shared/data/ie_test", file=sys.stderr)
    return results


def _bootstrap(items: int, replicates: int, slack: float) -> dict[str, Any]:
    """Stated as a share of the peer's time: a ratio of 150 is a share of 1 / 150."""
    took = isolated.run(_BOOTSTRAP, str(items), str(replicates), str(slack))
    detail = (
        f"rows resampled {took['peer']:.2f} s; from counts {took['ours'] * 1000:.2f} ms, "
        f"{took['peer'] / took['ours']:,.0f} times faster; exact sum {took['exact'] * 1000:.1f} ms"
    )
    claim = f"paired bootstrap of {items:,} items, {replicates:,} replicates, from counts, against resampled rows"
    return _row(claim, 1000 * took["ours"] / took["peer"], "thousandths", 1000 / 150, detail)


def _survey(passes: int) -> list[dict[str, Any]]:
    peer, ours = (isolated.run(code, str(DATA), str(passes)) for code in (_GROUPED, _SURVEYED))
    detail = f"grouped {peer['seconds']:.2f} s; counts, t and hard cases of 1,361 runs {ours['seconds']:.2f} s"
    claim = "all runs of the IE test (20 million rows), times reading and grouping their file with Polars"
    memory = f"{passes} passes in one process"
    return [
        _row(claim, ours["seconds"] / peer["seconds"], "x", 3, detail),
        _row("peak memory of that", ours["peak_mb"] / 1000, "GB", 3, memory),
    ]


def _experiment(batches: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        took = isolated.run(_EXPERIMENT, str(DATA), folder, str(batches))
    claim = f"all tests, tables and figures of {took['runs']} runs, {took['rows'] / 1e6:.1f} million rows"
    detail = f"finding its runs in the file takes {took['grouped']:.2f} s"
    return [
        _row(claim, took["seconds"], "s", 15, detail),
        _row("peak memory of that", took["peak_mb"] / 1000, "GB", 2, "one process, rows made in it, too"),
    ]


def _row(claim: str, measured: float, unit: str, at_most: float, detail: str) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "unit": unit, "at_most": at_most, "detail": detail}
