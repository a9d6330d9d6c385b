"""The place of a time in a sentence: "On Monday, they met", "They met on Monday"."""

from collections.abc import Iterator
from functools import partial

from .clauses import MONTHS, TIMES, has_odd_marks
from .orders import Split, begins_main, is_finite, last_word
from .parsing import ParseTree
from .phrases import SCOPE
from .rewriting import Rewriting, join_reordered, rewrite_span

_TIME_ADVERBS = {"yesterday", "today", "tomorrow", "tonight", "nowadays", "afterwards"}
_TIME_PREPOSITIONS = {"in", "on", "at", "during", "by", "after", "before", "since", "around", "from", "for",
                      "until"}  # fmt: skip
#: What one does now about a later time: "we expect a baby in July".
_AHEAD = {"expect", "plan", "schedule", "promise", "want", "need", "hope", "order", "book", "predict"}
#: Before a time without a preposition.
_WHICH_TIME = {"last", "next", "this", "every", "that", "each", "one"}


def time_to_end(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Move a time from the beginning of a sentence with one verb to its end; `loose` as in `clause_to_end`.

    >>> from .parsing import parser
    >>> text = "On Monday, the company sold its shares."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in time_to_end(ParseTree(text, nodes))]
    ['The company sold its shares on Monday.']
    """
    for split in _times(tree):
        if split.part[0] == 0:
            for mark in (" ", ", ") if loose else (" ",):
                pieces = [(tree.stretch(*split.main), split.main[0]), (tree.stretch(*split.part), 0)]
                yield rewrite_span(tree, "time to end", 0, split.main[1], join_reordered(tree, pieces, mark))


def time_to_front(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Move a time from the end of a sentence with one verb to its beginning; `loose` as in `clause_to_end`.

    >>> from .parsing import parser
    >>> text = "The company sold its shares on Monday."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in time_to_front(ParseTree(text, nodes))]
    ['On Monday, the company sold its shares.']
    """
    for split in _times(tree):
        if split.part[0] > 0:
            for mark in (", ", " ") if loose else (", ",):
                pieces = [(tree.stretch(*split.part), split.part[0]), (tree.stretch(*split.main), 0)]
                yield rewrite_span(tree, "time to front", 0, split.part[1], join_reordered(tree, pieces, mark))


any_time_to_end = partial(time_to_end, loose=True)
any_time_to_front = partial(time_to_front, loose=True)


def _times(tree: ParseTree) -> Iterator[Split]:
    """Sentences of one clause that begin or end with a time."""
    roots = list(tree.roots())
    if len(roots) != 1 or has_odd_marks(tree) or not is_finite(tree, roots[0]) or tree[roots[0]].lemma == "be":
        return
    [root], end = roots, last_word(tree)
    if tree[root].lemma in _AHEAD:
        return
    for at in tree.children(root, "prep", "npadvmod", "advmod"):
        below = tree.subtree(at)
        if not _is_time(tree, at) or not tree.contiguous(at):
            continue
        if below[0] == 0:
            start = below[-1] + 1 + (tree[below[-1] + 1].text == ",")
            split = Split((start, end), (0, below[-1]), at, root)
        else:
            split = Split((0, below[0] - 1), (below[0], end), at, root)
        whole = below[0] == 0 or (below[-1] == end and at > root)
        if whole and begins_main(tree, root, split.main[0]) and _is_one_verb(tree, split):
            yield split


def _is_one_verb(tree: ParseTree, split: Split) -> bool:
    """Whether the main clause has one verb, no comma, and no word that the time's place may matter to."""
    inside = range(split.main[0], split.main[1] + 1)
    subject = {below for one in tree.children(split.root, "nsubj", "nsubjpass") for below in tree.subtree(one)}
    verbs = [one for one in inside if tree[one].pos in {"VERB", "AUX"} and tree[one].dep not in {"aux", "auxpass"}]
    verbs = [one for one in verbs if one not in subject]
    words = {tree[one].text.lower() for one in inside}
    times = [one for one in inside if tree[one].lemma.lower() in TIMES | _TIME_ADVERBS]
    every = "every" in tree.words(split.verb) and words & {"a", "an", "some", "two", "three"}
    perfect = any(tree[one].lemma == "have" for one in tree.children(split.root, "aux"))
    first = tree.words(split.verb)[:1] == ["since"] and not perfect  # "the first visitor since 1982"
    joined = first or every or tree.children(split.root, "conj", "cc", "neg") or _may_attach(tree, split)
    dated = any(word.isdigit() and len(word) == 4 for word in words)
    return (
        not dated and verbs == [split.root] and not words & (SCOPE | {",", "as", "than"}) and not times and not joined
    )


def _may_attach(tree: ParseTree, split: Split) -> bool:
    """Whether a time at the end may belong to the noun before it: "a report on the conference in June"."""
    before = split.main[1]
    while tree[before].dep not in {"pobj", "dobj", "ROOT", "nsubj"} and tree[before].head != before:
        before = tree[before].head
    after_prep = tree[before].dep == "pobj" and tree[tree[before].head].dep != "agent" and tree[before].pos == "NOUN"
    return split.part[0] > 0 and after_prep


def _is_time(tree: ParseTree, at: int) -> bool:
    """Whether a phrase is a time: a preposition with a day, month, year or part of the day, or "last week"."""
    words, below = tree.words(at), tree.subtree(at)
    odd = any(tree[one].tag in {"PRP", "PRP$"} or tree[one].pos in {"VERB", "PUNCT"} for one in below)
    if odd or SCOPE & set(words) - {"every"}:
        return False
    if tree[at].dep == "prep":
        nouns = tree.children(at, "pobj")
        if words[:2] in (["in", "a"], ["in", "an"]):
            return False  # "take part in a day of sports"
        if words[0] == "for" and not {"past", "last"} & set(words):
            return False  # "closed for Sunday"
        if any(tree[one].text.lower() in {"springs", "falls"} for one in nouns) or words == ["in", "second"]:
            return False
        if any(tree[one].lemma.lower() in MONTHS and _has_first_name(tree, one) for one in nouns):
            return False  # "after Zygmunt August"
        year = len(nouns) == 1 and len(words) == 2 and words[0] != "at" and words[1].isdigit() and len(words[1]) == 4
        return words[0] in _TIME_PREPOSITIONS and len(nouns) == 1 and (year or _names_time(tree, nouns[0]))
    if words in ([one] for one in _TIME_ADVERBS) or (words[-1] == "ago" and TIMES & {tree[one].lemma for one in below}):
        return True
    return tree[at].dep == "npadvmod" and _names_time(tree, at) and words[0] in _WHICH_TIME


def _has_first_name(tree: ParseTree, noun: int) -> bool:
    return any(tree[one].named and not _names_time(tree, one) for one in tree.children(noun, "compound"))


def _names_time(tree: ParseTree, noun: int) -> bool:
    """Whether a noun names a time; the parser leaves "Mondays" in the plural."""
    lemma = tree[noun].lemma.lower()
    return lemma in TIMES or (tree[noun].named and lemma.removesuffix("s") in TIMES)
