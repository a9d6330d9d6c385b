"""The cluster bootstrap against independent implementations, and against the truth it is meant to cover."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from otherwords.metrics.metric import ratio
from otherwords.pipeline import score
from otherwords.significance.bootstrap import (
    Sample,
    _multinomial,
    _shared,
    _weights,
    _with_outside,
    by_cluster,
    collapse,
    few,
    fixed_point,
    totals,
)
from otherwords.significance.bootstrap import bootstrap as bootstrap_samples
from otherwords.significance.intervals import bca, percentile
from otherwords.storage.files import seed_for

Array = np.ndarray[Any, Any]


def flips_by_cluster(clusters: int, buckets: int, seed: int) -> tuple[Array, Array]:
    """Flips and variants of each bucket, and its cluster; buckets of a cluster have a common chance of a flip."""
    random = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), buckets)
    chance = random.beta(1, 3, clusters)[cluster]
    variants = random.integers(1, 6, len(cluster))
    return np.stack([random.binomial(variants, chance), variants], axis=1), cluster


def naive_bootstrap(rows: Array, cluster: Array, replicates: int, seed: int) -> Array:
    """Draw clusters one by one, gather their rows one by one, divide the sums."""
    random = np.random.default_rng(seed)
    members = [rows[cluster == one] for one in np.unique(cluster)]
    values = np.empty(replicates)
    for replicate in range(replicates):
        drawn = np.concatenate([members[random.integers(len(members))] for _ in members])
        values[replicate] = drawn[:, 0].sum() / drawn[:, 1].sum()
    return values


def ours(rows: Array, cluster: Array, replicates: int = 4_000, seed: int = 1) -> Array:
    return bootstrap(*collapse(by_cluster(rows, cluster)), replicates, seed)


def one_part(totals: Array) -> Array:
    return ratio(totals)[..., None]


def bootstrap(distinct: Array, counts: Array, replicates: int, seed: int, name: str = "") -> Array:
    [drawn] = bootstrap_samples([Sample(distinct, counts, one_part, name)], replicates, seed)
    return drawn[:, 0]


@pytest.mark.parametrize(("clusters", "buckets"), [(12, 1), (40, 3), pytest.param(100, 2, marks=pytest.mark.slow)])
def test_agrees_with_a_naive_bootstrap(clusters: int, buckets: int) -> None:
    rows, cluster = flips_by_cluster(clusters, buckets, seed=clusters)
    own, naive = ours(rows, cluster), naive_bootstrap(rows, cluster, 4_000, seed=2)
    assert stats.ks_2samp(own, naive).pvalue > 0.01
    assert own.mean() == pytest.approx(naive.mean(), abs=4 * naive.std() / math.sqrt(2_000))
    assert own.std() == pytest.approx(naive.std(), rel=0.06)  # the error of a std from 4,000 draws is 1.1 %
    for tail in (0.025, 0.975):
        assert np.quantile(own, tail) == pytest.approx(np.quantile(naive, tail), abs=0.2 * naive.std())


def answers(rows: Array, cluster: Array | None = None) -> pl.DataFrame:
    """An answers table in which bucket i has rows[i] = (flips, variants); originals say "no", as they should."""
    out = []
    for number, (flips, variants) in enumerate(rows.tolist()):
        out.append((f"b{number}", None, "no"))
        out += [(f"b{number}", str(i), "yes" if i < flips else "no") for i in range(variants)]
    table = pl.DataFrame(out, schema={"bucket": pl.String, "variant": pl.String, "pred": pl.String}, orient="row")
    table = table.with_columns(gold=pl.lit("no"))
    if cluster is None:
        return table
    names = pl.DataFrame({"bucket": [f"b{i}" for i in range(len(rows))], "cluster": cluster})
    return table.join(names, on="bucket", maintain_order="left")


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_agrees_with_scipys_percentile_interval(confidence: float) -> None:
    rows, _ = flips_by_cluster(150, 1, seed=5)
    [one] = score(answers(rows), ["flip_rate"], replicates=10_000, confidence=confidence, interval="percentile")
    expected = stats.bootstrap(
        (rows[:, 0], rows[:, 1]),
        lambda flips, variants, axis: flips.sum(axis) / variants.sum(axis),
        paired=True,
        n_resamples=10_000,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(9),
    )
    slack = 0.08 * expected.standard_error
    assert one.low == pytest.approx(expected.confidence_interval.low, abs=slack)
    assert one.high == pytest.approx(expected.confidence_interval.high, abs=slack)


def coverage(simulate: Callable[[int], pl.DataFrame], metric: str, truth: float, data_sets: int = 200) -> float:
    hits = 0
    for seed in range(data_sets):
        [one] = score(simulate(seed), [metric], replicates=400)
        assert one.low is not None
        assert one.high is not None
        hits += one.low <= truth <= one.high
    return hits / data_sets


def simulated(seed: int, blind: bool = False, clusters: int = 50, buckets: int = 3) -> pl.DataFrame:
    """Clusters of buckets of 4 variants; the chance of a flip, Beta(2, 3), belongs to the cluster."""
    random = np.random.default_rng([seed, 77])
    cluster = np.repeat(np.arange(clusters), buckets)
    rows = np.stack([random.binomial(4, random.beta(2, 3, clusters)[cluster]), np.full(len(cluster), 4)], axis=1)
    return answers(rows, None if blind else cluster)


#: With n = 4 variants a bucket, E[P_C] = 1 - 2 (n-1)/n E[p(1-p)]; a Beta(2, 3) has E[p(1-p)] = 2*3 / (5*6).
TRUTH = {"flip_rate": 2 / 5, "p_c": 1 - 2 * 3 / 4 * 6 / 30}


@pytest.mark.slow
@pytest.mark.parametrize("metric", TRUTH)
def test_95_percent_interval_covers_the_truth(metric: str) -> None:
    assert 0.88 <= coverage(simulated, metric, TRUTH[metric]) <= 0.99


def test_95_percent_interval_covers_the_true_flip_rate_in_a_few_data_sets() -> None:
    assert 0.84 <= coverage(simulated, "flip_rate", TRUTH["flip_rate"], data_sets=32) <= 1


@pytest.mark.slow
def test_buckets_taken_for_independent_would_cover_far_too_seldom() -> None:
    blind, seeing = (
        coverage(lambda seed, b=blind: simulated(seed, b, clusters=40, buckets=8), "flip_rate", 2 / 5, data_sets=80)
        for blind in (True, False)
    )
    assert blind < 0.8
    assert seeing > 0.88


@pytest.mark.parametrize("size", [4, 9])
def test_dependent_buckets_widen_the_interval_by_the_root_of_the_cluster_size(size: int) -> None:
    rows, _ = flips_by_cluster(80, 1, seed=8)
    many, cluster = np.repeat(rows, size, axis=0), np.repeat(np.arange(80), size)
    blind = score(answers(many), ["flip_rate"], replicates=4_000)[0]
    right = score(answers(many, cluster), ["flip_rate"], replicates=4_000)[0]
    single = score(answers(rows), ["flip_rate"], replicates=4_000)[0]
    assert blind.value == right.value == single.value
    width = {name: one.high - one.low for name, one in (("blind", blind), ("right", right), ("single", single))}  # type: ignore[operator]
    assert width["right"] / width["blind"] == pytest.approx(math.sqrt(size), rel=0.08)
    assert width["right"] == pytest.approx(width["single"], rel=0.06)  # copies of a bucket tell nothing new


def test_one_cluster_has_a_value_and_no_interval() -> None:
    rows, _ = flips_by_cluster(5, 1, seed=1)
    for one in score(answers(rows, np.zeros(5, dtype=int))):
        assert one.value is not None
        assert (one.low, one.high) == (None, None)


def test_one_cluster_with_variants_has_no_interval_whatever_else_there_is() -> None:
    table = pl.DataFrame(
        {"bucket": list("aabcd"), "variant": [None, "1", *[None] * 3], "gold": ["x"] * 5, "pred": list("xyxxy")}
    )
    names = ("accuracy_variants", "flip_rate")
    found = {one.metric: one for one in score(table, ["accuracy_original", *names], replicates=100)}
    assert found["accuracy_original"].low is not None
    for name in names:
        assert found[name].n_units == 1
        assert (found[name].low, found[name].high) == (None, None)


def fractions(count: int, seed: int = 4) -> Array:
    """Rows like those of P_C: a fraction and whether there is one."""
    random = np.random.default_rng(seed)
    n = random.integers(0, 9, count)
    k = random.binomial(n, 0.6)
    return np.stack([(k**2 + (n - k) ** 2) / np.maximum(n**2, 1), n > 0], axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6, 0.0])
def test_fixed_point_sums_equal_float_sums(scale: float) -> None:
    rows = np.random.default_rng(7).random((500, 2)) * [scale, 1]
    sample = Sample(*collapse(rows), one_part)
    assert not few(sample)
    random = np.random.default_rng(seed_for(3, "bootstrap units", "500"))
    weights = _weights(random, 500, 300)
    assert (weights.sum(axis=1) == len(rows)).all()
    distinct = sample.distinct
    expected = ratio(np.stack([[math.fsum(w * column) for column in distinct.T] for w in weights]))
    found = bootstrap(distinct, sample.counts, 300, 3)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


def test_fixed_point_rows_are_whole_and_small_enough_to_add_exactly() -> None:
    rows = fractions(1_000)
    whole, scale = fixed_point(rows, len(rows))
    assert (whole == np.round(whole)).all()
    assert np.abs(whole).max() * len(rows) <= 2**53
    assert np.abs(whole / scale - rows).max() < 1e-12
    counts, ones = fixed_point(np.array([[3, 4], [0, 1]]), 2)
    assert (counts.tolist(), ones.tolist()) == ([[3.0, 4.0], [0.0, 1.0]], [1.0, 1.0])


def test_units_are_drawn_as_a_multinomial() -> None:
    n = 100
    weights = _weights(np.random.default_rng(2), n, 4_000)
    owner = np.repeat(np.arange(4), [70, 20, 9, 1])
    merged = np.stack([weights[:, owner == one].sum(axis=1) for one in range(4)], axis=1)
    exact = np.random.default_rng(1).multinomial(n, [0.7, 0.2, 0.09, 0.01], 4_000)
    for column, share in enumerate([0.7, 0.2, 0.09, 0.01]):
        assert merged[:, column].mean() == pytest.approx(n * share, abs=0.3)
        assert merged[:, column].var() == pytest.approx(stats.binom(n, share).var(), rel=0.12)
        assert stats.ks_2samp(exact[:, column], merged[:, column]).pvalue > 0.01
    assert np.corrcoef(merged.T)[0, 1] == pytest.approx(np.corrcoef(exact.T)[0, 1], abs=0.03)


def test_both_ways_give_the_same_interval_for_the_same_data() -> None:
    rows, _ = flips_by_cluster(200, 1, seed=6)
    distinct, counts = collapse(rows)
    assert few(Sample(distinct, counts, one_part)) == (len(counts) <= 8 or len(counts) * 10 < 200)
    collapsed = _multinomial(np.random.default_rng(1), distinct, counts, 4_000)
    [row_by_row] = _shared([Sample(rows, np.ones(len(rows), dtype=np.int64), one_part)], 200, 4_000, 1)
    one, other = ratio(collapsed), ratio(row_by_row)
    assert stats.ks_2samp(one, other).pvalue > 0.01
    assert one.std() == pytest.approx(other.std(), rel=0.06)


def test_a_sample_does_not_depend_on_the_company_it_is_bootstrapped_in() -> None:
    random = np.random.default_rng(3)
    samples = [Sample(*collapse(random.random((60, 2))), one_part, name) for name in "abc"]
    samples.append(Sample(np.array([[1, 2], [0, 2]]), np.array([20, 40]), one_part, "few"))
    samples.append(Sample(*collapse(random.random((61, 2))), one_part, "other size"))
    together = bootstrap_samples(samples, 40, 1)
    for one, found in zip(samples, together, strict=True):
        [alone] = bootstrap_samples([one], 40, 1)
        assert alone.tobytes() == found.tobytes()


def test_rows_from_outside_are_drawn_separately() -> None:
    """A ratio whose denominator comes from another sample varies as both do."""
    random = np.random.default_rng(1)
    inside = np.stack([random.binomial(1, 0.4, 300), np.zeros(300, dtype=np.int64)], axis=1)
    outside = np.stack([np.zeros(500, dtype=np.int64), random.binomial(1, 0.5, 500)], axis=1)
    [drawn] = bootstrap_samples([Sample(*collapse(inside), one_part, "x", collapse(outside))], 20_000, 1)
    p, q = inside[:, 0].mean(), outside[:, 1].mean()
    relative = (1 - p) / (300 * p) + (1 - q) / (500 * q)  # variances of the logarithms add up
    assert np.log(drawn).std() == pytest.approx(math.sqrt(relative), rel=0.05)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bca_agrees_with_scipys(confidence: float) -> None:
    """On skewed ratios, where it differs from the percentile interval by far more than the tolerance."""
    random = np.random.default_rng(4)
    rows = np.stack([random.lognormal(0, 1.2, 80), random.integers(1, 5, 80)], axis=1)
    sample = Sample(*collapse(rows), one_part)
    [drawn] = bootstrap_samples([sample], 40_000, 1)
    (low,), (high,) = bca(sample, drawn, confidence)
    expected = stats.bootstrap(
        (rows[:, 0], rows[:, 1]),
        lambda top, bottom, axis: top.sum(axis) / bottom.sum(axis),
        paired=True, n_resamples=40_000, confidence_level=confidence, method="BCa", rng=np.random.default_rng(9),
    )  # fmt: skip
    slack = 0.06 * expected.standard_error
    assert low == pytest.approx(expected.confidence_interval.low, abs=slack)
    assert high == pytest.approx(expected.confidence_interval.high, abs=slack)
    (plain,), _ = percentile(drawn, confidence)
    assert abs(low - plain) > slack


def test_bca_of_two_samples_agrees_with_scipys() -> None:
    random = np.random.default_rng(8)
    one, other = random.lognormal(0, 1, 50), random.lognormal(0.2, 1, 90)
    inside = np.stack([one, np.zeros(50), np.ones(50), np.zeros(50)], axis=1)
    outside = np.stack([np.zeros(90), other, np.zeros(90), np.ones(90)], axis=1)

    def quotient(totals: Array) -> Array:
        return ((totals[..., 0] / totals[..., 2]) / (totals[..., 1] / totals[..., 3]))[..., None]

    sample = Sample(*collapse(inside), quotient, "q", collapse(outside))
    drawn = quotient(_with_outside(sample, _shared([sample], 50, 30_000, 1)[0], 30_000, 1))
    (low,), (high,) = bca(sample, drawn, 0.95)
    expected = stats.bootstrap(
        (one, other), lambda x, y, axis: x.mean(axis) / y.mean(axis),
        n_resamples=30_000, method="BCa", rng=np.random.default_rng(2),
    )  # fmt: skip
    slack = 0.08 * expected.standard_error
    assert low == pytest.approx(expected.confidence_interval.low, abs=slack)
    assert high == pytest.approx(expected.confidence_interval.high, abs=slack)


def test_bca_falls_back_where_nothing_can_be_corrected() -> None:
    sample = Sample(np.array([[2, 4]]), np.array([30]), one_part)
    [drawn] = bootstrap_samples([sample], 50, 1)
    assert [end.tolist() for end in bca(sample, drawn, 0.95)] == [[0.5], [0.5]]


def test_draws_depend_on_the_seed_and_the_data_only() -> None:
    rows, cluster = flips_by_cluster(30, 2, seed=3)
    distinct, counts = collapse(by_cluster(rows, cluster))

    def draw(replicates: int = 50, seed: int = 1, name: str = "a") -> list[float]:
        return bootstrap(distinct, counts, replicates, seed, name).tolist()  # type: ignore[no-any-return]

    assert draw() == draw()
    assert draw(replicates=80)[:50] == draw()  # more replicates go on where fewer ended
    assert draw(seed=2) != draw()
    assert draw(name="b") == draw()


def test_alike_clusters_leave_nothing_uncertain() -> None:
    distinct, counts = np.array([[2, 3]]), np.array([40])
    assert set(bootstrap(distinct, counts, 20, 1).tolist()) == {2 / 3}


@pytest.mark.parametrize(("right", "of"), [(1, 3), (2, 3), (1, 7), (3, 9), (5, 6)])
def test_alike_buckets_have_no_interval_from_replicates(right: int, of: int) -> None:
    rows = np.repeat([[right, of]], 37, axis=0)
    for one in score(answers(rows), ["accuracy_variants", "flip_rate", "p_c"], replicates=50, interval="bca"):
        assert (one.low, one.high, one.note) == (None, None, "all replicates are alike")


def test_percentile_by_hand() -> None:
    values = np.stack([np.arange(101) / 100, np.full(101, np.nan)], axis=1)
    values[:2, 1] = 0.5
    low, high = percentile(values, 0.9)
    assert low.tolist() == pytest.approx([0.05, 0.5])
    assert high.tolist() == pytest.approx([0.95, 0.5])
    assert np.isnan(percentile(np.full((3, 1), np.nan), 0.95)).all()


@pytest.mark.parametrize("pred", ["x", "y"])
def test_a_share_of_zero_or_one_gets_wilsons_interval_over_its_clusters(pred: str) -> None:
    """All replicates are alike there, which is not to know for sure."""
    rows = {"bucket": ["a", "a", "b", "b", "c", "c"], "variant": [None, "1"] * 3, "gold": ["x"] * 6}
    table = pl.DataFrame({**rows, "pred": ["x", pred] * 3})
    [one] = score(table, ["accuracy_variants"])
    expected = proportion_confint(3 if pred == "x" else 0, 3, method="wilson")
    assert (one.low, one.high) == pytest.approx(expected, abs=1e-11)
    [drawn] = score(table, ["accuracy_variants"], interval="percentile")
    assert (drawn.low, drawn.high, drawn.interval) == pytest.approx((*expected, "wilson"), abs=1e-11)


def test_wider_confidence_gives_a_wider_interval_around_the_same_value() -> None:
    rows, cluster = flips_by_cluster(60, 2, seed=2)
    found = [score(answers(rows, cluster), ["flip_rate"], confidence=c)[0] for c in (0.5, 0.9, 0.99)]
    assert len({one.value for one in found}) == 1
    lows, highs = [one.low for one in found], [one.high for one in found]
    assert lows == sorted(lows, reverse=True)  # type: ignore[type-var]
    assert highs == sorted(highs)  # type: ignore[type-var]
    assert len(set(lows)) == len(set(highs)) == 3


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float64])
def test_wide_rows_collapse_as_narrow_ones_do(kind: Any) -> None:
    rows = np.random.default_rng(3).integers(0, 2, (400, 14)).astype(kind) * (kind(1) if kind != np.float64 else 0.1)
    rows[200:] = rows[:200]
    distinct, counts = collapse(rows)
    expected = np.unique(rows, axis=0, return_counts=True)
    order = np.lexsort(distinct.T[::-1])
    assert distinct[order].tolist() == expected[0].tolist()
    assert counts[order].tolist() == expected[1].tolist()
    shuffled = collapse(np.random.default_rng(4).permutation(rows))
    assert shuffled[0].tobytes() == distinct.tobytes()
    assert distinct.dtype == (np.float64 if kind == np.float64 else np.int64)


def test_zeros_of_either_sign_are_one_row() -> None:
    clash = np.zeros((2, 14))
    clash[0, 0], clash[1, 0] = 0.0, -0.0  # equal numbers of different bits
    assert collapse(clash)[1].tolist() == [2]


# Rows of statistics


def matrices(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    return st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(elements, min_size=width, max_size=width), min_size=1, max_size=30)
    )


@given(matrices(st.integers(0, 3)))
def test_collapse_equals_a_loop(rows: list[list[int]]) -> None:
    distinct, counts = collapse(np.array(rows))
    expected: dict[tuple[int, ...], int] = defaultdict(int)
    for row in rows:
        expected[tuple(row)] += 1
    assert [tuple(row) for row in distinct.tolist()] == sorted(expected)
    assert counts.tolist() == [expected[key] for key in sorted(expected)]
    assert totals(distinct, counts).tolist() == np.sum(rows, axis=0).tolist()
    assert distinct.dtype.kind == "i"


@given(matrices(st.sampled_from([0.0, 0.1, 1 / 3, 5 / 9, 1.0])), st.randoms(use_true_random=False))
def test_collapse_of_fractions_forgets_the_order(rows: list[list[float]], random: Any) -> None:
    one = collapse(np.array(rows))
    other = collapse(np.array(random.sample(rows, len(rows))))
    assert one[0].tobytes() == other[0].tobytes()
    assert one[1].tobytes() == other[1].tobytes()
    assert int(one[1].sum()) == len(rows)


@given(
    st.one_of(matrices(st.integers(0, 2**40)), matrices(st.floats(0, 1))),
    st.data(),
    st.randoms(use_true_random=False),
)
def test_by_cluster_equals_a_loop_in_any_order(rows: list[list[Any]], data: st.DataObject, random: Any) -> None:
    drawn = data.draw(st.lists(st.integers(0, 6), min_size=len(rows), max_size=len(rows)))
    names = sorted(set(drawn))
    cluster = np.array([names.index(one) for one in drawn])
    found = by_cluster(np.array(rows), cluster)
    for number in range(len(names)):
        own = [row for row, owner in zip(rows, cluster, strict=True) if owner == number]
        exact = [math.fsum(column) for column in zip(*own, strict=True)]
        if len(names) < len(rows):  # otherwise each row is its own cluster, and comes back as it was
            assert found[number].tolist() == pytest.approx(exact, rel=1e-12)
    order = random.sample(range(len(rows)), len(rows))
    again = by_cluster(np.array([rows[i] for i in order]), cluster[order])
    assert sorted(again.tolist()) == sorted(found.tolist())
    assert found.dtype.kind == ("i" if isinstance(rows[0][0], int) else "f")
