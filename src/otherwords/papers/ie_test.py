"""The printed numbers of the IE test's paper (Salvatore et al. 2023), from its matched samples.

Values have the paper's units: shares in per cent, p-values, t and signal-to-noise ratios as they are. Standard
deviations are over five runs, with ddof 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.table import Array
from ..errors import BadInput
from ..registry import papers
from ..significance.ie_test import Matched, compare, decide, ie_test, matched, unsound_drop
from ..significance.proportions import tost, wald, wilson
from .reproduction import Cell, Key, Reproduce, against_published, find

#: The deep models of the paper, by the names of their folders; the baseline is gradient boosting on bags of words.
DEEP = {
    "roberta_large": "RoBERTa_LARGE",
    "bert_base": "BERT",
    "roberta_base": "RoBERTa_BASE",
    "xlnet_base": "XLNet",
    "albert_base": "ALBERT",
}
BASELINE = "xgb"
NAMES = {**DEEP, BASELINE: "Baseline"}
#: Runs per model, dataset and rho (M in the paper).
RUNS = 5
#: What identifies a run.
_RUN = ("dataset", "model", "rho", "batch")
#: Printed sound shares in per cent of a sample of 400: training sets (Table 1) and test sets (Table 16).
SOUND = {("1", "SNLI"): 82.2, ("1", "MNLI"): 84.2, ("16", "SNLI"): 82.5, ("16", "MNLI"): 80.5}
ANNOTATED = 400
#: Codes of the labels in the matched samples.
LABELS = {"entailment": 1, "neutral": 2, "contradiction": 0}
#: The deep models' shares of transformed training items; the baseline has 101.
RHO = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
#: ALBERT's smallest p-value on SNLI at rho = 1 is 0.006: 1,000 replicates, the paper's, may put it above 0.01.
REPLICATES = 20_000
#: The largest difference of accuracies that counts as none: one point.
MARGIN = 0.01
Obtained = dict[Key, float | None]


@papers("ie-test.v1")
def ie_test_paper() -> Reproduce:
    """IE test (Salvatore et al. 2023): Tables 1, 2 and 16, the tests, Figures 3 to 7, from its matched samples."""
    return reproduce


def reproduce(data: Path) -> list[Cell]:
    """All numbers that the released samples give, and those the paper prints; `data` holds the folder ie_test."""
    samples = survey(data)
    runs = _with_statistics(published_runs(samples.runs, data))
    obtained = {
        **_sound_shares(),
        **_signal_to_noise(runs),
        **_tests(runs, data),
        **_beyond_the_test(runs, {suite: percent / 100 for (table, suite), percent in SOUND.items() if table == "16"}),
        **_baseline_scan(runs, recorded(data)),
        **_figures(runs),
        **_hard_cases(samples.hard, runs),
    }
    return against_published("ie_test", obtained)


def _with_statistics(runs: pl.DataFrame) -> pl.DataFrame:
    """Accuracies in per cent, t, and the p-value of the exact null for every run."""
    tests = [ie_test(as_matched(run), null="exact") for run in runs.iter_rows(named=True)]
    return runs.with_columns(
        pl.Series("before", [100 * one.accuracy_before for one in tests]),
        pl.Series("after", [100 * one.accuracy_after for one in tests]),
        pl.Series("t", [one.t for one in tests]),
        pl.Series("p", [one.p for one in tests]),
        name=pl.col("model").replace_strict(NAMES),
        suite=pl.col("dataset").str.to_uppercase(),
    )


def _sound_shares() -> Obtained:
    """Bounds that follow from the printed share; Wilson's from the whole number of sound pairs nearest to it."""
    cells: Obtained = {}
    for (table, suite), percent in SOUND.items():
        k = percent / 100 * ANNOTATED
        bounds = {"": wald(k, ANNOTATED), "Wilson, ": wilson(round(k), ANNOTATED)}
        for kind, (low, high) in bounds.items():
            cells[table, suite, f"{kind}lower bound".capitalize()] = 100 * low
            cells[table, suite, f"{kind}upper bound".capitalize()] = 100 * high
    return cells


