"""Which words of a text may be replaced: content words that are not part of an expression, with their base forms."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from .inflection import lemma_of
from .lexicon import Wordnet, lexicon
from .tagging import Token

# Expressions

#: Expressions of more words ("jack of all trades" has four) are rare.
_MAX_EXPRESSION_WORDS = 4
#: The longest idiom of the list, "new kid on the block".
_MAX_IDIOM_WORDS = 5
#: The most tokens between a verb and its particle ("picks the ball up").
_PARTICLE_DISTANCE = 4
#: WordNet has "old man" and "little girl" with another meaning; mostly they have the plain one.
_PEOPLE = re.compile("(young|old|little|elder|black|white) (m[ae]n|wom[ae]n|boys?|girls?|lad(y|ies)|people|persons?)")
_NOUNS = ("NOUN", "PROPN")
_QUOTES = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)['‘](?=\w)[^'’]*['’](?!\w)")
_JOINED = re.compile(r"[-‐‑–/_&@#.]")

# Words

#: spaCy's universal tags, and the letter under which WordNet has such words. AUX, PROPN, PRON, DET, NUM have none.
_PARTS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
#: A plural that is also a word of its own counts as a plural if the base form is this many times as frequent.
_MUCH_RARER = 20
_LETTERS = re.compile(r"[^\W\d_]+")
#: Words that stay: verbs with little meaning of their own; nouns, adjectives and adverbs that count, negate, compare or
#: stand for something else; words for places that are mostly in phrases ("in front of", "on top").
_WORDS = """
    be have do get go make take give put come let keep seem become need look start begin say tell help hide race lean
    lay lie print tend outfit flower
    one none nothing lot lots couple number bunch pair half dozen hundred thousand million kind sort type variety group
    set piece bit part rest thing way time while amount majority day year hour minute second today front back top side
    middle end bottom edge case fact order addition playground
    no not never many much more most less least few little several other another same such own first last next only
    every each both all some any enough two three whole entire different new single double extra haired center pet
    black white red blue green yellow brown purple violet pink orange gray grey teal tan
    very too so just also even still already yet then there here now again ever always often sometimes usually rarely
    seldom hardly barely almost nearly quite rather pretty fairly somewhat slightly once twice close later before after
    soon away back together apart inside down up on off over along around normally generally typically frequently
    occasionally mostly primarily largely
"""
_STAY = frozenset(_WORDS.split())
#: An adverb before one of these is rather a preposition ("outside the house").
_AFTER_PREPOSITIONS = frozenset({"DET", "PRON", "NOUN", "PROPN", "NUM"})


class WordPlace(NamedTuple):
    """A token that may be replaced: its base form, WordNet's letter for its part of speech, and its neighbours."""

    token: Token
    lemma: str
    part: str
    before: Token | None = None
    after: Token | None = None


class TextPlaces(NamedTuple):
    """The places of a text, and the base forms of all other words, which must not be replaced elsewhere either."""

    places: list[WordPlace]
    held: frozenset[str]


def find_places(
    text: str, tokens: Sequence[Token], parts: Iterable[str], wordnet: Wordnet, whole: bool = False
) -> TextPlaces:
    """The words of some parts of speech that may be replaced, and the base forms of those that may not.

    `whole` leaves more as it is: all nouns of a compound, participles before nouns, and listed idioms. An adverb that
    may be a preposition is then for the caller to tell.

    >>> tokens = [Token("Two", 0, "NUM", "CD", False), Token("dogs", 4, "NOUN", "NNS", False)]
    >>> found = find_places("Two dogs", tokens, "n", lexicon())
    >>> [place.lemma for place in found.places], sorted(found.held)
    (['dog'], ['two'])
    """
    tokens = [token for token in tokens if not token.text.isspace()]
    fixed = bound_tokens(text, tokens, wordnet) | (frozenset(_held_whole(tokens)) if whole else frozenset())
    places: list[WordPlace] = []
    held: set[str] = set()
    for i, token in enumerate(tokens):
        part = _PARTS.get(token.pos, "")
        free = part in parts and i not in fixed and not token.named and (whole or not _is_preposition(tokens, i))
        lemma = _lemma(token.text, token.tag, part, wordnet) if part and free else None
        if lemma and lemma.lower() not in _STAY:
            before, *after = [tokens[i - 1] if i else None, *tokens[i + 1 : i + 2]]
            places.append(WordPlace(token, lemma, part, before, *after))
        else:
            held.update(all_forms(token.text.lower(), wordnet))
    return TextPlaces(places, frozenset(held))


