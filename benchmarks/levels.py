"""How often a decision rejects what is true, by simulation: of one metric, of several, across a margin.

The data are those of `coverage`. A decision is p at most 5 %, p being the larger of the permutation test's and the
interval's. Beside it stand the permutation test alone, and McNemar's test of all variants, which assumes that they are
independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from otherwords.metrics.metric import Metric, as_metric
from otherwords.registry import metrics
from otherwords.scoring.compare import _adjusted as adjusted
from otherwords.scoring.difference import Sides, _margin_tests, _max_t, _paired, differences
from otherwords.scoring.select import IntervalSettings
from otherwords.significance.bootstrap import Sample, collapse
from otherwords.significance.intervals import closed_form, difference_p
from otherwords.significance.multiple import adjust
from otherwords.significance.pairs import MetricDifference, Pairing
from otherwords.significance.permutation import exchange_test, swap_test

from .coverage import CLUSTERS, METRICS, Array, answers_of, clusters, metric_named, named, portions, rows_of, thetas

#: Simulations of a cell: a standard error of 0.2 points at 5 %.
SIMULATIONS = 10_000
#: Replicates of a test: enough for its level to be exact.
REPLICATES = 199
#: Which part of the simulations the tests beside the decision get, which are slower.
FEWER = 5
MARGIN = 0.05


def cells() -> list[tuple[str, dict[str, Any]]]:
    """All cells: models alike, or unlike in their spread alone; one metric, or all; at the edge of a margin."""
    sizes = list(product((20, 50, 200), CLUSTERS[:2]))
    alike = [
        ("decision", {"null": "alike", "mean": mean, "correlation": r, "buckets": size, "clusters": kind})
        for mean, r, (size, kind) in product((0.5, 0.9), (0.7, -0.7, None), sizes)
    ]
    spread = [
        ("decision", {"null": "spread", "mean": 0.9, "correlation": 0.0, "buckets": size, "clusters": kind})
        for size, kind in sizes
    ]
    family = [("family", {"mean": 0.85, "correlation": 0.5, "buckets": size, "clusters": kind}) for size, kind in sizes]
    margin = [
        ("margin", {"means": [mean, round(mean - MARGIN, 2)], "correlation": 0.5, "buckets": size, "clusters": kind})
        for mean, (size, kind) in product((0.6, 0.95), sizes)
    ]
    return alike + spread + family + margin


def measure(job: tuple[str, dict[str, Any]], sims: int) -> list[dict[str, Any]]:
    """The rows of one cell."""
    kind, cell = job
    work = {"decision": decision_cell, "family": family_cell, "margin": margin_cell}[kind]
    return [{"kind": kind, **row} for row in work(cell, sims)]


def chances(random: np.random.Generator, cell: dict[str, Any], cluster: Array) -> list[Array]:
    """Both models' chances of a right answer: drawn alike, or of one all or nothing, of the other always the mean."""
    mean = cell["mean"]
    if cell.get("null") == "spread":
        whole = np.take_along_axis((random.random(cluster.shape) < mean).astype(float), cluster, axis=1)
        return [whole, np.full(cluster.shape, mean)]
    return thetas(random, (mean, mean), cell["correlation"] or 0.0, cluster)


def decision_cell(cell: dict[str, Any], sims: int) -> list[dict[str, Any]]:
    """One metric at a time. Without a correlation the models answer different problems, of groups apart."""
    random = np.random.default_rng([round(1000 * cell["mean"]), cell["buckets"], CLUSTERS.index(cell["clusters"]),
                                    len(cell["null"]), round(10 * (cell["correlation"] or 2)) + 10])  # fmt: skip
    names = METRICS if cell["null"] == "alike" else ("accuracy_variants",)
    paired, tally = cell["correlation"] is not None, {name: np.zeros(6) for name in names}
    for portion in portions(sims, 2 * cell["buckets"]):
        cluster = clusters(random, cell["clusters"], portion, cell["buckets"])
        sizes = random.integers(1, 9, cluster.shape)
        both = [answers_of(theta, sizes, random) for theta in chances(random, cell, cluster)]
        for name in names:
            rows = [rows_of(metric_named(name), data, cluster) for data in both]
            tally[name] += _decisions(metric_named(name), rows, paired)
            if name == "accuracy_variants" and paired:
                tally[name][4:] += _mcnemar(both, portion)
    return [_decided(cell, name, counts.tolist()) for name, counts in tally.items()]


