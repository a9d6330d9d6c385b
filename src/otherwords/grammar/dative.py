"""Verbs with two objects: "gives the dog a bone" and "gives a bone to the dog", "buys him a car" and "for him"."""

from collections.abc import Iterator

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .phrases import has_pronoun, has_scope, is_noun_phrase, is_pronoun, is_someone, trailing_modifiers
from .rewriting import Rewriting, rewrite_span

_TO = "give hand pass show teach offer send throw toss lend sell feed serve read write bring mail"
_FOR = "buy make cook bake draw build pour knit"
#: Verbs that have both constructions, with their preposition.
TWO_OBJECTS = {**dict.fromkeys(_TO.split(), "to"), **dict.fromkeys(_FOR.split(), "for")}
_NO_GIFT = """
    look try break headache hand chance kick push ride idea time way shot thumb thumbs lift five bath hug kiss massage
    haircut piggyback shove boost finger eye lesson shave pat birth nightmare chill crisis scare fright
    shock surprise call pull boot credit smile nod glance wink punch slap pause rest cold cough fever
"""
#: Objects that cannot follow: nobody gives "a look to him".
_NOT_GIVEN = frozenset(_NO_GIFT.split())


def to_prepositional(tree: ParseTree) -> Iterator[Rewriting]:
    """Move the first of two objects after "to" or "for".

    >>> from .parsing import parser
    >>> text = "She gives the old dog a bone."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_prepositional(ParseTree(text, nodes))]
    ['She gives a bone to the old dog.']
    """
    for verb, preposition in _verbs(tree):
        match [one for one in tree.constituents(verb) if one > verb]:
            case [receiver, thing, *rest] if (tree[receiver].dep, tree[thing].dep) == ("dative", "dobj"):
                if _can_alternate(tree, receiver, thing) and _may_follow(tree, rest):
                    first, last = tree.subtree(receiver)[0], tree.subtree(thing)[-1]
                    after = f"{tree.phrase(thing)} {preposition} {tree.phrase(receiver)}"
                    yield rewrite_span(tree, "prepositional object", first, last, after)


def to_double_object(tree: ParseTree) -> Iterator[Rewriting]:
    """Turn an object and a receiver after "to" or "for" into two objects.

    >>> from .parsing import parser
    >>> text = "She buys a ring for him."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_double_object(ParseTree(text, nodes))]
    ['She buys him a ring.']
    """
    for verb, preposition in _verbs(tree):
        match [one for one in tree.constituents(verb) if one > verb]:
            case [thing, link, *rest] if tree[thing].dep == "dobj" and tree[link].text.lower() == preposition:
                below = tree.children(link, "pobj")
                if (
                    len(below) == 1 == len(tree.children(link))
                    and _may_follow(tree, rest)
                    and _can_alternate(tree, below[0], thing)
                ):
                    first, last = tree.subtree(thing)[0], tree.subtree(link)[-1]
                    after = f"{tree.phrase(below[0])} {tree.phrase(thing)}"
                    yield rewrite_span(tree, "double object", first, last, after)


def _verbs(tree: ParseTree) -> Iterator[tuple[int, str]]:
    """Verbs that have both constructions, with their preposition."""
    for at, node in enumerate(tree.nodes):
        plain = node.pos == "VERB" and node.tag != "VBN" and not tree.children(at, "prt", "neg", "auxpass")
        if plain and node.lemma.lower() in TWO_OBJECTS:
            yield at, TWO_OBJECTS[node.lemma.lower()]


def _can_alternate(tree: ParseTree, receiver: int, thing: int) -> bool:
    """Whether someone receives something, neither phrase refers to the other, and neither has trailing modifiers."""
    if not (is_noun_phrase(tree, receiver) and is_noun_phrase(tree, thing)) or is_pronoun(tree, thing):
        return False
    if not _receives(tree, receiver) or tree[thing].lemma.lower() in _NOT_GIVEN:
        return False
    if has_pronoun(tree, thing) or has_scope(tree, thing, receiver):
        return False
    return not any(trailing_modifiers(tree, one) for one in (receiver, thing))


def _receives(tree: ParseTree, at: int) -> bool:
    """Whether a phrase names someone; a name of one word that WordNet knows may be a place."""
    name = tree[at].named and (bool(tree.children(at, "compound")) or not lexicon().knows(tree[at].text))
    return is_someone(tree, at) or name


def _may_follow(tree: ParseTree, rest: list[int]) -> bool:
    """Whether the words after the objects are neither a particle nor a third object."""
    return all(tree[one].dep in {"prep", "punct", "cc", "conj", "advcl"} for one in rest)
