"""Which items people judge next, each with its probability: at random, flips first, or the most useful ones.

The flip rate among sound variants is estimated from the items that were asked, weighed by these probabilities, so no
probability is 0 and all are fixed before a batch is drawn. Those of `most_useful_next` are proportional to what an item
contributes to the error of the estimate, |f - F| sqrt(E(s - l h)^2) for a flip f, a verdict s and a judge's score h,
mixed with equal ones (Zrnic and Candes 2024, "Active statistical inference"). All functions are pure.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..errors import BadInput
from ..variants.resampling import draws
from .bootstrap import Array

#: How items may be chosen.
MODES = ("sample", "flips_first", "most_useful_next")
#: The part of each batch that is drawn with equal probabilities, so that no item weighs more than 1 / EQUAL times
#: what it would in a plain sample.
EQUAL = 0.2
#: How sound a variant is taken to be where neither a judge nor people have said anything, and how many verdicts that
#: is worth, beside those of people.
PRIOR, WORTH = 0.9, 4.0
#: Judges' scores are told apart in so many steps.
_STEPS = 5


def next_items(items: pl.DataFrame, mode: str, n: int, seed: int) -> pl.DataFrame:
    """The next `n` items to ask, in the order to ask them: `bucket`, `variant`, `probability` (of being in this batch).

    `items` are all that might ever be asked, a row each: `bucket`, `variant` and, where known, `cluster`, `stratum`,
    `flip` (0 or 1; of several models `flip:MODEL`), `judge` (a score from 0 to 1), `asked` (true for those of earlier
    batches) and `sound` (what people said of those: 0 to 1). Of items not asked yet, all may be drawn; strata and
    clusters are represented in proportion, as far as that goes. Where fewer are left, all are asked.

    >>> items = pl.DataFrame({"bucket": list("aabb"), "variant": ["a1", "a2", "b1", "b2"], "flip": [1, 0, 0, 0]})
    >>> next_items(items, "sample", 2, seed=1)["probability"].to_list()
    [0.5, 0.5]
    >>> next_items(items, "most_useful_next", 2, seed=1).filter(variant="a1")["probability"].round(2).to_list()
    [0.9]
    """
    refuse_unusable(items, mode, n)
    left = items.filter(~pl.col("asked").fill_null(False)) if "asked" in items.columns else items
    if not left.height:
        raise BadInput("every item was asked", field="items", fix="stop here: there is nothing left to ask")
    weight = _weights(items, mode)
    if "asked" in items.columns:
        weight = weight[~items["asked"].fill_null(False).to_numpy()]
    p = probabilities(weight, min(n, left.height))
    names = _names(left)
    order = _spread_out(left, names, seed)
    chosen = order[systematic(p[order], float(draws(["start"], seed)[0]))]
    shuffled = chosen[np.argsort(draws([names[one] for one in chosen], seed + 1), kind="stable")]
    return left.select("bucket", "variant")[shuffled].with_columns(pl.Series("probability", p[shuffled]))


def probabilities(weight: Array, n: int) -> Array:
    """Probabilities proportional to weights, at most 1, that sum to `n`.

    >>> probabilities(np.array([8.0, 1.0, 1.0]), 2).tolist()
    [1.0, 0.5, 0.5]
    """
    p, certain = np.ones(len(weight)), np.zeros(len(weight), dtype=bool)
    while not certain.all():
        rest = n - certain.sum()
        p[~certain] = weight[~certain] * (rest / weight[~certain].sum())
        above = ~certain & (p >= 1 - 1e-12)
        if not above.any():
            break
        certain |= above
        p[above] = 1.0
    return p


def systematic(p: Array, start: float) -> Array:
    """The places of items that are drawn, each with its probability: one at every whole step of their sum.

    Neighbours are seldom drawn together, so what is alike should stand together (Madow 1949).

    >>> systematic(np.full(6, 0.5), 0.3).tolist()
    [0, 2, 4]
    """
    n, sums = round(float(p.sum())), np.cumsum(p)
    steps = np.searchsorted(sums * (n / sums[-1]), np.arange(n) + start, side="right")
    return np.unique(np.minimum(steps, len(p) - 1))


def usefulness(flips: Array, judge: Array, sound: Array) -> Array:
    """What each item contributes to the error of the estimate, from what is known of it and of all others.

    `flips` has a column for each model. `sound` is NaN where people have not said anything.
    """
    likely = likely_sound(flips, judge, sound)
    rate = (flips * likely[:, None]).sum(axis=0) / likely.sum()
    far = np.sqrt(((flips - rate) ** 2).mean(axis=1))
    weight = far**2 * judge
    trust = np.clip((weight * likely).sum() / max((weight * judge).sum(), 1e-12), 0, 1)
    residual = likely * (1 - trust * judge) ** 2 + (1 - likely) * (trust * judge) ** 2
    return np.asarray(far * np.sqrt(residual))


def likely_sound(flips: Array, judge: Array, sound: Array) -> Array:
    """The expected verdict on each item: the judge's score, corrected where verdicts on like items say otherwise."""
    step = np.minimum((judge * _STEPS).astype(int), _STEPS - 1)
    _, cell = np.unique(np.stack([step, (flips.mean(axis=1) > 0.5).astype(int)]), axis=1, return_inverse=True)
    cell = np.asarray(cell).ravel()
    known = ~np.isnan(sound)
    size = int(cell.max()) + 1
    sound_count, count = np.bincount(cell[known], sound[known], size), np.bincount(cell[known], minlength=size)
    expected = np.bincount(cell, judge, size) / np.maximum(np.bincount(cell, minlength=size), 1)
    mean = (sound_count + WORTH * np.where(judge.std() > 0, expected, PRIOR)) / (count + WORTH)
    return np.asarray(np.clip(mean, 0.02, 0.98)[cell])


