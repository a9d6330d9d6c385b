"""The rules for whole clauses: what they make of sentences, what they leave alone, and that they can be reversed."""

from __future__ import annotations

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from parses import applied, by_hand, parsed

pytest.importorskip("spacy")

from otherwords.grammar.clause_rules import CLAUSES
from otherwords.grammar.clauses import tense
from otherwords.grammar.equivalences import _normalize
from otherwords.grammar.existential import to_there
from otherwords.grammar.parsing import parser
from otherwords.grammar.phrases import is_person
from otherwords.grammar.reduced import to_full_relative

INVERSES = {how: rule for kind in CLAUSES.values() for how, rule in kind.inverses.items()}


def rewritten(text: str, kind: str) -> list[str]:
    """All that one kind makes of a text and that its inverse turns back."""
    drafts = [(one.how, one.apply(text)) for rule in CLAUSES[kind].rules for one in rule(parsed(text))]
    return [new for how, new in drafts if text_again(how, new, text)]


def text_again(how: str, new: str, text: str) -> bool:
    backs = applied(INVERSES[how], parsed(new))
    return _normalize(text) in [_normalize(back) for back in backs]


# Each pair in both directions, unless only one is made

BOTH_WAYS = {
    "reduced-relative": {
        "Two women wearing hats are reading.": "Two women who are wearing hats are reading.",
        "He saw a car parked outside the house.": "He saw a car that was parked outside the house.",
        "A man in a blue shirt standing on a ladder is painting.": (
            "A man in a blue shirt who is standing on a ladder is painting."
        ),
        "A group of men sitting on a bench is singing.": "A group of men who are sitting on a bench is singing.",
        "There is a box containing books.": "There is a box that contains books.",
    },
    "relativizer": {
        "He met a man who sings.": "He met a man that sings.",
        "She bought a book he wrote.": "She bought a book that he wrote.",
    },
    "there": {
        "A man is walking in the park.": "There is a man walking in the park.",
        "Two dogs are on the beach.": "There are two dogs on the beach.",
        "Cars are being sold in the street.": "There are cars being sold in the street.",
    },
    "that": {
        "He said he was ill.": "He said that he was ill.",
        "She told me she was ill.": "She told me that she was ill.",
        "I am sure he is ill.": "I am sure that he is ill.",
    },
    "clause-order": {
        "When it rains, he stays at home.": "He stays at home when it rains.",
        "Because Anna is ill, she stays at home.": "Anna stays at home because she is ill.",
        "While a woman sings, a man plays the guitar.": "A man plays the guitar while a woman sings.",
        "While reading a book, the man smiles.": "The man smiles while reading a book.",
        "Even if it rains, we go out.": "We go out even if it rains.",
    },
    "time-fronting": {
        "Last week, she bought a car.": "She bought a car last week.",
        "In 1990, they moved to Berlin.": "They moved to Berlin in 1990.",
        "Two days ago, they met.": "They met two days ago.",
    },
    "apposition": {
        "Ann Lee, the head of the school, resigned.": "The head of the school, Ann Lee, resigned.",
        "Paul Smith, my neighbour, has a dog.": "My neighbour, Paul Smith, has a dog.",
    },
    "comparative": {
        "Tom is taller than the girl.": "The girl is shorter than Tom.",
        "The house is older than the church.": "The church is newer than the house.",
        "The train is more expensive than the bus.": "The bus is less expensive than the train.",
        "The red cars are much faster than the bus.": "The bus is much slower than the red cars.",
        "My brother is older than my sister.": "My sister is younger than my brother.",
    },
}
ONE_WAY = {
    "caption": {
        "Two men playing chess in a park.": [
            "There are two men playing chess in a park.",
            "Two men are playing chess in a park.",
        ],
        "A dog on a beach.": ["There is a dog on a beach."],
        "The boy sitting on a bench.": ["The boy is sitting on a bench."],
        "A nun being searched by a guard while a man looks on.": [
            "There is a nun being searched by a guard while a man looks on.",
            "A nun is being searched by a guard while a man looks on.",
        ],
    },
    "clause-order": {
        "If you call me I will come.": ["I will come if you call me."],
        "To reach the village, take the bus.": ["Take the bus to reach the village."],
        "When Anna came home, she cooked dinner.": ["Anna cooked dinner when she came home."],
    },
    "reduced-relative": {
        "A performer wearing a hat did a flip.": ["A performer who was wearing a hat did a flip."],
    },
    "relativizer": {
        "The engine which he built is large.": ["The engine that he built is large.", "The engine he built is large."]
    },
    "there": {"A group of men is talking.": ["There is a group of men talking."]},
    "time-fronting": {"On Monday the shop is closed.": ["The shop is closed on Monday."]},
}
LEFT_ALONE = {
    "reduced-relative": {
        "A man playing a guitar.": "the whole text",
        "They kept a man waiting for hours.": "what they kept",
        "He complained about people leaving early.": "a gerund",
        "A man would see a dog running in the park.": "is or was",
        "A man sits in a chair reading a book.": "the chair does not read",
        "Nor are auditors required to list the documents.": "required is the verb",
        "The beaches used in the invasion are wide.": "were used",
        "The theater designed in 2004 is open.": "was designed",
        "The man, who is wearing a hat, is reading.": "not restrictive",
        "A man who is not wearing a hat is reading.": "a negation",
        "A man who was wearing a hat is reading.": "the tense would be lost",
        "A man who knows him is reading.": "no progressive",
        "She had a lamp installed in her room.": "what she had done",
    },
    "relativizer": {
        "It was the man who sang.": "a cleft",
        "She bought a bike that's red.": "which's",
        "He met a man, who sings.": "not restrictive",
        "The house in which he lives is old.": "after a preposition",
        "He met a man that sings and that dances.": "only one of the two",
        "All books that are old are cheap.": "all that",
        "As a young man he was rich.": "no relative clause",
        "He knows a band whose singer is old.": "whose",
        "It is fine under the circumstances I guess.": "a filler",
    },
    "there": {
        "The man is walking in the park.": "definite",
        "One man is walking in the park.": "one of them",
        "Another man is walking in the park.": "besides the first",
        "A man is not walking in the park.": "a negation",
        "A man is going to walk in the park.": "the future",
        "A man is walking and a dog is barking.": "two clauses",
        "Prices are going up.": "all prices",
        "A man is a doctor.": "neither verb nor place",
        "There is no art at the museum.": "no art is at the museum",
        "Is a man walking in the park?": "a question",
        "A man who sings is walking in the park.": "a clause between the two",
        "There is a box containing books.": "a box is not containing",
    },
    "caption": {
        "People sitting and a dog running.": "two do something",
        "A cold day in the city.": "no thing",
        "A picture of a man.": "neither participle nor place",
        "A woman in blue walks past a mural.": "a sentence",
        "Two bandmates in white play guitar.": "a sentence",
        "The dog on the beach.": "definite",
        "A man is walking.": "a sentence",
    },
    "that": {
        'He said, "I am ill."': "a quotation",
        "You know he is ill.": "a filler",
        "What did he say he wanted?": "a question",
        "She saw people play football.": "no finite verb",
        "It is thought that he is ill.": "not without that",
        "He asked if she was ill.": "if",
        "He argued that she was ill.": "argued she was: rarely",
    },
    "clause-order": {
        "He did not leave because he was ill.": "not because",
        "A boy watches while another boy sings.": "another than the first",
        "He decided to leave when she came.": "leave when, or decided when",
        "He said it was cold when she came.": "cold when, or said when",
        "I love it when you sing.": "it is the clause",
        "He wondered if it was cold.": "a question",
        "This is because it is cold.": "nothing is left",
        "It lasted long after he left.": "long after",
        "He lived there in 1680, when it was cold.": "the year when",
        "He looked as if he was ill.": "as if",
        "The dog bit Tom when he came.": "he is Tom",
        "He sings and she dances when it rains.": "two main clauses",
        "Would you go if it rained?": "a question",
        "If it rains, then we go.": "then looks back",
        "Eccentricity causes illness as does suspicion.": "as does",
        "The wall is a good place while hiking.": "the wall does not hike",
        "Marx wrote books while Hegel's were long.": "books of the other clause",
    },
    "time-fronting": {
        "The shop was a church in 1990.": "a form of be",
        "She did not buy a car last week.": "a negation",
        "He said he bought a car last week.": "said when, or bought when",
        "They published a report on the conference in June.": "a conference in June",
        "He took part in a day of games.": "no time",
        "Everybody bought a car last week.": "a quantifier",
        "They were thrown a party at the hot springs.": "no time",
        "It closed for Sunday.": "how long",
        "The law of 1994 was changed in 1996.": "two years",
    },
    "apposition": {
        "Berlin, the capital, is large.": "no person",
        "Ann Lee, the head of the school that burned, resigned.": "a clause",
        "Ann Lee, head of the school, resigned.": "no article",
    },
    "comparative": {
        "A dog is faster than a cat.": "any dog",
        "Tom is better than the girl.": "not listed",
        "Tom is taller than his sister.": "his is Tom's",
        "Tom is taller than he was.": "a clause",
        "Tom is not taller than the girl.": "as tall, perhaps",
    },
}
PAIRS = [(kind, one, other) for kind, pairs in BOTH_WAYS.items() for one, other in pairs.items()]
SINGLE = [(kind, text, expected) for kind, texts in ONE_WAY.items() for text, expected in texts.items()]
ALONE = [
    pytest.param(kind, text, id=f"{kind}: {text} ({why})")
    for kind, texts in LEFT_ALONE.items()
    for text, why in texts.items()
]


