"""The rewritings of a text by kind, kept only if they can be reversed.

Each sentence is parsed alone and rewritten; the new sentence is parsed again, and the inverse rule must give the
original back. A rewriting that fails this was probably based on a wrong parse.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from .dative import to_double_object, to_prepositional
from .parsing import Parser, ParseTree, sentences
from .relative import exchange_adjectives, to_adjective, to_clause
from .rewriting import Rewriting
from .swaps import swap_conjuncts, swap_definite
from .voice import to_active, to_passive

Rewriter = Callable[[ParseTree], Iterable[Rewriting]]
#: The rules of each kind.
EQUIVALENCES: dict[str, tuple[Rewriter, ...]] = {
    "voice": (to_passive, to_active),
    "definite": (swap_definite,),
    "relative": (to_clause, to_adjective, exchange_adjectives),
    "coordination": (swap_conjuncts,),
    "dative": (to_prepositional, to_double_object),
}
#: The rule that reverses a rewriting, by the rewriting's name.
_INVERSES: dict[str, Rewriter] = {
    "passive": partial(to_active, by_someone=True),
    "active": to_passive,
    "definite swap": swap_definite,
    "adjective to clause": to_adjective,
    "clause to adjective": to_clause,
    "adjective and clause exchanged": exchange_adjectives,
    "coordination swap": swap_conjuncts,
    "prepositional object": to_double_object,
    "double object": to_prepositional,
}
#: What may differ after both steps: the number of the verb of "a group of men", tense and pronoun of a clause.
_INTERCHANGEABLE = {"are": "is", "were": "is", "was": "is", "have": "has", "who": "that", "which": "that"}


def sound_rewritings(
    texts: Sequence[str], kinds: Sequence[str], parse: Parser
) -> Iterator[tuple[list[Rewriting], list[Rewriting]]]:
    """For each text the rewritings of its sentences that can be reversed, and those that cannot.

    >>> from .parsing import parser
    >>> text = "It rains. A dog chases a cat."
    >>> [([rewriting], irreversible)] = sound_rewritings([text], ["voice"], parser())
    >>> rewriting.apply(text), irreversible
    ('It rains. A cat is chased by a dog.', [])
    """
    split = [list(sentences(text, nodes)) for text, nodes in zip(texts, parse(texts), strict=True)]
    parsed = parse(sentence.text for text in split for sentence in text)
    drafts = [
        [
            (sentence, rewriting)
            for sentence in text
            for rewriting in rewritings(ParseTree(sentence.text, next(parsed)), kinds)
        ]
        for text in split
    ]
    parsed_again = parse(rewriting.apply(sentence.text) for text in drafts for sentence, rewriting in text)
    for text in drafts:
        sound: list[Rewriting] = []
        irreversible: list[Rewriting] = []
        for sentence, rewriting in text:
            rewritten = ParseTree(rewriting.apply(sentence.text), next(parsed_again))
            results = sound if can_be_reversed(rewriting, sentence.text, rewritten) else irreversible
            results.append(rewriting._replace(at=sentence.start + rewriting.at))
        yield sound, irreversible


def rewritings(tree: ParseTree, kinds: Iterable[str]) -> Iterator[Rewriting]:
    """All rewritings of a sentence of some kinds; an abbreviation keeps its place if its stop ends the sentence."""
    drafts = (one for kind in kinds for rewriter in EQUIVALENCES[kind] for one in rewriter(tree))
    return (one for one in drafts if one.before.endswith(".") is one.after.endswith(".") and _is_free(tree.text, one))


def can_be_reversed(one: Rewriting, original: str, rewritten: ParseTree) -> bool:
    """Whether the inverse rule turns the rewritten text, as it is parsed, into the original.

    >>> from .parsing import parser
    >>> old, new = "A dog chases a cat.", "A cat is chased by a dog."
    >>> [nodes] = parser()([new])
    >>> can_be_reversed(Rewriting("passive", 0, old[:-1], new[:-1]), old, ParseTree(new, nodes))
    True
    """
    expected = _normalize(original)
    return any(_normalize(back.apply(rewritten.text)) == expected for back in _INVERSES[one.how](rewritten))


def _is_free(text: str, one: Rewriting) -> bool:
    """Whether no hyphen or slash joins the stretch to another word: "X-rays and light"."""
    end = one.at + len(one.before)
    return not {text[max(0, one.at - 1) : one.at], text[end : end + 1]} & set("-–/")


def _normalize(text: str) -> list[str]:
    return [_INTERCHANGEABLE.get(word, word) for word in re.findall(r"\w+|\S", text.lower())]
