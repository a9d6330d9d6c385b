"""Bins: decimal edges in double and in single precision, where binary fractions fall short of them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

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
