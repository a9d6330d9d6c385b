"""Mutual entailment: two texts say the same where a judge finds that each entails the other (Arakelyan et al. 2024).

The judge is a separate model, or the model under test: then each model accepts its own variants when it answers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, LabelOrder, caller_level
from ..frames import REJECTED, reworded
from ..models.answering import ask, is_only_counted, run_canary
from ..models.cache import Cache, default_path
from ..models.canary import questions
from ..models.model import Answerer, as_model, label_map_suffix
from ..models.predictions import Cached
from ..problem import TASKS, UNREADABLE, Bucket, Task, Verdict, changed_fields, label_key, parse_label_map
from ..registry import checks, models
from ..storage.specs import split_name
from .checking import EMPTY, Check, Pair, has_texts, too_long, warn_too_long

#: Names of the label that means: the second text follows from the first.
ENTAILMENT = ("entailment", "entailed")
#: Gives an answer for each pair of texts.
AskPairs = Callable[[Sequence[Pair]], Mapping[Pair, Cached]]
#: For each check that the model under test carries out: how many variants it judged, and how many it accepted.
Counts = dict[str, dict[str, int]]
_WHERE = "mutual-entailment"
_DIRECTIONS = ("original does not entail variant", "variant does not entail original")
_RULE = re.compile(r"self(?:\((?:threshold=(?P<threshold>[\d.e+-]+))?(?:, )?(?:field=(?P<field>(?s:.+)))?\))?")
#: Answers that a judge keeps between calls. Shards have few pairs in common, and memory should stay flat.
_MOST_KEPT = 100_000


@dataclass(frozen=True)
class EntailmentRule:
    """What a judge must find: entailment, with at least the probability `threshold`, in all fields or in one `field`.

    Its text can be stored in a table, so that the model under test applies it later.

    >>> str(EntailmentRule(0.9, "hypothesis"))
    'self(threshold=0.9, field=hypothesis)'
    >>> EntailmentRule.read("self(threshold=0.9, field=hypothesis)") == EntailmentRule(0.9, "hypothesis")
    True
    """

    threshold: float = 0.0
    field: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            fix = "give a probability from 0 to 1"
            raise BadInput(f"found {self.threshold!r}", where=_WHERE, field="threshold", fix=fix)

    def __str__(self) -> str:
        options = [f"threshold={self.threshold!r}"] if self.threshold else []
        options += [f"field={self.field}"] if self.field else []
        return f"self({', '.join(options)})" if options else "self"

    @classmethod
    def read(cls, text: str, column: str = "") -> EntailmentRule:
        """Read what `str` writes, and nothing else: a table from elsewhere must not name plug-ins to run."""
        match = _RULE.fullmatch(text)
        try:
            return cls(float(match["threshold"] or 0), match["field"] or "")  # type: ignore[index]
        except (TypeError, ValueError):
            fix = "the only value is self; leave the column out for variants without a verdict"
            raise BadInput(f"found {text!r}", field=column, fix=fix) from None

    def refuse_task(self, task: Task) -> None:
        """Refuse a task whose problems have no such field."""
        if self.field and self.field not in task.fields:
            fix = f"use one of {', '.join(task.fields)}"
            raise BadInput(f"no field {self.field!r}", where=_WHERE, field="field", fix=fix)


@dataclass(frozen=True)
class EntailmentCheck(Check):
    """The check with its rule, and its judge unless that is the model under test."""

    rule: EntailmentRule = EntailmentRule()
    judge: EntailmentJudge | None = None


# `judge` is not signed as it is given, since it may hold a path of this machine: the identity is the judge's signature.
@checks("mutual-entailment.v1", unsigned=("judge", "label_map", "canary"))
def mutual_entailment(
    judge: str = "self", label_map: str = "", threshold: float = 0.0, field: str = "", canary: bool = True
) -> Any:
    """Drop variants whose changed fields a judge does not find to entail the original's, and to be entailed by it.

    `judge` is a model that decides entailment, with two labels or three (`label_map` explains unusual ones), or "self":
    the model under test, which then judges for itself when it answers. `threshold` is the least probability of
    entailment, which must be the judge's answer in any case; texts longer than the judge reads are dropped. `field` is
    the only field that is judged, if not all. Unless `canary` is false, a judge must first answer questions with
    well-known answers; for self, the model's own canary does that.
    """
    rule = EntailmentRule(threshold, field)
    if judge != "self":
        own = EntailmentJudge(load_judge(judge, label_map), canary)

        def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
            verdicts = judge_entailment(buckets, rule, own.model.task, own)
            warn_too_long(_WHERE, own.model.name, verdicts)
            return iter(verdicts)

        language = models.language(split_name(judge)[1])
        return EntailmentCheck(check, own.model.signature, rule.refuse_task, language=language, rule=rule, judge=own)
    if label_map:
        fix = "set that of the model under test: --label-map, or label_map in a study"
        raise BadInput("the judge self has no label map", where=_WHERE, field="label_map", fix=fix)

    def postpone(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        return (Verdict(None) for bucket in buckets for _ in bucket.variants)

    def refuse_task(task: Task) -> None:
        entailment_of(task)
        rule.refuse_task(task)

    return EntailmentCheck(postpone, "self", refuse_task, str(rule), rule=rule)


def judge_entailment(buckets: Sequence[Bucket], rule: EntailmentRule, task: Task, ask_pairs: AskPairs) -> list[Verdict]:
    """A verdict for each variant, in order: kept where in every changed field old and new text entail each other.

    `task` is the judge's. Unchanged fields are not asked about: a text entails itself. Texts that the judge had to cut
    do not pass. The score is the least probability of entailment, where the judge gives one and has read everything.
    """
    for bucket in buckets:
        rule.refuse_task(bucket.problem.task)
    changed = _changes(buckets, rule)
    pairs = _pairs(changed)
    answers = ask_pairs(pairs) if pairs else {}
    return [_verdict(changes, answers, task, rule.threshold) for changes in changed]


def _changes(buckets: Sequence[Bucket], rule: EntailmentRule) -> list[dict[str, Pair]]:
    """The old and the new text of each field of each variant that is judged."""
    return [changed_fields(bucket.problem, one, rule.field) for bucket in buckets for one in bucket.variants]


def _pairs(changed: Iterable[Mapping[str, Pair]]) -> list[Pair]:
    """What a judge is asked about changes: each distinct pair once."""
    return list(dict.fromkeys(pair for one in changed for texts in one.values() for pair in _both_ways(texts)))


def entailment_of(task: Task) -> int:
    """The position of the label that means entailment.

    >>> entailment_of(TASKS["nli"]), entailment_of(TASKS["rte"])
    (0, 0)
    """
    positions = [position for position, label in enumerate(task.labels) if label_key(label) in ENTAILMENT]
    if len(task.fields) != 2 or len(positions) != 1:
        question = f"{task.name} has the labels {', '.join(task.labels)}"
        fix = "name an entailment judge: mutual-entailment:nli-small, or hf:NAME_OR_PATH"
        raise BadInput(f"{question}: its models cannot judge entailment", where=_WHERE, field="judge", fix=fix)
    return positions[0]


def _both_ways(texts: Pair) -> Iterator[Pair]:
    """Both directions; none where a text is empty, which no model is asked about."""
    if has_texts(texts):
        yield from (texts, texts[::-1])


def _verdict(changes: Mapping[str, Pair], answers: Mapping[Pair, Cached], task: Task, threshold: float) -> Verdict:
    reasons: list[str] = []
    probabilities: list[float | None] = []
    for name, texts in changes.items():
        prefix = f"{name}: " if len(changes) > 1 else ""
        both = [answers[pair] for pair in _both_ways(texts)]
        reason = _reason([_failure(one, task, threshold) for one in both]) if both else EMPTY
        reason = too_long("judge") if any(one.cut for one in both) else reason
        reasons += [f"{prefix}{reason}"] if reason else []
        probabilities += [None if one.p is None or one.cut else one.p[entailment_of(task)] for one in both]
    known = [p for p in probabilities if p is not None]
    score = min(known) if known and len(known) == len(probabilities) else None
    return Verdict(not reasons, "; ".join(reasons), score)


def _reason(failures: list[str]) -> str:
    """Which direction failed, and why; empty where none did.

    >>> _reason(["", "neutral"]), _reason(["neutral", "contradiction"])
    ('variant does not entail original: neutral', 'neither entails the other: neutral, contradiction')
    """
    if all(failures):
        return f"neither entails the other: {', '.join(dict.fromkeys(failures))}"
    return next((f"{which}: {why}" for which, why in zip(_DIRECTIONS, failures, strict=True) if why), "")


def _failure(answer: Cached, task: Task, threshold: float) -> str:
    """Why an answer is not entailment; empty where it is."""
    yes = entailment_of(task)
    if answer.pred != yes:
        return (*task.labels, UNREADABLE)[answer.pred]
    if threshold and answer.p is None:
        message, fix = "the judge returns no probabilities", "leave threshold out"
        raise BadInput(message, where=_WHERE, field="threshold", fix=fix)
    return f"probability below {threshold:g}" if answer.p is not None and answer.p[yes] < threshold else ""


# A separate model as judge


class EntailmentJudge:
    """A model that is asked about each distinct pair of texts once.

    What a server was paid for is kept: the answers of one are in the cache that all runs share.
    """

    def __init__(self, model: Answerer, canary: bool = True):
        self.model, self.canary = model, canary
        self._known: dict[Pair, Cached] = {}

    def __call__(self, pairs: Sequence[Pair]) -> Mapping[Pair, Cached]:
        """The answers to these pairs, among others."""
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        todo = [pair for pair in pairs if pair not in self._known]
        if todo:
            with Cache(self._cache_path()) as cache:
                self.run_canary(cache)
                self._known.update(ask_entailment(self.model, cache, todo))
        return self._known

    def _cache_path(self) -> Path | None:
        """The shared cache for a model on a server; a dry run makes no file."""
        path = default_path() if self.model.model.keep_replies else None
        return None if path and is_only_counted(self.model) and not path.is_file() else path

    def run_canary(self, cache: Cache) -> None:
        """Run the canary, the first time: a judge with permuted labels would accept almost nothing."""
        if not self.canary:
            return
        try:
            run_canary(self.model if questions(self.model.task) else _as_two_classes(self.model), cache)
        except LabelOrder as error:
            raise LabelOrder(f"{error}; for a judge, use its options label_map and canary=false") from error
        self.canary = False


def load_judge(spec: str, label_map: str = "") -> Answerer:
    """Make a model ready to decide whether one text entails another.

    It may have two or more labels: those that are not entailment keep the model's own names, which the reason of a drop
    gives. `label_map` explains unusual names, as in "LABEL_0=entailment,LABEL_1=neutral".

    >>> load_judge("scripted(otherwise=entailment)").task.labels
    ('entailment', 'neutral', 'contradiction')
    """
    name, spec = split_name(spec)
    meanings = parse_label_map(label_map, _WHERE, "label_map")
    meaning = {label_key(label): label_key(target) for label, target in meanings.items()}
    bound = models.make(spec, task=TASKS["nli"])
    model = as_model(bound.function)
    task = _task(name, model.labels, meaning)
    return Answerer(name, bound.signature + label_map_suffix(meaning), model, task, meaning)


def ask_entailment(model: Answerer, cache: Cache, pairs: Sequence[Pair], batch_size: int = 0) -> dict[Pair, Cached]:
    """Ask a model whether the first text of each pair entails the second; in a dry run, all of them do."""
    premise, hypothesis = model.task.fields
    columns = {premise: [first for first, _ in pairs], hypothesis: [second for _, second in pairs]}
    answers = ask(columns, model, cache, batch_size)
    if is_only_counted(model):
        yes = entailment_of(model.task)
        sure = tuple(float(place == yes) for place in range(len(model.task.labels)))
        return dict.fromkeys(pairs, Cached(yes, sure))
    return dict(zip(pairs, answers, strict=True))


def _as_two_classes(model: Answerer) -> Answerer:
    """A judge whose labels fit no task, reduced to entailed and not-entailed, which have a canary."""
    yes, rte = model.task.labels[entailment_of(model.task)], TASKS["rte"]
    own = zip(model.model.labels, model.targets, strict=True)
    meaning = {label: rte.labels[0] if target == yes else rte.labels[1] for label, target in own}
    return Answerer(model.name, f"{model.signature}[twin]", model.model, rte, meaning)


def _task(name: str, own: Sequence[str], meaning: Mapping[str, str]) -> Task:
    """What a judge is asked: premise and hypothesis, to be answered in its own labels."""
    nli = TASKS["nli"]
    labels = list(dict.fromkeys(meaning.get(label_key(label), label_key(label)) for label in own)) or list(nli.labels)
    known = ", ".join(own)
    if own and (unknown := [label for label in meaning if label not in map(label_key, own)]):
        message = f"{name} has no label {', '.join(unknown)}"
        raise BadInput(message, where=_WHERE, field="label_map", fix=f"its labels are {known}")
    if len(labels) < 2 or sum(label in ENTAILMENT for label in labels) != 1:
        message = f"{name} has the labels {known}: none is known to mean entailment"
        fix = f'map one, as in label_map="{own[0]}=entailment"' if own else "give an NLI model"
        raise BadInput(message, where=_WHERE, field="judge", fix=fix)
    same = [task for task in (nli, TASKS["rte"]) if set(task.labels) == set(labels)]
    return same[0] if same else Task("judging", nli.fields, tuple(labels), nli.targets)


# The model under test as judge


def with_own_verdicts(
    suite: pl.DataFrame, model: Answerer, cache: Cache, batch_size: int = 0
) -> tuple[pl.DataFrame, pl.Series]:
    """Let a model judge the variants that checks left to it; give the suite with its verdicts, and which rows stay.

    A column `rejected` says of the others why the model does not accept them. The model is asked through the cache of
    its answers. Rows that it was not to judge stay. Every check judges all variants, so that its counts do not depend
    on other checks.
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
            marked = _marked(marked, f"check:{check}", verdicts)
        for name, one in verdicts.items():
            if not one.keep:
                reasons.setdefault(name, []).append(f"{check}: {one.reason}")
    texts = ["; ".join(reasons[name]) if name in reasons else None for name in suite["id"]]
    rejected = pl.Series(REJECTED, texts, dtype=pl.String)
    return marked.with_columns(rejected), rejected.is_null()


