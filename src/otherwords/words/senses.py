"""The dominant sense of a word and its synonyms in that sense; none where the sense is not clear.

Two shares decide, both from WordNet's counts in SemCor: a word must mostly have the sense in question, and so must its
synonym ("range" can mean "scope", but mostly does not).
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import fsum, log

from .language import FUNCTION_WORDS
from .lexicon import Synset, Wordnet, lexicon

#: A synonym needs about this many occurrences in SemCor's texts and WordNet's glosses together. Chosen on SNLI's
#: development set, between "infant", "sofa", "creature" and "babe", "metropolis", "tribunal".
FAMILIAR = 12
#: An expression is much rarer than its words, so each of its occurrences counts this many times.
_PHRASE_WEIGHT = 4
#: The product of the shares of a word and its synonym must reach this fraction of the dominance: one of them may be
#: just enough, not both ("result" and "effect" each mostly mean the same, and too often do not).
_MUTUAL = 0.9
#: Over all parts of speech a sense needs this fraction of the dominance, so that wrong tags do little harm.
_OTHER_PARTS = 1 / 3
#: The factor by which a rare word in its gloss makes a sense likelier. Chosen on SNLI's development set.
_LESK = 8
#: About the number of glosses.
_GLOSSES = 117_659
_WORD = re.compile(r"[^\W\d_]+")
_PLAIN = re.compile(r"[^\W\d_]+([ -][^\W\d_]+)*")
#: Words that make an expression a phrase, whose head is hard to find ("suit of clothes").
_SMALL = frozenset({"a", "an", "and", "at", "by", "for", "in", "into", "of", "off", "on", "or", "the", "to", "with"})
#: Never chosen: words close to pronouns or numbers, and words that the counts accept but a reader does not.
_UNFIT = (
    "someone|somebody|something|one|ones|i|single|nine|ace|thing|things|dry land|oral cavity|so long|lb|ma|pa|older"
    "|cut through|be given|resort area|atmospheric condition|rug|regain|fleshy|one time|presently|foliage|haired|vast"
    "|employ|spiritual|telephone set|linguistic communication|pharynx|existence|alimentary|engineering|regime|ill"
    "|marshy|swampy|delightful|exercising|married woman|married man|toad|proprietor|thought"
    "|calling|economic system|judicial proceeding|intention|obligation|undertaking|petition|measuring|district|occupant"
)
_NEVER = frozenset(_UNFIT.split("|"))


@dataclass(frozen=True)
class Thesaurus:
    """Synonyms by sense. `dominance` is the share that a sense must have of all uses of a word, and of its synonym."""

    wordnet: Wordnet = field(default_factory=lexicon)
    dominance: float = 0.6
    familiar: float = FAMILIAR

    def sense(self, lemma: str, part: str, context: Iterable[str] = ()) -> Synset | None:
        """The dominant sense of a word, if it has one; context words that occur in a gloss make its sense likelier.

        >>> thesaurus = Thesaurus()
        >>> thesaurus.sense("couch", "n").words, thesaurus.sense("bike", "n")
        (('sofa', 'couch', 'lounge'), None)
        >>> thesaurus.sense("bike", "n", ("pedal", "foot")).name
        'bicycle.n.01'
        """
        return self._best(lemma, part, frozenset(context) - {lemma})

    @lru_cache(maxsize=16_384)  # noqa: B019  # thesauri are few, and live as long as the process
    def _best(self, lemma: str, part: str, context: frozenset[str]) -> Synset | None:
        senses = self._senses(lemma, part)
        weights = [(_count(lemma, one) or 0) + 1 for one in senses]
        scores = [weight * _LESK ** _overlap(context, one) for weight, one in zip(weights, senses, strict=True)]
        best = senses[scores.index(max(scores))] if scores else None
        clear = best and max(scores) >= self.dominance * sum(scores)
        return best if best and clear and self._share(lemma, "", best) >= self._least_overall else None

    @lru_cache(maxsize=16_384)  # noqa: B019  # as above
    def synonyms(self, lemma: str, part: str, sense: Synset) -> tuple[str, ...]:
        """Synonyms in this sense, the most familiar first.

        >>> thesaurus = Thesaurus()
        >>> thesaurus.synonyms("child", "n", thesaurus.sense("child", "n"))
        ('kid',)
        """
        others = [word for word in sense.words if self._is_plain(word, lemma)]
        sure = max(self._share(lemma, part, sense), self.dominance)  # less, if the context chose the sense
        fitting = [word for word in others if self._fits(word, part, sense, sure)]
        known = {word: self._familiarity(word, part, sense) for word in fitting}
        kept = [word for word in known if known[word] >= self.familiar]
        return tuple(sorted(kept, key=lambda word: (-known[word], word)))

    def _fits(self, word: str, part: str, sense: Synset, sure: float) -> bool:
        """Whether a word mostly has this sense, and is not another part of speech (to dog) or a plural (woods)."""
        if part == "n" and len(self.wordnet.base_forms(word, part)) > 1:
            return False
        if " " in word and self.familiar and not _is_spelled_out(word, sense):
            return False
        share = self._share(word, part, sense)
        mutual = share * sure >= _MUTUAL * self.dominance
        return share >= self.dominance and mutual and self._share(word, "", sense) >= self._least_overall

    @property
    def _least_overall(self) -> float:
        return self.dominance * _OTHER_PARTS

    def _is_plain(self, word: str, lemma: str) -> bool:
        """Whether a word is ordinary: no name, symbol, phrase or antonym, and not the lemma with something added."""
        words = word.lower().split(" ")
        if not _PLAIN.fullmatch(word) or (word != word.lower() and lemma == lemma.lower()):
            return False
        if word.lower() in _NEVER or not _SMALL.isdisjoint(words) or word.lower() in self.wordnet.antonyms(lemma):
            return False
        return not any(_are_related(one, lemma.lower()) for one in (word.lower(), *words))

    def _senses(self, lemma: str, part: str) -> list[Synset]:
        return [one for one in self.wordnet.synsets(lemma, part) if _count(lemma, one) is not None]

    @lru_cache(maxsize=65_536)  # noqa: B019  # as above
    def _share(self, word: str, part: str, sense: Synset) -> float:
        """The share of a word's uses that have the sense; one is added to every count, because SemCor is small."""
        counts = {one.name: _count(word, one) or 0 for one in self._senses(word, part)}
        return (counts.get(sense.name, 0) + 1) / (sum(counts.values()) + max(1, len(counts)))

    def _familiarity(self, word: str, part: str, sense: Synset) -> float:
        """How often a word has this sense in SemCor, plus an estimate for the glosses, which are not tagged."""
        if not self.familiar:
            return float(_count(word, sense) or 0)
        seen = _count(word, sense) or 0
        if " " in word:
            return seen + _PHRASE_WEIGHT * _phrase_in_glosses(word)
        return seen + _in_glosses()[word] * self._share(word, "", sense)


