"""Distances between texts: long ones, and those in scripts without spaces."""

from __future__ import annotations

import pytest

from otherwords.words.distance import lexical_distance


def test_long_texts_are_compared_by_equal_words():
    """Matching words by their letters takes hours for ten thousand of them."""
    long = " ".join(f"word{number}" for number in range(10_000))
    assert lexical_distance(long, long + " more") == pytest.approx(1 - 20_000 / 20_001)
    assert lexical_distance("x" * 1_000_000, "y" * 1_000_000) == 1.0
    assert lexical_distance(long, "a word") == 1.0
