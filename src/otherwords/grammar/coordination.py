"""What "and" and "or" join, in another order: "a man and a woman" is "a woman and a man"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..words.lexicon import lexicon
from .parsing import Tree
from .phrases import PLACE_AND_TIME, SCOPE, has_pronoun, has_scope
from .rewriting import Rewriting, in_order, replaced
from .voice import NO_AGENTS

# MERGED from grammar.set_phrases: Words joined by "and" that have an order of their own, or a name: bread and butter, safe and sound.

_SET_PAIRS = """
    bread/butter mac/cheese macaroni/cheese rock/roll salt/pepper fish/chips black/white bed/breakfast ladies/gentlemen
    bow/arrow hide/seek peanut/jelly cup/saucer knife/fork back/forth pros/cons arts/crafts cowboys/indians ups/downs
    hip/hop tug/war day/night cause/effect trial/error cat/mouse bacon/eggs country/western surf/turf law/order
    husband/wife bride/groom mr./mrs. milk/cookies cops/robbers mom/pop mom/pops mom/dad tooth/nail flesh/blood
    heart/soul body/soul gin/tonic rum/coke ham/eggs skin/bone skin/bones odds/ends bits/pieces nuts/bolts pins/needles
    ins/outs highs/lows wear/tear life/limb life/death supply/demand profit/loss research/development needle/thread
    lock/key thunder/lightning pen/paper adam/eve romeo/juliet simon/garfunkel barnes/noble procter/gamble
    bosnia/herzegovina trinidad/tobago antigua/barbuda serbia/montenegro sodom/gomorrah
    brown/williamson ernst/young deloitte/touche
    sick/tired safe/sound red/blue high/dry short/sweet dead/gone alive/well free/clear first/foremost loud/clear
    rich/famous fair/square hale/hearty alive/kicking
"""
_PAIRS = {frozenset(pair.split("/")) for pair in _SET_PAIRS.split()}
_LATER = """
    subsequent second third later latter former resulting following associated next final consequent ensuing last then
    remaining corresponding respective related things stuff rest surrounding adjacent neighboring
"""
#: What says that one thing comes after another, or out of it, or that there are more.
IN_ORDER = frozenset(_LATER.split())


def is_set_pair(words: list[str]) -> bool:
    """Whether the first and the last of some joined words, in small letters, are a set phrase.

    >>> is_set_pair(["red", "white", "blue"]), is_set_pair(["dogs", "cats"])
    (True, False)
    """
    return frozenset({words[0], words[-1]}) in _PAIRS


# MERGED from grammar.conjuncts: Which conjuncts may change places: those that share no word, refer to nothing, and have no order in time.

#: The first and the last word of each conjunct.
Spans = list[tuple[int, int]]
_PLACES = {"nsubj", "nsubjpass", "dobj", "pobj", "attr", "ROOT"}
_STATES = """
    sitting standing lying kneeling leaning smiling laughing talking chatting singing waving holding wearing watching
    listening reading waiting drinking eating walking dancing cheering clapping crying
"""
#: Progressive forms of what goes on beside something else, and leads to nothing.
_AT_THE_SAME_TIME = frozenset(_STATES.split())
#: Of these only alone: "walking into a room and sitting on a chair".
_ALONE = {"walking", "dancing"}
#: Before "and" and an adjective: "nice and hot" is how hot it is.
_HOW_MUCH = {"nice", "good"}
#: Nouns that may be adjectives of the noun behind "and": "a male and a female cyclist".
_HALF = {"male", "female", "adult", "teenage", "blond", "blonde", "brunette", "black", "white"}
_WHOLE = "people person group family couple friend animal thing kid child adult item"
#: Nouns that what comes behind a comma may explain: "three people, two boys and a girl".
_EXPLAINED = frozenset(_WHOLE.split())
_QUOTES = {'"', "“", "”", "``", "''"}
_FINITE = {"VBZ", "VBP", "VBD", "MD"}


def may_swap_nouns(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether nouns of one kind are joined, none of which shares a word with the others or refers to them."""
    if tree[chain[0]].dep not in _PLACES or any(tree[one].pos not in {"NOUN", "PROPN"} for one in chain):
        return False
    if (
        _is_range(tree, chain)
        or any(has_pronoun(tree, one) for one in chain)
        or _quantified(tree, spans)
        or _set_phrase(tree, chain)
    ):
        return False
    alone = all(first == last for first, last in spans)
    own = all(tree.children(one, "det", "nummod") for one in chain) or _are_names(tree, chain)
    heads_last = all(last == one for (_, last), one in zip(spans, chain, strict=True))
    sound = heads_last and not _takes_up(tree, spans) and not _miscounted(tree, chain) and not _verbal(tree, chain)
    return (alone or own) and sound and _agrees(tree, chain) and _ends(tree, chain[0], spans[-1][1])