def _count(word: str, sense: Synset) -> int | None:
    """How often SemCor has the word in this sense; None if the sense does not have the word."""
    counts = [count for one, count in zip(sense.words, sense.counts, strict=True) if one.lower() == word.lower()]
    return counts[0] if counts else None


def _are_related(one: str, other: str) -> bool:
    """Whether two words are spellings of one, or one contains the other ("group", "grouping"; "lid", "eyelid")."""
    short, long = sorted((one, other), key=len)
    compound = long.endswith(short) and lexicon().knows(long.removesuffix(short))
    return len(short) > 2 and (long.startswith(short.removesuffix("e")) or compound)


def _is_spelled_out(phrase: str, sense: Synset) -> bool:
    """Whether the definition uses a word of an expression, as for "adult male"; others are mostly technical terms."""
    definition, _, _ = sense.gloss.partition('; "')
    return not set(_WORD.findall(definition)).isdisjoint(phrase.split(" "))


def _overlap(context: frozenset[str], sense: Synset) -> float:
    """How much a gloss shares with the context (Lesk 1986); each word counts from 0 to 1, rare ones more."""
    if not context:
        return 0
    counts = (_in_glosses()[word] for word in context & _gloss_words(sense.gloss))
    return fsum(1 - log(1 + count) / log(_GLOSSES) for count in counts)  # exact in any order


@lru_cache(maxsize=16_384)
def _gloss_words(gloss: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(gloss.lower()) if word not in FUNCTION_WORDS)
    return frozenset(form for word in words for form in (word, *lexicon().base_forms(word)))


@lru_cache(maxsize=1)
def _in_glosses() -> Counter[str]:
    """How often words occur in WordNet's glosses and examples: a million words of plain English."""
    return Counter(_WORD.findall(_glosses()))


@lru_cache(maxsize=16_384)
def _phrase_in_glosses(phrase: str) -> int:
    return _glosses().count(phrase)


@lru_cache(maxsize=1)
def _glosses() -> str:
    return "\n".join(lexicon().glosses()).lower()
