"""P_C as in the ParaNLU paper, by hand; pairs and labels against counting and against Fleiss (1971)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import polars as pl
import pytest
from arrays import correct_table, on_correct, value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from statsmodels.stats.inter_rater import fleiss_kappa

from otherwords.errors import BadInput
from otherwords.pipeline import score

p_c, p_c_distinct, accuracy_buckets = map(on_correct, ("p_c", "p_c_distinct", "accuracy_buckets"))
BUCKETS = st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=8)


def label_agreement(pred, bucket) -> float:
    """On variants that are given these labels."""
    table = correct_table([True] * len(bucket), bucket)
    originals = len(table) - len(bucket)
    given = [*["x"] * originals, *(f"l{one}" for one in pred)]
    return value_of("label_agreement", table.with_columns(pred=pl.Series(given)))


def columns(buckets: list[list[bool]]) -> tuple[list[bool], list[int]]:
    """Whether each variant is right, and its bucket."""
    return [x for one in buckets for x in one], [i for i, one in enumerate(buckets) for _ in one]


@pytest.mark.parametrize(
    ("right", "of", "value"),
    [(0, 1, 1.0), (1, 1, 1.0), (1, 2, 0.5), (2, 2, 1.0), (1, 3, 5 / 9), (2, 3, 5 / 9), (3, 4, 10 / 16), (5, 10, 0.5)],
)
def test_one_bucket_by_hand(right: int, of: int, value: float) -> None:
    assert p_c([1] * right + [0] * (of - right), ["b"] * of) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("right", "of", "value"), [(1, 2, 0.0), (2, 2, 1.0), (1, 3, 1 / 3), (3, 4, 0.5), (5, 10, 4 / 9)]
)
def test_distinct_pairs_of_one_bucket_by_hand(right: int, of: int, value: float) -> None:
    assert p_c_distinct([1] * right + [0] * (of - right), ["b"] * of) == pytest.approx(value, abs=1e-15)


def test_buckets_weigh_alike_whatever_their_size() -> None:
    correct, bucket = [1, 0] + [1] * 9, [0] * 2 + [1] * 9
    assert p_c(correct, bucket) == 0.75
    assert p_c_distinct(correct, bucket) == 0.5
    assert accuracy_buckets(correct, bucket) == 0.75
    pooled = np.mean(correct) ** 2 + (1 - np.mean(correct)) ** 2
    assert p_c(correct, bucket) != pytest.approx(pooled)


def test_it_is_one_minus_twice_the_mean_variance_with_ddof_0() -> None:
    random = np.random.default_rng(3)
    correct, bucket = random.integers(0, 2, 200), random.integers(0, 30, 200)
    variances = [np.var(correct[bucket == one]) for one in np.unique(bucket)]
    assert p_c(correct, bucket) == pytest.approx(1 - 2 * np.mean(variances), abs=1e-14)


@given(BUCKETS)
def test_distinct_pairs_equal_counting_them(buckets: list[list[bool]]) -> None:
    shares = [np.mean([a == b for a, b in combinations(one, 2)]) for one in buckets if len(one) > 1]
    if shares:
        assert p_c_distinct(*columns(buckets)) == pytest.approx(np.mean(shares), abs=1e-12)
    else:
        assert np.isnan(p_c_distinct(*columns(buckets)))


@given(st.integers(2, 9), st.integers(0, 9), st.integers(2, 9))
def test_distinct_pairs_are_unbiased_where_drawing_with_replacement_is_not(n: int, k: int, m: int) -> None:
    """Over all ways to draw m of n wordings, the mean is that of all n; the paper's is higher the fewer are drawn."""
    k, m = min(k, n), min(m, n)
    bucket = [1] * k + [0] * (n - k)
    # Draws with the same number of right answers are alike: so many of the comb(n, m) have `right` of them.
    draws = {right: comb(k, right) * comb(n - k, m - right) for right in range(m + 1)}
    assert sum(draws.values()) == comb(n, m)
    means = [
        sum(ways * function([1] * right + [0] * (m - right), [0] * m) for right, ways in draws.items() if ways)
        / comb(n, m)
        for function in (p_c_distinct, p_c)
    ]
    assert means[0] == pytest.approx(p_c_distinct(bucket, [0] * n), abs=1e-12)
    if m < n and 0 < k < n:
        assert means[1] > p_c(bucket, [0] * n) + 1e-9


