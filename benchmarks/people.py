"""Whether the flip rate among sound variants is right, and what a judge and the choice of items buy. By simulation.

A cell is a suite drawn again and again: clusters of variants, each with its own chance of being sound, and of flipping
(both beta distributed, intra-class correlation 0.2); unsound variants flip more often. A judge's score is the
probability of soundness after seeing a normal variable that tells sound from unsound with the stated area under the
curve; or something worse: too strict, wrong on flips, distrustful of flips, or nothing. People judge some variants.
The estimates are the package's own functions, for many suites at a time. The log of all cells is in
results/people.jsonl.xz.
"""

from __future__ import annotations

import json
import lzma
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from otherwords.significance.design import next_items
from otherwords.significance.prediction_powered import COLUMNS, batch_weights, cluster_sums, powered_share

from .coverage import Array

Case = dict[str, Any]
LOG = Path(__file__).parent / "results" / "people.jsonl.xz"
SIMULATIONS = 400
#: The cells that look worst are drawn again, with other random numbers: the worst of many is bad by chance, too.
AGAIN, MORE = 40, 3000
RATES = (0.02, 0.1, 0.3, 0.5)
SOUND = (0.6, 0.9, 0.98)
#: Clusters, and the least and greatest number of variants in one. Of 50 clusters, all are judged in part; of the others
#: people see variants at random, or two each of 50 clusters.
SUITES = ((50, 2, 8, "items"), (400, 1, 1, "items"), (200, 1, 8, "items"), (150, 2, 8, "clusters"))
JUDGES = ("none", "0.5", "0.75", "0.95", "yes or no", "strict", "wrong on flips", "distrusts flips")
VERDICTS = 100
CORRELATION = 0.2
#: How much more likely an unsound variant is to flip.
LIFT = (0.0, 0.4)
#: What is asked in batches of this size: flip rates, judges, and how many verdicts a plain sample has.
BATCH, PLAIN = 25, 200
ACTIVE = tuple(product((0.05, 0.1, 0.15, 0.3), ("none", "0.85", "wrong on flips")))


def suites(random: np.random.Generator, cell: Case, sims: int) -> dict[str, Array]:
    """Variants of many suites, each as (simulations, clusters, variants); `there` says which exist."""
    clusters, least, most, _ = cell["suite"]
    there = np.arange(most) < random.integers(least, most + 1, (sims, clusters))[..., None]
    chance = {name: _beta(random, cell[name], (sims, clusters, 1)) for name in ("rate", "sound")}
    sound = (random.random(there.shape) < chance["sound"]).astype(float)
    flips = chance["rate"] + cell["lift"] * (1 - sound)
    hits = (random.random(there.shape) < flips).astype(float)
    return {"there": there, "hits": hits, "sound": sound, "judge": _judge(random, cell, sound, hits)}


def _beta(random: np.random.Generator, mean: float, shape: tuple[int, ...]) -> Array:
    spread = 1 / CORRELATION - 1
    return random.beta(mean * spread, (1 - mean) * spread, shape)


def _judge(random: np.random.Generator, cell: Case, sound: Array, hits: Array) -> Array:
    kind = cell["judge"]
    if kind == "none":
        return np.ones(sound.shape)
    apart = np.sqrt(2) * ndtri(float(kind) if kind[0] == "0" else 0.85)
    seen = random.standard_normal(sound.shape) + apart * sound
    odds = np.log(cell["sound"] / (1 - cell["sound"])) + apart * seen - apart**2 / 2
    score = 1 / (1 + np.exp(-odds))
    worse = {
        "yes or no": (score > 0.5).astype(float),
        "strict": score**3,
        "wrong on flips": np.where(hits == 1, 1 - score, score),
        "distrusts flips": np.where(hits == 1, 0.3 * score, score),
    }
    return np.asarray(worse.get(kind, score))


def asked_of(random: np.random.Generator, cell: Case, there: Array, n: int) -> tuple[Array, Array]:
    """Which variants people judge, and the weight of each: at random, or two each of so many clusters."""
    sims, clusters, _ = there.shape
    key = np.where(there, random.random(there.shape), 2.0)
    if cell["suite"][3] == "items":
        last = np.partition(key.reshape(sims, -1), n - 1, axis=1)[:, n - 1]
        asked = key <= last[:, None, None]
    else:
        chosen = np.argsort(np.argsort(random.random((sims, clusters)), axis=1), axis=1) < n // 2
        asked = (np.argsort(np.argsort(key, axis=2), axis=2) < 2) & chosen[..., None] & there
    sizes = there.sum(axis=2, keepdims=True)
    inverse = np.ones(there.shape) if cell["suite"][3] == "items" else np.broadcast_to(sizes / 2, there.shape)
    weight = np.where(asked, inverse, 0.0)
    total = there.sum(axis=(1, 2), keepdims=True)
    return asked, weight * (total / weight.sum(axis=(1, 2), keepdims=True))


