"""The word class that a new word has in its sentence: the sentence is written anew and tagged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from ...words.tagging import Tagger
from .suggestions import CLASSES, Offer, SharedWord, is_present

# MERGED from variants.merge.agreeing: The set operations of MERGE: one masked-LM at every occurrence, any masked-LM in a text, and all texts together.

#: Words that each masked-LM accepts, by its name.
Accepted = Mapping[str, Set[str]]


class Rule(NamedTuple):
    """Which filters hold: likelier than the original word, of its class in context, accepted in all texts."""

    likelier: bool = True
    same_class: bool = True
    all_texts: bool = True


#: MERGE itself, and what it is taken apart into (Zgreaban et al. 2025, section 5.4); scrambling comes after the rule.
RULES = {
    "": Rule(),
    "union": Rule(all_texts=False),
    "class-only": Rule(likelier=False),
    "probability-only": Rule(same_class=False),
    "none": Rule(likelier=False, same_class=False),
    "scrambled": Rule(),
}


def at_every_occurrence(occurrences: Sequence[Accepted]) -> dict[str, frozenset[str]]:
    """What each masked-LM accepts wherever a word occurs in a text: it is the same one that must.

    >>> at_every_occurrence([{"a": {"cat", "cow"}, "b": {"pig"}}, {"a": {"cat", "pig"}, "b": {"cow"}}])
    {'a': frozenset({'cat'}), 'b': frozenset()}
    """
    return {model: frozenset.intersection(*(frozenset(one[model]) for one in occurrences)) for model in occurrences[0]}


def by_any_model(text: Accepted) -> frozenset[str]:
    """What one masked-LM or another accepts in a text.

    >>> sorted(by_any_model({"a": {"cat"}, "b": {"pig"}}))
    ['cat', 'pig']
    """
    return frozenset(word for words in text.values() for word in words)


def in_texts(texts: Sequence[Accepted], rule: Rule) -> frozenset[str]:
    """What is accepted in all texts, by any masked-LM in each; or in any text, where the rule says so.

    >>> sorted(in_texts([{"a": {"cat"}, "b": {"pig"}}, {"a": {"pig"}, "b": {"cow"}}], Rule()))
    ['pig']
    """
    pooled = [by_any_model(text) for text in texts]
    return frozenset.intersection(*pooled) if rule.all_texts else frozenset.union(*pooled)


def origins(word: str, texts: Sequence[Accepted]) -> tuple[str, ...]:
    """The masked-LMs that accept a word in some text: two, if one does here and another there.

    >>> origins("pig", [{"a": {"cat"}, "b": {"pig"}}, {"a": {"pig"}, "b": {"cow"}}])
    ('a', 'b')
    """
    return tuple(model for model in texts[0] if any(word in text[model] for text in texts))


# MERGED from variants.merge.considering: From what masked-LMs offer for a shared word to what is accepted: MERGE's filters, the costly one last.

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


# MERGED from variants.merge.trying: The word class that a new word has in its sentence: the sentence is written anew and tagged.


def tags_in_context(tag: Tagger) -> Tags:
    """A function that says the universal tag of new words where they stand; each distinct sentence is tagged once."""

    def tags(trials: Iterable[Trial]) -> dict[Trial, str]:
        asked = list(dict.fromkeys(trials))
        sentences = (f"{text[:start]}{new}{text[end:]}" for text, start, end, new in asked)
        found = {}
        for trial, tokens in zip(asked, tag(sentences), strict=True):
            _, start, _, new = trial
            found[trial] = next((token.pos for token in tokens if token.start == start and token.text == new), "")
        return found

    return tags
