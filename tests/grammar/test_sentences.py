from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("spacy")

from otherwords.grammar.parsing import Node, parser, sentences


def cut(text: str) -> list[tuple[int, str]]:
    [nodes] = parser()([text])
    return [tuple(one) for one in sentences(text, nodes)]


def test_each_sentence_and_where_it_begins():
    assert cut(" It rains. A dog barks!  Who knows?\n") == [(1, "It rains."), (11, "A dog barks!"), (25, "Who knows?")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "A DOG BARKS.",
        "iPhone users praised the app.",
        "Management and Technical Weaknesses Must Be Overcome.",
    ],
)
def test_what_has_strange_capitals_is_no_sentence(text):
    assert cut(text) == []


@pytest.mark.parametrize(("text", "sentences_found"), [("it rains he ran", 0), ("It rains. he ran", 2)])
def test_a_sentence_without_a_mark_before_the_next_is_doubtful(text, sentences_found):
    """Two roots, as a parser finds them in speech that was written down."""
    places = [match.span() for match in re.finditer(r"\w+|\.", text)]
    heads = [1, 1, 3, 3] if len(places) == 4 else [1, 1, 1, 4, 4]
    nodes = [
        Node(text[start:end], start, "X", "XX", "dep", head, "", False)
        for (start, end), head in zip(places, heads, strict=True)
    ]
    assert len(list(sentences(text, nodes))) == sentences_found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["A dog barks.", "He ran!", "the cat", "Why?", "\n", "木.", "U.N."]), max_size=8))
def test_sentences_lie_in_the_text_one_behind_the_other(pieces):
    text = " ".join(pieces)
    found = cut(text)
    assert all(text[start : start + len(piece)] == piece for start, piece in found)
    assert all(one[0] + len(one[1]) <= two[0] for one, two in pairwise(found))