@given(BUCKETS)
def test_distinct_pairs_agree_less_and_lie_a_known_way_below(buckets: list[list[bool]]) -> None:
    paired = [one for one in buckets if len(one) > 1]
    if not paired:
        return
    assert p_c_distinct(*columns(paired)) <= p_c(*columns(paired)) + 1e-12
    for one in paired:  # n P_C = (n-1) P_C(distinct) + 1, as each of n draws meets itself once
        n = len(one)
        assert n * p_c(*columns([one])) == pytest.approx((n - 1) * p_c_distinct(*columns([one])) + 1, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_label_agreement_is_the_observed_agreement_in_fleiss_kappa(seed: int) -> None:
    """With equal buckets and chance 1/3, statsmodels gives (P - 1/3) / (2/3)."""
    random = np.random.default_rng(seed)
    pred, bucket = random.integers(0, 3, (20, 6)), np.repeat(np.arange(20), 6)
    table = np.stack([(pred == label).sum(axis=1) for label in range(3)], axis=1)
    kappa = fleiss_kappa(table, method="uniform")
    assert label_agreement(pred.ravel(), bucket) == pytest.approx(kappa * 2 / 3 + 1 / 3, abs=1e-12)


#: Ten subjects, fourteen raters, five categories: Fleiss (1971) as it is mostly quoted; kappa is 0.210.
QUOTED = [
    *((0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1)),
    *((7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)),
]


def kappa_of(counts: Sequence[Sequence[int]]) -> float:
    """Of problems whose variants are given each label so many times."""
    pred = [label for row in counts for label, times in enumerate(row) for _ in range(times)]
    bucket = [place for place, row in enumerate(counts) for _ in range(sum(row))]
    table = correct_table([True] * len(bucket), bucket)
    given = [*["l0"] * (len(table) - len(bucket)), *(f"l{one}" for one in pred)]
    return value_of("fleiss_kappa", table.with_columns(pred=pl.Series(given)))


def test_kappa_of_the_quoted_example() -> None:
    assert f"{kappa_of(QUOTED):.3f}" == "0.210"
    assert kappa_of(QUOTED) == pytest.approx(fleiss_kappa(np.array(QUOTED)), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_statsmodels(seed: int) -> None:
    counts = np.random.default_rng(seed).multinomial(6, [0.5, 0.3, 0.2], 20)
    assert kappa_of(counts.tolist()) == pytest.approx(fleiss_kappa(counts), abs=1e-12)


def test_kappa_of_unequal_problems_by_a_loop() -> None:
    counts = [(3, 0), (1, 1), (0, 4), (1, 0), (4, 1)]  # the fourth has one variant, and does not count
    used = [row for row in counts if sum(row) > 1]
    pairs = [sum(k * (k - 1) for k in row) / (sum(row) * (sum(row) - 1)) for row in used]
    shares = [sum(row[label] / sum(row) for row in used) / len(used) for label in (0, 1)]
    chance = sum(share**2 for share in shares)
    assert kappa_of(counts) == pytest.approx((sum(pairs) / len(used) - chance) / (1 - chance), abs=1e-12)


def test_kappa_at_its_ends() -> None:
    assert kappa_of([(3, 0), (0, 2)]) == 1.0
    assert kappa_of([(1, 1), (1, 1)]) == -1.0
    assert np.isnan(kappa_of([(3, 0), (2, 0)]))  # one label: agreement says nothing


@given(BUCKETS)
def test_with_two_labels_agreement_is_p_c_of_pairs(buckets: list[list[bool]]) -> None:
    if any(len(one) > 1 for one in buckets):
        assert label_agreement(*columns(buckets)) == pytest.approx(p_c_distinct(*columns(buckets)), abs=1e-12)


def test_label_agreement_distinguishes_two_wrong_answers() -> None:
    assert label_agreement(["y", "z"], ["a", "a"]) == 0.0
    assert p_c_distinct([0, 0], ["a", "a"]) == 1.0


TABLE = pl.DataFrame(
    {
        "bucket": list("aaabbbbcdd"),
        "variant": [None, "1", "2", None, "1", "2", "3", None, None, "1"],
        "gold": ["x"] * 10,
        "pred": ["y", "x", "y", "y", "x", "x", "x", "x", "x", "y"],
    }
)


def test_metric_leaves_out_the_original_and_buckets_without_variants() -> None:
    [one] = score(TABLE.head(8), ["p_c"], interval="percentile")
    assert (one.value, one.n_units, one.n_answers) == (0.75, 2, 5)
    assert (one.low, one.high) == (0.5, 1.0)


def test_pairs_leave_out_buckets_of_one_variant_too() -> None:
    pairs, labels, mean = score(TABLE, ["p_c_distinct", "label_agreement", "accuracy_buckets"])
    assert (pairs.value, pairs.n_units, pairs.n_answers) == (0.5, 2, 5)
    assert (labels.value, labels.n_units, labels.n_answers) == (0.5, 2, 5)
    assert (mean.value, mean.n_units, mean.n_answers) == (0.5, 3, 6)


def test_two_different_wrong_answers_are_consistent_as_the_paper_has_it() -> None:
    table = pl.DataFrame({"bucket": ["a"] * 3, "variant": [None, "1", "2"], "gold": ["x"] * 3, "pred": ["x", "y", "z"]})
    names = ["p_c", "p_c_distinct", "label_agreement"]
    assert [one.value for one in score(table, names)] == [1.0, 1.0, 0.0]


def test_nothing_but_single_variants_is_reported() -> None:
    with pytest.warns(UserWarning, match="p_c_distinct"), refuses(BadInput):
        score(TABLE.tail(2), ["p_c_distinct"])


def test_counts_of_large_buckets_do_not_overflow() -> None:
    right = np.zeros(100_000, dtype=bool)
    right[:50_000] = True
    assert p_c_distinct(right, np.zeros(100_000)) == pytest.approx(2 * comb(50_000, 2) / comb(100_000, 2), rel=1e-12)
