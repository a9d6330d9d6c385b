"""Which word classes of a problem have suggestions enough, and which replacements they may draw from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...problem import Note
from .agreeing import Rule
from .considering import Considered, Decided, Tags, Trial, decide
from .seeding import Seed
from .tallying import filter_notes, kept_notes

AMBIGUOUS = "left out: a shared word of different classes"
_FULL = Rule()


class Merged(NamedTuple):
    """A seed with what is left of its words, for each class that has enough, and what is to be noted of the rest."""

    seed: Seed
    by_class: dict[str, list[Decided]]
    notes: list[Note]


class Merging(NamedTuple):
    """Applies the filters; a class needs `least` suggestions that pass all of them, whatever `rule` is asked for."""

    tags: Tags
    least: int
    rule: Rule
    alone: bool

    def __call__(self, seeds: Sequence[Seed]) -> Iterator[Merged]:
        """All seeds, in order."""
        alone = self.tags(_all_trials(seeds) if self.rule.same_class else ()) if self.alone else None
        groups = [words for seed in seeds for words in seed.by_class.values() if self._is_hopeful(words)]
        full = _decided(groups, _FULL, self.tags)
        enough = [words for words in groups if sum(len(full[word].words) for word in words) >= self.least]
        final = full if self.rule == _FULL else _decided(enough, self.rule, self.tags)
        good = {word for words in enough for word in words}
        for seed in seeds:
            passed = {name: words for name, words in seed.by_class.items() if words[0] in good}
            by_class = {name: [final[word] for word in words] for name, words in passed.items()}
            yield Merged(seed, by_class, list(self._notes(seed, passed, final, alone)))

    def _is_hopeful(self, words: Sequence[Considered]) -> bool:
        """Whether a class has enough before its sentences are tagged; otherwise that can be spared."""
        return sum(len(word.possible(_FULL)) for word in words) >= self.least

    def _notes(
        self,
        seed: Seed,
        passed: Mapping[str, Sequence[Considered]],
        final: Mapping[Considered, Decided],
        alone: Mapping[Trial, str] | None,
    ) -> Iterator[Note]:
        name = seed.problem.id
        decided = [final.get(word) or Decided(word, {}, frozenset()) for word in seed.words]
        yield from filter_notes(name, decided, self.rule, alone)
        if seed.ambiguous:
            yield Note(name, AMBIGUOUS, seed.ambiguous)
        for word_class in seed.by_class:
            if word_class in passed:
                yield from kept_notes(name, word_class, [final[word] for word in passed[word_class]])
            else:
                what = f"left out: a word class with fewer than {self.least} suggestions"
                yield Note(name, what, 1, {"word_class": word_class})


def _decided(groups: Iterable[Sequence[Considered]], rule: Rule, tags: Tags) -> dict[Considered, Decided]:
    return {one.word: one for one in decide([word for words in groups for word in words], rule, tags)}


def _all_trials(seeds: Sequence[Seed]) -> Iterator[Trial]:
    """All suggestions at all places, as each masked-LM writes them."""
    for word in (word for seed in seeds for word in seed.words):
        for name, places in word.offers.items():
            for place, by_model in enumerate(places):
                for model, offer in by_model.items():
                    yield from (word.trial(one, name, place, model) for one in offer.words)
