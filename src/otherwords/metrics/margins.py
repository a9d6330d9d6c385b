"""Flips by margin: does the wording decide only where the model was undecided before?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from .bins import as_written, cut
from .metric import Array, Metric, divide, paired
from .table import Answers

#: More bins than this could not be told apart by name, nor filled by any suite we know of.
MOST_BINS = 100


def margin(p: npt.ArrayLike) -> Array:
    """How far the most probable label is ahead of the second, for each row of probabilities.

    >>> margin([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]).tolist()
    [0.25, 1.0]
    """
    table = np.atleast_2d(as_written(p))
    if table.ndim != 2 or table.shape[1] < 2:
        raise BadInput(f"margin of an array of shape {table.shape}", fix="give a row per answer, a column per label")
    second, first = np.partition(table, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def flips_by_margin(
    pred: npt.ArrayLike, original_pred: npt.ArrayLike, original_margin: npt.ArrayLike, bins: int = 5
) -> dict[str, float]:
    """Flip rate of the variants whose original's margin lies in each of equally wide bins; empty bins are left out.

    >>> flips_by_margin(["no", "yes", "no", "no"], ["no"] * 4, [0.1, 0.1, 0.9, 1.0], bins=2)
    {'[0.0,0.5)': 0.5, '[0.5,1.0]': 0.0}
    """
    names = bin_names(bins)
    now, before = paired("flips by margin", pred, original_pred)
    ahead, now = paired("flips by margin", original_margin, now)
    if not ((ahead >= 0) & (ahead <= 1)).all():
        raise BadInput("a margin lies between 0 and 1", field="original_margin", fix="give what margin(p) returns")
    place = cut(as_written(ahead), bins)
    count, flips = (np.bincount(place[chosen], minlength=bins) for chosen in (now == now, now != before))
    return {names[i]: float(flips[i] / count[i]) for i in np.flatnonzero(count)}


@metrics("flips_by_margin.v1")
def flips_by_margin_metric(bins: int = 5) -> Any:
    """Flip rate by the margin of the original answer: its top label's probability less the second's.

    `bins` of equal width, from 0 to 1.
    """
    names = bin_names(bins)

    def statistics(answers: Answers) -> Array:
        if len(answers.labels) < 2:
            raise Unmeasurable("a margin needs two labels", where=answers.model, fix="name the task, or all labels")
        place = cut(margin(answers.p), bins)[answers.originals]
        _, count = answers.variants
        flips = answers.sum_by_bucket((answers.pred != answers.original_pred) & answers.is_variant)[:, 0]
        rows = np.zeros((answers.n_buckets, 2 * bins + 1), dtype=np.int64)
        each = np.arange(answers.n_buckets)
        rows[each, place], rows[each, bins + place], rows[:, -1] = flips, count, count
        return rows

    def combine(totals: Array) -> Array:
        return divide(totals[..., :bins], totals[..., bins:-1])

    return Metric(statistics, combine, parts=names, rate=True, counted=lambda rows: rows[:, bins:-1])


def bin_names(bins: int) -> tuple[str, ...]:
    """Name equally wide bins from 0 to 1; the last one is closed.

    >>> bin_names(3)
    ('[0.0,0.333)', '[0.333,0.667)', '[0.667,1.0]')
    """
    if not 1 <= bins <= MOST_BINS:
        raise BadInput(f"found {bins}", field="bins", fix=f"give a number from 1 to {MOST_BINS}")
    edges = [round(i / bins, 3) for i in range(bins + 1)]
    return tuple(f"[{edges[i]},{edges[i + 1]}{']' if i + 1 == bins else ')'}" for i in range(bins))
