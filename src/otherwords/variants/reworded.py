"""Several sound rewritings at once: of structure, of words, of contractions. It needs no model, and costs little.

What `structural.v2` and `wordnet.v2` do one at a time is put together, two or three in a problem, and vetoed where
the result exchanges roles, or has another negation, quantifier or number than the original.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_values
from functools import partial
from itertools import chain, zip_longest
from math import fsum
from random import Random
from typing import Any

from ..errors import BadInput
from ..grammar.equivalences import EQUIVALENCES_V2
from ..grammar.exchanges import exchanged
from ..grammar.parsing import Node, Parser, ParseTree, parser, why_unreadable
from ..grammar.roles import roles
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..words.alignment import content, opposites
from ..words.cues import cue_counts
from ..words.inflection import versions
from ..words.language import warn_of_other_language
from ..words.tagging import Token
from .composing import SYNONYM, Edit, combine, texts_after
from .generating import Change, Generator, chosen_fields, with_changes
from .soundness import fingerprint, refuse_other_domain, sound_kinds
from .structural import PARAPHRASES, choose_kinds, find_candidates, in_turn, why_unsound
from .wordnet import FromPairs, Replacer

_WHERE = "reworded.v1"
#: What changes least is tried last.
_LAST = "contraction"
#: All parts of speech, by WordNet's letters.
_PARTS = "nvar"
#: With a masked-LM, the best of this many drafts is taken for each variant.
_DRAFTS = 3
_ROLES = "left out: together, they exchange roles"
_CUES = "left out: together, they change a negation, a quantifier, a number or a word to its opposite"


# Masked-LMs are signed by what they are, in the identity: the path of their folders does not matter.
@generators(
    "reworded.v1",
    unsigned=("fluency",),
    language="en",
    extra="spacy",
    measured="sound, two rewritings at once, with its domain: 97 % of 300 on captions (SNLI), 98 % of 100 on MNLI and "
    "RTE, 100 of 100 on everyday text",
)
def reworded(
    n: int = 1,
    changes: int = 2,
    field: str = "",
    kinds: str = "measured",
    domain: str = "",
    fluency: str = "",
    pipeline: str = "",
) -> Any:
    """Put a problem in other words by several sound rewritings at once: structure, synonyms, contractions. No model.

    Up to `n` variants per problem, each with up to `changes` rewritings (0: as many as go together), of different kinds
    first, drawn by the seed. A word that is replaced is replaced in all texts; other rewritings change one. `field`:
    one field instead of all targets. `kinds` of `structural.v2` joined by "+", all, none, or measured: those that were
    found sound on texts like yours, which `domain` names: captions, genres, news, everyday. `fluency` names a
    masked-LM, such as mlm-small, that chooses the most fluent of three drafts for each variant, and takes much longer.
    `pipeline` names a spaCy pipeline for English with a parser. The column `rewriting` says what was done, `changes`
    where.
    """
    chosen = _chosen(kinds, domain)
    _refuse_wrong(n, changes)
    parse = parser(pipeline)
    find = partial(_edits, kinds=chosen, parse=parse)
    rank, ranker = _ranking(fluency)
    drafts = n * _DRAFTS if fluency else n

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        texts = [_readable(problem, field) for problem in problems]
        pools = find(problems, texts, [Random(seed) for seed in seeds])
        works = [_Work(*one, drafts, changes) for one in zip(texts, pools, strict=True)]
        _compose_all(works, parse)
        for problem, work in zip(problems, works, strict=True):
            yield from _unreadable(problem, field)
            yield from (Note(problem.id, what, 1, {"rewriting": how}) for what, how in work.notes)
            yield from (_variant(problem, *one) for one in rank(work)[:n])

    lists = [fingerprint()] if kinds == "measured" else []
    return Generator(vary, identity="+".join([parse.identity, *versions(), *FromPairs().lists, *lists, *ranker]))


def _chosen(kinds: str, domain: str) -> tuple[str, ...]:
    """The kinds of structure that are used."""
    refuse_other_domain(domain, _WHERE)
    named = {"all": PARAPHRASES, "measured": sound_kinds(domain), "none": ()}
    wanted = choose_kinds(kinds, PARAPHRASES, named, _WHERE)
    return tuple(kind for kind in PARAPHRASES if kind in wanted)


def _refuse_wrong(n: int, changes: int) -> None:
    if n < 1:
        raise BadInput(f"found {n}", where=_WHERE, field="n", fix="give 1 or more variants per problem")
    if changes < 0:
        fix = "give a number of rewritings, 0 for as many as go together"
        raise BadInput(f"found {changes}", where=_WHERE, field="changes", fix=fix)


def _readable(problem: Problem, name: str) -> dict[str, str]:
    """The texts that may change, by field: those that can be parsed, in English."""
    names = chosen_fields(problem.task, name, _WHERE)
    if warn_of_other_language(problem.text.values(), _WHERE):
        return {}
    return {name: text for name in names if not why_unreadable(text := problem.text[name] or "")}


def _unreadable(problem: Problem, name: str) -> Iterator[Note]:
    """A note for each text that cannot be parsed, such as one of more than 20,000 characters, and why."""
    for one in chosen_fields(problem.task, name, _WHERE):
        if why := why_unreadable(problem.text[one] or ""):
            yield Note(problem.id, f"not parsed: {why}", 1, {"field": one})


# What may be done to a problem. This is all that is taken from `structural` and `wordnet`.


def _edits(
    problems: Sequence[Problem],
    texts: Sequence[Mapping[str, str]],
    randoms: Sequence[Random],
    kinds: Sequence[str],
    parse: Parser,
) -> Iterator[list[Edit]]:
    """The edits of each problem in the order in which they are tried: of structure and of words by turns."""
    pairs = [list(fields.items()) for fields in texts]
    nodes = parse(text for fields in texts for text in fields.values())
    tokens = [{name: _tokens(next(nodes)) for name in fields} for fields in texts]
    candidates = find_candidates(problems, pairs, kinds, parse, randoms)
    replacer = Replacer(_PARTS, FromPairs(), frozenset(), english=True)
    for problem, words, some, random in zip(problems, tokens, candidates, randoms, strict=True):
        structure = [Edit(one.kind, one) for one in in_turn(some, random)]
        synonyms = [Edit(SYNONYM, None, random.choice(options)) for options in replacer(problem, words)]
        random.shuffle(synonyms)
        found = [one for one in chain.from_iterable(zip_longest(structure, synonyms)) if one]
        yield sorted(found, key=lambda edit: edit.kind == _LAST)


def _tokens(nodes: Sequence[Node]) -> list[Token]:
    return [Token(node.text, node.start, node.pos, node.tag, node.named) for node in nodes]


# Putting them together


@dataclass
class _Work:
    """The rewording of one problem: its texts, the edits that may be made, and the variants so far."""

    texts: Mapping[str, str]
    pool: list[Edit]
    wanted: int
    most: int
    made: list[tuple[list[Edit], list[Change]]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    _tried: list[list[Edit]] = field(default_factory=list)
    _sound: list[Edit] = field(default_factory=list)
    _vetoed: list[list[Edit]] = field(default_factory=list)

    def plan(self) -> list[Edit]:
        """Edits that go together and were not tried together yet; none where there are no more, or enough variants."""
        if len(self.made) >= self.wanted:
            return []
        places = range(len(self.pool))
        plans = (self._from(at, skipped, mixed) for mixed in (True, False) for skipped in places for at in places)
        return next((plan for plan in plans if not any(_are_same(plan, other) for other in self._tried)), [])

    def _from(self, at: int, skipped: int, mixed: bool) -> list[Edit]:
        """The edit at a place of the pool and others that go with it, if `mixed` of other kinds first.

        As many as are `skipped`, of those after it, come last.
        """
        plan = [self.pool[at]]
        first = at + 1 + skipped
        others = [*self.pool[first:], *self.pool[:first]]
        for again in (False, True) if mixed else (True,):
            for one in others:
                fits = len(plan) != self.most and one not in plan
                if fits and (again or one.kind not in {edit.kind for edit in plan}) and self._may_be([*plan, one]):
                    plan.append(one)
        return plan

    def _may_be(self, plan: list[Edit]) -> bool:
        """Whether edits go together, and were not vetoed together."""
        vetoed = any(_are_same(plan, other) for other in self._vetoed)
        return not vetoed and combine(self.texts, plan) is not None

    def unread(self, plan: Sequence[Edit]) -> list[Edit]:
        """The edits of a plan that must still be verified."""
        return [one for one in plan if one.candidate and one not in self._sound]

    def judge(self, edit: Edit, reason: str) -> None:
        """Take note of whether an edit by itself is sound."""
        if not reason:
            self._sound.append(edit)
        elif edit in self.pool:
            self.pool.remove(edit)
            self.notes.append((reason, edit.how))

    def close(self, plan: list[Edit], reason: str) -> None:
        """Keep a verified plan, or remember that it was vetoed: then it is tried with fewer edits."""
        self._tried.append(plan)
        if not reason:
            changes = combine(self.texts, plan) or []
            if texts_after(self.texts, changes) not in [texts_after(self.texts, other) for _, other in self.made]:
                self.made.append((plan, changes))
            return
        self.notes.append((reason, " + ".join(edit.how for edit in plan)))
        self._vetoed.append(plan)
        if len(plan) == 1:
            self.pool.remove(plan[0])


def _are_same(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Whether two plans have the same edits, in whatever order."""
    return len(one) == len(other) and all(edit in other for edit in one)