@pytest.mark.parametrize(("kind", "one", "other"), PAIRS)
def test_a_sentence_and_its_other_form(kind, one, other):
    assert rewritten(one, kind) == [other]
    assert one in rewritten(other, kind)


@pytest.mark.parametrize(("kind", "text", "expected"), SINGLE)
def test_what_is_made_in_one_direction(kind, text, expected):
    assert rewritten(text, kind) == expected


@pytest.mark.parametrize(("kind", "text"), ALONE)
def test_what_is_left_alone(kind, text):
    assert rewritten(text, kind) == []


def test_every_rewriting_has_an_inverse_and_every_kind_an_example():
    found = {
        one.how for kind, text, _ in [*PAIRS, *SINGLE] for rule in CLAUSES[kind].rules for one in rule(parsed(text))
    }
    found |= {one.how for kind, _, text in PAIRS for rule in CLAUSES[kind].rules for one in rule(parsed(text))}
    assert found == set(INVERSES)
    assert {*BOTH_WAYS, *ONE_WAY} == set(CLAUSES) == {*LEFT_ALONE}


@pytest.mark.parametrize(
    "text",
    ["...", "😀", "?!", "—", "The", "木 木", "When", "In", "There is", "There are.", "A man who", "He said", "is", "A",
     "Than", "dog " * 300, "A man, the, is.", "As", "While", "To", "Tom is taller than"],
)  # fmt: skip
def test_what_is_no_sentence_raises_nothing(text):
    rules = [*(rule for kind in CLAUSES.values() for rule in kind.rules), *INVERSES.values()]
    assert all(one.apply(text) for rule in rules for one in rule(parsed(text)))


