"""Negations and quantifiers are found whatever their spelling, and what only looks like one is not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otherwords.words.cues import cues, normalized_words


def meanings(text: str, kind: str = "") -> list[str]:
    return [cue.meaning for cue in cues(text) if kind in ("", cue.kind)]


@pytest.mark.parametrize(
    "same",
    [
        ["He is not here.", "He isn't here.", "He isn’t here", "HE ISN'T HERE!", "He is n't here", "he isnt here"],
        ["He can not go", "He cannot go", "He can't go", "He ca n't go", "He can 't go"],
        ["He will not go", "He won't go", "He wont go"],
        ["Nobody came", "No one came", "No-one came", "no person came", "There wasn't anybody", "There was not anyone"],
        ["He saw nothing", "He did not see anything", "He didn't see a trace of anything"],
        ["He never came", "He didn't ever come"],
        ["He has no money", "He doesn't have any money", "He does not have money"],
        ["neither tall nor old", "not tall"],
        ["hardly any", "scarcely any", "barely"],
        ["All men", "every man", "Each man", "everybody", "both men"],
        ["many men", "a lot of men", "lots of men", "numerous men", "hundreds of men"],
        ["some men", "several men", "a few men"],
        ["at least 2", "no less than two", "two or more"],
        ["at most 2", "no more than two", "up to two"],
        ["more than 100 men", "over 100 men", "over a hundred men", "over one hundred men"],
        ["less than 100 men", "fewer than 100 men", "under a hundred men"],
        ["some 30 men", "about 30 men", "approximately thirty men"],
        ["nothing but rain", "only rain"],
        ["two men", "2 men", "a couple of men"],
        ["a man with no hat", "a man without a hat", "a man without any hat", "a man not with a hat"],
        ["with nobody", "without anybody", "with no one"],
        ["zero men", "no men", "0 men"],
        ["nearly all men", "almost every man", "virtually all men"],
        ["nearly half", "about half", "approximately 50%"],
        ["mostly men", "mainly men", "primarily men", "for the most part men"],
        ["all but Tom", "everyone except Tom", "everybody but Tom", "all apart from Tom"],
        ["two dogs", "a pair of dogs", "a duo of dogs"],
        ["at least two", "a minimum of two"],
        ["more than half", "over half"],
        ["the G8 summit", "the G 8 summit", "the g-8 summit"],
    ],
)
def test_the_same_in_other_words(same):
    first = sorted(meanings(same[0]))
    assert first
    assert {text: sorted(meanings(text)) for text in same} == dict.fromkeys(same, first)


@pytest.mark.parametrize(
    "text",
    [
        "Not only he came",
        "whether or not he came",
        "They look at each other",
        "the most beautiful house",
        "both a man and a woman",
        "He walks up to the man",
        "The bird is over the house",
        "A couple walks",
        "that one",
        "all right",
        "A little boy and something else",
        "Have you ever been there",
        "She is most beautiful",
        "their most famous song",
        "a pair of old blue jeans",
        "They talk about tennis over tents",
        "It is nearly done, almost there",
        "a note, a knot, an ally, a bothy",
        "",
    ],
)
def test_what_looks_like_a_cue(text):
    assert meanings(text) == []


def test_about_is_a_preposition_before_all():
    assert meanings("They talk about everyone") == meanings("They talk of everyone") == ["all"]
    assert meanings("Almost everyone") == ["about", "all"]


def test_the_word_that_follows():
    found = {cue.meaning: cue.of for cue in cues("All men see a couple of dogs, 3 of them, and five.")}
    assert found == {"all": "men", "2": "dogs", "3": "of", "5": ""}


def test_double_negation_counts_twice():
    assert meanings("It is not without risk") == ["not", "not"]
    assert meanings("He didn't do nothing") == ["not", "nothing"]
    assert meanings("Nobody isn't here") == ["nobody", "not"]


def test_an_abbreviation_is_no_negation():
    assert meanings("Bus No. 5") == ["5"]
    assert meanings("No 5 is there.") == ["not", "5"]


def test_any_belongs_to_the_negation_of_its_own_sentence():
    assert meanings("He did not come. Anyone may.") == ["not", "any"]
    assert meanings("He did not see anyone.") == ["nobody"]
    assert meanings("without any help") == ["not"]
    assert meanings("If any man comes") == ["any"]


def test_a_cue_has_its_words():
    assert [cue.words for cue in cues("No one saw Anything; lots of men.")] == ["no one", "lots of"]


def test_one_is_a_number_but_not_in_a_pronoun():
    assert meanings("one man") == ["1"]
    assert meanings("no one") == ["nobody"]
    assert meanings("every one") == ["all"]
    assert meanings("one another") == []


@given(st.text())
@example("፩ ² Ⅷ ½ ①")
@example("n't 't ' n’t’ no.5 1,0,0 1/0 1//2 " + "9" * 5000)
@example("\x00\ud7ff\u0130 İ ß")
def test_any_text_can_be_read(text):
    assert cues(text) == cues(f" {text}\n")


WORDS = "a one two not no any all of the few most hundred and half 5 third . 's".split()  # noqa: SIM905


@given(st.lists(st.sampled_from(WORDS)))
def test_any_order_of_words_can_be_read(words):  # as above, with more of what the code looks for
    for cue in cues(" ".join(words)):
        assert cue.kind in ("negation", "quantifier", "number")
        assert cue.meaning
        assert cue.words


# Normalisation


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It cost $5m.", "it cost 5 million ."),
        ("$ 5.5m, 5m, 5 bn, 10K, 3b", "5.5 million , 5 m , 5 billion , 10 thousand , 3 b"),  # 5m are metres
        ("£1,000k", "1,000 thousand"),
        ("mp3k v8k", "mp3k v8k"),
        ("-5 and - 5 and 3-5, F-16", "minus 5 and 5 and 3 5 , f16"),
        ("10% or 10 % or 10 per cent", "10 percent or 10 percent or 10 percent"),
        ("2½ or .5 or x.5", "2 1⁄2 or .5 or x . 5"),
        ("All but one. He ate all, but left.", "all except one . he ate all , but left ."),
        ("the dog’s bone", "the dog bone"),
    ],
)
def test_texts_are_read_aloud(text, words):
    assert " ".join(normalized_words(text)) == words


VERBS = "do does did is are was were has have had ca could would should must might may need ought dare wo sha ai"


@pytest.mark.parametrize("form", ["{}n't", "{} n't", "{}n ' t", "{}n 't", "{}n t", "{}nt", "{}n′t", "{}n´t", "{}N’T"])
def test_negated_verbs(form):
    texts = [f"He {form.format(verb)} go" for verb in VERBS.split()]
    assert {" ".join(normalized_words(text)) for text in texts} == {"he can not go"}


@pytest.mark.parametrize("text", ["in 'T' pose", "an aunt can count", "want went font", "on t and i"])
def test_what_only_looks_negated(text):
    assert "not" not in normalized_words(text)
