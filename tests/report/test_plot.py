"""The plot counts all wordings of a problem, says in words what it shows, and its bars add up."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.report.flips import FlipCounts, by_problem, count_problems, mark_flips
from otherwords.report.plot import Bar, describe

LABELS = ("entailment", "neutral", "contradiction")


def table(problems: list[tuple[str | None, list[str]]], original: bool = True) -> pl.DataFrame:
    """Answers of one model: for each problem the right answer, and what the wordings got, the original first."""
    rows = [
        {"bucket": f"b{i}", "variant": None if original and j == 0 else f"b{i}.{j}", "gold": gold, "pred": pred}
        for i, (gold, preds) in enumerate(problems)
        for j, pred in enumerate(preds)
    ]
    schema = dict.fromkeys(("bucket", "variant", "gold", "pred"), pl.String)
    return pl.DataFrame(rows, schema=schema).with_columns(model=pl.lit("m"))


def counted(*parts: pl.DataFrame) -> Bar:
    return flips_of(*parts).bar("m")


def flips_of(*parts: pl.DataFrame) -> FlipCounts:
    counts = FlipCounts()
    for part in parts:
        counts.add(part)
    return counts


def count(problems: list[tuple[str | None, list[str]]], original: bool = True) -> Bar:
    return counted(table(problems, original))


def test_the_original_is_one_of_the_wordings() -> None:
    """With one rewording a problem, nothing would depend on the wording if only rewordings were counted."""
    found = count([("neutral", ["neutral", "entailment"]), ("neutral", ["neutral", "neutral"])])
    assert (found.right, found.mixed, found.wrong, found.flips, found.n) == (1, 1, 0, 1, 2)


def test_another_wrong_answer_depends_on_the_wording_too() -> None:
    found = count([("neutral", ["entailment", "contradiction"]), ("neutral", ["entailment", "entailment"])])
    assert (found.right, found.mixed, found.wrong) == (0, 1, 1)


def test_without_labels_nothing_is_right_or_wrong() -> None:
    found = count([(None, ["neutral", "entailment"]), (None, ["neutral", "neutral"]), (None, ["neutral"] * 3)])
    assert [(one.label, one.number) for one in found.segments()] == [
        ("same answer to all wordings", 2),
        ("depends on the wording", 1),
    ]
    assert [one.part for one in count([(None, ["neutral", "entailment"])]).segments()] == ["same", "mixed"]


def test_labels_for_some_problems_only() -> None:
    found = count([(None, ["neutral"] * 2), ("neutral", ["neutral"] * 2), ("entailment", ["neutral"] * 2)])
    assert [one.part for one in found.segments()] == ["right", "same", "mixed", "wrong"]
    assert (found.right, found.same, found.mixed, found.wrong) == (1, 1, 0, 1)


def test_without_originals_the_rewordings_are_compared_with_each_other() -> None:
    found = count([("neutral", ["neutral", "neutral", "entailment"]), ("neutral", ["neutral"])], original=False)
    assert (found.total, found.mixed, found.flips, found.compared) == (1, 1, 1, 0)


def test_right_answers_that_differ_are_right() -> None:
    """Where a file gives two wordings two labels, a model that answers both correctly is not blamed."""
    both = table([("neutral", ["neutral", "entailment"])])
    either = both.with_columns(gold=pl.col("pred"))
    assert counted(either).right == 1


problems = st.lists(
    st.tuples(st.sampled_from([None, *LABELS]), st.lists(st.sampled_from(LABELS), min_size=2, max_size=5)), min_size=1
)


@given(problems)
def test_a_part_depends_on_the_wording_just_where_there_are_flips(some: list[tuple[str | None, list[str]]]) -> None:
    found = count(some)
    assert (found.mixed == 0) == (found.flips == 0)
    assert found.mixed == sum(len(set(preds)) > 1 for _, preds in some)
    assert found.total == len(some) == sum(one.number for one in found.segments())


@given(problems)
def test_two_labels_flip_between_right_and_wrong(some: list[tuple[str | None, list[str]]]) -> None:
    two = [(gold, ["yes" if pred == "neutral" else "no" for pred in preds]) for gold, preds in some]
    known = [("yes", preds) for _, preds in two]
    differing = any(len(set(preds)) > 1 for _, preds in known)
    assert (count(known).mixed > 0) == differing


def test_segments_have_the_widths_of_their_shares() -> None:
    segments = Bar("m", 6, 1, 1).segments()
    assert [(one.start, one.width) for one in segments] == [
        ("0.000%", "75.000%"),
        ("75.000%", "12.500%"),
        ("87.500%", "12.500%"),
    ]


def test_it_is_described_in_words() -> None:
    text = describe([Bar("m", 6, 1, 1), Bar("n", 0, 1, 0)])
    assert "m: of 8\u00a0problems, always right 6 (75.0\u00a0%), depends on the wording 1 (12.5\u00a0%)" in text
    assert "n: of 1\u00a0problem, always right 0 (0.0\u00a0%), depends on the wording 1 (100.0\u00a0%)" in text


@pytest.mark.parametrize("name", ['<script>"&', "x" * 200])
def test_any_name_can_be_drawn(study: Any, name: str) -> None:
    page = study.html(
        answers=study.answers.with_columns(model=pl.col("model").replace("weak", name)), scores=study.scores[3:]
    )
    assert page.count("<script") == 2  # those of the list of all problems
    assert 'href="#m2-mixed"' in page


some = st.lists(
    st.tuples(st.sampled_from([None, "", *LABELS]), st.lists(st.sampled_from(LABELS), min_size=1, max_size=4)),
    min_size=1,
    max_size=12,
)


@given(some, st.integers(0, 12), st.randoms(use_true_random=False))
def test_parts_and_the_order_of_rows_change_nothing(given_problems: Any, cut: int, random: Any) -> None:
    """Counted in arrays where rows of a problem stand together, by groups elsewhere, in one part or in two."""
    whole = table(given_problems)
    inside = pl.col("bucket").str.tail(-1).cast(pl.Int64) < cut
    parts = [part for part in (whole.filter(inside), whole.filter(~inside)) if part.height]
    shuffled = whole[random.sample(range(whole.height), whole.height)]
    wanted = by_problem(mark_flips(whole))
    for found in (count_problems(whole), count_problems(shuffled)):
        assert found.sort("bucket").equals(wanted.cast(dict(found.schema)), null_equal=True)
    one, *others = (flips_of(*tables) for tables in ([whole], parts, [shuffled]))
    for other in others:
        assert other.bar("m") == one.bar("m")
        assert {part: rows["bucket"].to_list() for part, rows in other.of("m").items()} == {
            part: rows["bucket"].to_list() for part, rows in one.of("m").items()
        }
