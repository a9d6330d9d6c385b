"""Student's and Welch's t against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refuses
from scipy import stats

from otherwords.errors import BadInput
from otherwords.significance.t_test import t_test


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
