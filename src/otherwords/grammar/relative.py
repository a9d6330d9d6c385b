"""Adjectives and relative clauses: "a large red ball", "a red ball that is large", "a large ball that is red"."""

from collections.abc import Iterator
from itertools import pairwise

from ..words.inflection import article
from .parsing import ParseTree
from .phrases import BE_FORMS, is_human, is_plain, is_plural, is_several, rank
from .rewriting import Rewriting, begins_sentence, lower_first_word, rewrite_span

#: Pronouns of relative clauses that this room rewrites.
RELATIVE = {"that", "who", "which"}
_SHADES = {"dark", "bright", "deep", "pale", "light"}
#: What may come before an adjective that becomes a clause.
_DETERMINERS = {"a", "an", "the", "some", "several", "many", "these", "those", "two", "three", "four", "five", "six",
                "seven", "eight", "nine", "ten"}  # fmt: skip
#: Tags of words that may follow a clause and cannot be read as part of it.
_AFTER_A_CLAUSE = frozenset({".", "VBZ", "VBP", "VBD", "MD"})


def to_clause(tree: ParseTree) -> Iterator[Rewriting]:
    """Move the first adjective before a noun into a relative clause after it.

    >>> from .parsing import parser
    >>> text = "The boy has an old red car."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_clause(ParseTree(text, nodes))]
    ['The boy has a red car that is old.']
    """
    for noun in range(len(tree.nodes)):
        before = tree.children(noun, "amod")
        if not before or not _takes_clause(tree, noun) or not is_plain(tree, before[0], noun):
            continue
        left = _adjectives_start(tree, noun)
        if left is None or before[0] != left or tree.children(before[0]) or is_plural(tree, noun) is None:
            continue
        if not (be := _be(tree, noun)):
            continue
        clause = f"{_pronoun(tree, noun)} {be} {tree[before[0]].text.lower()}"
        yield _rewrite_phrase(
            tree, "adjective to clause", noun, before[0], f"{tree.stretch(left + 1, noun)} {clause}", noun
        )


def to_adjective(tree: ParseTree) -> Iterator[Rewriting]:
    """Move the adjective of a relative clause with "be" before the noun.

    >>> from .parsing import parser
    >>> text = "John threw a red ball that is large."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_adjective(ParseTree(text, nodes))]
    ['John threw a large red ball.']
    """
    for noun, adjective in _clauses(tree):
        left, word = _adjectives_start(tree, noun), tree[adjective].text
        others = [rank(tree[one].text) for one in tree.children(noun, "amod")]
        own = rank(word)
        if left is not None and own is not None and all(one is None or own < one for one in others):
            yield _rewrite_phrase(
                tree, "clause to adjective", noun, left, f"{word} {tree.stretch(left, noun)}", adjective
            )


def exchange_adjectives(tree: ParseTree) -> Iterator[Rewriting]:
    """Exchange the adjective before a noun and the one in the relative clause after it.

    >>> from .parsing import parser
    >>> text = "John threw a red ball that is large."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_adjectives(ParseTree(text, nodes))]
    ['John threw a large ball that is red.']
    """
    for noun, adjective in _clauses(tree):
        before, left = tree.children(noun, "amod"), _adjectives_start(tree, noun)
        if len(before) == 1 and before[0] == left and is_plain(tree, before[0], noun):
            clause = tree.stretch(noun, adjective - 1)
            new = f"{tree[adjective].text} {clause} {tree[before[0]].text}"
            yield _rewrite_phrase(tree, "adjective and clause exchanged", noun, before[0], new, adjective)


def _clauses(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Nouns followed by "that is" and an adjective, each with that adjective."""
    for verb, node in enumerate(tree.nodes):
        if node.dep != "relcl" or node.text not in BE_FORMS.values() or verb != node.head + 2:
            continue
        match tree.constituents(verb):
            case [pronoun, _, adjective] if tree[pronoun].text in RELATIVE and tree[adjective].dep == "acomp":
                last = tree.subtree(node.head)[-1]
                if last == adjective and _can_end(tree, last) and is_plain(tree, adjective, node.head):
                    yield node.head, adjective


def _takes_clause(tree: ParseTree, noun: int) -> bool:
    """Whether a noun is common and has no modifier after it, and what follows cannot be read as part of a clause."""
    below, node = tree.children(noun), tree[noun]
    if node.pos != "NOUN" or node.text.endswith("ing") or node.dep in {"compound", "npadvmod", "conj"}:
        return False
    last = all(one < noun for one in below) and _can_end(tree, noun)
    return last and {tree[one].dep for one in below} <= {"det", "amod", "nummod"}


def _can_end(tree: ParseTree, last: int) -> bool:
    return last + 1 == len(tree.nodes) or tree[last + 1].tag in _AFTER_A_CLAUSE


def _adjectives_start(tree: ParseTree, noun: int) -> int | None:
    """The index where the adjectives of a phrase begin, or would; None where the phrase has other words there."""
    start = tree.subtree(noun)[0]
    while start < noun and tree[start].dep in {"det", "nummod"} and tree[start].text.lower() in _DETERMINERS:
        start += 1
    middle = [tree[one] for one in range(start, noun)]
    plain = all(one.dep == "amod" and one.head == noun and one.text.isalpha() for one in middle)
    return start if plain and not _is_compound([one.text.lower() for one in middle]) else None


def _is_compound(words: list[str]) -> bool:
    """Whether one adjective may belong to the next: "a long haired man", "a dark red car"."""
    shade = any(one in _SHADES and rank(two) == rank("red") for one, two in pairwise(words))
    return shade or any(word.endswith(("ed", "ing", "en")) and rank(word) is None for word in words)


def _rewrite_phrase(tree: ParseTree, how: str, noun: int, first: int, after: str, last: int) -> Rewriting:
    """Replace the phrase from its first adjective on; article and capital follow the new first word."""
    before = tree[first - 1] if first else None
    if before is not None and before.text.lower() in {"a", "an"} and before.head == noun:
        fitting = article(after)
        fitting = fitting.capitalize() if before.text[0].isupper() else fitting
        return rewrite_span(tree, how, first - 1, last, f"{fitting} {after}")
    if begins_sentence(tree, first) and tree[first].text[:1].isupper():
        old = tree[first].text
        after = after.replace(old, lower_first_word(old, tree[first]))
        after = after[:1].upper() + after[1:]
    return rewrite_span(tree, how, first, last, after)


def _pronoun(tree: ParseTree, noun: int) -> str:
    return "who" if is_human(tree, noun) and not is_several(tree, noun) else "that"


def _be(tree: ParseTree, noun: int) -> str | None:
    """The form of "be" for the number of a noun and the tense of its clause; None without a tense."""
    at = noun
    while (tense := _tense(tree, at)) is None and tree[at].head != at:
        at = tree[at].head
    return BE_FORMS.get((tense or "", bool(is_plural(tree, noun))))


def _tense(tree: ParseTree, verb: int) -> str | None:
    """Past or present; "open" with "would" and the like, which are neither; None for a word without tense."""
    if tree[verb].pos not in {"VERB", "AUX"}:
        return None
    words = [verb, *tree.children(verb, "aux", "auxpass")]
    if any(tree[one].text.lower() in {"could", "would", "might", "should"} for one in words):
        return "open"
    tags = {tree[one].tag for one in words}
    return "past" if "VBD" in tags else "present" if tags & {"VBZ", "VBP", "MD"} else None
