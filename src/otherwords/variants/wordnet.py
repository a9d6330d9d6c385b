"""Words replaced by WordNet synonyms in the right sense and form, the same wherever they occur; none where in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product
from pathlib import Path
from random import Random
from typing import Any

from ..errors import BadInput
from ..problem import Problem, Variant
from ..registry import generators
from ..words.english import warn_of_other_language
from ..words.inflection import versions
from ..words.lexicon import PARTS, lexicon
from ..words.other_wordnets import other_wordnet
from ..words.senses import FAMILIAR, Thesaurus
from ..words.synonyms import read_veto
from ..words.tagging import tagger
from .changes import with_changes
from .fields import chosen_fields
from .replacing import Replacement, Replacer

SENSES = ("frequency", "context")
_WHERE = "wordnet.v1"
#: Choices of words, and of their synonyms, that are looked at; nobody wants a thousand variants of a sentence.
_MOST = 1000


@generators("wordnet.v1")
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
    _refuse_wrong(n, changes, senses, dominance)
    thesaurus = _thesaurus(lexicon, dominance)
    if lexicon and not pipeline and not other_wordnet(lexicon).english:
        fix = "name the spaCy pipeline of its language, as in pipeline=fr_core_news_sm"
        raise BadInput(f"{lexicon} is not English, and the tagger would be", where=_WHERE, field="pipeline", fix=fix)
    replacer = Replacer(_parts(pos), thesaurus, senses == "context", read_veto(veto), not lexicon)
    tag = tagger(pipeline, names=True)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        fields = [chosen_fields(problem.task, field, _WHERE) for problem in problems]
        texts = (problem.text[name] or "" for problem, names in zip(problems, fields, strict=True) for name in names)
        tagged = tag(texts)
        for problem, names, seed in zip(problems, fields, seeds, strict=True):
            tokens = {name: next(tagged) for name in names}
            if lexicon or not warn_of_other_language(problem.text.values(), _WHERE):
                for chosen in _draws(replacer(problem, tokens), n, changes, Random(seed)):
                    made = [change for one in chosen for change in one.changes]
                    yield with_changes(problem, sorted(made, key=lambda one: (names.index(one["field"]), one["at"])))

    vary.identity = "+".join([tag.identity, *([other_wordnet(lexicon).identity] if lexicon else versions())])  # type: ignore[attr-defined]
    return vary


def _draws(words: list[list[Replacement]], n: int, changes: int, random: Random) -> Iterator[list[Replacement]]:
    """Up to `n` distinct choices of some words and a synonym for each: other words first, then their next synonyms."""
    random.shuffle(words)
    size = min(changes, len(words)) or len(words)
    first, *others = islice(combinations(words, size), _MOST)
    random.shuffle(others)
    told: list[list[Replacement]] = []
    for choice in _choices([first, *others]) if words else ():
        if choice not in told:
            told.append(choice)
            yield choice
        if len(told) == n:
            return


def _choices(some: Sequence[tuple[list[Replacement], ...]]) -> Iterator[list[Replacement]]:
    """A synonym for each word of each choice of words, the best ones of all before the next best of any."""
    for total in range(1 + max(sum(len(word) - 1 for word in words) for words in some)):
        for words in some:
            ranks = islice(product(*(range(len(word)) for word in words)), _MOST)
            for chosen in (one for one in ranks if sum(one) == total):
                told: dict[str, Replacement] = {}
                for word, rank in zip(words, chosen, strict=True):
                    told.setdefault(word[rank].synonym, word[rank])  # two words must not become one
                yield list(told.values())


def _parts(pos: str) -> str:
    """WordNet's letters for the parts of speech that are named."""
    names = list(PARTS) if pos == "all" else pos.split("+")
    if strangers := [name for name in names if name not in PARTS]:
        fix = f"use {', '.join(PARTS)}, several as in noun+verb, or all"
        raise BadInput(f"no part of speech {strangers[0]!r}", where=_WHERE, field="pos", fix=fix)
    return "".join(PARTS[name] for name in names)


def _refuse_wrong(n: int, changes: int, senses: str, dominance: float) -> None:
    if n < 1:
        raise BadInput(f"found {n}", where=_WHERE, field="n", fix="give 1 or more variants per problem")
    if changes < 0:
        fix = "give a number of words, 0 for all that can be"
        raise BadInput(f"found {changes}", where=_WHERE, field="changes", fix=fix)
    if senses not in SENSES:
        raise BadInput(f"found {senses!r}", where=_WHERE, field="senses", fix=f"use {' or '.join(SENSES)}")
    if not 0 <= dominance <= 1:
        raise BadInput(f"found {dominance}", where=_WHERE, field="dominance", fix="give a share from 0 to 1")


def _thesaurus(name: str, dominance: float) -> Thesaurus:
    if name:
        return Thesaurus(other_wordnet(name), dominance, familiar=0)
    return Thesaurus(lexicon(), dominance, FAMILIAR)
