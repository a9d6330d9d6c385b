"""Noun phrases, prepositional phrases and capitals, in trees by hand."""

from __future__ import annotations

import pytest
from parses import by_hand

pytest.importorskip("lemminflect")

from otherwords.grammar import phrases
from otherwords.grammar.parsing import Node
from otherwords.grammar.phrases import (
    has_scope,
    is_adverbial,
    is_definite,
    is_human,
    is_plural,
    is_someone,
    rank,
    trailing_modifiers,
)
from otherwords.grammar.rewriting import begins_sentence, join_reordered, lower_first_word, may_be_mistagged


@pytest.mark.parametrize(
    ("spec", "bare"),
    [
        ("dogs:NNS:ROOT:0:dog", True),
        ("the:DT:det:1 dogs:NNS:ROOT:1:dog", False),
        ("two:CD:nummod:1 dogs:NNS:ROOT:1:dog", False),
        ("his:PRP$:poss:1 dogs:NNS:ROOT:1:dog", False),
        ("all:DT:predet:1 dogs:NNS:ROOT:1:dog", False),
        ("old:JJ:amod:1 dogs:NNS:ROOT:1:dog", True),
        ("Rex:NNP:ROOT:0", False),
    ],
)
def test_a_bare_noun_has_neither_article_number_nor_possessor(spec, bare):
    assert phrases.is_bare(by_hand(spec), spec.count(" ")) is bare


@pytest.mark.parametrize(
    ("spec", "plural"),
    [
        ("dog:NN:ROOT:0", False),
        ("dogs:NNS:ROOT:0:dog", True),
        ("people:NNS:ROOT:0", True),
        ("police:NN:ROOT:0", True),
        ("two:CD:nummod:1 dogs:NNS:ROOT:1:dog", True),
        ("one:CD:nummod:1 dog:NN:ROOT:1", False),
        ("two:CD:nummod:1 dog:NN:ROOT:1", None),
        ("one:CD:nummod:1 dogs:NNS:ROOT:1:dog", None),
        ("a:DT:det:1 glasses:NNS:ROOT:1:glass", None),
        ("the:DT:det:1 deer:NN:ROOT:1", None),
        ("a:DT:det:1 deer:NN:ROOT:1", False),
        ("couple:NN:ROOT:0", None),
        ("dog:NN:ROOT:0 and:CC:cc:0 cat:NN:conj:0", True),
        ("dog:NN:ROOT:0 or:CC:cc:0 cat:NN:conj:0", None),
        ("he:PRP:ROOT:0", False),
        ("us:PRP:ROOT:0", True),
        ("you:PRP:ROOT:0", True),
        ("I:PRP:ROOT:0", None),
        ("mine:PRP:ROOT:0", None),
    ],
)
def test_number_of_a_phrase(spec, plural):
    tree = by_hand(spec)
    assert is_plural(tree, next(tree.roots())) is plural


@pytest.mark.parametrize("noun", sorted(phrases._UNSURE_NUMBER))
def test_the_number_of_an_amount_is_not_certain(noun):
    assert is_plural(by_hand(f"a:DT:det:1 {noun}:NN:ROOT:1 of:IN:prep:1 dogs:NNS:pobj:2:dog"), 1) is None


@pytest.mark.parametrize(
    ("spec", "definite"),
    [
        ("the:DT:det:1 dog:NN:ROOT:1", True),
        ("a:DT:det:1 dog:NN:ROOT:1", False),
        ("dog:NN:ROOT:0", False),
        ("Tom:NNP:ROOT:0", True),
        ("Italian:NNP:ROOT:0", False),  # an adjective, too
        ("Muslims:NNPS:ROOT:0", False),
        ("the:DT:det:1 girl:NN:poss:2 father:NN:ROOT:2", True),
        ("a:DT:det:1 girl:NN:poss:2 father:NN:ROOT:2", False),
        ("Tom:NNP:poss:1 father:NN:ROOT:1", True),
        ("his:PRP$:poss:1 father:NN:ROOT:1", False),
        ("it:PRP:ROOT:0", False),
    ],
)
def test_definite_phrases(spec, definite):
    tree = by_hand(spec)
    assert is_definite(tree, next(tree.roots())) is definite


def test_someone_is_a_person_or_an_animal():
    tree = by_hand("man:NN:ROOT:0 dog:NN:dep:0 rock:NN:dep:0 them:PRP:dep:0 it:PRP:dep:0")
    assert [is_human(tree, at) for at in range(5)] == [True, False, False, True, False]
    assert [is_someone(tree, at) for at in range(5)] == [True, True, False, True, False]


def test_every_scope_word_is_found_anywhere_in_a_phrase():
    for word in phrases.SCOPE:
        tree = by_hand(f"man:NN:ROOT:0 of:IN:prep:0 {word}:X:amod:3 dogs:NNS:pobj:1:dog")
        assert has_scope(tree, 0), word
        assert not has_scope(tree, 1) or word in tree.words(1)
    assert not has_scope(by_hand("the:DT:det:1 man:NN:ROOT:1"), 1)


