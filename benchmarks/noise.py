"""Whether `flip_rate_net` is right: is it unbiased, and how often does its interval hold the truth? By simulation.

A cell is a data set drawn again and again: so many buckets of 1 to 8 variants, each wording asked so many times. In a
bucket, another wording changes the preferred one of two answers with a chance ~ Beta(rate, 1 - rate), and every answer
is the other one with a chance B / 2, B ~ Beta(m, 1 - m), m such that two answers to the same text differ with the
chance `noise` on average; both chances are shared by the buckets of a cluster. The statistics and intervals are the
package's own functions. The log of all cells is results/noise.jsonl.xz.
"""

from __future__ import annotations

import json
import lzma
import math
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from otherwords.answers.table import Answers
from otherwords.metrics.noise import sums_of_pairs
from otherwords.significance.intervals import closed_form

from .coverage import CLUSTERS, Array, answers_of, clusters, metric_named, portions

LOG = Path(__file__).parent / "results" / "noise.jsonl.xz"
RATES = (0.0, 0.02, 0.1, 0.3)
NOISES = (0.0, 0.05, 0.2)
SIZES = (20, 50, 200)
TIMES = (2, 3, 6)
SIMULATIONS = 4000
#: METHODS 8.1: originals are answered steadily, variants less so; net of the noise of originals alone is far off.
STEADY, UNSTEADY = 0.0206, 0.1909


def asked_in(cell: dict[str, Any], sims: int, random: np.random.Generator) -> tuple[Answers, Array, Array]:
    """The answers of some data sets as one table, all times that each was asked, and the cluster of each bucket."""
    cluster = clusters(random, cell["clusters"], sims, cell["buckets"])
    sizes = random.integers(1, 9, cluster.shape)
    data = answers_of(np.ones(cluster.shape), sizes, random)
    is_changed = random.random(len(data.pred)) < _of_rows(data, cluster, _beta(random, cell["rate"], cluster))
    preferred = is_changed & data.is_variant
    if cell["noise"] == "unsteady":
        chance = np.where(data.is_variant, UNSTEADY, STEADY)
    else:
        chance = _of_rows(data, cluster, _beta(random, spread_of(cell["noise"]), cluster)) / 2
    other = random.random((len(chance), cell["times"])) < chance[:, None]
    return data, (preferred[:, None] ^ other).astype(np.int16), cluster


def _of_rows(data: Answers, cluster: Array, values: Array) -> Array:
    return np.asarray(np.take_along_axis(values, cluster, axis=1).ravel()[data.bucket])


def _beta(random: np.random.Generator, mean: float, cluster: Array) -> Array:
    return random.beta(mean, 1 - mean, cluster.shape) if 0 < mean < 1 else np.full(cluster.shape, mean)


def spread_of(noise: float) -> float:
    """The mean m of B ~ Beta(m, 1 - m) for which E[B (1 - B / 2)] = m - m (m + 1) / 4 is the noise."""
    return (3 - math.sqrt(9 - 16 * noise)) / 2


def truths(cell: dict[str, Any]) -> tuple[float, float]:
    """The exact noise floor, and what the wording does beyond it: E[changed (1 - B)^2]."""
    if cell["noise"] == "unsteady":
        floor = STEADY * (1 - STEADY) + UNSTEADY * (1 - UNSTEADY)
        return floor, (UNSTEADY - STEADY) ** 2
    mean = spread_of(cell["noise"])
    return cell["noise"], cell["rate"] * (1 - 2 * mean + mean * (mean + 1) / 2)


def by_cluster(rows: Array, cluster: Array) -> Array:
    """The sums of clusters: simulations x clusters x columns."""
    sims, most = len(cluster), int(cluster.max()) + 1
    place = (cluster + most * np.arange(sims)[:, None]).ravel()
    sums = [np.bincount(place, rows[:, column], sims * most) for column in range(rows.shape[1])]
    return np.stack(sums, axis=1).reshape(sims, most, -1)


def measure(cell: dict[str, Any], sims: int = SIMULATIONS, confidence: float = 0.95) -> dict[str, Any]:
    """What the intervals cover in data of one kind, how far the means are from the truth, and what originals say."""
    random = np.random.default_rng(list(json.dumps(cell).encode()))
    floor, net = truths(cell)
    found: dict[str, list[Array]] = {}
    for portion in portions(sims, cell["buckets"] * cell["times"]):
        data, asked, cluster = asked_in(cell, portion, random)
        rows = by_cluster(sums_of_pairs(data, asked), cluster)
        counts = np.ones(rows.shape[:2])
        both = closed_form(metric_named("flip_rate_net"), [(rows, counts)], confidence)
        alone = closed_form(metric_named("repeat_flips"), [(rows[..., 1:], counts)], confidence)
        naive = _net_of_originals(data, asked, cluster)
        some = {
            "net": both.value, "net_low": both.low, "net_high": both.high, "naive": naive[:, None],
            "floor": alone.value, "floor_low": alone.low, "floor_high": alone.high,
        }  # fmt: skip
        for name, values in some.items():
            found.setdefault(name, []).append(values[:, 0])
    whole = {name: np.concatenate(some) for name, some in found.items()}
    row = {**cell, "simulations": sims, "truth": round(net, 5)}
    for name, true in (("net", net), ("floor", floor)):
        row |= _judged(whole, name, true)
    return {**row, "of_originals": round(float(np.nanmean(whole["naive"])), 5)}