@lru_cache(maxsize=65_536)
def all_forms(word: str, wordnet: Wordnet) -> frozenset[str]:
    """A lower-cased word, and all that it may be a form of."""
    return frozenset((word, *(base.lower() for base in wordnet.base_forms(word))))


def bound_tokens(text: str, tokens: Sequence[Token], words: Wordnet) -> frozenset[int]:
    """The indices of tokens that belong to something larger: an expression, a particle verb, a compound, a quotation.

    >>> tagged = [("A", "DET", "DT"), ("dog", "NOUN", "NN"), ("eats", "VERB", "VBZ"), ("hot", "ADJ", "JJ")]
    >>> tagged += [("dogs", "NOUN", "NNS"), ("up", "ADP", "RP")]
    >>> text = " ".join(word for word, _, _ in tagged)
    >>> tokens = [Token(word, text.index(word), pos, tag, False) for word, pos, tag in tagged]
    >>> sorted(bound_tokens(text, tokens, lexicon()))
    [2, 3, 4, 5]
    """
    found = {*_in_expressions(tokens, words), *_particle_verbs(tokens), *_modifiers(tokens), *_hyphenated(text, tokens)}
    quoted = [match.span() for match in _QUOTES.finditer(text)]  # in order, and none inside another
    opening = [start for start, _ in quoted]
    last = ((i, bisect_right(opening, token.start) - 1, token.start) for i, token in enumerate(tokens))
    found.update(i for i, quotation, start in last if quotation >= 0 and start < quoted[quotation][1])
    return frozenset(found)


def _held_whole(tokens: Sequence[Token]) -> Iterator[int]:
    """Nouns behind nouns ("process server"), participles before nouns ("used cars"), idioms that WordNet lacks."""
    for i in range(len(tokens) - 1):
        one, other = tokens[i], tokens[i + 1]
        if one.pos in _NOUNS and other.pos in _NOUNS:
            yield from (i, i + 1)
        if one.tag in ("VBN", "VBG") and one.pos != "AUX" and other.pos in _NOUNS and _is_attributive(tokens, i):
            yield i
    yield from _in_idioms([token.text.lower() for token in tokens])


def _is_attributive(tokens: Sequence[Token], i: int) -> bool:
    return i > 0 and (tokens[i].tag == "VBN" or tokens[i - 1].pos in ("DET", "ADJ", "NUM", "ADP"))


def _in_idioms(forms: Sequence[str]) -> Iterator[int]:
    seconds = {idiom[1] for idiom in idioms()}
    for start, form in enumerate(forms[:-1]):
        if forms[start + 1] not in seconds:
            continue
        heads = dict.fromkeys((form, *lexicon().base_forms(form, "v")))
        for end in range(start + 2, min(start + 1 + _MAX_IDIOM_WORDS, len(forms) + 1)):
            if any((head, *forms[start + 1 : end]) in idioms() for head in heads):
                yield from range(start, end)


