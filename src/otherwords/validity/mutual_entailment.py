"""Variants of which the model under test is the judge: each model accepts its own when it answers, and no other."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ..errors import BadInput, LabelOrder
from ..frames import REJECTED, reworded
from ..models.answering import ask, run_canary
from ..models.cache import Cache, Cached
from ..models.canary import questions
from ..models.model import Answerer, as_model
from ..problem import TASKS, Bucket, Task, Verdict, plain
from ..registry import Bound, checks, models, split_name
from .checking import EMPTY, Pair, changed_fields, has_texts, too_long, warn_too_long

# MERGED from validity.entailing: Mutual entailment: two texts say the same where a judge finds that each entails the other (Arakelyan et al. 2024).

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


# MERGED from validity.judges: Models as judges of entailment: whatever its labels are called, one of them must mean entailment.


def load_judge(spec: str, label_map: str = "") -> Answerer:
    """Make a model ready to say whether one text entails another.

    It may have two labels or three, or more: what is not entailment is kept under the model's own name, and told in
    the reason of a drop. `label_map` says what odd names mean, as in "LABEL_0=entailment,LABEL_1=neutral".

    >>> load_judge("scripted(otherwise=entailment)").task.labels
    ('entailment', 'neutral', 'contradiction')
    """
    name, spec = split_name(spec)
    meaning = _read_map(label_map)
    bound = models.make(spec, task=TASKS["nli"])
    model = as_model(bound.function)
    task = _task(name, model.labels, meaning)
    told = f"[{','.join(f'{mine}={theirs}' for mine, theirs in sorted(meaning.items()))}]" if meaning else ""
    return Answerer(name, bound.signature + told, model, task, meaning)


def asking(model: Answerer, cache: Cache, pairs: Sequence[Pair], batch_size: int = 0) -> dict[Pair, Cached]:
    """Ask a model whether the first text of each pair entails the second."""
    premise, hypothesis = model.task.fields
    columns = {premise: [one for one, _ in pairs], hypothesis: [other for _, other in pairs]}
    return dict(zip(pairs, ask(columns, model, cache, batch_size), strict=True))


def run_judge_canary(model: Answerer, cache: Cache) -> None:
    """Run the canary on a judge: with labels in another order it would accept next to nothing, and not say why."""
    try:
        run_canary(model if questions(model.task) else _twin(model), cache)
    except LabelOrder as error:
        raise LabelOrder(f"{error}; of a judge, these are its options label_map and canary=false") from error


def _twin(model: Answerer) -> Answerer:
    """A judge whose labels are no task's, as one that tells what is entailed from what is not."""
    yes, rte = model.task.labels[entailment_of(model.task)], TASKS["rte"]
    own = zip(model.model.labels, model.targets, strict=True)
    meaning = {label: rte.labels[0] if target == yes else rte.labels[1] for label, target in own}
    return Answerer(model.name, f"{model.signature}[twin]", model.model, rte, meaning)


