"""Senses and synonyms, against WordNet 3.0 and SemCor's counts as its own search page shows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.words.lexicon import lexicon
from otherwords.words.senses import Thesaurus

SURE = Thesaurus()


def synonyms(word: str, part: str = "n", context: tuple[str, ...] = ()) -> tuple[str, ...]:
    sense = SURE.sense(word, part, context)
    return SURE.synonyms(word, part, sense) if sense else ()


@pytest.mark.parametrize(
    ("word", "part", "expected"),
    [
        ("couch", "n", ("sofa",)),
        ("car", "n", ("automobile",)),
        ("man", "n", ("adult male",)),
        ("buy", "v", ("purchase",)),
        ("large", "a", ("big",)),
        ("outside", "r", ("outdoors",)),
    ],
)
def test_clear_words_have_synonyms(word, part, expected):
    assert synonyms(word, part) == expected


@pytest.mark.parametrize(
    ("word", "part", "why"),
    [
        ("bike", "n", "two senses without any count: nothing says which comes first"),
        ("girl", "n", "a young woman half of the time, else a child"),
        ("run", "v", "too many senses"),
        ("dog", "n", "'domestic dog' is the word again, 'Canis familiaris' a name"),
        ("hat", "n", "'chapeau' is rare, 'lid' mostly something else"),
        ("group", "n", "'grouping' is made of it"),
        ("lid", "n", "'eyelid' is made of it"),
        ("result", "n", "62 % an effect, which is 78 % a result: too little together"),
        ("workforce", "n", "'men' is mostly a plural"),
        ("poem", "n", "'verse form' is a technical term"),
        ("forest", "n", "'woods' is a plural, 'wood' mostly a material"),
        ("suit", "n", "'suit of clothes' is a phrase"),
        ("zzz", "n", "unknown"),
    ],
)
def test_unclear_words_have_none(word, part, why):
    assert synonyms(word, part) == (), why


def test_the_most_familiar_synonym_comes_first():
    assert synonyms("maybe", "r") == ("perhaps", "possibly")
    assert synonyms("perhaps", "r") == ("possibly", "maybe")


def test_a_synonym_is_not_mostly_another_part_of_speech():
    sense = SURE.sense("chase", "v")
    assert "dog" in sense.words
    assert SURE.synonyms("chase", "v", sense) == ("go after",)


def test_words_around_decide_what_frequency_does_not():
    assert SURE.sense("bike", "n") is None
    assert SURE.sense("bike", "n", ("pedal", "foot")).name == "bicycle.n.01"
    assert SURE.sense("bike", "n", ("motor", "frame")).name == "motorcycle.n.01"


def test_words_around_that_say_nothing_leave_it_to_frequency():
    assert SURE.sense("couch", "n", ("philosophy",)) == SURE.sense("couch", "n")


def test_a_stricter_thesaurus_says_less():
    strict = Thesaurus(dominance=0.8)
    assert SURE.sense("man", "n") is not None  # 750 of 1,230 uses
    assert strict.sense("man", "n") is None


def test_a_synonym_is_no_opposite():
    for word in ("man", "large", "hot", "buy"):
        assert not lexicon().antonyms(word) & set(synonyms(word, "n"))


WORDS = ["child", "kid", "car", "automobile", "couch", "sofa", "store", "shop", "doctor", "physician", "big", "large"]


@given(st.sampled_from(WORDS), st.sampled_from("nvar"), st.floats(0, 1), st.floats(0, 1))
def test_more_dominance_gives_no_more_synonyms(word, part, one, other):
    low, high = (Thesaurus(dominance=share) for share in sorted((one, other)))
    sense = high.sense(word, part)
    if sense is not None:
        assert low.sense(word, part) is not None
        assert set(high.synonyms(word, part, sense)) <= set(low.synonyms(word, part, sense))


@given(st.sampled_from(WORDS), st.sampled_from("nvar"))
def test_a_word_is_not_its_own_synonym(word, part):
    assert word not in synonyms(word, part)