def _signal_to_noise(runs: pl.DataFrame) -> Obtained:
    """Mean over deviation of the 35 accuracies on originals: five runs at each of the deep models' seven rho.

    The ratio rewards a model that is constant, and says nothing where the deviation is 0: both are given with it.
    """
    before = pl.col("before")
    by_suite = runs.filter(pl.col("rho").is_in(RHO)).group_by("name", "suite", maintain_order=True)
    table = by_suite.agg(mean=before.mean(), std=before.std(ddof=0)).with_columns(snr=pl.col("mean") / pl.col("std"))
    cells: Obtained = {}
    for name, suite, mean, std, snr in table.rows():
        cells["2", name, suite] = snr
        cells["2", name, f"{suite}, mean accuracy"] = mean
        cells["2", name, f"{suite}, std of accuracy"] = std
    for name, average in table.group_by("name", maintain_order=True).agg(pl.col("snr").mean()).rows():
        cells["2", name, "Average"] = average
    return cells


def _tests(runs: pl.DataFrame, data: Path) -> Obtained:
    """The 70 tests of deep models: how many reject, and the smallest p-values of the two that are not near zero."""
    deep = runs.filter(pl.col("model") != BASELINE)
    for null in ("paper", "released"):
        drawn = [ie_test(as_matched(run), null, replicates=REPLICATES).p for run in deep.iter_rows(named=True)]
        deep = deep.with_columns(pl.Series(null, drawn))
    cells = _rejections(deep)
    for model in ("albert_base", "bert_base"):
        row = f"{DEEP[model]}, SNLI, rho 1"
        smallest = deep.filter(pl.col("model") == model, pl.col("dataset") == "snli", pl.col("rho") == 1).min()
        cells["IE test", row, "Minimal p, released code"] = min(_replayed(data, "snli", model, 1.0))
        cells["IE test", row, "Minimal p, paper's null"] = smallest["paper"].item()
        cells["IE test", row, "Minimal p, exact null"] = smallest["p"].item()
    return cells


def _rejections(deep: pl.DataFrame) -> Obtained:
    settings = deep.group_by("name", "suite", "rho").agg("p", "paper", "released")
    cells: Obtained = {("IE test", "Deep models", "Tests"): settings.height}
    for column, label in {"released": "released null", "paper": "paper's null", "p": "exact null"}.items():
        cells["IE test", "Deep models", f"Rejections, {label}"] = sum(decide(p).rejected for p in settings[column])
    return cells


def _replayed(data: Path, dataset: str, model: str, rho: float) -> list[float]:
    runs = recorded(data).filter(pl.col("dataset") == dataset, pl.col("model") == model, pl.col("rho") == rho)
    p = []
    for batch, seed in runs.select("batch", "boot_random_state").rows():
        rows = matched_rows(data, dataset, model, rho, batch)
        p.append(released_p_value(rows["A"], rows["B"], int(seed)))
    return p


def _baseline_scan(runs: pl.DataFrame, authors: pl.DataFrame) -> Obtained:
    """Figure 3: the baseline's smallest p-value at each of 101 rho, under the exact null and as the authors drew it."""
    columns = {"exact null": (runs, "p"), "as recorded": (authors, "paired_t_p_value")}
    cells: Obtained = {}
    for kind, (table, column) in columns.items():
        baseline = table.filter(pl.col("model") == BASELINE).group_by("dataset", "rho").agg(pl.col(column).min())
        for dataset, rho, p in baseline.sort("dataset", "rho").rows():
            cells["Figure 3", f"Baseline, {dataset.upper()}", f"Minimal p, rho {rho:g}, {kind}"] = p
        rejected = baseline.group_by("dataset").agg((pl.col(column) < 0.01).sum())
        for dataset, count in rejected.sort("dataset").rows():
            cells["Figure 3", f"Baseline, {dataset.upper()}", f"Rejections, {kind}"] = count
    return cells


def _figures(runs: pl.DataFrame) -> Obtained:
    """Figures 4 to 7: mean and deviation over five runs of accuracies and t, by model, dataset and rho."""
    values = pl.col("before", "after", "t")
    table = runs.group_by("suite", "name", "rho").agg(values.mean(), values.std(ddof=0).name.suffix("_std"))
    cells: Obtained = {}
    for one in table.filter(pl.col("rho").is_in(RHO)).sort("suite", "name", "rho").iter_rows(named=True):
        row = f"{one['name']}, {one['suite']}, rho {one['rho']:g}"
        for figure, column, label in _shown(one["name"], one["suite"]):
            cells[figure, row, label] = one[column]
            cells[figure, row, f"{label}, std"] = one[f"{column}_std"]
    return cells


def _shown(name: str, suite: str) -> list[tuple[str, str, str]]:
    """Which figures show a model, what of it, and what that is called."""
    everywhere = [("Figure 6", "t", "t"), ("Figure 7", "before", "% original")]
    if name == NAMES[BASELINE]:
        return everywhere
    figure = "Figure 4" if suite == "SNLI" else "Figure 5"
    return [(figure, "before", "% original"), (figure, "after", "% transformed"), *everywhere]