def _judged(whole: dict[str, Array], name: str, true: float) -> dict[str, Any]:
    values, low, high = whole[name], whole[f"{name}_low"], whole[f"{name}_high"]
    known = ~np.isnan(low)
    error = float(np.nanstd(values)) / math.sqrt(len(values))
    off = float(np.nanmean(values) - true)
    return {
        f"{name}_mean": round(float(np.nanmean(values)), 5),
        f"{name}_errors_off": round(off / error, 2) if error > 0 else 0.0,
        f"{name}_covered": round(float(((low <= true + 1e-12) & (true - 1e-12 <= high))[known].mean()), 4),
        f"{name}_width": round(float((high - low)[known].mean()), 4),
    }


def _net_of_originals(data: Answers, asked: Array, cluster: Array) -> Array:
    """The flip rate less the noise of originals alone: what would be reported if only they were asked again."""
    times = asked.shape[1]
    ones = asked.sum(axis=1)
    noise = 2 * ones * (times - ones) / (times * (times - 1))
    flips = data.is_variant & (asked[:, 0] != data.of_original(asked[:, 0]))
    rows = np.stack(
        [np.bincount(data.bucket, flips - data.of_original(noise) * data.is_variant), data.n_variants], axis=1
    )
    sums = by_cluster(rows, cluster).sum(axis=1)
    return np.asarray(sums[:, 0] / sums[:, 1])


def cells() -> list[dict[str, Any]]:
    """All cells; the last are those of METHODS 8.1."""
    names = ("rate", "noise", "buckets", "times", "clusters")
    plain = [dict(zip(names, one, strict=True)) for one in product(RATES, NOISES, SIZES, TIMES, CLUSTERS[:2])]
    unsteady = [dict(zip(names, one, strict=True)) for one in product([0.0], ["unsteady"], SIZES, TIMES, CLUSTERS[:2])]
    return [*(one for one in plain if one["rate"] or one["noise"]), *unsteady]


def run(tiny: bool = False) -> list[dict[str, Any]]:
    """Measure all cells on all cores, and write each to the log."""
    step, sims = (37, 60) if tiny else (1, SIMULATIONS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(partial(measure, sims=sims), cells()[::-step][::-1]))
    if not tiny:
        LOG.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in found).encode()))
    return summary(found)


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The promises, each with the worst cell."""
    least = min(found, key=lambda row: row["net_covered"])
    floor = min(found, key=lambda row: row["floor_covered"])
    off = max(found, key=lambda row: abs(row["net_errors_off"]))
    nothing = [row for row in found if row["truth"] == 0]
    largest = max(nothing, key=lambda row: abs(row["net_mean"]))
    unsteady = [row for row in found if row["noise"] == "unsteady"]
    true, naive = unsteady[0]["truth"], np.mean([row["of_originals"] for row in unsteady])
    net = np.mean([row["net_mean"] for row in unsteady])
    return [
        {
            "claim": f"95 % interval of flip_rate_net: truths missed in the worst of {len(found)} cells",
            "measured": 100 * (1 - least["net_covered"]), "unit": "%", "at_most": 7, "detail": _named(least),
        },
        {
            "claim": "95 % interval of repeat_flips: the same",
            "measured": 100 * (1 - floor["floor_covered"]), "unit": "%", "at_most": 7, "detail": _named(floor),
        },
        {
            "claim": "flip_rate_net: standard errors by which the mean of a cell is off, at most",
            "measured": abs(off["net_errors_off"]), "unit": "", "at_most": 4, "detail": _named(off),
        },
        {
            "claim": f"flip_rate_net where the wording does nothing: largest mean of {len(nothing)} cells",
            "measured": 100 * abs(largest["net_mean"]), "unit": "points", "at_most": 0.5, "detail": _named(largest),
        },
        {
            "claim": f"variants less steady than originals, truth {true:.3f}: mean off by",
            "measured": 100 * abs(net - true), "unit": "points", "at_most": 0.2,
            "detail": f"flip_rate_net {net:.3f}; net of the noise of originals alone {naive:.3f}",
        },
    ]  # fmt: skip


def _named(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())
