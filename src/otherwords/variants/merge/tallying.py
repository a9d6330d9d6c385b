"""What MERGE's filters took away, counted by masked-LM, word class and text: notes, with the reason of each filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...problem import Note
from .agreeing import Rule, origins
from .considering import Considered, Decided, Trial
from .shared_words import CLASSES
from .suggesting import Offer

#: The filters in the order in which they are applied; the first three look at places, the others at whole texts.
NO_WORD = "left out: no whole word"
UNLIKELY = "left out: no likelier than the word itself"
PRESENT = "left out: already in the problem"
OCCURRENCE = "left out: not at every occurrence"
ELSEWHERE = "left out: not in every text"
CLASS = "left out: of another word class"
FILTERS = (NO_WORD, UNLIKELY, PRESENT, OCCURRENCE, ELSEWHERE, CLASS)
#: Places where a masked-LM has nothing to say, because the word there is several tokens.
SEVERAL = "left out: a place with a word of several tokens"
#: Suggestions that passed all filters, by the masked-LMs that accept them.
KEPT = "suggestions kept"
_FULL = Rule()
_Key = tuple[str, str, str, str]


def filter_notes(of: str, words: Sequence[Decided], alone: Mapping[Trial, str] | None = None) -> Iterator[Note]:
    """For every masked-LM, class and field, how many suggestions reached each filter, and how many it removed.

    With `alone`, the tags of all suggestions, the filters of words are counted by themselves: on all suggestions.
    """
    removed: Counter[_Key] = Counter()
    reached: Counter[_Key] = Counter()
    for one in words:
        shared = one.word.shared
        for name in shared.places:
            for model in one.word.offers[name][0]:
                for what, left, came in _counts(one, name, model, alone):
                    removed[model, shared.word_class, name, what] += left
                    reached[model, shared.word_class, name, what] += came
    for (model, word_class, name, what), came in reached.items():
        if came:
            about = {"model": model, "word_class": word_class, "field": name, "reached": str(came)}
            yield Note(of, what, removed[model, word_class, name, what], about)


def kept_notes(of: str, word_class: str, words: Sequence[Decided]) -> Iterator[Note]:
    """How many suggestions of a class exactly which masked-LMs accept, in one text or another."""
    found = Counter(
        "+".join(origins(word, list(one.accepted.values()))) for one in words for word in one.words
    )  # fmt: skip
    for names, count in sorted(found.items()):
        yield Note(of, KEPT, count, {"word_class": word_class, "origin": names})


def _counts(one: Decided, name: str, model: str, alone: Mapping[Trial, str] | None) -> Iterator[tuple[str, int, int]]:
    """Each filter with what it removed, and what had reached it."""
    offers = [place[model] for place in one.word.offers[name]]
    several = sum(not offer.suggestions for offer in offers)
    yield SEVERAL, several, several
    for place, offer in enumerate(offers):
        if alone is None:
            yield from _in_turn(one.word, offer)
        else:
            yield from _alone(one.word, offer, name, place, alone)
    passing = [frozenset(place[model]) for place in one.word.passing(_FULL)[name]]
    before = one.word.accepted(_FULL)[name][model]
    yield OCCURRENCE, len(frozenset().union(*passing)) - len(before), len(frozenset().union(*passing))
    possible = before & one.word.possible(_FULL)
    after = one.accepted[name][model] if one.accepted else possible
    yield ELSEWHERE, len(before) - len(possible) + (len(after - one.words) if one.accepted else 0), len(before)
    if alone is None and one.accepted:
        yield CLASS, len(possible) - len(after), len(possible)


def _in_turn(word: Considered, offer: Offer) -> Iterator[tuple[str, int, int]]:
    """The filters one after the other."""
    words = offer.suggestions - offer.no_word
    likelier = offer.likelier
    yield NO_WORD, offer.no_word, offer.suggestions
    yield UNLIKELY, offer.unlikely, words
    yield PRESENT, sum(not word.is_new(one) for one in likelier), len(likelier)


def _alone(
    word: Considered, offer: Offer, name: str, place: int, tags: Mapping[Trial, str]
) -> Iterator[tuple[str, int, int]]:
    """Each filter on all suggestions; what is no word has no class."""
    token, wanted = word.shared.places[name][place], CLASSES[word.shared.word_class]
    others = sum(tags[word.trial(one, name, place, token)] != wanted for one in offer.words)
    yield NO_WORD, offer.no_word, offer.suggestions
    yield UNLIKELY, offer.unlikely + offer.unlikely_rest, offer.suggestions
    yield PRESENT, sum(not word.is_new(one) for one in offer.words), offer.suggestions
    yield CLASS, offer.no_word + others, offer.suggestions
