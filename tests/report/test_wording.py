"""Worked examples of the word diff, and its laws."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.report.wording import LIMIT, Segment, compare, excerpt


def shown(segments: tuple[Segment, ...]) -> str:
    """Write segments as a reader sees them: [new], {gone}."""
    marks = {"new": "[{}]", "gone": "{{{}}}", "same": "{}", "cut": "{}"}
    return "".join(marks[kind].format(text) for kind, text in segments)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The cat sleeps.", "The cat sleeps.", "The cat sleeps."),
        ("The cat sleeps.", "The dog sleeps.", "The [dog] sleeps."),
        ("The cat sleeps.", "The old cat sleeps.", "The [old] cat sleeps."),
        ("It is not wet.", "It is wet.", "It is {not} wet."),
        ("It is wet today.", "It is wet.", "It is wet {today}."),
        ("Not here.", "Here.", "[Here]."),
        ("He isn't in.", "He is not in.", "He [is not] in."),
        ("Stop.", "Stop!", "Stop[!]"),
        ("one two three", "", "{one two three}"),
        ("", "one two", "[one two]"),
        ("", "", ""),
        ("a  b", "a b", "a b"),
        ("今天天气很好。", "今天天气不错。", "今天天气[不错]。"),
        ("שלום עולם יפה", "שלום עולם גדול", "שלום עולם [גדול]"),
        ("I like 🍕 a lot", "I like 🍝 a lot", "I like [🍝] a lot"),
        ("यह हिन्दी है", "यह हिन्दी थी", "यह हिन्दी [थी]"),
    ],
)
def test_worked_examples(old: str, new: str, expected: str) -> None:
    assert shown(compare(old, new)) == expected


def test_a_long_text_is_cut_around_its_changes() -> None:
    words = [f"w{i}" for i in range(5000)]
    new = [*words]
    new[1000], new[4000] = "FIRST", "SECOND"
    segments = compare(" ".join(words), " ".join(new))
    text = shown(segments)
    assert "w999 [FIRST] w1001" in text
    assert "w3999 [SECOND] w4001" in text
    assert [kind for kind, _ in segments if kind == "cut"] == ["cut"] * 3
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert LIMIT // 2 < len(text.replace("…", "").split()) <= LIMIT


def test_a_long_original_is_cut_around_what_was_changed() -> None:
    words = [f"w{i}" for i in range(300)]
    new = [*words]
    new[150] = "NEW"
    rewritten = " ".join(f"v{i}" for i in range(300))
    text = shown(excerpt(" ".join(words), [rewritten, " ".join(new)]))
    assert " w149 w150 w151 " in text
    assert len(text.replace("…", "").split()) <= LIMIT


def test_a_long_original_without_changes_keeps_both_ends() -> None:
    text = shown(excerpt(" ".join(f"w{i}" for i in range(300))))
    assert text.startswith("w0 w1 ")
    assert text.endswith(" w298 w299")
    assert " … " in text


@pytest.mark.parametrize("new", ["x" * 5000, "word " * 5000, "字" * 5000])
def test_no_text_floods_the_page(new: str) -> None:
    assert len(shown(compare("A short text.", new))) < LIMIT * 21
    assert len(shown(excerpt(new, ["A short text."]))) < LIMIT * 21


def test_long_and_unlike_texts_take_no_time() -> None:
    random_ = random.Random(1)
    words = [random_.choice(["the", "of", f"word{random_.randrange(700)}"]) for _ in range(5000)]
    other = random_.sample(words, len(words))
    start = time.perf_counter()
    compare(" ".join(words), " ".join(other))
    assert time.perf_counter() - start < 5


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_new_text_can_be_read_off(old: str, new: str) -> None:
    segments = compare(old, new, limit=1000)
    assert "".join("".join(text.split()) for kind, text in segments if kind != "gone") == "".join(new.split())
    assert all(a.kind != b.kind for a, b in itertools.pairwise(segments))


@given(st.text(max_size=60))
def test_an_unchanged_text_is_all_the_same(text: str) -> None:
    assert {kind for kind, _ in compare(text, text, limit=1000)} <= {"same"}