@pytest.mark.parametrize(
    ("spec", "adverbial"),
    [
        ("in:IN:ROOT:0 the:DT:det:2 park:NN:pobj:0", True),
        ("in:IN:ROOT:0 a:DT:det:2 hat:NN:pobj:0", False),  # worn
        ("in:IN:ROOT:0 red:NN:pobj:0", False),
        ("on:IN:ROOT:0 a:DT:det:2 hat:NN:pobj:0", True),
        ("with:IN:ROOT:0 a:DT:det:2 dog:NN:pobj:0", False),
        ("of:IN:ROOT:0 dogs:NNS:pobj:0:dog", False),
        ("in:IN:ROOT:0 parks:NNS:pobj:0 and:CC:cc:1 streets:NNS:conj:1", False),
        ("in:IN:ROOT:0 parks:NNS:pobj:0 with:IN:prep:1 dogs:NNS:pobj:2", False),
    ],
)
def test_phrases_of_place_and_time(spec, adverbial):
    assert is_adverbial(by_hand(spec), 0) is adverbial


def test_trailing_modifiers_are_what_may_belong_elsewhere():
    tree = by_hand(
        "the:DT:det:1 man:NN:ROOT:1 of:IN:prep:1 peace:NN:pobj:2 in:IN:prep:1 hats:NNS:pobj:4 sings:VBZ:relcl:1"
    )
    assert [tree[at].text for at in trailing_modifiers(tree, 1)] == ["in", "sings"]


def test_adjectives_have_an_order():
    order = ["beautiful", "large", "happy", "old", "round", "red", "wooden"]
    assert [rank(word) for word in order] == list(range(7))
    assert rank("RED") == rank("red")
    assert rank("former") is None


# Capitals


@pytest.mark.parametrize(
    ("word", "tag", "lowered"),
    [
        ("The", "DT", "the"),
        ("Dogs", "NNS", "dogs"),
        ("Man", "NNP", "man"),  # tagged as a name, known as a person
        ("Tom", "NNP", "Tom"),
        ("I", "PRP", "I"),
        ("NATO", "NN", "NATO"),
        ("Asian", "JJ", "Asian"),
        ("Christian", "JJ", "Christian"),
        ("Zzyzx", "NN", "Zzyzx"),
    ],
)
def test_only_names_keep_their_capital(word, tag, lowered):
    pos = "PROPN" if tag == "NNP" else "NOUN"
    assert (
        lower_first_word(f"{word} x", Node(word, 0, pos, tag, "nsubj", 0, word.lower(), pos == "PROPN"))
        == f"{lowered} x"
    )


def test_the_capital_moves_to_the_new_first_word():
    tree = by_hand("The:DT:det:1 dog:NN:nsubj:2 saw:VBD:ROOT:2 a:DT:det:4 cat:NN:dobj:2")
    assert join_reordered(tree, [("a cat", 3), ("saw", None), ("The dog", 0)]) == "A cat saw the dog"
    king = by_hand("King:NNP:compound:1 Albert:NNP:nsubj:2 saw:VBD:ROOT:2 a:DT:det:4 cat:NN:dobj:2")
    assert join_reordered(king, [("a cat", 3), ("saw", None), ("King Albert", 0)]) == "A cat saw King Albert"
    small = by_hand("the:DT:det:1 dog:NN:nsubj:2 saw:VBD:ROOT:2 a:DT:det:4 cat:NN:dobj:2")
    assert join_reordered(small, [("a cat", 3), ("saw", None), ("the dog", 0)]) == "a cat saw the dog"


@pytest.mark.parametrize(
    ("spec", "first"),
    [("He:PRP:ROOT:0", 0), ("“:X:dep:1 He:PRP:ROOT:1", 1), ("no:DT:dep:1 .:.:ROOT:1 He:PRP:dep:1", 2)],
)
def test_where_a_sentence_begins(spec, first):
    assert begins_sentence(by_hand(spec), first)
    assert not begins_sentence(by_hand("he:PRP:nsubj:1 Runs:VBZ:ROOT:1"), 1)


@pytest.mark.parametrize(
    ("spec", "doubtful"),
    [
        ("Thorn:NN:nsubj:1 led:VBD:ROOT:1", True),
        ("Dogs:NNS:nsubj:1:dog led:VBD:ROOT:1", False),
        ("Man:NN:nsubj:1 led:VBD:ROOT:1", False),
        ("Tom:NNP:nsubj:1 led:VBD:ROOT:1", False),
        ("Table:NNP:nsubj:1 led:VBD:ROOT:1", True),
        ("thorn:NN:nsubj:1 led:VBD:ROOT:1", False),
    ],
)
def test_words_that_may_be_mistagged(spec, doubtful):
    assert may_be_mistagged(by_hand(spec), 0) is doubtful
