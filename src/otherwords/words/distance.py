"""How different two texts are in their words: shared words and edit distance."""

import string
from collections import Counter

from ..errors import BadInput
from .language import split_words

#: In texts with more words, or with a longer word, words match only if they are equal: time grows with the third power.
_MAX_MATCHED = 500
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: The same for ASCII texts as bytes: small letters, and a blank for what Python splits texts at, but not bytes.
_SMALL = bytes(range(256)).lower().translate(bytes.maketrans(b"\x1c\x1d\x1e\x1f", b"    "))
_MARKS = string.punctuation.encode()


def jaccard(one: str, other: str) -> float:
    """Shared words over all words, after lower-casing and removing ASCII punctuation.

    >>> jaccard("Two films won six Oscars .", "Six Oscars were won by two films.")
    0.7142857142857143
    """
    if one.isascii() and other.isascii():  # the same on bytes, in a third of the time
        a, b = (set(text.encode().translate(_SMALL, _MARKS).split()) for text in (one, other))
    else:
        a, b = set(words(one)), set(words(other))  # type: ignore[arg-type]
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a | b else 1.0


def words(text: str) -> list[str]:
    """The words of a text, in order, as PaRTE and ParaNLU split them: lower-cased, without ASCII punctuation."""
    return split_words(text.translate(_PUNCTUATION).lower())


def lexical_distance(one: str, other: str) -> float:
    """How different the words of two texts are, whatever their order (ParaNLU's `lex`, after Bandel et al. 2022).

    Words are lower-cased without ASCII punctuation; each is matched with a word of the other text so that the total
    number of edited letters is smallest. Here "sat" and "sit" share two letters of three, the rest is equal:

    >>> round(lexical_distance("The cat sat.", "Sit, the cat!"), 4)
    0.1111
    >>> lexical_distance("Two words.", "WORDS (two)")
    0.0

    In texts of more than 500 words, a word matches only an equal one.
    """
    old, new = words(one), words(other)
    if max(len(old), len(new), *map(len, old), *map(len, new), 0) > _MAX_MATCHED:
        return 1.0 - 2 * sum((Counter(old) & Counter(new)).values()) / (len(old) + len(new))
    return 1.0 - _matched_ratio([*old], [*new])


def _matched_ratio(one: list[str], other: list[str]) -> float:
    """How similar two lists of words are, each matched with the word that makes the sum of edits smallest."""
    import numpy as np  # here, because `otherwords --help` does not need them
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    if not one and not other:
        return 1.0
    few, many = sorted((one, other), key=len)
    edits = float(len(many) - len(few))
    if few:
        costs = cdist(few, many, scorer=Indel.normalized_distance, dtype=np.float64)
        for cost in costs[linear_sum_assignment(costs)].tolist():  # in this order: the last bit depends on it
            edits += 2.0 * cost
    return (len(one) + len(other) - edits) / (len(one) + len(other))


def token_overlap(original: str, variant: str, fuzzy: float = 1.0) -> float:
    """Share of the original's words that also occur in the variant; a repeated word counts each time.

    With `fuzzy` below 1 a word counts if it is at least that similar to some word of the variant: twice the letters
    they share in order, over the letters of both (Indel). Arakelyan et al. (2024, Table 4) do not say
    what they matched, so their numbers cannot be reproduced. Of four words "dogs" is missing, but "dog" is near:

    >>> token_overlap("The dogs bark loudly", "The dog barks: loudly, they bark.")
    0.75
    >>> token_overlap("The dogs bark loudly", "The dog barks: loudly, they bark.", fuzzy=0.8)
    1.0
    """
    refuse_fuzzy(fuzzy)
    old, new = words(original), set(words(variant))
    if not old:
        return float(not new)  # as in `jaccard`: 1 for two empty texts, 0 for an empty one and another
    return sum(word in new or (fuzzy < 1 and _has_similar(word, new, fuzzy)) for word in old) / len(old)


def refuse_fuzzy(fuzzy: float) -> None:
    """Refuse a similarity outside (0, 1]: all words have 0, and none have more than 1."""
    if not 0 < fuzzy <= 1:
        raise BadInput(f"found {fuzzy!r}", field="fuzzy", fix="give a similarity above 0 and at most 1 (exact match)")


def _has_similar(word: str, others: set[str], least: float) -> bool:
    from rapidfuzz.distance import Indel

    return any(Indel.normalized_similarity(word, other) >= least for other in others)
