"""Which words became which: worked examples, and laws that any alignment keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.words.alignment import split_words, substitutions


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("A man walks.", "A guy walks.", [("man", "guy")]),
        ("A man walks", "An adult male walks", [("man", "adult male")]),  # "a" follows its noun
        ("A man and a man", "A guy and a guy", [("man", "guy"), ("man", "guy")]),
        ("A dog", "A domestic dog", [("", "domestic")]),
        ("A big dog", "A dog", [("big", "")]),
        ("He isn't here", "He is not here", [("n't", "not")]),
        ("The dog's bone", "The dog 's bone", []),
        ("It’s late", "It's late", []),
        ("MEN run!", "men run", []),
        ("a b c d", "x", [("a b c d", "x")]),
        ("", "new words", [("", "new words")]),
        ("ice-cream", "ice cream", [("ice-cream", "ice cream")]),
        ("1 2 3 2 1", "1 2 4 2 1", [("3", "4")]),
        ("...", "!", []),
        ("It cost 3.5 dollars", "It cost 3.6 dollars", [("3.5", "3.6")]),
        ("It cost .5 dollars.", "It cost 1,000 dollars.", [(".5", "1,000")]),
        ("at 10:30 in 2/3 of 5.", "at 10:45 in 2/3 of 6.", [("10:30", "10:45"), ("5", "6")]),
        ("the cafe\u0301", "the café", []),
        ("n\u0308ice", "nice", [("n\u0308ice", "nice")]),  # no letter has this accent: one word all the same
    ],
)
def test_worked_examples(before, after, pairs):
    assert substitutions(before, after) == pairs


@pytest.mark.parametrize("mark", "’‘‛ʼʻʹˈ′´`＇՚ꞌ")
def test_every_apostrophe_is_one(mark):
    assert substitutions("The dog's bone isn't here", f"The dog{mark}s bone isn{mark}t here") == []


WORDS = st.lists(st.sampled_from(["a", "man", "dog", "runs", "the", "n't"]), max_size=12)


@given(WORDS, WORDS)
def test_what_is_left_over_is_the_same(one, other):
    before, after = " ".join(one), " ".join(other)
    pairs = substitutions(before, after)
    lost, gained = (sum(len(pair[side].split()) for pair in pairs) for side in (0, 1))
    assert len(split_words(before)) - lost == len(split_words(after)) - gained
    assert (pairs == []) is (split_words(before) == split_words(after))
    assert all(old != new for old, new in pairs)


@given(st.text(), st.text())
def test_any_text_can_be_aligned(one, other):
    assert substitutions(one, one) == []
    for old, new in substitutions(one, other):
        assert old or new


def test_many_thousands_of_words_are_one_substitution():
    words = [f"w{number % 300}" for number in range(60_000)]
    [(before, after)] = substitutions("same " + " ".join(words), "same " + " ".join(reversed(words)))
    assert (before.split(), after.split()) == (words, words[::-1])
