"""Accuracy by hand, as a plain function and as a registered metric."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.metrics import accuracy, flip_rate, p_c
from otherwords.pipeline import score


def test_plain_function_by_hand() -> None:
    assert accuracy(["a", "b", "c", "a"], ["a", "c", "c", "b"]) == 0.5
    assert accuracy(np.array([1]), np.array([1])) == 1.0
    assert type(accuracy([1, 0], [1, 1])) is float


def test_no_answers_is_an_error_not_a_zero() -> None:
    with pytest.raises(BadInput, match="no answers"):
        accuracy([], [])


@pytest.mark.parametrize("short", [["a", "b"], ["a"], "a"])
def test_columns_of_different_length_are_refused_and_never_repeated(short: object) -> None:
    for function in (accuracy, flip_rate):
        with pytest.raises(BadInput, match=r"shapes \(3,\)"):
            function(["a", "b", "c"], short)
    with pytest.raises(BadInput, match=r"shapes \(3,\)"):
        p_c([1, 0, 1], short)


def answers() -> pl.DataFrame:
    """Bucket a: original right, 3 of 4 variants right; b: original wrong, 0 of 1; c: original right, no variant."""
    return pl.DataFrame(
        {
            "bucket": list("aaaaabbc"),
            "variant": [None, "1", "2", "3", "4", None, "1", None],
            "gold": ["yes"] * 5 + ["no"] * 3,
            "pred": ["yes", "yes", "no", "yes", "yes", "yes", "yes", "no"],
        }
    )


def test_original_counts_originals_only() -> None:
    [one] = score(answers(), ["accuracy_original"])
    assert (one.value, one.n_units, one.n_answers) == (2 / 3, 3, 3)


def test_variants_are_pooled_so_that_large_buckets_weigh_more() -> None:
    [one] = score(answers(), ["accuracy_variants"])
    assert (one.value, one.n_units, one.n_answers) == (3 / 5, 2, 5)  # not (3/4 + 0) / 2
    assert one.low == 0.0
    assert one.high == 0.75


def test_signature_says_all_that_decides_the_number() -> None:
    [one] = score(answers(), ["accuracy_original"], seed=7, replicates=99, confidence=0.9)
    assert one.signature.startswith("accuracy_original.v1() ")
    for part in ("confidence=0.9", "replicates=99", "cluster=bucket", "seed=7", "otherwords="):
        assert part in one.signature
    [other] = score(answers().with_columns(cluster=pl.lit("x")), ["accuracy_original"])
    assert "cluster=cluster" in other.signature
