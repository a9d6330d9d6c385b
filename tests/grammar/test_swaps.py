"""Swapped conjuncts and definite descriptions: parsed by spaCy, and every listed word in a sentence by hand."""

from __future__ import annotations

import re

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from parses import applied, by_hand, rewritten

pytest.importorskip("spacy")

from otherwords.grammar import swaps
from otherwords.grammar.swaps import swap_conjuncts, swap_definite

COORDINATION = {
    "A man and a woman are walking.": ["A woman and a man are walking."],
    "Men and women are walking.": ["Women and men are walking."],
    "Steve Jobs and Bill Gates are sitting.": ["Bill Gates and Steve Jobs are sitting."],
    "The bag is full of apples, oranges, and pears.": ["The bag is full of pears, oranges, and apples."],
    "Two men and a dog are running.": ["A dog and two men are running."],
    "The dog is big and hungry.": ["The dog is hungry and big."],
    "A boy is sitting on a bench and reading a book.": ["A boy is reading a book and sitting on a bench."],
    "People are walking and talking.": ["People are talking and walking."],
    "Both a man and a woman are walking.": ["Both a woman and a man are walking."],
    "He wants an apple or an orange.": ["He wants an orange or an apple."],
    "5 women and a man are smiling.": ["A man and 5 women are smiling."],
    "The dog is big, brown and hungry.": ["The dog is hungry, brown and big."],
    "We saw Tom, Mary and Anna.": ["We saw Anna, Mary and Tom."],
    "The men and the women saw a dog and a cat.": [
        "The women and the men saw a dog and a cat.",
        "The men and the women saw a cat and a dog.",
    ],
}
NO_COORDINATION = {
    "Two men and a dog run.": "a dog run, for the parser",
    "The guy plays golf and walks.": "walks are not played",
    "Twins are jumping on a trampoline and one falls.": "one is a subject",
    "Old men and women are walking.": "women may be old, too",
    "A man and his dog are walking.": "the pronoun would come first",
    "A man and dog are walking.": "one article for both",
    "A man and a woman in hats are walking.": "hats may be hers alone",
    "A man in a hat and a woman are walking.": "the hat is his alone",
    "He sat down and ate.": "one after the other",
    "A man opens the door and leaves.": "one after the other",
    "He is getting up and leaving.": "one after the other",
    "They eat bread and butter.": "a set phrase",
    "She likes rock and roll.": "a set phrase",
    "He works in the Office of Management and Budget.": "a name",
    "A male and a female cyclist are racing.": "both are cyclists",
    "A group of people are playing guitars and singing.": "singing is not played",
    "People are singing and dancing on a stage.": "who knows what is on the stage",
    "She and he are walking.": "pronouns",
    "Three people, two boys and a girl, are walking.": "an explanation",
    "A boy or two girls are walking.": "the verb agrees with the nearer",
    "There is a man and two dogs.": "the verb agrees with the nearer",
    "They are cleaning a room and leaving the room.": "the room must have been named",
    "The scores were 34 percent and 43 percent, respectively.": "respectively",
    "The reunification of East and West Germany took place.": "one Germany for both",
    "Romeo and Juliet is a play.": "one thing",
    "They show the effects of programs and reasons for succeeding.": "reasons for something",
    "It was opened after the Reformation and the Covenant was signed.": "two clauses",
    "He saw the killings and the subsequent violence.": "one after the other",
    "The soup is nice and hot.": "how hot",
    "She is sick and tired.": "a set phrase",
    "The boy is safe and sound.": "a set phrase",
    "The dog is black and white.": "a set phrase",
    "The flag is red, white and blue.": "a set phrase",
    "They fought tooth and nail.": "a set phrase",
    "He ordered gin and tonic.": "a set phrase",
    "A man is loading a gun and shooting a deer.": "one after the other",
    "A man is boarding a plane and flying to Rome.": "one after the other",
    "A man is lighting a cigar and smoking a pipe.": "one after the other",
    "It starts between January and March.": "from the one to the other",
    "X-rays and radioactivity had been found.": "one word for the hyphen",
    "He enrolled in soccer and things.": "and so on",
    "We see the old town and the surrounding plain.": "what it surrounds",
    "He works for Ernst and Young.": "a name",
    "The dog is not big and hungry.": "a negation",
    "The dogs seem big and hungry.": "no form of be",
    "The boy is reading his book and drinking tea.": "a pronoun",
    "The boy is singing loudly and dancing.": "who knows what is loud",
    "The girl is walking into a room and sitting on a chair.": "one after the other",
    "A man with a dog and a cat is here.": "the cat may be his or not",
    "He saw a dog and a cat with a hat.": "the hat may be the cat's alone",
    "He likes apples and oranges and pears.": "two conjunctions",
    "A man and a man are walking.": "nothing would change",
    'He saw "a dog and a cat".': "a quotation",
    "The child plans trips and guides can help.": "two clauses",
    "They live in France or in Spain.": "prepositional phrases",
    "The man is tall and is smiling.": "two clauses",
}
DEFINITE = {
    "Iggy Pop was the lead singer of the Stooges.": "The lead singer of the Stooges was Iggy Pop.",
    "The man is the owner of the shop.": "The owner of the shop is the man.",
    "The woman is the child's mother.": "The child's mother is the woman.",
    "The winners were the girls.": "The girls were the winners.",
    "The clown is Ronald McDonald.": "Ronald McDonald is the clown.",
    "King Albert is the father of Prince Laurent.": "The father of Prince Laurent is King Albert.",
}
NO_DEFINITE = {
    "The man is a doctor.": "not every doctor is the man",
    "The man is the best.": "no noun",
    "The man is tall.": "an adjective",
    "The people are Muslims.": "not all Muslims",
    "The man is not the owner.": "a negation",
    "He is the owner.": "the owner is he",
    "There is the owner.": "there-is",
    "Is the man the owner?": "a question",
    "The man is his father.": "a pronoun",
    "The problem is the children.": "one and many",
    "The dog is the same color.": "not which, but what it is like",
    "The red car is the one in the park.": "the one",
    "Torre was a nobleman's harem.": "an indefinite possessor",
    "The man is Italian.": "a quality",
    "The man was the only witness.": "only",
    "The man in the hat is the owner.": "the hat may be the owner's",
    "The man who sings is the owner.": "a clause",
    "The man became the owner.": "no form of be",
    "The man will be the owner.": "not yet",
    "My father is the owner.": "a pronoun",
    "The color is the problem.": "what it is like",
}
#: The way back, which is the same rule.
BOTH_COORDINATIONS = {
    "The soup is hot or cold.": "The soup is cold or hot.",
    "Tom and Mary are walking.": "Mary and Tom are walking.",
    "The boy is sitting and reading.": "The boy is reading and sitting.",
    "The bag is full of apples, oranges, and pears.": "The bag is full of pears, oranges, and apples.",
}
BOTH_DEFINITES = {
    "The winner is the girl.": "The girl is the winner.",
    "Paris is the capital of France.": "The capital of France is Paris.",
    "The dogs are the winners.": "The winners are the dogs.",
    "The girl's father is the teacher.": "The teacher is the girl's father.",
}


