"""Corrected values by hand and by loops; ParaNLU's printed digits are in tests/papers/test_paranlu.py."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refuses
from scipy.stats import binom

from otherwords.answers import reading
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.corrected import corrected_mean, covered_share, decile
from otherwords.metrics.metric import as_metric
from otherwords.pipeline import score
from otherwords.registry import metrics

#: The probabilities of these tables stand for confidence alone.
pytestmark = pytest.mark.filterwarnings("ignore:.*not the most probable label")
SHARES = st.integers(0, 1000).map(lambda i: i / 1000)
SOME = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=20)
ITEMS = st.lists(SHARES, min_size=1, max_size=30)


@given(st.integers(0, 10_000))
def test_a_decimal_lies_in_the_decile_it_is_written_in(number: int) -> None:
    written = Decimal(number) / 10_000
    assert decile(float(written)) == min(int(written * 10), 9)


def test_the_edges_that_floats_get_wrong() -> None:
    assert int(0.3 / 0.1) == 2  # what a division would say
    assert decile([i / 10 for i in range(11)]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert decile(np.nextafter(np.arange(1, 10) / 10, 0)).tolist() == list(range(9))


@given(SOME, ITEMS)
def test_it_equals_a_loop_over_deciles(buckets: list[tuple[float, float]], items: list[float]) -> None:
    values, confidence = zip(*buckets, strict=True)
    place, test = decile(confidence), decile(items)
    total = held = 0.0
    for d in range(10):
        inside = [v for v, where in zip(values, place, strict=True) if where == d]
        if inside:
            q = float(np.mean(test == d))
            total, held = total + q * float(np.mean(inside)), held + q
    assert covered_share(confidence, items) == pytest.approx(held, abs=1e-12)
    if held:
        assert corrected_mean(values, confidence, items) == pytest.approx(total, abs=1e-12)
        again = corrected_mean(values, confidence, items, renormalise=True)
        assert again == pytest.approx(total / held, abs=1e-12)
        assert min(values) - 1e-12 <= again <= max(values) + 1e-12
    else:
        with refuses(BadInput):
            corrected_mean(values, confidence, items)


@given(SOME)
def test_a_test_set_like_the_buckets_changes_nothing(buckets: list[tuple[float, float]]) -> None:
    values, confidence = zip(*buckets, strict=True)
    assert corrected_mean(values, confidence, confidence) == pytest.approx(np.mean(values), abs=1e-12)
    assert covered_share(confidence, confidence) == 1.0


@given(SOME, ITEMS)
def test_renormalising_divides_by_the_coverage(buckets: list[tuple[float, float]], items: list[float]) -> None:
    values, confidence = zip(*buckets, strict=True)
    assume(covered_share(confidence, items) > 0)
    whole = corrected_mean(values, confidence, items, renormalise=True)
    assert corrected_mean(values, confidence, items) == pytest.approx(
        whole * covered_share(confidence, items), abs=1e-12
    )


@pytest.mark.parametrize("bad", [[], [0.5, float("nan")], [-0.1], [50.0]])
def test_no_confidence_is_refused(bad: list[float]) -> None:
    with refuses(BadInput):
        decile(bad)


def test_columns_must_fit() -> None:
    with refuses(BadInput):
        corrected_mean([0.5, 0.5], [0.5], [0.5])
    with refuses(BadInput):
        corrected_mean([], [], [0.5])


def table(confidence: list[float], right: list[int], of: int, model: str = "one") -> pl.DataFrame:
    """A bucket per entry: `right` of `of` variants; the original has the confidence in the right label."""
    rows = []
    for number, (p, k) in enumerate(zip(confidence, right, strict=True)):
        for variant in range(of + 1):
            pred = ("yes" if p > 0.5 else "no") if not variant else "yes" if variant <= k else "no"
            rows.append((model, f"b{number}", str(variant) if variant else None, "yes", pred, p, 1 - p))
    return pl.DataFrame(rows, schema=["model", "bucket", "variant", "gold", "pred", "p:yes", "p:no"], orient="row")


def items(folder: Path, confidence: list[float], model: str = "one") -> Path:
    frame = pl.DataFrame({"model": model, "id": range(len(confidence)), "gold": "yes", "p:yes": confidence})
    frame.with_columns((1 - pl.col("p:yes")).alias("p:no")).write_parquet(folder / "items.parquet")
    return folder / "items.parquet"


def specs(path: Path) -> list[str]:
    return [
        f"accuracy_corrected(testset={path})",
        f"accuracy_corrected(testset={path}, renormalise=true)",
        f"p_c_corrected(testset={path})",
        f"p_c_corrected(testset={path}, renormalise=true)",
        f"coverage(testset={path})",
    ]


def test_metrics_by_hand(tmp_path: Path) -> None:
    """Two buckets in [0.9, 1] (3 and 4 of 4 right) and one item, one in [0.4, 0.5) (2 of 4) and two; one item alone."""
    path = items(tmp_path, [0.99, 0.45, 0.44, 0.2])
    found = score(table([0.95, 0.92, 0.41], [3, 4, 2], 4), specs(path), replicates=100)
    a, p = (0.875 + 2 * 0.5) / 4, (0.8125 + 2 * 0.5) / 4
    assert [one.value for one in found] == pytest.approx([a, a / 0.75, p, p / 0.75, 0.75], abs=1e-15)
    assert {one.n_units for one in found} == {3}
    assert {one.n_answers for one in found} == {12}


def test_corrected_distinct_pairs_by_hand(tmp_path: Path) -> None:
    """Pairs alike: 3 of 6, 6 of 6 in one decile with one item of four, 2 of 6 in another with two; one alone."""
    path = items(tmp_path, [0.99, 0.45, 0.44, 0.2])
    specs = [f"p_c_distinct_corrected(testset={path}{more})" for more in ("", ", renormalise=true")]
    expected = (0.75 + 2 * 2 / 6) / 4
    found = score(table([0.95, 0.92, 0.41], [3, 4, 2], 4), specs, replicates=100)
    assert [one.value for one in found] == pytest.approx([expected, expected / 0.75], abs=1e-15)
    single = table([0.95, 0.92, 0.41], [3, 4, 2], 4).filter((pl.col("bucket") != "b2") | (pl.col("variant") < "2"))
    one, _ = score(pl.concat([single, table([0.95, 0.92, 0.41], [3, 4, 2], 4).filter(
        pl.col("bucket") == "b2", pl.col("variant").is_null())]), specs, replicates=20)  # fmt: skip
    assert (one.value, one.n_units) == (0.75 / 4, 2)  # the third has no pair, and covers nothing


def test_a_bucket_without_variants_covers_nothing(tmp_path: Path) -> None:
    path = items(tmp_path, [0.99, 0.45])
    lonely = table([0.95, 0.41], [3, 4], 4).filter((pl.col("bucket") == "b0") | pl.col("variant").is_null())
    found = score(lonely, specs(path), replicates=10)
    assert [one.value for one in found] == [0.375, 0.75, 0.3125, 0.625, 0.5]
    assert {one.n_units for one in found} == {1}


def test_the_interval_knows_that_the_test_set_is_a_sample(tmp_path: Path) -> None:
    """All buckets of a decile are alike, so only the test set varies: the value is a binomial share of it."""
    n, k = 200, 140
    path = items(tmp_path, [0.95] * k + [0.05] * (n - k))
    [one] = score(table([0.95, 0.05] * 60, [4, 0] * 60, 4), specs(path)[:1], replicates=4000)
    assert one.value == k / n
    assert (one.low, one.high) == pytest.approx(binom.ppf([0.025, 0.975], n, k / n) / n, abs=0.0101)  # two items


def test_the_order_and_names_of_test_items_change_no_value(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    path = items(tmp_path, random.random(50).round(3).tolist())
    frame = table(random.random(30).round(3).tolist(), random.integers(0, 6, 30).tolist(), 5)
    found = score(frame, specs(path), replicates=50)
    test = pl.read_parquet(path)
    test.reverse().with_columns(pl.col("id") + 100).write_parquet(path)
    again = score(frame, specs(path), replicates=50)
    assert [one.value for one in again] == [one.value for one in found]


@pytest.mark.parametrize("place", range(5))
def test_statistics_keep_the_contract(tmp_path: Path, place: int) -> None:
    random = np.random.default_rng(9)
    path = items(tmp_path, random.random(50).round(3).tolist())
    metric = as_metric(metrics.make(specs(path)[place]).function)
    frame = table(random.random(30).round(3).tolist(), random.integers(0, 6, 30).tolist(), 5)
    answers = reading.read(frame, ("yes", "no"))
    rows, outside = metric.statistics(answers), metric.outside(answers)
    assert rows.shape == (30, outside.rows.shape[1])
    assert outside.names.tolist() == list(map(str, range(50)))
    sums = random.integers(0, 3, (6, 30)) @ rows + random.integers(0, 3, (6, 50)) @ outside.rows
    assert metric.combine(sums).tolist() == [float(metric.combine(one)) for one in sums]
    assert np.isnan(metric.combine(np.zeros(rows.shape[1])))
    assert np.isnan(metric.combine(outside.rows.sum(axis=0))), "items alone cover nothing: there is nothing to tell of"


def test_confidence_is_that_of_the_original_as_it_is_stated(tmp_path: Path) -> None:
    """0.3 is in [0.3, 0.4) though its row sums to 1.0000000000000002; the variants' own do not matter."""
    rows = table([0.3], [1], 2).with_columns(pl.when(pl.col("variant").is_null()).then("p:yes").otherwise(0.9))
    rows = rows.with_columns((1 - pl.col("p:yes") + 3e-16).alias("p:no"))
    assert reading.read(rows, ("yes", "no")).p[0, 0] < 0.3  # what normalising would make of it
    [one] = score(rows, [f"coverage(testset={items(tmp_path, [0.35, 0.25, 0.25, 0.95])})"])
    assert one.value == 0.25


def test_without_probabilities_there_are_no_corrected_values(tmp_path: Path) -> None:
    path = items(tmp_path, [0.99, 0.45])
    bare = table([0.95, 0.41], [3, 4], 4).drop("p:yes", "p:no")
    for spec in specs(path):
        with refuses(Unmeasurable):
            score(bare, [spec])


def test_nothing_in_common_is_undefined_but_covers_nothing(tmp_path: Path) -> None:
    path = items(tmp_path, [0.99])
    with pytest.warns(UserWarning, match="nothing to measure"):
        found = score(table([0.41], [3], 4), specs(path), replicates=10)
    assert [one.value for one in found] == [None, None, None, None, 0.0]
