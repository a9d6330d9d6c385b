"""What should stand beside an IE test: the flips, a test of equivalence, the drop that unsound rewordings explain.

The paper (Salvatore et al. 2023) prints none of it. Its test asks for equal accuracy: flips that cancel pass. And with
four of five substitutions sound and ten thousand items, a model whose answers to all the sound ones stay as they were
would be rejected all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from ..significance.contingency import tost
from ..significance.invariance import unsound_drop
from .cells import Key
from .ie_runs import BASELINE

#: The largest difference of accuracies that counts as none: one point.
MARGIN = 0.01


def beside(runs: pl.DataFrame, sound: Mapping[str, float]) -> dict[Key, float | None]:
    """For each deep model, dataset and rho; `sound` is the share of sound rewordings in each dataset's test set.

    Flips and drops are means over the runs, in per cent and points; of the p-values the largest is given.
    """
    cells: dict[Key, float | None] = {}
    for one in _settings(runs).iter_rows(named=True):
        row = f"{one['name']}, {one['suite']}, rho {one['rho']:g}"
        unsound = unsound_drop(one["before"] / 100, sound[one["suite"]])
        cells["IE test (flips)", row, "% flipped"] = one["flips"]
        cells["IE test (equivalence)", row, f"Largest p, margin {MARGIN:g}"] = one["p"]
        cells["IE test (drop)", row, "Drop"] = one["before"] - one["after"]
        cells["IE test (drop)", row, "Drop by unsound rewordings"] = 100 * unsound.at_random
        cells["IE test (drop)", row, "Drop by unsound rewordings, at most"] = 100 * unsound.most
    return cells


def _settings(runs: pl.DataFrame) -> pl.DataFrame:
    """A row per setting: mean accuracies and share of flips over its runs, and the largest p-value."""
    deep = runs.filter(pl.col("model") != BASELINE)
    p = [tost(n, n10, n01, MARGIN).p for n, n10, n01 in deep.select("n", "n10", "n01").iter_rows()]
    flips = 100 * (pl.col("n10") + pl.col("n01")) / pl.col("n")
    tested = deep.with_columns(pl.Series("p", p), flips=flips)
    means, largest = pl.col("before", "after", "flips").mean(), pl.col("p").max()
    return tested.group_by("name", "suite", "rho").agg(means, largest).sort("suite", "name", "rho")
