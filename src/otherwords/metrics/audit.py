"""Audit lists: the problems that all models trip over, with every model's answers, for somebody to look at.

Of the 31 seeds that no model of MERGE got right, only 29 % have the right label; so before a list like this is read as
a weakness of the models, its labels should be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ..errors import BadInput, UnknownName
from ..problem import Task, get_task
from ..storage import tables
from .across import are_hard, are_never_right
from .aligning import aligned
from .metric import Array
from .pairing import Source, load
from .parting import CONTRAST, CONTROL
from .table import Answers

#: The lists there are, by name.
LISTS = ("never-right", "hard-cases", "hard-always")


def audit(
    answers: Source, which: str = "never-right", *, task: str | Task = "", out: str | Path | None = None
) -> pl.DataFrame:
    """Make one of the lists of an answers table, and write it to `out` if there is one."""
    if which not in LISTS:
        raise UnknownName(f"no list {which!r}; there are: {', '.join(LISTS)}")
    tables.refuse_unwritable(out)
    labels = get_task(task).labels if task else ()
    if which == "never-right":
        found = list_never_right(answers, labels)
    else:
        found = list_hard_cases(answers, labels, every=which == "hard-always")
    if out:
        tables.write([found], out)
    return found


def list_hard_cases(answers: Source, labels: Sequence[str] = (), *, every: bool = False) -> pl.DataFrame:
    """The problems that every model gets right, and wrong in a variant (`every`: in all of them): of rewordings.

    A row per problem, in the order of their names: `variants` counts them, `pred:<model>` is the answer to the
    original, `right:<model>` the number of variants answered right. What the originals have besides comes along: their
    texts, and the annotators' labels where the data has them.

    >>> rows = {"bucket": ["a"] * 3, "variant": [None, "1", "2"], "gold": ["yes"] * 3, "pred": ["yes", "no", "yes"]}
    >>> list_hard_cases(pl.DataFrame({**rows, "model": ["m"] * 3})).row(0, named=True)
    {'bucket': 'a', 'gold': 'yes', 'variants': 2, 'pred:m': 'yes', 'right:m': 1}
    """
    models = _models(answers, labels)
    return _listed(models, are_hard(models, every))


def list_never_right(answers: Source, labels: Sequence[str] = ()) -> pl.DataFrame:
    """The problems none of whose variants any model answers right, in the same columns as `list_hard_cases`.

    >>> rows = {"bucket": ["a"] * 2, "variant": [None, "1"], "gold": ["yes"] * 2, "pred": ["yes", "no"]}
    >>> list_never_right(pl.DataFrame({**rows, "annotators": ["yes no no", None]})).row(0)
    ('a', 'yes', 1, 'yes', 0, 'yes no no')
    """
    models = _models(answers, labels)
    return _listed(models, are_never_right(models))


def _models(answers: Source, labels: Sequence[str]) -> list[Answers]:
    sides = sorted(load(answers), key=lambda side: side.name)
    parted = [side.parts(labels) for side in sides]
    if any("rewordings" not in one for one in parted):
        found = next(side.name for side, one in zip(sides, parted, strict=True) if "rewordings" not in one)
        fix = "give its answers to problems and their rewordings, too"
        raise BadInput(f"{found} has answers to contrasts only", where=sides[0].place.table, fix=fix)
    return aligned([one["rewordings"].frame for one in parted], labels)


def _listed(models: Sequence[Answers], chosen: Array) -> pl.DataFrame:
    first = models[0].frame[models[0].originals]
    along = first.drop("bucket", "gold", "variant", "pred", "model", "^p:.*$", CONTRAST, CONTROL, strict=False)
    along = along.select(one.name for one in along if one.null_count() < along.height)
    table = first.select("bucket", "gold").with_columns(pl.Series("variants", models[0].variants[1]))
    for one in models:
        pred = one.frame["pred"].gather(one.originals)
        table = table.with_columns(pred.alias(f"pred:{one.model}"), pl.Series(f"right:{one.model}", one.variants[0]))
    along = along.rename({name: f"input_{name}" for name in along.columns if name in table.columns})
    return pl.concat([table, along], how="horizontal").filter(pl.Series(chosen)).sort("bucket")
