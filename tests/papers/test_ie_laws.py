"""Laws of the IE test by simulation, in small; `python -m benchmarks ie_laws` has them in full."""

from __future__ import annotations

import importlib
from math import comb

import numpy as np
import pytest

laws = importlib.import_module("benchmarks.ie_laws")


@pytest.fixture(scope="module")
def independent() -> dict[str, dict[str, float]]:
    return laws.levels(experiments=60, rows=200, cluster=1, seed=5, runs=2)


@pytest.mark.parametrize("name", laws.TESTS)
def test_null_experiments_are_rejected_as_often_as_they_should_be(name: str, independent: dict) -> None:
    low, high = laws.binomial_interval(60, 0.05)
    assert low <= independent["share"][name] <= high
    assert independent["decision"][name] <= high


def test_the_simulation_sees_what_it_should() -> None:
    """Rows that change together are fewer than they seem: only the test that swaps whole clusters holds."""
    clustered = laws.levels(experiments=40, rows=200, cluster=3, seed=5, runs=3)
    assert clustered["decision"]["clustered"] <= laws.binomial_interval(40, 0.05)[1]
    assert clustered["decision"]["exact"] > laws.binomial_interval(40, 0.05)[1]


def test_before_and_after_are_exchangeable_in_the_simulation() -> None:
    right = laws.null_answers(400, 60, 1, [1])
    difference = right[..., 0].astype(int) - right[..., 1]
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(difference.size)
    assert difference.any()


def test_equal_answers_everywhere_are_no_evidence() -> None:
    assert laws.no_change(rows=100) == 0


def test_limits_are_those_of_the_binomial_distribution() -> None:
    low, high = (round(200 * end) for end in laws.binomial_interval(200, 0.05))
    chance = [comb(200, k) * 0.05**k * 0.95 ** (200 - k) for k in range(201)]
    assert sum(chance[:low]) < 0.0005 <= sum(chance[: low + 1])
    assert sum(chance[high + 1 :]) <= 0.0005 < sum(chance[high:])
