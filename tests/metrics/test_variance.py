"""VAP and PVAP: the law of total variance under either weighting, against NumPy on the whole sample."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from arrays import on_correct
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.metrics import p_c_at
from otherwords.pipeline import score
from otherwords.scoring.compare import compare

accuracy_buckets, p_c, p_c_bound = map(on_correct, ("accuracy_buckets", "p_c", "p_c_bound"))
p_c_distinct, pvap, pvap_distinct, vap = map(on_correct, ("p_c_distinct", "pvap", "pvap_distinct", "vap"))
vap_of_answers, pvap_of_answers = map(on_correct, ("vap(weights=answers)", "pvap(weights=answers)"))
BUCKETS = st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=8)


def columns(buckets: list[list[bool]]) -> tuple[list[bool], list[int]]:
    return [x for one in buckets for x in one], [i for i, one in enumerate(buckets) for _ in one]


def weighted_variance(values: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights))


@given(BUCKETS)
def test_the_law_of_total_variance_with_buckets_weighing_alike(buckets: list[list[bool]]) -> None:
    """Equation 3 of the paper: an answer of a bucket of n weighs 1/n in all three terms."""
    correct, bucket = columns(buckets)
    weights = np.concatenate([np.full(len(one), 1 / len(one)) for one in buckets])
    total = weighted_variance(np.array(correct, dtype=float), weights)
    between = np.var([np.mean(one) for one in buckets])
    assert vap(correct, bucket) + between == pytest.approx(total, abs=1e-12)
    a = accuracy_buckets(correct, bucket)
    assert a * (1 - a) == pytest.approx(total, abs=1e-12)
    if total > 1e-9:
        assert pvap(correct, bucket) == pytest.approx(1 - between / total, abs=1e-9)


@given(BUCKETS)
def test_the_law_of_total_variance_with_answers_weighing_alike(buckets: list[list[bool]]) -> None:
    correct, bucket = columns(buckets)
    sizes = np.array([len(one) for one in buckets])
    total = np.var(correct)
    between = weighted_variance(np.array([np.mean(one) for one in buckets]), sizes)
    assert vap_of_answers(correct, bucket) + between == pytest.approx(total, abs=1e-12)
    if total > 1e-9:
        assert pvap_of_answers(correct, bucket) == pytest.approx(1 - between / total, abs=1e-9)


def test_a_mixture_of_weightings_would_not_add_up() -> None:
    """The reason for saying which: buckets of one and of four."""
    buckets = [[True], [True, False, False, False]]
    correct, bucket = columns(buckets)
    between = np.var([1.0, 0.25])
    assert vap(correct, bucket) + between != pytest.approx(np.var(correct))
    assert vap(correct, bucket) == pytest.approx(0.09375)
    assert vap_of_answers(correct, bucket) == pytest.approx(0.15)


@given(BUCKETS)
def test_p_c_is_one_minus_twice_vap_and_within_its_bound(buckets: list[list[bool]]) -> None:
    both = columns(buckets)
    assert p_c(*both) == pytest.approx(1 - 2 * vap(*both), abs=1e-12)
    assert p_c_bound(*both) - 1e-12 <= p_c(*both) <= 1
    assert p_c_bound(*both) == pytest.approx(float(p_c_at(accuracy_buckets(*both), 1)), abs=1e-15)


@given(BUCKETS)
def test_a_model_lies_on_the_curve_of_its_pvap(buckets: list[list[bool]]) -> None:
    both = columns(buckets)
    assume(0 < accuracy_buckets(*both) < 1)
    assert 0 <= pvap(*both) <= 1
    assert float(p_c_at(accuracy_buckets(*both), pvap(*both))) == pytest.approx(p_c(*both), abs=1e-12)


def test_rounding_does_not_lift_it_above_one() -> None:
    """Seven buckets with one of three right: all variance is within, and floats would say 1.0000000000000002."""
    assert pvap([1, 0, 0] * 7, np.repeat(np.arange(7), 3)) == 1.0


@given(BUCKETS)
def test_distinct_pairs_give_the_unbiased_variance(buckets: list[list[bool]]) -> None:
    paired = [one for one in buckets if len(one) > 1]
    assume(paired and 0 < accuracy_buckets(*columns(paired)) < 1)
    a = accuracy_buckets(*columns(paired))
    within = np.mean([np.var(one, ddof=1) for one in paired])
    assert pvap_distinct(*columns(buckets)) == pytest.approx(within / (a * (1 - a)), abs=1e-12)
    assert pvap_distinct(*columns(paired)) >= pvap(*columns(paired)) - 1e-12
    assert (1 - p_c_distinct(*columns(paired))) / 2 == pytest.approx(within, abs=1e-12)


def test_distinct_pairs_may_exceed_one_and_fall_below_the_bound() -> None:
    both = columns([[True, False]] * 3)
    assert pvap(*both) == 1.0
    assert pvap_distinct(*both) == 2.0
    assert p_c_distinct(*both) == 0.0 < p_c_bound(*both) == 0.5


@pytest.mark.parametrize("function", [pvap, pvap_distinct])
@pytest.mark.parametrize("right", [True, False])
def test_no_variance_is_undefined(function, right: bool) -> None:
    assert np.isnan(function([right] * 4, list("aabb")))


def test_other_words_are_refused() -> None:
    with refuses(BadInput):
        score(TABLE, ["pvap(weights=sizes)"])
    with refuses(BadInput):
        p_c_at([0.5, 80], 1)
    assert np.isnan(pvap_distinct([1, 0], ["a", "b"]))


@pytest.mark.parametrize(("accuracy", "share", "value"), [(0.8, 1, 0.68), (0.8, 0, 1.0), (0.5, 0.5, 0.75), (1, 1, 1)])
def test_curves_by_hand(accuracy: float, share: float, value: float) -> None:
    """At 80 % accuracy the least P_C is 68 %: the middle panel of the paper's Figure 2."""
    assert float(p_c_at(accuracy, share)) == pytest.approx(value, abs=1e-15)


