"""From accepted words to variants: drawn by the problem's seed, put at all places, told with their origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp
from random import Random
from typing import Any, NamedTuple

from ...problem import Note, Problem, Variant
from ...storage.files import seed_for
from ..changes import Change, with_changes
from ..corpus import Frequencies
from ..scramble import scrambled
from .agreeing import origins
from .considering import Decided
from .drawing import drawn
from .merging import Merged
from .shared_words import is_present
from .suggesting import in_place

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
