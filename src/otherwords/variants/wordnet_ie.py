"""The IE paper's transformation: every noun becomes its most frequent WordNet synonym (Salvatore et al. 2023, 4.2)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import Problem, Variant
from ..registry import generators
from ..words import synonyms
from ..words.language import warn_of_other_language
from ..words.synonyms import Synonym
from ..words.tagging import tagger
from .corpus import content
from .corpus import texts as texts_of
from .generating import Change, Generator, chosen_fields, with_changes

_WORD = re.compile(r"[^\W_]+")


@generators(
    "wordnet-ie.v1",
    language="en",
    extra="spacy",
    measured="sound: 79.6 % on captions (SNLI) with the paper's veto list; 29-48 % on MNLI, RTE and everyday text",
)
def wordnet_ie(
    veto: Path = Path(),
    corpus: Path = Path(),
    table: Path = Path(),
    everywhere: bool = False,
    field: str = "",
) -> Any:
    """Replace every noun by its most frequent WordNet synonym, else the nearest in spelling (the IE paper's phi).

    `veto` lists words that stay, one a line (none unless given); frequencies come from `corpus`, a data set or a text
    file, else from all problems of the input; `table` reuses a saved choice. `everywhere` replaces a word wherever its
    form occurs, noun or not, as the released code does. `field`: one field instead of all targets.
    """
    kept = synonyms.read_veto(veto)
    if table == Path():
        return _surveying(kept, corpus)
    if corpus != Path():
        raise BadInput("has both a corpus and a table", where="wordnet-ie", fix="leave one of them out")
    chosen = {word: one for word, one in synonyms.read_table(table).items() if word not in kept}
    look = _anywhere if everywhere else _nouns

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        fields = [(problem, name) for problem in problems for name in chosen_fields(problem.task, field, "wordnet-ie")]
        changes = zip(fields, look([problem.text[name] or "" for problem, name in fields], chosen), strict=True)
        for problem, group in groupby(changes, key=lambda one: one[0][0]):
            warn_of_other_language(problem.text.values(), "wordnet-ie.v1")
            listed = [{"field": name, **one} for (_, name), some in group for one in some if one["from"] != one["to"]]
            if listed:
                yield with_changes(problem, listed)

    return Generator(vary, identity="" if everywhere else tagger().identity)


def _surveying(veto: frozenset[str], corpus: Path) -> Generator:
    """The generator before it has seen all texts, from which it makes its table."""
    tags = tagger().identity

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        fix = "use otherwords.vary, `otherwords vary` or `otherwords run`, or give a saved table=FILE"
        raise BadInput("has no corpus yet", where="wordnet-ie", fix=fix)

    def survey(texts: Iterable[str]) -> str:
        """Choose synonyms for the nouns of all texts, by the frequencies of the corpus, if given, or their own."""
        own, place = _count(texts), "the input"
        nouns = own
        if corpus != Path():
            nouns, place = _count(texts_of(corpus)), corpus.name
            if not nouns:
                fix = "give English sentences, or leave it out for the frequencies of the input"
                raise BadInput("contains no nouns", where=str(corpus), fix=fix)
        chosen = {word: one for word, one in synonyms.choose_synonyms(nouns, own).items() if word not in veto}
        about = f"wordnet-ie.v1: {len(chosen)} of {len({*nouns, *own})} nouns, by the frequencies of {place} ({tags})"
        return synonyms.format_table(chosen, about)

    identity = tags if corpus == Path() else f"{tags}+{content(corpus)}"
    return Generator(vary, identity, survey=survey, spent=("corpus",))


def _nouns(texts: Sequence[str], table: Mapping[str, Synonym]) -> Iterator[list[Change]]:
    for tokens in tagger()(texts):
        yield [_change(one.text, one.start, table) for one in tokens if one.pos == "NOUN" and one.text.lower() in table]


def _anywhere(texts: Sequence[str], table: Mapping[str, Synonym]) -> Iterator[list[Change]]:
    for text in texts:
        yield [_change(one[0], one.start(), table) for one in _WORD.finditer(text) if one[0].lower() in table]


def _change(word: str, start: int, table: Mapping[str, Synonym]) -> Change:
    """Keep the case of the first letter: the paper's data are all lower-case, ours are not."""
    entry = table[word.lower()]
    new = entry.synonym[:1].upper() + entry.synonym[1:] if word[:1].isupper() else entry.synonym
    return {"at": start, "from": word, "to": new, "synset": entry.synset}


def _count(texts: Iterable[str]) -> Counter[str]:
    return synonyms.count_nouns(((token.text, token.pos) for token in tokens) for tokens in tagger()(texts))
