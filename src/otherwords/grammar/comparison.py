"""Two names for one thing, or two things of different degree, that change places: apposition and comparison."""

from collections.abc import Iterator
from functools import partial

from .clauses import has_odd_marks
from .parsing import ParseTree
from .phrases import BE_FORMS, has_scope, has_third_person, is_definite, is_person, is_plural, trailing_modifiers
from .rewriting import Rewriting, join_reordered, may_be_mistagged, rewrite_span

_PAIRS = """
    taller/shorter bigger/smaller larger/smaller older/younger older/newer faster/slower heavier/lighter higher/lower
    longer/shorter warmer/cooler richer/poorer stronger/weaker thicker/thinner wider/narrower deeper/shallower
    earlier/later louder/quieter
"""
#: Comparatives and those that say the same of the other thing; some have two, for people and for things.
_OPPOSITES: dict[str, list[str]] = {}
for _one, _other in (pair.split("/") for pair in _PAIRS.split()):
    _OPPOSITES.setdefault(_one, []).append(_other)
    _OPPOSITES.setdefault(_other, []).append(_one)
_DEGREES = {"more": "less", "less": "more"}
_BE = frozenset(BE_FORMS.values())
#: Forms of "be" with their tenses.
_TENSES = {"is": "present", "are": "present", "was": "past", "were": "past"}
#: Said of people only, and of things only.
_OF_PEOPLE, _OF_THINGS = {"taller", "younger"}, {"longer", "newer"}


def swap_apposition(tree: ParseTree) -> Iterator[Rewriting]:
    """Exchange a name and the description of a person between commas after it, at the beginning of a sentence.

    >>> from .parsing import parser
    >>> text = "Ann Lee, the head of the school, resigned."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in swap_apposition(ParseTree(text, nodes))]
    ['The head of the school, Ann Lee, resigned.']
    """
    for noun, node in enumerate(tree.nodes):
        others = tree.children(noun, "appos")
        if node.dep not in {"nsubj", "nsubjpass"} or len(others) != 1 or has_odd_marks(tree):
            continue
        [other], first = others, tree.subtree(noun)[0]
        start, end = tree.subtree(other)[0], tree.subtree(other)[-1]
        if first == 0 and _is_between_commas(tree, noun, start, end) and _is_one_person(tree, noun, other, start):
            pieces = [(tree.stretch(start, end), start), (tree.stretch(first, start - 2), first)]
            yield rewrite_span(tree, "apposition swap", first, end, join_reordered(tree, pieces, ", "))


def swap_comparison(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Exchange the two things that are compared, with the opposite comparative.

    `loose` gives each opposite of a comparative, as is needed to see whether a comparison can be reversed.

    >>> from .parsing import parser
    >>> text = "Tom is taller than the girl."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in swap_comparison(ParseTree(text, nodes))]
    ['The girl is shorter than Tom.']
    """
    for verb in tree.roots():
        match tree.clause(verb):
            case [one], [adjective, *rest] if tree[verb].text in _BE and tree[one].dep == "nsubj":
                other = _compared_with(tree, adjective, rest)
                if other is not None and _are_comparable(tree, one, other):
                    yield from _swapped(tree, verb, one, adjective, other, loose)


any_comparison = partial(swap_comparison, loose=True)


# Apposition


def _is_between_commas(tree: ParseTree, noun: int, start: int, end: int) -> bool:
    """Whether a phrase follows a noun between commas, and nothing else in the subject has one."""
    inside = [one for one in tree.subtree(noun) if tree[one].text == ","]
    closed = end + 1 < len(tree.nodes) and tree[end + 1].text == ","
    after = tree[end + 2] if end + 2 < len(tree.nodes) else None
    verb = after is not None and after.pos in {"VERB", "AUX"}
    return closed and verb and [one for one in inside if one < end] == [start - 1] and tree[start - 1].text == ","


def _is_one_person(tree: ParseTree, noun: int, other: int, start: int) -> bool:
    """Whether one phrase is a name and the other a description of a person with an article."""
    name, role = (noun, other) if tree[noun].named else (other, noun)
    if not tree[name].named or not _is_role(tree, role) or tree[role].named or may_be_mistagged(tree, 0):
        return False
    articles = [tree[one].text.lower() for one in tree.children(role, "det")]
    below = {tree[one].dep for one in [*tree.subtree(noun), *tree.subtree(other)]}
    plain = not below & {"conj", "cc", "relcl", "acl", "nummod"} and not tree.children(name, "det")
    spans = tree.subtree(name) if name == other else range(start - 1)
    return (
        (articles in (["the"], ["a"], ["an"]) or _is_ours(tree, role))
        and plain
        and not any(tree[one].tag.startswith("PRP") for one in spans)
    )


def _is_role(tree: ParseTree, noun: int) -> bool:
    return is_person(tree, noun) or tree[noun].lemma.lower() in {"head", "chair", "chief", "candidate", "owner"}


# Comparison


def _compared_with(tree: ParseTree, adjective: int, rest: list[int]) -> int | None:
    """The noun after "than", where it ends the sentence."""
    thans = [one for one in [*tree.children(adjective, "prep"), *rest] if tree[one].text == "than"]
    others = tree.children(thans[0], "pobj") if len(thans) == 1 and set(rest) <= set(thans) else []
    if tree[adjective].dep != "acomp" or len(others) != 1 or len(tree.children(thans[0])) != 1:
        return None
    after = [one for one in tree.children(adjective) if one > adjective]
    return others[0] if set(after) <= set(thans) else None


def _are_comparable(tree: ParseTree, one: int, other: int) -> bool:
    """Whether both phrases are definite and plain, and neither refers to the other."""
    return all(
        (is_definite(tree, at) or _is_ours(tree, at)) and not has_scope(tree, at) and not trailing_modifiers(tree, at)
        for at in (one, other)
    ) and not any(has_third_person(tree, at) for at in (one, other))


def _is_ours(tree: ParseTree, noun: int) -> bool:
    """Whether a noun has "my", "your" or "our" before it."""
    return any(tree[one].text.lower() in {"my", "your", "our"} for one in tree.children(noun, "poss"))


def _swapped(tree: ParseTree, verb: int, one: int, adjective: int, other: int, loose: bool) -> Iterator[Rewriting]:
    plural, first = is_plural(tree, other), tree.subtree(one)[0]
    if plural is None or may_be_mistagged(tree, first):
        return
    be = BE_FORMS[_TENSES[tree[verb].text], plural]
    than = tree.subtree(adjective)[0]
    words = tree.stretch(than, adjective).split(" ")
    for opposite in _opposites(words, is_person(tree, one) or tree[one].named, loose):
        pieces = [(tree.phrase(other), tree.subtree(other)[0]), (be, None), (opposite, None), ("than", None)]
        pieces += [(tree.phrase(one), first)]
        new = join_reordered(tree, pieces)
        yield rewrite_span(tree, "comparison swap", first, tree.subtree(other)[-1], new)


def _opposites(words: list[str], person: bool, loose: bool) -> list[str]:
    """The opposites of "taller" or "more expensive", with what comes before them."""
    if len(words) >= 2 and words[-2] in _DEGREES:
        return [" ".join([*words[:-2], _DEGREES[words[-2]], words[-1]])]
    found = [*_OPPOSITES.get(words[-1], ())]
    if not loose:
        found = [one for one in found if one not in (_OF_THINGS if person else _OF_PEOPLE)][-1:]
    return [" ".join([*words[:-1], one]) for one in found]