def may_swap_adjectives(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether plain adjectives are joined behind a form of "be", at the end of a sentence."""
    head = tree[chain[0]].head
    if tree[chain[0]].dep != "acomp" or tree[head].lemma != "be" or has_scope(tree, head):
        return False
    words = [tree[one].text.lower() for one in chain]
    if is_set_pair(words) or words[0] in _HOW_MUCH:
        return False
    last = chain[-1] + 1 == len(tree.nodes) or tree[chain[-1] + 1].tag == "."
    return last and all(first == end for first, end in spans) and all(tree[one].tag == "JJ" for one in chain)


def may_swap_verbs(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether progressive forms are joined that share subject and auxiliary, and so go on at the same time."""
    root, others = chain[0], chain[1:]
    if tree[root].dep != "ROOT" or any(tree[one].tag != "VBG" for one in chain) or has_scope(tree, root):
        return False
    if not tree.children(root, "aux") or any(tree.children(one, "aux", "nsubj", "mark") for one in others):
        return False
    words = {tree[one].text.lower() for one in chain}
    if not words <= _AT_THE_SAME_TIME or _takes_up(tree, spans):
        return False
    inside = [tree[one] for first, last in spans for one in range(first, last + 1)]
    if any(node.tag in {"PRP", "PRP$"} or node.pos in {"PUNCT", "SCONJ"} for node in inside):
        return False
    alone = [first == last for first, last in spans]  # "singing and dancing on a stage": who knows what is on a stage
    return all(alone) or not (any(alone) or words & _ALONE)


def _set_phrase(tree: Tree, chain: list[int]) -> bool:
    """Whether the conjuncts are a set phrase, a quotation, or not what the parser takes them for."""
    words = [tree[one].text.lower() for one in chain]
    if is_set_pair(words) or not _HALF.isdisjoint(words):
        return True
    if any(word.endswith(("ing", ".")) for word in words):  # "playing guitars and singing", "A. and B."
        return True
    if any(node.text in _QUOTES or node.text.lower() == "respectively" for node in tree.nodes):
        return True
    if tree[chain[0]].dep == "pobj" and tree[tree[tree[chain[0]].head].head].named:  # "the Office of Air and Radiation"
        return True
    named = {tree[one].named for one in chain}
    title = named == {False} and any(tree[one].text[:1].isupper() for one in chain[1:])
    return len(named) > 1 or title or (len(chain) > 2 and tree[chain[0]].lemma.lower() in _EXPLAINED)


def _are_names(tree: Tree, chain: list[int]) -> bool:
    """Whether all conjuncts are names, of one word each or of several: "East and West Germany" share one."""
    built = {bool(tree.children(one, "compound")) for one in chain}
    return len(built) == 1 and all(_name(tree, one) for one in chain)


def _name(tree: Tree, at: int) -> bool:
    """Whether a conjunct is a name of one word or several, without an article that others may share."""
    below = set(tree.children(at)) - set(tree.children(at, "conj", "cc", "punct", "compound"))
    return tree[at].named and not below


def _quantified(tree: Tree, spans: Spans) -> bool:
    """Whether quantifier, negation or a word of order is in a conjunct; "both" before them all may be."""
    return any(tree[one].text.lower() in SCOPE | IN_ORDER for first, last in spans for one in range(first, last + 1))


def _takes_up(tree: Tree, spans: Spans) -> bool:
    """Whether a later conjunct names with "the" what the first has introduced."""
    (first, end), *later = spans
    introduced = {tree[one].lemma for one in range(first, end + 1) if tree[one].pos == "NOUN"}
    inside = [tree[one] for start, last in later for one in range(start, last + 1)]
    definite = any(node.text.lower() in {"the", "this", "that", "these", "those"} for node in inside)
    return definite and any(node.pos == "NOUN" and node.lemma in introduced for node in inside)


def _miscounted(tree: Tree, chain: list[int]) -> bool:
    """Whether "one" stands before a plural, where the parser took a clause for a noun: "and one falls"."""
    ones = [one for one in chain if any(tree[n].text.lower() == "one" for n in tree.children(one, "nummod"))]
    return any(tree[one].tag == "NNS" for one in ones)


def _verbal(tree: Tree, chain: list[int]) -> bool:
    """Whether the last noun may be a verb after all: "the guy plays golf and walks", "they join arms and dance"."""
    last = tree[chain[-1]]
    bare = tree[chain[0]].dep == "dobj" and not tree.children(chain[-1]) and last.tag != tree[chain[0]].tag
    swallowed = tree[chain[0]].dep == "ROOT" and bool(tree.children(chain[-1], "compound"))  # "two men and a dog run"
    return (bare or swallowed) and lexicon().knows(last.text, "v")


def _agrees(tree: Tree, chain: list[int]) -> bool:
    """Whether a verb that looks at the nearest conjunct, beside "or" and "there", finds the same number."""
    either = any(tree[one].text.lower() == "or" for part in chain for one in tree.children(part, "cc"))
    if not either and _singular_verb(tree, chain[0]):  # "Romeo and Juliet is a play"
        return False
    nearest = either or any(node.dep == "expl" for node in tree.nodes)
    return not nearest or len({tree[one].tag for one in chain}) == 1


def _singular_verb(tree: Tree, subject: int) -> bool:
    """Whether a subject has a verb that takes it for one thing."""
    verb = tree[subject].head
    words = [tree[one] for one in (verb, *tree.children(verb, "aux", "auxpass"))]
    one = any(node.tag == "VBZ" or node.text.lower() == "was" for node in words)
    return one and tree[subject].dep in {"nsubj", "nsubjpass"}


def _ends(tree: Tree, first: int, last: int) -> bool:
    """Whether nothing hangs on the conjuncts behind the last, and what follows cannot be taken for a part of it."""
    if any(one > last and tree[one].dep != "punct" for one in tree.subtree(first)):
        return False
    if last + 1 == len(tree.nodes) or tree[last + 1].tag == ".":
        return True
    after = tree[last + 1]
    if after.tag in _FINITE:
        return _is_subject(tree, first, last) and not _follows_verb(tree, first)
    return after.text.lower() in PLACE_AND_TIME or (after.tag in {"IN", "TO"} and tree[first].named)


def _follows_verb(tree: Tree, at: int) -> bool:
    """Whether the first of joined nouns may be the object of a verb: "plan trips and guides can plan"."""
    before = tree.subtree(at)[0] - 1
    return before >= 0 and tree[before].pos == "VERB"


def _is_range(tree: Tree, chain: list[int]) -> bool:
    """Whether nouns say from when to when, or from where on how much: "between January and March"."""
    times = any(tree[one].text.lower() in NO_AGENTS or tree.children(one, "nummod") for one in chain)
    return times and tree[tree[chain[0]].head].text.lower() in {"between", "from"}


def _is_subject(tree: Tree, at: int, last: int) -> bool:
    """Whether conjuncts are in the subject of the verb behind them, and that verb does not begin a second clause."""
    while tree[at].head != at and tree[at].dep not in {"nsubj", "nsubjpass"}:
        at = tree[at].head
    return tree[at].dep in {"nsubj", "nsubjpass"} and tree[at].head > last


# MERGED from grammar.coordination: What "and" and "or" join, in another order: "a man and a woman" is "a woman and a man".

#: Conjuncts; more are a list, which may be in order of something.
_MOST = 4


def swap_conjuncts(tree: Tree) -> Iterator[Rewriting]:
    """Noun phrases, adjectives and progressive verbs that are joined, the first in the place of the last.

    >>> from .parsing import parser
    >>> text = "A man and two women are smiling and waving."
    >>> [nodes] = parser()([text])
    >>> for one in swap_conjuncts(Tree(text, nodes)):
    ...     print(one.made(text))
    Two women and a man are smiling and waving.
    A man and two women are waving and smiling.
    """
    for at in range(len(tree.nodes)):
        chain = _chain(tree, at)
        spans = [span for part in chain if (span := _span(tree, part))]
        if not chain or len(spans) < len(chain) or not _separated(tree, spans):
            continue
        if any(may(tree, chain, spans) for may in (may_swap_nouns, may_swap_adjectives, may_swap_verbs)):
            (first, end), (start, last) = spans[0], spans[-1]
            between = tree.text[tree[end].end : tree[start].start]
            pieces = [(tree.stretch(start, last), start), (between, None), (tree.stretch(first, end), first)]
            yield replaced(tree, "coordination swap", first, last, in_order(tree, pieces, ""))


def _chain(tree: Tree, at: int) -> list[int]:
    """What is joined, from a first conjunct on; nothing where it is not joined by one "and" or "or" before the last."""
    chain = [at]
    while below := tree.children(chain[-1], "conj"):
        if len(below) > 1:
            return []
        chain += below
    words = [tree[one].text.lower() for part in chain for one in tree.children(part, "cc")]
    joined = tree[at].dep != "conj" and 2 <= len(chain) <= _MOST and words in (["and"], ["or"])
    return chain if joined else []


def _span(tree: Tree, part: int) -> tuple[int, int] | None:
    """The first and last word of a conjunct without the others, and without "both" before it."""
    apart = tree.children(part, "conj", "cc", "preconj", "punct")
    left_out = {one for child in apart for one in tree.subtree(child)}
    mine = [one for one in tree.subtree(part) if one not in left_out]
    if tree[part].pos == "VERB":  # subject and auxiliaries belong to all
        mine = [one for one in mine if one >= part]
    return (mine[0], mine[-1]) if mine and mine[-1] - mine[0] + 1 == len(mine) else None


def _separated(tree: Tree, spans: list[tuple[int, int]]) -> bool:
    """Whether the conjuncts differ, and nothing but commas and the conjunction is between them."""
    gaps = [[tree[at].text.lower() for at in range(before[1] + 1, after[0])] for before, after in pairwise(spans)]
    inner, last = all(gap == [","] for gap in gaps[:-1]), " ".join(gaps[-1])
    ends = {"and", "or"} if len(spans) == 2 else {"and", "or", ", and", ", or"}
    return inner and last in ends and tree.stretch(*spans[0]).lower() != tree.stretch(*spans[-1]).lower()
