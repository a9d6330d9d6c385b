"""From what masked-LMs offer for a shared word to what is accepted: MERGE's filters, the costly one last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...words.tagging import Token
from .agreeing import Rule, at_every_occurrence, by_any_model, in_texts
from .shared_words import CLASSES, SharedWord, is_present
from .suggesting import Offer

#: A text, a place in it, and what is written there instead.
Trial = tuple[str, int, int, str]
#: From trials to the universal tag that the new word has in its sentence; "" where it is no token of its own.
Tags = Callable[[Iterable[Trial]], dict[Trial, str]]
#: What each masked-LM accepts in each field.
ByField = Mapping[str, Mapping[str, frozenset[str]]]
Offers = Mapping[str, Sequence[Mapping[str, Offer]]]


@dataclass(frozen=True, eq=False)
class Considered:
    """A shared word with the offers for each of its places: by field, then in order, then by masked-LM.

    `texts` are the fields' texts, `present` all forms of the problem's words.
    """

    shared: SharedWord
    offers: Offers
    texts: Mapping[str, str]
    present: frozenset[str]
    _new: dict[str, bool] = field(default_factory=dict)
    _accepted: dict[Rule, ByField] = field(default_factory=dict)

    def is_new(self, word: str) -> bool:
        """Whether a word is not in the problem already, in this form or another."""
        if word not in self._new:
            self._new[word] = not is_present(word, self.present)
        return self._new[word]

    def passing(self, rule: Rule) -> dict[str, list[dict[str, frozenset[str]]]]:
        """What passes all filters but the class, place by place."""
        return {
            name: [{model: self._passing(offer, rule) for model, offer in place.items()} for place in places]
            for name, places in self.offers.items()
        }

    def accepted(self, rule: Rule) -> ByField:
        """What each masked-LM accepts in each text, but for the class."""
        if rule not in self._accepted:
            places = self.passing(rule).items()
            self._accepted[rule] = {name: at_every_occurrence(some) for name, some in places}
        return self._accepted[rule]

    def possible(self, rule: Rule) -> frozenset[str]:
        """What all texts together accept, but for the class."""
        return in_texts(list(self.accepted(rule).values()), rule)

    def trials(self, words: Iterable[str], name: str) -> Iterator[Trial]:
        """The sentences that show of which class the words would be in a field, at each of its places alone."""
        for place, token in enumerate(self.shared.places[name]):
            for word in words:
                yield self.trial(word, name, place, token)

    def trial(self, word: str, name: str, place: int, token: Token) -> Trial:
        """The sentence with a word at one place, as the first masked-LM to offer it there writes it."""
        return self.texts[name], token.start, token.end, self.written(word, name, place)

    def written(self, word: str, name: str, place: int) -> str:
        """A word as the first masked-LM to offer it there writes it."""
        return next(offer.words[word][0] for offer in self.offers[name][place].values() if word in offer.words)

    def fits(self, word: str, name: str, tags: Mapping[Trial, str]) -> bool:
        """Whether a word has the class of the shared one at all places of a field."""
        wanted = CLASSES[self.shared.word_class]
        places = enumerate(self.shared.places[name])
        return all(tags[self.trial(word, name, place, token)] == wanted for place, token in places)

    def _passing(self, offer: Offer, rule: Rule) -> frozenset[str]:
        words = offer.likelier if rule.likelier else offer.words
        return frozenset(word for word in words if self.is_new(word))


@dataclass(frozen=True, eq=False)
class Decided:
    """What came of a shared word: accepted in each text by each masked-LM, and what is left of all texts together.

    Where the class was not looked at, because too little would be left in any case, both are empty.
    """

    word: Considered
    accepted: ByField
    words: frozenset[str]


def decide(words: Sequence[Considered], rule: Rule, tags: Tags) -> list[Decided]:
    """Apply a rule to many words. Only what everything else accepts is tagged, which costs most; all at once."""
    asked = [_asked(word, rule) for word in words]
    found: dict[Trial, str] = {}
    if rule.same_class:
        told = zip(words, asked, strict=True)
        found = tags(trial for word, some in told for name in some for trial in word.trials(sorted(some[name]), name))
    return [_decided(word, some, rule, found) for word, some in zip(words, asked, strict=True)]


def _asked(word: Considered, rule: Rule) -> dict[str, frozenset[str]]:
    """Which words may still be accepted in each field."""
    possible = word.possible(rule)
    return {name: possible & by_any_model(some) for name, some in word.accepted(rule).items()}


def _decided(word: Considered, asked: Mapping[str, frozenset[str]], rule: Rule, tags: Mapping[Trial, str]) -> Decided:
    fitting = {
        name: frozenset(one for one in some if not rule.same_class or word.fits(one, name, tags))
        for name, some in asked.items()
    }
    before = word.accepted(rule).items()
    after = {name: {model: some & fitting[name] for model, some in by_model.items()} for name, by_model in before}
    return Decided(word, after, in_texts(list(after.values()), rule))
