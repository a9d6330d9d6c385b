"""The rewritings of texts that lead back: each sentence is parsed alone, rewritten, parsed anew and rewritten again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from .coordination import swap_conjuncts
from .dative import to_double_object, to_prepositional
from .definite import swap_definite
from .parsing import Parser, Tree, sentences
from .relative import exchange, to_adjective, to_clause
from .rewriting import Rewriting
from .voice import to_active, to_passive

# MERGED from grammar.equivalences: All rewritings by kind, and whether one can be taken back: its text, parsed anew, must give the original again.

Rewriter = Callable[[Tree], Iterable[Rewriting]]
#: What each kind consists of.
EQUIVALENCES: dict[str, tuple[Rewriter, ...]] = {
    "voice": (to_passive, to_active),
    "definite": (swap_definite,),
    "relative": (to_clause, to_adjective, exchange),
    "coordination": (swap_conjuncts,),
    "dative": (to_prepositional, to_double_object),
}
_BACK: dict[str, Rewriter] = {
    "passive": partial(to_active, by_someone=True),
    "active": to_passive,
    "definite swap": swap_definite,
    "adjective to clause": to_adjective,
    "clause to adjective": to_clause,
    "adjective and clause exchanged": exchange,
    "coordination swap": swap_conjuncts,
    "prepositional object": to_double_object,
    "double object": to_prepositional,
}
#: What there and back may change: the number that a verb takes from "a group of men", tense and pronoun of a clause.
_FREE = {"are": "is", "were": "is", "was": "is", "have": "has", "who": "that", "which": "that"}


def rewritings(tree: Tree, kinds: Iterable[str]) -> Iterator[Rewriting]:
    """All rewritings of a sentence of some kinds; an abbreviation with its stop moves neither to nor from its end."""
    made = (one for kind in kinds for rewriter in EQUIVALENCES[kind] for one in rewriter(tree))
    return (
        one for one in made if one.before.endswith(".") is one.after.endswith(".") and _stands_apart(tree.text, one)
    )


def can_be_taken_back(one: Rewriting, original: str, rewritten: Tree) -> bool:
    """Whether the new text, as it is parsed, has the structure that was meant: rewritten again, it is the original.

    >>> from .parsing import parser
    >>> old, new = "A dog chases a cat.", "A cat is chased by a dog."
    >>> [nodes] = parser()([new])
    >>> can_be_taken_back(Rewriting("passive", 0, old[:-1], new[:-1]), old, Tree(new, nodes))
    True
    """
    meant = _plain(original)
    return any(_plain(back.made(rewritten.text)) == meant for back in _BACK[one.how](rewritten))


def _stands_apart(text: str, one: Rewriting) -> bool:
    """Whether nothing is joined to the stretch by a hyphen or a slash: "X-rays and light"."""
    end = one.at + len(one.before)
    return not {text[max(0, one.at - 1) : one.at], text[end : end + 1]} & set("-–/")


def _plain(text: str) -> list[str]:
    return [_FREE.get(word, word) for word in re.findall(r"\w+|\S", text.lower())]


# MERGED from grammar.there_and_back: The rewritings of texts that lead back: each sentence is parsed alone, rewritten, parsed anew and rewritten again.


def sound_rewritings(
    texts: Sequence[str], kinds: Sequence[str], parse: Parser
) -> Iterator[tuple[list[Rewriting], list[Rewriting]]]:
    """For each text the rewritings of its sentences that can be taken back, and those that cannot.

    >>> from .parsing import parser
    >>> text = "It rains. A dog chases a cat."
    >>> [([rewriting], given_up)] = sound_rewritings([text], ["voice"], parser())
    >>> rewriting.made(text), given_up
    ('It rains. A cat is chased by a dog.', [])
    """
    cut = [list(sentences(text, nodes)) for text, nodes in zip(texts, parse(texts), strict=True)]
    parsed = parse(sentence.text for text in cut for sentence in text)
    made = [
        [
            (sentence, rewriting)
            for sentence in text
            for rewriting in rewritings(Tree(sentence.text, next(parsed)), kinds)
        ]
        for text in cut
    ]
    again = parse(rewriting.made(sentence.text) for text in made for sentence, rewriting in text)
    for text in made:
        sound: list[Rewriting] = []
        given_up: list[Rewriting] = []
        for sentence, rewriting in text:
            new = Tree(rewriting.made(sentence.text), next(again))
            holds = can_be_taken_back(rewriting, sentence.text, new)
            (sound if holds else given_up).append(rewriting._replace(at=sentence.start + rewriting.at))
        yield sound, given_up
