"""Clauses after verbs of saying and thinking, with and without "that": "he said (that) he was ill"."""

from collections.abc import Iterator
from functools import partial

from .clauses import FINITE, is_spoken
from .parsing import ParseTree
from .phrases import SOMEONE
from .rewriting import Rewriting, rewrite_span

_SAYING = """
    say think believe know hope feel claim admit realize realise hear suppose assume insist argue fear guess suspect
    decide discover conclude announce report state understand notice find remember learn explain bet
    imagine figure pretend doubt swear tell warn convince inform predict acknowledge deny confirm show indicate agree
    demonstrate determine estimate expect recall recognize recognise reveal note complain observe ensure prove wish
    suggest propose recommend maintain allege concede contend assert declare stress worry anticipate see
"""
#: Verbs with a clause that "that" may begin.
_VERBS = frozenset(_SAYING.split())
_LEFT_OUT = """
    say think believe know hope feel claim realize realise hear suppose assume guess suspect fear tell understand
    admit find notice remember bet imagine figure pretend swear show expect agree wish recall see prove complain
"""
#: Those of them that are usual without "that".
_WITHOUT = frozenset(_LEFT_OUT.split())
_ADJECTIVES = {"sure", "glad", "afraid", "happy", "sorry", "certain", "confident", "aware", "convinced",
               "worried", "positive", "surprised", "proud", "grateful", "amazed", "pleased"}  # fmt: skip
_PERCEPTION = {"see", "hear", "feel", "notice", "observe"}
_SHOWING = {"show", "find", "note", "estimate", "reveal", "report"}
_NAMING = {"announce", "confirm", "deny", "discover", "propose", "recommend", "suggest", "notice", "remember", "recall",
           "expect", "predict"}  # fmt: skip
_QUOTES = {'"', "“", "”", "``", "''", ":", "(", ")", "[", "--", "—", "/"}
_WH = {"what", "who", "whom", "which", "where", "when", "how", "why", "whose", "whether", "if", "that",
       "as", "than"}  # fmt: skip


def insert_that(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Put "that" before a clause that follows its verb at once.

    `loose` drops the guards, to see whether `delete_that` can be reversed.

    >>> from .parsing import parser
    >>> text = "He said he was ill."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in insert_that(ParseTree(text, nodes))]
    ['He said that he was ill.']
    """
    for verb, start in _complements(tree):
        above = tree[verb].head
        words = [tree[one].text.lower() for one in range(above)]
        sure = loose or (_may_be_opened(tree, above, words) and not _may_be_object(tree, verb, start))
        if not sure or tree.children(verb, "mark"):
            continue
        if tree[start].text.lower() not in _WH and tree[above].lemma.lower() in _VERBS | _ADJECTIVES:
            yield rewrite_span(tree, "that inserted", start, start, f"that {tree[start].text}")


def delete_that(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Leave out the "that" of a clause that follows its verb at once; `loose` also after verbs that rarely lack it.

    >>> from .parsing import parser
    >>> text = "He said that he was ill."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in delete_that(ParseTree(text, nodes))]
    ['He said he was ill.']
    """
    for verb, start in _complements(tree):
        above = tree[verb].head
        marks = [one for one in tree.children(verb, "mark") if tree[one].text == "that"]
        verbs = _VERBS if loose else _WITHOUT
        since = tree[above].tag == "VBG" and tree[above].lemma == "see" and not tree.children(above, "aux")
        since |= _may_be_which(tree, verb) and not loose
        if marks == [start] and tree[above].lemma.lower() in verbs | _ADJECTIVES and not since:  # "Seeing that he left"
            yield rewrite_span(tree, "that left out", start, start + 1, tree[start + 1].text)


any_insert_that = partial(insert_that, loose=True)
any_delete_that = partial(delete_that, loose=True)


def _complements(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Finite clauses that follow at once the verb or adjective that they belong to, each with its first node."""
    if is_spoken(tree) or any(node.text in _QUOTES for node in tree.nodes):
        return
    for verb, node in enumerate(tree.nodes):
        if node.dep != "ccomp" or node.head >= verb or not tree.contiguous(verb):
            continue
        start, above = tree.subtree(verb)[0], node.head
        hearers = tree.children(above, "dobj", "dative")  # "told her"
        near = start == above + 1 or (len(hearers) == 1 and hearers[0] == above + 1 == start - 1)
        active = not tree.children(above, "auxpass", "nsubjpass")  # not "it is thought that"
        joined = any(tree.children(one, "nsubj", "nsubjpass") for one in tree.children(verb, "conj"))
        if near and active and not joined and _is_finite(tree, verb) and _begins_with_subject(tree, verb, start):
            yield verb, start


def _is_finite(tree: ParseTree, verb: int) -> bool:
    return bool({tree[one].tag for one in [verb, *tree.children(verb, "aux", "auxpass")]} & FINITE)


def _begins_with_subject(tree: ParseTree, verb: int, start: int) -> bool:
    """Whether a clause begins with its subject, after "that" if it has one."""
    first = start + 1 if tree[start].dep == "mark" else start
    subjects = tree.children(verb, "nsubj", "nsubjpass", "expl")
    return bool(subjects) and subjects[0] < verb and tree.subtree(subjects[0])[0] == first


def _may_be_object(tree: ParseTree, verb: int, start: int) -> bool:
    """Whether a clause may be an object: "see people play", "shows the position", "announced a plan dropped before"."""
    above = tree[tree[verb].head].lemma
    same = tree[verb].tag == "VBD" and tree[verb].text.lower() == tree[verb].lemma  # "saw the girl beat the boy"
    bare = (tree[verb].tag in {"VB", "VBP"} or same) and not tree.children(verb, "aux")
    reduced = tree[verb].tag == "VBD" and tree[verb].text.endswith("ed") and not tree.children(verb, "dobj", "ccomp")
    named = tree[start].tag in {"PRP", "EX"}
    listed = any(tree[one].text == "," for one in range(start, verb))  # "know the history, culture and beliefs he used"
    if (above in _PERCEPTION and bare) or (listed and above == "know"):
        return True
    return not named and (above in _SHOWING or (above in _NAMING and reduced))


def _may_be_which(tree: ParseTree, verb: int) -> bool:
    """Whether "that" may belong to the noun after it: "she thinks that man is ill"."""
    nouns = [one for one in tree.children(verb, "nsubj", "nsubjpass") if tree[one].tag == "NN"]
    return any(not tree.children(one, "det", "poss", "nummod") and tree[one].lemma not in SOMEONE for one in nouns)


def _may_be_opened(tree: ParseTree, above: int, before: list[str]) -> bool:
    """Whether a verb of saying is no filler ("you know"), no question, and in no clause that lacks a word."""
    subject = [tree[one].text.lower() for one in tree.children(above, "nsubj")]
    filler = tree[above].lemma in {"know", "see", "mean"} and subject == ["you"]
    filler |= tree[above].lemma == "know" and subject == ["i"] and bool(tree.children(above, "neg"))
    return not filler and not set(before) & _WH and not any(node.text == "?" for node in tree.nodes)
