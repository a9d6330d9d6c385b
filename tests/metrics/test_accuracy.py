"""Accuracy by hand, of originals, of variants, and of a constant answer."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.answers.reading import read
from otherwords.errors import BadInput
from otherwords.metrics import accuracy
from otherwords.pipeline import score
from otherwords.registry import metrics


def test_plain_function_by_hand() -> None:
    assert accuracy(["a", "b", "c", "a"], ["a", "c", "c", "b"]) == 0.5
    assert accuracy(np.array([1]), np.array([1])) == 1.0
    assert type(accuracy([1, 0], [1, 1])) is float


def test_no_answers_is_an_error_not_a_zero() -> None:
    with refuses(BadInput):
        accuracy([], [])


@pytest.mark.parametrize("short", [["a", "b"], ["a"], "a"])
def test_columns_of_different_length_are_refused_and_never_repeated(short: object) -> None:
    with refuses(BadInput):
        accuracy(["a", "b", "c"], short)


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
    [drawn] = score(answers(), ["accuracy_variants"], interval="percentile")
    assert (drawn.low, drawn.high) == (0.0, 0.75)
    assert (one.n_clusters, one.n_effective) == (2, pytest.approx(25 / 17))  # of weights 4 and 1


def test_weighted_originals_weigh_as_their_variants_do() -> None:
    [one] = score(answers(), ["accuracy_original_weighted"])
    assert (one.value, one.n_units, one.n_answers) == (4 / 5, 2, 2)  # right with four variants, wrong with one


def test_weighted_is_plain_where_all_buckets_are_alike() -> None:
    table = answers().filter(pl.col("variant").is_null() | (pl.col("variant") == "1"), pl.col("bucket") != "c")
    plain, weighted, variants = score(
        table, ["accuracy_original", "accuracy_original_weighted", "accuracy_variants"], replicates=50
    )
    assert weighted.value == plain.value == variants.value == 0.5


def test_a_model_that_never_changes_its_answer_has_the_accuracy_on_variants_of_the_weighted_originals() -> None:
    table = answers().with_columns(pl.col("pred").first().over("bucket"))
    weighted, variants = score(table, ["accuracy_original_weighted", "accuracy_variants"])
    assert (weighted.value, weighted.low, weighted.high) == (variants.value, variants.low, variants.high)
    assert score(table, ["accuracy_original"])[0].value != weighted.value


def test_the_drop_is_over_the_same_problems_with_the_same_weights() -> None:
    """Three of five variants are right, and four of five of their originals; over all originals it is two of three."""
    [drop, seeds] = score(answers(), ["accuracy_drop", "accuracy_seeds"])
    assert drop.value == pytest.approx(3 / 5 - 4 / 5)
    assert (drop.n_units, drop.n_answers) == (2, 7)
    assert (seeds.value, seeds.n_units, seeds.n_answers) == (1 / 2, 2, 2)  # c has no variant


def test_the_drop_is_the_difference_of_the_two_accuracies_and_has_them_for_sides() -> None:
    metric = metrics.make("accuracy_drop").function
    sides = metric.sides(metric.statistics(read(answers())).sum(axis=0))
    names = ["accuracy_variants", "accuracy_original_weighted"]
    assert list(sides) == [one.value for one in score(answers(), names, replicates=20)]


def test_by_default_no_two_accuracies_are_over_different_problems() -> None:
    """A model that loses with every wording: the hardest problem has no variant, so that pooled accuracies rise."""
    rows = [("a", None, "x"), *(("a", str(i), "x") for i in range(8)), ("a", "8", "y")]
    table = pl.DataFrame([*rows, ("b", None, "y")], schema=["bucket", "variant", "pred"], orient="row")
    table = table.with_columns(gold=pl.lit("x"))
    before, after = score(table, ["accuracy_original", "accuracy_variants"], replicates=20)
    assert after.value > before.value  # as if rewording helped
    usual = {one.metric: one.value for one in score(table, replicates=20)}
    assert usual["accuracy_drop"] == pytest.approx(-1 / 9)
    assert "accuracy_variants" not in usual


def test_majority_class_by_hand() -> None:
    for gold, share in (("abbcb", 3 / 5), ("ab", 0.5), ("aa", 1.0)):  # a tie changes nothing
        rows = {"gold": list(gold), "pred": list(gold), "bucket": range(len(gold)), "variant": [""] * len(gold)}
        assert ow.measure("majority_class", **rows).value == share
    [one] = score(answers(), ["majority_class"], task="")
    assert (one.value, one.n_units, one.n_answers) == (2 / 3, 3, 3)  # over originals: yes, no, no


def test_majority_class_is_the_accuracy_of_the_best_constant_model() -> None:
    labels = ("x", "y", "z")
    gold = np.random.default_rng(5).choice(labels, 40, p=[0.3, 0.45, 0.25])
    table = pl.DataFrame({"bucket": range(40), "variant": pl.Series([None] * 40, dtype=pl.String), "gold": gold})
    constant = [table.with_columns(pred=pl.lit(label)) for label in labels]
    best = max(float(score(one, ["accuracy_original"], replicates=10)[0].value or 0) for one in constant)
    assert {score(one, ["majority_class"], replicates=10)[0].value for one in constant} == {best}


def test_majority_class_looks_for_the_majority_of_each_replicate() -> None:
    metric = metrics.make("majority_class").function
    rows = metric.statistics(read(answers(), ("yes", "no", "maybe")))
    assert rows.dtype.kind == "i"
    sums = np.stack([rows.sum(axis=0), rows[0] * 5, rows[0] * 0])
    np.testing.assert_array_equal(metric.combine(sums), [2 / 3, 1.0, np.nan])


def test_signature_says_all_that_decides_the_number() -> None:
    [one] = score(answers(), ["accuracy_original"], seed=7, replicates=99, confidence=0.9, interval="bca")
    assert one.signature.startswith("accuracy_original.v1() ")
    for part in ("confidence=0.9", "replicates=99", "cluster=bucket", "seed=7", "otherwords="):
        assert part in one.signature
    [other] = score(answers().with_columns(cluster=pl.lit("x")), ["accuracy_original"])
    assert "cluster=cluster" in other.signature
