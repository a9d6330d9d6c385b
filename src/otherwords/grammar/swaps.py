"""Phrases that change places: conjuncts ("a man and a woman"), and the two sides of "X is the Y"."""

from collections.abc import Iterator
from itertools import pairwise

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .phrases import BE_FORMS, PLACE_AND_TIME, SCOPE, has_pronoun, has_scope, is_definite, is_plural, trailing_modifiers
from .rewriting import Rewriting, join_reordered, rewrite_span
from .voice import NO_AGENTS

#: The first and the last node of each conjunct.
Spans = list[tuple[int, int]]
#: More conjuncts are a list, which may be in some order.
_MAX_CONJUNCTS = 4
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
#: Words joined by "and" that are a name or have a fixed order: bread and butter, safe and sound.
_SET_PHRASES = {frozenset(pair.split("/")) for pair in _SET_PAIRS.split()}
_LATER = """
    subsequent second third later latter former resulting following associated next final consequent ensuing last then
    remaining corresponding respective related things stuff rest surrounding adjacent neighboring
"""
#: Words that say that one thing comes after another or results from it, or that there are more.
_IN_SEQUENCE = frozenset(_LATER.split())
_NOUN_ROLES = {"nsubj", "nsubjpass", "dobj", "pobj", "attr", "ROOT"}
_STATES = """
    sitting standing lying kneeling leaning smiling laughing talking chatting singing waving holding wearing watching
    listening reading waiting drinking eating walking dancing cheering clapping crying
"""
#: Progressive forms of what goes on at the same time as something else, and leads to nothing.
_SIMULTANEOUS = frozenset(_STATES.split())
#: Of these only without an object or place: "walking into a room and sitting on a chair" is a sequence.
_ONLY_ALONE = {"walking", "dancing"}
#: Before "and" and an adjective these say how much: "nice and hot".
_DEGREE = {"nice", "good"}
#: Nouns that may be adjectives of the noun after "and": "a male and a female cyclist".
_MAYBE_ADJECTIVES = {"male", "female", "adult", "teenage", "blond", "blonde", "brunette", "black", "white"}
_WHOLE = "people person group family couple friend animal thing kid child adult item"
#: Nouns that the words after a comma may explain: "three people, two boys and a girl".
_EXPLAINED = frozenset(_WHOLE.split())
_QUOTES = {'"', "“", "”", "``", "''"}
_FINITE = {"VBZ", "VBP", "VBD", "MD"}
#: Nouns that say what something is like rather than which it is.
_NO_ROLE = {"one", "kind", "type", "sort", "color", "colour", "way", "reason", "case", "size", "shape", "age", "time",
            "day", "part", "end"}  # fmt: skip


def swap_conjuncts(tree: ParseTree) -> Iterator[Rewriting]:
    """Joined noun phrases, adjectives or progressive verbs: the first and the last change places.

    >>> from .parsing import parser
    >>> text = "A man and two women are smiling and waving."
    >>> [nodes] = parser()([text])
    >>> for one in swap_conjuncts(ParseTree(text, nodes)):
    ...     print(one.apply(text))
    Two women and a man are smiling and waving.
    A man and two women are waving and smiling.
    """
    for at in range(len(tree.nodes)):
        chain = _chain(tree, at)
        spans = [span for part in chain if (span := _span(tree, part))]
        if not chain or len(spans) < len(chain) or not _are_separate(tree, spans):
            continue
        if any(may(tree, chain, spans) for may in (_may_swap_nouns, _may_swap_adjectives, _may_swap_verbs)):
            (first, end), (start, last) = spans[0], spans[-1]
            between = tree.text[tree[end].end : tree[start].start]
            pieces = [(tree.stretch(start, last), start), (between, None), (tree.stretch(first, end), first)]
            yield rewrite_span(tree, "coordination swap", first, last, join_reordered(tree, pieces, ""))


