"""Substitutions are what one stretch of a text became; their shares are shrunk, and cover what is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.problem import TASKS
from otherwords.report import substitutions as module
from otherwords.report.browse import Wordings, look_up
from otherwords.report.substitutions import NOTHING, flips_by_substitution, substitution_table, substitutions

TASK = TASKS["nli"]


def wordings(
    pairs: list[tuple[str, str]], flips: list[bool] | None = None, clusters: list[str] | None = None
) -> Wordings:
    """A problem for each pair: its premise, and that of its one rewording."""
    count = len(pairs)
    flips, clusters = flips or [False] * count, clusters or [f"c{i}" for i in range(count)]
    suite, answers = [], []
    for place, (old, new) in enumerate(pairs):
        name = f"p{place}"
        for id_, of, text in ((name, None, old), (f"{name}-1", name, new)):
            row = {"id": id_, "of": of, "how": None, "premise": text, "hypothesis": "H.", "cluster": clusters[place]}
            pred = "neutral" if of and flips[place] else "entailment"
            suite.append(row)
            answers.append({"model": "m", "bucket": name, "variant": of and id_, "gold": "entailment", "pred": pred})
    tables = [pl.DataFrame(rows, infer_schema_length=None).lazy() for rows in (answers, suite)]
    return look_up(None, tables[:1], tables[1:], TASK)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("A man runs.", "A person runs.", ("man", "person")),
        ("It isn't wet.", "It is not wet.", ("isn't", "is not")),
        ("It is not wet.", "It is wet.", ("not", NOTHING)),
        ("It is wet.", "It is very wet.", (NOTHING, "very")),
        ("Dogs run", "DOGS walk", ("run", "walk")),
        ("the the the", "the the", ("the", NOTHING)),
        ("Run!", "Run.", ("!", ".")),
        ("一只 狗", "一只 猫", ("狗", "猫")),
        ("a b c d e f", "a x y z u v w f", None),
        ("Same.", "same.", None),
        ("", "word", (NOTHING, "word")),
    ],
)
def test_what_a_rewording_put_for_what(old: str, new: str, expected: tuple[str, str] | None) -> None:
    found = substitutions(wordings([(old, new)])).select("old", "new").rows()
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize(("hypothesis", "expected"), [("A person sits.", [("man", "person")]), ("A woman sits.", [])])
def test_a_rewording_of_two_texts_has_one_where_both_changed_alike(hypothesis: str, expected: list[Any]) -> None:
    """MERGE replaces a word in premise and hypothesis."""
    rows = wordings([("A man runs.", "A person runs.")])
    after = pl.when(pl.col("variant").is_null()).then(pl.lit("A man sits.")).otherwise(pl.lit(hypothesis))
    both = Wordings(rows.rows.with_columns(hypothesis=after), rows.answers, TASK.fields, True)
    assert substitutions(both).select("old", "new").rows() == expected


@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abc"), max_size=5)] * 2), min_size=1, max_size=6))
def test_the_ends_and_the_middle_are_the_text(pairs: list[tuple[list[str], list[str]]]) -> None:
    """Against a plain loop over each pair."""
    old, new = (pl.Series([one[side] for one in pairs], dtype=pl.List(pl.String)) for side in (0, 1))
    head, tail = module._common_ends(old, new)
    for place, (a, b) in enumerate(pairs):
        first = 0
        while first < min(len(a), len(b)) and a[first] == b[first]:
            first += 1
        last = 0
        while last < min(len(a), len(b)) - first and a[-1 - last] == b[-1 - last]:
            last += 1
        assert (head[place], tail[place]) == (first, last)


def test_a_cluster_counts_once() -> None:
    pairs = [("A man runs.", "A person runs.")] * 4
    found = flips_by_substitution(wordings(pairs, [True, False, True, True], ["x", "x", "y", "z"]), "m")
    assert found.rows() == [("man", "person", 3, pytest.approx((0.5 + 1 + 1) / 3))]


def many(counts: dict[str, tuple[int, int]]) -> Wordings:
    """Words that were put for "man", each so often, with so many flips."""
    pairs, flips = [], []
    for word, (n, changed) in counts.items():
        pairs += [("A man runs.", f"A {word} runs.")] * n
        flips += [place < changed for place in range(n)]
    return wordings(pairs, flips)


def test_a_small_sample_is_moved_far_and_a_large_one_hardly() -> None:
    counts = {"boy": (2, 2), "person": (60, 45), "guy": (50, 5), "male": (50, 4), "chap": (40, 3), "fellow": (30, 2)}
    table: Any = substitution_table(many(counts), ["m"])
    head, *rows = table.rows
    assert head == "m: 6 of 6 substitutions changed an answer"
    assert rows[0][0] == "man → person", "2 of 2 is not the first of all"
    shown = {row[0].split()[-1]: row[3] for row in rows}
    assert abs(shown["person"].value - 0.75) < 0.05
    assert shown["boy"].value < 0.75
    assert shown["boy"].high - shown["boy"].low > 0.5
    assert all(one.low <= one.value <= one.high for one in shown.values())


def test_why_there_is_no_table() -> None:
    few = many({"boy": (2, 1)})
    assert substitution_table(few, ["m"]) == "fewer than 5 substitutions occur in 2 clusters or more"
    steady = many(dict.fromkeys(["boy", "person", "guy", "male", "chap"], (3, 0)))
    assert substitution_table(steady, ["m"]) == "no substitution that occurs again changed an answer"
    part = Wordings(few.rows, few.answers, TASK.fields, whole=False)
    assert substitution_table(part, ["m"]) == "the run has more than 2 rewordings"


@pytest.mark.slow
def test_intervals_cover_the_rates_of_substitutions_on_average() -> None:
    """Rates from a beta distribution, few clusters each, as substitutions have: about 95 % of intervals hold them."""
    from otherwords.significance.proportions import shrink

    draw = np.random.default_rng(7)
    for mean, size in ((0.05, 8), (0.2, 5), (0.5, 20)):
        covered = []
        for _ in range(60):
            rates = draw.beta(mean * size, (1 - mean) * size, 200)
            n = 2 + draw.geometric(0.2, 200)
            _, low, high = shrink(draw.binomial(n, rates) / n, n)
            covered.append(np.mean((low <= rates) & (rates <= high)))
        assert 0.92 < np.mean(covered) < 0.975, (mean, np.mean(covered))
