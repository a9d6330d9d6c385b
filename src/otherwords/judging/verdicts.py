"""The verdicts of several judges on one suite: the model under test and others, each a column of its answers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ..datasets.suite import SuiteName, open_suite
from ..errors import BadInput
from ..frames import is_unmarked, reworded
from ..models.cache import Cache
from ..models.model import Answerer
from ..problem import Bucket, Task, Verdict
from ..progress import current
from ..registry import Bound, checks
from ..storage.run_folder import RunFolder
from ..storage.specs import split_name
from ..validity.checking import refuse_unfit, warn_too_long
from ..validity.mutual_entailment import EntailmentRule, ask_entailment, judge_entailment

#: The check that is applied again here.
CHECK = "mutual-entailment"


@dataclass(frozen=True)
class Earlier:
    """What earlier checks did with the `variants`: how many they `dropped`, which the report leaves out.

    `by` says which check dropped how many, some perhaps the same. `set_aside` has the drops of mutual entailment among
    the rest, which do not count here: they are judged again.

    >>> print(Earlier(20, 3, {"surface": 3}, {"mutual-entailment": 5}))
    3 of 20 variants were dropped by earlier checks and are in no row (surface 3); mutual-entailment dropped 5 of the \
rest, which are judged again
    """

    variants: int = 0
    dropped: int = 0
    by: dict[str, int] = field(default_factory=dict)
    set_aside: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line for the user; empty where nothing was dropped."""
        each = ", ".join(f"{name} {count:,}" for name, count in self.by.items())
        before = (
            f"{self.dropped:,} of {self.variants:,} variants were dropped by earlier checks and are in no row ({each})"
        )
        rest = "the rest" if self.dropped else f"{self.variants:,} variants"
        anew = [f"{name} dropped {count:,} of {rest}, which are judged again" for name, count in self.set_aside.items()]
        return "; ".join([*([before] if self.dropped else []), *anew])


def read_suite(suite: SuiteName, task: str | Task | Mapping[str, Any]) -> tuple[pl.DataFrame, Task, Earlier]:
    """The problems of a suite and their rewordings, without what other checks dropped, and counts of earlier checks.

    Columns of verdicts are left out, those of judges from an earlier report too: this report uses their names.
    """
    opened = open_suite(suite, task)
    table, plugins = opened.table(), _checks(opened.runs)
    rewordings = table.filter(is_unmarked(table.columns, "contrast", "control"))
    names = [name.removeprefix("check:") for name in table.columns if re.fullmatch("check:[^:]+", name)]
    anew = [name for name in names if plugins.get(name, name) == CHECK or f"check:{name}:by" in table.columns]
    others = [name for name in names if name not in anew]
    left = rewordings.filter(~_dropped(others))
    earlier = Earlier(
        rewordings["of"].count(),
        rewordings["of"].count() - left["of"].count(),
        _count_dropped(rewordings, others),
        _count_dropped(left, anew),
    )
    _refuse_empty(left, earlier)
    return left.drop("^check:.*$", "^accepted:.*$"), opened.task, earlier


def bind_judges(judges: Sequence[str], task: Task) -> dict[str, Bound]:
    """Bind each judge under its name: `self`, a model, or the check itself with its options.

    >>> from otherwords.problem import TASKS
    >>> list(bind_judges(["self", "mutual-entailment(judge=self, threshold=0.9)"], TASKS["nli"]))
    ['self', 'mutual-entailment(judge=self, threshold=0.9)']
    """
    if not judges:
        raise BadInput("no judge named", fix="name one or more: self, nli-small, hf:NAME_OR_PATH")
    if twice := [one for one in judges if list(judges).count(one) > 1]:
        raise BadInput(f"the judge {twice[0]} is named twice", fix="name each once")
    bound = dict(_bind(one) for one in judges)
    if len(bound) < len(judges):
        raise BadInput("two judges have the same name", fix="give each its own name: one=MODEL, two=MODEL")
    refuse_unfit(bound.values(), task)
    return bound


