"""What may become of a problem's words: for every word that can be replaced, synonyms, each at all of its places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..problem import Problem
from ..words.english import FUNCTION_WORDS
from ..words.inflection import article, cased, inflected
from ..words.lexicon import PARTS, Synset
from ..words.places import Place, all_forms, find
from ..words.senses import Thesaurus
from ..words.tagging import Token
from .changes import Change

_WORD = re.compile(r"[^\W\d_]+")
_NAMES = {letter: name for name, letter in PARTS.items()}
_Spot = tuple[str, Place]


class Replacement(NamedTuple):
    """A synonym, and the changes that put it everywhere in the problem."""

    synonym: str
    changes: list[Change]


class Replacer(NamedTuple):
    """Finds replacements: for words of some parts of speech, in senses that a thesaurus is sure of, but for a veto."""

    parts: str
    thesaurus: Thesaurus
    by_context: bool
    veto: frozenset[str]
    english: bool

    def __call__(self, problem: Problem, tokens: Mapping[str, Sequence[Token]]) -> list[list[Replacement]]:
        """The replacements of every word that has some, given the tokens of the fields that may change."""
        present = self._present(problem)
        context = present - FUNCTION_WORDS if self.by_context else frozenset()
        found = []
        for (lemma, part), spots in sorted(self._words(problem, tokens).items()):
            sense = self.thesaurus.sense(lemma, part, context)
            synonyms = self.thesaurus.synonyms(lemma, part, sense) if sense else ()
            # MERGE's filter: a synonym that is there already would say of one thing what was said of two.
            fresh = [one for one in synonyms if present.isdisjoint(one.lower().split(" "))]
            made = [Replacement(one, self._changes(one, sense, spots)) for one in fresh if sense]
            found.append([one for one in made if one.changes])
        return [some for some in found if some]

    def _words(self, problem: Problem, tokens: Mapping[str, Sequence[Token]]) -> dict[tuple[str, str], list[_Spot]]:
        """Words that can be replaced wherever they occur; one that must stay somewhere stays everywhere."""
        wordnet = self.thesaurus.wordnet
        found = {name: find(problem.text[name] or "", some, self.parts, wordnet) for name, some in tokens.items()}
        told = (place for one in found.values() for place in one.places)
        named = {place.lemma.lower() for place in told if place.token.text.lower() in self.veto}
        held = self.veto.union(named, *(one.held for one in found.values()))
        words: dict[tuple[str, str], list[_Spot]] = {}
        for name, one in found.items():
            for place in one.places:
                words.setdefault((place.lemma, place.part), []).append((name, place))
        forms = [lemma for lemma, _ in words]  # a fish, and to fish: neither is replaced
        return {word: spots for word, spots in words.items() if not _is_held(word[0], held, forms)}

    def _present(self, problem: Problem) -> frozenset[str]:
        """All words of the problem, of the fields that stay as they are, too."""
        words = _WORD.findall(" ".join(text or "" for text in problem.text.values()).lower())
        return frozenset(form for word in words for form in all_forms(word, self.thesaurus.wordnet))

    def _changes(self, synonym: str, sense: Synset, spots: Sequence[_Spot]) -> list[Change]:
        """What it takes to put a synonym at all places of a word; nothing where it lacks a form that one needs."""
        made: list[Change] = []
        for name, place in spots:
            token = place.token
            form = inflected(synonym, token.tag) if self.english else synonym
            if form is None or (" " in synonym and _wants_one_word(place)) or _spoils_possessive(place, form):
                return []
            if self.english:
                made += _article(name, place, form)
            new = form if _has_capitals(place.lemma, sense) else cased(form, token.text)
            about = {"synset": sense.name, "pos": _NAMES[place.part]}
            made.append({"field": name, "at": token.start, "from": token.text, "to": new, **about})
        return made


def _is_held(lemma: str, held: frozenset[str], forms: Sequence[str]) -> bool:
    return lemma.lower() in held or forms.count(lemma) > 1


def _has_capitals(lemma: str, sense: Synset) -> bool:
    """Whether a word is always written with capitals ("TV", nouns in German): then they say nothing of its place."""
    return any(word != word.lower() for word in sense.words if word.lower() == lemma.lower())


def _wants_one_word(place: Place) -> bool:
    """Where an expression sounds wrong: his father is not "his male parent", a dog is not "gone after by" another."""
    return place.token.tag == "VBN" or bool(place.before and place.before.tag in ("PRP$", "POS"))


def _spoils_possessive(place: Place, form: str) -> bool:
    """Whether the "'s" or "'" that follows would be the wrong one: children's, but kids'."""
    return bool(place.after and place.after.tag == "POS") and place.token.text.endswith("s") != form.endswith("s")


def _article(name: str, place: Place, form: str) -> list[Change]:
    """The change of "a" to "an", or back, that the new word asks for."""
    before, wanted = place.before, article(form)
    if before is None or before.text.lower() not in ("a", "an") or before.text.lower() == wanted:
        return []
    shouted = len(place.token.text) > 1 and place.token.text.isupper() and before.text.isupper()
    new = wanted.upper() if shouted else wanted.capitalize() if before.text[0].isupper() else wanted
    return [{"field": name, "at": before.start, "from": before.text, "to": new, "synset": "", "pos": "article"}]
