"""What belongs together, in sentences by hand with their tags as spaCy gives them."""

from __future__ import annotations

import pytest

from otherwords.words.lexicon import lexicon
from otherwords.words.places import bound
from otherwords.words.tagging import Token

TAGS = {"n": ("NOUN", "NN"), "v": ("VERB", "VBZ"), "p": ("ADP", "RP"), "a": ("ADJ", "JJ"), "d": ("DET", "DT")}


def read(tagged: str) -> tuple[str, list[Token]]:
    """ "a/d dog/n" as a text and its tokens; tokens joined by "+" have no space between them."""
    text, tokens = "", []
    for chunk in tagged.split(" "):
        text += " " if text else ""
        for one in chunk.split("+"):
            word, _, tag = one.rpartition("/")
            pos, fine = TAGS.get(tag, ("X", "XX"))
            tokens.append(Token(word, len(text), pos, fine, False))
            text += word
    return text, tokens


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ("the/d hot/a dogs/n fell/v", {"hot", "dogs"}),
        ("an/d ice/n cream/n", {"ice", "cream"}),
        ("a/d fire/n truck/n", {"fire", "truck"}),
        ("it/x stayed/v in/x front/n", {"in", "front"}),
        ("she/x looked/v for/x it/x", {"looked", "for"}),
        ("a/d young/a man/n", set()),
        ("an/d old/a woman/n", set()),
        ("a/d dog/n", set()),
    ],
)
def test_expressions_of_wordnet_stay_whole(tagged, expected):
    text, tokens = read(tagged)
    assert {tokens[i].text for i in bound(text, tokens, lexicon())} == expected


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ("he/x picks/v the/d hat/n up/p", {"picks", "up"}),
        ("he/x sees/v and/x picks/v it/x up/p", {"picks", "up"}),
        ("a/d baseball/n shop/n", {"baseball"}),
        ("a/d man/n+-/x+made/v lake/n", {"man", "-", "made"}),
        ("T/n+-/x+shirt/n sofa/x", {"T", "-", "shirt"}),
        ('he/x said/v "/x+man/n+"/x twice/x', {'"', "man"}),
        ("a/d ‘/x+sofa/n+’/x and/x a/d couch/n", {"‘", "sofa", "’"}),
        ("the/d man/n+'s/x car/n", set()),
    ],
)
def test_particles_compounds_hyphens_and_quotes(tagged, expected):
    text, tokens = read(tagged)
    assert {tokens[i].text for i in bound(text, tokens, lexicon())} == expected
