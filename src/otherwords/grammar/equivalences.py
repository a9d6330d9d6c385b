"""The rewritings of a text by kind, kept only if they can be reversed.

Each sentence is parsed alone and rewritten; the new sentence is parsed again, and the inverse rule must give the
original back. A rewriting that fails this was probably based on a wrong parse.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .clause_rules import CLAUSES
from .dative import to_double_object, to_prepositional
from .guards import guard_active, guard_clause, guard_conjuncts, guard_dative, guard_definite, guard_passive, guarded
from .parsing import Parser, ParseTree, Sentence, sentence_trees, sentences
from .relative import exchange_adjectives, to_adjective, to_clause
from .rewriting import Kind, Rewriting
from .swaps import swap_conjuncts, swap_definite
from .voice import to_active, to_passive
from .wordings import WORDINGS

Table = Mapping[str, Kind]
#: The kinds of `structural.v1`.
EQUIVALENCES: dict[str, Kind] = {
    "voice": Kind((to_passive, to_active), {"passive": partial(to_active, by_someone=True), "active": to_passive}),
    "definite": Kind((swap_definite,), {"definite swap": swap_definite}),
    "relative": Kind(
        (to_clause, to_adjective, exchange_adjectives),
        {
            "adjective to clause": to_adjective,
            "clause to adjective": to_clause,
            "adjective and clause exchanged": exchange_adjectives,
        },
    ),
    "coordination": Kind((swap_conjuncts,), {"coordination swap": swap_conjuncts}),
    "dative": Kind(
        (to_prepositional, to_double_object),
        {"prepositional object": to_double_object, "double object": to_prepositional},
    ),
}
#: The kinds of `structural.v2`. A mended rule stands in the place of the old one; its inverse may stay as it was.
EQUIVALENCES_V2: dict[str, Kind] = {
    **EQUIVALENCES,
    "voice": EQUIVALENCES["voice"]._replace(
        rules=(guarded(to_passive, guard_passive), guarded(to_active, guard_active))
    ),
    "definite": EQUIVALENCES["definite"]._replace(rules=(guarded(swap_definite, guard_definite),)),
    "relative": EQUIVALENCES["relative"]._replace(
        rules=(guarded(to_clause, guard_clause), to_adjective, exchange_adjectives)
    ),
    "coordination": EQUIVALENCES["coordination"]._replace(rules=(guarded(swap_conjuncts, guard_conjuncts),)),
    "dative": EQUIVALENCES["dative"]._replace(
        rules=(guarded(to_prepositional, guard_dative), guarded(to_double_object, guard_dative))
    ),
    **CLAUSES,
    **WORDINGS,
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
    found = [
        [
            (sentence, rewriting)
            for sentence in text
            for rewriting in rewritings(ParseTree(sentence.text, next(parsed)), kinds)
        ]
        for text in split
    ]
    parsed_again = parse(rewriting.apply(sentence.text) for text in found for sentence, rewriting in text)
    for text in found:
        sound: list[Rewriting] = []
        irreversible: list[Rewriting] = []
        for sentence, rewriting in text:
            rewritten = ParseTree(rewriting.apply(sentence.text), next(parsed_again))
            results = sound if can_be_reversed(rewriting, sentence.text, rewritten) else irreversible
            results.append(rewriting._replace(at=sentence.start + rewriting.at))
        yield sound, irreversible


class SentenceDraft(NamedTuple):
    """A rewriting of a sentence, its kind, and the sentence with its place in the text."""

    kind: str
    sentence: Sentence
    rewriting: Rewriting

    @property
    def text(self) -> str:
        """The rewritten sentence."""
        return self.rewriting.apply(self.sentence.text)


def drafts(
    texts: Sequence[str], kinds: Sequence[str], parse: Parser, table: Table = EQUIVALENCES_V2
) -> list[list[SentenceDraft]]:
    """For each text the rewritings of its sentences, whether or not they can be reversed; each text is parsed once."""
    return [
        [
            SentenceDraft(kind, sentence, rewriting)
            for sentence, tree in sentence_trees(text, nodes)
            for kind in kinds
            for rewriting in rewritings(tree, [kind], table)
        ]
        for text, nodes in zip(texts, parse(texts), strict=True)
    ]


def reversible(some: Sequence[SentenceDraft], parse: Parser, table: Table = EQUIVALENCES_V2) -> list[bool]:
    """Which drafts the inverse rules turn into the original again; all are parsed together."""
    parsed = parse(draft.text for draft in some)
    return [
        can_be_reversed(draft.rewriting, draft.sentence.text, ParseTree(draft.text, nodes), table)
        for draft, nodes in zip(some, parsed, strict=True)
    ]


def rewritings(tree: ParseTree, kinds: Iterable[str], table: Table = EQUIVALENCES) -> Iterator[Rewriting]:
    """All rewritings of a sentence of some kinds; an abbreviation keeps its place if its stop ends the sentence."""
    found = (one for kind in kinds for rewriter in table[kind].rules for one in rewriter(tree))
    return (one for one in found if one.before.endswith(".") is one.after.endswith(".") and _is_free(tree.text, one))


def can_be_reversed(one: Rewriting, original: str, rewritten: ParseTree, table: Table = EQUIVALENCES) -> bool:
    """Whether the inverse rule turns the rewritten text, as it is parsed, into the original.

    >>> from .parsing import parser
    >>> old, new = "A dog chases a cat.", "A cat is chased by a dog."
    >>> [nodes] = parser()([new])
    >>> can_be_reversed(Rewriting("passive", 0, old[:-1], new[:-1]), old, ParseTree(new, nodes))
    True
    """
    expected = _normalize(original)
    inverse = next(kind.inverses[one.how] for kind in table.values() if one.how in kind.inverses)
    return any(_normalize(back.apply(rewritten.text)) == expected for back in inverse(rewritten))


def _is_free(text: str, one: Rewriting) -> bool:
    """Whether no hyphen or slash joins the stretch to another word: "X-rays and light"."""
    end = one.at + len(one.before)
    return not {text[max(0, one.at - 1) : one.at], text[end : end + 1]} & set("-–/")


def _normalize(text: str) -> list[str]:
    return [_INTERCHANGEABLE.get(word, word) for word in re.findall(r"\w+|\S", text.lower())]
