"""WordNet 3.0 from the table that the package ships, and other wordnets through the `wn` package.

Synsets come in the order of their senses, with base forms and antonyms. Other wordnets have no inflection: they know a
word only in its base form.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import BadInput, MissingExtra

if TYPE_CHECKING:
    import polars as pl

#: WordNet's letters for parts of speech by their usual names, in the order of lookup.
PARTS = {"noun": "n", "verb": "v", "adjective": "a", "adverb": "r"}
#: Endings of inflected forms and of their base forms, as in WordNet's own morphy.
_ENDINGS = {
    "n": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
          ("men", "man"), ("ies", "y")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip


@dataclass(frozen=True)
class Synset:
    """Words that share a sense. `counts` says how often WordNet's concordance tags each with it."""

    name: str
    pos: str
    words: tuple[str, ...]
    counts: tuple[int, ...]
    gloss: str


class Wordnet(Protocol):
    """The interface of a wordnet: words to synsets, forms to base forms, antonyms."""

    def __hash__(self) -> int: ...

    def synsets(self, word: str, pos: str = "") -> list[Synset]:
        """The senses of a word, the most frequent first."""

    def base_forms(self, word: str, pos: str = "") -> tuple[str, ...]:
        """What a word may be a form of."""

    def knows(self, word: str, pos: str = "") -> bool:
        """Whether a word or expression is there."""

    def antonyms(self, word: str) -> frozenset[str]:
        """The antonyms of a base form."""


#: More synsets than the table has.
_MOST_SYNSETS = 1 << 17
#: Numbers of synsets with animals (the file noun.animal), and with persons (noun.person, without the gods before, and
#: the names from Aalto on after them).
_BEINGS = {"animal": range(6707, 14210), "person": range(51605, 58691)}


