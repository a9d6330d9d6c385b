"""MERGE's filters: from the words that the texts of a problem share to the replacements that all texts accept.

A suggestion passes where it is likelier than the word itself, new to the problem, and of the word's class in context.
One masked-LM must accept it at every occurrence in a text, any masked-LM in each text, and all texts together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from ...language_models.masking import Masked
from ...problem import Problem
from ...words.language import warn_of_other_language
from ...words.tagging import Tagger
from .suggestions import CLASSES, Offer, SharedWord, Suggester, is_present, present_forms, shared_words

#: Words that each masked-LM accepts, by its name.
Accepted = Mapping[str, Set[str]]
#: A text, a place in it, and what is written there instead.
Trial = tuple[str, int, int, str]
#: Gives the universal tag of the new word in each trial's sentence; "" where it is no token of its own.
TagTrials = Callable[[Iterable[Trial]], dict[Trial, str]]
#: What each masked-LM accepts in each field.
ByField = Mapping[str, Mapping[str, frozenset[str]]]
Offers = Mapping[str, Sequence[Mapping[str, Offer]]]


class AgreementRule(NamedTuple):
    """Which filters hold: likelier than the original word, of its class in context, accepted in all texts."""

    likelier: bool = True
    same_class: bool = True
    all_texts: bool = True


#: MERGE itself, and its ablations (Zgreaban et al. 2025, section 5.4); scrambling comes after the rule.
RULES = {
    "": AgreementRule(),
    "union": AgreementRule(all_texts=False),
    "class-only": AgreementRule(likelier=False),
    "probability-only": AgreementRule(same_class=False),
    "none": AgreementRule(likelier=False, same_class=False),
    "scrambled": AgreementRule(),
}


# Seeds: problems with the words that their texts share, and the offers for each


class Seed(NamedTuple):
    """A problem with its random seed, its shared words by class, and how many were ambiguous."""

    problem: Problem
    seed: int
    by_class: dict[str, list[OfferedWord]]
    ambiguous: int

    @property
    def words(self) -> list[OfferedWord]:
        """All shared words."""
        return [word for words in self.by_class.values() for word in words]


class SeedFinder(NamedTuple):
    """Finds shared words of some classes, and asks the masked-LMs about all their places at once."""

    tag: Tagger
    classes: Sequence[str]
    suggest: Suggester
    where: str

    def __call__(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Seed]:
        """The problems as seeds; one without shared words, or in another language than English, has no words."""
        shared = list(self._shared(problems))
        asked = (
            place for problem, (words, _) in zip(problems, shared, strict=True) for place in _places(problem, words)
        )
        places = list(dict.fromkeys(asked))
        offers = dict(zip(places, self.suggest(places), strict=True))
        for problem, seed, (words, ambiguous) in zip(problems, seeds, shared, strict=True):
            offered = _with_offers(problem, words, offers)
            by_class = {one: [word for word in offered if word.shared.word_class == one] for one in self.classes}
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


def _with_offers(
    problem: Problem, words: Sequence[SharedWord], offers: dict[Masked, dict[str, Offer]]
) -> list[OfferedWord]:
    present = present_forms(problem) if words else frozenset()
    offered = []
    for word in words:
        by_field = {
            name: [offers[problem.text[name], token.start, token.end] for token in tokens]
            for name, tokens in word.places.items()
        }
        offered.append(OfferedWord(word, by_field, problem.text, present))
    return offered


@dataclass(frozen=True, eq=False)
class OfferedWord:
    """A shared word with the offers for each of its places: by field, then in order, then by masked-LM.

    `texts` are the fields' texts, `present` all forms of the problem's words.
    """

    shared: SharedWord
    offers: Offers
    texts: Mapping[str, str]
    present: frozenset[str]
    _new: dict[str, bool] = field(default_factory=dict)
    _accepted: dict[AgreementRule, ByField] = field(default_factory=dict)
    _candidates: dict[AgreementRule, ByField] = field(default_factory=dict)

    def is_new(self, word: str) -> bool:
        """Whether a word is not in the problem already, in this form or another."""
        if word not in self._new:
            self._new[word] = not is_present(word, self.present)
        return self._new[word]

    def passing(self, offer: Offer, rule: AgreementRule) -> frozenset[str]:
        """What passes all filters but the class at one place, of what one masked-LM offers there."""
        words = offer.likelier if rule.likelier else offer.words
        return frozenset(word for word in words if self.is_new(word))

    def accepted(self, rule: AgreementRule) -> ByField:
        """What each masked-LM accepts in each text, but for the class."""
        if rule not in self._accepted:
            self._accepted[rule] = {
                name: at_every_occurrence(
                    [{model: self.passing(offer, rule) for model, offer in place.items()} for place in places]
                )
                for name, places in self.offers.items()
            }
        return self._accepted[rule]

    def possible(self, rule: AgreementRule) -> frozenset[str]:
        """What all texts together accept, but for the class."""
        return in_texts(list(self.accepted(rule).values()), rule)

    def candidates(self, rule: AgreementRule) -> ByField:
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


# The rule applied, the costly filter last


@dataclass(frozen=True, eq=False)
class AcceptedWord:
    """A shared word with what each masked-LM accepts in each text, and the `words` that all texts together accept.

    Both are empty where the class was not looked at, because too little would be left in any case.
    """

    word: OfferedWord
    accepted: ByField
    words: frozenset[str]


def apply_rule(words: Sequence[OfferedWord], rule: AgreementRule, tags: TagTrials) -> list[AcceptedWord]:
    """Apply a rule to many words. Tagging costs most: only what passes all other filters is tagged, in one call."""
    candidates = [(word, word.candidates(rule)) for word in words]
    tagged = tags(trial for word, some in candidates for trial in _trials(word, some)) if rule.same_class else {}
    return [_accepted(word, some, rule, tagged) for word, some in candidates]


def _trials(word: OfferedWord, candidates: ByField) -> Iterator[Trial]:
    for name, by_model in candidates.items():
        for model, some in by_model.items():
            for one in sorted(some):
                yield from word.trials(one, name, model)


def _accepted(word: OfferedWord, candidates: ByField, rule: AgreementRule, tags: Mapping[Trial, str]) -> AcceptedWord:
    accepted = {
        name: {
            model: frozenset(one for one in some if not rule.same_class or word.fits(one, name, model, tags))
            for model, some in by_model.items()
        }
        for name, by_model in candidates.items()
    }
    return AcceptedWord(word, accepted, in_texts(list(accepted.values()), rule))


def tags_in_context(tag: Tagger) -> TagTrials:
    """A function that gives the universal tag of new words in their sentences; equal sentences are tagged once."""

    def tags(trials: Iterable[Trial]) -> dict[Trial, str]:
        distinct = list(dict.fromkeys(trials))
        sentences = (f"{text[:start]}{new}{text[end:]}" for text, start, end, new in distinct)
        by_trial = {}
        for trial, tokens in zip(distinct, tag(sentences), strict=True):
            _, start, _, new = trial
            by_trial[trial] = next((token.pos for token in tokens if token.start == start and token.text == new), "")
        return by_trial

    return tags


# Set operations: one masked-LM at every occurrence, any masked-LM in a text, all texts together


def at_every_occurrence(occurrences: Sequence[Accepted]) -> dict[str, frozenset[str]]:
    """What the same masked-LM accepts at every occurrence of a word in a text.

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


def in_texts(texts: Sequence[Accepted], rule: AgreementRule) -> frozenset[str]:
    """What is accepted in all texts, by any masked-LM in each; or in any text, where the rule says so.

    >>> sorted(in_texts([{"a": {"cat"}, "b": {"pig"}}, {"a": {"pig"}, "b": {"cow"}}], AgreementRule()))
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
