"""wordnet.v2: accepted pairs where they hold and where they do not, what stays whole, and the laws of the list."""

from __future__ import annotations

import json
import re

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem, Variant
from otherwords.registry import generators
from otherwords.words.lexicon import PARTS, lexicon
from otherwords.words.pairs import list_lines, read_pairs, read_tests
from otherwords.words.places import idioms

pytest.importorskip("spacy")
ALL = "wordnet.v2(changes=0)"


def nli(premise: str, hypothesis: str = "Yes.") -> Problem:
    return Problem("p", TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral", {})


def vary(problem: Problem, spec: str = ALL, seed: int = 1) -> list[Variant]:
    return list(generators.make(spec).function([problem], [seed]))


def reworded(premise: str, spec: str = ALL) -> str:
    made = vary(nli(premise), spec)
    return made[0].text["premise"] if made else premise


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A person sits on a couch.", "An individual sits on a sofa."),
        ("The kids are playing outdoors.", "The children are playing outside."),
        ("He tried to buy a car.", "He attempted to purchase an automobile."),
        ("They were allowed to leave.", "They were permitted to leave."),
        ("However, it is hard to see.", "Nevertheless, it is difficult to see."),
        ("A crowd gazes at a huge statue.", "A crowd stares at an immense statue."),
        ("Maybe the lawyers will be late.", "Perhaps the attorneys will be late."),
    ],
)
def test_accepted_pairs_hold(before, after):
    assert reworded(before) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The wind turned the process around.", "senses that counts got wrong: air current, procedure"),
        ("They promoted the existence of the district.", "encouraged, being, territory"),
        ("He tried the soup.", "to try is to attempt before to"),
        ("It happened to me.", "it did not occur to me"),
        ("He used to smoke.", "a habit, no tool"),
        ("Oh man, that was close.", "an exclamation"),
        ("She met a process server.", "a compound stays whole, its last noun, too"),
        ("He didn't exactly run.", "an understatement, no measure"),
        ("Records were loaded naked.", "only people are nude"),
        ("It was made happen.", "a bare infinitive"),
        ("We make our goals happen.", "goals do not occur"),
        ("The actor is to portray the wizard.", "who acts does not depict"),
        ("They posted a huge win.", "a win is not immense"),
        ("I believe that story.", "to think takes a clause"),
        ("The bucket was kicked by him.", "the idiom, in the passive"),
        ("A maybe is not enough.", "a noun"),
        ("Boys play doctor.", "a game"),
        ("They achieved the feat.", "a feat is not attained"),
        ("She wanders a few steps away.", "who roams does not move off"),
        ("It is by Doctors without Borders.", "a name"),
        ("It was a business man.", "the same"),
        ("They sell used furniture.", "a participle before a noun"),
        ("He kicked the bucket.", "an idiom"),
        ("They live in the country.", "perhaps the countryside"),
        ("He rides a bicycle past a motorcycle.", "a bike may be a motorcycle"),
        ("The train has three cars.", "the cars of a train"),
        ("It is much more difficult to see.", "nothing is more hard"),
        ("A large number of them came.", "a quantity"),
        ("I can't believe that it rains.", "astonishment"),
        ("A man, a woman and a boy sleep with a toy.", "adult male, male child, slumber, plaything: no one says so"),
        ("It was a big dilemma.", "only things of a size are large"),
        ("They built a left axis.", "only what stands is constructed"),
        ("They used to go to the movies.", "an idiom"),
        ("He explains opportunity to a woman.", "without an article it is no chance"),
        ("She has an unborn child.", "no unborn kid"),
    ],
)
def test_what_stays(text, why):
    assert vary(nli(text)) == [], why


def test_a_place_where_a_pair_does_not_hold_keeps_the_word_everywhere():
    assert vary(nli("He tried to leave.", "He tried the soup.")) == []
    [made] = vary(nli("He tried to leave.", "He tried to sleep."))
    assert made.text == {"premise": "He attempted to leave.", "hypothesis": "He attempted to sleep."}


def test_the_part_of_speech_can_be_chosen():
    text = "A man tried to buy a huge car."
    assert reworded(text, "wordnet.v2(changes=0, pos=adjective)") == "A man tried to buy an immense car."
    assert reworded(text, "wordnet.v2(changes=0, pos=noun+verb)") == "A man attempted to purchase a huge automobile."


def test_the_changes_are_listed():
    [made] = vary(nli("There is a couch."))
    assert json.loads(made.extra["changes"]) == [
        {"field": "premise", "at": 11, "from": "couch", "to": "sofa", "synset": "sofa.n.01", "pos": "noun"}
    ]


@pytest.mark.parametrize("options", ["n=0", "changes=-1", "pos=preposition"])
def test_bad_options(options):
    with refuses(BadInput, where="wordnet.v2", field=options.partition("=")[0]):
        vary(nli("A car is here."), f"wordnet.v2({options})")


# The lists


def test_every_pair_shares_a_synset_and_its_tests_can_be_read():
    assert len(list_lines()) > 250
    for word, pos, synonym, where, _ in list_lines():
        senses = lexicon().synsets(word, PARTS[pos])
        assert any({word, synonym} <= set(one.words) for one in senses), (word, synonym)
        assert len(read_tests(where)) == len(where.split()), word


def test_pairs_are_sorted_and_none_occurs_twice():
    order = list(PARTS)
    keys = [(order.index(pos), word.lower(), synonym, where) for word, pos, synonym, where, _ in list_lines()]
    assert keys == sorted(set(keys))


def test_no_pair_is_of_antonyms_and_no_synonym_is_the_word_itself():
    for word, _, synonym, _, _ in list_lines():
        assert word.lower() != synonym.lower()
        assert synonym.lower() not in lexicon().antonyms(word)


def test_a_word_of_the_list_is_found_in_any_case():
    assert [pair.synonym for pair in read_pairs("tv", "n")] == ["television"]
    assert read_pairs("wind", "n") == ()


def test_a_test_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no test of a place: 'nxt=to'"):
        read_tests("nxt=to")


def test_idioms_are_lower_case_words():
    assert all(re.fullmatch(r"[a-z]+", word) and len(idiom) > 1 for idiom in idioms() for word in idiom)
