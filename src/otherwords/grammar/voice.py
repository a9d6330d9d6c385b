"""Active and passive: "a cat chases the dog" and "the dog is chased by a cat" say the same."""

from __future__ import annotations

from collections.abc import Iterator

from . import verb_groups
from .adjectives import rank
from .dative import TWO_OBJECTS
from .noun_phrases import (
    OBJECT_CASE,
    SUBJECT_CASE,
    behind,
    has_pronoun,
    has_scope,
    has_third_person,
    is_bare,
    is_definite,
    is_noun_phrase,
    is_plural,
    is_pronoun,
    is_someone,
)
from .prepositions import is_adverbial
from .rewriting import Rewriting, doubtful, in_order, replaced
from .tree import Tree
from .verb_lists import ACTING_THINGS, IDIOMS, MEASURES, NO_AGENTS, NO_PASSIVE, PASSIVE_WITH, TWO_WITHOUT_PREPOSITION

#: Words between the verb and the agent of a passive; behind more of them nobody looks for one.
_LONGEST_REST = 7
_MARKS = {",", ";", ":", "?", '"', "(", ")", "-", "--", "–", "—", "/", "“", "”", "...", "…"}


def to_passive(tree: Tree) -> Iterator[Rewriting]:
    """Sentences in the active that have a plain subject and object, in the passive.

    >>> from .parsing import parser
    >>> text = "He is chasing two dogs in the park."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in to_passive(Tree(text, nodes))]
    ['Two dogs are being chased in the park by him.']
    """
    for verb in tree.roots():
        left, right = tree.clause(verb)
        match [tree[one].dep for one in left], [tree[one].dep for one in right]:
            case ["nsubj", *helpers], ["dobj", *rest] if set(helpers) <= {"aux"} and set(rest) <= {"prep"}:
                if made := _passive(tree, verb, left[0], right[0], right[1:]):
                    yield made


def to_active(tree: Tree, *, by_someone: bool = False) -> Iterator[Rewriting]:
    """Sentences in the passive that name who does it, in the active.

    What stands behind "by" may be a place and is left alone then; `by_someone` says that it is not, as is known of a
    text that was in the active.

    >>> from .parsing import parser
    >>> text = "Two dogs are being chased by him."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in to_active(Tree(text, nodes))]
    ['He is chasing two dogs.']
    """
    for verb in tree.roots():
        left, right = tree.clause(verb)
        deps = [tree[one].dep for one in right]
        if [tree[one].dep for one in left][:1] != ["nsubjpass"] or deps.count("agent") != 1:
            continue
        if {tree[one].dep for one in left[1:]} <= {"aux", "auxpass"} and set(deps) <= {"agent", "prep"}:
            agent = right[deps.index("agent")]
            if made := _active(tree, verb, left[0], agent, [one for one in right if one != agent], by_someone):
                yield made


def _passive(tree: Tree, verb: int, subject: int, thing: int, rest: list[int]) -> Rewriting | None:
    plural = is_plural(tree, thing)
    group = None if plural is None else verb_groups.passive_group(tree, verb, plural)
    if group is None or verb_groups.has_open_tense(tree, verb, is_plural(tree, subject) is not False):
        return None
    if not _may_change(tree, verb, subject, thing, rest) or not _has_passive(tree, verb, subject, thing):
        return None
    first, last = tree.subtree(subject)[0], tree.subtree([thing, *rest][-1])[-1]
    pieces = [(_cased(tree, thing, SUBJECT_CASE), tree.subtree(thing)[0]), (group, None)]
    pieces += [(tree.phrase(one), tree.subtree(one)[0]) for one in rest]
    pieces += [("by", None), (_cased(tree, subject, OBJECT_CASE), first)]
    return replaced(tree, "passive", first, last, in_order(tree, pieces))


def _active(tree: Tree, verb: int, thing: int, agent: int, rest: list[int], by_someone: bool) -> Rewriting | None:
    doers = tree.children(agent)
    plural = is_plural(tree, doers[0]) if len(doers) == 1 else None
    group = None if plural is None else verb_groups.active_group(tree, verb, plural)
    if group is None or not (by_someone or (_is_agent(tree, verb, doers[0]) and not behind(tree, doers[0]))):
        return None
    if not _may_change(tree, verb, doers[0], thing, rest) or not _has_passive(tree, verb, doers[0], thing):
        return None
    first, last = tree.subtree(thing)[0], max(tree.subtree(one)[-1] for one in [agent, *rest])
    pieces = [(_cased(tree, doers[0], SUBJECT_CASE), tree.subtree(doers[0])[0]), (group, None)]
    pieces += [(_cased(tree, thing, OBJECT_CASE), first)]
    pieces += [(tree.phrase(one), tree.subtree(one)[0]) for one in rest]
    return replaced(tree, "active", first, last, in_order(tree, pieces))


