"""Pattern accuracy by hand, against the hypergeometric distribution of SciPy, and against literal drawing."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from arrays import correct_table, parts_of, value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy import stats

from otherwords.answers.reading import read
from otherwords.errors import BadInput
from otherwords.metrics import pa_curve_subsampled, pa_subsampled
from otherwords.metrics.pattern import exact, passing
from otherwords.pipeline import score
from otherwords.registry import metrics

COUNTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12)  # right, wrong


def pa(correct: list[int], bucket: list[Any], at: float = 0.9, of: int = 0) -> float:
    return value_of(f"pa(at={at}, of={of})", correct_table(correct, bucket))


def pa_curve(correct: list[int], bucket: list[Any], step: float = 0.05, of: int = 0) -> dict[str, float]:
    return parts_of(f"pa_curve(step={step}, of={of})", correct_table(correct, bucket))


def columns(counts: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Answers of buckets with so many right and so many wrong."""
    correct = [one for right, wrong in counts for one in [1] * right + [0] * wrong]
    return correct, [name for name, (right, wrong) in enumerate(counts) for _ in range(right + wrong)]


def table(counts: list[tuple[int, int]], originals: str = "") -> pl.DataFrame:
    rows = []
    for bucket, (right, wrong) in enumerate(counts):
        rows.append((f"b{bucket}", None, "yes", "no" if originals[bucket : bucket + 1] == "0" else "yes"))
        rows += [(f"b{bucket}", str(one), "yes", "yes" if one < right else "no") for one in range(right + wrong)]
    return pl.DataFrame(rows, schema=["bucket", "variant", "gold", "pred"], orient="row", infer_schema_length=None)


@pytest.mark.parametrize("size", [1, 3, 7, 20, 60, 100])
def test_the_number_needed_is_that_of_decimal_arithmetic(size: int) -> None:
    for hundredths in range(1, 101):
        need = int((Decimal(hundredths) * size / 100).to_integral_value(ROUND_CEILING))
        counts = np.array([need, need - 1]), np.array([size, size])
        assert passing(*counts, (exact(hundredths / 100),))[:, 0].tolist() == [1, 0]


def test_floats_would_ask_for_one_more() -> None:
    for at, right in ((0.55, 55), (0.07, 7), (0.14, 14)):
        assert np.ceil(at * 100) == right + 1
        assert pa([1] * right + [0] * (100 - right), ["b"] * 100, at) == 1.0


def test_buckets_weigh_alike_and_those_without_variants_say_nothing() -> None:
    counts = [(19, 1), (1, 0), (17, 3), (0, 0), (0, 1)]
    [one] = score(table(counts), ["pa"], replicates=100)
    assert (one.value, one.n_units, one.n_answers) == (2 / 4, 4, 42)
    assert one.value == pa(*columns(counts))