def swap_definite(tree: ParseTree) -> Iterator[Rewriting]:
    """Sentences of two definite phrases and a form of "be" between them: the phrases change places.

    >>> from .parsing import parser
    >>> text = "Iggy Pop was the lead singer of the Stooges."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in swap_definite(ParseTree(text, nodes))]
    ['The lead singer of the Stooges was Iggy Pop.']
    """
    for verb in tree.roots():
        match tree.clause(verb):
            case [subject], [other] if (tree[subject].dep, tree[other].dep) == ("nsubj", "attr"):
                if tree[verb].text in BE_FORMS.values() and _are_identical(tree, subject, other):
                    first, second, last = tree.subtree(subject)[0], tree.subtree(other)[0], tree.subtree(other)[-1]
                    pieces = [(tree.phrase(other), second), (tree[verb].text, None), (tree.phrase(subject), first)]
                    yield rewrite_span(tree, "definite swap", first, last, join_reordered(tree, pieces))


# Definite descriptions


def _are_identical(tree: ParseTree, subject: int, other: int) -> bool:
    """Whether the sentence says that two things are the same one."""
    if not (is_definite(tree, subject) and is_definite(tree, other)):
        return False
    if is_plural(tree, subject) is None or is_plural(tree, subject) != is_plural(tree, other):
        return False
    if any(has_pronoun(tree, one) or has_scope(tree, one) or _has_attachment(tree, one) for one in (subject, other)):
        return False
    return not _NO_ROLE & {tree[subject].lemma.lower(), tree[other].lemma.lower()}


def _has_attachment(tree: ParseTree, at: int) -> bool:
    """Whether a phrase has a clause, a comma or a second noun, or a modifier that may belong to another word."""
    return bool(trailing_modifiers(tree, at)) or any(
        tree[one].pos == "PUNCT" or tree[one].dep == "relcl" for one in tree.subtree(at)
    )


# Conjuncts


def _chain(tree: ParseTree, at: int) -> list[int]:
    """The conjuncts from the first on; empty where not exactly one "and" or "or" joins them, before the last."""
    chain = [at]
    while below := tree.children(chain[-1], "conj"):
        if len(below) > 1:
            return []
        chain += below
    words = [tree[one].text.lower() for part in chain for one in tree.children(part, "cc")]
    joined = tree[at].dep != "conj" and 2 <= len(chain) <= _MAX_CONJUNCTS and words in (["and"], ["or"])
    return chain if joined else []


def _span(tree: ParseTree, part: int) -> tuple[int, int] | None:
    """The first and last node of a conjunct without the others and without "both"; None if not contiguous."""
    others = tree.children(part, "conj", "cc", "preconj", "punct")
    left_out = {one for child in others for one in tree.subtree(child)}
    inside = [one for one in tree.subtree(part) if one not in left_out]
    if tree[part].pos == "VERB":  # the conjuncts share subject and auxiliaries
        inside = [one for one in inside if one >= part]
    return (inside[0], inside[-1]) if inside and inside[-1] - inside[0] + 1 == len(inside) else None


def _are_separate(tree: ParseTree, spans: Spans) -> bool:
    """Whether the conjuncts differ, and nothing but commas and the conjunction is between them."""
    gaps = [[tree[at].text.lower() for at in range(before[1] + 1, after[0])] for before, after in pairwise(spans)]
    inner, last = all(gap == [","] for gap in gaps[:-1]), " ".join(gaps[-1])
    ends = {"and", "or"} if len(spans) == 2 else {"and", "or", ", and", ", or"}
    return inner and last in ends and tree.stretch(*spans[0]).lower() != tree.stretch(*spans[-1]).lower()


