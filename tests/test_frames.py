from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from refusals import refuses

from otherwords.errors import BadInput, Unmeasurable
from otherwords.frames import (
    buckets,
    free_columns,
    join_pieces,
    kept,
    problems,
    reworded,
    rewordings,
    to_frame,
    variant_row,
    with_texts,
)
from otherwords.problem import TASKS, Problem, Variant

NLI = TASKS["nli"]


def row(name, of=None, **extra):
    text = {"premise": f"P {name}.", "hypothesis": "H."}
    return {"id": name, "of": of, "how": "x" if of else None, **text, "label": "neutral", "cluster": "c", **extra}


def test_columns_come_in_a_fixed_order():
    frame = to_frame([row("a", z=1), {**row("b"), "y": "s"}], NLI)
    assert frame.columns == ["id", "of", "how", "premise", "hypothesis", "label", "cluster", "z", "y"]
    assert frame.schema["of"] == pl.String
    assert frame.row(1, named=True)["z"] is None
    assert to_frame([], NLI).columns == frame.columns[:7]


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([1, 2, None], pl.Int64, [1, 2, None]),
        ([1, 2.5], pl.Float64, [1.0, 2.5]),
        ([True, None], pl.Boolean, [True, None]),
        (["a", None], pl.String, ["a", None]),
        ([1, "a", True, 2.5], pl.String, ["1", "a", "true", "2.5"]),
        ([True, 1], pl.String, ["true", "1"]),
        ([None, None], pl.Null, [None, None]),
    ],
)
def test_extras_keep_their_kind_or_become_text(values, kind, found):
    frame = to_frame([row(str(i), x=value) for i, value in enumerate(values)], NLI)
    assert frame.schema["x"] == kind
    assert frame["x"].to_list() == found


KINDS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(KINDS, max_size=8), st.integers(0, 8))
def test_an_extra_reads_the_same_in_one_piece_or_two(values, cut):
    """Shards are put together again: what a column says must not depend on where it was cut."""
    rows = [row(str(i), x=value) for i, value in enumerate(values)]
    if {type(value) for value in values} >= {bool, int} and str not in {type(value) for value in values}:
        return  # truth values beside numbers: Polars makes them 0 and 1 where the pieces meet
    parts = [to_frame(part, NLI) for part in (rows[:cut], rows[cut:])]
    joined, whole = pl.concat(parts, how="diagonal_relaxed"), to_frame(rows, NLI)
    assert joined.columns == whole.columns
    assert joined.cast(pl.String).to_dicts() == whole.cast(pl.String).to_dicts()


def test_rows_become_problems_and_variants():
    frame = to_frame([row("a", topic="t"), row("v", of="a", topic="t")], NLI)
    first, second = problems(frame, NLI)
    assert first == Problem("a", NLI, {"premise": "P a.", "hypothesis": "H."}, "neutral", {"topic": "t"})
    assert type(first) is Problem
    assert isinstance(second, Variant)
    assert (second.of, second.how) == ("a", "x")


def test_verdicts_are_not_part_of_a_problem():
    frame = to_frame([row("a", **{"check:surface": True, "check:surface:reason": "no", "note": "n"})], NLI)
    assert problems(frame, NLI)[0].extra == {"note": "n"}


def test_variants_become_rows_and_share_the_cluster():
    original = problems(to_frame([row("a", topic="t")], NLI), NLI)[0]
    variant = Variant("v", NLI, {"premise": "Q.", "hypothesis": "H."}, "neutral", original.extra, of="a", how="g.v1()")
    found = variant_row(variant, "c1")
    assert found == {
        "id": "v",
        "of": "a",
        "how": "g.v1()",
        "premise": "Q.",
        "hypothesis": "H.",
        "label": "neutral",
        "cluster": "c1",
        "topic": "t",
    }
    assert problems(to_frame([found], NLI), NLI) == [variant]


def test_what_a_generator_brings_along_takes_no_column():
    """A generator's own `model` or `label` once broke the answers table, or overwrote the gold label."""
    extra = {"model": "gpt", "label": "entailment", "premise": "x", "id": 3, "scores": [0.1], "fine": 1}
    variant = Variant("v", NLI, {"premise": "Q.", "hypothesis": "H."}, "neutral", extra, of="a")
    found = variant_row(variant, "c1")
    assert (found["id"], found["label"], found["premise"]) == ("v", "neutral", "Q.")
    assert {name: value for name, value in found.items() if name.startswith("input_")} == {
        "input_model": "gpt",
        "input_label": "entailment",
        "input_premise": "x",
        "input_id": 3,
    }
    assert (found["scores"], found["fine"]) == ("[0.1]", 1)


NAMES = st.sampled_from(["model", "input_model", "input_input_model", "pred", "input_pred", "x", "id", "input_id"])


@given(st.dictionaries(NAMES, st.integers(-5, 5)), st.sets(st.sampled_from(["id", "x"])))
def test_nothing_that_comes_along_is_lost(values, taken):
    found = free_columns(values, taken)
    assert sorted(found.values()) == sorted(values.values())
    assert not set(found) & {"model", "pred", *taken}
    assert free_columns(found, taken) == found


def test_buckets_hold_originals_and_their_variants():
    frame = to_frame([row("v1", of="b"), row("a"), row("b"), row("v2", of="a"), row("v3", of="b")], NLI)
    found = buckets(frame, NLI)
    assert [(one.problem.id, [v.id for v in one.variants]) for one in found] == [("a", ["v2"]), ("b", ["v1", "v3"])]


