"""The same sentence built in another way: voice, definite descriptions, relative clauses, order, datives, contractions.

The equivalences of Salvatore et al. (2023), section 2.2, and a few like them. A rewriting that the same rules cannot
take back, once its text has been parsed anew, is given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Any, NamedTuple

from ..errors import BadInput, MissingExtra
from ..grammar.equivalences import EQUIVALENCES, can_be_taken_back, rewritings
from ..grammar.parsing import Node, Parser, parser
from ..grammar.rewriting import Rewriting
from ..grammar.tree import Tree
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..words.english import warn_of_other_language
from .changes import with_changes
from .contractions import closed, opened
from .fields import chosen_fields

#: What `kinds` may name.
KINDS = (*EQUIVALENCES, "contraction")
_WHERE = "structural.v1"
_GIVEN_UP = "left out: parsed anew, it is built otherwise than was meant"
#: A field, what is to be noted of it, and about what.
Told = tuple[str, str, dict[str, str]]


class Rewritten(NamedTuple):
    """One field of a problem in other words."""

    field: str
    rewriting: Rewriting
    text: str


@generators("structural.v1")
def structural(kinds: str = "all", n: int = 1, field: str = "", together: bool = False, pipeline: str = "") -> Any:
    """Build a sentence in another way: active or passive, swapped descriptions and conjuncts, clauses, datives.

    `kinds`: voice, definite, relative, coordination, dative, contraction, joined by "+", or all. Up to `n` variants per
    problem (0: all), each with one rewriting of one field, drawn by the seed; with `together`, a rewriting that several
    fields allow is made in all of them. `field`: one field instead of all targets. `pipeline` names a spaCy pipeline
    for English with a parser. The column `rewriting` says which it was, `changes` where.
    """
    chosen = _kinds(kinds)
    if n < 0:
        raise BadInput(f"found {n}", where=_WHERE, field="n", fix="give a number of variants per problem, 0 for all")
    parse = parser(pipeline)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        fields = [chosen_fields(problem.task, field, _WHERE) for problem in problems]
        english = [not warn_of_other_language(problem.text.values(), _WHERE) for problem in problems]
        texts = [
            [(name, problem.text[name] or "") for name in names] if ours else []
            for problem, names, ours in zip(problems, fields, english, strict=True)
        ]
        made = _all_rewritten(texts, chosen, parse)
        for problem, seed, (sound, notes) in zip(problems, seeds, made, strict=True):
            yield from (Note(problem.id, what, 1, {"field": name, **about}) for name, what, about in notes)
            drawn = _drawn(sound, n, together, Random(seed))
            yield from (_variant(problem, some) for some in drawn)

    vary.identity = "+".join([parse.identity, *_libraries()])  # type: ignore[attr-defined]
    return vary


def _all_rewritten(
    texts: Sequence[Sequence[tuple[str, str]]], kinds: Sequence[str], parse: Parser
) -> Iterator[tuple[list[Rewritten], list[Told]]]:
    """For each problem what can be made of its texts, and what is to be noted; all new texts are parsed together."""
    parsed = parse(text for some in texts for _, text in some)
    found = [[_candidates(name, text, next(parsed), kinds) for name, text in some] for some in texts]
    again = parse(one.text for some in found for made, _ in some for one in made)
    originals = [dict(some) for some in texts]
    for some, original in zip(found, originals, strict=True):
        judged = [(one, _holds(one, original[one.field], next(again))) for made, _ in some for one in made]
        notes = [told for _, notes in some for told in notes]
        notes += [(one.field, _GIVEN_UP, {"rewriting": one.rewriting.how}) for one, holds in judged if not holds]
        yield [one for one, holds in judged if holds], notes


def _candidates(name: str, text: str, nodes: list[Node], kinds: Sequence[str]) -> tuple[list[Rewritten], list[Told]]:
    if not nodes:
        return [], [(name, "not parsed: empty or too long", {})]
    if text.upper() == text:  # the tagger sees names everywhere
        return [], []
    tree = Tree(text, nodes)
    made = list(rewritings(tree, [kind for kind in kinds if kind in EQUIVALENCES]))
    made += _contractions(text) if "contraction" in kinds else []
    texts = {one.made(text): one for one in reversed(made)}
    return [Rewritten(name, one, new) for new, one in reversed(texts.items()) if new != text], []


def _contractions(text: str) -> list[Rewriting]:
    """Contractions written out, or where there is none, closed."""
    for how, change in (("contraction opened", opened), ("contraction closed", closed)):
        if (new := change(text)) != text:
            return [Rewriting(how, *_stretch(text, new))]
    return []


def _stretch(old: str, new: str) -> tuple[int, str, str]:
    """Where two texts differ: the place, and the words there in the one and in the other.

    >>> _stretch("He does not know it.", "He doesn't know it.")
    (3, 'does not', "doesn't")
    """
    first, second = old.split(" "), new.split(" ")
    left = 0
    while left < min(len(first), len(second)) and first[left] == second[left]:
        left += 1
    right = 0
    while right < min(len(first), len(second)) - left and first[-1 - right] == second[-1 - right]:
        right += 1
    at = sum(len(word) + 1 for word in first[:left])
    return at, " ".join(first[left : len(first) - right]), " ".join(second[left : len(second) - right])


def _holds(one: Rewritten, original: str, nodes: list[Node]) -> bool:
    if one.rewriting.how.startswith("contraction"):
        return True
    return can_be_taken_back(one.rewriting, original, Tree(one.text, nodes))


def _drawn(sound: list[Rewritten], n: int, together: bool, random: Random) -> list[list[Rewritten]]:
    """Up to `n` variants, each a list of rewritten fields, in random order."""
    groups = [[one] for one in sound]
    random.shuffle(groups)
    if together:
        groups = _joined([one for [one] in groups])
    return groups[:n] if n else groups


def _joined(some: list[Rewritten]) -> list[list[Rewritten]]:
    """The rewritings of one name, one for each field, as one variant; what is left over makes the next."""
    groups: list[list[Rewritten]] = []
    for one in some:
        for group in groups:
            if group[0].rewriting.how == one.rewriting.how and one.field not in {other.field for other in group}:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _variant(problem: Problem, some: Sequence[Rewritten]) -> Variant:
    order = list(problem.text)
    changes = [
        {"field": one.field, "at": at, "from": before, "to": after, "how": one.rewriting.how}
        for one in sorted(some, key=lambda one: order.index(one.field))
        for at, before, after in [_stretch(problem.text[one.field], one.text)]
    ]
    made = with_changes(problem, changes)
    extra = {**made.extra, "rewriting": some[0].rewriting.how}
    return Variant("", made.task, made.text, made.label, extra, of=problem.id)


def _kinds(kinds: str) -> tuple[str, ...]:
    names = KINDS if kinds == "all" else tuple(dict.fromkeys(kinds.split("+")))
    if strangers := [name for name in names if name not in KINDS]:
        fix = f"use {', '.join(KINDS)}, several as in voice+dative, or all"
        raise BadInput(f"no kind of rewriting {strangers[0]!r}", where=_WHERE, field="kinds", fix=fix)
    return names


def _libraries() -> list[str]:
    """What else decides the result: the versions of what inflects."""
    try:
        return [f"{one}-{version(one)}" for one in ("lemminflect", "inflect")]
    except PackageNotFoundError as error:
        raise MissingExtra("inflecting words", "spacy") from error