def _read_map(text: str) -> dict[str, str]:
    """Read "MODEL'S=MEANING,..." by the rules by which labels are compared."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := [name for name, mark, meaning in parts if not (name.strip() and mark and meaning.strip())]:
        fix = 'write label_map="LABEL_0=entailment,LABEL_1=neutral,LABEL_2=contradiction"'
        raise BadInput(f"cannot read {wrong[0]!r}", where="mutual-entailment", field="label_map", fix=fix)
    return {plain(name): plain(meaning) for name, _, meaning in parts}


def _task(name: str, own: Sequence[str], meaning: Mapping[str, str]) -> Task:
    """What a judge is asked: premise and hypothesis, to be answered in its own labels."""
    nli = TASKS["nli"]
    labels = list(dict.fromkeys(meaning.get(plain(label), plain(label)) for label in own)) or list(nli.labels)
    where, known = "mutual-entailment", ", ".join(own)
    if own and (strange := [label for label in meaning if label not in map(plain, own)]):
        found = f"{name} does not answer {', '.join(strange)}"
        raise BadInput(found, where=where, field="label_map", fix=f"its labels are {known}")
    if len(labels) < 2 or sum(label in ENTAILMENT for label in labels) != 1:
        found = f"{name} answers {known}: which of them means entailment?"
        fix = f'say so, as in label_map="{own[0]}=entailment"' if own else "name a model of natural language inference"
        raise BadInput(found, where=where, field="judge", fix=fix)
    same = [task for task in (nli, TASKS["rte"]) if set(task.labels) == set(labels)]
    return same[0] if same else Task("judging", nli.fields, tuple(labels), nli.targets)


# MERGED from validity.mutual_entailment: Mutual entailment as a check: by a judge of its own, or by the model under test, as Arakelyan et al. (2024) do.

#: Pairs that are remembered between calls. Shards have few in common, and memory should stay flat.
_MOST = 100_000


# `judge` is not signed as it is given, since it may hold a path of this machine: the identity is the judge's signature.
@checks("mutual-entailment.v1", unsigned=("judge", "label_map", "canary"))
def mutual_entailment(
    judge: str = "self", label_map: str = "", threshold: float = 0.0, field: str = "", canary: bool = True
) -> Any:
    """Drop variants whose changed fields a judge does not find to entail the original's, and to be entailed by it.

    `judge` is a model that tells entailment, with two labels or three (`label_map` says what odd ones mean), or "self":
    the model under test, which then judges for itself when it answers. `threshold` is the least probability of
    entailment, which must be the judge's answer in any case, and what is longer than the judge reads is dropped;
    `field` is the one field that is judged, if not all. A judge is first asked what nobody gets wrong, unless `canary`
    is false; self is a model's own affair.
    """
    rule = Rule(threshold, field)
    if judge != "self":
        return Judge(load_judge(judge, label_map), rule, canary)
    if label_map:
        fix = "the model under test has its own: --label-map, or label_map in a study"
        raise BadInput("self needs none", where="mutual-entailment", field="label_map", fix=fix)
    return BySelf(rule)


class Judge:
    """A judge of its own: asked of each pair once, however often it comes."""

    def __init__(self, model: Answerer, rule: Rule, canary: bool = True):
        self.model, self.rule, self.canary, self.identity = model, rule, canary, model.signature
        self.known: dict[Pair, Cached] = {}

    def refuse_task(self, task: Task) -> None:
        """Complain of a task that lacks the field to be judged."""
        self.rule.refuse_task(task)

    def __call__(self, buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        """Judge every variant, in order."""
        verdicts = mutual(buckets, self.rule, self.model.task, self._answers)
        warn_too_long("mutual-entailment", self.model.name, verdicts)
        return iter(verdicts)

    def run_canary(self, cache: Cache) -> None:
        """Run the canary, the first time."""
        if self.canary:
            run_judge_canary(self.model, cache)
            self.canary = False

    def _answers(self, pairs: Sequence[Pair]) -> Mapping[Pair, Cached]:
        if len(self.known) > _MOST:
            self.known.clear()
        todo = [pair for pair in pairs if pair not in self.known]
        if todo:
            with Cache(None) as store:
                self.run_canary(store)
                self.known.update(asking(self.model, store, todo))
        return self.known


class BySelf:
    """The model under test as judge: nothing is said yet, and `by` says in the table who will (see `self_judged`)."""

    identity = "self"

    def __init__(self, rule: Rule):
        self.rule, self.by = rule, str(rule)

    def refuse_task(self, task: Task) -> None:
        """Complain of a task in which no model is asked for entailment, or that lacks the field to be judged."""
        entailment_of(task)
        self.rule.refuse_task(task)

    def __call__(self, buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        """Say nothing of every variant."""
        return (Verdict(None) for bucket in buckets for _ in bucket.variants)


# MERGED from validity.self_judged: Variants of which the model under test is the judge: each model accepts its own when it answers, and no other.

#: Of each check whose judge is the model under test: how many variants there were to judge, how many it accepted.
Counts = dict[str, dict[str, int]]


def with_own_verdicts(
    suite: pl.DataFrame, model: Answerer, cache: Cache, batch_size: int = 0
) -> tuple[pl.DataFrame, pl.Series]:
    """Let a model judge the variants that checks left to it; give the suite with its verdicts, and which rows stay.

    A column `rejected` says of the others why the model does not accept them. It is asked through the same cache as for
    its answers. Rows that nobody left to it stay. Every check judges all variants, so that its counts are its own
    whatever other checks there are.
    """
    columns = judged_by(suite.columns)
    if not columns:
        return suite, pl.repeat(True, suite.height, eager=True)
    marked = suite.rename({REJECTED: f"input_{REJECTED}"}, strict=False)
    reasons: dict[str, list[str]] = {}
    for column in columns:
        check = column.split(":")[1]
        verdicts = dict(_verdicts(suite, column, model, cache, batch_size))
        if verdicts:
            warn_too_long(check, model.name, list(verdicts.values()))
            marked = _marked(marked, column.removesuffix(":by"), verdicts)
        for name, one in verdicts.items():
            if not one.keep:
                reasons.setdefault(name, []).append(f"{check}: {one.reason}")
    told = ["; ".join(reasons[name]) if name in reasons else None for name in suite["id"]]
    rejected = pl.Series(REJECTED, told, dtype=pl.String)
    return marked.with_columns(rejected), rejected.is_null()


def count_accepted(parts: Iterable[pl.LazyFrame]) -> Counts:
    """Count in the parts of an answers table what the model was to judge itself, and what it accepted.

    >>> by, verdict = ["self", "self", None], [True, False, None]
    >>> count_accepted([pl.LazyFrame({"check:me:by": by, "check:me": verdict})])
    {'me': {'judged': 2, 'accepted': 1}}
    """
    found: Counts = {}
    for part in parts:
        schema = part.collect_schema()
        for column in judged_by(schema):
            if column.removesuffix(":by") not in schema:
                continue  # nothing was left to it in this part
            verdict = pl.col(column.removesuffix(":by")).cast(pl.Boolean).filter(pl.col(column).fill_null("") != "")
            judged, kept = part.select(judged=verdict.count(), kept=verdict.sum()).collect().row(0)
            counts = found.setdefault(column.split(":")[1], {"judged": 0, "accepted": 0})
            counts["judged"], counts["accepted"] = counts["judged"] + judged, counts["accepted"] + kept
    return {check: counts for check, counts in found.items() if counts["judged"]}


def warn_none_accepted(model: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Warn where a model accepts none of the variants that it was to judge."""
    for check, one in counts.items():
        if not one["accepted"]:
            warnings.warn(f"{model}: {check}: it accepts none of {one['judged']:,} variants", stacklevel=3)


