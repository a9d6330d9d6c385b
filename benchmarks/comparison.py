"""Comparing two models with one metric, both tests included, against scipy's bootstrap and permutation test of it.

Ten thousand replicates over 20,000 buckets of eight variants; scipy runs 200 of each, times 50.
"""

from __future__ import annotations

from typing import Any

from . import isolated

_MAKE = """
import numpy as np, polars as pl
def answers(seed, model, buckets=20_000, size=8):
    random = np.random.default_rng(seed)
    gold = np.random.default_rng(0).integers(0, 3, buckets).repeat(size + 1)
    pred = np.where(random.random(len(gold)) < 0.8, gold, random.integers(0, 3, len(gold)))
    place = np.tile(np.arange(size + 1), buckets)
    labels = np.array(["entailment", "neutral", "contradiction"])
    variant = pl.Series(place).cast(pl.String).set(pl.Series(place == 0), None)
    return pl.DataFrame({"model": model, "bucket": np.arange(buckets).repeat(size + 1), "variant": variant,
                         "gold": labels[gold], "pred": labels[pred]})
"""

_OURS = (
    _MAKE
    + """
import time, otherwords as ow
from otherwords.scoring.compare import compare
one, other = answers(1, "one"), answers(2, "two")
start = time.perf_counter()
[found] = compare(one, other, ["flip_rate"])
report(seconds=time.perf_counter() - start, p=found.p_swap)
"""
)

_PEER = """
import time, numpy as np
from scipy import stats
random = np.random.default_rng(0)
one, other = random.binomial(8, 0.3, (2, 20_000))
start = time.perf_counter()
stats.bootstrap((one, other), lambda a, b, axis: (a.sum(axis) - b.sum(axis)) / 160_000, paired=True, vectorized=True,
                n_resamples=200, batch=50, method="percentile", rng=random)
stats.permutation_test((one, other), lambda a, b, axis: (a.sum(axis) - b.sum(axis)) / 160_000, vectorized=True,
                       permutation_type="samples", n_resamples=200, batch=50, rng=random)
report(seconds=(time.perf_counter() - start) * 50)
"""


def run() -> list[dict[str, Any]]:
    ours, peer = isolated.run(_OURS), isolated.run(_PEER)
    return [
        {
            "claim": "two models compared by flip rate (20,000 buckets, 10,000 replicates), as a part of scipy's time",
            "measured": ours["seconds"] / peer["seconds"],
            "unit": "x",
            "at_most": 0.2,
            "detail": f"ours {ours['seconds']:.2f} s, aligning 360,000 answers included; scipy {peer['seconds']:.1f} s",
        }
    ]