def _hard_cases(hard: pl.DataFrame, runs: pl.DataFrame) -> Obtained:
    """Items every deep model gets right before and wrong after at some rho; as worded, at every rho, there are none."""
    cells: Obtained = {}
    for suite, n in runs.group_by("suite").agg(pl.col("n").first()).sort("suite").rows():
        items = hard.filter(pl.col("dataset") == suite.lower())
        cells["Hard cases", suite, "Observations"] = items.height
        cells["Hard cases", suite, "Observations at every rho"] = int((items["settings"] == 35).sum())
        cells["Hard cases", suite, "% of test set"] = 100 * items.height / n
        for label, code in LABELS.items():
            share = int((items["label"] == code).sum()) / items.height
            cells["Hard cases", suite, f"% {label}"] = 100 * share
    return cells


# What the paper leaves out: flips, a test of equivalence, the drop that unsound rewordings explain


def _beyond_the_test(runs: pl.DataFrame, sound: Mapping[str, float]) -> Obtained:
    """For each deep model, dataset and rho; `sound` is the share of sound rewordings in each dataset's test set.

    Flips and drops are means over the runs, in per cent and points; of the p-values the largest is given.
    """
    cells: Obtained = {}
    for setting in _settings(runs).iter_rows(named=True):
        row = f"{setting['name']}, {setting['suite']}, rho {setting['rho']:g}"
        unsound = unsound_drop(setting["before"] / 100, sound[setting["suite"]])
        cells["IE test (flips)", row, "% flipped"] = setting["flips"]
        cells["IE test (equivalence)", row, f"Largest p, margin {MARGIN:g}"] = setting["p"]
        cells["IE test (drop)", row, "Drop"] = setting["before"] - setting["after"]
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


# The runs: counts of all matched samples, and the authors' bootstrap


@dataclass(frozen=True)
class Survey:
    """What one pass over the matched samples gives: counts of each run, and the items that fool all deep models.

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
    fooled = rows.filter(lost, pl.col("batch") == 1, pl.col("model").is_in(list(DEEP)))
    items = fooled.group_by("dataset", "i", "label").agg(models=pl.col("model").n_unique(), settings=pl.len())
    runs, hard = pl.collect_all([counts, items.filter(pl.col("models") == len(DEEP))], engine="streaming")
    whole = pl.col("batch", "n", "right", "n10", "n01").cast(pl.Int64)
    rho = pl.col("rho").cast(pl.Float64).round(2)  # a float of 32 bits in the file
    return Survey(runs.with_columns(whole, rho).sort(_RUN), hard.drop("models").sort("dataset", "i"))


def published_runs(runs: pl.DataFrame, data: Path) -> pl.DataFrame:
    """The five runs of every setting behind the paper's tables and figures, as counts.

    Those of the baseline on SNLI are recovered from the accuracies and deviations the authors recorded, from which
    the counts follow: n10 - n01 = n * (difference), n10 + n01 = n * (deviation^2 + difference^2).
    """
    earlier = (pl.col("model") == BASELINE) & (pl.col("dataset") == "snli")
    ours = runs.filter(~earlier, pl.col("batch") <= RUNS)
    return pl.concat([ours, _recovered(recorded(data).filter(earlier))]).sort(_RUN)


def recorded(data: Path) -> pl.DataFrame:
    """The authors' records of each published run, with its seed."""
    [path] = find(data, "ie_test", "authors_results.parquet")
    return pl.read_parquet(path).filter(~pl.col("extra")).with_columns(rho=pl.col("rho_dir").round(2)).sort(_RUN)


def _recovered(runs: pl.DataFrame) -> pl.DataFrame:
    n, before, after = pl.col("test_size"), pl.col("test_accuracy"), pl.col("transformed_test_accuracy")
    drop, changes = n * (before - after), n * (pl.col("standart_error") ** 2 + (before - after) ** 2)
    counts = runs.select(*_RUN, n=n, right=n * before, n10=(changes + drop) / 2, n01=(changes - drop) / 2)
    numbers = counts.select("n", "right", "n10", "n01").to_numpy()
    if np.abs(numbers - np.round(numbers)).max() > 1e-6:
        raise BadInput("recorded deviations do not give whole counts", fix="use the released authors_results.parquet")
    return counts.with_columns(pl.col("n", "right", "n10", "n01").round().cast(pl.Int64))


def as_matched(run: dict[str, int]) -> Matched:
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