def _decided(cell: dict[str, Any], name: str, counts: list[float]) -> dict[str, Any]:
    known, rejected, swaps, swapped, rows, by_rows = counts
    found = {**cell, "metric": name, "simulations": int(known), "rejected": round(rejected / known, 4)}
    found["permutation alone"] = round(swapped / swaps, 4)
    return found | ({"McNemar, independent rows": round(by_rows / rows, 4)} if rows else {})


def _decisions(metric: Metric, rows: list[Array], paired: bool) -> Array:
    """Simulations, decisions against the truth, simulations that were permuted anyway, and rejections among them.

    A permutation test cannot make a decision where the interval does not: so most need none.
    """
    ends = [closed_form(metric, [(one, np.ones(one.shape[:2]))], 0.95) for one in rows]
    leaves_out = difference_p(ends[0], ends[1], paired)[:, 0] <= 0.05
    beside = np.arange(len(leaves_out)) < -(-len(leaves_out) // FEWER)
    p = np.array([
        _permuted(metric, [one[sim] for one in rows], paired, sim) if some else 1.0
        for sim, some in enumerate(leaves_out | beside)
    ])  # fmt: skip
    decided = leaves_out & (p <= 0.05)
    return np.array([len(p), decided.sum(), beside.sum(), (beside & (p <= 0.05)).sum(), 0, 0])


def _permuted(metric: Metric, rows: list[Array], paired: bool, seed: int) -> float:
    if paired:
        units = np.concatenate(rows, axis=1)
        units = units[(units[:, rows[0].shape[1] - 1] > 0) | (units[:, -1] > 0)]
        return float(swap_test(Sample(*collapse(units), MetricDifference(metric)), REPLICATES, seed)[0])
    halves = []
    for place, units in enumerate(one[one[:, -1] > 0] for one in rows):
        blank = np.zeros_like(units)
        halves.append(collapse(np.concatenate([blank, units] if place else [units, blank], axis=1)))
    if min(len(counts) for _, counts in halves) == 0:
        return 1.0
    sample = Sample(*halves[0], MetricDifference(metric), outside=halves[1])
    return float(exchange_test(sample, REPLICATES, seed)[0])


def _mcnemar(both: list[Any], sims: int) -> Array:
    """Simulations, and rejections of McNemar's exact test of all variants."""
    from scipy.special import bdtr

    one, other = both
    sim = one.bucket // (one.n_buckets // sims)
    n10, n01 = (
        np.bincount(sim[one.is_variant & a.correct & ~b.correct], minlength=sims)
        for a, b in ((one, other), (other, one))
    )
    p = np.minimum(1, 2 * bdtr(np.minimum(n10, n01), n10 + n01, 0.5))
    return np.array([sims, (p <= 0.05).sum()])


def family_cell(cell: dict[str, Any], sims: int) -> list[dict[str, Any]]:
    """Six metrics of two models that are alike: how often any of them is rejected, by each adjustment.

    No p is below that of its swap test alone: where none of those is small, nothing is rejected.
    """
    chosen, found = [metrics.make(name) for name in METRICS], np.zeros(3)
    for seed, pair in enumerate(_pairs(cell, (cell["mean"], cell["mean"]), sims)):
        settings, sides = IntervalSettings(seed, REPLICATES), _sides(pair)
        pairs = [_paired(one, chosen, as_metric(one.function), sides, settings, False) for one in chosen]
        swapped = [swap_test(one.sample, REPLICATES, seed) for one in pairs]
        if np.min(swapped) > 0.05:
            continue
        p = np.array([
            np.fmax(swap, one.interval_p(one.estimates())) if swap[0] <= 0.05 else swap
            for one, swap in zip(pairs, swapped, strict=True)
        ])  # fmt: skip
        maxt = np.maximum(p, np.array(_max_t(pairs, swapped, sides.pairing, settings)))
        found += [maxt.min() <= 0.05, adjust(p[:, 0], "holm").min() <= 0.05, p.min() <= 0.05]
    rates = dict(zip(("rejected", "Holm", "unadjusted"), (found / sims).round(4).tolist(), strict=True))
    return [{**cell, "simulations": sims, **rates}]


def margin_cell(cell: dict[str, Any], sims: int) -> list[dict[str, Any]]:
    """Accuracies that differ by the margin: how often they are called equivalent.

    No p is below those of the margin's tests alone: where these are not small, nothing is rejected.
    """
    chosen, rejected = [metrics.make("accuracy_variants")], 0
    for seed, pair in enumerate(_pairs(cell, cell["means"], sims)):
        settings = IntervalSettings(seed, REPLICATES)
        one = _paired(chosen[0], chosen, as_metric(chosen[0].function), _sides(pair), settings, False)
        if np.maximum(*_margin_tests(one, None, MARGIN, one.estimates()))[0] <= 0.05:
            rejected += _p_equivalent(chosen, pair, settings) <= 0.05
    return [{**cell, "simulations": sims, "rejected": round(rejected / sims, 4)}]


def _p_equivalent(chosen: Any, pair: list[Any], settings: IntervalSettings) -> float:
    """That of a metric, as `compare` gives it."""
    [compared] = differences(chosen, _sides(pair), settings, True, MARGIN)
    [row] = adjusted([compared.rows], settings, None)
    return 1.0 if row.p_equivalent is None else row.p_equivalent


def _pairs(cell: dict[str, Any], means: Any, sims: int) -> Iterator[list[Any]]:
    """Pairs of answers tables, one for each simulation."""
    random = np.random.default_rng([round(1000 * mean) for mean in means] + [cell["buckets"], len(cell["clusters"])])
    for _ in range(sims):
        cluster = clusters(random, cell["clusters"], 1, cell["buckets"])
        sizes = random.integers(1, 9, cluster.shape)
        pair = [answers_of(theta, sizes, random) for theta in thetas(random, means, cell["correlation"], cluster)]
        yield [replace(one, cluster=cluster[0].copy(), frame=_frame(one)) for one in pair]


def _frame(answers: Any) -> pl.DataFrame:
    """The columns that tell answers apart: bucket and variant."""
    place = np.arange(len(answers.bucket))
    return pl.DataFrame({"model": "m", "bucket": answers.bucket, "variant": np.where(answers.is_variant, place, -1)})


def _sides(pair: list[Any]) -> Sides:
    """Two models that answered the same."""
    return Sides(("a", "b"), pair, Pairing((pair[0].cluster, pair[0].cluster)))


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The promise of each kind of decision, with the worst cell."""
    claims = {
        "decision": "decisions at 5 %: true nulls rejected",
        "family": "any of six metrics rejected by maxT",
        "margin": "called equivalent at the edge of the margin",
    }
    summed = []
    for kind, claim in claims.items():
        rows = [row for row in found if row["kind"] == kind]
        if rows:
            most = max(rows, key=lambda row: row["rejected"])
            summed.append({"claim": f"{claim}, in the worst of {len(rows)} cells", "measured": 100 * most["rejected"],
                           "unit": "%", "at_most": 6, "detail": named(most)})  # fmt: skip
    return summed


def page(rows: list[dict[str, Any]]) -> str:
    """The table of docs/metrics.md: the worst of all metrics and rates."""
    lines = ["| problems | clusters | decision by `p` | permutation alone | McNemar | any of six, maxT | margin |"]
    lines.append("|---|---|---|---|---|---|---|")
    for size, kind in product((20, 50, 200), CLUSTERS[:2]):
        here = [row for row in rows if (row.get("buckets"), row["clusters"]) == (size, kind)]
        decided = [row for row in here if row["kind"] == "decision"]
        worst = [
            _worst(decided, "rejected"),
            _worst(decided, "permutation alone"),
            _worst(decided, "McNemar, independent rows"),
            _worst([row for row in here if row["kind"] == "family"], "rejected"),
            _worst([row for row in here if row["kind"] == "margin"], "rejected"),
        ]
        clustered = "each its own" if kind == "none" else "of 3 on average"
        lines.append(f"| {size} | {clustered} | {' | '.join(worst)} |")
    return "\n".join(lines) + "\n"


def _worst(rows: list[dict[str, Any]], name: str) -> str:
    return f"{100 * max(row[name] for row in rows if name in row):.1f} %"
