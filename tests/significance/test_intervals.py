"""Intervals in closed form: against plain loops, statsmodels and the truth that they are meant to cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from otherwords.metrics.metric import Metric, as_metric
from otherwords.registry import metrics
from otherwords.significance.intervals import (
    Units,
    closed_form,
    closed_forms,
    correlation,
    difference_ends,
    difference_interval,
    percentile,
    share_interval,
    slopes,
    undefined,
)

Array = np.ndarray[Any, Any]
RATIO = Metric(lambda answers: answers)


def ends(flips: list[int], variants: list[int], confidence: float = 0.95) -> tuple[float, float]:
    rows = np.stack([flips, variants], axis=1)
    found = closed_form(RATIO, [(rows, np.ones(len(rows)))], confidence)
    return float(found.low[0]), float(found.high[0])


def loop(flips: list[int], variants: list[int], confidence: float) -> tuple[float, float]:
    """The definition, number by number: Wilson on the effective sample size, and the floor."""
    pairs = [(f, n) for f, n in zip(flips, variants, strict=True) if n > 0]
    n_clusters, whole = len(pairs), sum(n for _, n in pairs)
    value = sum(f for f, _ in pairs) / whole
    flips_all = sum(f for f, _ in pairs)
    z = [n_clusters * (value - (flips_all - f) / (whole - n)) if whole > n else n_clusters * value for f, n in pairs]
    z = [0.0 if abs(one) < 1e-12 else one for one in z]  # what the value would lose without each
    error = sum(one**2 for one in z) / (n_clusters * (n_clusters - 1))
    normal = stats.norm.ppf((1 + confidence) / 2)
    if value in (0, 1) or error < 1e-20:
        size, q = float(n_clusters), normal
    else:
        kurtosis = np.mean([one**4 for one in z]) / np.mean([one**2 for one in z]) ** 2
        freedom = n_clusters - 1 if kurtosis <= 1 + 1e-12 else min(n_clusters - 1, 2 * n_clusters / (kurtosis - 1))
        size, q = value * (1 - value) / error, stats.t.ppf((1 + confidence) / 2, max(1, freedom))
    centre, scale = value + q * q / (2 * size), 1 + q * q / size
    half = q * math.sqrt(value * (1 - value) / size + q * q / (4 * size * size))
    floor = normal**2 / (n_clusters + normal**2)
    low, high = (centre - half) / scale, (centre + half) / scale
    if value not in (0, 1) and error >= 1e-20:
        largest = max(n for _, n in pairs) * n_clusters / whole  # the share is at most that of clusters with a flip
        have, lack = sum(f > 0 for f, _ in pairs), sum(f < n for f, n in pairs)
        most, least = (
            stats.beta.ppf((1 + confidence) / 2, k + 1, n_clusters - k) if k < n_clusters else np.inf
            for k in (have, lack)
        )
        low, high = max(low, 1 - least * largest), min(high, most * largest)
    return min(low, 1 - floor), max(high, floor)


cases = st.lists(st.integers(0, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=30)


@given(cases.filter(lambda rows: sum(n > 0 for _, n in rows) > 1), st.sampled_from([0.5, 0.9, 0.95]))
def test_a_share_equals_the_definition(rows: list[tuple[int, int]], confidence: float) -> None:
    flips, variants = [f for f, _ in rows], [n for _, n in rows]
    assert ends(flips, variants, confidence) == pytest.approx(loop(flips, variants, confidence), abs=1e-9)


@given(cases.filter(lambda rows: sum(n > 0 for _, n in rows) > 1))
def test_right_and_wrong_answers_have_mirrored_intervals(rows: list[tuple[int, int]]) -> None:
    low, high = ends([f for f, _ in rows], [n for _, n in rows])
    other_low, other_high = ends([n - f for f, n in rows], [n for _, n in rows])
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-9)
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("all_flip", [False, True])
def test_where_nothing_varies_it_is_wilsons_over_the_clusters(n: int, all_flip: bool) -> None:
    expected = proportion_confint(n * all_flip, n, method="wilson")
    assert ends([3 * all_flip] * n, [3] * n) == pytest.approx(expected, abs=1e-11)
    half = proportion_confint(n / 2, n, method="wilson")
    assert ends([1] * n, [2] * n) == pytest.approx(half, abs=1e-11)  # one of two in each


@pytest.mark.parametrize(("clusters", "variants"), [(200, 10), (20, 4), (50, 1), (1000, 8)])
def test_seeing_a_flip_never_narrows_the_interval(clusters: int, variants: int) -> None:
    highs = [ends([1] * flips + [0] * (clusters - flips), [variants] * clusters)[1] for flips in range(6)]
    assert highs[0] == min(highs)
    lows = [
        ends([variants - 1] * flips + [variants] * (clusters - flips), [variants] * clusters)[0] for flips in range(6)
    ]
    assert lows[0] == max(lows)


def test_one_cluster_has_none() -> None:
    assert all(math.isnan(end) for end in ends([1], [3]))
    assert all(math.isnan(end) for end in ends([1, 0], [3, 0]))


def test_clusters_are_equal_rows_counted() -> None:
    rows, counts = np.array([[0, 4], [1, 4], [3, 2]]), np.array([10, 5, 1])
    one = closed_form(RATIO, [(rows, counts)], 0.95)
    other = closed_form(RATIO, [(np.repeat(rows, counts, axis=0), np.ones(16))], 0.95)
    assert (one.low, one.high) == (pytest.approx(other.low, abs=1e-12), pytest.approx(other.high, abs=1e-12))


def test_two_samples_add_their_errors() -> None:
    """Of a test set, say: the value is a function of both, and each has its own clusters."""
    random = np.random.default_rng(3)
    flips = [random.binomial(4, 0.3, n) for n in (30, 50)]
    influences = [(one - one.mean()) / (4 * len(one)) for one in flips]
    value = np.array((flips[0].mean() + flips[1].mean()) / 8)
    units = [Units(one / 2, np.ones(len(one))) for one in influences]
    both, alone = share_interval(value, units, 0.95), share_interval(value, units[:1], 0.95)
    assert both[1] - both[0] > alone[1] - alone[0]


@pytest.mark.parametrize(("a", "n", "b", "m"), [(9, 10, 3, 10), (56, 70, 48, 80), (0, 10, 0, 20), (10, 10, 0, 10)])
def test_independent_shares_have_newcombes_interval(a: int, n: int, b: int, m: int) -> None:
    """MOVER on Wilson's ends without correlation is Newcombe's method (1998)."""
    wilsons = [proportion_confint(*pair, method="wilson") for pair in ((a, n), (b, m))]
    values = np.array(a / n), np.array(b / m)
    found = difference_interval(values, [(np.array(low), np.array(high)) for low, high in wilsons], np.array(0.0))
    expected = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
    assert [float(end) for end in found] == pytest.approx(expected, abs=1e-9)


def test_what_does_not_vary_is_correlated_with_nothing() -> None:
    one, other, counts = np.array([0.1, -0.1, 0.0]), np.zeros(3), np.ones(3)
    assert correlation(one, other, counts) == 0
    assert correlation(one, one, counts) == pytest.approx(1)
    assert correlation(one, -one, counts) == pytest.approx(-1)
    perfect = closed_form(RATIO, [(np.array([[1, 1], [3, 3], [1, 1]]), np.ones(3))], 0.95)
    assert not perfect.units[0].influence.any()  # 1/3 + 2/3 - 1 is not 0 in binary


def test_a_difference_is_mirrored_and_as_wide_as_its_error() -> None:
    random = np.random.default_rng(1)
    rows = [np.stack([random.binomial(4, 0.5, 8), np.full(8, 4)], axis=1) for _ in range(2)]
    one, other = (closed_form(RATIO, [(each, np.ones(8))], 0.95) for each in rows)
    low, high = difference_ends(one, other, 0.95)
    assert [-high[0], -low[0]] == [end[0] for end in difference_ends(other, one, 0.95)]
    error = (rows[0][:, 0] - rows[1][:, 0]) / 4
    reach = stats.sem(error) * stats.t.ppf(0.975, 7)
    assert high[0] >= error.mean() + reach - 1e-9
    apart = difference_ends(one, other, 0.95, paired=False)
    assert apart[0] < apart[1]


def test_many_data_sets_at_once_are_as_one_by_one() -> None:
    random = np.random.default_rng(0)
    sizes = [2, 3, 9, 40, 41, 300]
    samples = [(np.stack([random.binomial(5, 0.2, n), np.full(n, 5)], axis=1), np.ones(n)) for n in sizes]
    for name in ("flip_rate", "flip_directions", "accuracy_drop"):
        metric = as_metric(metrics.make(name).function)
        wide = [(np.column_stack([rows] * (2 if name == "accuracy_drop" else 1)), n) for rows, n in samples]
        for sample, found in zip(wide, closed_forms(metric, wide, 0.95), strict=True):
            alone = closed_form(metric, [sample], 0.95)
            np.testing.assert_array_equal(found[0], alone.low)
            np.testing.assert_array_equal(found[1], alone.high)


def test_slopes_are_those_of_calculus() -> None:
    sums = np.array([[3.0, 12.0], [0.0, 5.0]])
    found = slopes(lambda totals: (totals[..., 0] / totals[..., 1])[..., None], sums)
    np.testing.assert_allclose(found[..., 0], [[1 / 12, -3 / 144], [1 / 5, 0]], atol=1e-8)


def test_replicates_without_a_value_are_counted() -> None:
    values = np.array([[0.5, np.nan], [0.6, 0.5], [0.7, np.nan], [0.8, np.nan]])
    assert undefined(values).tolist() == [0, 0.75]
    assert percentile(values, 0.5)[0][1] == 0.5


@pytest.mark.parametrize(
    "cell",
    [
        {"mean": 0.5, "buckets": 20, "clusters": "mean 3"},
        {"mean": 0.95, "buckets": 50, "clusters": "none"},
        {"mean": 0.995, "buckets": 20, "clusters": "mean 3"},
        {"means": [0.98, 0.95], "correlation": -0.9, "buckets": 20, "clusters": "none"},
        {"means": [0.5, 0.5], "correlation": 0.0, "buckets": 20, "clusters": "mean 3"},
    ],
    ids=str,
)
def test_intervals_cover_the_truth(cell: dict[str, Any]) -> None:
    """The thin version of `python -m benchmarks coverage`: 93 % there, less three standard errors here."""
    from benchmarks import coverage

    found = coverage.measure(("share" if "mean" in cell else "difference", cell), 1500)
    assert len(found) == len(coverage.METRICS)
    for row in found:
        assert row["covered"] >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / row["simulations"]), row
