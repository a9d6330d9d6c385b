"""Sentences rewritten by a model: what to rewrite, which drafts pass, and the variants made of those that do."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from ..errors import BadInput
from ..language_models.writer import CUT_OFF, USELESS, Draft
from ..problem import Bucket, Note, Problem, Task, Variant, normalize_spaces
from ..registry import Bound, checks
from ..storage.files import seed_for
from .generating import SEVERAL, with_columns

#: Values of the option `field` besides the name of one.
BOTH, EACH = SEVERAL
#: A text repeats itself where words, or letters, occur so many times in a row.
TIMES, LETTERS = 3, 8
#: Stripped from both ends of a sentence when two are compared.
_ENDS = " \t.,;:!?\"'“”‘’()[]*…。．｡！？，；：、"
#: Models that chat announce what they do: "Sure! Here is a rephrased version of the sentence:", "Final answer:" ...
#: Listed words at the start show it, since "The judge read out the sentence: ten years." announces nothing.
_TASK_WORD = r"(?:rephras|paraphras|rewrit|rewrot|reword|sentence|version|translat|alternative)\w*"
_OPENER = r"(?:sure|certainly|of course|absolutely|okay|ok|alright|great)(?: thing)?(?:[!,.:]+\s+|$)"
_HERE = rf"here(?:['’]s| is| are)\b[^:]*\b{_TASK_WORD}[^:]*:"
_LABELS = """answer output assistant response result paraphrase paraphrased paraphrasing rephrase rephrased rephrasing
    rewritten reworded rewording sentence version translation translated text new final alternative possible"""
#: "The sentence was rephrased to ..."
_TALK = re.compile(
    rf"^{_OPENER}|\b(?:rephras|paraphras|reword)\w*|\boriginal (?:meaning|sentence|text)\b|\bthe sentence\b"
    r"|\bas an AI\b|\blanguage model\b",
    re.I,
)
_BULLET = re.compile(r"[-*•]\s+")
_NUMBER = re.compile(r"\(?\d{1,2}[.)]\s+")
#: Lists begin with 1, and sentences with a capital: "3. place" is not an item.
_FIRST = re.compile(r"\(?1[.)]\s+(?=[\"“'«*]?[A-Z])")
_QUOTES = {'"': '"', "“": "”", "'": "'", "«": "»", "*": "*"}
_RUN = re.compile(rf"(\w{{1,8}}?)\1{{{LETTERS - 1},}}")


@dataclass
class RewriteJob:
    """One sentence to rewrite: a field of a problem, under one setting; and the drafts that passed so far."""

    problem: Problem
    field: str
    setting: str
    prompt: str  # a pivot is appended to it
    seed: int
    passed: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # the text, and the pivot it came by
    seen: set[str] = dataclasses.field(default_factory=set)
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)
    hopeless: bool = False  # asking again would change nothing

    @property
    def source(self) -> str:
        """The sentence to rewrite."""
        return self.problem.text[self.field] or ""

    def notes(self) -> Iterator[Note]:
        """What was left out, by reason."""
        about = {"field": self.field, **({"sweep": self.setting} if self.setting else {})}
        for reason, count in sorted(self.left_out.items()):
            yield Note(self.problem.id, f"left out: {reason}", count, about)


@dataclass(frozen=True)
class DraftFilter:
    """Lets at most `most` drafts of a job pass: clean, distinct, complete unless `cut`, and accepted by a check."""

    most: int
    accept: Bound | None = None
    cut: bool = False

    def take(self, jobs: Sequence[RewriteJob], drafts: Sequence[Sequence[tuple[Draft, str]]]) -> None:
        """Filter new drafts, each with its pivot; the check gets those of all jobs in one call."""
        clean = [
            (job, text, pivot) for job, some in zip(jobs, drafts, strict=True) for text, pivot in self._clean(job, some)
        ]
        accepted = self._accepted(clean)
        if any(draft.stand_in for some in drafts for draft, _ in some):
            accepted = [True] * len(clean)  # the check was asked, so that its requests are counted
        for (job, text, pivot), keep in zip(clean, accepted, strict=True):
            if not keep:
                job.left_out[f"not accepted by {self.accept.name}"] += 1  # type: ignore[union-attr]
            elif len(job.passed) == self.most:
                job.left_out["more than were asked for"] += 1
            else:
                job.passed.append((text, pivot))

    def _clean(self, job: RewriteJob, drafts: Sequence[tuple[Draft, str]]) -> Iterator[tuple[str, str]]:
        for draft, pivot in drafts:
            text, reason = self._sentence(job, draft, pivot)
            if not reason and comparable(text) in job.seen:
                reason = "repeats another candidate"
            if reason:
                job.left_out[reason] += 1
            else:
                job.seen.add(comparable(text))
                yield text, pivot

    def _sentence(self, job: RewriteJob, draft: Draft, pivot: str) -> tuple[str, str]:
        """The sentence of a draft, or what is wrong with it; of a draft that was cut off, the last line is left out."""
        if draft.fault in USELESS:
            return "", draft.fault
        prompt = job.prompt + pivot
        shown = [text for name, text in job.problem.text.items() if name != job.field and text and text in prompt]
        if (
            draft.fault == CUT_OFF
            and starts_prompt(draft.text, prompt)
            and comparable(prompt) != comparable(job.source)
        ):
            return "", "gives the prompt back"
        whole = self.cut or draft.fault != CUT_OFF
        written = draft.text if whole else draft.text.rpartition("\n")[0]
        text, reason = extract_sentence(written, job.source, prompt, [*shown, pivot], job.problem.task.fields)
        return text, draft.fault if reason == "empty" and not whole else reason

    def _accepted(self, clean: Sequence[tuple[RewriteJob, str, str]]) -> list[bool]:
        if self.accept is None or not clean:
            return [True] * len(clean)
        buckets = [Bucket(job.problem, (job.problem.restate(**{job.field: text}),)) for job, text, _ in clean]
        return [verdict.keep is not False for verdict in self.accept.function(buckets)]


def choose_check(accept: str, where: str) -> Bound | None:
    """The check that decides which drafts pass, by its spec; None where none is named."""
    if not accept:
        return None
    bound = checks.make(accept)
    if getattr(bound.function, "by", ""):  # a bare function has no such field
        fix = "use another judge here, or the same judge as a check of `otherwords check`"
        raise BadInput("is known only when the model under test answers", where=where, field="accept", fix=fix)
    return bound


def field_groups(problem: Problem, chosen: str, where: str) -> list[tuple[str, ...]]:
    """Which fields to rewrite together: one alone, all targets (`both`), or each target alone and then all (`each`).

    By default it is the hypothesis where that is a target, else all targets. Empty fields are left out.

    >>> from otherwords.problem import TASKS
    >>> p = Problem("p1", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "neutral")
    >>> field_groups(p, "", "paraphrase.v1"), field_groups(p, "each", "paraphrase.v1")
    ([('hypothesis',)], [('premise',), ('hypothesis',), ('premise', 'hypothesis')])
    """
    filled = {name for name, text in problem.text.items() if (text or "").strip()}
    wanted = [tuple(name for name in one if name in filled) for one in _named_groups(problem.task, chosen, where)]
    return [one for one in dict.fromkeys(wanted) if one]


def plan_jobs(
    problems: Sequence[Problem], seeds: Sequence[int], chosen: str, settings: Sequence[str], where: str
) -> list[tuple[Problem, list[tuple[str, ...]], dict[tuple[str, str], RewriteJob]]]:
    """For every problem the fields to rewrite together, and a job for each field under each setting."""
    plan = []
    for problem, seed in zip(problems, seeds, strict=True):
        together = field_groups(problem, chosen, where)
        names = dict.fromkeys(name for one in together for name in one)
        jobs = {
            (name, setting): RewriteJob(problem, name, setting, "", seed_for(seed, name, setting))
            for name in names
            for setting in settings
        }
        plan.append((problem, together, jobs))
    return plan


def make_variants(
    problem: Problem,
    together: Sequence[tuple[str, ...]],
    jobs: dict[tuple[str, str], RewriteJob],
    settings: Sequence[str],
) -> Iterator[Variant | Note]:
    """Variants of the drafts that passed, marked with the new fields (and the setting and pivot); then the notes.

    Where several fields are rewritten at once, the first text of one goes with the first of the other, and so on; the
    shorter list is used again from its start, as ParaNLU does.
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
    return with_columns(problem.restate(**{name: text for name, (text, _) in texts.items()}), marks)