def _compose_all(works: Sequence[_Work], parse: Parser) -> None:
    """Make the variants of all problems, round by round, so that sentences are parsed together.

    What a problem gets does not depend on the others.
    """
    while plans := [(work, plan) for work in works if (plan := work.plan())]:
        unread = [(work, edit) for work, plan in plans for edit in work.unread(plan)]
        reasons = why_unsound([edit.candidate for _, edit in unread if edit.candidate], parse)
        for (work, edit), reason in zip(unread, reasons, strict=True):
            work.judge(edit, reason)
        ready = [(work, plan) for work, plan in plans if not work.unread(plan)]
        for (work, plan), reason in zip(ready, _vetoes(ready, parse), strict=True):
            work.close(plan, reason)


def _vetoes(ready: Sequence[tuple[_Work, list[Edit]]], parse: Parser) -> list[str]:
    """Why variants are left out as wholes; empty for those that are kept. Those of other structure are parsed."""
    sides = [_sides(work, plan) for work, plan in ready]
    rebuilt = [any(edit.kind in EQUIVALENCES_V2 for edit in plan) for _, plan in ready]
    texts = [text for pairs, some in zip(sides, rebuilt, strict=True) if some for pair in pairs for text in pair]
    known = dict(zip(texts, parse(texts), strict=True))
    reasons = []
    for (_, plan), pairs, parsed in zip(ready, sides, rebuilt, strict=True):
        exempt = any(edit.kind in EQUIVALENCES_V2 and EQUIVALENCES_V2[edit.kind].exempt for edit in plan)
        if not exempt and any(_change_label(*pair) for pair in pairs):
            reasons.append(_CUES)
        else:
            reasons.append(_ROLES if parsed and any(_exchange(*pair, known) for pair in pairs) else "")
    return reasons


