"""The runs of the IE test's paper (Salvatore et al. 2023): counts of all matched samples, and the authors' bootstrap.

Left out of the published runs, and why: the matched samples of the baseline on SNLI (505 runs) belong to an earlier
run than the published one; RoBERTa_LARGE has a sixth run on SNLI (rho 0.8), where the paper has five; the authors put
392 runs aside (`extra`), 89 of them without any result.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput
from ..significance.invariance import Matched, matched
from ..significance.nulls import Array, compare
from .cells import find

#: The deep models of the paper, by the names of their folders; the baseline is gradient boosting on bags of words.
DEEP = {
    "roberta_large": "RoBERTa_LARGE",
    "bert_base": "BERT",
    "roberta_base": "RoBERTa_BASE",
    "xlnet_base": "XLNet",
    "albert_base": "ALBERT",
}
BASELINE = "xgb"
#: Runs per model, dataset and rho (M in the paper).
RUNS = 5
_RUN = ("dataset", "model", "rho", "batch")


@dataclass(frozen=True)
class Survey:
    """What one pass over the matched samples tells: counts of each run, and the items all deep models trip over.

    `hard` has a row per item that each deep model, at some rho, gets right before and wrong after (batch 1); `settings`
    counts in how many of the 35 settings of model and rho it does so.
    """

    runs: pl.DataFrame
    hard: pl.DataFrame


def survey(data: Path) -> Survey:
    """Count all matched samples; 20 million rows are streamed, not held."""
    [path] = find(data, "ie_test", "matched.parquet")
    rows = pl.scan_parquet(path)
    lost, gained = pl.col("A") & ~pl.col("B"), pl.col("B") & ~pl.col("A")
    counts = rows.group_by(_RUN).agg(n=pl.len(), right=pl.col("A").sum(), n10=lost.sum(), n01=gained.sum())
    tripped = rows.filter(lost, pl.col("batch") == 1, pl.col("model").is_in(list(DEEP)))
    items = tripped.group_by("dataset", "i", "label").agg(models=pl.col("model").n_unique(), settings=pl.len())
    runs, hard = pl.collect_all([counts, items.filter(pl.col("models") == len(DEEP))], engine="streaming")
    whole = pl.col("batch", "n", "right", "n10", "n01").cast(pl.Int64)
    rho = pl.col("rho").cast(pl.Float64).round(2)  # a float of 32 bits in the file
    return Survey(runs.with_columns(whole, rho).sort(_RUN), hard.drop("models").sort("dataset", "i"))


def published_runs(runs: pl.DataFrame, data: Path) -> pl.DataFrame:
    """The five runs of every setting behind the paper's tables and figures, as counts.

    Those of the baseline on SNLI are recovered from the accuracies and deviations the authors recorded, which tell the
    counts: n10 - n01 = n * (difference), n10 + n01 = n * (deviation^2 + difference^2).
    """
    earlier = (pl.col("model") == BASELINE) & (pl.col("dataset") == "snli")
    ours = runs.filter(~earlier, pl.col("batch") <= RUNS)
    return pl.concat([ours, _recovered(recorded(data).filter(earlier))]).sort(_RUN)


def recorded(data: Path) -> pl.DataFrame:
    """What the authors recorded of each run they did not put aside, with its seed."""
    [path] = find(data, "ie_test", "authors_results.parquet")
    return pl.read_parquet(path).filter(~pl.col("extra")).with_columns(rho=pl.col("rho_dir").round(2)).sort(_RUN)


def _recovered(runs: pl.DataFrame) -> pl.DataFrame:
    n, before, after = pl.col("test_size"), pl.col("test_accuracy"), pl.col("transformed_test_accuracy")
    drop, changes = n * (before - after), n * (pl.col("standart_error") ** 2 + (before - after) ** 2)
    counts = runs.select(*_RUN, n=n, right=n * before, n10=(changes + drop) / 2, n01=(changes - drop) / 2)
    numbers = counts.select("n", "right", "n10", "n01").to_numpy()
    if np.abs(numbers - np.round(numbers)).max() > 1e-6:
        raise BadInput("recorded deviations give no whole counts", fix="use the released authors_results.parquet")
    return counts.with_columns(pl.col("n", "right", "n10", "n01").round().cast(pl.Int64))


def sample(run: dict[str, int]) -> Matched:
    """A row of a table of runs as a matched sample."""
    return Matched(run["n"], run["right"], run["n10"], run["n01"])


def matched_rows(data: Path, dataset: str, model: str, rho: float, batch: int) -> pl.DataFrame:
    """The matched sample of one run, item by item."""
    [path] = find(data, "ie_test", "matched.parquet")
    one = (pl.col("dataset") == dataset) & (pl.col("model") == model) & (pl.col("batch") == batch)
    near = (pl.col("rho") - rho).abs() < 1e-3
    return pl.scan_parquet(path).filter(one, near).sort("i").select("A", "B").collect()


def released_p_value(before: npt.ArrayLike, after: npt.ArrayLike, seed: int, replicates: int = 1000) -> float:
    """The p-value that the released code printed, from the seed it recorded (`boot_random_state`).

    For each replicate it draws all n rows anew, with NumPy's old generator through pandas' `sample`, and swaps the
    first floor(n / 2). For use there is `ie_test(null="released")`: the same distribution, without rows.

    853 of 856 runs come out to the last bit. In three a replicate that ties with t fell on the other side (p is off by
    0.002): the released code compares floats, whose last bit depends on the order of adding; here whole numbers decide.
    Where A = B everywhere its t is not a number, and p = 0, as here; `ie_test` says 1.

    >>> released_p_value([1, 1, 1, 1, 0, 0], [1, 0, 0, 1, 1, 0], seed=3, replicates=100)
    0.5
    """
    one = matched(before, after)
    if one.n10 + one.n01 == 0:
        return 0.0
    difference = np.asarray(before).astype(np.int8) - np.asarray(after).astype(np.int8)
    drop, changes = _redrawn(difference, np.random.RandomState(seed), replicates)
    sign = compare(drop, changes, one.n, one.n10 - one.n01, one.n10 + one.n01)
    upper, lower = (sign > 0) & (changes > 0), (sign <= 0) & (changes > 0)  # NaN is on neither side
    return 2 * min(int(lower.sum()), int(upper.sum())) / replicates


def _redrawn(difference: Array, random: np.random.RandomState, replicates: int) -> tuple[Array, Array]:
    """Drop and number of changes of each replicate; the draws have to be made one replicate after the other."""
    n = len(difference)
    counts = np.empty((replicates, 2), dtype=np.int64)
    for replicate in range(replicates):
        drawn = difference[random.randint(0, n, size=n)]
        swapped, kept = drawn[: n // 2].sum(dtype=np.int64), drawn[n // 2 :].sum(dtype=np.int64)
        counts[replicate] = kept - swapped, np.count_nonzero(drawn)
    return counts[:, 0], counts[:, 1]