def _named_groups(task: Task, chosen: str, where: str) -> list[tuple[str, ...]]:
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


# From a draft to a sentence: without prompt, lead-in and quotes, or with the reason why it cannot be used


def extract_sentence(
    text: str, source: str, prompt: str, shown: Sequence[str] = (), fields: Sequence[str] = ()
) -> tuple[str, str]:
    """The sentence in what a model wrote for `source` when asked with `prompt`, and why it cannot be used, if so.

    `shown` are other texts in the prompt; one of them given back is no rewording. `fields` are names that a model may
    put before its answer, as in "Hypothesis: ...". Of several lines, the first counts that is more than a lead-in.

    >>> prompt = "Rephrase: A dog runs."
    >>> extract_sentence('Here is a rephrased version:\\n\\n"A dog is running."', "A dog runs.", prompt)
    ('A dog is running.', '')
    >>> extract_sentence("a dog runs", "A dog runs.", prompt)[1], extract_sentence(" ", "A dog runs.", prompt)[1]
    ('says what the original says', 'empty')
    """
    written = text.strip()
    bare = _after(prompt, written) if comparable(prompt) != comparable(source) else written
    if written and not bare:
        return "", "gives the prompt back"
    sentence = _first_line(bare, source, fields)
    if not re.search(r"\w", sentence):
        return sentence, "empty"
    return sentence, _reason(sentence, source, prompt, shown)


