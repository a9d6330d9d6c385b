"""Words replaced by WordNet synonyms in the right sense and form, the same wherever they occur; none where in doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..errors import BadInput
from ..problem import Problem, Variant
from ..registry import generators
from ..words.inflection import article, cased, inflected, versions
from ..words.language import FUNCTION_WORDS, quotations, warn_of_other_language
from ..words.lexicon import PARTS, Synset, Wordnet, lexicon, other_wordnet
from ..words.pairs import fingerprint, read_pairs
from ..words.places import WordPlace, all_forms, find_places
from ..words.senses import FAMILIAR, Thesaurus
from ..words.synonyms import read_veto
from ..words.tagging import Token, tagger
from .generating import Change, Generator, chosen_fields, with_changes

#: The share of a word's uses that its sense must have in other wordnets.
_DOMINANCE = 0.6
SENSES = ("frequency", "context")
_WHERE = "wordnet.v1"
_WHERE_V2 = "wordnet.v2"
#: Most choices of words, and of their synonyms, to look at; a thousand variants of a sentence are of no use.
_MOST = 1000
_WORD = re.compile(r"[^\W\d_]+")
_NAMES = {letter: name for name, letter in PARTS.items()}
_Spot = tuple[str, WordPlace]
_Synonym = tuple[str, Synset]


@generators(
    "wordnet.v1",
    language="en",
    extra="spacy",
    measured="sound: 100 % on captions (SNLI); 94-97 % on MNLI, RTE and everyday text, 86-94 % in a closer reading",
)
def wordnet(
    pos: str = "noun",
    n: int = 1,
    changes: int = 1,
    senses: str = "frequency",
    dominance: float = 0.6,
    veto: Path = Path(),
    field: str = "",
    lexicon: str = "",
    pipeline: str = "",
) -> Any:
    """Replace words by WordNet synonyms of the same sense, in the same form, consistently; leave doubtful words alone.

    `pos`: noun, verb, adjective, adverb, joined by "+", or all. Up to `n` variants per problem, each with up to
    `changes` different words replaced (0: all that can be). `senses`: the first by frequency where it makes up at
    least `dominance` of a word's uses, or by context (gloss overlap) first. `veto` lists words that stay, one a line.
    `field`: one field instead of all targets. `lexicon` names another wordnet of the `wn` package, `pipeline` the spaCy
    pipeline of its language; there, only words in their base form are replaced.
    """
    _refuse_numbers(n, changes, _WHERE)
    _refuse_wrong(senses, dominance)
    thesaurus = _thesaurus(lexicon, dominance)
    _refuse_other_tagger(lexicon, pipeline, _WHERE)
    source = FromThesaurus(thesaurus, senses == "context")
    replacer = Replacer(_parts(pos, _WHERE), source, read_veto(veto), not lexicon)
    return _generator(replacer, n, changes, field, lexicon, pipeline, _WHERE)


@generators(
    "wordnet.v2",
    language="en",
    extra="spacy",
    measured="sound: 100 of 100 on captions (SNLI) and RTE, 98 on MNLI, 99 on everyday text",
)
def wordnet_v2(
    pos: str = "all",
    n: int = 1,
    changes: int = 1,
    veto: Path = Path(),
    field: str = "",
    lexicon: str = "",
    pipeline: str = "",
) -> Any:
    """Replace words by WordNet synonyms that a reader accepted, where they hold, in the same form, consistently.

    `pos`: noun, verb, adjective, adverb, joined by "+", or all. Up to `n` variants per problem, each with up to
    `changes` different words replaced (0: all that can be). The pairs are a list that says beside which words each of
    them holds; compounds and idioms stay whole. `veto` lists words that stay, one a line. `field`: one field instead of
    all targets. `lexicon` names another wordnet of the `wn` package, `pipeline` the spaCy pipeline of its language;
    there are no accepted pairs for it, so that the most frequent sense decides, as in wordnet.v1.
    """
    _refuse_numbers(n, changes, _WHERE_V2)
    _refuse_other_tagger(lexicon, pipeline, _WHERE_V2)
    source = FromThesaurus(_thesaurus(lexicon, _DOMINANCE), by_context=False) if lexicon else FromPairs()
    replacer = Replacer(_parts(pos, _WHERE_V2), source, read_veto(veto), not lexicon)
    return _generator(replacer, n, changes, field, lexicon, pipeline, _WHERE_V2)


def _generator(
    replacer: Replacer, n: int, changes: int, field: str, lexicon: str, pipeline: str, where: str
) -> Generator:
    tag = tagger(pipeline, names=True)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        fields = [chosen_fields(problem.task, field, where) for problem in problems]
        texts = (problem.text[name] or "" for problem, names in zip(problems, fields, strict=True) for name in names)
        tagged = tag(texts)
        for problem, names, seed in zip(problems, fields, seeds, strict=True):
            tokens = {name: next(tagged) for name in names}
            if lexicon or not warn_of_other_language(problem.text.values(), where):
                for chosen in _draws(replacer(problem, tokens), n, changes, Random(seed)):
                    listed = [change for one in chosen for change in one.changes]
                    yield with_changes(problem, sorted(listed, key=lambda one: (names.index(one["field"]), one["at"])))

    resources = [other_wordnet(lexicon).identity] if lexicon else [*versions(), *replacer.source.lists]
    return Generator(vary, identity="+".join([tag.identity, *resources]), language="" if lexicon else "en")


def _draws(words: list[list[SynonymChanges]], n: int, changes: int, random: Random) -> Iterator[list[SynonymChanges]]:
    """Up to `n` distinct choices of some words and a synonym for each: other words first, then their next synonyms."""
    random.shuffle(words)
    size = min(changes, len(words)) or len(words)
    first, *others = islice(combinations(words, size), _MOST)
    random.shuffle(others)
    drawn: list[list[SynonymChanges]] = []
    for choice in _choices([first, *others]) if words else ():
        if choice not in drawn:
            drawn.append(choice)
            yield choice
        if len(drawn) == n:
            return


def _choices(some: Sequence[tuple[list[SynonymChanges], ...]]) -> Iterator[list[SynonymChanges]]:
    """A synonym for each word of each choice of words, the best ones of all before the next best of any."""
    for total in range(1 + max(sum(len(word) - 1 for word in words) for words in some)):
        for words in some:
            ranks = islice(product(*(range(len(word)) for word in words)), _MOST)
            for chosen in (one for one in ranks if sum(one) == total):
                by_synonym: dict[str, SynonymChanges] = {}
                for word, rank in zip(words, chosen, strict=True):
                    by_synonym.setdefault(word[rank].synonym, word[rank])  # two words must not become one
                yield list(by_synonym.values())


def _parts(pos: str, where: str) -> str:
    """WordNet's letters for the parts of speech that are named."""
    names = list(PARTS) if pos == "all" else pos.split("+")
    if strangers := [name for name in names if name not in PARTS]:
        fix = f"use {', '.join(PARTS)}, several as in noun+verb, or all"
        raise BadInput(f"no part of speech {strangers[0]!r}", where=where, field="pos", fix=fix)
    return "".join(PARTS[name] for name in names)


