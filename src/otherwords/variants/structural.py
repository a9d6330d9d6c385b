"""The same sentence in another structure: voice, definite descriptions, relative clauses, order, datives, contractions.

The equivalences of Salvatore et al. (2023), section 2.2, and a few like them. A rewriting is given up unless the same
rules, applied to the parse of the new text, give the old text back. `structural.v1` has its rules as they were; in
`structural.v2` they are mended, and there are more.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from ..errors import BadInput
from ..grammar.equivalences import EQUIVALENCES, EQUIVALENCES_V2, SentenceDraft, drafts, reversible, sound_rewritings
from ..grammar.parsing import Parser, parser, why_unreadable
from ..grammar.renaming import renamings
from ..grammar.rewriting import Rewriting
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..words.cues import cue_counts
from ..words.inflection import versions
from ..words.language import keeps_quotations, warn_of_other_language
from .contractions import closed, opened
from .generating import Generator, chosen_fields, with_changes
from .soundness import fingerprint, refuse_other_domain, sound_kinds, summary

#: What `kinds` may name in `structural.v1`.
KINDS = (*EQUIVALENCES, "contraction")
_WHERE = "structural.v1"
_WHERE_V2 = "structural.v2"
_GIVEN_UP = "left out: parsed anew, it is built otherwise than was meant"
_OTHER_CUES = "left out: a negation, a quantifier or a number would change"
_IN_TITLE = re.compile(
    r"(?<=[\w,] )(?!I['’])[A-Z]\w*(?:n['’]t|['’](?:re|ve|ll|d|m))(?= [A-Z])|\b[A-Z]\w+ Not\b"
    r"|\bI['’]m (?:Not|The|A|Your|My|In|On|With|Still|Just|Every)\b"
)
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
    chosen = choose_kinds(kinds, KINDS, {"all": KINDS}, _WHERE)
    _refuse_negative(n, _WHERE)
    parse = parser(pipeline)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        rewritten = _all_rewritten(_texts(problems, field, _WHERE), chosen, parse)
        for problem, seed, (sound, notes) in zip(problems, seeds, rewritten, strict=True):
            groups = [[one] for one in sound]
            Random(seed).shuffle(groups)
            yield from _made(problem, groups, notes, n, together)

    return Generator(vary, identity="+".join([parse.identity, *versions()]))


def _texts(problems: Sequence[Problem], field: str, where: str) -> list[list[tuple[str, str]]]:
    """The fields to rewrite of each problem, with their texts; none of a problem in another language."""
    fields = [chosen_fields(problem.task, field, where) for problem in problems]
    english = [not warn_of_other_language(problem.text.values(), where) for problem in problems]
    return [
        [(name, problem.text[name] or "") for name in names] if ours else []
        for problem, names, ours in zip(problems, fields, english, strict=True)
    ]


def _made(
    problem: Problem, groups: list[list[Rewritten]], notes: Sequence[About], n: int, together: bool
) -> Iterator[Variant | Note]:
    """The notes, then the variants."""
    yield from (Note(problem.id, what, 1, {"field": name, **about}) for name, what, about in notes)
    yield from (_variant(problem, group) for group in _drawn(groups, n, together))


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
    """Where two texts differ: the place, the old words there, and the new ones; neither is empty if texts have words.

    >>> _stretch("He does not know it.", "He doesn't know it.")
    (3, 'does not', "doesn't")
    >>> _stretch("He said it rains.", "He said that it rains.")
    (8, 'it', 'that it')
    """
    first, second = old.split(" "), new.split(" ")
    shorter = min(len(first), len(second))
    left = 0
    while left < shorter and first[left] == second[left]:
        left += 1
    right = 0
    while right < shorter - left and first[-1 - right] == second[-1 - right]:
        right += 1
    if left + right == shorter:  # words are only added, or only left out: one beside them makes the spaces right
        left, right = (left, right - 1) if right else (max(0, left - 1), right)
    at = sum(len(word) + 1 for word in first[:left])
    return at, " ".join(first[left : len(first) - right]), " ".join(second[left : len(second) - right])


def _drawn(groups: list[list[Rewritten]], n: int, together: bool) -> list[list[Rewritten]]:
    """The first `n` variants, each a list of rewritten fields."""
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


def choose_kinds(kinds: str, known: Sequence[str], named: Mapping[str, Sequence[str]], where: str) -> tuple[str, ...]:
    """The kinds that the option `kinds` stands for: those that a word of `named` has, or those joined by "+"."""
    names = tuple(named.get(kinds, dict.fromkeys(kinds.split("+"))))
    if strangers := [name for name in names if name not in known]:
        fix = f"use {', '.join(known)}, several as in voice+dative, or {', or '.join(named)}"
        raise BadInput(f"unknown kind {strangers[0]!r}", where=where, field="kinds", fix=fix)
    return names


def _refuse_negative(n: int, where: str) -> None:
    if n < 0:
        raise BadInput(f"found {n}", where=where, field="n", fix="give a number of variants per problem, 0 for all")


# The second version


class Candidate(NamedTuple):
    """A variant that may be made: its kind, the rewritten fields, and the draft to verify, where it must be."""

    kind: str
    group: list[Rewritten]
    draft: SentenceDraft | None = None

    @property
    def about(self) -> tuple[str, dict[str, str]]:
        """The field, and which rewriting it is, as notes say it."""
        return self.group[0].field, {"rewriting": self.group[0].rewriting.how}


def _contractions_v2(text: str) -> list[Rewriting]:
    """The same, except in texts with a contraction in a title: "Boys Don't Cry"."""
    return [] if _IN_TITLE.search(text) else _contractions(text)


def _renamed(problem: Problem, parse: Parser, random: Random) -> Iterator[list[Rewritten]]:
    """Other names for the people and towns of a problem, in all its texts."""
    texts = {name: text for name, text in problem.text.items() if text and not why_unreadable(text)}
    for one in renamings(texts, dict(zip(texts, parse(texts.values()), strict=True)), random):
        new = one.apply(texts)
        yield [
            Rewritten(name, Rewriting("renaming", *_stretch(texts[name], new[name])), new[name])
            for name in texts
            if new[name] != texts[name]
        ]


#: Kinds that look at a whole text, and need no parse.
_OF_TEXTS: dict[str, Callable[[str], list[Rewriting]]] = {"contraction": _contractions_v2}
#: Kinds that look at all texts of a problem, and change them together: from texts by field to candidates.
#: They keep the label, but not the meaning, so `kinds=all` does not include them.
_OF_PROBLEMS: dict[str, Callable[[Problem, Parser, Random], Iterable[list[Rewritten]]]] = {"renaming": _renamed}
#: What `kinds` may name in `structural.v2`, and what "all" means there.
PARAPHRASES = (*EQUIVALENCES_V2, *_OF_TEXTS)
KINDS_V2 = (*PARAPHRASES, *_OF_PROBLEMS)


@generators("structural.v2", language="en", extra="spacy", measured=summary())
def structural_v2(
    kinds: str = "measured", n: int = 1, field: str = "", together: bool = False, domain: str = "", pipeline: str = ""
) -> Any:
    """Rewrite the structure of a sentence: active or passive, swapped descriptions and conjuncts, clauses, datives.

    `kinds` joined by "+", or all; measured: those of which at least 60 variants on texts like yours were read and 93 %
    found sound. `domain` says what your texts are like: captions, genres (of all kinds, as in MNLI), news, everyday; if
    it does not, the kinds are taken that were found sound somewhere and unsound nowhere. Up to `n` variants per problem
    (0: all), each with one rewriting of one field, drawn by the seed, of different kinds first; with `together`, a
    rewriting that several fields allow is made in all of them, of the same words where that can be, and what is left in
    one field alone. `field`: one field instead of all targets. `pipeline` names a spaCy pipeline for English with a
    parser. The column `rewriting` says which it was, `changes` where.
    """
    refuse_other_domain(domain, _WHERE_V2)
    named = {"all": PARAPHRASES, "measured": _measured(domain) if kinds == "measured" else ()}
    chosen = choose_kinds(kinds, KINDS_V2, named, _WHERE_V2)
    _refuse_negative(n, _WHERE_V2)
    parse = parser(pipeline)
    rates = [fingerprint()] if kinds == "measured" else []

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        texts = _texts(problems, field, _WHERE_V2)
        randoms = [Random(seed) for seed in seeds]
        found = [
            in_turn(some, random)
            for some, random in zip(find_candidates(problems, texts, chosen, parse, randoms), randoms, strict=True)
        ]
        verified = _verified(found, 0 if together else n, parse)
        for problem, fields, (groups, notes) in zip(problems, texts, verified, strict=True):
            unread: list[About] = [
                (name, f"not parsed: {why}", {}) for name, text in fields if (why := why_unreadable(text))
            ]
            yield from _made(problem, groups, [*unread, *notes], n, together)

    return Generator(vary, identity="+".join([parse.identity, *versions(), *rates]))


def _measured(domain: str) -> tuple[str, ...]:
    """The kinds that are used by default for texts of a domain."""
    found = tuple(kind for kind in PARAPHRASES if kind in sound_kinds(domain))
    if not found:
        fix = "name kinds, or use kinds=all"
        raise BadInput(f"no kind was found sound on {domain or 'any'} texts", where=_WHERE_V2, field="domain", fix=fix)
    return found


def find_candidates(
    problems: Sequence[Problem],
    texts: Sequence[Sequence[tuple[str, str]]],
    kinds: Sequence[str],
    parse: Parser,
    randoms: Sequence[Random],
) -> Iterator[list[Candidate]]:
    """All candidates of each problem, by field; every text is parsed once, all of them together."""
    readable = ["" if why_unreadable(text) else text for fields in texts for _, text in fields]
    by_text = iter(drafts(readable, [kind for kind in kinds if kind in EQUIVALENCES_V2], parse))
    for problem, fields, random in zip(problems, texts, randoms, strict=True):
        found = [one for name, text in fields for one in _of_text(name, text, kinds, next(by_text))]
        for kind in _OF_PROBLEMS:
            if kind in kinds and fields:
                found += [Candidate(kind, group) for group in _OF_PROBLEMS[kind](problem, parse, random)]
        yield found


def _of_text(name: str, text: str, kinds: Sequence[str], some: Sequence[SentenceDraft]) -> Iterator[Candidate]:
    """The candidates of a text; the words of a title or a sign in quotation marks stay as they are."""
    found = []
    for draft in some:
        rewriting = draft.rewriting._replace(at=draft.sentence.start + draft.rewriting.at)
        found.append(Candidate(draft.kind, [Rewritten(name, rewriting, rewriting.apply(text))], draft))
    for kind, rule in _OF_TEXTS.items():
        if kind in kinds:
            found += [Candidate(kind, [Rewritten(name, one, one.apply(text))]) for one in rule(text)]
    return (one for one in found if keeps_quotations(text, one.group[0].text))


def in_turn(found: list[Candidate], random: Random) -> list[Candidate]:
    """The candidates in random order: one of each kind, then a second one of each kind, and so on; each text once."""
    random.shuffle(found)
    texts: set[tuple[tuple[str, str], ...]] = set()
    times: Counter[str] = Counter()
    rounds = []
    for one in found:
        new = tuple((rewritten.field, rewritten.text) for rewritten in one.group)
        if new not in texts:
            rounds.append((times[one.kind], one))
            times[one.kind] += 1
        texts.add(new)
    return [one for _, one in sorted(rounds, key=lambda pair: pair[0])]


def _verified(
    found: Sequence[list[Candidate]], n: int, parse: Parser
) -> list[tuple[list[list[Rewritten]], list[About]]]:
    """Of each problem the first `n` candidates that are sound (0: all), and notes on those before that are not.

    In each round, every problem that lacks some has as many candidates verified as it lacks; those of all problems are
    parsed together. So few are parsed in vain, and what a problem gets does not depend on the others.
    """
    waiting = [deque(some) for some in found]
    results: list[tuple[list[list[Rewritten]], list[About]]] = [([], []) for _ in found]
    while some := [
        (at, queue.popleft())
        for at, queue in enumerate(waiting)
        for _ in range(min(len(queue), n - len(results[at][0]) if n else len(queue)))
    ]:
        for (at, one), reason in zip(some, why_unsound([one for _, one in some], parse), strict=True):
            sound, notes = results[at]
            if reason:
                field, about = one.about
                notes.append((field, reason, about))
            else:
                sound.append(one.group)
    return results


def why_unsound(some: Sequence[Candidate], parse: Parser) -> list[str]:
    """Why candidates are left out; empty for those that are sound."""
    same = [_has_same_cues(one) for one in some]
    verdicts = iter(reversible([one.draft for one, safe in zip(some, same, strict=True) if safe and one.draft], parse))
    return [
        _OTHER_CUES if not safe else _GIVEN_UP if one.draft and not next(verdicts) else ""
        for one, safe in zip(some, same, strict=True)
    ]


def _has_same_cues(one: Candidate) -> bool:
    """Whether no negation, quantifier or number is lost or new; kinds that change them for a reason are exempt."""
    if one.kind in EQUIVALENCES_V2 and EQUIVALENCES_V2[one.kind].exempt:
        return True
    pairs = [(one.draft.sentence.text, one.draft.text)] if one.draft else [_sides(two) for two in one.group]
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    return cue_counts(*before) == cue_counts(*after)


def _sides(rewritten: Rewritten) -> tuple[str, str]:
    """The text of a field before and after."""
    _, at, before, after = rewritten.rewriting
    return rewritten.text[:at] + before + rewritten.text[at + len(after) :], rewritten.text