def _may_swap_nouns(tree: ParseTree, chain: list[int], spans: Spans) -> bool:
    """Whether the conjuncts are nouns that share no word and do not refer to each other."""
    if tree[chain[0]].dep not in _NOUN_ROLES or any(tree[one].pos not in {"NOUN", "PROPN"} for one in chain):
        return False
    if (
        _is_range(tree, chain)
        or any(has_pronoun(tree, one) for one in chain)
        or _has_quantifier(tree, spans)
        or _is_fixed(tree, chain)
    ):
        return False
    alone = all(first == last for first, last in spans)
    own = all(tree.children(one, "det", "nummod") for one in chain) or _are_names(tree, chain)
    heads_last = all(last == one for (_, last), one in zip(spans, chain, strict=True))
    sound = (
        heads_last
        and not _refers_back(tree, spans)
        and not _is_miscounted(tree, chain)
        and not _may_be_verb(tree, chain)
    )
    return (alone or own) and sound and _agrees(tree, chain) and _is_last(tree, chain[0], spans[-1][1])


def _may_swap_adjectives(tree: ParseTree, chain: list[int], spans: Spans) -> bool:
    """Whether the conjuncts are plain adjectives after a form of "be", at the end of a sentence."""
    head = tree[chain[0]].head
    if tree[chain[0]].dep != "acomp" or tree[head].lemma != "be" or has_scope(tree, head):
        return False
    words = [tree[one].text.lower() for one in chain]
    if _is_set_pair(words) or words[0] in _DEGREE:
        return False
    last = chain[-1] + 1 == len(tree.nodes) or tree[chain[-1] + 1].tag == "."
    return last and all(first == end for first, end in spans) and all(tree[one].tag == "JJ" for one in chain)


def _may_swap_verbs(tree: ParseTree, chain: list[int], spans: Spans) -> bool:
    """Whether the conjuncts are progressive verbs that share subject and auxiliary, and so go on at the same time."""
    root, others = chain[0], chain[1:]
    if tree[root].dep != "ROOT" or any(tree[one].tag != "VBG" for one in chain) or has_scope(tree, root):
        return False
    if not tree.children(root, "aux") or any(tree.children(one, "aux", "nsubj", "mark") for one in others):
        return False
    words = {tree[one].text.lower() for one in chain}
    if not words <= _SIMULTANEOUS or _refers_back(tree, spans):
        return False
    inside = [tree[one] for first, last in spans for one in range(first, last + 1)]
    if any(node.tag in {"PRP", "PRP$"} or node.pos in {"PUNCT", "SCONJ"} for node in inside):
        return False
    alone = [first == last for first, last in spans]  # "singing and dancing on a stage": is the singing on a stage?
    return all(alone) or not (any(alone) or words & _ONLY_ALONE)