def count_accepted(parts: Iterable[pl.LazyFrame]) -> Counts:
    """Count in the parts of an answers table the variants that the model judged itself, and those that it accepted.

    >>> by, verdict = ["self", "self", None], [True, False, None]
    >>> count_accepted([pl.LazyFrame({"check:me:by": by, "check:me": verdict})])
    {'me': {'judged': 2, 'accepted': 1}}
    """
    sums: Counts = {}
    for part in parts:
        schema = part.collect_schema()
        for column in judged_by(schema):
            if column.removesuffix(":by") not in schema:
                continue  # nothing was left to it in this part
            verdict = pl.col(column.removesuffix(":by")).cast(pl.Boolean).filter(pl.col(column).fill_null("") != "")
            judged, accepted = part.select(judged=verdict.count(), accepted=verdict.sum()).collect().row(0)
            counts = sums.setdefault(column.split(":")[1], {"judged": 0, "accepted": 0})
            counts["judged"], counts["accepted"] = counts["judged"] + judged, counts["accepted"] + accepted
    return {check: counts for check, counts in sums.items() if counts["judged"]}


def warn_none_accepted(model: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Warn where a model accepts none of the variants that it judged."""
    for check, one in counts.items():
        if not one["accepted"]:
            warnings.warn(f"{model}: {check}: accepts none of {one['judged']:,} variants", stacklevel=caller_level())


def judged_by(names: Iterable[str]) -> list[str]:
    """Of a table's columns, those that hold the rule by which the model under test is to judge."""
    return [name for name in names if re.fullmatch("check:[^:]+:by", name)]


def pairs_to_judge(suite: pl.DataFrame, task: Task) -> list[Pair]:
    """What `with_own_verdicts` will ask a model of this task."""
    left = [left for column in judged_by(suite.columns) for left in _left_to_model(suite, column, task)]
    return list(dict.fromkeys(pair for rule, buckets in left for pair in _pairs(_changes(buckets, rule))))


def _verdicts(
    suite: pl.DataFrame, column: str, model: Answerer, cache: Cache, batch_size: int
) -> Iterator[tuple[str, Verdict]]:
    """Verdicts by id on the variants that are left to the model."""
    for rule, buckets in _left_to_model(suite, column, model.task):
        names = [variant.id for bucket in buckets for variant in bucket.variants]
        verdicts = judge_entailment(
            buckets, rule, model.task, lambda pairs: ask_entailment(model, cache, pairs, batch_size)
        )
        yield from zip(names, verdicts, strict=True)


def _left_to_model(suite: pl.DataFrame, column: str, task: Task) -> Iterator[tuple[EntailmentRule, list[Bucket]]]:
    """The variants that are left to the model under test; one table may hold several rules of a check."""
    for text in suite[column].cast(pl.String).replace("", None).drop_nulls().unique().sort():
        rule = EntailmentRule.read(text, column)
        entailment_of(task)
        yield rule, list(reworded(suite.filter(pl.col("of").is_null() | (pl.col(column) == text)), task))


def _marked(suite: pl.DataFrame, column: str, verdicts: Mapping[str, Verdict]) -> pl.DataFrame:
    judged = pl.DataFrame(
        {
            "id": pl.Series(list(verdicts), dtype=pl.String),
            column: pl.Series([one.keep for one in verdicts.values()], dtype=pl.Boolean),
            f"{column}:reason": pl.Series([one.reason or None for one in verdicts.values()], dtype=pl.String),
            f"{column}:score": pl.Series([one.score for one in verdicts.values()], dtype=pl.Float64),
        }
    )
    if judged["id"].is_duplicated().any():
        raise BadInput("two variants have the same id", field="id", fix="ids must be unique")
    names = list(dict.fromkeys([*suite.columns, *judged.columns]))
    rest = suite.drop([name for name in judged.columns if name != "id" and name in suite.columns])
    return rest.join(judged, on="id", how="left", maintain_order="left").select(names)