def stacked_sums(drawn: dict[str, Array], asked: Array, weight: Array) -> Array:
    """Sums by cluster, as the package makes them: (simulations, clusters, columns)."""
    there = drawn["there"]
    sims, clusters, _ = there.shape
    place = np.broadcast_to(np.arange(sims * clusters).reshape(sims, clusters, 1), there.shape)[there]
    sound = np.where(asked, drawn["sound"], np.nan)
    rows = cluster_sums(drawn["hits"][there], drawn["judge"][there], sound[there], weight[there], place)
    whole = np.zeros((sims * clusters, len(COLUMNS)))
    whole[: len(rows)] = rows
    return whole.reshape(sims, clusters, -1)


def measure(cell: Case, sims: int = SIMULATIONS, seed: int = 1) -> Case:
    """How often the interval of a cell holds the truth, and how wide it is, with the judge and without."""
    random = np.random.default_rng([seed, *json.dumps(cell).encode()])
    found: dict[str, list[Array]] = {}
    for portion in _portions(sims):
        drawn = suites(random, cell, portion)
        rows = stacked_sums(drawn, *asked_of(random, cell, drawn["there"], cell["verdicts"]))
        rows = rows[(rows[..., COLUMNS.index("ws")] > 0).any(axis=1)]
        for name, trust in (("judge", None), ("people", 0.0)):
            one = powered_share(rows, trust=trust)
            held = (one.low <= cell["rate"]) & (cell["rate"] <= one.high)
            parts = {"held": held, "width": one.high - one.low, "value": one.value, "trust": one.trust}
            for part, values in parts.items():
                found.setdefault(f"{name}:{part}", []).append(values)
    means = {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}
    return {**cell, **means, "wider": means["judge:width"] / means["people:width"], "sims": sims}


def _portions(sims: int) -> list[int]:
    return [min(250, sims - start) for start in range(0, sims, 250)]


def cells() -> list[Case]:
    grid = product(SUITES, RATES, SOUND, JUDGES, LIFT)
    keys = ("suite", "rate", "sound", "judge", "lift")
    return [{**dict(zip(keys, one, strict=True)), "verdicts": VERDICTS} for one in grid]


# Which items to ask


def ask(cell: Case, mode: str, steps: tuple[int, ...], seed: int) -> list[tuple[float, bool]]:
    """The width of the interval, and whether it holds the truth, after each batch of a suite."""
    drawn = suites(np.random.default_rng([seed, *json.dumps(cell).encode()]), cell, 1)
    there = drawn["there"][0]
    hits, truth, judge = (drawn[name][0][there] for name in ("hits", "sound", "judge"))
    cluster, size = np.nonzero(there)[0], int(there.sum())
    names = {"bucket": cluster.astype(str), "variant": np.arange(size).astype(str)}
    items = pl.DataFrame({**names, "flip": hits, "judge": judge})
    sound, p, batch = np.full(size, np.nan), np.full(size, np.nan), np.zeros(size, dtype=int)
    found = []
    for number, count in enumerate(steps, 1):
        known = pl.Series("sound", sound, nan_to_null=True)
        drawn_now = next_items(items.with_columns(known, asked=known.is_not_null()), mode, count, seed * 1000 + number)
        place = drawn_now["variant"].cast(pl.Int64).to_numpy()
        sound[place], p[place], batch[place] = truth[place], drawn_now["probability"].to_numpy(), number
        asked, weight = ~np.isnan(sound), np.zeros(size)
        weight[asked] = batch_weights(p[asked], batch[asked], size)
        one = powered_share(cluster_sums(hits, judge, sound, weight, cluster))
        found.append((float(one.high - one.low), bool(one.low <= cell["rate"] <= one.high)))
    return found


def active_cell(rate: float, judge: str) -> Case:
    return {"suite": (400, 1, 8, "items"), "rate": rate, "sound": 0.9, "judge": judge, "lift": 0.4}


