"""What `structural.v2` asks of the old rules besides: real sentences that v1 rewrites wrongly, and ones like them."""

from __future__ import annotations

import pytest
from parses import parsed

pytest.importorskip("spacy")

from otherwords.grammar.equivalences import EQUIVALENCES, EQUIVALENCES_V2, drafts, reversible, rewritings
from otherwords.grammar.parsing import parser


def made(text: str, kind: str) -> list[str]:
    """What the second version makes of a text."""
    [found] = drafts([text], [kind], parser())
    return [draft.text for draft, good in zip(found, reversible(found, parser()), strict=True) if good]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("relative", "He works for big business."),  # WordNet has it as one word
        ("relative", "Hackers use a back door and red tape."),
        ("relative", "They think it is a huge deal."),
        ("relative", "It explains why established large corporations haven't grown."),
        ("voice", "The boys watched the train pass."),
        ("voice", "Jon saw the demon fall."),
        ("voice", "A singing group is performing acapella style."),
        ("voice", "The scientist is working wiht eggs."),
        ("voice", "Saddam is utilizing Arab anger at the United States."),
        ("definite", "Clinton is President of the United States."),
        ("definite", "The problem is the priority and main focus of the government."),
        ("coordination", "Presidents George Bush and Bill Clinton met."),
        ("coordination", "Bob and Alice are better than John and Mary."),
        ("coordination", "There is a swimsuit and an evening gown portion."),
        ("coordination", "Three islands lie from north to south: Lesvos, Chios, and Samos."),
        ("coordination", "One tan dog with a stick and one black dog are here."),
        ("dative", "Give me a couple of minutes."),
    ],
)
def test_what_v1_gets_wrong_is_left_alone(kind, text):
    assert made(text, kind) == []


@pytest.mark.parametrize(
    ("kind", "text", "new"),
    [
        ("relative", "An old man eats a bun.", "A man who is old eats a bun."),  # "old man" is in WordNet, too
        ("relative", "The tall senator was speaking.", "The senator who was tall was speaking."),
        ("relative", "A woman sees a brown dog.", "A woman sees a dog that is brown."),
        ("voice", "A crowd is watching a soccer game.", "A soccer game is being watched by a crowd."),
        ("voice", "Tiepolo painted the ceiling in 1875.", "The ceiling was painted in 1875 by Tiepolo."),
        ("definite", "The winner is the girl.", "The girl is the winner."),
        ("coordination", "Blair and Clinton met.", "Clinton and Blair met."),
        ("dative", "Jon gave Adrin a gun.", "Jon gave a gun to Adrin."),
    ],
)
def test_what_is_like_it_and_sound_is_still_made(kind, text, new):
    assert new in made(text, kind)


@pytest.mark.parametrize("text", ["A dog chases a cat.", "The boys watched the train pass.", "He likes big business."])
def test_a_guard_adds_nothing(text):
    """Each draft of the second version is one of the first, except for the pronoun."""
    tree = parsed(text)
    for kind in EQUIVALENCES:
        old = [one.after.replace(" who ", " that ") for one in rewritings(tree, [kind], EQUIVALENCES)]
        assert all(one.after.replace(" who ", " that ") in old for one in rewritings(tree, [kind], EQUIVALENCES_V2))


def test_every_rewriting_has_an_inverse_of_its_own():
    names = [how for kind in EQUIVALENCES_V2.values() for how in kind.inverses]
    assert len(names) == len(set(names))
    assert set(EQUIVALENCES) <= set(EQUIVALENCES_V2)
