"""The words that the texts of a problem share, and the words that masked-LMs suggest in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...language_models.masked_lm import Fillings, MaskedLM, Vocabulary
from ...language_models.masking import Masked
from ...problem import Problem
from ...words.inflection import cased
from ...words.lexicon import lexicon
from ...words.places import all_forms
from ...words.tagging import Token
from ..corpus import LETTERS

#: Open word classes and spaCy's universal tags for them; PROPN (names) and AUX are none.
CLASSES = {"noun": "NOUN", "verb": "VERB", "adjective": "ADJ", "adverb": "ADV"}
_NAMES = {tag: name for name, tag in CLASSES.items()}
Bools = npt.NDArray[np.bool_]


# Shared words: the same form, whatever its case, of one open class, with all their places


class SharedWord(NamedTuple):
    """A word in lower case, its class, and its places, by field."""

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
    occurrences: dict[str, dict[str, list[Token]]] = {}
    for name, some in tokens.items():
        for token in some:
            if LETTERS.fullmatch(token.text):
                occurrences.setdefault(token.text.lower(), {}).setdefault(name, []).append(token)
    fixed = _words(text for name, text in problem.text.items() if name not in tokens)
    words, ambiguous = [], 0
    for word, places in occurrences.items():
        if len(places) > 1 and word not in fixed:
            own = {_NAMES.get(token.pos, "") for some in places.values() for token in some}
            ambiguous += len(own) > 1 and not own.isdisjoint(classes)
            if len(own) == 1 and own <= set(classes):
                words.append(SharedWord(word, own.pop(), {name: tuple(some) for name, some in places.items()}))
    return words, ambiguous


def present_forms(problem: Problem) -> frozenset[str]:
    """All words of a problem, in all of its fields, and all that they may be forms of: "dogs" and "dog".

    >>> from otherwords.problem import TASKS
    >>> sorted(present_forms(Problem("p", TASKS["nli"], {"premise": "Two dogs", "hypothesis": ""}, "neutral")))
    ['dog', 'dogs', 'two']
    """
    return frozenset(form for word in _words(problem.text.values()) for form in all_forms(word, lexicon()))


def is_present(word: str, present: frozenset[str]) -> bool:
    """Whether a lower-case word, or anything that it may be a form of, is among the words of a problem.

    >>> is_present("dogs", frozenset({"dog"})), is_present("cats", frozenset({"dog"}))
    (True, False)
    """
    return not present.isdisjoint(all_forms(word, lexicon()))


def _words(texts: Iterable[str | None]) -> set[str]:
    return {word for text in texts if text for word in LETTERS.findall(text.lower())}


# Offers: the likeliest whole words, as they would be written at each place


class Offer(NamedTuple):
    """What one masked-LM suggests at one place.

    `words` has the whole words, in lower case: how each is written there, and its log-probability. `own` is the
    log-probability of the original word, NaN where that is several tokens (then nothing is suggested). Of all
    `suggestions`, `no_word` are no whole words (`unlikely_rest` of them no likelier than the original word), and
    `unlikely` are words that are no likelier.
    """

    words: Mapping[str, tuple[str, float]]
    own: float
    suggestions: int
    no_word: int
    unlikely: int
    unlikely_rest: int

    @property
    def likelier(self) -> frozenset[str]:
        """The words that are more probable than the one that stands there."""
        return frozenset(word for word, (_, logp) in self.words.items() if logp > self.own)


NOTHING = Offer({}, float("nan"), 0, 0, 0, 0)


class Suggester:
    """Asks masked-LMs, by name, for the `top` likeliest tokens.

    Spellings that differ in capitals are one word, as probable as the likeliest: at the start of a sentence a cased
    model suggests "Dogs", elsewhere "dogs". With `several`, original words of several tokens are compared by the
    probability of all their tokens; else nothing is suggested for them. With `every`, offers hold words that are no
    likelier, too.
    """

    def __init__(self, models: Mapping[str, MaskedLM], top: int, several: bool, every: bool):
        self._models, self._top, self._several, self._every = models, top, several, every
        self._columns = {name: _Columns.of(model.vocabulary) for name, model in models.items()}

    def __call__(self, places: Sequence[Masked]) -> list[dict[str, Offer]]:
        """For every place what each model offers there."""
        if not places:
            return []
        offers: list[dict[str, Offer]] = [{} for _ in places]
        for name, model in self._models.items():
            fillings = model.fill(places, self._top)
            own = self._own(model, places, fillings)
            for row, offer in enumerate(_offers(places, fillings, own, self._columns[name], self._every)):
                offers[row][name] = offer
        return offers

    def _own(self, model: MaskedLM, places: Sequence[Masked], fillings: Fillings) -> npt.NDArray[np.float32]:
        own = fillings.own.copy()
        if self._several and (rows := np.flatnonzero(~fillings.one_token)).size:
            own[rows] = model.word_logp([places[row] for row in rows.tolist()])
        return own


def in_place(word: str, place: Masked) -> str:
    """A word with the capitals of what stands at a place; those of an acronym are its own.

    >>> in_place("dog", ("Man runs", 0, 3)), in_place("dog", ("A TV set", 2, 4)), in_place("dog", ("A MAN RUNS", 2, 5))
    ('Dog', 'dog', 'DOG')
    """
    text, start, end = place
    old = text[start:end]
    if len(old) > 1 and old.isupper() and not text.isupper():
        old = old.lower() if start else old.capitalize()
    return cased(word, old)


class _Columns(NamedTuple):
    """Of every token: the number of its lower-case word, and whether it may be a word after a blank, or without one."""

    words: npt.NDArray[np.object_]
    number: npt.NDArray[np.int64]
    spaced: Bools
    bare: Bools
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> _Columns:
        small = [str(word).lower() for word in vocabulary.words]
        numbers = {word: number for number, word in enumerate(dict.fromkeys(small))}
        letters = np.array([bool(LETTERS.fullmatch(word)) for word in small], np.bool_) & ~vocabulary.special
        spaced = vocabulary.whole & letters
        # Where a byte-level tokenizer sees no blank, pieces look like words: only what is one elsewhere counts.
        known = {word for word, whole in zip(small, spaced.tolist(), strict=True) if whole}
        bare = vocabulary.opening & letters & np.array([word in known for word in small], np.bool_)
        column = np.array([numbers[word] for word in small], np.int64)
        return cls(vocabulary.words, column, spaced, bare, numbers)


def _offers(
    places: Sequence[Masked], fillings: Fillings, own: npt.NDArray[np.float32], columns: _Columns, every: bool
) -> list[Offer]:
    """Filter all rows at once; only words that are left become Python objects."""
    ids, logp = fillings.ids, fillings.logp
    blank = np.array([start > 0 and text[start - 1].isspace() for text, start, _ in places], np.bool_)
    is_word = np.where(blank[:, None], columns.spaced[ids], columns.bare[ids])
    first = _first_spelling(columns.number[ids], is_word)
    floor = _floor(places, fillings, own, columns, is_word)
    above = logp > floor[:, None]
    kept = first if every else first & above
    sides = (~is_word, first, first & above, ~is_word & ~above)
    counts = zip(*(side.sum(axis=1).tolist() for side in sides), strict=True)
    offers = []
    for row, (no_word, words, better, rest) in enumerate(counts):
        some = np.flatnonzero(kept[row])
        written = _written(places[row], columns.words[ids[row, some]].tolist(), logp[row, some].tolist())
        offer = Offer(written, float(floor[row]), no_word + words, no_word, words - better, rest)
        offers.append(NOTHING if isnan(floor[row]) else offer)
    return offers


def _floor(
    places: Sequence[Masked], fillings: Fillings, own: npt.NDArray[np.float32], columns: _Columns, is_word: Bools
) -> npt.NDArray[np.float32]:
    """The log-probability of the original words in their likeliest spelling; NaN where unknown.

    Pieces that look like them ("##dog") are no spellings.
    """
    original = np.array([columns.numbers.get(text[start:end].lower(), -1) for text, start, end in places], np.int64)
    spelled = is_word & (columns.number[fillings.ids] == original[:, None])
    likeliest = np.where(spelled, fillings.logp, np.float32(-np.inf)).max(axis=1)
    return np.asarray(np.maximum(own, likeliest), np.float32)


def _first_spelling(number: npt.NDArray[np.int64], is_word: Bools) -> Bools:
    """Of words that differ only in capitals, the likeliest: rows are best first."""
    rows = np.arange(len(number))[:, None] * (int(number.max()) + 1)
    at = np.flatnonzero(is_word)
    first = np.zeros(number.size, np.bool_)
    first[at[np.unique((rows + number).ravel()[at], return_index=True)[1]]] = True
    return first.reshape(number.shape)


def _written(place: Masked, words: list[str], logp: list[float]) -> dict[str, tuple[str, float]]:
    """Words by their lower case, with the capitals of the place; where it has none, those that the model gives."""
    text, start, _ = place
    capital = text[start].isupper()
    return {
        word.lower(): (in_place(word.lower(), place) if capital else word, value)
        for word, value in zip(words, logp, strict=True)
    }
