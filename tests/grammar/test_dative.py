"""Verbs with two objects: parsed by spaCy, and every listed word in a sentence by hand."""

from __future__ import annotations

import pytest
from parses import applied, by_hand, rewritten

pytest.importorskip("spacy")

from otherwords.grammar import dative
from otherwords.grammar.dative import TWO_OBJECTS, to_double_object, to_prepositional
from otherwords.words.inflection import inflected

DATIVE = {
    "She gives the dog a bone.": "She gives a bone to the dog.",
    "A girl is giving a treat to a dog.": "A girl is giving a dog a treat.",
    "The woman is giving the kids some cake.": "The woman is giving some cake to the kids.",
    "He bought her a ring.": "He bought a ring for her.",
    "She baked a cake for him.": "She baked him a cake.",
    "The man showed his wife a picture.": "The man showed a picture to his wife.",
    "A man is throwing a stick to the dog.": "A man is throwing the dog a stick.",
    "He sent Jon a letter.": "He sent a letter to Jon.",
}
NO_DATIVE = {
    "He gives it to him.": "gives him it",
    "He throws the ball to the ground.": "the ground receives nothing",
    "She gives the boy his ball.": "the pronoun would come first",
    "She gave him a look.": "looks are not given to anybody",
    "He explained the game to the boy.": "explain has one construction",
    "He said a word to the man.": "say has one construction",
    "She does not give the dog a bone.": "a negation",
    "She gives the man who sings a bone.": "too long",
    "He bought a ring for ten dollars.": "a price",
    "She gave every child a toy.": "a quantifier",
    "A bone was given to the dog.": "a passive",
    "It gave me nightmares.": "nobody gives them",
    "His voice gave Jon a chill.": "nobody gives it",
    "He sent London a letter.": "a place, perhaps",
    "They gave the kid the boot.": "an idiom",
    "He gave the girl up.": "a particle",
    "He gave a bone to the dog that barks.": "a relative clause",
    "He sent a letter to Paris.": "a place, perhaps",
    "He threw the dog a stick and the cat a ball.": "two throws in one",
    "He gave it a bone.": "it receives nothing",
}
BOTH_WAYS = {
    "She gives him a bone.": "She gives a bone to him.",
    "He sold the man a car.": "He sold a car to the man.",
    "She is reading the kids a book.": "She is reading a book to the kids.",
    "He handed the boy two apples in the park.": "He handed two apples to the boy in the park.",
    "He handed the boy two apples and left.": "He handed two apples to the boy and left.",
    "Pass the boy a plate.": "Pass a plate to the boy.",
    "He built the bird a house in the garden.": "He built a house for the bird in the garden.",
}


@pytest.mark.parametrize(("text", "expected"), DATIVE.items())
def test_dative_is_rewritten(text, expected):
    assert rewritten(text, "dative") == (expected if isinstance(expected, list) else [expected])


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{text} ({why})") for text, why in NO_DATIVE.items()])
def test_dative_is_left_alone(text):
    assert rewritten(text, "dative") == []


@pytest.mark.parametrize(("one", "other"), BOTH_WAYS.items())
def test_dative_in_both_directions(one, other):
    assert rewritten(one, "dative") == [other]
    assert rewritten(other, "dative") == [one]


TWO = "She:PRP:nsubj:1 {}:VBD:ROOT:1:{} the:DT:det:3 boy:NN:dative:1 a:DT:det:5 {}:NN:dobj:1 .:.:punct:1"
ONE = "She:PRP:nsubj:1 {}:VBD:ROOT:1:{} a:DT:det:3 {}:NN:dobj:1 {}:IN:dative:1 the:DT:det:6 {}:NN:pobj:4 .:.:punct:1"


@pytest.mark.parametrize("verb", sorted(TWO_OBJECTS))
def test_every_listed_verb_has_both_constructions(verb):
    past, preposition = inflected(verb, "VBD"), TWO_OBJECTS[verb]
    double, single = f"She {past} the boy a cake.", f"She {past} a cake {preposition} the boy."
    assert applied(to_prepositional, by_hand(TWO.format(past, verb, "cake"))) == [single]
    assert applied(to_double_object, by_hand(ONE.format(past, verb, "cake", preposition, "boy"))) == [double]
    wrong = "for" if preposition == "to" else "to"
    assert applied(to_double_object, by_hand(ONE.format(past, verb, "cake", wrong, "boy"))) == []


def test_what_nobody_receives_stays(monkeypatch):
    """ "Gave the boy a look": the list is the only reason."""
    trees = [by_hand(TWO.format("gave", "give", noun)) for noun in sorted(dative._NOT_GIVEN)]
    assert [tree.text for tree in trees if applied(to_prepositional, tree)] == []
    monkeypatch.setattr(dative, "_NOT_GIVEN", frozenset())
    assert all(applied(to_prepositional, tree) for tree in trees)


@pytest.mark.parametrize("receiver", ["ground", "wall", "door"])
def test_things_receive_nothing(receiver):
    assert applied(to_double_object, by_hand(ONE.format("threw", "throw", "ball", "to", receiver))) == []


@pytest.mark.parametrize("verb", ["explain", "say", "describe", "donate"])
def test_other_verbs_have_one_construction(verb):
    past = inflected(verb, "VBD")
    assert applied(to_double_object, by_hand(ONE.format(past, verb, "game", "to", "boy"))) == []


@pytest.mark.parametrize(
    ("rest", "fits"),
    [("in:IN:prep:1 parks:NNS:pobj:{}", True), ("today:NN:npadvmod:1", False), ("that:IN:ccomp:1", False)],
)
def test_what_may_follow_two_objects(rest, fits):
    two = TWO.format("gave", "give", "cake").removesuffix(" .:.:punct:1")
    one = ONE.format("gave", "give", "cake", "to", "boy").removesuffix(" .:.:punct:1")
    assert bool(applied(to_prepositional, by_hand(f"{two} {rest.format(6)}"))) is fits
    assert bool(applied(to_double_object, by_hand(f"{one} {rest.format(7)}"))) is fits