def test_a_bucket_without_original():
    with refuses(BadInput):
        buckets(to_frame([row("v", of="gone")], NLI), NLI)


@pytest.mark.parametrize("way", [bool, str, lambda keep: str(keep).lower()])
def test_kept_are_those_that_no_check_dropped(way):
    verdicts = [(None, None), (True, True), (True, False), (False, True), (None, True), (False, None)]
    rows = [
        row(
            str(i),
            **{
                "check:one": None if one is None else way(one),
                "check:two": None if two is None else way(two),
                "check:one:reason": "false",
                "check:one:score": 0.0,
                "checked": False,
            },
        )
        for i, (one, two) in enumerate(verdicts)
    ]
    assert kept(to_frame(rows, NLI).lazy()).collect()["id"].to_list() == ["0", "1", "4"]


def test_kept_without_checks_and_without_variants():
    assert kept(to_frame([row("a")], NLI).lazy()).collect().height == 1
    assert kept(to_frame([row("a", **{"check:one": None})], NLI).lazy()).collect().height == 1


def test_a_verdict_that_is_none():
    with refuses(BadInput):
        to_frame([row("a", **{"check:one": "maybe"})], NLI)


@pytest.mark.parametrize(
    ("value", "found"), [(2**63 - 1, 2**63 - 1), (-(2**63) + 1, -(2**63) + 1), (2**63, str(2**63))]
)
def test_whole_numbers_too_large_for_a_table_become_text(value, found):
    assert free_columns({"x": value}) == {"x": found}
    assert to_frame([row("a", **free_columns({"x": value}))], NLI)["x"].to_list() == [found]


def test_texts_by_id():
    suite = pl.DataFrame({"id": ["a", "a1", "b"], "premise": ["x", "y", "z"]})
    answers = pl.DataFrame(
        {"bucket": ["b", "a", "a"], "variant": ["", None, "a1"], "premise": ["old"] * 3, "n": [1, 2, 3]}
    )
    joined = with_texts(answers, suite, ["premise"])
    assert joined["premise"].to_list() == ["z", "x", "y"]
    assert joined.columns == ["bucket", "variant", "n", "premise"]
    numbers = answers.with_columns(bucket=pl.Series([1, 2, 2]), variant=pl.Series([None, None, 3]))
    assert with_texts(numbers, suite.with_columns(id=pl.Series([2, 3, 1])), ["premise"])["premise"][2] == "y"


def test_texts_that_may_be_missing_are_null():
    suite = pl.DataFrame({"id": ["a"], "premise": ["x"]})
    answers = pl.DataFrame({"bucket": ["a", "a"], "variant": [None, "a1"]})
    assert with_texts(answers, suite, ["premise"], missing_ok=True)["premise"].to_list() == ["x", None]


@pytest.mark.parametrize(
    ("suite", "field"),
    [
        ({"id": ["a"], "premise": ["x"]}, "id"),  # has no a1
        ({"id": ["a", "a1", "a1"], "premise": ["x"] * 3}, "id"),
        ({"premise": ["x"]}, "id"),
        ({"id": ["a", "a1"]}, "premise"),
    ],
)
def test_texts_that_cannot_be_found_are_refused(suite, field):
    answers = pl.DataFrame({"bucket": ["a", "a"], "variant": [None, "a1"]})
    with refuses(Unmeasurable, where="m", field=field):
        with_texts(answers, pl.DataFrame(suite), ["premise"], "m")


EXTRAS = st.dictionaries(st.sampled_from(["x", "y", "check:z"]), KINDS | st.floats(allow_nan=False), max_size=2)


@given(st.lists(st.lists(EXTRAS, max_size=3), max_size=4), st.data())
def test_pieces_stacked_are_one_table_of_all_rows(pieces, data):
    """Some pieces are tables already, as generators that work on columns give them."""
    rows = [[row(f"{i}.{j}", **{k: v for k, v in one.items() if k != "check:z" or isinstance(v, bool)})
             for j, one in enumerate(piece)] for i, piece in enumerate(pieces)]  # fmt: skip
    given = [_typed(piece) if data.draw(st.booleans()) else piece for piece in rows]
    found, whole = (
        join_pieces([piece for piece in given if len(piece)], NLI),
        to_frame([one for piece in rows for one in piece], NLI),
    )
    assert_frame_equal(found, whole)


def _typed(piece):
    """A table, where every column has values of one kind."""
    names = dict.fromkeys(name for one in piece for name in one)
    mixed = any(len({type(one[name]) for one in piece if one.get(name) is not None}) > 1 for name in names)
    return piece if mixed or not piece else to_frame(piece, NLI)


@given(st.lists(st.sampled_from([None, "", " ", "x"]), min_size=4, max_size=4), st.permutations(range(4)))
def test_rewordings_are_the_variants_of_reworded_buckets(marks, order):
    rows = [row("a", contrast=marks[0]), row("v", of="a", control=marks[1]), row("b", contrast=marks[2]),
            row("w", of="b", control=marks[3])]  # fmt: skip
    suite = to_frame([rows[i] for i in order], NLI)
    found = {v.id: one.problem.text["premise"] for one in reworded(suite, NLI) for v in one.variants}
    table = rewordings(suite, NLI)
    assert dict(table.select("id", "original:premise").iter_rows()) == found
    assert table.columns == ["id", "of", "premise", "hypothesis", "original:premise", "original:hypothesis"]


def test_a_rewording_without_original():
    with refuses(BadInput, where="variant 'v'", field="of", fix="add the original to the suite"):
        rewordings(to_frame([row("a"), row("v", of="gone")], NLI), NLI)