@given(COUNTS, st.integers(1, 100), st.integers(1, 25))
def test_expected_at_fewer_variants_is_scipys_hypergeometric_tail(
    counts: list[tuple[int, int]], hundredths: int, of: int
) -> None:
    k, w = np.array(counts).T
    enough = k + w >= of
    need = -(-hundredths * of // 100)
    expected = np.where(enough, stats.hypergeom.sf(need - 1, np.maximum(k + w, of), np.minimum(k, k + w), of), 0)
    np.testing.assert_allclose(passing(k, k + w, (exact(hundredths / 100),), of)[:, 0], expected, atol=1e-12)
    if enough.any():
        found = pa(*columns(counts), at=hundredths / 100, of=of)
        assert found == pytest.approx(expected[enough].mean(), abs=1e-12)
        assert 0 <= found <= 1


@given(COUNTS)
def test_of_one_or_two_by_their_closed_forms(counts: list[tuple[int, int]]) -> None:
    k, n = np.array([(right, right + wrong) for right, wrong in counts]).T
    if (n >= 1).any():
        assert pa(*columns(counts), of=1) == pytest.approx((k[n >= 1] / n[n >= 1]).mean(), abs=1e-14)
    if (n >= 2).any():
        k, n = k[n >= 2], n[n >= 2]
        assert pa(*columns(counts), of=2) == pytest.approx((k * (k - 1) / (n * (n - 1))).mean(), abs=1e-14)


def test_drawing_as_the_paper_does_leads_to_the_expectation() -> None:
    random = np.random.default_rng(2)
    counts = [(int(right), 45 - int(right)) for right in random.integers(30, 46, 40)]
    expected = pa(*columns(counts), of=20)
    chance = passing(*np.array([(right, 45) for right, _ in counts]).T, (exact(0.9),), 20)[:, 0]
    error = np.sqrt((chance * (1 - chance)).sum()) / 40  # of one draw
    ten = [pa_subsampled(*columns(counts), size=20, draws=10, seed=seed) for seed in range(100)]
    assert abs(np.mean(ten) - expected) < 4 * error / np.sqrt(1000)
    assert np.std(ten) == pytest.approx(error / np.sqrt(10), rel=0.3)
    assert pa(*columns(counts)) != pytest.approx(expected, abs=0.01)  # so the number of variants matters


def test_the_curve_over_subsamples_leads_to_the_exact_one() -> None:
    """At each threshold the average of 4,000 draws is within four of its standard errors of the expectation."""
    random = np.random.default_rng(3)
    counts = [(int(right), 30 - int(right)) for right in random.integers(0, 31, 25)]
    draws, thresholds = 4000, tuple(exact(i / 20) for i in range(1, 21))
    found = pa_curve_subsampled(*columns(counts), size=20, draws=draws)
    expected = pa_curve(*columns(counts), of=20)
    chance = passing(*np.array([(right, 30) for right, _ in counts]).T, thresholds, 20)
    error = np.sqrt((chance * (1 - chance)).sum(axis=0) / draws) / len(counts)
    assert list(found) == list(expected)
    deviation = np.abs(np.subtract(list(found.values()), list(expected.values())))
    assert (deviation <= 4 * error + 1e-12).all()
    rough = pa_curve_subsampled(*columns(counts), size=20, draws=1)
    assert np.abs(np.subtract(list(rough.values()), list(expected.values()))).max() > deviation.max()


def test_a_point_of_the_drawn_curve_is_drawn_like_the_single_one() -> None:
    counts = [(20, 10), (27, 3), (5, 25), (3, 2)]
    curve = pa_curve_subsampled(*columns(counts), step=0.1, size=10, draws=7, seed=5)
    for at in (0.1, 0.5, 0.9, 1.0):
        assert curve[f"{at:.2f}"] == pa_subsampled(*columns(counts), at=at, size=10, draws=7, seed=5)
    assert sorted(curve.values(), reverse=True) == list(curve.values())


def test_drawing_all_there_are_is_no_drawing() -> None:
    counts = [(20, 0), (18, 2), (17, 3), (3, 2)]
    assert pa_subsampled(*columns(counts), size=20, draws=3) == 2 / 3  # the fourth has too few
    assert pa_subsampled(*columns(counts), size=5, draws=1, seed=1) == pa_subsampled(
        *columns(counts), size=5, draws=1, seed=1
    )


def test_no_answer_is_drawn_twice() -> None:
    """With replacement 3 right of 4 could be all right in a draw of 4; without, never."""
    assert pa_subsampled([1, 1, 1, 0], ["a"] * 4, at=1.0, size=4, draws=200) == 0.0
    assert pa_subsampled([1, 0], ["a"] * 2, at=1.0, size=1, draws=4000) == pytest.approx(0.5, abs=0.04)


@given(COUNTS, st.sampled_from([0, 1, 3, 20]))
def test_the_curve_never_rises(counts: list[tuple[int, int]], of: int) -> None:
    metric = metrics.make(f"pa_curve(step=0.01, of={of})").function
    rows = metric.statistics(read(table(counts), ("yes", "no")))
    curve = metric.combine(rows.sum(axis=0))
    enough = [one for one in counts if sum(one) >= max(of, 1)]
    if not enough:
        assert np.isnan(curve).all()
        return
    assert (np.diff(curve) <= 0).all()
    assert len(curve) == 100
    assert curve[89] == pytest.approx(pa(*columns(enough), at=0.9, of=of), abs=1e-12)
    assert curve[-1] == pytest.approx(pa(*columns(enough), at=1.0, of=of), abs=1e-12)


def test_the_curve_by_hand_and_by_name() -> None:
    scores = score(table([(1, 1), (4, 0), (0, 3), (3, 1)]), ["pa_curve(step=0.25)"], replicates=100)
    assert [(one.metric, one.value) for one in scores] == [
        ("pa_curve:0.25", 0.75),
        ("pa_curve:0.50", 0.75),
        ("pa_curve:0.75", 0.5),
        ("pa_curve:1.00", 0.25),
    ]
    assert {one.n_units for one in scores} == {4}
    names = metrics.make("pa_curve").function.parts
    assert (len(names), names[0], names[-1]) == (20, "0.05", "1.00")
    assert metrics.make("pa_curve(step=0.005)").function.parts[:2] == ("0.005", "0.010")
    assert metrics.make("pa_curve(step=0.5)").function.parts == ("0.50", "1.00")


def test_chances_do_not_know_the_company_they_are_in() -> None:
    """To the bit: the contract tests see the default options only."""
    metric = metrics.make("pa(of=7)").function.statistics
    counts = [(right, wrong) for right in range(0, 30, 3) for wrong in range(0, 20, 4)]
    whole = metric(read(table(counts), ("yes", "no")))
    single = [metric(read(table([one]), ("yes", "no")))[0].tolist() for one in counts]
    assert sorted(whole.tolist()) == sorted(single)


@pytest.mark.parametrize(("right", "value"), [(5, 1.0), (0, 0.0)])
@pytest.mark.parametrize("of", [0, 1, 5])
def test_constant_answers(right: int, value: float, of: int) -> None:
    [one] = score(table([(right, 5 - right)] * 3), [f"pa(of={of})"])
    assert one.value == value


def test_too_few_variants_are_an_error_or_nothing_but_never_a_zero() -> None:
    assert np.isnan(pa([1, 1, 1], ["a"] * 3, of=20))
    with refuses(BadInput, field="size"):
        pa_subsampled([1, 1, 1], ["a"] * 3, size=4)
    with (
        pytest.warns(UserWarning, match="pa of model: nothing to measure"),
        refuses(BadInput),
    ):
        score(table([(3, 0), (2, 1)]), ["pa(of=20)"])


@pytest.mark.parametrize(
    "spec",
    [
        "pa(at=0)",
        "pa(at=90)",
        "pa_curve(step=0.3)",
        "pa_curve(step=0.0001)",
    ],
)
def test_thresholds_that_are_none(spec: str) -> None:
    with refuses(BadInput):
        metrics.make(spec)


def test_bad_options() -> None:
    with refuses(BadInput, field="of"):
        pa([1, 0], ["a", "a"], of=-1)
    with refuses(BadInput):
        pa_subsampled([1, 0], ["a", "a"], size=0)
    with refuses(BadInput):
        pa_curve_subsampled([1, 0], ["a", "a"], size=1, draws=0)
    with refuses(BadInput):
        pa_curve_subsampled([], [])
