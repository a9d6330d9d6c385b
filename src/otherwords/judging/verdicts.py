"""Verdicts of several judges on one suite: the model under test and others, each a column of its answers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..errors import BadInput
from ..frames import reworded
from ..models.cache import Cache
from ..models.model import Answerer
from ..problem import Bucket, Task, Verdict
from ..progress import current
from ..registry import Bound, checks, split_name
from ..validity.entailing import Rule, mutual
from ..validity.judges import asking
from ..validity.long_texts import tell_long
from ..validity.mutual_entailment import BySelf
from ..validity.self_judged import refuse_unfit

_CHECK = "mutual-entailment"


def bind_judges(judges: Sequence[str], task: Task) -> dict[str, Bound]:
    """Make each judge ready under its name: `self`, a model, or the check itself with its options.

    >>> from otherwords.problem import TASKS
    >>> list(bind_judges(["self", "mutual-entailment(judge=self, threshold=0.9)"], TASKS["nli"]))
    ['self', 'mutual-entailment(judge=self, threshold=0.9)']
    """
    if not judges:
        raise BadInput("no judge named", fix="name one or more: self, nli-small, hf:NAME_OR_PATH")
    if twice := [one for one in judges if list(judges).count(one) > 1]:
        raise BadInput(f"the judge {twice[0]} is named twice", fix="name each once")
    found = dict(_bind(one) for one in judges)
    if len(found) < len(judges):
        raise BadInput("two judges have the same name", fix="name them apart: one=MODEL, two=MODEL")
    refuse_unfit(found.values(), task)
    return found


class Judging:
    """The verdicts of some judges on the rewordings of a suite; judges of their own are asked once for all models.

    They are asked through the cache of the answers, so that a model that answers and judges is asked nothing twice.
    """

    def __init__(self, suite: pl.DataFrame, task: Task, judges: dict[str, Bound], cache: Cache, canary: bool = True):
        self.judges, self.cache = judges, cache
        self.buckets: list[Bucket] = reworded(suite, task)
        self.names = [variant.id for bucket in self.buckets for variant in bucket.variants]
        others = {name: one for name, one in judges.items() if not isinstance(one.function, BySelf)}
        for one in others.values() if canary else ():
            one.function.sing(cache)
        current().start("judges", len(self.names) * len(others))
        self.others = {name: self._judged(one.function.rule, one.function.model) for name, one in others.items()}
        current().done()

    def by(self, model: Answerer, batch_size: int = 0) -> pl.DataFrame:
        """A row per variant, and for each judge whether it accepts it, where `self` is this model."""
        mine = {name: one.function.rule for name, one in self.judges.items() if name not in self.others}
        by_self = {name: self._judged(rule, model, batch_size) for name, rule in mine.items()}
        columns = {name: (self.others | by_self)[name] for name in self.judges}
        told = {accepted(name): [one.keep for one in verdicts] for name, verdicts in columns.items()}
        return pl.DataFrame({"variant": self.names, **told}, schema_overrides={"variant": pl.String})

    def _judged(self, rule: Rule, judge: Answerer, batch_size: int = 0) -> list[Verdict]:
        found = mutual(self.buckets, rule, judge.task, lambda pairs: asking(judge, self.cache, pairs, batch_size))
        tell_long("mutual-entailment", judge.name, found)
        current().advance(len(found))
        return found


def accepted(judge: str) -> str:
    """The column that says whether a judge accepts a variant."""
    return f"accepted:{judge}"


def _bind(judge: str) -> tuple[str, Bound]:
    name, spec = split_name(judge)
    if spec.partition("(")[0].partition(":")[0].partition(".")[0] == _CHECK:
        return name, checks.make(spec)
    return name, checks.make(checks.respell(_CHECK, judge=spec))