TABLE = pl.DataFrame(
    {
        "bucket": list("aaaaabbbcc"),
        "variant": [None, "1", "2", "3", "4", None, "1", "2", None, "1"],
        "gold": ["x"] * 10,
        "pred": ["y", "x", "x", "x", "y", "y", "x", "x", "x", "y"],
    }
)
RIGHT, OF = [1, 1, 1, 0, 1, 1, 0], list("aaaabbc")


def test_scores_and_what_counts() -> None:
    names = ["vap", "vap(weights=answers)", "pvap", "pvap(weights=answers)", "pvap_distinct", "p_c_bound"]
    found = score(TABLE, names, replicates=50)
    every = (vap, vap_of_answers, pvap, pvap_of_answers, pvap_distinct, p_c_bound)
    assert [one.value for one in found] == pytest.approx([function(RIGHT, OF) for function in every], abs=1e-15)
    assert [one.n_units for one in found] == [3, 3, 3, 3, 2, 3]
    assert [one.n_answers for one in found] == [7, 7, 7, 7, 6, 7]
    assert [one.unit for one in found] == ["number"] * 2 + ["share"] * 4


@pytest.mark.parametrize("name", ["pvap", "pvap_distinct"])
def test_pvap_of_a_perfect_model_is_undefined(name: str) -> None:
    perfect = TABLE.with_columns(pred=pl.lit("x"))
    with pytest.warns(UserWarning, match="nothing to measure"):
        one, steady = score(perfect, [name, "vap"])
    assert one.value is None
    assert steady.value == 0.0


def test_what_another_metric_tests_already_is_compared_only_when_named() -> None:
    """vap is half of 1 - p_c, p_c_bound a function of accuracy_buckets: each test made twice costs all the others."""
    random = np.random.default_rng(4)
    rows = {"bucket": np.repeat(np.arange(30), 4), "variant": [None, "1", "2", "3"] * 30, "gold": ["yes"] * 120}
    two = [
        pl.DataFrame({**rows, "pred": random.choice(["yes", "no"], 120, p=[share, 1 - share]), "model": name})
        for name, share in (("one", 0.8), ("two", 0.6))
    ]
    both_models = pl.concat(two)
    with pytest.warns(UserWarning, match="not compared"):
        found = {one.metric for one in compare(both_models, using=["all"], replicates=1000)}
    assert {"p_c", "pvap", "accuracy_buckets"} <= found
    assert not {"vap", "p_c_bound"} & found
    named = compare(both_models, using=["vap", "p_c"], replicates=4000)
    assert [one.metric for one in named] == ["vap", "p_c"]
    assert named[0].difference == pytest.approx(-named[1].difference / 2, abs=1e-12)
    assert named[0].p_swap == pytest.approx(named[1].p_swap, abs=0.02)
