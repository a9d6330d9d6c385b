"""Comparing two models with one metric, both tests included, against scipy's bootstrap and permutation test of it.

Ten thousand replicates over 20,000 buckets of eight variants; scipy runs 200 of each, times 50.
"""

from __future__ import annotations

from typing import Any

from . import isolated

BUCKETS, REPLICATES = 20_000, 10_000
TINY_BUCKETS, TINY_REPLICATES = 100, 50

_MAKE = """
import numpy as np, polars as pl
buckets, replicates = map(int, sys.argv[1:])
def answers(seed, model, size=8):
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
import time
from otherwords import compare
one, other = answers(1, "one"), answers(2, "two")
start = time.perf_counter()
[found] = compare(one, other, ["flip_rate"], replicates=replicates)
report(seconds=time.perf_counter() - start, p=found.p_swap)
"""
)

_PEER = """
import time, numpy as np
from scipy import stats
buckets, replicates = int(sys.argv[1]), max(20, int(sys.argv[2]) // 50)
random = np.random.default_rng(0)
one, other = random.binomial(8, 0.3, (2, buckets))
difference = lambda a, b, axis: (a.sum(axis) - b.sum(axis)) / (8 * buckets)
start = time.perf_counter()
stats.bootstrap((one, other), difference, paired=True, vectorized=True,
                n_resamples=replicates, batch=50, method="percentile", rng=random)
stats.permutation_test((one, other), difference, vectorized=True,
                       permutation_type="samples", n_resamples=replicates, batch=50, rng=random)
report(seconds=(time.perf_counter() - start) * int(sys.argv[2]) / replicates)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    buckets, replicates = (TINY_BUCKETS, TINY_REPLICATES) if tiny else (BUCKETS, REPLICATES)
    ours, peer = (isolated.run(code, str(buckets), str(replicates)) for code in (_OURS, _PEER))
    detail = f"ours {ours['seconds']:.2f} s, aligning {18 * buckets:,} answers included; scipy {peer['seconds']:.1f} s"
    return [
        {
            "claim": f"two models compared by flip rate, {buckets:,} buckets, {replicates:,} replicates, of scipy's",
            "measured": ours["seconds"] / peer["seconds"],
            "unit": "x",
            "at_most": 0.2,
            "detail": detail,
        }
    ]
