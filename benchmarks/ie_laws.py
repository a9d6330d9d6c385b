"""Laws of the IE test by simulation: how often it rejects where there is nothing to find, at a nominal 5 %.

An experiment has five runs on one test set; before and after the transformation a model is right with the same chance,
item by item, so that A and B are exchangeable. It is analysed like any other (`otherwords.papers.ie_results`). Rows
are independent; beside that, three rows of a premise share its difficulty and mostly their changes, which the paper's
test does not know: what it rejects there is reported, not limited. The test that swaps whole clusters must hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

EXPERIMENTS, TINY_EXPERIMENTS = 200, 12
#: For a closer look, from counts alone and under the exact null.
MANY, TINY_MANY = 4_000, 20
ROWS, TINY_ROWS = 1_500, 150
RUNS, ALPHA, SEED = 5, 0.05, 18
#: How often a row does as its premise does, where rows are clustered.
TOGETHER = 2 / 3
TESTS = ("paper", "released", "exact", "mcnemar", "cochran", "clustered")


def run(tiny: bool = False) -> list[dict[str, Any]]:
    experiments, rows = (TINY_EXPERIMENTS, TINY_ROWS) if tiny else (EXPERIMENTS, ROWS)
    independent, clustered = (levels(experiments, rows, size, SEED) for size in (1, 3))
    low, high = binomial_interval(experiments, ALPHA)
    outside = [name for name in TESTS if not low <= independent["share"][name] <= high]
    unaware = [name for name in TESTS if name != "clustered"]
    many = closer_look(TINY_MANY if tiny else MANY, rows, SEED)
    same = no_change(rows)
    return [
        {
            "claim": f"tests whose share of p < 0.05 over {experiments} null experiments is outside 99.9 % limits",
            "measured": len(outside),
            "unit": f"of {len(TESTS)}",
            "at_most": 0,
            "detail": f"{_listed(independent['share'])}; limits {100 * low:.1f} to {100 * high:.1f} %",
            "independent": independent,
        },
        {
            "claim": f"null experiments of {experiments} that {RUNS} runs reject (Bonferroni), the most of all tests",
            "measured": 100 * max(independent["decision"].values()),
            "unit": "%",
            "at_most": 100 * high,
            "detail": f"{_listed(independent['decision'])}; Holm decides the same",
        },
        {
            "claim": f"the same over {len(many):,} null experiments, exact null",
            "measured": 100 * float((many.min(axis=1) < ALPHA / RUNS).mean()),
            "unit": "%",
            "at_most": 100 * binomial_interval(len(many), ALPHA)[1],
            "detail": f"of all runs, {100 * float((many < ALPHA).mean()):.2f} % have p < 0.05",
        },
        {
            "claim": "runs with A = B everywhere that have t other than 0 or p other than 1",
            "measured": same,
            "unit": "runs",
            "at_most": 0,
            "detail": f"{len(TESTS)} tests, {RUNS} runs of {rows:,} rows",
        },
        {
            "claim": "the same where three rows of a premise change together, by the test that swaps whole clusters",
            "measured": 100 * clustered["decision"]["clustered"],
            "unit": "%",
            "at_most": 100 * high,
            "detail": f"p < 0.05: {100 * clustered['share']['clustered']:.1f} %",
        },
        {
            "claim": "reported beside: the same by the tests that do not know of clusters, the most of them",
            "measured": 100 * max(clustered["decision"][name] for name in unaware),
            "unit": "%",
            "at_most": 100,
            "detail": f"p < 0.05: {_listed(clustered['share'])}; decisions: {_listed(clustered['decision'])}",
            "clustered": clustered,
        },
    ]


def levels(experiments: int, rows: int, cluster: int, seed: int, runs: int = RUNS) -> dict[str, dict[str, float]]:
    """The shares of null experiments that each test rejects: `share` by the first run, `decision` by all of them."""
    from otherwords.papers.ie_results import ResultSettings, results

    first, decisions = [], []
    for number in range(experiments):
        matched = null_experiment(rows, cluster, [seed, cluster, number], runs)
        # Every experiment has replicates of its own, as if each were somebody else's.
        settings = ResultSettings(alpha=ALPHA, seed=number)
        found = results(matched.select("dataset", "model", "rho", "run").unique(), matched, settings)
        first.append(found.runs.row(0, named=True))
        decisions.append(found.decisions.row(0, named=True))
    return {
        "share": {name: float(np.mean([one[f"p_{name}"] < ALPHA for one in first])) for name in TESTS},
        "decision": {name: float(np.mean([one[f"rejected_{name}"] for one in decisions])) for name in TESTS},
    }


def null_experiment(rows: int, cluster: int, seed: list[int], runs: int = RUNS) -> pl.DataFrame:
    """The matched samples of an experiment in which nothing differs."""
    right = null_answers(runs, rows, cluster, seed)
    run, item = np.indices(right.shape[:2])
    gold = item % 2
    columns = {
        "run": run + 1,
        "id": item,
        "gold": gold,
        "before": np.where(right[..., 0], gold, 1 - gold),
        "after": np.where(right[..., 1], gold, 1 - gold),
    }
    table = pl.DataFrame({name: values.ravel() for name, values in columns.items()})
    table = table.with_columns(dataset=pl.lit("null"), model=pl.lit("m"), rho=pl.lit(0.5), changed=pl.lit(True))
    return table.with_columns(cluster=pl.col("id") // cluster)


def null_answers(runs: int, rows: int, cluster: int, seed: list[int]) -> np.ndarray:
    """Whether each row is answered right, before and after, in every run: difficulties are the test set's."""
    random = np.random.default_rng(seed)
    difficulty = np.repeat(random.normal(1.5, 1.5, -(-rows // cluster)), cluster)[:rows]
    chance = 1 / (1 + np.exp(-difficulty))[:, None]
    own = random.random((runs, rows, 2)) < chance
    premise = np.arange(rows) // cluster * cluster
    together = (random.random((runs, rows)) < TOGETHER) & (cluster > 1)
    return np.where(together[..., None], own[:, premise], own)


def closer_look(experiments: int, rows: int, seed: int) -> np.ndarray:
    """The exact p-value of every run of many null experiments, from their counts."""
    from otherwords.significance.ie_test import ie_test, matched

    p = np.empty((experiments, RUNS))
    for number in range(experiments):
        for run, one in enumerate(null_answers(RUNS, rows, 1, [seed, 0, number])):
            p[number, run] = ie_test(matched(one[:, 0], one[:, 1]), "exact", "inclusive").p
    return p


def no_change(rows: int) -> int:
    """How many runs of an experiment whose answers all stay have t other than 0, or any p-value other than 1."""
    from otherwords.papers.ie_results import results

    same = null_experiment(rows, 1, [SEED]).with_columns(after="before")
    runs = results(same.select("dataset", "model", "rho", "run").unique(), same).runs
    moved = pl.any_horizontal(*(pl.col(f"p_{name}") != 1 for name in TESTS), pl.col("t") != 0)
    return runs.filter(moved).height


def binomial_interval(experiments: int, share: float, confidence: float = 0.999) -> tuple[float, float]:
    """Between which shares the middle part of a binomial distribution lies."""
    from scipy.stats import binom

    tail = (1 - confidence) / 2
    low, high = binom.ppf([tail, 1 - tail], experiments, share) / experiments
    return float(low), float(high)


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
