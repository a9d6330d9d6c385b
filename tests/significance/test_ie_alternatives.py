"""The IE test's Alternative 1 against statsmodels, full enumeration and resampled rows; and how small a p can be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from otherwords.errors import BadInput, UnknownName
from otherwords.significance.ie_test import (
    NULLS,
    SYMMETRY,
    TAILS,
    Matched,
    decide,
    ie_test,
    reachable,
    smallest_p,
    symmetry_test,
)


def sample(n: int, n10: int, n01: int) -> Matched:
    return Matched(n, n - n01, n10, n01)


def pairs(n: int, n10: int, n01: int) -> np.ndarray:
    """A and B of every item."""
    return np.repeat([[1, 0], [0, 1], [1, 1]], [n10, n01, n - n10 - n01], axis=0)


def plain(drop: np.ndarray, changes: np.ndarray, statistic: str) -> np.ndarray:
    """The statistic as textbooks have it; 0 where nothing changed."""
    gap = np.maximum(np.abs(drop) - (statistic == "mcnemar"), 0)
    return np.where(changes == 0, 0.0, gap**2 / np.maximum(changes, 1))


@pytest.mark.parametrize(("n10", "n01"), [(12, 5), (5, 12), (7, 7), (1, 0), (0, 3), (900, 810)])
def test_statistics_are_those_of_statsmodels(n10: int, n01: int) -> None:
    one = sample(n10 + n01 + 20, n10, n01)
    table = [[20, n10], [n01, 0]]
    corrected = statsmodels_mcnemar(table, exact=False, correction=n10 != n01)  # it corrects a difference of 0 as well
    assert symmetry_test(one, "mcnemar", "exact").statistic == pytest.approx(corrected.statistic, rel=1e-12)
    q = cochrans_q(pairs(one.n, n10, n01))
    assert symmetry_test(one, "cochran", "exact").statistic == pytest.approx(q.statistic, rel=1e-12)


@pytest.mark.parametrize("statistic", SYMMETRY)
@pytest.mark.parametrize(
    ("n", "n10", "n01"), [(1, 1, 0), (2, 1, 0), (3, 2, 0), (3, 1, 1), (4, 3, 1), (4, 0, 2), (5, 3, 1), (5, 1, 4)]
)
def test_exact_null_is_the_full_enumeration(n: int, n10: int, n01: int, statistic: str) -> None:
    """All n^n resamples and 2^n swaps, one by one."""
    difference = pairs(n, n10, n01) @ [1, -1]
    drawn = np.array(list(itertools.product(difference, repeat=n)))
    signs = np.array(list(itertools.product((1, -1), repeat=n)))
    changed = drawn[:, None] * signs[None]
    values = plain(changed.sum(axis=2), np.abs(changed).sum(axis=2), statistic)
    observed = plain(difference.sum(), np.abs(difference).sum(), statistic)
    one = sample(n, n10, n01)
    above, reached = (values > observed + 1e-9).mean(), (values >= observed - 1e-9).mean()
    assert symmetry_test(one, statistic, "exact", "paper").p == pytest.approx(above, abs=1e-14)
    assert symmetry_test(one, statistic, "exact", "inclusive").p == pytest.approx(reached, abs=1e-14)


@pytest.mark.parametrize("statistic", SYMMETRY)
@pytest.mark.parametrize("null", ["paper", "released"])
def test_simulated_p_values_are_those_of_resampled_rows(null: str, statistic: str) -> None:
    n, n10, n01, size = 701, 50, 35, 4_000
    random, difference = np.random.default_rng(3), pairs(n, n10, n01) @ [1, -1]
    values = np.empty(size)
    for replicate in range(size):
        drawn = difference[random.integers(0, n, n)]
        swap = np.arange(n) < n // 2 if null == "released" else random.random(n) < 0.5
        drawn = np.where(swap, -drawn, drawn)
        values[replicate] = plain(drawn.sum(), np.abs(drawn).sum(), statistic)
    p = symmetry_test(sample(n, n10, n01), statistic, null, "inclusive", size, seed=1)
    expected = (values >= p.statistic - 1e-9).mean()
    assert p.p == pytest.approx(expected, abs=5 * np.sqrt(2 * expected * (1 - expected) / size))


@settings(max_examples=at_most(40), deadline=None)
@given(n10=st.integers(0, 60), n01=st.integers(0, 60), more=st.integers(1, 5_000))
def test_cochran_is_the_two_sided_t_and_all_p_values_are_p_values(n10: int, n01: int, more: int) -> None:
    one = sample(n10 + n01 + more, n10, n01)
    t = ie_test(one, "exact", "inclusive").p
    assert symmetry_test(one, "cochran", "exact", "inclusive").p == pytest.approx(t, rel=1e-9)
    for null, statistic in itertools.product(NULLS, SYMMETRY):
        printed, honest = (symmetry_test(one, statistic, null, tails, replicates=50).p for tails in TAILS)
        assert 0 <= printed <= honest <= 1
        assert honest > 0


@settings(max_examples=at_most(20), deadline=None)
@given(
    n10=st.integers(0, 300), n01=st.integers(0, 300), more=st.integers(1, 9_000), statistic=st.sampled_from(SYMMETRY)
)
def test_the_simulation_converges_to_the_exact_sum(n10: int, n01: int, more: int, statistic: str) -> None:
    one, size = sample(n10 + n01 + more, n10, n01), 20_000
    for tails in TAILS:
        exact, drawn = (
            symmetry_test(one, statistic, null, tails, replicates=size, seed=2).p for null in ("exact", "paper")
        )
        assert drawn == pytest.approx(exact, abs=6 * np.sqrt(exact * (1 - exact) / size) + 5 / size)


@pytest.mark.parametrize("statistic", SYMMETRY)
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("tails", TAILS)
def test_no_change_is_no_evidence(null: str, tails: str, statistic: str) -> None:
    found = symmetry_test(Matched(5, 3, 0, 0), statistic, null, tails)
    assert (found.statistic, found.p) == (0.0, 1.0)


def test_bad_options_are_refused() -> None:
    with refuses(UnknownName):
        symmetry_test(sample(9, 2, 1), "t")
    with refuses(UnknownName):
        symmetry_test(sample(9, 2, 1), null="normal")
    with refuses(BadInput, field="replicates"):
        symmetry_test(sample(9, 2, 1), replicates=0)


# How small a p-value can be


@pytest.mark.parametrize("n", range(1, 13))
def test_the_smallest_p_is_the_smallest_of_all_outcomes(n: int) -> None:
    for changed in range(n + 1):
        outcomes = [(n10, n01) for n10 in range(changed + 1) for n01 in range(changed + 1 - n10)]
        least = min(ie_test(sample(n, *one), "exact", "inclusive").p for one in outcomes)
        assert smallest_p(n, changed) == pytest.approx(least, rel=1e-12)
    assert smallest_p(n) == pytest.approx(min(1.0, 2.0 ** (1 - n)), rel=1e-12)


def test_the_simulated_null_has_a_floor_of_its_own() -> None:
    assert smallest_p(1_000, replicates=99) == pytest.approx(0.02)
    assert ie_test(sample(1_000, 900, 0), "paper", "inclusive", replicates=99).p == pytest.approx(0.02)
    assert not reachable(1_000, alpha=0.05, runs=5, replicates=99)
    assert reachable(1_000, alpha=0.05, runs=5, replicates=1_000)


@pytest.mark.parametrize(("n", "runs"), [(7, 5), (8, 5), (5, 1), (6, 1)])
def test_reachable_is_what_decide_can_reject(n: int, runs: int) -> None:
    best = ie_test(sample(n, n, 0), "exact", "inclusive").p
    assert reachable(n, 0.05, runs) == decide([best] * runs).rejected


def test_few_changed_rows_of_many_are_a_small_test_set() -> None:
    assert not reachable(10_000, alpha=0.05, runs=5, changed=4)
    assert reachable(10_000, alpha=0.05, runs=5, changed=6)
    assert not reachable(10_000, alpha=0.05, runs=5, changed=0)


def test_impossible_test_sets_are_refused() -> None:
    for counts in ((0, None), (5, 6), (5, -1)):
        with refuses(BadInput):
            smallest_p(*counts)
    with refuses(BadInput, field="runs"):
        reachable(100, 0.05, 0)
    with refuses(BadInput, field="alpha"):
        reachable(100, 5, 1)
