"""Anytime intervals by simulation: how often one is ever wrong, and how many clusters `answer --until` takes.

Clusters are independent draws: their flip rates follow Beta(m, 1 - m) around the rate m, their variants are binomial.
The sequence is looked at after every cluster; it is wrong where it ever excludes the true pooled rate. `--until` looks
where it looks in earnest, and is measured against the clusters at which the usual interval, of a fixed size,
is as narrow in the median.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from otherwords.significance import anytime
from otherwords.significance.intervals import Units, share_interval

RATES, CONFIDENCE, WIDTHS = (0.02, 0.1, 0.3), 0.95, {0.02: (0.01,), 0.1: (0.01, 0.02), 0.3: (0.02,)}
Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[np.random.Generator, float, int], tuple[Array, Array]]


def one_variant(random: np.random.Generator, rate: float, count: int) -> tuple[Array, Array]:
    return (random.random(count) < rate).astype(float), np.ones(count)


def five_variants(random: np.random.Generator, rate: float, count: int) -> tuple[Array, Array]:
    return random.binomial(5, random.beta(rate, 1 - rate, count)).astype(float), np.full(count, 5.0)


def one_to_eight_variants(random: np.random.Generator, rate: float, count: int) -> tuple[Array, Array]:
    sizes = random.integers(1, 9, count)
    return random.binomial(sizes, random.beta(rate, 1 - rate, count)).astype(float), sizes.astype(float)


def clusters_of_problems(random: np.random.Generator, rate: float, count: int) -> tuple[Array, Array]:
    """One to five problems, which share their cluster's rate, of one to eight variants each."""
    problems = random.integers(1, 6, count)
    sizes = np.add.reduceat(random.integers(1, 9, problems.sum()), np.cumsum(problems) - problems)
    return random.binomial(sizes, random.beta(rate, 1 - rate, count)).astype(float), sizes.astype(float)


KINDS: tuple[Draw, ...] = (one_variant, five_variants, one_to_eight_variants, clusters_of_problems)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    clusters, stops = (200, 1) if tiny else (2_500, 20)
    cells = [(one, rate) for one in KINDS for rate in RATES]
    rows = []
    with ProcessPoolExecutor(1 if tiny else os.cpu_count()) as pool:
        for title, wrong, many in (
            ("the gate's interval", _gate_is_wrong, 500),
            ("the interval of --until", _until_is_wrong, 6_000),
        ):
            count = 5 if tiny else many
            jobs = [pool.submit(_share, wrong, one, rate, count, clusters) for one, rate in cells]
            shares = {f"{one.__name__} {rate}": job.result() for (one, rate), job in zip(cells, jobs, strict=True)}
            worst = max(shares, key=lambda name: shares[name])
            rows.append(
                {
                    "claim": f"{title}, looked at after each of {clusters:,} clusters, is ever wrong",
                    "measured": shares[worst],
                    "unit": f"of {count:,} simulations, in the worst of {len(shares)} cells ({worst})",
                    "at_most": round(1 - CONFIDENCE, 6),
                    "detail": ", ".join(f"{name}: {share:.4f}" for name, share in shares.items()),
                }
            )
        widths = [(one, rate, within) for one, rate in cells for within in WIDTHS[rate]]
        rows += [job.result() for job in [pool.submit(_stopping, *cell, stops, tiny) for cell in widths]]
    return rows


#: What the little that --until bets on a mixture can add to the error, at most (Ville).
SPARE = anytime._SPARE * (1 - CONFIDENCE)


def _share(wrong: Callable[..., bool], draw: Draw, rate: float, count: int, clusters: int) -> float:
    random = np.random.default_rng([1, int(1000 * rate)])
    share = float(np.mean([wrong(*draw(random, rate, clusters), rate) for _ in range(count)]))
    return share + SPARE if wrong is _until_is_wrong else share


def _gate_is_wrong(num: Array, den: Array, rate: float) -> bool:
    """Whether the true rate is ever refuted; `largest` is that of the clusters so far, as in a table that grows."""
    wanted, so_far = math.log(2 / (1 - CONFIDENCE)), np.maximum.accumulate(den)
    for hits, share in ((num, rate), (den - num, 1 - rate)):
        for largest in np.unique(so_far):
            last = int(np.searchsorted(so_far, largest, side="right"))
            first = int(np.searchsorted(so_far, largest))
            gain = (hits[:last] / share - den[:last]) / largest
            growth = np.cumsum(np.log1p(anytime._BETS[:, None] * gain), axis=1)[:, first:]
            capital = np.logaddexp.reduce(growth, axis=0) - math.log(len(anytime._BETS))
            if capital.max() >= wanted:
                return True
    return False


def _until_is_wrong(num: Array, den: Array, rate: float, within: float = 0.01) -> bool:
    wanted, largest = math.log(2 / ((1 - anytime._SPARE) * (1 - CONFIDENCE))), den.max()
    sides = ((num, rate), (den - num, 1 - rate))
    return any(anytime._planned(hits / largest, den / largest, within)(share) >= wanted for hits, share in sides)


def _stopping(draw: Draw, rate: float, within: float, count: int, tiny: bool) -> dict[str, Any]:
    random = np.random.default_rng([2, int(1000 * rate), int(1000 * within)])
    fixed = 100 if tiny else _fixed_size(draw, random, rate, within)
    taken = np.array([_taken(*draw(random, rate, 5 * fixed), within) for _ in range(count)]) / fixed
    return {
        "claim": f"--until, rate {rate} within {within}, {draw.__name__.replace('_', ' ')}: clusters asked",
        "measured": float(taken.mean()),
        "unit": f"times the {fixed:,} of a fixed-size interval",
        "at_most": 2,
        "detail": f"median {np.median(taken):.2f}, nine in ten below {np.quantile(taken, 0.9):.2f}",
    }


def _taken(num: Array, den: Array, within: float) -> int:
    rule, done, low, high, largest = anytime.Until("flip_rate", within), 0, 0.0, 1.0, den.max()
    while done < len(num) and not rule.is_known(low, high):
        done = min(rule.next_look(done, low, high), len(num))
        low, high = anytime.anytime_ends(num[:done], den[:done], CONFIDENCE, within=within, largest=largest)
    return done


def _fixed_size(draw: Draw, random: np.random.Generator, rate: float, within: float, count: int = 60) -> int:
    """How many clusters the usual interval needs to be as narrow, in the median of some draws."""
    most = math.ceil(8 * rate * (1 - rate) / within**2)
    draws = [draw(random, rate, most) for _ in range(count)]

    def is_narrow(size: int) -> bool:
        num, den = (np.stack([one[side][:size] for one in draws]) for side in (0, 1))
        value, total = num.sum(axis=1) / den.sum(axis=1), den.sum(axis=1)
        influence = (num - value[:, None] * den) / total[:, None]
        low, high = share_interval(value, [Units(influence, np.ones_like(den))], CONFIDENCE)
        return bool(np.median(high - low) <= 2 * within)

    least = 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_narrow(middle) else (middle, most)
    return most
