"""Adjectives and relative clauses: parsed by spaCy, and every listed word in a sentence by hand."""

from __future__ import annotations

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from parses import applied, by_hand, rewritten

pytest.importorskip("spacy")

from otherwords.grammar import phrases
from otherwords.grammar.relative import to_adjective, to_clause

RELATIVE = {
    "The boy has a large red ball.": ["The boy has a red ball that is large."],
    "An old man is sleeping.": ["A man who is old is sleeping."],
    "He saw an ugly dog.": ["He saw a dog that was ugly."],
    "Red cars are parked.": ["Cars that are red are parked."],
    "The dog is chasing a ball that is red.": ["The dog is chasing a red ball."],
    "John threw a red ball that is large.": [
        "John threw a large red ball.",
        "John threw a large ball that is red.",
    ],
    "A man in a blue shirt is singing.": ["A man in a shirt that is blue is singing."],
    "A woman who is young is singing.": ["A young woman is singing."],
    "A large ball that is red is here.": ["A red ball that is large is here."],  # and not "a red large ball"
    "She said that he has a red car.": ["She said that he has a car that is red."],
    "He knows that she had a red car.": ["He knows that she had a car that was red."],
    "A tired dancer is resting.": ["A dancer who is tired is resting."],
}
NO_RELATIVE = {
    "He met a former king.": "former is no quality",
    "He met the main suspect.": "nor is main",
    "She has the same bike.": "nor is same",
    "She bought an electric guitar.": "a kind of guitar",
    "A little girl is singing.": "a child, not a small one",
    "She is eating a hot dog.": "a name",
    "She drinks red wine.": "a name",
    "A very tall man is singing.": "very belongs to tall",
    "A black and white dog is barking.": "two colours of one dog",
    "A long haired man is singing.": "his hair is long",
    "A dark red car is parked.": "the red is dark",
    "Clean shaven men are singing.": "the men are not clean",
    "They like the cold winter.": "there is one winter",
    "A tall man wearing a hat is singing.": "the clause would come between man and hat",
    "A woman is throwing a red ball to a dog.": "red to a dog",
    "A woman has a red ball and a bat.": "red and a bat",
    "His red car is parked.": "a possessor",
    "A large number of people are here.": "an amount",
    "The birds are in the blue sky.": "there is one sky",
    "The car, which is red, is parked.": "not restrictive",
    "She has a big brother.": "an older one",
    "He is a bigger boy.": "a comparison",
    "A car that is very red is parked.": "very has no certain place",
    "He is a heavy smoker.": "he smokes much",
    "He is a big eater.": "he eats much",
    "She is a beautiful dancer.": "she dances well",
    "A tired plumber is resting.": "who or that",
    "A dark rider came.": "not his colour",
    "He has a short temper.": "an idiom",
    "He has cold feet.": "an idiom",
    "He has a thick accent.": "an idiom",
    "He is in deep trouble.": "an idiom",
    "The socks were a deep royal purple.": "how purple",
    "Black neighborhoods are in the town.": "who lives there",
    "A dog with a red ball.": "no verb, no tense",
    "He would buy a red car.": "is or was",
    "It began in a small way.": "an idiom",
    "They brought a happy result.": "not the result is happy",
    "A group that is large is here.": "a large group says how many",
    "He bought a dog that barks.": "no form of be",
    "He saw a dog that is not big.": "a negation",
    "He saw a dog that is big and brown.": "two adjectives in the clause",
    "Old John is here.": "a name",
    "A pale red car is here.": "the red is pale",
    "The man saw a tall, thin boy.": "a comma",
}
BOTH_WAYS = {
    "The boy saw a big dog.": "The boy saw a dog that was big.",
    "The boy saw big dogs.": "The boy saw dogs that were big.",
    "Two large dogs are barking.": "Two dogs that are large are barking.",
    "The happy girls were singing.": "The girls who were happy were singing.",
    "Some young men are running.": "Some men who are young are running.",
    "A big crew is working.": "A crew that is big is working.",
    "He has a wooden table.": "He has a table that is wooden.",
}


@pytest.mark.parametrize(("text", "expected"), RELATIVE.items())
def test_relative_is_rewritten(text, expected):
    assert rewritten(text, "relative") == (expected if isinstance(expected, list) else [expected])


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{text} ({why})") for text, why in NO_RELATIVE.items()])
def test_relative_is_left_alone(text):
    assert rewritten(text, "relative") == []


@pytest.mark.parametrize(("one", "other"), BOTH_WAYS.items())
def test_relative_in_both_directions(one, other):
    assert rewritten(one, "relative") == [other]
    assert rewritten(other, "relative") == [one]


def test_three_forms_of_one_phrase():
    """Adjective before, clause behind, and the two exchanged."""
    assert rewritten("He has a big wooden table.", "relative") == ["He has a wooden table that is big."]
    assert rewritten("He has a wooden table that is big.", "relative") == [
        "He has a big wooden table.",
        "He has a big table that is wooden.",
    ]


