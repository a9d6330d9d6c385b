"""MERGE's QT and MT by hand, and the matching threshold against a search in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from arrays import correct_table, parts_of, value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.answers.reading import read
from otherwords.errors import BadInput
from otherwords.pipeline import score
from otherwords.registry import metrics

Seeds = list[tuple[int, int, bool]]  # right and wrong variants, whether the original is right
SEEDS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.booleans()), min_size=1, max_size=8)


def matching_threshold(correct: list[int], bucket: list[int], original: list[bool], of: int = 0) -> tuple[float, ...]:
    return tuple(parts_of(f"matching_threshold(of={of})", correct_table(correct, bucket, original)).values())


def pa_drop(correct: list[int], bucket: list[int], original: list[bool], at: float = 0.9) -> float:
    return value_of(f"pa_drop(at={at})", correct_table(correct, bucket, original))


def columns(seeds: Seeds) -> tuple[list[int], list[int], list[bool]]:
    rows = [
        (int(one < right), bucket, original)
        for bucket, (right, wrong, original) in enumerate(seeds)
        for one in range(right + wrong)
    ]
    correct, bucket, original = zip(*rows, strict=True)
    return list(correct), list(bucket), list(original)


def table(seeds: Seeds) -> pl.DataFrame:
    rows = []
    for bucket, (right, wrong, original) in enumerate(seeds):
        rows.append((f"b{bucket}", None, "yes", "yes" if original else "no"))
        rows += [(f"b{bucket}", str(one), "yes", "yes" if one < right else "no") for one in range(right + wrong)]
    return pl.DataFrame(rows, schema=["bucket", "variant", "gold", "pred"], orient="row", infer_schema_length=None)


def searched(seeds: Seeds) -> tuple[float, float]:
    """Try every hundredth in exact arithmetic."""
    asked = [(Fraction(right, right + wrong), original) for right, wrong, original in seeds if right + wrong]
    share = Fraction(sum(original for _, original in asked), len(asked))
    gaps = {}
    for one in range(1, 101):
        passed = Fraction(sum(theta >= Fraction(one, 100) for theta, _ in asked), len(asked))
        gaps[one] = abs(passed - share)
    near = [one for one, gap in gaps.items() if gap == min(gaps.values())]
    assert near == list(range(near[0], near[-1] + 1)), "an interval, without holes"
    return near[0] / 100, near[-1] / 100


@given(SEEDS.filter(lambda seeds: any(right + wrong for right, wrong, _ in seeds)))
def test_matching_threshold_is_what_a_search_finds(seeds: Seeds) -> None:
    metric = metrics.make("matching_threshold").function
    rows = metric.statistics(read(table(seeds), ("yes", "no")))
    assert rows.dtype.kind == "i"
    assert tuple(metric.combine(rows.sum(axis=0)).tolist()) == searched(seeds)


def test_a_step_of_twenty_variants_is_five_hundredths_wide() -> None:
    """Two of three originals are right; two problems pass from 11 of 20 on up to 12 of 20."""
    seeds = [(20, 0, True), (12, 8, True), (10, 10, False)]
    assert matching_threshold(*columns(seeds)) == (0.51, 0.6)
    scores = score(table(seeds), ["matching_threshold"], replicates=100)
    assert [(one.metric, one.value) for one in scores] == [
        ("matching_threshold:low", 0.51),
        ("matching_threshold:high", 0.6),
    ]
    assert all(one.low <= one.value <= one.high for one in scores)  # type: ignore[operator]


def test_two_steps_that_are_equally_near_are_one_interval() -> None:
    # Two of four originals right; three problems pass up to 0.5, one above.
    seeds = [(2, 0, True), (1, 1, True), (1, 1, False), (0, 2, False)]
    assert matching_threshold(*columns(seeds)) == (0.01, 1.0)


def test_curves_that_lie_wholly_above_or_below_the_seeds() -> None:
    assert matching_threshold(*columns([(4, 0, False), (2, 2, False)])) == (0.51, 1.0)  # the lowest stretch
    assert matching_threshold(*columns([(0, 4, True), (2, 2, True)])) == (0.01, 0.5)  # the highest


def test_matching_threshold_at_a_fixed_number_of_variants() -> None:
    """Two drawn from three right of four: both are right with chance 1/2, one for certain; one seed is right."""
    seeds = [(3, 1, True), (3, 1, False)]
    assert matching_threshold(*columns(seeds), of=2) == (0.51, 1.0)
    low, high = score(table(seeds), ["matching_threshold(of=2)"], replicates=20)
    assert (low.value, high.value) == (0.51, 1.0)


def test_matching_threshold_of_many_replicates_at_once() -> None:
    metric = metrics.make("matching_threshold").function
    assert not metric.smooth
    rows = metric.statistics(read(table([(3, 1, True), (1, 3, False), (0, 0, True), (2, 2, True)]), ("yes", "no")))
    assert (~rows.any(axis=1)).sum() == 1  # the one without variants
    weights = np.random.default_rng(1).integers(0, 3, (7, len(rows)))
    weights[0] = 0
    values = metric.combine(weights @ rows)
    assert values.shape == (7, 2)
    assert np.isnan(values[0]).all()
    np.testing.assert_array_equal(values, [metric.combine(one) for one in weights @ rows])


def test_the_drop_is_negative_as_table_3_prints_it() -> None:
    seeds = [(10, 0, True), (9, 1, True), (8, 2, True), (0, 10, False)]
    assert pa_drop(*columns(seeds)) == 2 / 4 - 3 / 4
    [one] = score(table([*seeds, (0, 0, False)]), ["pa_drop"], replicates=200)
    assert (one.value, one.n_units, one.n_answers) == (-0.25, 4, 44)  # no variants, no say, on either side
    assert one.low <= -0.25 <= one.high  # type: ignore[operator]


def test_holding_on_where_the_seed_is_wrong_is_a_gain() -> None:
    assert pa_drop(*columns([(5, 0, False), (5, 0, True)])) == 0.5


@given(SEEDS.filter(lambda seeds: any(right + wrong for right, wrong, _ in seeds)), st.sampled_from([0.3, 0.9, 1.0]))
def test_the_drop_is_the_difference_of_its_parts(seeds: Seeds, at: float) -> None:
    asked = [one for one in seeds if one[0] + one[1]]
    correct, bucket, original = columns(asked)
    share = np.mean([right for _, _, right in asked])
    passed = value_of(f"pa(at={at})", correct_table(correct, bucket))
    assert pa_drop(correct, bucket, original, at) == pytest.approx(passed - share, abs=1e-14)
    assert value_of(f"pa_drop(at={at})", table(seeds)) == pytest.approx(passed - share, abs=1e-14)


def test_nothing_to_compare_is_an_error() -> None:
    with refuses(BadInput):
        metrics.make("pa_drop(at=0)")
    for spec, name in (
        ("pa_drop", "pa_drop"),
        ("matching_threshold", "matching_threshold:low, matching_threshold:high"),
    ):
        with (
            pytest.warns(UserWarning, match=f"{name} of model: nothing to measure"),
            refuses(BadInput),
        ):
            score(table([(0, 0, True), (0, 0, False)]), [spec])
