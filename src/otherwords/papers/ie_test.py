"""The printed numbers of the IE test's paper (Salvatore et al. 2023), from its matched samples.

Printed as the paper prints them: shares in per cent, p-values, t and signal-to-noise ratios as they are. Deviations are
over five runs, with ddof 0.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ..significance.invariance import decide, ie_test
from ..significance.shares import wald, wilson
from .cells import Cell, Key, against_published
from .ie_beside import beside
from .ie_runs import BASELINE, DEEP, matched_rows, published_runs, recorded, released_p_value, sample, survey

Obtained = dict[Key, float | None]
NAMES = {**DEEP, BASELINE: "Baseline"}
#: Printed sound shares in per cent of a sample of 400: training sets (Table 1) and test sets (Table 16).
SOUND = {("1", "SNLI"): 82.2, ("1", "MNLI"): 84.2, ("16", "SNLI"): 82.5, ("16", "MNLI"): 80.5}
JUDGED = 400
#: Codes of the labels in the matched samples.
LABELS = {"entailment": 1, "neutral": 2, "contradiction": 0}
#: The deep models' shares of transformed training items; the baseline has 101.
RHO = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
#: ALBERT's smallest p-value on SNLI at rho = 1 is 0.006: 1,000 replicates, the paper's, may put it above 0.01.
REPLICATES = 20_000


def reproduce(data: Path) -> list[Cell]:
    """All numbers that the released samples give, beside those the paper prints; `data` holds the folder ie_test."""
    found = survey(data)
    runs = _with_statistics(published_runs(found.runs, data))
    obtained = {
        **_sound_shares(),
        **_signal_to_noise(runs),
        **_tests(runs, data),
        **beside(runs, {suite: percent / 100 for (table, suite), percent in SOUND.items() if table == "16"}),
        **_baseline_scan(runs, recorded(data)),
        **_figures(runs),
        **_hard_cases(found.hard, runs),
    }
    return against_published("ie_test", obtained)


def _with_statistics(runs: pl.DataFrame) -> pl.DataFrame:
    """Accuracies in per cent, t, and the p-value of the exact null for every run."""
    tests = [ie_test(sample(run), null="exact") for run in runs.iter_rows(named=True)]
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
        k = percent / 100 * JUDGED
        bounds = {"": wald(k, JUDGED), "Wilson, ": wilson(round(k), JUDGED)}
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
        drawn = [ie_test(sample(run), null, replicates=REPLICATES).p for run in deep.iter_rows(named=True)]
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
