"""Sensitivity, accuracy and consistency on contrasts: by hand, by naive loops, and separate from all other metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.answers import reading
from otherwords.answers.reading import separate_rejects
from otherwords.answers.roles import split_roles
from otherwords.answers.table import Location
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.contrast import NAMES
from otherwords.pipeline import score
from otherwords.problem import Task

TASK = Task("letters", ("text",), ("e", "n", "c"))
#: bucket, variant, gold, pred. Of a's contrasts one is right, one wrong but changed, one keeps the answer and is right.
HAND = [
    ("a", None, "e", "e"),
    ("a", "a1", "c", "c"),
    ("a", "a2", "c", "n"),
    ("a", "a3", "e", "e"),
    ("b", None, "e", "n"),
    ("b", "b1", "c", "n"),
    ("b", "b2", "n", "n"),
    ("d", None, "e", "e"),
    ("d", "d1", "n", "n"),
]


def table(rows: list[tuple[Any, ...]], suite: str | None = "hand", model: str = "m") -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["bucket", "variant", "gold", "pred"], orient="row")
    return frame.with_columns(pl.lit(suite, dtype=pl.String).alias("contrast"), pl.lit(model).alias("model"))


def values(frame: pl.DataFrame, using: Any = NAMES, **more: Any) -> dict[str, float | None]:
    found = score(frame, using, replicates=20, task=TASK, **more)
    return {one.metric: one.value for one in found if one.group is None}


def test_by_hand():
    """a1, a2, d1 changed, of the five a1, a2, b1, b2, d1; a1, b2, d1 are right; only d is right throughout."""
    found = {one.metric: one for one in score(table(HAND), NAMES, replicates=50)}
    assert {name: one.value for name, one in found.items()} == {
        "sensitivity": 3 / 5,
        "contrast_accuracy": 3 / 5,
        "contrast_consistency": 1 / 3,
    }
    counts = {name: (one.n_units, one.n_answers) for name, one in found.items()}
    assert counts == {"sensitivity": (3, 5), "contrast_accuracy": (3, 5), "contrast_consistency": (3, 9)}
    assert all(one.low <= one.value <= one.high for one in found.values())


@pytest.mark.parametrize(("pred", "expected"), [("e", (0.0, 0.0, 0.0)), ("gold", (1.0, 1.0, 1.0))])
def test_the_constant_and_the_perfect_model(pred, expected):
    frame = table(HAND).with_columns(pl.col("gold").alias("pred") if pred == "gold" else pl.lit(pred).alias("pred"))
    assert tuple(values(frame).values()) == expected


def test_a_bucket_without_contrasts_says_nothing():
    alone = table([*HAND, ("z", None, "e", "c")])
    assert values(alone) == values(table(HAND))


labels = st.sampled_from("enc")
buckets = st.lists(st.lists(st.tuples(labels, labels), min_size=1, max_size=5), min_size=1, max_size=8)


def rows_of(some: list[list[tuple[str, str]]], prefix: str = "b") -> list[tuple[Any, ...]]:
    return [
        (f"{prefix}{b}", f"{prefix}{b}.{v}" if v else None, gold, pred)
        for b, bucket in enumerate(some)
        for v, (gold, pred) in enumerate(bucket)
    ]


@given(buckets)
def test_against_loops(some):
    rows = rows_of(some)
    pairs = [(one, bucket[0]) for bucket in some for one in bucket[1:]]
    changed = [(one, original) for one, original in pairs if one[0] != original[0]]
    if not changed:
        with refuses(BadInput), pytest.warns(UserWarning, match="nothing to measure"):
            values(table(rows), ["sensitivity"])
        return
    found = values(table(rows))
    with_some = [bucket for bucket in some if len(bucket) > 1]
    loops = [
        sum(one[1] != original[1] for one, original in changed) / len(changed),
        sum(one[0] == one[1] for one, _ in changed) / len(changed),
        sum(all(g == p for g, p in bucket) for bucket in with_some) / len(with_some),
    ]
    assert [found[name] for name in NAMES] == pytest.approx(loops)


@settings(max_examples=10)
@given(buckets, buckets)
def test_contrasts_change_no_bit_of_another_score_and_the_other_way_round(plain_buckets, contrasts):
    """Rewordings keep the label of their original; contrasts do not: both in one table are what they are alone."""
    steady = [[(bucket[0][0], pred) for _, pred in bucket] for bucket in plain_buckets]
    one, other = table([*rows_of(steady), ("x", None, "e", "e"), ("x", "x1", "e", "n")], None), table(HAND)
    more = table([*rows_of(contrasts, "k"), ("k", None, "e", "e"), ("k", "k.1", "n", "e")], "more")
    both = pl.concat([one, other, more]).sample(fraction=1, shuffle=True, seed=len(contrasts))
    settled = {"replicates": 30, "task": TASK}
    using = ["accuracy_original", "flip_rate", "pa", "r_r", "majority_class", "never_right"]
    together = [asdict(score_) for score_ in score(both, [*using, *NAMES], **settled)]
    alone = [asdict(score_) for score_ in score(one, using, **settled)]
    separate = [asdict(score_) for score_ in score(pl.concat([other, more]), NAMES, **settled)]
    assert sorted(map(str, together)) == sorted(map(str, [*alone, *separate]))


def test_suites_are_groups_where_there_are_several():
    two = pl.concat([table(HAND), table([("z", None, "e", "e"), ("z", "z1", "n", "e")], "other")])
    found = {(one.group, one.metric): one.value for one in score(two, ["sensitivity"], replicates=20)}
    assert found == {
        (None, "sensitivity"): 3 / 6,
        ("contrast=hand", "sensitivity"): 3 / 5,
        ("contrast=other", "sensitivity"): 0.0,
    }
    assert {one.group for one in score(table(HAND), ["sensitivity"], replicates=20)} == {None}
    named = score(table(HAND), ["sensitivity"], by=["contrast"], replicates=20)
    assert {one.group for one in named} == {None, "contrast=hand"}


def test_groups_are_made_of_what_has_the_column():
    """No warning of rewordings without a category, nor of contrasts without a generator."""
    rewordings = table([("x", None, "e", "e"), ("x", "x1", "e", "n"), ("x", "x2", "e", "e")], None)
    rewordings = rewordings.with_columns(pl.Series("how", [None, "a", "b"]))
    kinds = pl.when(pl.col("variant").is_not_null()).then(pl.lit("colors"))
    both = pl.concat([rewordings, table(HAND).with_columns(kinds.alias("category"))], how="diagonal")
    found = [(one.group, one.metric) for one in score(both, ["flip_rate", "sensitivity"], by=["how", "category"])]
    assert found == [
        (None, "flip_rate"),
        (None, "sensitivity"),
        ("how=a", "flip_rate"),
        ("how=b", "flip_rate"),
        ("category=colors", "sensitivity"),
    ]


def test_what_is_asked_for_by_name_must_be_there():
    rewordings = table([("x", None, "e", "e"), ("x", "x1", "e", "n")], None)
    with refuses(Unmeasurable):
        score(rewordings, ["flip_rate", "sensitivity"])
    with refuses(Unmeasurable):
        score(table(HAND), ["flip_rate", "sensitivity"])


def test_the_usual_metrics_are_those_that_the_table_allows():
    rewordings = table([("x", None, "e", "e"), ("x", "x1", "e", "n"), ("x", "x2", "e", "n")], None)
    assert not set(NAMES) & set(values(rewordings, ()))  # without a word: warnings are errors here
    with pytest.warns(UserWarning, match="the table has only contrasts; not measured: accuracy_original, "):
        assert set(values(table(HAND), ())) == set(NAMES)
    assert set(NAMES) < set(values(pl.concat([rewordings, table(HAND)]), ()))


def test_a_model_without_contrasts_is_reported():
    both = pl.concat([table(HAND), table([("x", None, "e", "e"), ("x", "x1", "e", "n")], None, "n")])
    with pytest.warns(UserWarning, match="n: no answers for sensitivity"):
        assert [(one.model, one.metric) for one in score(both, ["sensitivity"], replicates=20)] == [
            ("m", "sensitivity")
        ]


# The mark.


@pytest.mark.parametrize("blank", ["", " ", "\t "])
def test_a_blank_mark_is_none(blank):
    """Nor is a bucket marked in part where some cells are blank and others empty, or a name has a space too many."""
    rewordings = table([("x", None, "e", "e"), ("x", "x1", "e", "n"), ("x", "x2", "e", "e")], None)
    spaced = rewordings.with_columns(contrast=pl.Series([blank, None, blank]))
    assert values(spaced, ["flip_rate"]) == values(rewordings, ["flip_rate"])
    with refuses(Unmeasurable):
        score(spaced, ["sensitivity"])
    two = table(HAND).with_columns(contrast=pl.Series([f"hand{blank}", *["hand"] * (len(HAND) - 1)]))
    named = score(two, ["sensitivity"], by=["contrast"], replicates=20)
    assert {one.group for one in named} == {None, "contrast=hand"}


@pytest.mark.parametrize(
    "mark",
    [
        [None, "s", "s"],
        ["s", "s", None],
        ["s", "s", "t"],
        [True, True, True],
    ],
)
def test_a_bucket_is_of_one_suite_or_of_none(mark):
    frame = table(HAND[:3]).with_columns(pl.Series("contrast", mark))
    with refuses(BadInput):
        score(frame, ["sensitivity"])


def test_an_empty_mark_is_none_and_another_label_then_an_error():
    frame = table(HAND, "")
    with refuses(BadInput):
        score(frame, ["flip_rate"])


def test_nothing_reads_both_at_once():
    both = pl.concat([table(HAND), table([("x", None, "e", "e")], None)])
    with refuses(BadInput):
        reading.read(both)
    rows = {part: place.row(0) for part, _, place in split_roles(both, Location("t"))}
    assert rows == {"contrasts": "t, row 1", "rewordings": "t, row 10"}


def test_a_wrong_row_is_named_as_the_user_counts_it():
    wrong = table([*HAND, ("b", "b1", "c", "n")])
    both = pl.concat([table([("x", None, "e", "e"), ("x", "x1", "e", "e")], None), wrong])
    with refuses(BadInput):
        score(both, ["flip_rate"])


def test_sifting_keeps_contrasts_and_sets_half_marked_buckets_aside():
    mixed = table([("y", None, "e", "e"), ("y", "y1", "c", "e")]).with_columns(pl.Series("contrast", ["s", None]))
    good, others = separate_rejects(pl.concat([table(HAND), mixed]))
    assert good.height == len(HAND)
    assert others.select("row", "reason").rows() == [
        (10, "contrast: its bucket has rows without a suite, or two suites"),
        (11, "contrast: its bucket has rows without a suite, or two suites"),
    ]
