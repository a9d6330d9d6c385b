"""What MERGE's filters took away, counted by masked-LM, word class and text: notes, with the reason of each filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...problem import Note
from .agreeing import Rule, origins
from .considering import Considered, Decided, Trial
from .shared_words import CLASSES
from .suggesting import Offer

#: The filters in the order in which they are applied; the first three look at single places, the others at texts.
NO_WORD = "left out: no whole word"
UNLIKELY = "left out: no likelier than the word itself"
PRESENT = "left out: already in the problem"
OCCURRENCE = "left out: not at every occurrence"
ELSEWHERE = "left out: not in every text"
CLASS = "left out: of another word class"
CLASS_ELSEWHERE = "left out: of another word class in another text"
FILTERS = (NO_WORD, UNLIKELY, PRESENT, OCCURRENCE, ELSEWHERE, CLASS, CLASS_ELSEWHERE)
#: Places where a masked-LM has nothing to say, because the word there is several tokens.
SEVERAL = "left out: a place with a word of several tokens"
#: Suggestions that passed all filters, by the masked-LMs that accept them.
KEPT = "suggestions kept"
_Key = tuple[str, str, str, str]


def filter_notes(
    of: str, words: Sequence[Decided], rule: Rule, alone: Mapping[Trial, str] | None = None
) -> Iterator[Note]:
    """For every masked-LM, class and field, how many suggestions reached each filter of a rule, and how many went.

    What is counted is a suggestion at a place: where a word stands twice in a text, one that is accepted there counts
    twice, at every filter. So what reached a filter is what it removed and what reached the next.
    With `alone`, the tags of all suggestions, the filters of words are counted by themselves: on all suggestions.
    """
    removed: Counter[_Key] = Counter()
    reached: Counter[_Key] = Counter()
    for one in words:
        shared = one.word.shared
        for name in shared.places:
            for model in one.word.offers[name][0]:
                for what, left, came in _counts(one, name, model, rule, alone):
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


def _counts(
    one: Decided, name: str, model: str, rule: Rule, alone: Mapping[Trial, str] | None
) -> Iterator[tuple[str, int, int]]:
    """Each filter with what it removed, and what had reached it."""
    several = sum(not place[model].suggestions for place in one.word.offers[name])
    yield SEVERAL, several, several
    for place in range(len(one.word.offers[name])):
        if alone is None:
            yield from _in_turn(one.word, one.word.offers[name][place][model], rule)
        else:
            yield from _alone(one.word, name, place, model, rule, alone)
    yield from _of_texts(one, name, model, rule)
    if rule.same_class and one.accepted:
        yield from (told for told in _of_class(one, name, model, rule) if alone is None or told[0] != CLASS)


def _in_turn(word: Considered, offer: Offer, rule: Rule) -> Iterator[tuple[str, int, int]]:
    """The filters of single places, one after the other."""
    words = offer.suggestions - offer.no_word
    left = words - offer.unlikely if rule.likelier else words
    yield NO_WORD, offer.no_word, offer.suggestions
    if rule.likelier:
        yield UNLIKELY, offer.unlikely, words
    yield PRESENT, left - len(word.passing(offer, rule)), left


def _alone(
    word: Considered, name: str, place: int, model: str, rule: Rule, tags: Mapping[Trial, str]
) -> Iterator[tuple[str, int, int]]:
    """Each filter on all suggestions; what is no word has no class."""
    offer, wanted = word.offers[name][place][model], CLASSES[word.shared.word_class]
    yield NO_WORD, offer.no_word, offer.suggestions
    if rule.likelier:
        yield UNLIKELY, offer.unlikely + offer.unlikely_rest, offer.suggestions
    yield PRESENT, sum(not word.is_new(one) for one in offer.words), offer.suggestions
    if rule.same_class:
        others = sum(tags[word.trial(one, name, place, model)] != wanted for one in offer.words)
        yield CLASS, offer.no_word + others, offer.suggestions


def _of_texts(one: Decided, name: str, model: str, rule: Rule) -> Iterator[tuple[str, int, int]]:
    """All places of a text together, and all texts."""
    offers = [place[model] for place in one.word.offers[name]]
    came = sum(len(one.word.passing(offer, rule)) for offer in offers)
    everywhere = len(offers) * len(one.word.accepted(rule)[name][model])
    yield OCCURRENCE, came - everywhere, came
    if rule.all_texts:
        yield ELSEWHERE, everywhere - len(offers) * len(one.word.candidates(rule)[name][model]), everywhere


def _of_class(one: Decided, name: str, model: str, rule: Rule) -> Iterator[tuple[str, int, int]]:
    """The class here, and in the other texts."""
    places, fitting = len(one.word.offers[name]), one.accepted[name][model]
    came = places * len(one.word.candidates(rule)[name][model])
    yield CLASS, came - places * len(fitting), came
    if rule.all_texts:
        yield CLASS_ELSEWHERE, places * len(fitting - one.words), places * len(fitting)