@pytest.mark.parametrize(("text", "expected"), COORDINATION.items())
def test_coordination_is_rewritten(text, expected):
    assert rewritten(text, "coordination") == (expected if isinstance(expected, list) else [expected])


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{text} ({why})") for text, why in NO_COORDINATION.items()])
def test_coordination_is_left_alone(text):
    assert rewritten(text, "coordination") == []


@pytest.mark.parametrize(("text", "expected"), DEFINITE.items())
def test_definite_is_rewritten(text, expected):
    assert rewritten(text, "definite") == (expected if isinstance(expected, list) else [expected])


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{text} ({why})") for text, why in NO_DEFINITE.items()])
def test_definite_is_left_alone(text):
    assert rewritten(text, "definite") == []


@pytest.mark.parametrize(("one", "other"), BOTH_COORDINATIONS.items())
def test_coordination_in_both_directions(one, other):
    assert rewritten(one, "coordination") == [other]
    assert rewritten(other, "coordination") == [one]


@pytest.mark.parametrize(("one", "other"), BOTH_DEFINITES.items())
def test_definite_in_both_directions(one, other):
    assert rewritten(one, "definite") == [other]
    assert rewritten(other, "definite") == [one]


# Each list is the only reason: without it, nearly every one of its words would be rewritten.

SAW = "We:PRP:nsubj:1 saw:VBD:ROOT:1:see"
NOUNS = SAW + " {}:NN:dobj:1 and:CC:cc:2 {}:NN:conj:2 .:.:punct:1"
ADJECTIVES = "It:PRP:nsubj:1 is:VBZ:ROOT:1:be {}:JJ:acomp:1 and:CC:cc:2 {}:JJ:conj:2 .:.:punct:1"
VERBS = "They:PRP:nsubj:2 are:VBP:aux:2:be {}:VBG:ROOT:2 and:CC:cc:2 {}:VBG:conj:2 .:.:punct:2"
DETERMINED = SAW + " the:DT:det:3 dog:NN:dobj:1 and:CC:cc:3 the:DT:det:{} {}.:.:punct:1"


