"""A synonym for every noun of a corpus, chosen as the IE paper does: the most frequent, else the nearest in spelling.

Salvatore et al. (2023), section 4.2. Where the paper is silent the authors' released code decides: synonyms are the
words of the first synset, whatever its part of speech (so "hard" becomes "difficult"); frequencies are those of nouns;
of equally frequent ones the last in the alphabet is chosen, of equally near ones the first; and a word with the same
stem is not a synonym ("group", "grouping").
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..errors import BadInput, MissingExtra, decode, shorten
from .lexicon import lexicon

#: A word: letters and digits, possibly with punctuation inside.
_ENTRY = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*[.'’]?")
_COLUMNS = ("word", "synonym", "count", "synonym_count", "chosen_by", "synset")


@dataclass(frozen=True)
class Synonym:
    """A word's synonym, how often both occur as nouns, and whether frequency or distance decided."""

    word: str
    synonym: str
    count: int
    synonym_count: int
    chosen_by: str
    synset: str


def choose_synonyms(nouns: Mapping[str, int], also: Iterable[str] = ()) -> dict[str, Synonym]:
    """Choose a synonym for every noun that has one, given how often each lower-case form occurs in the corpus.

    `also` are nouns that may be missing from the corpus.

    >>> [one] = choose_synonyms({"dog": 3}).values()  # the paper's Figure 2: neither synonym occurs, so the nearer one
    >>> one.synonym, one.chosen_by
    ('domestic dog', 'distance')
    >>> choose_synonyms({"couch": 2, "lounge": 1, "sofa": 5})["couch"].synonym
    'sofa'
    """
    choices = (_choose(word, nouns) for word in sorted({*nouns, *also}))
    return {one.word: one for one in choices if one}


def _choose(word: str, nouns: Mapping[str, int]) -> Synonym | None:
    senses = lexicon().synsets(word)
    others = [other for other in senses[0].words if other != word] if senses else []
    if not others:
        return None
    from rapidfuzz.distance import Levenshtein  # here, because `otherwords --help` does not need it

    present = [other for other in others if other in nouns]
    if present:
        best = max(present, key=lambda other: (nouns[other], other))
    else:
        best = min(others, key=lambda other: (Levenshtein.distance(word, other), other))
    if _stem(best.lower()) == _stem(word):
        return None
    decided = "frequency" if present else "distance"
    return Synonym(word, best, nouns.get(word, 0), nouns.get(best, 0), decided, senses[0].name)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    try:
        import snowballstemmer
    except ImportError as error:
        raise MissingExtra("choosing synonyms", "spacy") from error
    return str(snowballstemmer.stemmer("porter").stemWord(word))


def count_nouns(tagged: Iterable[Iterable[tuple[str, str]]]) -> Counter[str]:
    """Count lower-case forms that are tagged as nouns, given the words of texts with their universal tags."""
    return Counter(word.lower() for words in tagged for word, pos in words if pos == "NOUN")


def format_table(table: Mapping[str, Synonym], about: str) -> str:
    """A synonym table as text: comments with `#`, a header, and a line per word, which may be edited by hand."""
    rows = [
        (one.word, one.synonym, str(one.count), str(one.synonym_count), one.chosen_by, one.synset)
        for one in table.values()
    ]
    return "\n".join([f"# {about}", "\t".join(_COLUMNS), *("\t".join(row) for row in rows)]) + "\n"


def read_table(path: Path) -> dict[str, Synonym]:
    """Read a synonym table; the columns after word and synonym are optional."""
    lines = _read_lines(path, "a synonym table (tab-separated: word, synonym)")
    table: dict[str, Synonym] = {}
    for number, line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        if cells[:2] == list(_COLUMNS[:2]):
            continue
        if len(cells) < 2 or not cells[1] or not _ENTRY.fullmatch(cells[0]):
            fix = "write a word, a tab and its synonym"
            raise BadInput(f"found {shorten(line)}", where=f"{path}, line {number}", fix=fix)
        if cells[0].lower() in table:
            fix = "a word has one synonym: remove the other line"
            raise BadInput(f"{cells[0]!r} occurs twice", where=f"{path}, line {number}", fix=fix)
        count, other = (int(cell) if cell.isdecimal() else 0 for cell in (*cells[2:4], "", "")[:2])
        decided, synset = (*cells[4:6], "", "")[:2]
        table[cells[0].lower()] = Synonym(cells[0].lower(), cells[1], count, other, decided, synset)
    return table


def read_veto(path: Path) -> frozenset[str]:
    """Words that are not replaced, one per line; none if no file is named."""
    lines = [] if path == Path() else _read_lines(path, "one word per line")
    for number, line in lines:
        if not _ENTRY.fullmatch(line.strip()):
            fix = "write one word per line, without other punctuation"
            raise BadInput(f"found {shorten(line)}", where=f"{path}, line {number}", fix=fix)
    return frozenset(line.strip().lower() for _, line in lines)


def _read_lines(path: Path, what: str) -> list[tuple[int, str]]:
    """The lines of a list with their numbers, without empty lines and comments."""
    try:
        text = decode(path.read_bytes(), str(path))
    except OSError as error:
        raise BadInput(f"cannot be read: {error}", where=str(path), fix=f"give {what} in UTF-8") from error
    lines = ((number, line.rstrip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