class Lexicon:
    """WordNet as a mapping from words to synsets."""

    def synsets(self, word: str, pos: str = "") -> list[Synset]:
        """The senses of a word in any inflection, the most frequent first; nouns, verbs, adjectives, adverbs in turn.

        >>> [synset.words for synset in lexicon().synsets("Dogs", "n")][0]
        ('dog', 'domestic dog', 'Canis familiaris')
        """
        parts = pos or "nvar"
        numbers = (n for part in parts for form in self._forms(word, part) for n in self._index[form, part])
        return [self._synset(number) for number in dict.fromkeys(numbers)]

    def base_forms(self, word: str, pos: str = "") -> tuple[str, ...]:
        """What a word may be a form of, over all parts of speech or in one.

        >>> lexicon().base_forms("children"), lexicon().base_forms("better", "r")
        (('child',), ('better', 'well'))
        """
        forms = (form for part in pos or "nvar" for form in self._forms(word, part))
        return tuple(dict.fromkeys(form.replace("_", " ") for form in forms))

    def knows(self, word: str, pos: str = "") -> bool:
        """Whether a word is there in any inflection.

        >>> lexicon().knows("ice cream"), lexicon().knows("zzz")
        (True, False)
        """
        return any(self._forms(word, part) for part in pos or "nvar")

    def antonyms(self, word: str) -> frozenset[str]:
        """The direct antonyms of a base form, in any part of speech.

        >>> sorted(lexicon().antonyms("hot"))
        ['cold']
        """
        return self._antonyms.get(_key(word).replace("_", " "), frozenset())

    def kinds_of_being(self, word: str) -> list[str]:
        """For each sense of a noun, the most frequent first: "person", "animal", or nothing.

        Synsets stand in the order of WordNet's lexicographer files, so that their numbers tell persons and animals.

        >>> lexicon().kinds_of_being("plumber"), lexicon().kinds_of_being("fox")[:2]
        (['person'], ['animal', 'person'])
        """
        numbers = [n for form in self._forms(word, "n") for n in self._index[form, "n"]]
        return [next((kind for kind, span in _BEINGS.items() if n in span), "") for n in dict.fromkeys(numbers)]

    def glosses(self) -> list[str]:
        """All definitions with their examples: a million words of plain English."""
        return self._table["gloss"].to_list()

    def _forms(self, word: str, part: str) -> list[str]:
        """Irregular forms as listed, else the word without its endings; the word itself comes first.

        As WordNet's morphy does, except that like NLTK it gives all base forms, not only the first.
        """
        word = _key(word)
        if listed := self._exceptions.get((word, part)):
            return [form for form in dict.fromkeys((word, *listed)) if (form, part) in self._index]
        stems = [word[: -len(old)] + new for old, new in _ENDINGS[part] if word.endswith(old)]
        return [form for form in dict.fromkeys((word, *stems)) if (form, part) in self._index]

    @lru_cache(maxsize=4096)  # noqa: B019  # there is one lexicon per process
    def _synset(self, number: int) -> Synset:
        pos, words, _, gloss = self._table.row(number)
        entries = [word.partition(":") for word in words.split("|")]
        names = tuple(name for name, _, _ in entries)
        sense = self._index[names[0].lower(), "a" if pos == "s" else pos].index(number) + 1
        counts = tuple(int(count or 0) for _, _, count in entries)
        plain = tuple(name.replace("_", " ") for name in names)
        return Synset(f"{names[0].lower()}.{pos}.{sense:02}", pos, plain, counts, gloss)

    @cached_property
    def _table(self) -> pl.DataFrame:
        return _read_synsets()

    @cached_property
    def _index(self) -> _Index:
        return _Index(self._table)

    @cached_property
    def _exceptions(self) -> dict[tuple[str, str], list[str]]:
        text = gzip.decompress(_packed("exceptions.tsv.gz")).decode()
        rows = (line.split("\t") for line in text.splitlines())
        return {(form, part): bases for part, line in rows for form, *bases in [line.split(" ")]}

    @cached_property
    def _antonyms(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for opposites in self._table["antonyms"].drop_nulls().to_list():
            for pair in opposites.lower().replace("_", " ").split("|"):
                one, _, other = pair.partition(">")
                found.setdefault(one, set()).add(other)
        return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon, read once per process."""
    return Lexicon()


class OtherWordnet:
    """A wordnet in the data directory of `wn`; `identity` is its name and version."""

    def __init__(self, name: str):
        self._wordnet = _open(name)
        self.identity = "+".join(f"{one.id}:{one.version}" for one in self._wordnet.lexicons())
        self.english = all(str(one.language).startswith("en") for one in self._wordnet.lexicons())

    @lru_cache(maxsize=16_384)  # noqa: B019  # wordnets are few, and live as long as the process
    def synsets(self, word: str, pos: str = "") -> list[Synset]:
        """The senses of a word in the order of the wordnet, all parts of speech or one."""
        senses = [sense for part in pos or "nvar" for one in self._words(word, part) for sense in one.senses()]
        return [_convert(synset) for synset in dict.fromkeys(sense.synset() for sense in senses)]

    def base_forms(self, word: str, pos: str = "") -> tuple[str, ...]:
        """The word itself as the wordnet writes it, if it is a base form."""
        found = (one.lemma() for part in pos or "nvar" for one in self._words(word, part))
        return tuple(lemma for lemma in dict.fromkeys(found) if lemma.lower() == word.lower())

    def knows(self, word: str, pos: str = "") -> bool:
        """Whether a word or expression is there in its base form."""
        return bool(self.base_forms(word, pos))

    @lru_cache(maxsize=16_384)  # noqa: B019  # as above
    def antonyms(self, word: str) -> frozenset[str]:
        """The antonyms of a base form, in any part of speech."""
        senses = [sense for part in "nvar" for one in self._words(word, part) for sense in one.senses()]
        others = (other for sense in senses for other in sense.get_related("antonym"))
        return frozenset(str(other.word().lemma()).lower() for other in others)

    def _words(self, word: str, part: str) -> list[Any]:
        parts = ("a", "s") if part == "a" else (part,)
        return [one for letter in parts for one in self._wordnet.words(word, pos=letter)]


@lru_cache(maxsize=4)
def other_wordnet(name: str) -> OtherWordnet:
    """A wordnet by its name in `wn`, as in `omw-fr:1.4`, opened once per process."""
    return OtherWordnet(name)


class _Index:
    """Lemma and part of speech to the numbers of synsets in WordNet's order of senses.

    WordNet sorts the senses of a lemma by how often its concordance tags them; of equals, heads stand before satellites
    ("s"), and what is later in the table before what is earlier. A rank is these three in one number.
    """

    def __init__(self, table: pl.DataFrame):
        import polars as pl

        self._rows: dict[str, dict[str, int]] = {}
        self._ranks: dict[str, pl.Series] = {}
        numbered = table.select(pl.int_range(pl.len()).alias("number"), "kind", "words")
        for part in PARTS.values():
            lemmas = _lemmas(numbered.filter(pl.col("kind").replace("s", "a") == part))
            self._rows[part] = dict(zip(lemmas["lemma"].to_list(), range(len(lemmas)), strict=True))
            self._ranks[part] = lemmas["rank"]

    def __contains__(self, key: tuple[str, str]) -> bool:
        lemma, part = key
        return lemma in self._rows[part]

    @lru_cache(maxsize=1 << 14)  # noqa: B019  # there is one index per process
    def __getitem__(self, key: tuple[str, str]) -> tuple[int, ...]:
        lemma, part = key
        ranks = self._ranks[part][self._rows[part][lemma]].to_list()
        distinct = set(ranks)  # "Earth" and "earth" of one synset are one lemma
        return tuple(rank % _MOST_SYNSETS for rank in sorted(distinct, reverse=True))


def _lemmas(synsets: pl.DataFrame) -> pl.DataFrame:
    """The lemmas of synsets, each with its ranks. A piece at a time needs half the memory."""
    import polars as pl

    senses = pl.concat([_senses(some) for some in synsets.iter_slices(10_000)])
    piece = pl.col("lemma").str.len_bytes() % 8
    return pl.concat([senses.filter(piece == n).group_by("lemma").agg("rank") for n in range(8)])


def _senses(synsets: pl.DataFrame) -> pl.DataFrame:
    """Every word of synsets in lower case with its rank."""
    import polars as pl

    word = pl.col("words").str.split_exact(":", 1).struct
    count = word.field("field_1").cast(pl.Int64).fill_null(0)
    rank = (2 * count + (pl.col("kind") != "s")) * _MOST_SYNSETS + pl.col("number")
    words = synsets.lazy().with_columns(pl.col("words").str.to_lowercase().str.split("|")).explode("words")
    return words.select(word.field("field_0").alias("lemma"), rank.alias("rank")).collect()


def _key(word: str) -> str:
    return word.lower().replace(" ", "_")


def _read_synsets() -> pl.DataFrame:
    """The table as columns. It is one text in Parquet, which is smaller than gzip and as fast to read."""
    import polars as pl

    text: str = pl.read_parquet(_packed("synsets.parquet"))["text"][0]
    columns = dict.fromkeys(("kind", "words", "antonyms", "gloss"), pl.String)
    return pl.read_csv(text.encode(), separator="\t", quote_char=None, has_header=False, schema=columns)


def _packed(name: str) -> bytes:
    return (resources.files("otherwords") / "assets" / "wordnet" / name).read_bytes()


def _open(name: str) -> Any:
    try:
        import wn
    except ImportError as error:
        raise MissingExtra(f"the wordnet {name!r}", "wn") from error
    try:
        return wn.Wordnet(name)
    except wn.Error as error:
        names = ", ".join(sorted(f"{one.id}:{one.version}" for one in wn.lexicons())) or "none"
        fix = f"available: {names}; or download it: python -m wn download {name}"
        raise BadInput(f"no wordnet {name!r} is installed", where="wordnet.v1", field="lexicon", fix=fix) from error


def _convert(synset: Any) -> Synset:
    senses = synset.senses()
    words = tuple(str(sense.word().lemma()) for sense in senses)
    counts = tuple(sum(sense.counts()) for sense in senses)
    return Synset(str(synset.id), str(synset.pos), words, counts, str(synset.definition() or ""))