def swapped(spec: str, *words: str) -> list[str]:
    return applied(swap_conjuncts, by_hand(spec.format(*words)))


def test_the_sentences_by_hand_are_swapped():
    assert swapped(NOUNS, "dogs", "cats") == ["We saw cats and dogs."]
    assert swapped(ADJECTIVES, "big", "old") == ["It is old and big."]
    assert swapped(VERBS, "talking", "smiling") == ["They are smiling and talking."]


@pytest.mark.parametrize("spec", [NOUNS, ADJECTIVES], ids=["nouns", "adjectives"])
def test_set_phrases_keep_their_order(spec, monkeypatch):
    pairs = [sorted(pair) for pair in swaps._SET_PHRASES]
    assert [pair for pair in pairs if swapped(spec, *pair) or swapped(spec, *pair[::-1])] == []
    monkeypatch.setattr(swaps, "_SET_PHRASES", set())
    assert sum(bool(swapped(spec, *pair)) for pair in pairs) >= 0.75 * len(pairs)


def test_words_for_a_sequence_keep_their_order(monkeypatch):
    specs = [DETERMINED.format(7, f"{word}:JJ:amod:7 cat:NN:conj:3 ") for word in sorted(swaps._IN_SEQUENCE)]
    assert [spec for spec in specs if applied(swap_conjuncts, by_hand(spec))] == []
    monkeypatch.setattr(swaps, "_IN_SEQUENCE", frozenset())
    assert all(applied(swap_conjuncts, by_hand(spec)) for spec in specs)


def test_nouns_that_may_be_adjectives_stay(monkeypatch):
    words = sorted(swaps._MAYBE_ADJECTIVES)
    assert [word for word in words if swapped(NOUNS, word, "dog") or swapped(NOUNS, "dog", word)] == []
    monkeypatch.setattr(swaps, "_MAYBE_ADJECTIVES", frozenset())
    assert all(swapped(NOUNS, word, "dog") for word in words)


def test_explained_nouns_stay(monkeypatch):
    spec = SAW + " {}:NNS:dobj:1 ,:,:punct:2 dogs:NNS:conj:2 and:CC:cc:4 cats:NNS:conj:4"
    words = sorted(swaps._EXPLAINED - swaps._MAYBE_ADJECTIVES)
    assert [word for word in words if swapped(spec, word)] == []
    assert swapped(spec, "birds") == ["We saw cats, dogs and birds"]
    monkeypatch.setattr(swaps, "_EXPLAINED", frozenset())
    assert [word for word in words if not swapped(spec, word)] == ["thing"]  # which ends like a verb


def test_adverbs_of_degree_and_comparatives_stay():
    assert [swapped(ADJECTIVES, word, "hot") for word in sorted(swaps._DEGREE)] == [[], []]
    assert swapped(ADJECTIVES.replace("JJ:conj", "JJR:conj"), "big", "bigger") == []


def test_only_verbs_that_go_on_together_are_swapped():
    for verb in sorted(swaps._SIMULTANEOUS - {"talking"}):
        assert swapped(VERBS, "talking", verb) == [f"They are {verb} and talking."]
    assert [swapped(VERBS, "talking", verb) for verb in ("leaving", "opening", "falling")] == [[], [], []]
    assert swapped(VERBS.replace("VBG:conj", "VBN:conj"), "talking", "seen") == []
    assert swapped(VERBS.replace("are:VBP:aux:2:be ", "").replace(":2", ":1"), "talking", "smiling") == []