def _refuse_numbers(n: int, changes: int, where: str) -> None:
    if n < 1:
        raise BadInput(f"found {n}", where=where, field="n", fix="give 1 or more variants per problem")
    if changes < 0:
        fix = "give a number of words, 0 for all"
        raise BadInput(f"found {changes}", where=where, field="changes", fix=fix)


def _refuse_wrong(senses: str, dominance: float) -> None:
    if senses not in SENSES:
        raise BadInput(f"found {senses!r}", where=_WHERE, field="senses", fix=f"use {' or '.join(SENSES)}")
    if not 0 <= dominance <= 1:
        raise BadInput(f"found {dominance}", where=_WHERE, field="dominance", fix="give a share from 0 to 1")


def _refuse_other_tagger(lexicon: str, pipeline: str, where: str) -> None:
    if lexicon and not pipeline and not other_wordnet(lexicon).english:
        fix = "give the spaCy pipeline of its language, as in pipeline=fr_core_news_sm"
        raise BadInput(f"{lexicon} is not English, but the default tagger is", where=where, field="pipeline", fix=fix)


def _thesaurus(name: str, dominance: float) -> Thesaurus:
    if name:
        return Thesaurus(other_wordnet(name), dominance, familiar=0)
    return Thesaurus(lexicon(), dominance, FAMILIAR)


# Which words can be replaced, by which synonyms, and the changes at all places of a word


class SynonymChanges(NamedTuple):
    """A synonym, and the changes that put it everywhere in the problem."""

    synonym: str
    changes: list[Change]


class FromThesaurus(NamedTuple):
    """Synonyms by the dominant sense of a word."""

    thesaurus: Thesaurus
    by_context: bool
    whole: bool = False
    lists: tuple[str, ...] = ()

    @property
    def wordnet(self) -> Wordnet:
        """Where words are looked up."""
        return self.thesaurus.wordnet

    def __call__(self, word: tuple[str, str], spots: Sequence[_Spot], present: frozenset[str]) -> list[_Synonym]:
        """The synonyms of a base form and part of speech, given all words of the problem."""
        sense = self.thesaurus.sense(*word, present - FUNCTION_WORDS if self.by_context else frozenset())
        return [(one, sense) for one in self.thesaurus.synonyms(*word, sense)] if sense else []


class FromPairs(NamedTuple):
    """Synonyms that a reader accepted, where they hold at all places of a word."""

    wordnet: Wordnet = lexicon()
    whole: bool = True

    @property
    def lists(self) -> list[str]:
        """What stands for the lists in a signature."""
        return [f"pairs-{fingerprint()}"]

    def __call__(self, word: tuple[str, str], spots: Sequence[_Spot], present: frozenset[str]) -> list[_Synonym]:
        """The synonyms of a base form and part of speech, given its places and all words of the problem."""
        places = [place for _, place in spots]
        holding = [pair for pair in read_pairs(*word) if pair.holds(places, present)]
        return list(dict.fromkeys((pair.synonym, pair.sense) for pair in holding))


