"""How often intervals hold the truth, by simulation with fixed seeds; `levels` is about tests.

A cell is a data set drawn again and again: so many buckets of 1 to 8 variants, each with its own chance of a right
answer, theta ~ Beta(m, 1 - m), shared by the buckets of a cluster where there are clusters. All data sets of a cell are
the buckets of one large table, so that the statistics are those of the package's own metrics, and the intervals and
tests are the package's own functions. The log of all cells is results/coverage.jsonl.xz.
"""

from __future__ import annotations

import json
import lzma
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from otherwords.answers.table import Answers
from otherwords.metrics.metric import Metric, as_metric
from otherwords.registry import metrics
from otherwords.significance.intervals import closed_form, difference_ends

Array = np.ndarray[Any, Any]
LOG = Path(__file__).parent / "results" / "coverage.jsonl.xz"
METRICS = ("flip_rate", "accuracy_variants", "p_c", "p_c_distinct", "pa", "r_r")
#: Mean chances of a right answer: flip rates of .25, .13, .05 and .005, accuracies of .05 to .995.
MEANS = (0.5, 0.05, 0.85, 0.95, 0.995)
SIZES = (20, 50, 200, 1000)
#: How buckets share clusters: each its own; sizes of 1 + Poisson(2), of mean 3; very unequal ones (geometric).
CLUSTERS = ("none", "mean 3", "unequal")
#: Pairs of models: mean chances of the two, and the correlation of their thetas on the normal scale.
PAIRS = tuple(product([(0.5, 0.5), (0.9, 0.8), (0.98, 0.95), (0.995, 0.98)], [0.9, 0.0, -0.9]))
#: How many simulations are in memory at a time, as buckets.
_AT_ONCE = 400_000
#: Simulations of a cell.
SIMULATIONS = 10_000


# Data


def clusters(random: np.random.Generator, kind: str, sims: int, buckets: int) -> Array:
    """The number of each bucket's cluster, a row per simulation."""
    if kind == "none":
        return np.broadcast_to(np.arange(buckets), (sims, buckets))
    if kind == "unequal":
        new = random.random((sims, buckets)) < 1 / 3
    else:
        new = np.zeros((sims, buckets + 1), dtype=bool)
        place = np.zeros(sims, dtype=np.int64)
        while (place < buckets).any():
            new[np.arange(sims), np.minimum(place, buckets)] = True
            place += 1 + random.poisson(2, sims)
        new = new[:, :buckets]
    new[:, 0] = True
    return np.cumsum(new, axis=1) - 1


def answers_of(theta: Array, sizes: Array, random: np.random.Generator) -> Answers:
    """One answer to each original and variant of each bucket, right with its chance theta."""
    chance = np.repeat(theta.ravel(), sizes.ravel() + 1)
    return _table_of(sizes.ravel(), random.random(len(chance)) < chance)


def _table_of(sizes: Array, right: Array) -> Answers:
    """Buckets of an original and so many variants, and whether each answer is right, of two labels."""
    count = sizes + 1
    bucket = np.repeat(np.arange(len(count)), count)
    is_variant = np.ones(len(bucket), dtype=bool)
    is_variant[np.cumsum(count) - count] = False
    pred = (~right).astype(np.int16)
    frame = pl.DataFrame({"model": ["m"]})
    return Answers(("right", "wrong"), bucket, is_variant, np.zeros_like(pred), pred, np.arange(len(count)), frame)


def thetas(random: np.random.Generator, means: Any, correlation: float, cluster: Array) -> list[Array]:
    """Each model's chance of a right answer, bucket by bucket: Beta(m, 1 - m), correlated over models."""
    from scipy.special import ndtr

    one = random.standard_normal(cluster.shape)
    normals = [one]
    if len(means) > 1:
        normals.append(correlation * one + np.sqrt(1 - correlation**2) * random.standard_normal(cluster.shape))
    return [
        np.take_along_axis(np.interp(ndtr(normal), *_quantiles(mean)), cluster, axis=1)
        for mean, normal in zip(means, normals, strict=True)
    ]


@cache
def _quantiles(mean: float) -> tuple[Array, Array]:
    """Quantiles of Beta(mean, 1 - mean) as a table: to compute each would take longer than all the rest."""
    from scipy.special import betaincinv

    tail = np.logspace(-12, -3, 3000)
    shares = np.concatenate([[0], tail, np.linspace(0.001, 0.999, 20_000)[1:-1], 1 - tail[::-1], [1]])
    return shares, betaincinv(mean, 1 - mean, shares)


@cache
def metric_named(name: str) -> Metric:
    return as_metric(metrics.make(name).function)


