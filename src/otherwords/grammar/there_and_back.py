"""The rewritings of texts that lead back: each sentence is parsed alone, rewritten, parsed anew and rewritten again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .equivalences import can_be_taken_back, rewritings
from .parsing import Parser
from .rewriting import Rewriting
from .sentences import sentences
from .tree import Tree


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
