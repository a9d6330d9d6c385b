"""Distances between texts: long ones, and those in scripts without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.words.distance import jaccard, lexical_distance, words


def test_long_texts_are_compared_by_equal_words():
    """Matching words by their letters takes hours for ten thousand of them."""
    long = " ".join(f"word{number}" for number in range(10_000))
    assert lexical_distance(long, long + " more") == pytest.approx(1 - 20_000 / 20_001)
    assert lexical_distance("x" * 1_000_000, "y" * 1_000_000) == 1.0
    assert lexical_distance(long, "a word") == 1.0


@given(*[st.text(st.sampled_from("aAbZ .,'_-\x1c\x1f\n\té犬İ") | st.characters(max_codepoint=127))] * 2)
def test_jaccard_is_that_of_the_words(one, other):
    """ASCII texts are compared as bytes, which Python splits at other places."""
    a, b = set(words(one)), set(words(other))
    assert jaccard(one, other) == (len(a & b) / len(a | b) if a | b else 1.0)
