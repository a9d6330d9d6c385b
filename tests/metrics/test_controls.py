"""Flips of controls: by hand, by naive loops, and apart from all other metrics, to the bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from warned import lines

from otherwords.answers import reading
from otherwords.answers.reading import separate_rejects
from otherwords.answers.roles import split_roles
from otherwords.answers.table import Location
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.across import audit
from otherwords.pipeline import score
from otherwords.problem import Task
from otherwords.scoring.compare import compare, compare_groups

TASK = Task("letters", ("text",), ("e", "n", "c"))
ORDINARY = ["accuracy_original", "accuracy_variants", "flip_rate", "pa", "r_r", "majority_class", "never_right"]
#: bucket, variant, control, gold, pred. One of four rewordings flips, one of four scrambled texts, no text asked again.
HAND = [
    ("a", None, None, "e", "e"),
    ("a", "a1", None, "e", "n"),
    ("a", "a2", None, "e", "e"),
    ("a", "a3", "identity", "e", "e"),
    ("a", "a4", "scramble", "e", "c"),
    ("b", None, None, "n", "n"),
    ("b", "b1", None, "n", "n"),
    ("b", "b2", None, "n", "n"),
    ("b", "b3", "identity", "n", "n"),
    ("b", "b4", "scramble", "n", "n"),
    ("b", "b5", "scramble", "n", "n"),
    ("d", None, None, "c", "e"),
    ("d", "d1", "scramble", "c", "e"),
    ("z", None, None, "c", "c"),
]


def table(rows: list[tuple[Any, ...]], model: str = "m") -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["bucket", "variant", "control", "gold", "pred"], orient="row")
    return frame.with_columns(pl.col("control", "variant").cast(pl.String), pl.lit(model).alias("model"))


def scored(frame: pl.DataFrame, using: Any, **more: Any) -> dict[tuple[str | None, str], float | None]:
    found = score(frame, using, replicates=20, task=TASK, **more)
    return {(one.group, one.metric): one.value for one in found}


def test_by_hand():
    found = score(table(HAND), ["flip_rate", "accuracy_original", "control_flips"], replicates=50, task=TASK)
    found_shares = {(one.group, one.metric): (one.value, one.n_units, one.n_answers) for one in found}
    assert found_shares == {
        (None, "flip_rate"): (1 / 4, 2, 4),
        (None, "accuracy_original"): (3 / 4, 4, 4),  # z, which has no variant, and d, which has a control, count
        ("control=identity", "control_flips"): (0.0, 2, 2),
        ("control=scramble", "control_flips"): (1 / 4, 3, 4),
    }


def test_one_control_is_one_number():
    frame = table(HAND).filter(pl.col("control").fill_null("") != "scramble")
    assert scored(frame, ["control_flips"]) == {(None, "control_flips"): 0.0}
    named = scored(frame, ["control_flips"], by=["control"])
    assert set(named) == {(None, "control_flips"), ("control=identity", "control_flips")}


def test_controls_alone_are_controls_still():
    alone = table(HAND).filter(pl.col("control").is_not_null() | pl.col("variant").is_null())
    found = scored(alone, ())  # without a word: warnings are errors
    assert found == {
        (None, "accuracy_original"): 3 / 4,
        ("control=identity", "control_flips"): 0.0,
        ("control=scramble", "control_flips"): 1 / 4,
    }
    with refuses(Unmeasurable):
        score(alone, ["flip_rate", "accuracy_original"])


def test_asked_for_by_name_it_must_be_there():
    rewordings = table(HAND).filter(pl.col("control").is_null())
    for frame in (rewordings, rewordings.drop("control")):
        with refuses(Unmeasurable):
            score(frame, ["flip_rate", "control_flips"])
    assert "control_flips" not in {metric for _, metric in scored(rewordings, ())}
    assert "control_flips" in {metric for _, metric in scored(table(HAND), ())}


labels = st.sampled_from("enc")
variants = st.lists(st.tuples(labels, st.sampled_from([None, None, "tautology", "scramble"])), max_size=5)
buckets = st.lists(st.tuples(labels, labels, variants), min_size=1, max_size=8)


def rows_of(some: list[tuple[str, str, list[tuple[str, str | None]]]]) -> list[tuple[Any, ...]]:
    """Buckets as drawn, and one with a rewording, so that there is something to measure."""
    found: list[tuple[Any, ...]] = [("x", None, None, "e", "e"), ("x", "x1", None, "e", "n")]
    for b, (gold, first, variants) in enumerate(some):
        found.append((f"b{b}", None, None, gold, first))
        found += [(f"b{b}", f"b{b}.{v}", control, gold, pred) for v, (pred, control) in enumerate(variants)]
    return found


@given(buckets, st.integers(0, 100))
def test_controls_change_no_bit_of_another_score_and_are_what_loops_count(some, seed):
    frame = table(rows_of(some))
    without = frame.filter(pl.col("control").is_null())
    settled = {"replicates": 30, "task": TASK}
    alone = [asdict(one) for one in score(without.drop("control"), ORDINARY, **settled)]
    pairs = [(pred, first, name) for _, first, variants in some for pred, name in variants if name]
    if not pairs:
        assert [asdict(one) for one in score(frame, ORDINARY, **settled)] == alone
        return
    both = score(frame.sample(fraction=1, shuffle=True, seed=seed), [*ORDINARY, "control_flips"], **settled)
    assert [asdict(one) for one in both if one.metric != "control_flips"] == alone
    found_shares = {one.group: one.value for one in both if one.metric == "control_flips"}
    flips = {name: [pred != first for pred, first, control in pairs if control == name] for _, _, name in pairs}
    shares = {name: sum(some) / len(some) for name, some in flips.items()}
    several = {f"control={name}": share for name, share in shares.items()}
    assert found_shares == pytest.approx(several if len(shares) > 1 else {None: next(iter(shares.values()))})


def test_contrasts_and_controls_in_one_table():
    suite = table([("k", None, None, "e", "e"), ("k", "k1", None, "c", "e")]).with_columns(contrast=pl.lit("mine"))
    both = pl.concat([table(HAND).with_columns(contrast=pl.lit(None, pl.String)), suite])
    using = ["flip_rate", "control_flips", "sensitivity"]
    found = {metric: value for (group, metric), value in scored(both, using).items() if group is None}
    assert found == {"flip_rate": 1 / 4, "sensitivity": 0.0}  # two controls have no rate in common
    assert [name for name, *_ in split_roles(both, Location())] == ["rewordings", "contrasts", "controls"]


def test_groups_are_made_of_what_has_the_column():
    how = pl.coalesce("control", pl.when(pl.col("variant").is_not_null()).then(pl.lit("mine")))
    kind = pl.when(pl.col("control") == "scramble").then(pl.lit("all words"))
    frame = table(HAND).with_columns(how=how, kind=kind)
    found = scored(
        frame.filter(pl.col("control").fill_null("") != "identity"), ["flip_rate", "control_flips"], by=["how", "kind"]
    )
    assert set(found) == {
        (None, "flip_rate"),
        (None, "control_flips"),
        ("how=mine", "flip_rate"),
        ("how=scramble", "control_flips"),
        ("kind=all words", "control_flips"),
    }


def test_a_text_that_gets_another_answer_is_reported():
    """Whether or not the flips of controls are asked for: nothing else that the model does is to be trusted, either."""
    unsteady = [(*row[:4], "c") if row[1] == "b3" else row for row in HAND]
    frame = pl.concat([table(HAND, "steady"), table(unsteady, "unsteady")])
    unsteady = r"^unsteady: 1 of 2 identical texts \(identity\) got another answer: the model is not deterministic, or"
    with pytest.warns(UserWarning, match=unsteady) as caught:
        found = score(frame, ["control_flips"], replicates=20, task=TASK)
    assert len(lines(caught)) == 1
    found_shares = {one.model: one.value for one in found if one.group == "control=identity"}
    assert found_shares == {"steady": 0.0, "unsteady": 0.5}
    with pytest.warns(UserWarning, match=unsteady):
        score(frame, ["accuracy_original"], replicates=20)
    alone = frame.filter(pl.col("control").is_not_null() | pl.col("variant").is_null())
    with pytest.warns(UserWarning, match=unsteady):
        score(alone, ["control_flips"], replicates=20)


# Comparing and listing.


def two_models() -> pl.DataFrame:
    other = [(*row[:4], "c") if row[1] in ("a3", "d1") else row for row in HAND]
    return pl.concat([table(HAND), table(other, "n")])


def test_two_models_are_compared_on_both():
    using = ["flip_rate", "accuracy_original", "control_flips"]
    found = compare(two_models(), using=using, replicates=200)
    assert [(one.group, one.metric) for one in found] == [
        (None, "flip_rate"),
        (None, "accuracy_original"),
        ("control=identity", "control_flips"),
        ("control=scramble", "control_flips"),
    ]
    assert [(one.value, one.other_value) for one in found[2:]] == [(0, 1 / 2), (1 / 4, 2 / 4)]
    alone = compare(two_models().filter(pl.col("control").is_null()), using=using[:2], replicates=200)
    for one, expected in zip(found, alone, strict=False):
        assert (one.difference, one.low, one.p_swap) == (expected.difference, expected.low, expected.p_swap)
    with pytest.warns(UserWarning, match="only one of the models has answers to controls"):
        compare(table(HAND), table(HAND, "n").filter(pl.col("control").is_null()), ["flip_rate"], replicates=200)


def test_groups_of_controls_are_compared():
    many = pl.concat(table(HAND).with_columns(pl.col("bucket") + str(n)) for n in range(3))
    with pytest.warns(UserWarning, match="problems with variants in control=identity and control=scramble"):
        [one] = compare_groups(many, "control", ["control_flips"], replicates=100)
    assert (one.model, one.other, one.value, one.other_value) == ("control=identity", "control=scramble", 0.0, 1 / 4)
    with refuses(Unmeasurable):
        compare_groups(many, "control", ["flip_rate"], replicates=50)


def test_lists_are_of_rewordings():
    assert audit(table(HAND), "hard-cases")["variants"].to_list() == [2]
    assert audit(table(HAND), "hard-cases")["right:m"].to_list() == [1]


# The mark.


@pytest.mark.parametrize(
    ("control", "contrast"),
    [
        (["x", "x"], [None, None]),
        ([None, "x"], ["s", "s"]),
        ([False, True], [None, None]),
    ],
)
def test_marks_that_cannot_be(control, contrast):
    marks = [pl.Series("control", control), pl.Series("contrast", contrast, dtype=pl.String)]
    with refuses(BadInput):
        score(table(HAND[:2]).with_columns(marks), ["flip_rate"])


def test_an_empty_mark_is_none():
    empty = table(HAND).with_columns(pl.col("control").fill_null(""))
    assert scored(empty, ["flip_rate", "control_flips"]) == scored(table(HAND), ["flip_rate", "control_flips"])
    assert [name for name, *_ in split_roles(empty.with_columns(control=pl.lit("")), Location())] == ["rewordings"]


def test_nothing_reads_both_at_once():
    with refuses(BadInput):
        reading.read(table(HAND))
    rows = {name: (part.height, place.row(0)) for name, part, place in split_roles(table(HAND), Location("t"))}
    assert rows == {"rewordings": (8, "t, row 1"), "controls": (9, "t, row 1")}


def test_sifting_sets_misplaced_marks_aside():
    wrong = table([("y", None, "x", "e", "e")])
    good, others = separate_rejects(pl.concat([table(HAND), wrong]))
    assert good.height == len(HAND)
    assert others.select("row", "reason").rows() == [(15, "control: it is an original, or a contrast")]