# Pronoun and agreement, with trees by hand

SPEC = "{}:{}:nsubj:4 wearing:VBG:acl:0:wear a:DT:det:3 hat:NN:dobj:1 {}:{}:ROOT:4:{}"


@pytest.mark.parametrize(
    ("noun", "tag", "verb", "words"),
    [
        ("woman", "NN", ("sings", "VBZ", "sing"), "who is"),
        ("women", "NNS", ("sing", "VBP", "sing"), "who are"),
        ("plumber", "NN", ("sang", "VBD", "sing"), "who was"),
        ("women", "NNS", ("sang", "VBD", "sing"), "who were"),
        ("dog", "NN", ("barks", "VBZ", "bark"), "that is"),
        ("crowd", "NN", ("sings", "VBZ", "sing"), "that is"),
    ],
)
def test_pronoun_and_verb_agree_with_the_noun(noun, tag, verb, words):
    tree = by_hand(SPEC.format(noun, tag, *verb))
    assert applied(to_full_relative, tree) == [f"{noun} {words} wearing a hat {verb[0]}"]


def test_a_modal_leaves_the_tense_open():
    tree = by_hand("A:DT:det:1 man:NN:nsubj:3 would:MD:aux:3 sing:VB:ROOT:3")
    assert tense(tree, 1) == ""
    assert tense(by_hand("A:DT:det:1 man:NN:ROOT:1"), 1) == "present"  # a caption


@pytest.mark.parametrize(
    ("noun", "person"),
    [("man", True), ("plumber", True), ("backpacker", True), ("dog", False), ("organization", False), ("rate", False)],
)
def test_persons_are_found_by_their_definition(noun, person):
    assert is_person(by_hand(f"a:DT:det:1 {noun}:NN:ROOT:1"), 1) is person


@pytest.mark.parametrize(
    ("determiner", "new"), [("a", True), ("some", True), ("no", True), ("the", False), ("this", False)]
)
def test_only_what_is_new_is_there(determiner, new):
    spec = f"{determiner.capitalize()}:DT:det:1 man:NN:nsubj:3 is:VBZ:aux:3:be singing:VBG:ROOT:3:sing"
    assert applied(to_there, by_hand(spec)) == ([f"There is {determiner} man singing"] if new else [])


# Laws


@settings(max_examples=at_most(25), deadline=None)
@given(
    st.sampled_from(["A man", "Two boys", "A small dog", "Some women"]),
    st.sampled_from(["sleeping", "running", "sitting"]),
    st.sampled_from(["in the park", "near a house", "on the grass"]),
)
def test_there_comes_and_goes(who, doing, place):
    be = "are" if who.split()[0] in {"Two", "Some"} else "is"
    text = f"{who} {be} {doing} {place}."
    for new in rewritten(text, "there"):
        assert sorted(new.lower().strip(".").split()) == sorted([*text.lower().strip(".").split(), "there"])
        assert text in rewritten(new, "there")


@settings(max_examples=at_most(25), deadline=None)
@given(
    st.sampled_from(["because", "when", "if", "although", "before", "after"]),
    st.sampled_from(["it rains", "the sun shines", "you call"]),
    st.sampled_from(["they stay at home", "the children sing", "we close the shop"]),
)
def test_the_order_of_clauses_changes_no_word(mark, clause, main):
    text = f"{main.capitalize()} {mark} {clause}."
    for new in rewritten(text, "clause-order"):
        assert sorted(new.lower().replace(",", "").strip(".").split()) == sorted(text.lower().strip(".").split())


def test_all_examples_are_parsed_together():
    """Nothing depends on which texts are parsed in one batch."""
    texts = [one for _, one, _ in PAIRS][:5]
    together = [[node.dep for node in nodes] for nodes in parser()(texts)]
    assert together == [[node.dep for node in parsed(text).nodes] for text in texts]
