"""Which words may be replaced and which may not, in texts tagged by hand."""

from __future__ import annotations

import pytest

from otherwords.words.lexicon import lexicon
from otherwords.words.places import TextPlaces, bound_tokens, find_places
from otherwords.words.tagging import Token


def places_of(*tagged: tuple[str, str, str], parts: str = "nvar", named: bool = False) -> TextPlaces:
    text = " ".join(word for word, _, _ in tagged)
    starts = [len(" ".join(word for word, _, _ in tagged[:i])) + (i > 0) for i in range(len(tagged))]
    tokens = [Token(*one[:1], start, *one[1:], named) for one, start in zip(tagged, starts, strict=True)]
    return find_places(text, tokens, parts, lexicon())


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
    assert [place.lemma for place in places_of((word, pos, tag)).places] == [lemma]


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
    assert places_of((word, pos, tag)).places == []
    assert word.lower() in places_of((word, pos, tag)).held


def test_names_stay():
    assert places_of(("sofa", "NOUN", "NN")).places
    assert not places_of(("sofa", "NOUN", "NN"), named=True).places


def test_other_parts_of_speech_are_held():
    one = places_of(("dogs", "NOUN", "NNS"), ("walked", "VERB", "VBD"), parts="n")
    assert [place.lemma for place in one.places] == ["dog"]
    assert one.held == {"walked", "walk"}


def test_a_place_has_its_neighbours():
    [place] = places_of(("a", "DET", "DT"), ("sofa", "NOUN", "NN"), ("'s", "PART", "POS")).places
    assert (place.before.text, place.after.text) == ("a", "'s")
    [alone] = places_of(("sofa", "NOUN", "NN")).places
    assert (alone.before, alone.after) == (None, None)


# Expressions

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
    assert {tokens[i].text for i in bound_tokens(text, tokens, lexicon())} == expected


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
    assert {tokens[i].text for i in bound_tokens(text, tokens, lexicon())} == expected
