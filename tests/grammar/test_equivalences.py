"""Rewritings of whole texts: which can be reversed, in texts of several sentences, and in what is no sentence."""

from __future__ import annotations

import pytest
from parses import by_hand, parsed, rewritten

pytest.importorskip("spacy")

from otherwords.grammar.equivalences import EQUIVALENCES, can_be_reversed, rewritings, sound_rewritings
from otherwords.grammar.parsing import parser
from otherwords.grammar.rewriting import Rewriting

KINDS = list(EQUIVALENCES)


def sound(text: str, *kinds: str) -> list[str]:
    [(found, _)] = sound_rewritings([text], kinds or KINDS, parser())
    return [one.apply(text) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It rains. A dog chases a cat. He sleeps.",
            ["It rains. A cat is chased by a dog. He sleeps."],
        ),
        (
            "A dog chases a cat. She gives the dog a bone!",
            [
                "A cat is chased by a dog. She gives the dog a bone!",
                "A dog chases a cat. She gives a bone to the dog!",
            ],
        ),
        (
            "She said that he has a red car and a bike.\nThe winner is the girl.",
            [
                "She said that he has a bike and a red car.\nThe winner is the girl.",
                "She said that he has a red car and a bike.\nThe girl is the winner.",
            ],
        ),
        (
            "An old man is sleeping, and a dog is barking.",
            ["A man who is old is sleeping, and a dog is barking."],
        ),
    ],
)
def test_each_sentence_is_rewritten_in_its_text(text, expected):
    assert sound(text) == expected


def test_a_rewriting_that_cannot_be_reversed_is_reported():
    """The parser reads "seen by me" in another way than "I saw"."""
    text = "I saw the dog."
    [(found, irreversible)] = sound_rewritings([text], ["voice"], parser())
    assert found == []
    assert [one.apply(text) for one in irreversible] == ["The dog was seen by me."]
    assert irreversible[0].how == "passive"


def test_texts_are_answered_in_order_whatever_their_number():
    texts = ["A dog chases a cat.", "", "It rains.", "The boy saw a big dog."]
    together = list(sound_rewritings(texts, KINDS, parser()))
    assert [len(found) for found, _ in together] == [1, 0, 0, 2]
    assert [next(iter(sound_rewritings([text], KINDS, parser()))) for text in texts] == together


@pytest.mark.parametrize(
    ("old", "new", "how", "reversible"),
    [
        ("A dog chases a cat.", "A cat is chased by a dog.", "passive", True),
        ("Two dogs chase a cat.", "A cat are chased by two dogs.", "passive", True),  # the number of "be" is free
        ("A dog chases a cat.", "A cat is chased by a bird.", "passive", False),
        ("A dog chases a cat.", "A cat chases a dog.", "passive", False),
        ("The winner is the girl.", "The girl is the winner.", "definite swap", True),
        ("The winner is the girl.", "The girl is a winner.", "definite swap", False),
    ],
)
def test_the_inverse_rule_must_give_the_original(old, new, how, reversible):
    one = Rewriting(how, 0, old[:-1], new[:-1])
    assert can_be_reversed(one, old, parsed(new)) is reversible


@pytest.mark.parametrize(
    "text", ["We saw cats and dogs-haters", "We saw T-cats and dogs", "We saw cats and dogs/birds"]
)
def test_a_hyphen_or_slash_joins_the_stretch_to_another_word(text):
    """A parser may split there; the tree by hand does."""
    tree = by_hand("We:PRP:nsubj:1 saw:VBD:ROOT:1:see cats:NNS:dobj:1 and:CC:cc:2 dogs:NNS:conj:2")
    shift = len("T-") if "T-" in text else 0
    nodes = [node._replace(start=node.start + (shift if at > 1 else 0)) for at, node in enumerate(tree.nodes)]
    assert [one.how for one in rewritings(tree, ["coordination"])] == ["coordination swap"]
    assert list(rewritings(type(tree)(text, nodes), ["coordination"])) == []


def test_every_rewriting_has_an_inverse():
    """One sentence for each name that a rule gives."""
    texts = {
        "A dog chases a cat.": "passive",
        "A cat is chased by a dog.": "active",
        "The winner is the girl.": "definite swap",
        "The boy saw a big dog.": "adjective to clause",
        "The boy saw a dog that is big.": "clause to adjective",
        "He has a wooden table that is big.": "adjective and clause exchanged",
        "Tom and Mary are walking.": "coordination swap",
        "She gives him a bone.": "prepositional object",
        "She gives a bone to him.": "double object",
    }
    for text, how in texts.items():
        [(found, _)] = sound_rewritings([text], KINDS, parser())
        assert how in {one.how for one in found}, text


@pytest.mark.parametrize("text", ["...", "😀", "?!", "—", "The", "木 木", "a" * 500, "The dog. " * 100, "dog " * 300])
def test_what_is_no_sentence_makes_nothing(text):
    assert [kind for kind in KINDS if rewritten(text, kind)] == []
