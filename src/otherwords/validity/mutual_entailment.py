"""Mutual entailment as a check: by a judge of its own, or by the model under test, as Arakelyan et al. (2024) do.

The paper's own way is circular: a model that sees no difference between two hypotheses is asked about them, one that
sees some is not. So the judge is an option, and `otherwords circularity` sets judges beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import BadInput
from ..models.cache import Cache, Cached
from ..models.model import Answerer
from ..problem import Bucket, Task, Verdict
from ..registry import checks
from .changed import Pair
from .entailing import Rule, entailment_of, mutual
from .judges import asking, load_judge, sing_judge
from .long_texts import tell_long

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
        tell_long("mutual-entailment", self.model.name, verdicts)
        return iter(verdicts)

    def sing(self, cache: Cache) -> None:
        """Run the canary, the first time."""
        if self.canary:
            sing_judge(self.model, cache)
            self.canary = False

    def _answers(self, pairs: Sequence[Pair]) -> Mapping[Pair, Cached]:
        if len(self.known) > _MOST:
            self.known.clear()
        todo = [pair for pair in pairs if pair not in self.known]
        if todo:
            with Cache(None) as store:
                self.sing(store)
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
