"""Bins: decimal edges in double and in single precision, where binary fractions fall short of them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import otherwords as ow
from otherwords.answers.table import as_written, cut
from otherwords.metrics.corrected import corrected_mean, covered_share, decile
from otherwords.metrics.flips import margin

#: Probabilities of the right label: 0.7 and 0.9 are less than that in single precision.
SHARES = [0.7, 0.9, 0.6, 0.3, 0.1, 0.8]


def table(kind: type[pl.DataType]) -> pl.DataFrame:
    """Buckets of an original and two variants, whose probabilities lie on the edges of bins."""
    rows = []
    for bucket, p in enumerate(SHARES):
        for variant, moved in enumerate((p, 1 - p, SHARES[bucket - 1])):
            pred = "yes" if moved >= 0.5 else "no"
            rows.append((bucket, str(variant) if variant else None, "yes", pred, round(moved, 1), round(1 - moved, 1)))
    names = ["bucket", "variant", "gold", "pred", "p:yes", "p:no"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("^p:.*$").cast(kind))


def items(folder: Path, kind: type[pl.DataType]) -> Path:
    confidence = [0.7, 0.9, 0.9, 0.65, 0.2]
    frame = pl.DataFrame({"id": range(5), "gold": "yes", "p:yes": confidence, "p:no": [0.3, 0.1, 0.1, 0.35, 0.8]})
    frame.with_columns(pl.col("^p:.*$").cast(kind)).write_parquet(folder / f"{kind.__name__}.parquet")
    return folder / f"{kind.__name__}.parquet"


@given(st.integers(0, 10**6), st.sampled_from([2, 5, 10, 100, 1000]))
def test_a_decimal_lies_in_the_bin_it_is_written_in_also_in_single_precision(number: int, bins: int) -> None:
    p = np.array([number / 10**6])
    expected = [min(number * bins // 10**6, bins - 1)]
    assert cut(p, bins).tolist() == expected
    assert cut(as_written(p.astype(np.float32)), bins).tolist() == expected


@given(st.floats(0, 1))
def test_double_precision_is_left_as_it_is(p: float) -> None:
    assert as_written([p]).tolist() == [p]


@pytest.mark.parametrize("spec", ["ks", "ks(bins=10)", "ks(bins=1000)", "flips_by_margin", "flips_by_margin(bins=10)"])
def test_precision_moves_no_answer_to_another_bin(spec: str) -> None:
    with pytest.warns(UserWarning, match="nothing to measure") if "margin" in spec else nullcontext():
        single, double = (ow.score(table(kind), [spec], replicates=20) for kind in (pl.Float32, pl.Float64))
    assert single == double


@pytest.mark.parametrize("name", ["accuracy_corrected", "p_c_corrected", "coverage"])
@pytest.mark.parametrize("buckets", [pl.Float32, pl.Float64])
@pytest.mark.parametrize("test", [pl.Float32, pl.Float64])
def test_precision_moves_no_problem_to_another_decile(tmp_path: Path, name: str, buckets, test) -> None:
    [one] = ow.score(table(buckets), [f"{name}(testset={items(tmp_path, test)})"], replicates=20)
    [exact] = ow.score(table(pl.Float64), [f"{name}(testset={items(tmp_path, pl.Float64)})"], replicates=20)
    assert (one.value, one.low, one.high) == (exact.value, exact.low, exact.high)
    assert name != "coverage" or one.value == 0.8  # all but the item at 0.2


def test_helpers_take_single_precision_too() -> None:
    single = np.array(SHARES, dtype=np.float32)
    assert decile(single).tolist() == [7, 9, 6, 3, 1, 8]
    assert covered_share(single[:2], single[:2]) == covered_share([0.7, 0.9], [0.72, 0.95]) == 1.0
    assert corrected_mean([1, 0], single[:2], [0.75, 0.75]) == 1.0
    assert cut(margin(np.array([[0.7, 0.3], [0.9, 0.1]], dtype=np.float32)), 5).tolist() == [2, 4]


# The order and the width of the columns of probabilities

WITH_P = ["jsd_pairs", "jsd_means", "sigma", "ks", "flips_by_margin", "flip_rate_merged(merge=a+c, by=probability)"]
WITH_P += ["accuracy_merged(merge=a+c, by=probability)", "flip_directions", "label_agreement", "pvap"]
WITH_TEST = ["accuracy_testset", "accuracy_corrected", "p_c_corrected", "coverage"]


def random_answers(seed: int) -> pl.DataFrame:
    """Sixty buckets in clusters, with probabilities of seven decimals, some of them tiny."""
    random = np.random.default_rng(seed)
    share = np.round(random.dirichlet([0.3, 0.7, 0.5], 240) * 0.999, 7)
    share[:, 2] = np.round(1 - share[:, 0] - share[:, 1], 7)
    names = np.array(["b", "a", "c"])
    head = {"bucket": np.repeat(np.arange(60), 4).astype(str), "variant": ["", "1", "2", "3"] * 60}
    columns = {"gold": np.repeat(random.choice(names, 60), 4), "pred": names[share.argmax(axis=1)]}
    shares = {f"p:{name}": share[:, place] for place, name in enumerate(names)}
    return pl.DataFrame({**head, **columns, "cluster": np.repeat(np.arange(20), 12), **shares})


def reordered(table: pl.DataFrame, order: str, width: Any) -> pl.DataFrame:
    return table.select(pl.exclude("^p:.*$"), *(pl.col(f"p:{name}").cast(width) for name in order))


@pytest.mark.parametrize(
    ("order", "width"),
    [
        pytest.param("cba", pl.Float64, marks=pytest.mark.slow),
        pytest.param("bac", pl.Float32, marks=pytest.mark.slow),
        ("acb", pl.Float32),  # another order and another width
    ],
)
def test_neither_order_nor_width_of_the_columns_changes_a_bit(tmp_path: Path, order: str, width: Any) -> None:
    """Values, intervals and p-values, by table and by arrays, with and without a task's order of labels."""
    one, other = random_answers(1), random_answers(2).with_columns(gold=random_answers(1)["gold"])
    found = []
    for names, kind in (("bac", pl.Float64), (order, width)):
        first, second = (reordered(table, names, kind) for table in (one, other))
        first.filter(pl.col("variant") == "").write_parquet(tmp_path / "t.parquet")
        using = [*WITH_P, *(f"{name}(testset={tmp_path / 't.parquet'})" for name in WITH_TEST)]
        scores = ow.score(first, using, replicates=200, interval="bca")
        differences = ow.compare(first, second, using, replicates=700)
        rows = [(row.metric, row.value, row.low, row.high) for row in scores]
        rows += [(row.metric, row.value, row.other_value, row.low, row.high, row.p_swap) for row in differences]
        columns = {name: first[name].to_numpy() for name in ("bucket", "variant", "gold", "pred", "cluster")}
        p = first.select("^p:.*$").to_numpy()
        for metric, part in (("jsd_means", "all"), ("sigma", "variants"), ("jsd_pairs", "all"), ("ks", "")):
            row = ow.measure(metric, **columns, p=p, labels=list(names), part=part, replicates=200)
            rows.append((metric, part, row.value, row.low, row.high))
        found.append(sorted(rows, key=str))
    assert found[0] == found[1]


def test_tables_of_both_widths_are_read_together_as_written() -> None:
    double = random_answers(3)
    single = reordered(double, "cab", pl.Float32)
    same, mixed = (ow.score([double, one], ["sigma", "jsd_means"], replicates=50) for one in (double, single))
    assert [(one.model, one.metric, one.value, one.low) for one in same] == [
        (one.model, one.metric, one.value, one.low) for one in mixed
    ]


def test_small_shares_in_single_precision_stay_what_they_are() -> None:
    written = [1e-9, 0.0000012, 0.0123457, 0.7, 0.0, 1.0]
    assert as_written(np.array(written, dtype=np.float32)).tolist() == written