@pytest.mark.parametrize("verb", sorted(swaps._ONLY_ALONE))
def test_movements_are_swapped_only_without_a_place(verb):
    spec = "They:PRP:nsubj:2 are:VBP:aux:2:be {}:VBG:ROOT:2 on:IN:prep:2 ice:NN:pobj:3 and:CC:cc:2 {}:VBG:conj:2"
    spec += " in:IN:prep:6 rain:NN:pobj:7"
    assert swapped(VERBS, verb, "talking") == [f"They are talking and {verb}."]
    assert swapped(spec, verb, "talking") == []
    assert swapped(spec, "sitting", "talking") == ["They are talking in rain and sitting on ice"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (f"{SAW} dogs:NNS:dobj:1 ,:,:punct:2 cats:NNS:conj:2 and:CC:cc:2 birds:NNS:conj:2", []),
        (f"{SAW} dogs:NNS:dobj:1 and:CC:cc:2 cats:NNS:conj:2 of:IN:prep:2 Rome:NNP:pobj:5", []),
        ("Owners:NNS:nsubj:5 of:IN:prep:0 dogs:NNS:pobj:1 and:CC:cc:2 cats:NNS:conj:2 sang:VBD:ROOT:5",
         ["Owners of cats and dogs sang"]),
        (f"{SAW} dogs:NNS:dobj:1 and:CC:cc:2 cats:NNS:conj:2 sang:VBD:conj:1", []),
        ("We:PRP:nsubj:1 plan:VBP:ccomp:6 trips:NNS:nsubj:6 and:CC:cc:2 guides:NNS:conj:2 can:MD:aux:6 go:VB:ROOT:6",
         []),
        ("Now:RB:dep:1 plan:NN:ROOT:1 trips:NNS:nsubj:6 and:CC:cc:2 guides:NNS:conj:2 can:MD:aux:6 go:VB:ROOT:6",
         ["Now plan guides and trips can go"]),
        (f"{SAW} a:DT:det:3 dog:NN:dobj:1 and:CC:cc:3 the:DT:det:7 dog:NN:compound:7 bed:NN:conj:3", []),
        (f"{SAW} a:DT:det:3 dog:NN:dobj:1 and:CC:cc:3 the:DT:det:7 cat:NN:compound:7 bed:NN:conj:3",
         ["We saw the cat bed and a dog"]),
        ("He:PRP:nsubj:2 is:VBZ:aux:2 talking:VBG:ROOT:2 to:IN:prep:2 us:PRP:pobj:3 and:CC:cc:2 eating:VBG:conj:2", []),
    ],
    ids=[
        *["two chains", "shared modifier", "inside a subject", "second clause", "after a verb", "not after a verb"],
        *["refers back", "does not refer back", "pronouns"],
    ],
)  # fmt: skip
def test_conjuncts_in_their_sentence(spec, expected):
    assert swapped(spec) == expected


@pytest.mark.parametrize(("count", "is_swapped"), [(2, True), (3, True), (4, True), (5, False)])
def test_long_lists_keep_their_order(count, is_swapped):
    """The first conjunct is at 2; a comma or "and" comes before each of the others."""
    places = [2 * n + 2 for n in range(count)]
    nouns = ["dogs", "cats", "birds", "cows", "pigs"][:count]
    joined = [f"{nouns[0]}:NNS:dobj:1"]
    for before, noun in zip(places, nouns[1:], strict=False):
        joined += ["and:CC:cc" if noun == nouns[-1] else ",:,:punct", f"{noun}:NNS:conj"]
        joined[-2:] = [f"{one}:{before}" for one in joined[-2:]]
    assert bool(swapped(f"{SAW} {' '.join(joined)}")) is is_swapped


def test_a_subject_with_or_agrees_with_the_nearest():
    spec = "A:DT:det:1 dog:NN:nsubj:5 {}:CC:cc:1 {}:DT:det:4 {}:conj:1 barked:VBD:ROOT:5:bark"
    assert swapped(spec, "or", "a", "cat:NN") == ["A cat or a dog barked"]
    assert swapped(spec, "or", "the", "cats:NNS") == []
    assert swapped(spec, "and", "the", "cats:NNS") == ["The cats and a dog barked"]


def test_nouns_that_say_what_something_is_like_stay(monkeypatch):
    spec = "The:DT:det:1 dog:NN:nsubj:2 is:VBZ:ROOT:2:be the:DT:det:4 {}:NN:attr:2 .:.:punct:2"
    specs = [spec.format(noun) for noun in sorted(swaps._NO_ROLE)]
    assert [one for one in specs if applied(swap_definite, by_hand(one))] == []
    assert applied(swap_definite, by_hand(spec.format("winner"))) == ["The winner is the dog."]
    monkeypatch.setattr(swaps, "_NO_ROLE", set())
    assert all(applied(swap_definite, by_hand(one)) for one in specs)


# Laws


def words(text: str) -> list[str]:
    return sorted(re.findall(r"\w+", text.lower()))


PHRASES = st.sampled_from(["a man", "two dogs", "the boy", "an old car", "three girls", "the tall woman", "a red ball"])


@settings(max_examples=at_most(60), deadline=None)
@given(st.lists(PHRASES, min_size=2, max_size=3, unique=True), st.sampled_from(["and", "or"]), st.booleans())
def test_swapping_conjuncts_keeps_all_words_and_is_its_own_way_back(nouns, word, capital):
    listed = f"{', '.join(nouns[:-1])}{',' if len(nouns) > 2 else ''} {word} {nouns[-1]}"
    text = f"{listed[0].upper()}{listed[1:]}" if capital else f"We see {listed}."
    for new in rewritten(text, "coordination"):
        assert words(new) == words(text)
        assert text in rewritten(new, "coordination")
