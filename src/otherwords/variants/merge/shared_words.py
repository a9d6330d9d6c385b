"""Words that the texts of a problem share: the same form, case apart, of one open class, with all their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...problem import Problem
from ...words.lexicon import lexicon
from ...words.places import all_forms
from ...words.tagging import Token
from ..corpus import LETTERS

#: Open word classes and spaCy's universal tags for them; PROPN (names) and AUX are none.
CLASSES = {"noun": "NOUN", "verb": "VERB", "adjective": "ADJ", "adverb": "ADV"}
_NAMES = {tag: name for name, tag in CLASSES.items()}


class SharedWord(NamedTuple):
    """A word in small letters, its class, and where it stands, field by field."""

    word: str
    word_class: str
    places: Mapping[str, tuple[Token, ...]]


def shared_words(
    problem: Problem, tokens: Mapping[str, Sequence[Token]], classes: Sequence[str]
) -> tuple[list[SharedWord], int]:
    """The words that stand in two or more of the fields given as tokens, in order; and how many were ambiguous.

    A word that is of different classes where it stands is left alone: no other word is both. So is one that stands in
    a field that must not change, because there it would stay.

    >>> from otherwords.problem import TASKS
    >>> problem = Problem("p", TASKS["nli"], {"premise": "Dogs run", "hypothesis": "A dog, dogs"}, "neutral")
    >>> premise = [Token("Dogs", 0, "NOUN", "NNS", False), Token("run", 5, "VERB", "VBP", False)]
    >>> hypothesis = [Token("dog", 2, "NOUN", "NN", False), Token("dogs", 7, "NOUN", "NNS", False)]
    >>> [word], _ = shared_words(problem, {"premise": premise, "hypothesis": hypothesis}, ["noun"])
    >>> word.word, word.places["hypothesis"][0].start
    ('dogs', 7)
    """
    found: dict[str, dict[str, list[Token]]] = {}
    for name, some in tokens.items():
        for token in some:
            if LETTERS.fullmatch(token.text):
                found.setdefault(token.text.lower(), {}).setdefault(name, []).append(token)
    fixed = _words(text for name, text in problem.text.items() if name not in tokens)
    shared = {word: places for word, places in found.items() if len(places) > 1 and word not in fixed}
    told = {word: {_NAMES.get(token.pos, "") for some in places.values() for token in some}
            for word, places in shared.items()}  # fmt: skip
    made = [
        SharedWord(word, next(iter(told[word])), {name: tuple(some) for name, some in places.items()})
        for word, places in shared.items()
        if len(told[word]) == 1 and told[word] <= set(classes)
    ]
    return made, sum(len(one) > 1 and not one.isdisjoint(classes) for one in told.values())


def present_forms(problem: Problem) -> frozenset[str]:
    """All words of a problem, in all of its fields, and all that they may be forms of: "dogs" and "dog".

    >>> from otherwords.problem import TASKS
    >>> sorted(present_forms(Problem("p", TASKS["nli"], {"premise": "Two dogs", "hypothesis": ""}, "neutral")))
    ['dog', 'dogs', 'two']
    """
    return frozenset(form for word in _words(problem.text.values()) for form in all_forms(word, lexicon()))


def is_present(word: str, present: frozenset[str]) -> bool:
    """Whether a word in small letters, or anything that it may be a form of, is among the words of a problem.

    >>> is_present("dogs", frozenset({"dog"})), is_present("cats", frozenset({"dog"}))
    (True, False)
    """
    return not present.isdisjoint(all_forms(word, lexicon()))


def _words(texts: Iterable[str | None]) -> set[str]:
    return {word for text in texts if text for word in LETTERS.findall(text.lower())}