class Judging:
    """The verdicts of some judges on the rewordings of a suite; judges other than `self` are asked once for all models.

    They share the cache of the answers, so a model that both answers and judges is asked nothing twice.
    """

    def __init__(self, suite: pl.DataFrame, task: Task, judges: dict[str, Bound], cache: Cache, canary: bool = True):
        self.judges, self.cache = judges, cache
        self.buckets: list[Bucket] = reworded(suite, task)
        self.names = [variant.id for bucket in self.buckets for variant in bucket.variants]
        others = {name: one for name, one in judges.items() if one.function.judge}
        for one in others.values() if canary else ():
            one.function.judge.run_canary(cache)
        current().start("judges", len(self.names) * len(others))
        self.others = {
            name: self._verdicts(one.function.rule, one.function.judge.model) for name, one in others.items()
        }
        current().done()

    def by(self, model: Answerer, batch_size: int = 0) -> pl.DataFrame:
        """A row per variant, and for each judge whether it accepts it, where `self` is this model."""
        rules = {name: one.function.rule for name, one in self.judges.items() if name not in self.others}
        by_self = {name: self._verdicts(rule, model, batch_size) for name, rule in rules.items()}
        verdicts = {name: (self.others | by_self)[name] for name in self.judges}
        columns = {accepted(name): [one.keep for one in some] for name, some in verdicts.items()}
        return pl.DataFrame({"variant": self.names, **columns}, schema_overrides={"variant": pl.String})

    def _verdicts(self, rule: EntailmentRule, judge: Answerer, batch_size: int = 0) -> list[Verdict]:
        verdicts = judge_entailment(
            self.buckets, rule, judge.task, lambda pairs: ask_entailment(judge, self.cache, pairs, batch_size)
        )
        warn_too_long(CHECK, judge.name, verdicts)
        current().advance(len(verdicts))
        return verdicts


def accepted(judge: str) -> str:
    """The column that says whether a judge accepts a variant."""
    return f"accepted:{judge}"


def _bind(judge: str) -> tuple[str, Bound]:
    name, spec = split_name(judge)
    if spec.partition("(")[0].partition(":")[0].partition(".")[0] == CHECK:
        return name, checks.make(spec)
    return name, checks.make(checks.respell(CHECK, judge=spec))


def _checks(runs: Sequence[RunFolder]) -> dict[str, str]:
    """The checks of run folders: of each name, the plug-in."""
    signatures = [run.manifest.get("signatures", {}) for run in runs]
    return dict(_plugin(title) for one in signatures for title in one.get("check", ()))


def _plugin(title: str) -> tuple[str, str]:
    """The name of a check, and its plug-in.

    >>> _plugin("mutual-entailment.v1(threshold=0.0)#nli-small.v1()"), _plugin("me=surface.v1(least=0.3)")
    (('mutual-entailment', 'mutual-entailment'), ('me', 'surface'))
    """
    name, signature = split_name(title)
    plugin = re.split(r"\.v\d|[(:#]", signature)[0]
    return (plugin if name == title else name), plugin


def _dropped(names: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(False), *(~pl.col(f"check:{name}").fill_null(True) for name in names))


def _count_dropped(table: pl.DataFrame, names: Sequence[str]) -> dict[str, int]:
    """How many variants each check dropped, without checks that dropped none."""
    variants = table.filter(pl.col("of").is_not_null())
    counts = {name: variants.filter(_dropped([name])).height for name in names}
    return {name: count for name, count in counts.items() if count}


def _refuse_empty(left: pl.DataFrame, earlier: Earlier) -> None:
    if not left["of"].count():
        fix = "give originals and variants other than controls: the output of vary --suite, two files, or a run folder"
        why = f": earlier checks dropped all {earlier.variants:,}" if earlier.dropped else ""
        raise BadInput(f"no variants to judge{why}", fix=fix)
