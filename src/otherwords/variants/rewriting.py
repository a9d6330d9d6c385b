"""Sentences written anew by a model: what to rewrite, which drafts may count, and variants of those that do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as new
from itertools import cycle, islice

from ..errors import BadInput
from ..problem import Bucket, Note, Problem, Task, Variant
from ..registry import Bound, checks
from ..storage.files import seed_for
from ..writers.writing import CUT_OFF, TOO_LONG, Draft
from .tidying import begins, same, tidied

#: Ways to choose fields besides naming one.
BOTH, EACH = "both", "each"


@dataclass
class Job:
    """One sentence to rewrite: a field of a problem, under one setting; and what has become of it."""

    problem: Problem
    field: str
    setting: str
    prompt: str  # where there is a pivot, it comes behind
    seed: int
    passed: list[tuple[str, str]] = new(default_factory=list)  # the text, and the pivot it came by
    seen: set[str] = new(default_factory=set)
    left_out: Counter[str] = new(default_factory=Counter)
    hopeless: bool = False  # to ask again would change nothing

    @property
    def source(self) -> str:
        """The sentence as it is."""
        return self.problem.text[self.field] or ""

    def notes(self) -> Iterator[Note]:
        """What was left out, by reason."""
        about = {"field": self.field, **({"sweep": self.setting} if self.setting else {})}
        for reason, count in sorted(self.left_out.items()):
            yield Note(self.problem.id, f"left out: {reason}", count, about)


@dataclass(frozen=True)
class Sieve:
    """Lets at most `most` drafts of a job pass: tidy, distinct, whole unless `cut` ones may count, and accepted."""

    most: int
    accept: Bound | None = None
    cut: bool = False

    def take(self, jobs: Sequence[Job], drafts: Sequence[Sequence[tuple[Draft, str]]]) -> None:
        """Judge new drafts, each with its pivot; the check is asked about all jobs together."""
        found = [
            (job, text, pivot) for job, mine in zip(jobs, drafts, strict=True) for text, pivot in self._tidy(job, mine)
        ]
        for (job, text, pivot), keep in zip(found, self._accepted(found), strict=True):
            if not keep:
                job.left_out[f"not accepted by {self.accept.name}"] += 1  # type: ignore[union-attr]
            elif len(job.passed) == self.most:
                job.left_out["more than were asked for"] += 1
            else:
                job.passed.append((text, pivot))

    def _tidy(self, job: Job, drafts: Sequence[tuple[Draft, str]]) -> Iterator[tuple[str, str]]:
        for draft, pivot in drafts:
            text, reason = self._sentence(job, draft, pivot)
            if not reason and same(text) in job.seen:
                reason = "repeats another candidate"
            if reason:
                job.left_out[reason] += 1
            else:
                job.seen.add(same(text))
                yield text, pivot

    def _sentence(self, job: Job, draft: Draft, pivot: str) -> tuple[str, str]:
        """The sentence of a draft, or what is wrong with it; of what was cut off, the last line alone has no end."""
        prompt = job.prompt + pivot
        shown = [text for name, text in job.problem.text.items() if name != job.field and text and text in prompt]
        if draft.fault == CUT_OFF and begins(draft.text, prompt) and same(prompt) != same(job.source):
            return "", "gives the prompt back"
        whole = self.cut or draft.fault != CUT_OFF
        written = draft.text if whole else draft.text.rpartition("\n")[0]
        text, reason = tidied(written, job.source, prompt, [*shown, pivot], job.problem.task.fields)
        return text, draft.fault if draft.fault == TOO_LONG or (reason == "empty" and not whole) else reason

    def _accepted(self, found: Sequence[tuple[Job, str, str]]) -> list[bool]:
        if self.accept is None or not found:
            return [True] * len(found)
        buckets = [Bucket(job.problem, (job.problem.restate(**{job.field: text}),)) for job, text, _ in found]
        return [verdict.keep is not False for verdict in self.accept.function(buckets)]


def choose_check(accept: str, where: str) -> Bound | None:
    """The check that decides which drafts pass, by its spec; none where none is named."""
    if not accept:
        return None
    found = checks.make(accept)
    if getattr(found.function, "by", ""):
        fix = "name another judge, or leave it to `check`, for whatever `answer` is asked about"
        raise BadInput("judges only when the model under test answers", where=where, field="accept", fix=fix)
    return found


def kinds(problem: Problem, chosen: str, where: str) -> list[tuple[str, ...]]:
    """Which fields to rewrite together: one alone, all targets (`both`), or each target alone and then all (`each`).

    Unless told, it is the hypothesis where that is a target, else all targets. Empty fields have nothing to rewrite.

    >>> from otherwords.problem import TASKS
    >>> p = Problem("p1", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "neutral")
    >>> kinds(p, "", "paraphrase.v1"), kinds(p, "each", "paraphrase.v1")
    ([('hypothesis',)], [('premise',), ('hypothesis',), ('premise', 'hypothesis')])
    """
    full = {name for name, text in problem.text.items() if (text or "").strip()}
    wanted = [tuple(name for name in one if name in full) for one in _named(problem.task, chosen, where)]
    return [one for one in dict.fromkeys(wanted) if one]


def planned(
    problems: Sequence[Problem], seeds: Sequence[int], chosen: str, settings: Sequence[str], where: str
) -> list[tuple[Problem, list[tuple[str, ...]], dict[tuple[str, str], Job]]]:
    """For every problem what to rewrite together, and a job for each field of it under each setting."""
    plan = []
    for problem, seed in zip(problems, seeds, strict=True):
        together = kinds(problem, chosen, where)
        names = dict.fromkeys(name for one in together for name in one)
        jobs = {
            (name, setting): Job(problem, name, setting, "", seed_for(seed, name, setting))
            for name in names
            for setting in settings
        }
        plan.append((problem, together, jobs))
    return plan


def rewritten(
    problem: Problem, together: Sequence[tuple[str, ...]], jobs: dict[tuple[str, str], Job], settings: Sequence[str]
) -> Iterator[Variant | Note]:
    """Variants of what passed, marked with the fields that are new (and the setting and pivot), and then the notes.

    Where several fields are rewritten at once, the first text of one goes with the first of the other, and so on; the
    scarcer side is drawn from again, as ParaNLU does.
    """
    for setting in settings:
        for names in together:
            sides = [jobs[name, setting].passed for name in names]
            count = max(map(len, sides)) if all(sides) else 0
            for texts in islice(zip(*(cycle(side) for side in sides), strict=True), count):
                yield _variant(problem, dict(zip(names, texts, strict=True)), setting)
    for job in jobs.values():
        yield from job.notes()


def _variant(problem: Problem, texts: dict[str, tuple[str, str]], setting: str) -> Variant:
    marks = {"rewritten": "+".join(texts)}
    if setting:
        marks["sweep"] = setting
    if pivot := "\n".join(pivot for _, pivot in texts.values() if pivot):
        marks["pivot"] = pivot
    told = {f"input_{name}": problem.extra[name] for name in marks if problem.extra.get(name) is not None}
    made = problem.restate(**{name: text for name, (text, _) in texts.items()})
    return Variant("", made.task, made.text, made.label, {**made.extra, **told, **marks}, of=problem.id)


def _named(task: Task, chosen: str, where: str) -> list[tuple[str, ...]]:
    if chosen in task.fields:
        return [(chosen,)]
    if chosen == EACH:
        return [*((name,) for name in task.targets), task.targets]
    if chosen == BOTH:
        return [task.targets]
    if chosen:
        fix = f"use one of {', '.join(task.fields)}, or {BOTH}, or {EACH}"
        raise BadInput(f"no field {chosen!r}", where=where, field="field", fix=fix)
    return [("hypothesis",)] if "hypothesis" in task.targets else [task.targets]
