"""From what masked-LMs offer for a shared word to what is accepted: MERGE's filters, the costly one last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .agreeing import Rule, at_every_occurrence, in_texts
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
    _candidates: dict[Rule, ByField] = field(default_factory=dict)

    def is_new(self, word: str) -> bool:
        """Whether a word is not in the problem already, in this form or another."""
        if word not in self._new:
            self._new[word] = not is_present(word, self.present)
        return self._new[word]

    def passing(self, offer: Offer, rule: Rule) -> frozenset[str]:
        """What passes all filters but the class at one place, of what one masked-LM offers there."""
        words = offer.likelier if rule.likelier else offer.words
        return frozenset(word for word in words if self.is_new(word))

    def accepted(self, rule: Rule) -> ByField:
        """What each masked-LM accepts in each text, but for the class."""
        if rule not in self._accepted:
            self._accepted[rule] = {
                name: at_every_occurrence(
                    [{model: self.passing(offer, rule) for model, offer in place.items()} for place in places]
                )
                for name, places in self.offers.items()
            }
        return self._accepted[rule]

    def possible(self, rule: Rule) -> frozenset[str]:
        """What all texts together accept, but for the class."""
        return in_texts(list(self.accepted(rule).values()), rule)

    def candidates(self, rule: Rule) -> ByField:
        """What is left to be tagged: of what all texts together accept, what each masked-LM does in each."""
        if rule not in self._candidates:
            possible = self.possible(rule)
            self._candidates[rule] = {
                name: {model: some & possible for model, some in by_model.items()}
                for name, by_model in self.accepted(rule).items()
            }
        return self._candidates[rule]

    def written(self, word: str, name: str, place: int, model: str) -> str:
        """A word as a masked-LM that offers it at a place writes it there."""
        return self.offers[name][place][model].words[word][0]

    def trial(self, word: str, name: str, place: int, model: str) -> Trial:
        """The sentence with a word at one place, as a masked-LM writes it: "Rose" of one is no noun, "rose" may be."""
        token = self.shared.places[name][place]
        return self.texts[name], token.start, token.end, self.written(word, name, place, model)

    def trials(self, word: str, name: str, model: str) -> Iterator[Trial]:
        """The sentences that show of which class a word would be in a field, at each of its places alone."""
        return (self.trial(word, name, place, model) for place in range(len(self.shared.places[name])))

    def fits(self, word: str, name: str, model: str, tags: Mapping[Trial, str]) -> bool:
        """Whether a word, as a masked-LM writes it, has the class of the shared one at all places of a field."""
        wanted = CLASSES[self.shared.word_class]
        return all(tags[trial] == wanted for trial in self.trials(word, name, model))


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
    asked = [word.candidates(rule) for word in words]
    told = zip(words, asked, strict=True)
    found = tags(trial for word, some in told for trial in _trials(word, some)) if rule.same_class else {}
    return [_decided(word, some, rule, found) for word, some in zip(words, asked, strict=True)]


def _trials(word: Considered, asked: ByField) -> Iterator[Trial]:
    for name, by_model in asked.items():
        for model, some in by_model.items():
            for one in sorted(some):
                yield from word.trials(one, name, model)


def _decided(word: Considered, asked: ByField, rule: Rule, tags: Mapping[Trial, str]) -> Decided:
    accepted = {
        name: {
            model: frozenset(one for one in some if not rule.same_class or word.fits(one, name, model, tags))
            for model, some in by_model.items()
        }
        for name, by_model in asked.items()
    }
    return Decided(word, accepted, in_texts(list(accepted.values()), rule))
