"""MERGE's numbers, means over draws: accuracy on seeds and variants, pattern accuracy at every threshold, and tests.

The row of a cluster of seeds has sums over seeds and draws, so that a mean over draws is a ratio of sums, and has the
interval of any share. Where a group lacks a seed in some draws, as one of origins may, a draw weighs by its seeds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ..answers.table import Array
from ..metrics.metric import Metric, both_shares, first_less_second
from ..metrics.pattern import GRID, matching_threshold, passing
from ..report.tables import TableCell
from ..significance.across_models import T, crossed_test, difference_influences, influences, side_by_side, t_test
from ..significance.bootstrap import by_cluster
from ..significance.intervals import Estimate, closed_form, difference_ends, difference_p
from ..storage.run_folder import RunFolder

#: Columns of a row: for each threshold the seeds that pass it, right seeds, seeds, right variants, variants.
SEED, SEEDS, RIGHT, VARIANTS = range(len(GRID), len(GRID) + 4)
#: Accuracy on seeds and on variants, as pairs of columns.
ON_SEEDS, ON_VARIANTS = (SEED, SEEDS), (RIGHT, VARIANTS)
CONFIDENCE = 0.95
_SHARE = Metric(np.asarray)
_DROP = Metric(np.asarray, first_less_second, uses="both", bounds=(-1, 1), sides=both_shares)
_MATCHING: Metric = matching_threshold()


class Draws(NamedTuple):
    """A model's answers to drawn variants of some seeds: clusters' names, their rows, how many seeds and variants."""

    names: Array
    rows: Array
    seeds: int
    variants: int


def read_answers(run: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers of a run: to all originals, and to variants, which know whether their seed is `seed_right`."""
    right = pl.col("pred").eq_missing(pl.col("gold")).alias("right")
    answers = RunFolder(run).read("answers").with_columns(right, pl.col("cluster").fill_null(pl.col("bucket")))
    originals = answers.filter(pl.col("variant").is_null())
    if "subsamples" not in answers.columns:  # of a single draw
        answers = answers.with_columns(subsamples=pl.lit("1"))
    seeds = originals.select("model", "bucket", pl.col("right").alias("seed_right"))
    variants = answers.filter(pl.col("variant").is_not_null())
    return originals, variants.join(seeds, on=["model", "bucket"], how="left", maintain_order="left")


def by_model(variants: pl.DataFrame, models: Sequence[str]) -> dict[str, Draws]:
    """The draws of each model that has answers here."""
    parts = {model: variants.filter(model=model) for model in models}
    return {model: draws_of(part) for model, part in parts.items() if part.height}


def draws_of(variants: pl.DataFrame) -> Draws:
    """One model's draws.

    Two of three variants are in each of two draws; one of them is wrong, in one draw:

    >>> rows = {"bucket": ["a"] * 3, "cluster": ["c"] * 3, "right": [True, False, True], "seed_right": [True] * 3}
    >>> some = draws_of(pl.DataFrame({**rows, "subsamples": ["1 2", "1", "2"]}))
    >>> some.rows[0, [49, 99, SEED, SEEDS, RIGHT, VARIANTS]].tolist()
    [2, 1, 2, 2, 3, 4]
    """
    each = variants.with_columns(draw=pl.col("subsamples").str.split(" ")).explode("draw")
    counts = each.group_by("cluster", "bucket", "draw").agg(
        pl.col("right").sum(), pl.col("seed_right").first(), variants=pl.len()
    )
    counts = counts.sort("cluster", "bucket", "draw")
    k, n = (counts[name].cast(pl.Int64).to_numpy() for name in ("right", "variants"))
    seed = counts["seed_right"].cast(pl.Int64).to_numpy()
    rows = np.column_stack([passing(k, n, GRID).astype(np.int64), seed, np.ones_like(k), k, n])
    names, code = np.unique(counts["cluster"].to_numpy().astype(str), return_inverse=True)
    return Draws(names, by_cluster(rows, code), counts["bucket"].n_unique(), variants.height)


# Values with intervals


def pattern(at: float) -> tuple[int, int]:
    """The columns of pattern accuracy at a threshold in hundredths."""
    return round(100 * at) - 1, SEEDS