def active(setting: tuple[float, str], sims: int, plain: int = PLAIN) -> Case:
    """How many of the most useful items give the interval that a plain sample of so many gives."""
    rate, judge = setting
    cell = active_cell(rate, judge)
    steps = (BATCH,) * (plain // BATCH)
    plainly = np.array([ask(cell, "sample", (plain,), seed) for seed in range(sims)])[:, 0]
    usefully = np.array([ask(cell, "most_useful_next", steps, seed) for seed in range(sims)])
    widths, counts = usefully[..., 0].mean(axis=0), np.cumsum(steps)
    target = plainly[:, 0].mean()
    needed = np.interp(-target, -widths, counts) if widths[-1] <= target else float("inf")
    held = usefully[..., 1].mean(axis=0)[counts >= min(100, plain)]
    return {
        "rate": rate,
        "judge": judge,
        "plain": plain,
        "width": target,
        "needed": float(needed),
        "part": float(needed) / plain,
        "widths": widths.round(4).tolist(),
        "held": held.round(4).tolist(),
        "plain_held": plainly[:, 1].mean(),
        "sims": sims,
    }


def active_again(setting: tuple[float, str], sims: int) -> Case:
    """How often the interval holds the truth after 100 and after 200 of the most useful items, with other numbers."""
    rate, judge = setting
    steps = (BATCH * 2, BATCH * 2, BATCH * 4)
    found = np.array([ask(active_cell(rate, judge), "most_useful_next", steps, 10_000 + seed) for seed in range(sims)])
    held = found[:, 1:, 1].mean(axis=0)
    return {"rate": rate, "judge": judge, "held": held.round(4).tolist(), "sims": sims}


def run(tiny: bool = False) -> list[Case]:
    """Cover, width and savings, as rows with limits."""
    grid, sims, more = (cells()[::250], 40, 40) if tiny else (cells(), SIMULATIONS, MORE)
    asked, active_sims, active_more = (ACTIVE[:1], 3, 3) if tiny else (ACTIVE, 100, 600)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
        first = list(pool.map(partial(measure, sims=sims), grid, chunksize=4))
        worst = sorted(range(len(grid)), key=lambda place: first[place]["judge:held"])[:AGAIN]
        again = list(pool.map(partial(measure, sims=more, seed=2), [grid[place] for place in worst]))
        useful = list(pool.map(partial(active, sims=active_sims), asked))
        least = sorted(range(len(asked)), key=lambda place: np.mean(useful[place]["held"]))[:4]
        held = list(pool.map(partial(active_again, sims=active_more), [asked[place] for place in least]))
    cases = [*({**one, "kind": "cell"} for one in first), *({**one, "kind": "again"} for one in again)]
    cases += [*({**one, "kind": "active"} for one in useful), *({**one, "kind": "active again"} for one in held)]
    if not tiny:
        with lzma.open(LOG, "wt") as file:
            file.writelines(json.dumps(one) + "\n" for one in cases)
    return _rows(first, again, useful, held)


def _rows(first: list[Case], again: list[Case], useful: list[Case], held: list[Case]) -> list[Case]:
    low, wide = min(again, key=lambda one: one["judge:held"]), max(first, key=lambda one: one["wider"])
    means = {name: float(np.mean([one[name] for one in first])) for name in ("judge:held", "people:held", "wider")}
    rare = [one for one in useful if one["rate"] <= 0.1]
    dear, bare = max(rare, key=lambda one: one["part"]), min(held, key=lambda one: min(one["held"]))
    parts = ", ".join(f"{one['rate']:g} {one['judge']}: {one['part']:.2f}" for one in useful)
    return [
        {
            "claim": f"95 % interval of the flip rate among sound variants, {VERDICTS} verdicts: truths missed",
            "measured": 100 * (1 - low["judge:held"]),
            "at_most": 7,
            "unit": "% in the worst cell",
            "detail": f"{_name(low)}; mean over {len(first)} cells {100 * (1 - means['judge:held']):.1f} % "
            f"(people alone {100 * (1 - means['people:held']):.1f} %)",
        },
        {
            "claim": "its mean width, times that of people alone",
            "measured": wide["wider"],
            "at_most": 1.05,
            "unit": "times in the worst cell",
            "detail": f"{_name(wide)}; mean over all cells {means['wider']:.2f}",
        },
        {
            "claim": f"verdicts on the most useful items for the interval of {PLAIN} at random, flip rates to .1",
            "measured": dear["part"],
            "at_most": 0.5,
            "unit": "times in the worst case",
            "detail": parts,
        },
        {
            "claim": "truths that the interval misses where the most useful items are asked, after 100 and 200",
            "measured": 100 * (1 - min(bare["held"])),
            "at_most": 7,
            "unit": "% in the worst case",
            "detail": f"flip rate {bare['rate']:g}, judge {bare['judge']}, {bare['sims']} simulations",
        },
    ]


def _name(cell: Case) -> str:
    clusters, least, most, how = cell["suite"]
    return (
        f"{clusters} clusters of {least} to {most}, asked by {how}, flip rate {cell['rate']:g}, "
        f"{cell['sound']:g} sound, judge {cell['judge']}, unsound ones flip {cell['lift']:g} more often"
    )
