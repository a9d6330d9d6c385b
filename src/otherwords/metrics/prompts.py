"""What language models add to a flip rate: answers that cannot be read, and answers that change with the template."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..answers.groups import base_model
from ..answers.table import Answers, Array
from ..errors import Unmeasurable
from ..problem import UNREADABLE
from ..registry import metrics
from .metric import FIXES, Metric


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
            raise Unmeasurable("no model was asked by two templates", field="template", fix=FIXES["templates"])
        every = np.ones(len(models[0].pred), dtype=bool)
        rows = np.zeros((models[0].n_buckets, 2), dtype=np.int64)
        for one, other in pairs:
            rows += one.sum_by_bucket(one.pred != other.pred, every)
        return rows

    return Metric(statistics, uses="both", across="buckets", gold=False, templates=True)