def share(draws: Draws, columns: tuple[int, int]) -> Estimate:
    """A share of one model."""
    return share_of(draws.rows[:, list(columns)])


def share_of(rows: Array) -> Estimate:
    """The first sum by the second, of clusters' rows."""
    return closed_form(_SHARE, [(rows, np.ones(len(rows)))], CONFIDENCE)


def drop(draws: Draws, at: float) -> Estimate:
    """Pattern accuracy less the accuracy on the same seeds."""
    return closed_form(_DROP, [(draws.rows[:, [pattern(at)[0], SEED, SEEDS]], np.ones(len(draws.rows)))], CONFIDENCE)


def matching(draws: Draws) -> tuple[float, float]:
    """The lowest and the highest threshold at which pattern accuracy is nearest the accuracy on seeds."""
    low, high = _MATCHING.combine(draws.rows[:, : SEEDS + 1].sum(axis=0)).tolist()
    return low, high


def curve(draws: Draws) -> Array:
    """Pattern accuracy at every threshold."""
    sums = draws.rows.sum(axis=0)
    return np.asarray(sums[: len(GRID)] / sums[SEEDS])


def mean_curve(group: Mapping[str, Draws]) -> Array:
    """The curve that the paper's figures show: the mean over models."""
    return np.asarray(np.mean([curve(one) for one in group.values()], axis=0))


def cell(estimate: Estimate) -> TableCell:
    """A value with its interval, where it has one."""
    value, low, high = (float(one[0]) for one in (estimate.value, estimate.low, estimate.high))
    return TableCell(value) if np.isnan(low) or np.isnan(high) else TableCell(value, low, high)


def mean_interval(rows: Array) -> tuple[float, float, float]:
    """A mean of numbers without bounds: sums and counts by cluster give it, and a t interval over clusters."""
    from scipy.special import stdtrit

    value = float(rows[:, 0].sum() / rows[:, 1].sum())
    error = float(np.sqrt((influences(_SHARE, rows) ** 2).sum()))
    reach = float(stdtrit(len(rows) - 1, (1 + CONFIDENCE) / 2)) * error if len(rows) > 1 else float("nan")
    return value, value - reach, value + reach


# Tests


class GroupTest(NamedTuple):
    """Two groups over several models: the mean difference, the paper's t test, and the test that holds its level."""

    difference: float
    t: T
    crossed: float
    low: float
    high: float


def compare_groups(
    one: Mapping[str, Draws],
    other: Mapping[str, Draws],
    columns: tuple[int, int],
    others: tuple[int, int],
    paired: bool,
) -> GroupTest | None:
    """Whether two groups differ over the models that have both; None of fewer than two models.

    `columns` and `others` say which share is compared on each side.
    """
    models = [name for name in one if name in other]
    if len(models) < 2:
        return None
    sides = [(one[name], other[name]) for name in models]
    first = [float(share(a, columns).value[0]) for a, _ in sides]
    second = [float(share(b, others).value[0]) for _, b in sides]
    moved = []
    for a, b in sides:
        rows, names = [a.rows[:, list(columns)], b.rows[:, list(others)]], [a.names, b.names]
        known, parts = difference_influences(_SHARE, rows, [np.arange(len(some)) for some in names], names)
        moved.append((known, parts[:, 0]))
    found = crossed_test(np.subtract(first, second), side_by_side(moved), CONFIDENCE)
    low, high = np.clip([found.low, found.high], -1, 1).tolist()
    return GroupTest(found.difference, t_test(first, second, paired=paired), found.p, low, high)


class ModelTest(NamedTuple):
    """Two models on the same seeds: the difference, its interval, and the least level at which that leaves out 0."""

    difference: float
    low: float
    high: float
    p: float


def compare_models(one: Draws, other: Draws, columns: tuple[int, int]) -> ModelTest:
    """Whether two models differ on the same seeds."""
    first, second = share(one, columns), share(other, columns)
    ends = difference_ends(first, second, CONFIDENCE)
    values = (first.value - second.value, *ends, difference_p(first, second))
    return ModelTest(*(float(value[0]) for value in values))
