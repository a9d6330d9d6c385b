"""From accepted words to variants: drawn by the problem's seed, put at all places, told with their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp
from random import Random
from typing import Any, NamedTuple, TypeVar

from ...language_models.masking import Masked
from ...problem import Note, Problem, Variant
from ...storage.files import seed_for
from ...words.english import warn_of_other_language
from ...words.tagging import Tagger
from ..controls import scrambled
from ..corpus import Frequencies
from ..generating import Change, with_changes
from .counts import filter_notes, kept_notes
from .filters import Considered, Decided, Rule, Tags, Trial, decide, origins
from .suggestions import Offer, SharedWord, Suggester, in_place, is_present, present_forms, shared_words

# MERGED from variants.merge.seeding: From problems to the words that their texts share, each with what masked-LMs offer for its places.


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


# MERGED from variants.merge.merging: Which word classes of a problem have suggestions enough, and which replacements they may draw from.

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


# MERGED from variants.merge.drawing: Some of the variants that a problem could have, drawn by its seed, once or several times over.

One = TypeVar("One")


def drawn(pool: Sequence[One], n: int, subsamples: int, seed: int, about: str) -> list[tuple[One, tuple[int, ...]]]:
    """What is in any of several draws of `n` each, in the order of the pool, and in which draws it is, from 1.

    `n` of 0 takes all. `about` names what is drawn from, so that two pools of a problem are drawn from apart.

    >>> drawn(["a", "b", "c"], 2, 2, seed=1, about="noun")
    [('a', (1,)), ('b', (1, 2)), ('c', (2,))]
    """
    size = min(n, len(pool)) if n else len(pool)
    told: dict[int, list[int]] = {}
    for number in range(1, subsamples + 1):
        for place in Random(seed_for(seed, about, str(number))).sample(range(len(pool)), size):
            told.setdefault(place, []).append(number)
    return [(pool[place], tuple(told[place])) for place in sorted(told)]


# MERGED from variants.merge.replacements: From accepted words to variants: drawn by the problem's seed, put at all places, told with their origin.

#: Letters that are all alike have no other order, and another order may be a word of the problem.
UNSCRAMBLED = "left out: scrambled letters that are no new word"


class Replacement(NamedTuple):
    """A shared word, a suggestion for it in small letters, and that same word as it is used, perhaps scrambled."""

    decided: Decided
    suggestion: str
    new: str


class Replacing(NamedTuple):
    """Makes variants: `n` for each class, `subsamples` times over."""

    n: int
    subsamples: int
    scramble: bool
    frequencies: Frequencies

    def __call__(self, merged: Merged) -> Iterator[Variant | Note]:
        """The variants of a seed, class by class, no two with the same texts."""
        problem, seed = merged.seed.problem, merged.seed.seed
        pools = {name: self._pool(words, seed) for name, words in merged.by_class.items()}
        classes = "+".join(name for name, pool in pools.items() if pool)
        told = {tuple(problem.text.values())}
        for name, pool in pools.items():
            if lost := sum(len(one.words) for one in merged.by_class[name]) - len(pool):
                yield Note(problem.id, UNSCRAMBLED, lost, {"word_class": name})
            for one, numbers in drawn(pool, self.n, self.subsamples, seed, name):
                variant = with_changes(problem, list(_changes(one)))
                if tuple(variant.text.values()) not in told:
                    told.add(tuple(variant.text.values()))
                    yield _with_columns(problem, variant, {**self._columns(one, numbers), "classes": classes})

    def _pool(self, words: Sequence[Decided], seed: int) -> list[Replacement]:
        pool = [Replacement(one, word, word) for one in words for word in sorted(one.words)]
        if not self.scramble:
            return pool
        shuffled = (_scrambled(one, seed) for one in pool)
        distinct = {(one.decided.word.shared.word, one.new): one for one in shuffled}
        return [one for one in distinct.values() if one.new != one.suggestion and not _is_there(one)]

    def _columns(self, one: Replacement, numbers: Sequence[int]) -> dict[str, Any]:
        shared = one.decided.word.shared
        columns: dict[str, Any] = {
            "word_class": shared.word_class,
            "replaced": shared.word,
            "replacement": one.new,
            "origin": "+".join(origins(one.suggestion, list(one.decided.accepted.values()))),
        }
        if self.subsamples > 1:
            columns["subsamples"] = " ".join(map(str, numbers))
        return {**columns, **self.frequencies(one.new)}


def _scrambled(one: Replacement, seed: int) -> Replacement:
    """Alike wherever the word stands."""
    random = Random(seed_for(seed, one.decided.word.shared.word, one.suggestion))
    return one._replace(new=scrambled(one.suggestion, random))


def _is_there(one: Replacement) -> bool:
    return is_present(one.new, one.decided.word.present)


def _changes(one: Replacement) -> Iterator[Change]:
    """The new word at every place, with the probabilities of both by the masked-LMs that accept it there."""
    word = one.decided.word
    for name, tokens in word.shared.places.items():
        models = [model for model, accepted in one.decided.accepted[name].items() if one.suggestion in accepted]
        for place, token in enumerate(tokens):
            offers = word.offers[name][place]
            told = {
                model: [_probability(offers[model].words[one.suggestion][1]), _probability(offers[model].own)]
                for model in models
            }
            spelled = models and one.new == one.suggestion
            new = (
                word.written(one.suggestion, name, place, models[0])
                if spelled
                else in_place(one.new, (word.texts[name], token.start, token.end))
            )
            about = {"pos": word.shared.word_class, "p": told}
            yield {"field": name, "at": token.start, "from": token.text, "to": new, **about}


def _probability(logp: float) -> float:
    """To four digits: the last bits of a model's arithmetic differ between machines."""
    return float(f"{exp(logp):.4g}")


def _with_columns(problem: Problem, variant: Variant, columns: Mapping[str, Any]) -> Variant:
    """A column of the problem under one of the names is kept as `input_<name>`."""
    own = {f"input_{name}": problem.extra[name] for name in columns if problem.extra.get(name) is not None}
    return replace(variant, extra={**variant.extra, **own, **columns})