def rows_of(metric: Metric, data: Answers, cluster: Array) -> Array:
    """The metric's sums by cluster: simulations x clusters x columns, zeros where a simulation has fewer clusters."""
    rows = metric.rows(data)
    sims = len(cluster)
    most = int(cluster.max()) + 1
    place = (cluster + most * np.arange(sims)[:, None]).ravel()
    sums = [np.bincount(place, rows[:, column], sims * most) for column in range(rows.shape[1])]
    return np.stack(sums, axis=1).reshape(sims, most, -1)


@cache
def truth(name: str, mean: float) -> float:
    """The exact value: over every bucket that can be, original right or wrong and k of n variants right."""
    from scipy.special import betaln, comb

    buckets = [(n, right, k) for n in range(1, 9) for right in (0, 1) for k in range(n + 1)]
    sizes = np.array([n for n, _, _ in buckets])
    right = [answer for n, right, k in buckets for answer in (bool(right), *(place < k for place in range(n)))]
    data = _table_of(sizes, np.array(right))
    chance = [
        comb(n, k) * np.exp(betaln(mean + o + k, 1 - mean + 1 - o + n - k) - betaln(mean, 1 - mean)) / 8
        for n, o, k in buckets
    ]
    return float(metric_named(name).combine((metric_named(name).rows(data) * np.array(chance)[:, None]).sum(axis=0)))


# Cells


