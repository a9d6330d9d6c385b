"""Words that belong together: expressions that WordNet lists ("ice cream", "in front of"), verbs with their particles,
nouns before nouns, hyphens and quotation marks. What is part of one is not replaced on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .other_wordnets import Wordnet
from .tagging import Token

#: The longest expression that is looked for ("jack of all trades"); longer ones are rare.
LONGEST = 4
#: How far a particle may be from its verb ("picks the ball up").
_REACH = 4
#: "Old man" and "little girl" are in WordNet for another meaning, and mostly have the plain one.
_PEOPLE = re.compile("(young|old|little|elder|black|white) (m[ae]n|wom[ae]n|boys?|girls?|lad(y|ies)|people|persons?)")
_NOUNS = ("NOUN", "PROPN")
_QUOTES = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)['‘](?=\w)[^'’]*['’](?!\w)")
_JOINED = re.compile(r"[-‐‑–/_&@#.]")


def bound(text: str, tokens: Sequence[Token], words: Wordnet) -> frozenset[int]:
    """The numbers of the tokens that are parts of something larger.

    >>> from otherwords.words.lexicon import lexicon
    >>> told = [("A", "DET", "DT"), ("dog", "NOUN", "NN"), ("eats", "VERB", "VBZ"), ("hot", "ADJ", "JJ")]
    >>> told += [("dogs", "NOUN", "NNS"), ("up", "ADP", "RP")]
    >>> text = " ".join(word for word, _, _ in told)
    >>> tokens = [Token(word, text.index(word), pos, tag, False) for word, pos, tag in told]
    >>> sorted(bound(text, tokens, lexicon()))
    [2, 3, 4, 5]
    """
    found = {*_listed(tokens, words), *_with_particles(tokens), *_modifiers(tokens), *_joined(text, tokens)}
    quoted = [match.span() for match in _QUOTES.finditer(text)]
    found.update(i for i, token in enumerate(tokens) if any(a <= token.start < b for a, b in quoted))
    return frozenset(found)


def _listed(tokens: Sequence[Token], words: Wordnet) -> Iterator[int]:
    """Expressions of the wordnet, in any inflection of their last word, or of a verb in front."""
    forms = [token.text.lower() for token in tokens]
    for start in range(len(forms)):
        for end in range(min(start + LONGEST, len(forms)), start + 1, -1):
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


def _with_particles(tokens: Sequence[Token]) -> Iterator[int]:
    for i, token in enumerate(tokens):
        if token.tag == "RP":
            verbs = [j for j in range(max(0, i - _REACH), i) if tokens[j].pos == "VERB"]
            yield from (i, *verbs[-1:])


def _modifiers(tokens: Sequence[Token]) -> Iterator[int]:
    """Nouns directly before nouns ("baseball hat"): what they say together is seldom the sum of both."""
    for i in range(len(tokens) - 1):
        if tokens[i].pos in _NOUNS and tokens[i + 1].pos in _NOUNS:
            yield i


def _joined(text: str, tokens: Sequence[Token]) -> Iterator[int]:
    """Parts of compounds with a hyphen or the like, as in "T-shirt"; spaCy makes three tokens of it."""
    for i, token in enumerate(tokens):
        before, after = text[token.start - 1 : token.start], text[token.end : token.end + 2]
        if _JOINED.match(before) or (_JOINED.match(after) and after[1:].isalnum()) or _JOINED.search(token.text):
            yield i
