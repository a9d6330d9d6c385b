"""The same sentence in another structure: voice, definite descriptions, relative clauses, order, datives, contractions.

The equivalences of Salvatore et al. (2023), section 2.2, and a few like them. A rewriting is given up unless the same
rules, applied to the parse of the new text, give the old text back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from ..errors import BadInput
from ..grammar.equivalences import EQUIVALENCES, sound_rewritings
from ..grammar.parsing import Parser, parser, why_unreadable
from ..grammar.rewriting import Rewriting
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..words.inflection import versions
from ..words.language import warn_of_other_language
from .contractions import closed, opened
from .generating import Generator, chosen_fields, with_changes

#: What `kinds` may name.
KINDS = (*EQUIVALENCES, "contraction")
_WHERE = "structural.v1"
_GIVEN_UP = "left out: parsed anew, it is built otherwise than was meant"
#: A field, what is to be noted of it, and about what.
About = tuple[str, str, dict[str, str]]


class Rewritten(NamedTuple):
    """One field of a problem in other words."""

    field: str
    rewriting: Rewriting
    text: str


@generators(
    "structural.v1",
    language="en",
    extra="spacy",
    measured="sound: 99.5 % on captions (SNLI); 91-96 % on MNLI, RTE and everyday text, where it makes little but "
    "contractions",
)
def structural(kinds: str = "all", n: int = 1, field: str = "", together: bool = False, pipeline: str = "") -> Any:
    """Rewrite the structure of a sentence: active or passive, swapped descriptions and conjuncts, clauses, datives.

    `kinds`: voice, definite, relative, coordination, dative, contraction, joined by "+", or all. Up to `n` variants per
    problem (0: all), each with one rewriting of one field, drawn by the seed; with `together`, a rewriting that several
    fields allow is made in all of them, of the same words where that can be, and what is left in one field alone.
    `field`: one field instead of all targets. `pipeline` names a spaCy pipeline for English with a parser. The column
    `rewriting` says which it was, `changes` where.
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
        rewritten = _all_rewritten(texts, chosen, parse)
        for problem, seed, (sound, notes) in zip(problems, seeds, rewritten, strict=True):
            yield from (Note(problem.id, what, 1, {"field": name, **about}) for name, what, about in notes)
            drawn = _drawn(sound, n, together, Random(seed))
            yield from (_variant(problem, group) for group in drawn)

    return Generator(vary, identity="+".join([parse.identity, *versions()]))


def _all_rewritten(
    texts: Sequence[Sequence[tuple[str, str]]], kinds: Sequence[str], parse: Parser
) -> Iterator[tuple[list[Rewritten], list[About]]]:
    """For each problem the rewritten fields, and the notes; all sentences are parsed together."""
    readable = ["" if why_unreadable(text) else text for fields in texts for _, text in fields]
    rewritings = sound_rewritings(readable, [kind for kind in kinds if kind in EQUIVALENCES], parse)
    for fields in texts:
        rewritten: list[Rewritten] = []
        notes: list[About] = []
        for name, text in fields:
            sound, given_up = next(rewritings)
            rewritten += _rewritten(name, text, [*sound, *(_contractions(text) if "contraction" in kinds else [])])
            notes += [(name, f"not parsed: {why}", {}) for why in [why_unreadable(text)] if why]
            notes += [(name, _GIVEN_UP, {"rewriting": rewriting.how}) for rewriting in given_up]
        yield rewritten, notes


def _rewritten(name: str, text: str, rewritings: Sequence[Rewriting]) -> list[Rewritten]:
    """The rewritings of a field, each resulting text once."""
    new = {rewriting.apply(text): rewriting for rewriting in reversed(rewritings)}
    return [Rewritten(name, rewriting, after) for after, rewriting in reversed(new.items()) if after != text]


def _contractions(text: str) -> list[Rewriting]:
    """Contractions opened, or closed where there is none to open; not in capitals, nor in what cannot be parsed."""
    if why_unreadable(text) or text.upper() == text:
        return []
    for how, change in (("contraction opened", opened), ("contraction closed", closed)):
        if (new := change(text)) != text:
            return [Rewriting(how, *_stretch(text, new))]
    return []


def _stretch(old: str, new: str) -> tuple[int, str, str]:
    """Where two texts differ: the place, the old words there, and the new ones.

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


def _drawn(sound: list[Rewritten], n: int, together: bool, random: Random) -> list[list[Rewritten]]:
    """Up to `n` variants, each a list of rewritten fields, in random order."""
    groups = [[rewritten] for rewritten in sound]
    random.shuffle(groups)
    if together:
        groups = _merged(groups, lambda rewriting: (rewriting.before, rewriting.after))
        groups = _merged(groups, lambda rewriting: rewriting.how)
    return groups[:n] if n else groups


def _merged(groups: list[list[Rewritten]], key: Callable[[Rewriting], object]) -> list[list[Rewritten]]:
    """Groups of rewritten fields joined with the first before them that has the same key and none of their fields."""
    merged: list[list[Rewritten]] = []
    for group in groups:
        fields, wanted = {rewritten.field for rewritten in group}, key(group[0].rewriting)
        for other in merged:
            if key(other[0].rewriting) == wanted and fields.isdisjoint(rewritten.field for rewritten in other):
                other += group
                break
        else:
            merged.append(list(group))
    return merged


def _variant(problem: Problem, group: Sequence[Rewritten]) -> Variant:
    order = list(problem.text)
    changes = [
        {"field": rewritten.field, "at": at, "from": before, "to": after, "how": rewritten.rewriting.how}
        for rewritten in sorted(group, key=lambda rewritten: order.index(rewritten.field))
        for at, before, after in [_stretch(problem.text[rewritten.field], rewritten.text)]
    ]
    variant = with_changes(problem, changes)
    return replace(variant, extra={**variant.extra, "rewriting": group[0].rewriting.how})


def _kinds(kinds: str) -> tuple[str, ...]:
    names = KINDS if kinds == "all" else tuple(dict.fromkeys(kinds.split("+")))
    if strangers := [name for name in names if name not in KINDS]:
        fix = f"use {', '.join(KINDS)}, several as in voice+dative, or all"
        raise BadInput(f"unknown kind {strangers[0]!r}", where=_WHERE, field="kinds", fix=fix)
    return names
