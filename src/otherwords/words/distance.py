"""How far apart two texts are, word by word: what Levenshtein's edit distance and shared words can tell."""

from __future__ import annotations

import string

from ..errors import BadInput

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def jaccard(one: str, other: str) -> float:
    """Shared words over all words, after lower-casing and removing ASCII punctuation.

    >>> jaccard("Two films won six Oscars .", "Six Oscars were won by two films.")
    0.7142857142857143
    """
    a, b = set(words(one)), set(words(other))
    return len(a & b) / len(a | b) if a | b else 1.0


def words(text: str) -> list[str]:
    """The words of a text, in order, as PaRTE and ParaNLU cut them: lower-cased, without ASCII punctuation."""
    return text.translate(_PUNCTUATION).lower().split()


def lexical_distance(one: str, other: str) -> float:
    """How different the words of two texts are, whatever their order (ParaNLU's `lex`, after Bandel et al. 2022).

    Words are lower-cased and lose ASCII punctuation; each is matched with one of the other text so that the whole
    takes the fewest edits, letter by letter. Here "sat" and "sit" share two letters of three, the rest is equal:

    >>> round(lexical_distance("The cat sat.", "Sit, the cat!"), 4)
    0.1111
    >>> lexical_distance("Two words.", "WORDS (two)")
    0.0
    """
    import Levenshtein  # late: `otherwords --help` needs it not

    return 1.0 - Levenshtein.setratio([*words(one)], [*words(other)])


def token_overlap(original: str, variant: str, fuzzy: float = 1.0) -> float:
    """Share of the original's words that occur in the variant, too; a repeated word counts as often as it is there.

    Below 1, `fuzzy` lets a word pass that is at least so similar to some word of the variant: twice the letters they
    share in order, over the letters of both (Levenshtein.ratio). Arakelyan et al. (2024, Table 4) do not say what
    they matched, so their numbers cannot be had from this. Of four words "dogs" is missing, but not far to seek:

    >>> token_overlap("The dogs bark loudly", "The dog barks: loudly, they bark.")
    0.75
    >>> token_overlap("The dogs bark loudly", "The dog barks: loudly, they bark.", fuzzy=0.8)
    1.0
    """
    refuse_fuzzy(fuzzy)
    wanted, there = words(original), set(words(variant))
    if not wanted:
        return float(not there)  # as in `jaccard`: nothing has all in common with nothing, and none with something
    return sum(word in there or (fuzzy < 1 and _alike(word, there, fuzzy)) for word in wanted) / len(wanted)


def refuse_fuzzy(fuzzy: float) -> None:
    """Complain of a similarity that no two words, or any two words, would have."""
    if not 0 < fuzzy <= 1:
        raise BadInput(f"found {fuzzy!r}", field="fuzzy", fix="give a similarity above 0 and at most 1, which is exact")


def _alike(word: str, there: set[str], least: float) -> bool:
    import Levenshtein

    return any(Levenshtein.ratio(word, other) >= least for other in there)
