"""Participants: who acts and whom it concerns, whatever words say so; between persons the direction must stay.

"A man photographs a woman" and "A woman takes a picture of a man" share no verb, yet the one is not the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .phrases import names_animal, names_person
from .roles import BOTH_WAYS, Roles
from .verb_relations import TURNED, base_verb, is_converse, same_both_ways

#: Prepositions after which the one stands whom it concerns.
_TOWARDS = {"to", "at", "for", "after", "against", "of", "on", "about", "over"}
#: Whose thing one gets by these is whom one gets it from: "borrowed Tom's bicycle".
_GOT_FROM = {"borrow", "buy", "purchase", "inherit", "rent"}
#: What one suffers from the other.
_SUFFERED = {("defeat", "against"), ("loss", "against"), ("defeat", "to"), ("loss", "to")}
_SAYS_NOTHING = {"be", "have", "get", "go", "become", "seem"}
_PRONOUNS = {"i", "me", "you", "he", "him", "she", "her", "we", "us"}
#: What somebody who beats others has: more votes, a higher score.
_MORE = {"more", "many", "much", "good", "well", "high", "great", "fast", "far", "better", "higher", "faster"}
#: How the definition of a country or a body of people begins, which does what people do.
_ACTING = re.compile(
    r"(?:\(.*?\) ?)?(?:(?!of )\S+ ){0,4}?"
    r"(?:country|republic|institution|organi[sz]ation|team|government|army|committee)\b"
)


class Participants(NamedTuple):
    """Two participants by name, the subject first, and what is said of them with a preposition.

    It is `turned` where the subject is the one whom it concerns: "he lost to her", "he got it from her".
    """

    doer: str
    other: str
    predicate: str
    preposition: str
    turned: bool = False
    living: bool = True

    @property
    def ends(self) -> tuple[str, str]:
        """Who acts, and whom it concerns."""
        return (self.other, self.doer) if self.turned else (self.doer, self.other)


def directions_turned(
    old: Roles, new: Roles, names: Mapping[int, str], other_names: Mapping[int, str]
) -> Iterator[tuple[Participants, Participants]]:
    """Pairs of persons of one text that another predicate of the other text has the other way round.

    A converse verb turns them round, and must: "she sold it to him" is "he bought it", not "she bought it from him".
    """
    before, after = (list(_pairs(*both)) for both in ((old, names), (new, other_names)))
    ends_before, ends_after = ({one.ends for one in some} for some in (before, after))
    for one in before:
        for other in after:
            if one.predicate == other.predicate and one.turned == other.turned:
                continue
            both_live = one.living and other.living
            comparable = both_live or {one.preposition, other.preposition} & {"to", "from"}
            if one[:2] == other[:2] and comparable and is_converse(one.predicate, other.predicate):
                yield one, other
            turned = (
                both_live
                and one.ends == other.ends[::-1]
                and one.ends not in ends_after
                and other.ends not in ends_before
            )
            if turned and not same_both_ways(one.predicate, other.predicate):
                yield one, other


def _pairs(found: Roles, names: Mapping[int, str]) -> Iterator[Participants]:
    """Those of each verb or adjective, where both are named; only of the living is all known that they do."""
    tree = found.tree
    living = {node for node in names if lives(tree, node)}
    for verb in sorted({at for places in found.places.values() for role, at in places if role == "subj"}):
        if tree[verb].dep in {"xcomp", "ccomp"}:  # whose subject is often guessed
            continue
        if tree.children(verb, "neg"):
            continue
        lemma = base_verb(tree[verb].text.lower(), tree[verb].lemma.lower())
        for predicate, preposition, other in _others(found, verb):
            for doer in names.keys() & set(found.holders("subj", verb)):
                if other in names and predicate not in _SAYS_NOTHING:
                    turned = (lemma, preposition) in TURNED or (predicate, preposition) in _SUFFERED
                    both = {doer, other} <= living
                    yield Participants(names[doer], names[other], predicate, preposition, turned, both)
    for quality, one, other in found.links:
        if quality.removeprefix("than ").split("/")[0] in _MORE and {one, other} <= living:
            yield Participants(names[one], names[other], "exceed", "")


def _others(found: Roles, verb: int) -> Iterator[tuple[str, str, int]]:
    """Who else belongs to a verb: its object, what follows a preposition, the object of "picture of", "afraid of"."""
    tree = found.tree
    lemma = base_verb(tree[verb].text.lower(), tree[verb].lemma.lower())
    things = set(found.holders("obj", verb))
    takes_over = [node.text.lower() for node in tree.nodes[verb + 1 : verb + 2]] == ["over"]
    for node, places in found.places.items():
        for role, at in places:
            if at == verb and role == "from" and takes_over:
                yield f"{lemma} over", role, node
            elif at == verb and (role in {"obj", *_TOWARDS} or (lemma, role) in TURNED):
                yield lemma, "" if role == "obj" else role, node
            elif at in things and role == "'s" and tree[node].dep == "poss" and lemma in _GOT_FROM:
                yield lemma, "from", node
            elif at in things and role in {*_TOWARDS, "'s"} and not lives(tree, at) and tree[node].dep == "pobj":
                yield tree[at].lemma.lower(), "of" if role == "'s" else role, node
    for at in tree.children(verb, "acomp"):
        for preposition in tree.children(at, "prep"):
            if tree[preposition].text.lower() in _TOWARDS and tree[at].lemma not in BOTH_WAYS:
                for node in tree.children(preposition, "pobj"):
                    yield tree[at].lemma.lower(), tree[preposition].text.lower(), node


def lives(tree: ParseTree, at: int) -> bool:
    """Whether a word is a name, a pronoun for a person, or a noun for somebody alive."""
    node = tree[at]
    if node.pos == "PRON":
        return node.text.lower() in _PRONOUNS
    unknown = node.text[:1].isupper() and not lexicon().knows(node.text)
    return node.pos == "PROPN" or unknown or is_living(node.lemma.lower())


@lru_cache(maxsize=1 << 14)
def is_living(noun: str) -> bool:
    """Whether a noun means a person, an animal or a country in its first sense.

    >>> is_living("referee"), is_living("fox"), is_living("table")
    (True, True, False)
    """
    if names_person(noun) or names_animal(noun):
        return True
    return any(_ACTING.match(synset.gloss) for synset in lexicon().synsets(noun, "n")[:1])
