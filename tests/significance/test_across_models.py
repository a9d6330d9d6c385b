"""The crossed test by hand and by simulation; Student's and Welch's t against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refuses
from scipy import stats

from otherwords.errors import BadInput
from otherwords.metrics.metric import Metric
from otherwords.significance.across_models import crossed_test, crossed_tests, influences, t_test


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("paired", [True, False])
def test_agrees_with_scipy(seed: int, paired: bool) -> None:
    random = np.random.default_rng(seed)
    one, other = random.random(6), random.random(6 if paired else 9)
    expected = stats.ttest_rel(one, other) if paired else stats.ttest_ind(one, other, equal_var=False)
    result = t_test(one, other, paired=paired)
    assert tuple(result) == pytest.approx((expected.statistic, expected.df, expected.pvalue), rel=1e-10)


def test_scores_that_do_not_vary() -> None:
    assert tuple(t_test([0.5, 0.5], [0.5, 0.5])) == (0.0, 1.0, 1.0)
    assert t_test([0.75, 0.75], [0.5, 0.5]).p == 0.0


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rounding_is_no_variation(paired: bool, scale: float) -> None:
    sums, thirds = np.full(3, 0.1 + 0.2) * scale, np.full(3, 0.3) * scale
    assert sums[0] != thirds[0]
    assert t_test(sums, thirds, paired)[::2] == (0.0, 1.0)
    noisy = scale * np.array([0.1 + 0.2, 0.3, 0.3])
    assert t_test(noisy, thirds, paired)[::2] == (0.0, 1.0)
    assert t_test(noisy, thirds / 2, paired)[::2] == (np.inf, 0.0)
    assert t_test(thirds / 2, noisy, paired)[::2] == (-np.inf, 0.0)


def test_pairs_that_all_differ_alike_differ_for_certain() -> None:
    one, other = np.array([0.8, 0.9, 1.1]), np.array([0.7, 0.8, 1.0])
    assert np.std(one - other) > 0  # by rounding
    assert tuple(t_test(one, other)) == (np.inf, 2.0, 0.0)


@pytest.mark.parametrize("paired", [True, False])
def test_small_but_real_variation_counts(paired: bool) -> None:
    one, other = 1 + 1e-8 * np.array([1.0, 2.0, 4.0]), 1 + 1e-8 * np.array([2.0, 5.0, 3.5])
    expected = stats.ttest_rel(one, other) if paired else stats.ttest_ind(one, other, equal_var=False)
    assert t_test(one, other, paired).p == pytest.approx(expected.pvalue, rel=1e-5)


@pytest.mark.parametrize(("one", "other"), [([0.5], [0.4]), ([], []), ([0.1, 0.2], [0.1, 0.2, 0.3])])
def test_too_few_or_unpaired_scores_are_refused(one: list[float], other: list[float]) -> None:
    with refuses(BadInput):
        t_test(one, other)


# Models and problems crossed


def by_hand(values: np.ndarray, moved: np.ndarray) -> tuple[float, float]:
    """V and the squared errors of models and clusters in it, from their definitions, in loops."""
    m, g = moved.shape
    mean = sum(values) / m
    of_models = sum((one - mean) ** 2 for one in values) / (m - 1) / m
    columns = [sum(moved[i, j] for i in range(m)) / m for j in range(g)]
    of_clusters = sum(one**2 for one in columns)
    rest = sum((moved[i, j] - columns[j]) ** 2 for i in range(m) for j in range(g)) / (m * (m - 1))
    kurtosis = g * sum(one**4 for one in columns) / of_clusters**2
    df = max(1, min(g - 1, 2 * g / (kurtosis - 1)))
    critical = (of_models * stats.t.ppf(0.975, m - 1) + of_clusters * stats.t.ppf(0.975, df)) / (
        of_models + of_clusters
    )
    variance = max(of_models + of_clusters - rest, of_models, of_clusters)
    return variance**0.5, critical


@pytest.mark.parametrize("seed", range(5))
def test_the_crossed_test_by_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    values, moved = random.normal(0.1, 0.05, 4), random.normal(0, 0.02, (4, 30)) + random.normal(0, 0.02, 30)
    error, critical = by_hand(values, moved)
    found = crossed_test(values, moved)
    assert (found.difference, found.error) == pytest.approx((values.mean(), error))
    assert (found.low, found.high) == pytest.approx(
        (values.mean() - critical * error, values.mean() + critical * error)
    )
    at_p = crossed_test(values, moved, confidence=1 - found.p)  # p is where an end of the interval is zero
    assert min(abs(at_p.low), abs(at_p.high)) == pytest.approx(0, abs=1e-9)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_the_order_of_models_and_clusters_does_not_matter() -> None:
    random = np.random.default_rng(1)
    values, moved = random.random(5), random.normal(size=(5, 40))
    models, clusters = random.permutation(5), random.permutation(40)
    assert crossed_test(values[models], moved[models][:, clusters]) == crossed_test(values, moved)


def test_one_source_of_chance_is_a_t_test_over_it() -> None:
    """Problems without influence: a t over models. Models that all agree: a t over problems."""
    values = np.array([0.1, 0.2, 0.25])
    assert crossed_test(values, np.zeros((3, 10))).p == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    pairs = np.random.default_rng(2).normal(0.2, 1, 40)
    moved = influences(Metric(np.asarray), np.stack([pairs, np.ones(40)], axis=1))[:, 0]
    kurtosis = 40 * (moved**4).sum() / (moved**2).sum() ** 2
    df = min(39, 80 / (kurtosis - 1))
    t = stats.ttest_1samp(pairs, 0).statistic
    assert crossed_test([pairs.mean()] * 3, [moved] * 3).p == pytest.approx(2 * stats.t.sf(abs(t), df))


def test_where_nothing_varies_there_is_nothing_to_decide_by() -> None:
    assert crossed_test([0.0, 0.0], np.zeros((2, 5))).p == 1.0
    assert np.isnan(crossed_test([0.5, 0.5], np.zeros((2, 5)))[2:]).all()


def test_influences_are_those_of_a_ratio() -> None:
    random = np.random.default_rng(3)
    den = random.integers(0, 5, 30)
    num = random.binomial(den, 0.3)
    value, n = num.sum() / den.sum(), (den > 0).sum()
    expected = (num - value * den) / den.sum() * np.sqrt(n / (n - 1))
    found = influences(Metric(np.asarray), np.stack([num, den], axis=1))[:, 0]
    assert found == pytest.approx(expected, abs=1e-9)
    assert (found[den == 0] == 0).all()
    always = np.stack([den, den], axis=1)  # a share of 1: rounding is no influence
    assert not influences(Metric(np.asarray), always).any()


@pytest.mark.parametrize(("values", "moved"), [([0.1], [[0.1]]), ([0.1, 0.2], [[0.1]]), ([0.1, 0.2], [0.1, 0.2])])
def test_values_without_influences_are_refused(values: list[float], moved: list[object]) -> None:
    with refuses(BadInput, fix="give a value for each of two or more models, and a row of influences for each"):
        crossed_test(values, moved)


def test_true_nulls_are_rejected_at_their_level() -> None:
    """Three models; the mean over models varies as much as that over problems, which is hardest. The t over models that
    share their problems does not hold its level. (`python -m benchmarks crossed` has answers instead of normal data.)
    """
    random = np.random.default_rng(1)
    models, problems, tables = 3, 40, 4000
    shared = random.normal(0, 1, (tables, 1, problems))
    for own in (0.0, np.sqrt(models / problems)):
        answers = (
            shared + random.normal(0, own, (tables, models, 1)) + random.normal(0, 0.3, (tables, models, problems))
        )
        values = answers.mean(axis=2)
        moved = (answers - values[:, :, None]) / np.sqrt(problems * (problems - 1))
        assert (crossed_tests(values, moved)[2] < 0.05).mean() < 0.06
        if own == 0:
            assert np.mean([t_test(each, [0.0] * models).p < 0.05 for each in values[:500]]) > 0.3
