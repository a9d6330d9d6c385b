"""What language models add to a flip rate: how far they meant a label, what cannot be read, what a template changes."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from ..answers.groups import base_model
from ..answers.table import Answers, Array
from ..errors import Unmeasurable, shorten
from ..frames import LABEL_MASS, MISSING
from ..problem import TOLERANCE, UNREADABLE
from ..registry import metrics
from .metric import Metric


@metrics("label_mass.v1")
def label_mass() -> Any:
    """What the labels together had of the model's probability: the mean over answers, to originals and variants.

    Answers without it, because the server did not return enough or a text was read, do not count. Near 0, the model
    would rather say something else, and its labels are hardly answers.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "pred": ["yes", "no", "yes"]}
    >>> ow.measure("label_mass", **rows, label_mass=[0.75, 0.25, None]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        mass = _masses(answers)
        there = ~np.isnan(mass)
        return np.column_stack([answers.add_by_bucket(mass, there), answers.sum_by_bucket(there)])

    return Metric(
        statistics,
        uses="both",
        gold=False,
        blind=True,
        compared=False,
        counted=lambda rows: rows[:, 1:],
        label_mass=True,
    )


def _masses(answers: Answers) -> Array:
    """The column of label masses, NaN where an answer has none; refused where one is no share."""
    column = answers.frame[LABEL_MASS]
    text = column.cast(pl.String).str.strip_chars()
    known = text.set(text.is_in(MISSING), None)
    mass = known.cast(pl.Float64, strict=False)
    wrong = known.is_not_null() & ~mass.is_between(0, 1 + TOLERANCE).fill_null(False)
    if wrong.any():
        fix = "give a share from 0 to 1, or nothing where it is not known"
        message = f"found {shorten(column.filter(wrong)[0])}"
        raise Unmeasurable(message, where=answers.model, field=LABEL_MASS, fix=fix)
    return np.asarray(np.minimum(mass.fill_null(np.nan).to_numpy(), 1.0))


@metrics("unreadable.v1")
def unreadable() -> Any:
    """Share of answers, to originals and variants, that could not be read: `unreadable`, which is never right.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4, "variant": ["", 1, 2, 3], "pred": ["yes", "unreadable", "no", "yes"]}
    >>> ow.measure("unreadable", **rows).value
    0.25
    """

    def statistics(answers: Answers) -> Array:
        place = answers.labels.index(UNREADABLE) if UNREADABLE in answers.labels else -1
        return answers.sum_by_bucket(answers.pred == place, np.ones(len(answers.pred), dtype=bool))

    return Metric(statistics, uses="both", gold=False, blind=True, labels_only=True)


@metrics("template_flips.v1")
def template_flips() -> Any:
    """Chance that two templates of one model answer the same text differently, over all models of a table.

    Two templates that differ on one of two wordings:

    >>> import otherwords as ow, polars as pl
    >>> rows = {"bucket": ["a"] * 4, "variant": ["", "1"] * 2, "pred": ["yes", "no", "yes", "yes"]}
    >>> rows |= {"model": ["m@x"] * 2 + ["m@y"] * 2, "template": ["x", "x", "y", "y"]}
    >>> ow.score(pl.DataFrame(rows), "template_flips")[0].value
    0.5
    """

    def statistics(models: Sequence[Answers]) -> Array:
        bases = [base_model(one.frame) for one in models]
        pairs = [
            (one, other)
            for (one, base), (other, same) in combinations(zip(models, bases, strict=True), 2)
            if base and base == same
        ]
        if not pairs:
            fix = "ask a language model by several: --template letters --template words"
            raise Unmeasurable("no model was asked by two templates", field="template", fix=fix)
        every = np.ones(len(models[0].pred), dtype=bool)
        rows = np.zeros((models[0].n_buckets, 2), dtype=np.int64)
        for one, other in pairs:
            rows += one.sum_by_bucket(one.pred != other.pred, every)
        return rows

    return Metric(statistics, uses="both", across="buckets", gold=False, templates=True)