def _may_change(tree: Tree, verb: int, subject: int, thing: int, rest: list[int]) -> bool:
    """Whether neither scope nor reference hangs on which of the two phrases comes first."""
    if not (is_noun_phrase(tree, subject) and is_noun_phrase(tree, thing)) or has_scope(tree, verb):
        return False
    refers = (not is_pronoun(tree, thing) and has_pronoun(tree, thing)) or any(has_pronoun(tree, one) for one in rest)
    refers |= has_third_person(tree, subject)  # "Mary was loved by her husband"
    refers |= any(tree.children(one, "conj") and has_pronoun(tree, one) for one in (subject, thing))  # "he and Mary"
    counted = all(tree.children(one, "nummod") for one in (subject, thing))  # who does it to how many
    loose = behind(tree, thing)
    loose += [
        one for at in (subject, thing) for one in tree.subtree(at) if tree[one].dep == "cc" and tree[one].head != at
    ]
    loose += [one for one in tree.subtree(thing) if tree[one].text.lower() == "past"]  # "flying past boats"
    unsure = any(doubtful(tree, one) for one in (subject, thing) if one == tree.subtree(one)[0])
    return not (refers or counted or loose or unsure or _marked(tree, verb)) and _can_wait(tree, verb, rest)


def _can_wait(tree: Tree, verb: int, rest: list[int]) -> bool:
    """Whether the agent can come behind what else is said: where, when and to whom, and not too many words."""
    receiver = TWO_OBJECTS.get(verb_groups.base_form(tree, verb) or "")
    first = rest[0] if rest and tree[rest[0]].text.lower() == receiver else None
    joined = first is not None and any(tree[one].dep == "cc" for one in tree.subtree(first))
    plain = all(one == first or is_adverbial(tree, one) for one in rest)
    return plain and not joined and sum(len(tree.subtree(one)) for one in rest) <= _LONGEST_REST


def _is_agent(tree: Tree, verb: int, doer: int) -> bool:
    """Whether a phrase behind "by" says who does it, and not where, as in "is seated by a lake"."""
    named = tree[doer].named and NO_AGENTS.isdisjoint(tree.words(doer))
    return is_someone(tree, doer) or named or tree[verb].lemma in ACTING_THINGS


def _has_passive(tree: Tree, verb: int, subject: int, thing: int) -> bool:
    """Whether a verb with this object is one that is used in the passive."""
    lemma, noun = verb_groups.base_form(tree, verb) or "", tree[thing].lemma.lower()
    if lemma in NO_PASSIVE or noun in MEASURES or noun in IDIOMS.get(lemma, ()):
        return False
    if noun not in PASSIVE_WITH.get(lemma, (noun,)) or rank(noun) is not None:
        return False  # "paints the wall green"
    if _is_glued(tree, lemma, thing) or (lemma == "make" and not is_someone(tree, subject)):
        return False  # "a toy makes a good gift"
    helpers = [tree[one].text.lower() for one in tree.children(verb, "aux")]
    if helpers in (["have"], ["has"], ["had"]) and is_bare(tree, thing):
        return False  # "the house had broken windows"
    definite = all(is_definite(tree, one) or is_pronoun(tree, one) for one in (subject, thing))
    if not verb_groups.MODALS.isdisjoint(helpers) and not definite:
        return False  # "a man can lift a car" is not said of one certain car
    return not (tree[verb].tag in {"VBZ", "VBP"} and is_bare(tree, thing))  # "soccer is played by men" is a habit


def _is_glued(tree: Tree, lemma: str, thing: int) -> bool:
    """Whether an object may be two: "teaches the kid baseball", "holds the lady hostage", "hit Tom square"."""
    inside = tree.children(thing, "compound")
    whose = any(tree[one].named or is_someone(tree, one) for one in inside) and not tree[thing].named
    return bool(inside) and (lemma in TWO_OBJECTS or lemma in TWO_WITHOUT_PREPOSITION or whose)


def _marked(tree: Tree, verb: int) -> bool:
    """Whether commas, brackets, quotation marks or a question are in the sentence."""
    below = [tree[one] for one in tree.subtree(verb)]
    return any(node.text in _MARKS or node.pos in {"SYM", "SPACE", "X"} for node in below)


def _cased(tree: Tree, at: int, case: dict[str, str]) -> str:
    """A phrase; a pronoun in another case."""
    text = tree.phrase(at)
    return case.get(text.lower(), text) if is_pronoun(tree, at) else text
