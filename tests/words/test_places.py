"""Which words may be replaced, and what is held, in tagged texts by hand."""

from __future__ import annotations

import pytest

from otherwords.words.lexicon import lexicon
from otherwords.words.places import Found, find
from otherwords.words.tagging import Token


def found(*tagged: tuple[str, str, str], parts: str = "nvar", named: bool = False) -> Found:
    text = " ".join(word for word, _, _ in tagged)
    starts = [len(" ".join(word for word, _, _ in tagged[:i])) + (i > 0) for i in range(len(tagged))]
    tokens = [Token(*one[:1], start, *one[1:], named) for one, start in zip(tagged, starts, strict=True)]
    return find(text, tokens, parts, lexicon())


@pytest.mark.parametrize(
    ("word", "pos", "tag", "lemma"),
    [
        ("Men", "NOUN", "NNS", "man"),  # also "the work force", hardly ever
        ("sofas", "NOUN", "NNS", "sofa"),
        ("skateboarders", "NOUN", "NNS", "skateboarder"),
        ("bought", "VERB", "VBD", "buy"),
        ("saw", "VERB", "VBD", "see"),
        ("biggest", "ADJ", "JJS", "big"),
    ],
)
def test_base_forms(word, pos, tag, lemma):
    assert [place.lemma for place in found((word, pos, tag)).places] == [lemma]


@pytest.mark.parametrize(
    ("word", "pos", "tag"),
    [
        ("glasses", "NOUN", "NNS"),
        ("arms", "NOUN", "NNS"),
        ("touching", "ADJ", "JJ"),
        ("is", "AUX", "VBZ"),
        ("has", "VERB", "VBZ"),
        ("London", "PROPN", "NNP"),
        ("dozen", "NOUN", "NN"),
        ("B2B", "NOUN", "NN"),
        ("red", "ADJ", "JJ"),
        ("grzblt", "NOUN", "NN"),
    ],
)
def test_words_that_stay(word, pos, tag):
    assert found((word, pos, tag)).places == []
    assert word.lower() in found((word, pos, tag)).held


def test_names_stay():
    assert found(("sofa", "NOUN", "NN")).places
    assert not found(("sofa", "NOUN", "NN"), named=True).places


def test_other_parts_of_speech_are_held():
    one = found(("dogs", "NOUN", "NNS"), ("walked", "VERB", "VBD"), parts="n")
    assert [place.lemma for place in one.places] == ["dog"]
    assert one.held == {"walked", "walk"}


def test_neighbours_are_told():
    [place] = found(("a", "DET", "DT"), ("sofa", "NOUN", "NN"), ("'s", "PART", "POS")).places
    assert (place.before.text, place.after.text) == ("a", "'s")
    [alone] = found(("sofa", "NOUN", "NN")).places
    assert (alone.before, alone.after) == (None, None)
