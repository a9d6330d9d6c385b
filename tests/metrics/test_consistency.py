"""P_C as in the ParaNLU paper, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.metrics import p_c
from otherwords.pipeline import score


@pytest.mark.parametrize(
    ("right", "of", "value"),
    [(0, 1, 1.0), (1, 1, 1.0), (1, 2, 0.5), (2, 2, 1.0), (1, 3, 5 / 9), (2, 3, 5 / 9), (3, 4, 10 / 16), (5, 10, 0.5)],
)
def test_one_bucket_by_hand(right: int, of: int, value: float) -> None:
    assert p_c([1] * right + [0] * (of - right), ["b"] * of) == pytest.approx(value, abs=1e-15)


def test_buckets_weigh_alike_whatever_their_size() -> None:
    correct = [1, 0] + [1] * 9
    assert p_c(correct, [0] * 2 + [1] * 9) == 0.75
    pooled = np.mean(correct) ** 2 + (1 - np.mean(correct)) ** 2
    assert p_c(correct, [0] * 2 + [1] * 9) != pytest.approx(pooled)


def test_it_is_one_minus_twice_the_mean_variance_with_ddof_0() -> None:
    random = np.random.default_rng(3)
    correct, bucket = random.integers(0, 2, 200), random.integers(0, 30, 200)
    variances = [np.var(correct[bucket == one]) for one in np.unique(bucket)]
    assert p_c(correct, bucket) == pytest.approx(1 - 2 * np.mean(variances), abs=1e-14)


def test_no_answers_is_an_error_not_a_nan() -> None:
    with pytest.raises(BadInput, match="no answers"):
        p_c([], [])


def test_metric_leaves_out_the_original_and_buckets_without_variants() -> None:
    table = pl.DataFrame(
        {
            "bucket": list("aaabbbbc"),
            "variant": [None, "1", "2", None, "1", "2", "3", None],
            "gold": ["x"] * 8,
            "pred": ["y", "x", "y", "y", "x", "x", "x", "x"],
        }
    )
    [one] = score(table, ["p_c"])
    assert (one.value, one.n_units, one.n_answers) == (0.75, 2, 5)
    assert (one.low, one.high) == (0.5, 1.0)


def test_two_different_wrong_answers_are_consistent_as_the_paper_has_it() -> None:
    table = pl.DataFrame({"bucket": ["a"] * 3, "variant": [None, "1", "2"], "gold": ["x"] * 3, "pred": ["x", "y", "z"]})
    assert score(table, ["p_c"])[0].value == 1.0
