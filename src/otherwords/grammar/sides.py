"""Sides of a verb: who stands before it and who after it, read off the words where a parse goes wrong.

A parser that takes "kitten" for an adjective or "waves" for a noun finds no subject; the order of words still tells.
Around the same verb an exchange is sure. Around others it is a suspicion, a crossing: "a goat chases a toddler", "a
toddler runs after a goat".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .participants import lives
from .roles import BOTH_WAYS, MUTUAL, Roles
from .verb_relations import CONVERSE, JOINING, SYMMETRIC, TURNED, are_synonyms, base_verb, same_both_ways

_NOUNS = {"NOUN", "PROPN", "PRON"}
#: Where a clause begins.
_BORDERS = {"PUNCT", "CCONJ", "SCONJ"}
_RELATIVE = {"who", "whom", "which", "that", "whose"}
_BE = {"be", "been", "being", "is", "are", "was", "were", "get", "gets", "got", "'s", "'re"}
#: Within a phrase, before its noun.
_IN_PHRASE = {"DET", "ADJ", "NUM", "NOUN", "PROPN"}
_LIKE_PREPOSITIONS = {"than", "to", "like", "before", "after"}
_SAME_CASE = {"towards": "to", "toward": "to", "into": "to", "onto": "on", "upon": "on", "of": "'s"}
#: How the one whom it concerns may be marked.
_CONCERNED = {"", "to", "at", "after", "against", "for", "on", "over", "across"}
#: A clause ends before these.
_CLAUSE_ENDS = {",", ";", "."}
_AGENT_WITHIN = 10
#: Pronouns for somebody else than the subject; tags of nouns and of pronouns for persons; parts with converse words.
_OTHERS = {"him", "her", "them"}
_TAGS = {"NN", "NNS", "NNP", "NNPS", "PRP"}
_BEFORE, _AFTER = {"before", "earlier", "ahead"}, {"after", "later", "behind"}
_TELLING_PARTS = {"VERB", "ADJ", "ADV", "NOUN"}


class _Sides(NamedTuple):
    """A verb, the preposition after it if there is one, and the nodes of those before and after it."""

    verb: str
    preposition: str
    doer: int
    other: int


def sides_exchanged(old: ParseTree, new: ParseTree) -> Iterator[tuple[str, str]]:
    """What stands around a verb in one text, and the other way round in the other, as both texts have it.

    >>> from .parsing import parser
    >>> texts = ["A kitten licks a puppy.", "A puppy licks a kitten."]
    >>> list(sides_exchanged(*(ParseTree(*both) for both in zip(texts, parser()(texts)))))
    [('"kitten" licks "puppy"', '"puppy" licks "kitten"')]
    """
    nouns = {tree[at].lemma.lower() for tree in (old, new) for at in _nouns(tree)}
    before, after = (list(_read(tree, nouns)) for tree in (old, new))
    for one in before:
        pair = _pair(old, one)
        for other in after:
            if one.preposition != other.preposition or one.preposition in {"than", *MUTUAL}:  # than: read elsewhere
                continue
            if not _may_correspond(one.verb, other.verb):
                continue
            if _pair(new, other) == pair[::-1] and not any(_pair(new, some) == pair for some in after):
                yield _shown(old, one), _shown(new, other)


def _may_correspond(verb: str, other: str) -> bool:
    return (verb == other or are_synonyms(verb, other)) and not same_both_ways(verb, other)


def _pair(tree: ParseTree, one: _Sides) -> tuple[str, str]:
    first, second = tree[one.doer].lemma.lower(), tree[one.other].lemma.lower()
    return (first, second) if first != second else (_told_apart(tree, one.doer), _told_apart(tree, one.other))


def _told_apart(tree: ParseTree, noun: int) -> str:
    """A noun with what it wears or has: "player in white"."""
    after = [at for at in range(noun + 1, min(noun + 4, len(tree.nodes))) if tree[at].pos != "DET"]
    wears = len(after) > 1 and tree[after[0]].text.lower() in {"in", "with"}
    return " ".join([tree[noun].lemma.lower(), *([tree[after[1]].lemma.lower()] if wears else [])])


def _shown(tree: ParseTree, one: _Sides) -> str:
    words = " ".join(filter(None, [one.verb, one.preposition]))
    verb = next((node.text for node in tree.nodes if _verb(node.text) == one.verb), one.verb)
    return f'"{tree[one.doer].text}" {verb if not one.preposition else words} "{tree[one.other].text}"'


def _nouns(tree: ParseTree) -> list[int]:
    return [at for at, node in enumerate(tree.nodes) if node.pos in _NOUNS]


def _read(tree: ParseTree, nouns: set[str]) -> Iterator[_Sides]:
    """The sides of each verb; after a passive with "by" they are exchanged."""
    some_verb = any(node.pos == "VERB" for node in tree.nodes)
    for at, node in enumerate(tree.nodes):
        may_be = node.pos == "VERB" or (not some_verb and node.text.lower() != _verb(node.text) != "")
        first = _before(tree, at, nouns) if may_be and at else None
        if first is None:
            continue
        preposition, other = _after(tree, at, nouns, is_passive := _is_passive(tree, at))
        if other is not None and _told_apart(tree, first) != _told_apart(tree, other):
            yield _Sides(_verb(node.text), preposition, *((other, first) if is_passive else (first, other)))


@lru_cache(maxsize=1 << 14)
def _verb(word: str) -> str:
    return next(iter(lexicon().base_forms(word.lower(), "v")), "")


def _is_passive(tree: ParseTree, verb: int) -> bool:
    at = verb - 1
    while at > 0 and tree[at].pos in {"ADV", "PART"}:
        at -= 1
    return tree[verb].tag in {"VBN", "VBD"} and tree[at].text.lower() in _BE


def _before(tree: ParseTree, verb: int, nouns: set[str]) -> int | None:
    """The subject: the first noun of the clause without a preposition before it, at the end of its own phrase."""
    at = _clause_start(tree, verb)
    while at < verb:
        if tree[at].pos in {"ADP", "VERB"}:
            return None
        if tree[at].lemma.lower() in nouns and tree[at].text.lower() != "her":
            return _end(tree, at, verb, nouns)
        at += 1
    return None


def _clause_start(tree: ParseTree, verb: int) -> int:
    start = verb
    while start and tree[start - 1].pos not in _BORDERS and tree[start - 1].text.lower() not in _RELATIVE:
        start -= 1
    return start


def _after(tree: ParseTree, verb: int, nouns: set[str], passive: bool) -> tuple[str, int | None]:
    """The noun after a verb with the preposition before it; after a passive the one with "by"."""
    at, preposition = verb + 1, ""
    if passive:
        agents = [one for one in range(at, len(tree.nodes)) if tree[one].text.lower() == "by"]
        if not agents or any(tree[one].pos in _BORDERS for one in range(at, agents[0])):
            return "", None
        at = agents[0] + 1
    elif at < len(tree.nodes) and tree[at].pos in {"ADP", "PART"}:
        at, preposition = at + 1, tree[at].text.lower()
    while at < len(tree.nodes) and tree[at].pos in {"DET", "ADJ", "ADV", "NUM", "PRON", *_NOUNS}:
        if tree[at].lemma.lower() in nouns and tree[at].tag != "PRP$":
            return preposition, _end(tree, at, len(tree.nodes), nouns)
        at += 1
    return "", None


def _end(tree: ParseTree, at: int, limit: int, nouns: set[str]) -> int:
    """The last noun of a phrase: the kid of "the neighbor's kid"."""
    while at + 1 < limit and (tree[at + 1].lemma.lower() in nouns or tree[at + 1].tag == "POS"):
        at += 1
    return at


# Crossings: two that stand the other way round, whichever verb is between them


class Crossing(NamedTuple):
    """Two names that one text has in this order, and the other the other way round.

    `alike` is whether they have each other's case, so that they may have exchanged their roles. `facing` is whether
    both are alive and the one acts on the other in both texts, whatever words say so.
    """

    first: str
    second: str
    alike: bool
    facing: bool


class _Standing(NamedTuple):
    """Where a name stands, its order as in the active, the preposition before its phrase, the noun that it is of."""

    at: int
    order: int
    case: str
    holder: str


def crossings(old: Roles, new: Roles, names: Mapping[int, str], other_names: Mapping[int, str]) -> list[Crossing]:
    """Pairs of names in one clause that may have exchanged their roles: nothing that was read says they have not."""
    before, after = _standing(old.tree, names), _standing(new.tree, other_names)
    places, others = _places(old, names), _places(new, other_names)
    if _converse_words(old.tree, new.tree):
        return []
    free = [
        name for name in sorted(before.keys() & after.keys()) if not places.get(name, set()) & others.get(name, set())
    ]
    return [
        found
        for one, other in combinations(free, 2)
        if (found := _crossing(old.tree, new.tree, one, other, before, after))
    ]


def _crossing(
    old: ParseTree, new: ParseTree, one: str, other: str, before: dict[str, _Standing], after: dict[str, _Standing]
) -> Crossing | None:
    if before[one].order > before[other].order:
        one, other = other, one
    first, second, first_now, second_now = before[one], before[other], after[one], after[other]
    both = [first, second, first_now, second_now]
    if {name.case for name in both} & (MUTUAL | {"as"}):
        return None
    if not (_one_clause(old, first.at, second.at) and _one_clause(new, first_now.at, second_now.at)):
        return None
    turned = first_now.order > second_now.order
    swapped = (first.case, second.case) == (second_now.case, first_now.case) and "'s" not in (first.case, second.case)
    of_one_kind = bool(first.holder) and len({name.holder for name in both}) == 1  # "a man in red hugs a man in blue"
    alike = swapped and (first.case != second.case or (turned and (not first.case or of_one_kind)))
    acts = turned and not first.case and not second_now.case and {second.case, first_now.case} <= _CONCERNED
    facing = (alike or acts) and lives(old, first.at) and lives(old, second.at)
    return Crossing(one, other, alike, facing) if turned or alike else None


def _standing(tree: ParseTree, names: Mapping[int, str]) -> dict[str, _Standing]:
    """Where each name stands; an owner stands where the pronoun for it does: "Ann's aunt called her"."""
    pronouns = [at for at, node in enumerate(tree.nodes) if node.tag == "PRP" and node.text.lower() in _OTHERS]
    found = {}
    for at, name in names.items():
        coloured = tree[at].pos == "ADJ" and at > 0 and tree[at - 1].text.lower() == "in"
        if not coloured and (tree[at].pos not in _NOUNS or tree[at].tag not in _TAGS):
            continue
        place = at
        if _case(tree, at) == "'s" and tree[at].pos != "PRON":
            place = next((one for one in pronouns if one > at), at)
        found[name] = _Standing(place, place, _case(tree, place), _holder(tree, place))
    for start, verb, agent, end in _passives(tree):
        for name, one in found.items():
            if start <= one.at < verb:
                found[name] = one._replace(order=one.order + len(tree.nodes))
            elif agent < one.at < end:
                found[name] = one._replace(order=one.order - len(tree.nodes), case=one.case.replace("by", ""))
    return found


def _holder(tree: ParseTree, at: int) -> str:
    """The noun before "in" or "with" and a phrase: the man in white."""
    while at > 1 and tree[at - 1].pos in _IN_PHRASE:
        at -= 1
    if at > 1 and tree[at - 1].text.lower() in {"in", "with"} and tree[at - 2].pos == "NOUN":
        return tree[at - 2].lemma.lower()
    return ""


def _case(tree: ParseTree, at: int) -> str:
    """The preposition before the phrase of a noun; "'s" of an owner, "to" of a receiver."""
    if (at + 1 < len(tree.nodes) and tree[at + 1].tag == "POS") or tree[at].tag == "PRP$":
        return "'s"
    if tree[at].dep == "dative":
        return "to"
    at -= 1
    while at >= 0 and (tree[at].pos in _IN_PHRASE or tree[at].tag in {"POS", "PRP$"}):
        at -= 1
    word = tree[at].text.lower()
    if at < 0 or (tree[at].pos != "ADP" and word not in _LIKE_PREPOSITIONS):
        return ""
    if word in MUTUAL and tree[at - 1].pos == "ADJ" and tree[at - 1].lemma not in BOTH_WAYS:
        return f"adjective {word}"
    return _SAME_CASE.get(word, word)


def _passives(tree: ParseTree) -> Iterator[tuple[int, int, int, int]]:
    """Where a passive clause begins, its verb, its "by", and where the phrase after that ends."""
    for verb, node in enumerate(tree.nodes):
        if not _is_passive(tree, verb) and not (node.tag == "VBN" and node.dep in {"acl", "advcl", "relcl"}):
            continue
        after = range(verb + 1, min(len(tree.nodes), verb + _AGENT_WITHIN))
        agent = next((at for at in after if tree[at].text.lower() == "by"), None)
        if agent is None or any(tree[at].text in _CLAUSE_ENDS for at in range(verb, agent)):
            continue
        start = node.head if node.dep == "acl" and node.head < verb else _clause_start(tree, verb)
        end = agent + 1
        while end < len(tree.nodes) and (tree[end].pos in {*_IN_PHRASE, "PRON"} or tree[end].tag == "POS"):
            end += 1
        yield start, verb, agent, end


def _places(found: Roles, names: Mapping[int, str]) -> dict[str, set[tuple[str, str]]]:
    """The places of each name, by the words that they belong to."""
    known: dict[str, set[tuple[str, str]]] = {}
    for node, places in found.places.items():
        if node in names:
            own = {(role, names.get(at) or found.tree[at].lemma.lower()) for role, at in places}
            known.setdefault(names[node], set()).update(own)
    return known


def _one_clause(tree: ParseTree, one: int, other: int) -> bool:
    """Whether something stands between two, without a border of clauses, that does not say the same both ways."""
    between = tree.nodes[min(one, other) + 1 : max(one, other)]
    if any(node.pos in {"CCONJ", "SCONJ"} or node.text in _CLAUSE_ENDS for node in between):
        return False
    if any(node.text.lower() in _RELATIVE or node.tag == "WRB" for node in between):
        return False
    lemmas = {node.lemma.lower() for node in between}
    if lemmas & ((SYMMETRIC | BOTH_WAYS | JOINING) - {"be"}):
        return False
    telling = any(node.pos in {"VERB", "ADP"} or node.tag in {"POS", "JJR", "RBR"} for node in between)
    return telling or any(node.pos == "NOUN" and _verb(node.text) for node in between)


def _converse_words(old: ParseTree, new: ParseTree) -> bool:
    """Whether one text has a word that says what one of the other says, the other way round."""
    words, others = (
        {base_verb(node.text.lower(), node.lemma.lower()) for node in tree.nodes if node.pos in _TELLING_PARTS}
        for tree in (old, new)
    )
    lost, gained = words - others, others - words
    if _ordered(old) * _ordered(new) < 0:
        return True
    if any(frozenset((one, other)) in CONVERSE or other in lexicon().antonyms(one) for one in lost for other in gained):
        return True
    return bool({"less", "few", "fewer"} & (lost ^ gained)) or _is_turned(old) != _is_turned(new)


def _ordered(tree: ParseTree) -> int:
    """How often a text says "before" rather than "after"."""
    return sum(node.text.lower() in _BEFORE for node in tree.nodes) - sum(
        node.text.lower() in _AFTER for node in tree.nodes
    )


def _is_turned(tree: ParseTree) -> bool:
    """Whether the subject is the one whom it concerns, somewhere: "lost to", "got it from"."""
    words = {node.text.lower() for node in tree.nodes}
    verbs = [base_verb(node.text.lower(), node.lemma.lower()) for node in tree.nodes if node.pos == "VERB"]
    return any(preposition in words for verb, preposition in TURNED if verb in verbs)