def refuse_unusable(items: pl.DataFrame, mode: str, n: int) -> None:
    """Refuse a table that a mode cannot be used with, before anybody is asked."""
    if mode not in MODES:
        raise BadInput(f"found {mode!r}", field="mode", fix=f"use {', '.join(MODES)}")
    if n < 1:
        raise BadInput(f"found {n}", field="n", fix="ask at least one item")
    if lost := [name for name in ("bucket", "variant") if name not in items.columns]:
        raise BadInput("no such column", where="the items", field=lost[0], fix=f"found {', '.join(items.columns)}")
    if mode != "sample" and not _flip_columns(items):
        fix = "give a run with answers, or use the mode sample"
        raise BadInput("needs to know which variants flip", where=mode, field="flip", fix=fix)


def _flip_columns(items: pl.DataFrame) -> list[str]:
    names = [name for name in items.columns if name == "flip" or name.startswith("flip:")]
    return [name for name in names if items[name].null_count() < items.height]


def _weights(items: pl.DataFrame, mode: str) -> Array:
    """How likely each item is to be drawn, against the others; equal weights are mixed in."""
    if mode == "sample":
        return np.ones(items.height)
    flips = np.stack([_numbers(items, name) for name in _flip_columns(items)], axis=1)
    if mode == "flips_first":
        left = ~items["asked"].fill_null(False).to_numpy() if "asked" in items.columns else np.ones(items.height, bool)
        wanted = flips.max(axis=1) * left
    else:
        wanted = usefulness(flips, _numbers(items, "judge", 1.0), _numbers(items, "sound", np.nan))
    total = wanted.sum()
    equal = np.full(items.height, 1 / items.height)
    return equal if total <= 0 else (1 - EQUAL) * wanted / total + EQUAL * equal


def _numbers(items: pl.DataFrame, name: str, missing: float = 0.0) -> Array:
    """A column as numbers. A judge's score that is missing is the mean of the others."""
    if name not in items.columns:
        return np.full(items.height, missing)
    values = items[name].cast(pl.Float64).to_numpy()
    if name == "judge" and not np.isnan(values).all():
        missing = float(np.nanmean(values))
    filled = np.where(np.isnan(values), missing, values)
    return np.clip(filled, 0, 1) if name == "judge" else filled


def _names(items: pl.DataFrame) -> list[str]:
    return [f"{bucket}\0{variant}" for bucket, variant in items.select("bucket", "variant").iter_rows()]


def _spread_out(items: pl.DataFrame, names: Sequence[str], seed: int) -> Array:
    """An order at random in which items of a stratum stand together, and in it those of a cluster."""
    cluster = items["cluster" if "cluster" in items.columns else "bucket"].cast(pl.String).fill_null("").to_list()
    keys = [draws(names, seed), draws(cluster, seed)]
    if "stratum" in items.columns:
        keys.append(items["stratum"].cast(pl.String).fill_null("").rank("dense").to_numpy())
    return np.lexsort(keys)