def portions(sims: int, buckets: int) -> list[int]:
    """Simulations in portions that fit in memory."""
    step = max(1, _AT_ONCE // buckets)
    return [min(step, sims - start) for start in range(0, sims, step)]


def share_cell(cell: dict[str, Any], sims: int, confidence: float = 0.95) -> list[dict[str, Any]]:
    """What the intervals of all metrics cover in data of one kind."""
    mean, buckets, kind = cell["mean"], cell["buckets"], cell["clusters"]
    random = np.random.default_rng([round(1000 * mean), buckets, CLUSTERS.index(kind)])
    tallies = {name: np.zeros(3) for name in METRICS}
    for portion in portions(sims, buckets):
        cluster = clusters(random, kind, portion, buckets)
        [theta] = thetas(random, [mean], 0.0, cluster)
        data = answers_of(theta, random.integers(1, 9, theta.shape), random)
        for name in METRICS:
            rows = rows_of(metric_named(name), data, cluster)
            found = closed_form(metric_named(name), [(rows, np.ones(rows.shape[:2]))], confidence)
            tallies[name] += _tally(found.low[:, 0], found.high[:, 0], truth(name, mean), [rows])
    return [
        {**cell, "metric": name, "truth": round(truth(name, mean), 5), **_shares(tally)}
        for name, tally in tallies.items()
    ]


def _tally(low: Array, high: Array, true: float, rows: list[Array]) -> Array:
    """Simulations with an interval, hits, and those with 5 clusters that have the event and 5 that lack it."""
    known = ~np.isnan(low)
    hit = known & (low <= true) & (true <= high)
    events = [((each[..., 0] > 0).sum(axis=1), (each[..., 1] - each[..., 0] > 1e-9).sum(axis=1)) for each in rows]
    rich = known & np.logical_and.reduce([(have >= 5) & (lack >= 5) for have, lack in events])
    return np.array([known.sum(), hit.sum(), rich.sum()])


def _shares(tally: Array) -> dict[str, Any]:
    known, hits, rich = tally.tolist()
    covered = round(hits / known, 4) if known else None
    return {"simulations": int(known), "covered": covered, "rich": round(rich / known, 4) if known else None}


def difference_cell(cell: dict[str, Any], sims: int, confidence: float = 0.95) -> list[dict[str, Any]]:
    """What the intervals of differences cover, of two models on the same problems."""
    means, buckets, kind = cell["means"], cell["buckets"], cell["clusters"]
    random = np.random.default_rng(
        [*(round(1000 * mean) for mean in means), buckets, CLUSTERS.index(kind), round(10 * cell["correlation"]) + 10]
    )
    tallies = {name: np.zeros(3) for name in METRICS}
    for portion in portions(sims, 2 * buckets):
        cluster = clusters(random, kind, portion, buckets)
        sizes = random.integers(1, 9, cluster.shape)
        both = [answers_of(theta, sizes, random) for theta in thetas(random, means, cell["correlation"], cluster)]
        for name in METRICS:
            rows = [rows_of(metric_named(name), data, cluster) for data in both]
            low, high = ends_of_difference(metric_named(name), rows, confidence)
            true = truth(name, means[0]) - truth(name, means[1])
            tallies[name] += _tally(low, high, true, rows)
    return [{**cell, "metric": name, **_shares(tally)} for name, tally in tallies.items()]


def ends_of_difference(metric: Metric, rows: list[Array], confidence: float) -> tuple[Array, Array]:
    """MOVER, as `compare` makes it; identical rows have no interval."""
    there = [np.ones(one.shape[:2]) for one in rows]
    one, other = (closed_form(metric, [(each, n)], confidence) for each, n in zip(rows, there, strict=True))
    low, high = difference_ends(one, other, confidence)
    same = (rows[0] == rows[1]).all(axis=(1, 2))
    return np.where(same, np.nan, low[:, 0]), np.where(same, np.nan, high[:, 0])


def flips_in_order() -> list[float]:
    """The upper ends for 0, 1, 2, 3 flips, and 5: of 200 problems with 10 variants."""
    highs = []
    for flips in (0, 1, 2, 3, 5):
        rows = np.stack([np.arange(200) < flips, np.full(200, 10)], axis=1).astype(np.int64)
        highs.append(float(closed_form(metric_named("flip_rate"), [(rows, np.ones(200))], 0.95).high[0]))
    return highs


# The list of cells


def cells() -> list[tuple[str, dict[str, Any]]]:
    """All cells, by kind."""
    shares = [
        ("share", {"mean": mean, "buckets": size, "clusters": kind})
        for mean, size, kind in product(MEANS, SIZES, CLUSTERS)
    ]
    differences = [
        ("difference", {"means": list(means), "correlation": r, "buckets": size, "clusters": kind})
        for (means, r), size, kind in product(PAIRS, SIZES[:3], CLUSTERS[:2])
    ]
    return shares + differences


def measure(job: tuple[str, dict[str, Any]], sims: int) -> list[dict[str, Any]]:
    kind, cell = job
    work = {"share": share_cell, "difference": difference_cell}[kind]
    return [{"kind": kind, **row} for row in work(cell, sims)]


def run(tiny: bool = False) -> list[dict[str, Any]]:
    """Measure all cells of intervals and of decisions on all cores, and write each to the log."""
    from . import levels  # which takes its data from here

    step, sims = (29, 60) if tiny else (1, SIMULATIONS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [row for rows in pool.map(partial(measure, sims=sims), cells()[::step]) for row in rows]
        fewer = sims if tiny else levels.SIMULATIONS
        tests = [row for rows in pool.map(partial(levels.measure, sims=fewer), levels.cells()[::step]) for row in rows]
    if not tiny:
        LOG.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in found + tests).encode()))
    return summary(found) + levels.summary(tests)


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The promises of intervals, each with the worst cell."""
    return [*_promises(found, "share", "share"), *_promises(found, "difference", "difference"), _order()]


def _promises(found: list[dict[str, Any]], kind: str, what: str) -> list[dict[str, Any]]:
    rows = [row for row in found if row["kind"] == kind and row["clusters"] != "unequal" and row["covered"] is not None]
    least = min(rows, key=lambda row: row["covered"])
    below = [row for row in rows if row["covered"] < 0.94]
    rich = [row for row in rows if row["rich"] >= 0.5]
    most = max(rich, key=lambda row: row["covered"], default=least)
    return [
        {
            "claim": f"95 % interval of a {what}: truths missed in the worst of {len(rows)} cells",
            "measured": 100 * (1 - least["covered"]), "unit": "%", "at_most": 7, "detail": named(least),
        },
        {
            "claim": "the same: cells in which it covers less than 94 %",
            "measured": 100 * len(below) / len(rows), "unit": "%", "at_most": 10, "detail": f"{len(below)} cells",
        },
        {
            "claim": f"the same: most that it covers in {len(rich)} cells with 5 clusters with the event and 5 without",
            "measured": 100 * most["covered"], "unit": "%", "at_most": 99.5, "detail": named(most),
        },
    ]  # fmt: skip


def _order() -> dict[str, Any]:
    highs = flips_in_order()
    narrower = sum(later < earlier for earlier, later in pairwise(highs))
    detail = f"upper ends for 0, 1, 2, 3, 5 flips: {', '.join(f'{100 * high:.2f} %' for high in highs)}"
    claim = "intervals that one flip more makes narrower (200 problems, 10 variants)"
    return {"claim": claim, "measured": narrower, "unit": "times", "at_most": 0, "detail": detail}


def named(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("kind", "truth"))


def page(log: Path = LOG) -> str:
    """The tables of docs/metrics.md, from the log: worst and best of all metrics and rates."""
    from . import levels

    rows = [json.loads(line) for line in lzma.decompress(log.read_bytes()).splitlines()]
    lines = ["| problems | clusters | a share | a difference |", "|---|---|---|---|"]
    for size, kind in product(SIZES, CLUSTERS):
        cells = [_covered(rows, what, size, kind) for what in ("share", "difference")]
        lines.append(f"| {size:,} | {_KINDS[kind]} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n\n" + levels.page(rows)


_KINDS = {"none": "each its own", "mean 3": "of 3 on average", "unequal": "very unequal"}


def _covered(rows: list[dict[str, Any]], what: str, size: int, kind: str) -> str:
    found = [row["covered"] for row in rows if (row["kind"], row.get("buckets"), row["clusters"]) == (what, size, kind)]
    known = [one for one in found if one is not None]
    return f"{100 * min(known):.1f} – {100 * max(known):.1f} %" if known else "–"
