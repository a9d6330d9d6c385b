"""Verdicts of several judges on one suite: the model under test and others, each a column of its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..datasets.source import Source
from ..errors import BadInput
from ..frames import is_unmarked, reworded, to_frame, with_standard_columns
from ..models.cache import Cache
from ..models.model import Answerer
from ..problem import Bucket, Task, Verdict, get_task
from ..progress import current
from ..registry import Bound, checks, split_name
from ..storage.run_folder import RunFolder
from ..validity.checking import refuse_unfit, warn_too_long
from ..validity.mutual_entailment import EntailmentRule, ask_entailment, judge_entailment
from .findings import Earlier

# MERGED from judging.suites: The suite of a circularity report: originals and rewordings, less what checks of another kind dropped before.

Suite = pl.DataFrame | str | Path
#: The check whose verdicts are given anew here.
CHECK = "mutual-entailment"


def read_suite(
    suite: Suite | Sequence[str | Path], task: str | Task | Mapping[str, Any]
) -> tuple[pl.DataFrame, Task, Earlier]:
    """The problems of a suite and their rewordings, and what earlier checks said of these.

    Columns of verdicts are left out, those of judges from an earlier report too: their names are this one's.
    """
    table, chosen, kinds = _read(suite, task)
    rewordings = table.filter(is_unmarked(table.columns, "contrast", "control"))
    names = [name.removeprefix("check:") for name in table.columns if re.fullmatch("check:[^:]+", name)]
    judged = [name for name in names if kinds.get(name, name) == CHECK or f"check:{name}:by" in table.columns]
    others = [name for name in names if name not in judged]
    left = rewordings.filter(~_dropped(others))
    earlier = Earlier(
        rewordings["of"].count(),
        rewordings["of"].count() - left["of"].count(),
        _counts(rewordings, others),
        _counts(left, judged),
    )
    _refuse_unfit(left, earlier)
    return left.drop("^check:.*$", "^accepted:.*$"), chosen, earlier


def _read(
    suite: Suite | Sequence[str | Path], task: str | Task | Mapping[str, Any]
) -> tuple[pl.DataFrame, Task, dict[str, str]]:
    """A suite as a table, its task, and of run folders which check each name stands for."""
    if isinstance(suite, pl.DataFrame):
        chosen = get_task(task or "nli")
        return with_standard_columns(suite, chosen), chosen, {}
    names = [str(suite)] if isinstance(suite, (str, Path)) else list(map(str, suite))
    runs = {name: RunFolder(name).manifest for name in names if (Path(name) / "buckets").is_dir()}
    told = [manifest.get("task", "") for manifest in runs.values()]
    source = Source([f"{name}/buckets" if name in runs else name for name in names], task or next(iter(told), ""))
    kinds = [_kind(title) for manifest in runs.values() for title in manifest.get("signatures", {}).get("check", ())]
    return to_frame(list(source), source.chosen), source.chosen, dict(kinds)


def _kind(title: str) -> tuple[str, str]:
    """The name of a check, and the plug-in it is.

    >>> _kind("mutual-entailment.v1(threshold=0.0)#nli-small.v1()"), _kind("me=surface.v1(least=0.3)")
    (('mutual-entailment', 'mutual-entailment'), ('me', 'surface'))
    """
    name, signature = split_name(title)
    plugin = re.split(r"\.v\d|[(:#]", signature)[0]
    return (plugin if name == title else name), plugin


def _dropped(checks: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(False), *(~pl.col(f"check:{name}").fill_null(True) for name in checks))


def _counts(table: pl.DataFrame, checks: Sequence[str]) -> dict[str, int]:
    """How many variants each check dropped; one that dropped none is not told."""
    variants = table.filter(pl.col("of").is_not_null())
    counts = {name: variants.filter(_dropped([name])).height for name in checks}
    return {name: count for name, count in counts.items() if count}


def _refuse_unfit(left: pl.DataFrame, earlier: Earlier) -> None:
    if not left["of"].count():
        fix = "name originals and variants that are no controls: a file of vary --suite, two files, or a run folder"
        why = f": earlier checks dropped all {earlier.variants:,}" if earlier.dropped else ""
        raise BadInput(f"there are no variants to judge{why}", fix=fix)
    if unlabelled := left.filter(pl.col("label").is_null())["id"].to_list():
        raise BadInput(f"{unlabelled[0]} has no right answer", field="label", fix="give one for every problem")


# MERGED from judging.verdicts: Verdicts of several judges on one suite: the model under test and others, each a column of its answers.

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
        others = {name: one for name, one in judges.items() if one.function.judge}
        for one in others.values() if canary else ():
            one.function.judge.run_canary(cache)
        current().start("judges", len(self.names) * len(others))
        self.others = {name: self._judged(one.function.rule, one.function.judge.model) for name, one in others.items()}
        current().done()

    def by(self, model: Answerer, batch_size: int = 0) -> pl.DataFrame:
        """A row per variant, and for each judge whether it accepts it, where `self` is this model."""
        mine = {name: one.function.rule for name, one in self.judges.items() if name not in self.others}
        by_self = {name: self._judged(rule, model, batch_size) for name, rule in mine.items()}
        columns = {name: (self.others | by_self)[name] for name in self.judges}
        told = {accepted(name): [one.keep for one in verdicts] for name, verdicts in columns.items()}
        return pl.DataFrame({"variant": self.names, **told}, schema_overrides={"variant": pl.String})

    def _judged(self, rule: EntailmentRule, judge: Answerer, batch_size: int = 0) -> list[Verdict]:
        found = judge_entailment(
            self.buckets, rule, judge.task, lambda pairs: ask_entailment(judge, self.cache, pairs, batch_size)
        )
        warn_too_long("mutual-entailment", judge.name, found)
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