# Each list is the only reason: without it, nearly every one of its words would be rewritten.

SPEC = "We:PRP:nsubj:1 see:VBP:ROOT:1 {}:DT:det:4 {}:JJ:amod:4 {}:NN:dobj:1 .:.:punct:1"


def clauses(pairs: list[tuple[str, str]], article: str = "a") -> list[tuple[str, str]]:
    """Which adjectives and nouns of "We see a [adjective] [noun]." a clause is made of."""
    return [pair for pair in pairs if applied(to_clause, by_hand(SPEC.format(article, *pair)))]


def test_every_listed_adjective_becomes_a_clause():
    """With a noun that each of them fits."""
    adjectives = sorted(phrases._RANK)
    nouns = {word: "man" if word in phrases._MOODS | set(phrases._AGE.split()) else "chair" for word in adjectives}
    assert clauses(list(nouns.items())) == list(nouns.items())
    assert applied(to_clause, by_hand(SPEC.format("a", "red", "chair"))) == ["We see a chair that is red."]
    assert applied(to_clause, by_hand(SPEC.format("a", "old", "man"))) == ["We see a man who is old."]
    assert clauses([(word, "chair") for word in ("former", "main", "same", "alleged", "electric")]) == []


def test_adjectives_that_belong_to_a_name_stay(monkeypatch):
    pairs = [(word, noun) for word, nouns in sorted(phrases._NAMED.items()) for noun in sorted(nouns)]
    assert clauses(pairs) == []
    monkeypatch.setattr(phrases, "_NAMED", {})
    assert len(clauses(pairs)) >= 0.75 * len(pairs)


def test_what_there_is_only_one_of_has_no_clause(monkeypatch):
    pairs = [("blue", noun) for noun in sorted(phrases._UNIQUE)]
    assert clauses(pairs, "the") == []
    assert ("blue", "sky") in clauses(pairs, "a")
    monkeypatch.setattr(phrases, "_UNIQUE", frozenset())
    assert len(clauses(pairs, "the")) >= 0.75 * len(pairs)


def test_moods_and_ages_need_someone():
    moods = sorted(phrases._MOODS)
    assert clauses([(word, "result") for word in moods]) == []
    assert clauses([(word, "girl") for word in moods]) == [(word, "girl") for word in moods]
    assert clauses([("young", "chair"), ("old", "chair"), ("old", "joke"), ("elderly", "woman")]) == [
        ("old", "chair"),
        ("elderly", "woman"),
    ]


@pytest.mark.parametrize("article", ["a", "the", "some", "these", "his", "every"])
def test_only_plain_determiners(article):
    made = applied(to_clause, by_hand(SPEC.format(article, "red", "chair")))
    assert bool(made) == (article not in {"his", "every"})


def test_a_clause_needs_a_free_place_behind_the_noun():
    free = SPEC.format("a", "red", "chair").removesuffix(" .:.:punct:1")
    assert applied(to_clause, by_hand(free)) == ["We see a chair that is red"]
    assert applied(to_clause, by_hand(f"{free} in:IN:prep:1 parks:NNS:pobj:5")) == []  # "red in parks"
    assert applied(to_clause, by_hand(f"{free} of:IN:prep:4 wood:NN:pobj:5")) == []
    assert applied(to_clause, by_hand(free.replace("chair:NN:dobj:1", "chair:NN:conj:1"))) == []
    assert clauses([("big", "building"), ("big", "house")]) == [("big", "house")]  # or a verb form


@pytest.mark.parametrize(("adjective", "fits"), [("big", True), ("red", False), ("wooden", False), ("former", False)])
def test_an_adjective_from_a_clause_comes_first_only_in_its_order(adjective, fits):
    spec = "We:PRP:nsubj:1 see:VBP:ROOT:1 a:DT:det:4 blue:JJ:amod:4 car:NN:dobj:1 that:WDT:nsubj:6 is:VBZ:relcl:4:be"
    tree = by_hand(f"{spec} {adjective}:JJ:acomp:6")
    assert applied(to_adjective, tree) == ([f"We see a {adjective} blue car"] if fits else [])


# Laws


@settings(max_examples=at_most(40), deadline=None)
@given(
    st.sampled_from(["large", "small", "old", "tall", "happy", "beautiful"]),
    st.sampled_from(["", "red ", "wooden ", "black "]),
    st.sampled_from(["chair", "man", "building", "boat"]),
)
def test_a_clause_becomes_the_adjective_that_it_came_from(adjective, other, noun):
    text = f"We see {'an' if adjective[0] in 'aeiou' else 'a'} {adjective} {other}{noun}."
    for new in rewritten(text, "relative"):
        assert len(new.split()) == len(text.split()) + 2
        assert text in rewritten(new, "relative")
