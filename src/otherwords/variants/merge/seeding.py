"""From problems to the words that their texts share, each with what masked-LMs offer for its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...masked_lms.masking import Masked
from ...problem import Problem
from ...words.english import warn_of_other_language
from ...words.tagging import Tagger
from .considering import Considered
from .shared_words import SharedWord, present_forms, shared_words
from .suggesting import Offer, Suggester


class Seed(NamedTuple):
    """A problem with its random seed, its shared words in the order of the classes, and how many were ambiguous."""

    problem: Problem
    seed: int
    by_class: dict[str, list[Considered]]
    ambiguous: int

    @property
    def words(self) -> list[Considered]:
        """All shared words."""
        return [word for words in self.by_class.values() for word in words]


class Seeding(NamedTuple):
    """Finds shared words of some classes, and asks the masked-LMs about all their places at once."""

    tag: Tagger
    classes: Sequence[str]
    suggest: Suggester
    where: str

    def __call__(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Seed]:
        """The problems as seeds; one without shared words, or in another language than English, has none."""
        found = list(self._shared(problems))
        told = zip(problems, found, strict=True)
        places = list(dict.fromkeys(place for problem, (words, _) in told for place in _places(problem, words)))
        offers = dict(zip(places, self.suggest(places), strict=True))
        for problem, seed, (words, ambiguous) in zip(problems, seeds, found, strict=True):
            considered = _considered(problem, words, offers)
            by_class = {one: [word for word in considered if word.shared.word_class == one] for one in self.classes}
            yield Seed(problem, seed, {one: words for one, words in by_class.items() if words}, ambiguous)

    def _shared(self, problems: Sequence[Problem]) -> Iterator[tuple[list[SharedWord], int]]:
        tagged = self.tag(problem.text[name] or "" for problem in problems for name in problem.task.targets)
        for problem in problems:
            tokens = {name: next(tagged) for name in problem.task.targets}
            other = warn_of_other_language(problem.text.values(), self.where)
            yield ([], 0) if other else shared_words(problem, tokens, self.classes)


def _places(problem: Problem, words: Sequence[SharedWord]) -> Iterator[Masked]:
    for word in words:
        for name, tokens in word.places.items():
            yield from ((problem.text[name], token.start, token.end) for token in tokens)


def _considered(
    problem: Problem, words: Sequence[SharedWord], offers: dict[Masked, dict[str, Offer]]
) -> list[Considered]:
    present = present_forms(problem) if words else frozenset()
    made = []
    for word in words:
        mine = {
            name: [offers[problem.text[name], token.start, token.end] for token in tokens]
            for name, tokens in word.places.items()
        }
        made.append(Considered(word, mine, problem.text, present))
    return made