def _sides(work: _Work, plan: Sequence[Edit]) -> list[tuple[str, str]]:
    """The changed texts of a variant, before and after."""
    after = texts_after(work.texts, combine(work.texts, plan) or [])
    return [(work.texts[name], text) for name, text in after.items()]


def _change_label(before: str, after: str) -> bool:
    """Whether a negation, a quantifier or a number is lost or new, or a word became its opposite."""
    words, others = content(before), content(after)
    return cue_counts(before) != cue_counts(after) or any(opposites(before, after, words - others, others - words))


def _exchange(before: str, after: str, known: Mapping[str, list[Node]]) -> bool:
    sides = [roles(ParseTree(text, known[text])) for text in (before, after)]
    return bool(exchanged(*sides))


def _variant(problem: Problem, plan: Sequence[Edit], changes: Sequence[Change]) -> Variant:
    variant = with_changes(problem, changes)
    done = " + ".join(edit.how for edit in plan)
    return with_values(variant, extra={**variant.extra, "rewriting": done})


# Fluency

_Ranked = list[tuple[list[Edit], list[Change]]]


def _ranking(fluency: str) -> tuple[Callable[[_Work], _Ranked], list[str]]:
    """How the variants of a problem are ordered, and what stands for it in the signature."""
    if not fluency:
        return lambda work: work.made, []
    from ..language_models.masked_lm import load  # here, because without it no model is needed

    model = load(fluency)

    def rank(work: _Work) -> _Ranked:
        texts = [_joined(work, changes) for _, changes in work.made]
        logp = model.pseudo_logp(texts) if len(texts) > 1 else []
        means = [fsum(one.tolist()) / max(1, len(one)) for one in logp]  # exact, so that no batch matters
        order = sorted(range(len(means)), key=lambda at: -means[at])
        return [work.made[at] for at in order] or work.made

    return rank, [model.signature]


def _joined(work: _Work, changes: Sequence[Change]) -> str:
    return "\n".join({**work.texts, **texts_after(work.texts, changes)}.values())