def refuse_unfit(judges: Iterable[Bound], task: Task) -> None:
    """Complain, before any work, of a check that the models of this task cannot carry out."""
    for one in judges:
        if hasattr(one.function, "refuse_task"):
            one.function.refuse_task(task)


def judged_by(names: Iterable[str]) -> list[str]:
    """Of a table's columns, those that say who is to judge."""
    return [name for name in names if re.fullmatch("check:[^:]+:by", name)]


def _verdicts(
    suite: pl.DataFrame, column: str, model: Answerer, cache: Cache, batch_size: int
) -> Iterator[tuple[str, Verdict]]:
    """Verdicts by id on the variants that were left to the model; one table may come from several calls of a check."""
    for told in suite[column].cast(pl.String).replace("", None).drop_nulls().unique().sort():
        rule = Rule.read(told, column)
        entailment_of(model.task)
        mine = suite.filter(pl.col("of").is_null() | (pl.col(column) == told))
        buckets = reworded(mine, model.task)
        names = [variant.id for bucket in buckets for variant in bucket.variants]
        found = mutual(buckets, rule, model.task, lambda pairs: asking(model, cache, pairs, batch_size))
        yield from zip(names, found, strict=True)


def _marked(suite: pl.DataFrame, check: str, verdicts: Mapping[str, Verdict]) -> pl.DataFrame:
    judged = pl.DataFrame(
        {
            "id": pl.Series(list(verdicts), dtype=pl.String),
            check: pl.Series([one.keep for one in verdicts.values()], dtype=pl.Boolean),
            f"{check}:reason": pl.Series([one.reason or None for one in verdicts.values()], dtype=pl.String),
            f"{check}:score": pl.Series([one.score for one in verdicts.values()], dtype=pl.Float64),
        }
    )
    if judged["id"].is_duplicated().any():
        raise BadInput("two variants have the same id", field="id", fix="ids must be unique")
    names = list(dict.fromkeys([*suite.columns, *judged.columns]))
    rest = suite.drop([name for name in judged.columns if name != "id" and name in suite.columns])
    return rest.join(judged, on="id", how="left", maintain_order="left").select(names)