@lru_cache(maxsize=1)
def idioms() -> frozenset[tuple[str, ...]]:
    """Expressions that WordNet lacks, from the list that the package ships.

    >>> ("process", "server") in idioms()
    True
    """
    packed = resources.files("otherwords") / "assets" / "wordnet" / "idioms.tsv"
    lines = [line for line in packed.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return frozenset(tuple(line.partition("\t")[0].split(" ")) for line in lines[1:])


def _is_preposition(tokens: Sequence[Token], i: int) -> bool:
    following = tokens[i + 1] if i + 1 < len(tokens) else None
    return bool(
        tokens[i].pos == "ADV" and following and (following.pos in _AFTER_PREPOSITIONS or following.text == "of")
    )


@lru_cache(maxsize=65_536)
def _lemma(text: str, tag: str, part: str, wordnet: Wordnet) -> str | None:
    """The base form; in languages other than English the word must be in it already."""
    if wordnet is not lexicon():
        return next(iter(wordnet.base_forms(text, part)), None)
    form = text.lower()
    if not _LETTERS.fullmatch(form) or (part == "a" and _is_verb_form(form)):
        return None
    lemma = lemma_of(form, tag, wordnet.base_forms(form, part))
    return None if lemma and lemma != form and _has_own_meaning(form, lemma, part) else lemma


def _is_verb_form(form: str) -> bool:
    """Whether an adjective may be a verb's participle, with which taggers confuse it: "touching", "tired"."""
    return any(base != form for base in lexicon().base_forms(form, "v"))


def _has_own_meaning(form: str, lemma: str, part: str) -> bool:
    """Whether an inflected form is a word of its own, too: "glasses", "arms"; but hardly ever "men"."""
    own, common = _uses(form, part), _uses(lemma, part)
    return own is not None and (common or 0) < _MUCH_RARER * (own + 1)


def _uses(word: str, part: str) -> int | None:
    """How often SemCor has a word in any sense; None where it is not in WordNet as it stands."""
    senses = (zip(one.words, one.counts, strict=True) for one in lexicon().synsets(word, part))
    counts = [count for words in senses for one, count in words if one.lower() == word]
    return sum(counts) if counts else None


def _in_expressions(tokens: Sequence[Token], words: Wordnet) -> Iterator[int]:
    """Expressions of the wordnet, with any inflection of the last word, or of a verb at the beginning."""
    forms = [token.text.lower() for token in tokens]
    for start in range(len(forms)):
        for end in range(min(start + _MAX_EXPRESSION_WORDS, len(forms)), start + 1, -1):
            if _is_expression(tuple(forms[start:end]), words):
                yield from range(start, end)
                break


@lru_cache(maxsize=65_536)
def _is_expression(forms: tuple[str, ...], words: Wordnet) -> bool:
    if not all(form.replace("'", "").replace("-", "").isalpha() for form in forms):
        return False
    if _PEOPLE.fullmatch(" ".join(forms)):
        return False
    rest = " ".join(forms[1:])
    heads = dict.fromkeys((forms[0], *words.base_forms(forms[0], "v")))
    return any(words.knows(f"{head} {rest}") for head in heads)


def _particle_verbs(tokens: Sequence[Token]) -> Iterator[int]:
    for i, token in enumerate(tokens):
        if token.tag == "RP":
            verbs = [j for j in range(max(0, i - _PARTICLE_DISTANCE), i) if tokens[j].pos == "VERB"]
            yield from (i, *verbs[-1:])


def _modifiers(tokens: Sequence[Token]) -> Iterator[int]:
    """Nouns directly before nouns ("baseball hat"): the whole seldom means the sum of both."""
    for i in range(len(tokens) - 1):
        if tokens[i].pos in _NOUNS and tokens[i + 1].pos in _NOUNS:
            yield i


def _hyphenated(text: str, tokens: Sequence[Token]) -> Iterator[int]:
    """Parts of compounds with a hyphen or the like, as in "T-shirt"; spaCy makes three tokens of it."""
    for i, token in enumerate(tokens):
        before, after = text[token.start - 1 : token.start], text[token.end : token.end + 2]
        if _JOINED.match(before) or (_JOINED.match(after) and after[1:].isalnum()) or _JOINED.search(token.text):
            yield i