def starts_prompt(text: str, prompt: str) -> bool:
    """Whether a text that was cut off is the beginning of the prompt.

    >>> prompt = "It rains.\\nRephrase this: It is wet."
    >>> starts_prompt("it rains.\\nRephrase", prompt), starts_prompt("It is", prompt)
    (True, False)
    """
    return bool(comparable(text)) and comparable(prompt).startswith(comparable(text))


def comparable(text: str) -> str:
    """A text as drafts are compared: case, white space and final punctuation do not count.

    >>> comparable('A  dog runs.') == comparable("a dog runs")
    True
    """
    return normalize_spaces(text.casefold()).strip(_ENDS)


def repeats_itself(text: str) -> str:
    """The first words that occur three times in a row, or the first letters eight times; empty where none do.

    >>> repeats_itself("he sees the dog, the dog, the dog"), repeats_itself("no, no: not the dog")
    ('the dog', '')
    """
    words = re.findall(r"\w+(?:['’-]\w+)*", text.casefold())
    for size in range(1, len(words) // TIMES + 1):
        for start in range(len(words) - TIMES * size + 1):
            stretch = words[start : start + size]
            if words[start : start + TIMES * size] == stretch * TIMES:
                return " ".join(stretch)
    run = _RUN.search(text.casefold())
    return run[1] if run and not run[1].isdigit() else ""


def _after(prompt: str, text: str) -> str:
    """What follows the prompt in a text that begins with it, in any case and spacing; else the text."""
    asked, words = prompt.casefold().split(), list(re.finditer(r"\S+", text))
    if not asked or [one[0].casefold() for one in words[: len(asked)]] != asked:
        return text
    rest = text[words[len(asked) - 1].end() :]
    # "Reword: A dog runs and barks" has not given "Reword: A dog runs" back: its sentence goes on.
    goes_on = prompt.rstrip()[-1].isalnum() and not rest.lstrip(" ").startswith("\n") and rest.strip()[:1].islower()
    return text if goes_on else rest.strip()


def _first_line(text: str, source: str, fields: Sequence[str]) -> str:
    names = "|".join(map(re.escape, [*_LABELS.split(), *fields]))
    label = rf"\**(?:{names})(?: (?:{names}))?(?: \d+)?\**:"
    lead_in = re.compile(rf"(?:{_OPENER})?(?:(?:{_HERE}|{label})\**\s*)+", re.I)
    for line in text.splitlines():
        line = _unquoted(_unmarked(line.strip(), source), source)
        line = line if lead_in.match(source) else lead_in.sub("", line, count=1) if lead_in.match(line) else line
        line = _closed(_unquoted(line, source))
        if line and (not line.endswith(":") or source.rstrip().endswith(":")):
            return normalize_spaces(line)
    return ""


def _unmarked(line: str, source: str) -> str:
    """A line without the mark of a list's first item, unless the source has one."""
    for mark in (_BULLET, _FIRST):
        if mark.match(line) and not mark.match(source):
            return mark.sub("", line, count=1)
    return line


def _unquoted(line: str, source: str) -> str:
    """A line without quotation marks around all of it, unless the source has them."""
    line = line.strip()
    for first, last in _QUOTES.items():
        inner = line[len(first) : -len(last)]
        if len(line) > 1 and line.startswith(first) and line.endswith(last) and not source.startswith(first):
            return inner.strip() if first not in inner and last not in inner else line
    return line


def _closed(line: str) -> str:
    """A line without closing marks at its end that nothing opened."""
    while line.endswith(('"', ")", "”", "*")):
        last = line[-1]
        opened = line[:-1].count({")": "(", "”": "“"}.get(last, last))
        if opened % 2 if last in '"*' else opened > line[:-1].count(last):
            return line
        line = line[:-1].rstrip()
    return line


def _reason(sentence: str, source: str, prompt: str, shown: Sequence[str]) -> str:
    if comparable(sentence) == comparable(source):
        return "says what the original says"
    if _gives_back(sentence, source, prompt, shown):
        return "gives the prompt back"
    if _TALK.search(sentence) and not _TALK.search(source):
        return "speaks of the task"
    if _NUMBER.match(sentence) and not _NUMBER.match(source):
        return "begins with a number as in a list"
    if repeats_itself(sentence) and not repeats_itself(source):
        return "repeats itself"
    return ""


def _gives_back(sentence: str, source: str, prompt: str, shown: Sequence[str]) -> bool:
    """Whether it is a line of the prompt or another text in it, or contains one of three words or more."""
    new, before = comparable(sentence), comparable(source)
    asked = " ".join(prompt.rpartition(source)[::2]) if source else prompt
    parts = {comparable(part) for part in (*shown, *prompt.splitlines(), *asked.splitlines())} - {"", before}
    return any(part == new or (len(part.split()) > 2 and part in new and part not in before) for part in parts)
