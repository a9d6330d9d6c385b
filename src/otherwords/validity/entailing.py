"""Mutual entailment: two texts say the same where a judge finds that each entails the other (Arakelyan et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import BadInput
from ..models.cache import Cached
from ..problem import Bucket, Task, Verdict, plain
from .changed import EMPTY, Pair, changed_fields, has_texts
from .long_texts import too_long

#: What a label is called that says: the second text follows from the first.
ENTAILMENT = ("entailment", "entailed")
#: Answers pairs of texts, each once.
Answering = Callable[[Sequence[Pair]], Mapping[Pair, Cached]]
_DIRECTIONS = ("original does not entail variant", "variant does not entail original")
_RULE = re.compile(r"self(?:\((?:threshold=(?P<threshold>[\d.e+-]+))?(?:, )?(?:field=(?P<field>(?s:.+)))?\))?")


@dataclass(frozen=True)
class Rule:
    """What is asked of a judge: how probable entailment must be besides being its answer, and of which field alone.

    It can be written into a table, for the model under test to be judge later.

    >>> str(Rule(0.9, "hypothesis")), Rule.read("self(threshold=0.9, field=hypothesis)") == Rule(0.9, "hypothesis")
    ('self(threshold=0.9, field=hypothesis)', True)
    """

    threshold: float = 0.0
    field: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            found, fix = f"found {self.threshold!r}", "give a probability from 0 to 1"
            raise BadInput(found, where="mutual-entailment", field="threshold", fix=fix)

    def __str__(self) -> str:
        told = [f"threshold={self.threshold!r}"] if self.threshold else []
        told += [f"field={self.field}"] if self.field else []
        return f"self({', '.join(told)})" if told else "self"

    def refuse_task(self, task: Task) -> None:
        """Complain of a task whose problems have no such field."""
        if self.field and self.field not in task.fields:
            fix = f"use one of {', '.join(task.fields)}"
            raise BadInput(f"no field {self.field!r}", where="mutual-entailment", field="field", fix=fix)

    @classmethod
    def read(cls, text: str, column: str = "") -> Rule:
        """Read what `str` writes. Nothing else: a table from elsewhere names no plug-ins to be run."""
        match = _RULE.fullmatch(text)
        try:
            return cls(float(match["threshold"] or 0), match["field"] or "")  # type: ignore[index]
        except (TypeError, ValueError):
            fix = "a variant is judged by self, or not yet by anybody: leave the column out"
            raise BadInput(f"found {text!r}", field=column, fix=fix) from None


def mutual(buckets: Sequence[Bucket], rule: Rule, task: Task, answering: Answering) -> list[Verdict]:
    """A verdict for each variant, in order: kept where in every changed field old and new text entail each other.

    `task` is what the judge answers. What did not change is not asked: a text entails itself. White space changes
    nothing. What the judge had to cut to read it does not pass. The score is the least probability of entailment, where
    the judge gives any and has read all.
    """
    for bucket in buckets:
        rule.refuse_task(bucket.problem.task)
    changed = [changed_fields(bucket.problem, one, rule.field) for bucket in buckets for one in bucket.variants]
    pairs = dict.fromkeys(pair for changes in changed for texts in changes.values() for pair in _both_ways(texts))
    told = answering(list(pairs)) if pairs else {}
    return [_verdict(changes, told, task, rule.threshold) for changes in changed]


def entailment_of(task: Task) -> int:
    """The place of the label that means entailment.

    >>> from otherwords.problem import TASKS
    >>> entailment_of(TASKS["nli"]), entailment_of(TASKS["rte"])
    (0, 0)
    """
    found = [place for place, label in enumerate(task.labels) if plain(label) in ENTAILMENT]
    if len(task.fields) != 2 or len(found) != 1:
        said = f"{task.name} asks for {', '.join(task.labels)} of {', '.join(task.fields)}, not whether a text entails"
        fix = "name a judge that can tell: mutual-entailment:nli-small, or hf:NAME_OR_PATH"
        raise BadInput(f"{said} another", where="mutual-entailment", field="judge", fix=fix)
    return found[0]


def _both_ways(texts: Pair) -> Iterator[Pair]:
    """A text that is not there entails nothing, and no model is asked about it."""
    if has_texts(texts):
        yield from (texts, texts[::-1])


def _verdict(changes: Mapping[str, Pair], told: Mapping[Pair, Cached], task: Task, threshold: float) -> Verdict:
    found: list[str] = []
    least: list[float | None] = []
    for name, texts in changes.items():
        where = f"{name}: " if len(changes) > 1 else ""
        asked = [told[pair] for pair in _both_ways(texts)]
        failed = _reason([_failure(one, task, threshold) for one in asked]) if asked else EMPTY
        failed = too_long("judge") if any(one.cut for one in asked) else failed
        found += [f"{where}{failed}"] if failed else []
        least += [None if one.p is None or one.cut else one.p[entailment_of(task)] for one in asked]
    known = [p for p in least if p is not None]
    return Verdict(not found, "; ".join(found), min(known) if known and len(known) == len(least) else None)


def _reason(failed: list[str]) -> str:
    """Which direction failed, and why; empty where none did.

    >>> _reason(["", "neutral"]), _reason(["neutral", "contradiction"])
    ('variant does not entail original: neutral', 'neither entails the other: neutral, contradiction')
    """
    if all(failed):
        return f"neither entails the other: {', '.join(dict.fromkeys(failed))}"
    return next((f"{said}: {why}" for said, why in zip(_DIRECTIONS, failed, strict=True) if why), "")


def _failure(answer: Cached, task: Task, threshold: float) -> str:
    """Why an answer is no entailment; empty where it is."""
    yes = entailment_of(task)
    if answer.pred != yes:
        return task.labels[answer.pred]
    if threshold and answer.p is None:
        found, fix = "the judge gives no probabilities", "leave threshold out"
        raise BadInput(found, where="mutual-entailment", field="threshold", fix=fix)
    return f"probability below {threshold:g}" if answer.p is not None and answer.p[yes] < threshold else ""