class Replacer(NamedTuple):
    """Finds replacements: for words of some parts of speech, by synonyms from a source, except for vetoed words."""

    parts: str
    source: FromThesaurus | FromPairs
    veto: frozenset[str]
    english: bool

    def __call__(self, problem: Problem, tokens: Mapping[str, Sequence[Token]]) -> list[list[SynonymChanges]]:
        """The replacements of every word that has some, given the tokens of the fields that may change."""
        present = self._present(problem)
        by_word = []
        for word, spots in sorted(self._words(problem, tokens).items()):
            synonyms = self.source(word, spots, present)
            # MERGE's filter: a synonym that is there already would say of one thing what was said of two.
            fresh = [one for one in synonyms if present.isdisjoint(one[0].lower().split(" "))]
            replacements = [SynonymChanges(one, self._changes(one, sense, spots)) for one, sense in fresh]
            by_word.append([one for one in replacements if one.changes])
        return [some for some in by_word if some]

    def _words(self, problem: Problem, tokens: Mapping[str, Sequence[Token]]) -> dict[tuple[str, str], list[_Spot]]:
        """Words that can be replaced wherever they occur; one that must stay somewhere stays everywhere."""
        wordnet, whole = self.source.wordnet, self.source.whole
        by_field = {
            name: find_places(problem.text[name] or "", some, self.parts, wordnet, whole)
            for name, some in tokens.items()
        }
        places = (place for one in by_field.values() for place in one.places)
        vetoed = {place.lemma.lower() for place in places if place.token.text.lower() in self.veto}
        held = self.veto.union(vetoed, *(one.held for one in by_field.values()))
        if whole:
            held |= {place.lemma.lower() for name, one in by_field.items() for place in one.places
                     if _is_quoted(problem.text[name] or "", place.token.start)}  # fmt: skip
        words: dict[tuple[str, str], list[_Spot]] = {}
        for name, one in by_field.items():
            for place in one.places:
                words.setdefault((place.lemma, place.part), []).append((name, place))
        forms = [lemma for lemma, _ in words]  # a fish, and to fish: neither is replaced
        return {word: spots for word, spots in words.items() if not _is_held(word[0], held, forms)}

    def _present(self, problem: Problem) -> frozenset[str]:
        """All words of the problem, of the fields that stay as they are, too."""
        words = _WORD.findall(" ".join(text or "" for text in problem.text.values()).lower())
        return frozenset(form for word in words for form in all_forms(word, self.source.wordnet))

    def _changes(self, synonym: str, sense: Synset, spots: Sequence[_Spot]) -> list[Change]:
        """What it takes to put a synonym at all places of a word; nothing where it lacks a form that one needs."""
        changes: list[Change] = []
        for name, place in spots:
            token = place.token
            form = inflected(synonym, token.tag) if self.english else synonym
            if form is None or (" " in synonym and _wants_one_word(place)) or _spoils_possessive(place, form):
                return []
            if self.english:
                changes += _article(name, place, form)
            new = form if _has_capitals(place.lemma, sense) else cased(form, token.text)
            about = {"synset": sense.name, "pos": _NAMES[place.part]}
            changes.append({"field": name, "at": token.start, "from": token.text, "to": new, **about})
        return changes


def _is_quoted(text: str, at: int) -> bool:
    return any(start <= at < end for start, end in quotations(text))


def _is_held(lemma: str, held: frozenset[str], forms: Sequence[str]) -> bool:
    return lemma.lower() in held or forms.count(lemma) > 1


def _has_capitals(lemma: str, sense: Synset) -> bool:
    """Whether a word is always written with capitals ("TV", nouns in German): then they say nothing of its place."""
    return any(word != word.lower() for word in sense.words if word.lower() == lemma.lower())


def _wants_one_word(place: WordPlace) -> bool:
    """Whether an expression sounds wrong: his father is not "his male parent", a dog is not "gone after by" another."""
    return place.token.tag == "VBN" or bool(place.before and place.before.tag in ("PRP$", "POS"))


def _spoils_possessive(place: WordPlace, form: str) -> bool:
    """Whether the "'s" or "'" that follows would be the wrong one: children's, but kids'."""
    return bool(place.after and place.after.tag == "POS") and place.token.text.endswith("s") != form.endswith("s")


def _article(name: str, place: WordPlace, form: str) -> list[Change]:
    """The change of "a" to "an", or back, that the new word asks for."""
    before, wanted = place.before, article(form)
    if before is None or before.text.lower() not in ("a", "an") or before.text.lower() == wanted:
        return []
    shouted = len(place.token.text) > 1 and place.token.text.isupper() and before.text.isupper()
    new = wanted.upper() if shouted else wanted.capitalize() if before.text[0].isupper() else wanted
    return [{"field": name, "at": before.start, "from": before.text, "to": new, "synset": "", "pos": "article"}]
