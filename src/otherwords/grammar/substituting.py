"""Words and set phrases that others replace where they stand: where a phrase occurs, and how the new words fit in."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..words.inflection import article, cased
from .parsing import ParseTree
from .rewriting import Rewriting, begins_sentence

#: Whether a phrase from one node to another may be replaced.
Guard = Callable[[ParseTree, int, int], bool]
_ARTICLES = {"a", "an"}


def occurrences(tree: ParseTree, phrases: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, int, str]]:
    """Where phrases stand in a text, the longest at each place: first node, last node, the phrase.

    `phrases` has the phrases by their first word, all lower-cased. Their words must have one space between them.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["He sits next to her."])
    >>> list(occurrences(ParseTree("He sits next to her.", nodes), {"next": ["next to"], "her": ["her"]}))
    [(2, 3, 'next to'), (4, 4, 'her')]
    """
    at = 0
    while at < len(tree.nodes):
        found = [one for one in phrases.get(tree[at].text.lower(), ()) if _stands_at(tree, at, one)]
        phrase = max(found, key=len, default="")
        last = _last_node(tree, at, phrase)
        if phrase:
            yield at, last, phrase
        at = last + 1


def by_first_word(phrases: Sequence[str]) -> dict[str, list[str]]:
    """Phrases by their first word, for `occurrences`; a hyphen or an apostrophe ends a word."""
    found: dict[str, list[str]] = {}
    for one in phrases:
        for first in {one.split(" ")[0], one.split(" ")[0].split("-")[0].split("'")[0]}:
            found.setdefault(first, []).append(one)
    return found


def substitute(tree: ParseTree, how: str, first: int, last: int, after: str, *, keep_case: bool = False) -> Rewriting:
    """The rewriting that puts other words in the place of some nodes.

    An article before them fits the new words. Where the old or the new words end with the stop of an abbreviation, the
    next word is part of the stretch: a stretch must not take a sentence's stop away. `keep_case` leaves the capitals of
    the new words as they are, except at the beginning of a sentence.
    """
    opens = begins_sentence(tree, first) and word_at(tree, first - 1) not in {"(", "-"}
    if opens and not tree[first].text[:1].islower():
        after = after[:1].upper() + after[1:]
    elif not keep_case:
        after = cased(after, tree[first].text) if len(tree[first].text) > 1 else after
    start, end = tree[first].start, tree[last].end
    if first and (word := tree[first - 1].text).lower() in _ARTICLES and tree[first - 1].dep == "det":
        start, after = tree[first - 1].start, f"{cased(article(after), word)} {after}"
    if tree.text[start:end].endswith(".") is not after.endswith("."):
        start, end, after = _with_stop(tree, last, start, after)
    return Rewriting(how, start, tree.text[start:end], after)


def _with_stop(tree: ParseTree, last: int, start: int, after: str) -> tuple[int, int, str]:
    """The stretch with the word after it, or with the stop that ends the sentence: "the U.S." ends with one, too."""
    end = tree[last].end
    following = tree[last + 1] if last + 1 < len(tree.nodes) else None
    if following is None:  # the stop of "U.S." is the sentence's, too
        return start, end, after if after.endswith(".") else f"{after}."
    if following.text == "." and after.endswith("."):
        return start, following.end, after
    return start, following.end, after + tree.text[end : following.end]


def _stands_at(tree: ParseTree, at: int, phrase: str) -> bool:
    start = tree[at].start
    last = _last_node(tree, at, phrase)
    return tree.text[start : start + len(phrase)].lower() == phrase and tree[last].end == start + len(phrase)


def _last_node(tree: ParseTree, at: int, phrase: str) -> int:
    """The node in which a phrase that begins at a node ends."""
    end = tree[at].start + len(phrase)
    while at + 1 < len(tree.nodes) and tree[at + 1].start < end:
        at += 1
    return at


def word_at(tree: ParseTree, at: int) -> str:
    """The lower-cased word at an index; empty outside of the text."""
    return tree[at].text.lower() if 0 <= at < len(tree.nodes) else ""


def tag_at(tree: ParseTree, at: int) -> str:
    """The tag at an index; empty outside of the text."""
    return tree[at].tag if 0 <= at < len(tree.nodes) else ""
