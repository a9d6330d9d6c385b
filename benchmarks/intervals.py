"""Intervals of 10,000 replicates over 100,000 buckets: every metric, and scipy's bootstrap of one rate for comparison.

A metric is an integer metric where its rows collapse (counts, and functions of small counts); the others, with
fractions of every size, share their weights and are timed together.
"""

from __future__ import annotations

from typing import Any

from . import isolated

BUCKETS, REPLICATES = 100_000, 10_000
TINY_BUCKETS, TINY_REPLICATES = 3_000, 20
GROUPS, TINY_GROUPS = 5_000, 20

_OURS = """
import time, numpy as np, polars as pl
from otherwords.answers import reading
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics
from otherwords.scoring.measure import sample_of
from otherwords.significance.bootstrap import bootstrap, few
from otherwords.significance.intervals import percentile

buckets, replicates = map(int, sys.argv[1:])
random = np.random.default_rng(0)
size = random.integers(3, 11, buckets) + 1
bucket = np.repeat(np.arange(buckets), size)
first = np.concatenate([[0], np.cumsum(size)[:-1]])
gold = np.repeat(random.integers(0, 3, buckets), size)
skill = np.repeat(random.beta(4, 1, buckets), size)
logit = random.normal(0, 1, (len(bucket), 3))
logit[np.arange(len(bucket)), gold] += 3 * skill
p = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
number = pl.Series(np.arange(len(bucket)))
variant = number.cast(pl.String).set(number.is_in(pl.Series(first).implode()), None)
names = np.array(["entailment", "neutral", "contradiction"])
words = np.array("a dog runs in the park while it rains and no cat sleeps".split())
text = pl.Series([" ".join(row) for row in words[random.integers(0, 13, (len(bucket), 5))]])
frame = pl.DataFrame({"bucket": bucket, "variant": variant, "gold": names[gold],
                      "pred": names[p.argmax(axis=1)], "hypothesis": text,
                      **{f"p:{name}": p[:, i] for i, name in enumerate(names)}})
data = reading.read(frame, tuple(names))
collapsed, shared, seconds = [], [], {}
for plugin in metrics:
    if ... in plugin.options().values():
        continue
    bound = metrics.make(plugin.full_name)
    metric = as_metric(bound.function)
    if metric.across or metric.repeats or metric.label_mass:
        continue
    sample = sample_of(metric, metric.statistics(data), data.cluster, bound.signature)
    (collapsed if few(sample) else shared).append((plugin.name, sample))
for name, sample in collapsed:
    start = time.perf_counter()
    [drawn] = bootstrap([sample], replicates, 1)
    percentile(drawn, 0.95)
    seconds[name] = time.perf_counter() - start
start = time.perf_counter()
for (name, sample), drawn in zip(shared, bootstrap([sample for _, sample in shared], replicates, 1)):
    percentile(drawn, 0.95)
together = time.perf_counter() - start
report(collapsed=seconds, shared=[name for name, _ in shared], together=together)
"""

_PEER = """
import time, numpy as np
from scipy import stats
random = np.random.default_rng(0)
count = random.integers(3, 11, int(sys.argv[1]))
flips = random.binomial(count, 0.2)
start = time.perf_counter()
stats.bootstrap((flips, count), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, vectorized=True,
                n_resamples=200, batch=20, method="percentile", rng=random)
report(seconds=(time.perf_counter() - start) * 50)
"""

_GROUPS = """
import time, warnings, numpy as np, polars as pl
import otherwords as ow
groups, random = int(sys.argv[1]), np.random.default_rng(0)
bucket = np.repeat(np.arange(10 * groups), 6)
pred = np.where(random.random(len(bucket)) < 0.8, "yes", "no")
table = pl.DataFrame({"bucket": bucket.astype(str), "variant": np.tile(["", *"12345"], 10 * groups), "gold": "yes",
                      "pred": pred, "group": (bucket % groups).astype(str)})
warnings.simplefilter("ignore")
start = time.perf_counter()
scores = ow.score(table, by="group")
report(seconds=time.perf_counter() - start, scores=len(scores))
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    buckets, replicates = (TINY_BUCKETS, TINY_REPLICATES) if tiny else (BUCKETS, REPLICATES)
    ours, peer = isolated.run(_OURS, str(buckets), str(replicates)), isolated.run(_PEER, str(buckets))
    many = isolated.run(_GROUPS, str(TINY_GROUPS if tiny else GROUPS))
    slowest = max(ours["collapsed"], key=ours["collapsed"].get)
    worst, rate = ours["collapsed"][slowest], ours["collapsed"]["flip_rate"]
    return [
        {
            "claim": f"{replicates:,}-replicate interval over {buckets:,} buckets, slowest integer metric",
            "measured": worst,
            "unit": "s",
            "at_most": 2,
            "detail": f"{len(ours['collapsed'])} metrics, slowest {slowest}; flip_rate {rate:.3f} s",
        },
        {
            "claim": "the same for all float metrics together",
            "measured": ours["together"],
            "unit": "s",
            "at_most": 180,
            "detail": f"{len(ours['shared'])} metrics: {', '.join(ours['shared'])}",
        },
        {
            "claim": "flip_rate's interval, as a part of scipy.stats.bootstrap's time for one rate",
            "measured": rate / peer["seconds"],
            "unit": "x",
            "at_most": 0.05,
            "detail": f"scipy {peer['seconds']:.0f} s (200 replicates, times 50)",
        },
        {
            "claim": f"the usual metrics of {TINY_GROUPS if tiny else GROUPS:,} groups by --by, with intervals",
            "measured": many["seconds"],
            "unit": "s",
            "at_most": 10,
            "detail": f"{many['scores']:,} scores, 10 problems with 5 variants in each group",
        },
    ]