def _is_fixed(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the conjuncts are a set phrase, a title or a quotation, or probably misparsed."""
    words = [tree[one].text.lower() for one in chain]
    if _is_set_pair(words) or not _MAYBE_ADJECTIVES.isdisjoint(words):
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


def _are_names(tree: ParseTree, chain: list[int]) -> bool:
    """Whether all conjuncts are names, each of one word or each of several: "East and West Germany" share one."""
    built = {bool(tree.children(one, "compound")) for one in chain}
    return len(built) == 1 and all(_is_name(tree, one) for one in chain)


def _is_name(tree: ParseTree, at: int) -> bool:
    """Whether a conjunct is a name without an article, which others may share."""
    below = set(tree.children(at)) - set(tree.children(at, "conj", "cc", "punct", "compound"))
    return tree[at].named and not below


def _has_quantifier(tree: ParseTree, spans: Spans) -> bool:
    """Whether a conjunct has a quantifier, a negation or a word for a sequence; "both" before the first may be."""
    return any(
        tree[one].text.lower() in SCOPE | _IN_SEQUENCE for first, last in spans for one in range(first, last + 1)
    )


def _refers_back(tree: ParseTree, spans: Spans) -> bool:
    """Whether a later conjunct refers with "the" to what the first introduces."""
    (first, end), *later = spans
    introduced = {tree[one].lemma for one in range(first, end + 1) if tree[one].pos == "NOUN"}
    inside = [tree[one] for start, last in later for one in range(start, last + 1)]
    definite = any(node.text.lower() in {"the", "this", "that", "these", "those"} for node in inside)
    return definite and any(node.pos == "NOUN" and node.lemma in introduced for node in inside)


def _is_miscounted(tree: ParseTree, chain: list[int]) -> bool:
    """Whether "one" comes before a plural, because the parser took a clause for a noun: "and one falls"."""
    ones = [one for one in chain if any(tree[n].text.lower() == "one" for n in tree.children(one, "nummod"))]
    return any(tree[one].tag == "NNS" for one in ones)


def _may_be_verb(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the last noun may be a verb: "the guy plays golf and walks", "they join arms and dance"."""
    last = tree[chain[-1]]
    bare = tree[chain[0]].dep == "dobj" and not tree.children(chain[-1]) and last.tag != tree[chain[0]].tag
    swallowed = tree[chain[0]].dep == "ROOT" and bool(tree.children(chain[-1], "compound"))  # "two men and a dog run"
    return (bare or swallowed) and lexicon().knows(last.text, "v")


def _agrees(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the verb still agrees: with "or" and "there" its number is that of the nearest conjunct."""
    either = any(tree[one].text.lower() == "or" for part in chain for one in tree.children(part, "cc"))
    if not either and _has_singular_verb(tree, chain[0]):  # "Romeo and Juliet is a play"
        return False
    nearest = either or any(node.dep == "expl" for node in tree.nodes)
    return not nearest or len({tree[one].tag for one in chain}) == 1


def _has_singular_verb(tree: ParseTree, subject: int) -> bool:
    """Whether a subject has a singular verb."""
    verb = tree[subject].head
    words = [tree[one] for one in (verb, *tree.children(verb, "aux", "auxpass"))]
    one = any(node.tag == "VBZ" or node.text.lower() == "was" for node in words)
    return one and tree[subject].dep in {"nsubj", "nsubjpass"}


def _is_last(tree: ParseTree, first: int, last: int) -> bool:
    """Whether the conjuncts have no modifier after the last, and what follows cannot be read as one."""
    if any(one > last and tree[one].dep != "punct" for one in tree.subtree(first)):
        return False
    if last + 1 == len(tree.nodes) or tree[last + 1].tag == ".":
        return True
    after = tree[last + 1]
    if after.tag in _FINITE:
        return _is_subject(tree, first, last) and not _follows_verb(tree, first)
    return after.text.lower() in PLACE_AND_TIME or (after.tag in {"IN", "TO"} and tree[first].named)


def _follows_verb(tree: ParseTree, at: int) -> bool:
    """Whether the first of joined nouns may be the object of a verb: "plan trips and guides can plan"."""
    before = tree.subtree(at)[0] - 1
    return before >= 0 and tree[before].pos == "VERB"


def _is_range(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the nouns are the ends of a range: "between January and March"."""
    times = any(tree[one].text.lower() in NO_AGENTS or tree.children(one, "nummod") for one in chain)
    return times and tree[tree[chain[0]].head].text.lower() in {"between", "from"}


def _is_subject(tree: ParseTree, at: int, last: int) -> bool:
    """Whether conjuncts are in the subject of the verb after them, and that verb does not begin a second clause."""
    while tree[at].head != at and tree[at].dep not in {"nsubj", "nsubjpass"}:
        at = tree[at].head
    return tree[at].dep in {"nsubj", "nsubjpass"} and tree[at].head > last


def _is_set_pair(words: list[str]) -> bool:
    """Whether the first and the last of some joined, lower-cased words are a set phrase.

    >>> _is_set_pair(["red", "white", "blue"]), _is_set_pair(["dogs", "cats"])
    (True, False)
    """
    return frozenset({words[0], words[-1]}) in _SET_PHRASES
