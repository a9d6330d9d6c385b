"""The printed numbers of the IE test's paper (Salvatore et al. 2023), from its matched samples.

Values have the paper's units: shares in per cent, p-values, t and signal-to-noise ratios as they are. Standard
deviations are over five runs, with ddof 0.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.table import Array
from ..errors import BadInput
from ..registry import papers
from ..significance.ie_test import compare, matched
from ..significance.proportions import wald, wilson
from .ie_results import (
    ANNOTATED,
    SOUND,
    ResultSettings,
    analyse_runs,
    decide_settings,
    signal_to_noise,
    sound_shares,
)
from .ie_samples import RUN, Survey, describe_hard
from .ie_samples import survey as count_samples
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
#: What the codes of labels in the matched samples mean.
LABELS = {1: "entailment", 2: "neutral", 0: "contradiction"}
#: ALBERT's smallest p-value on SNLI at rho = 1 is 0.006: 1,000 replicates, the paper's, may put it above 0.01.
REPLICATES = 20_000
#: The largest difference of accuracies that counts as none: one point.
MARGIN = 0.01
#: The paper's test, as it is worded.
SETTINGS = ResultSettings(replicates=REPLICATES, margin=MARGIN, tails="paper", baseline=BASELINE)
Obtained = dict[Key, float | None]


@papers("ie-test.v1")
def ie_test_paper() -> Reproduce:
    """IE test (Salvatore et al. 2023): Tables 1, 2 and 16, the tests, Figures 3 to 7, from its matched samples."""
    return reproduce


def reproduce(data: Path) -> list[Cell]:
    """All numbers that the released samples give, and those the paper prints; `data` holds the folder ie_test."""
    samples = survey(data)
    runs = _tested(published_runs(samples.runs, data))
    shares = sound_shares(sorted(set(runs["dataset"])), {})
    decisions = decide_settings(runs.filter(pl.col("model") != BASELINE), shares, SETTINGS)
    obtained = {
        **_sound_shares(),
        **_signal_to_noise(runs),
        **_tests(decisions, runs, data),
        **_beyond_the_test(decisions),
        **_baseline_scan(runs, recorded(data)),
        **_figures(runs),
        **_hard_cases(samples),
    }
    return against_published("ie_test", obtained)


def _tested(runs: pl.DataFrame) -> pl.DataFrame:
    """All tests of every run; the 1,010 runs of the baseline are shown with their exact p-values alone."""
    scan = pl.col("model") == BASELINE
    deep, baseline = analyse_runs(runs.filter(~scan), SETTINGS), runs.filter(scan)
    quick = replace(SETTINGS, replicates=1)
    return pl.concat([deep, analyse_runs(baseline, quick)] if baseline.height else [deep]).sort(RUN)


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
    """Mean over deviation of the 35 accuracies on originals: five runs at each of the deep models' seven rho."""
    table, cells = signal_to_noise(runs), dict[Key, float | None]()
    for one in table.sort("dataset", "model").iter_rows(named=True):
        name, suite = NAMES[one["model"]], one["dataset"].upper()
        cells["2", name, suite] = one["snr"]
        cells["2", name, f"{suite}, mean accuracy"] = 100 * one["mean"]
        cells["2", name, f"{suite}, std of accuracy"] = 100 * one["std"]
    for model, average in table.group_by("model", maintain_order=True).agg(pl.col("snr").mean()).rows():
        cells["2", NAMES[model], "Average"] = average
    return cells


def _tests(decisions: pl.DataFrame, runs: pl.DataFrame, data: Path) -> Obtained:
    """The 70 tests of deep models: how many reject, and the smallest p-values of the two that are not near zero."""
    cells: Obtained = {("IE test", "Deep models", "Tests"): decisions.height}
    for null, label in {"released": "released null", "paper": "paper's null", "exact": "exact null"}.items():
        cells["IE test", "Deep models", f"Rejections, {label}"] = int(decisions[f"rejected_{null}"].sum())
    for model in ("albert_base", "bert_base"):
        row = f"{DEEP[model]}, SNLI, rho 1"
        smallest = runs.filter(pl.col("model") == model, pl.col("dataset") == "snli", pl.col("rho") == 1).min()
        cells["IE test", row, "Minimal p, released code"] = min(_replayed(data, "snli", model, 1.0))
        cells["IE test", row, "Minimal p, paper's null"] = smallest["p_paper"].item()
        cells["IE test", row, "Minimal p, exact null"] = smallest["p_exact"].item()
    return cells


def _replayed(data: Path, dataset: str, model: str, rho: float) -> list[float]:
    runs = recorded(data).filter(pl.col("dataset") == dataset, pl.col("model") == model, pl.col("rho") == rho)
    p = []
    for run, seed in runs.select("run", "boot_random_state").rows():
        rows = matched_rows(data, dataset, model, rho, run)
        p.append(released_p_value(rows["A"], rows["B"], int(seed)))
    return p


def _baseline_scan(runs: pl.DataFrame, authors: pl.DataFrame) -> Obtained:
    """Figure 3: the baseline's smallest p-value at each of 101 rho, under the exact null and as the authors drew it."""
    columns = {"exact null": (runs, "p_exact"), "as recorded": (authors, "paired_t_p_value")}
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
    accuracies = pl.col("accuracy_before", "accuracy_after") * 100
    shown = runs.with_columns(accuracies, name=pl.col("model").replace_strict(NAMES))
    values = pl.col("accuracy_before", "accuracy_after", "t")
    table = shown.group_by("dataset", "name", "rho").agg(values.mean(), values.std(ddof=0).name.suffix("_std"))
    deep = runs.filter(pl.col("model") != BASELINE)["rho"].unique()
    cells: Obtained = {}
    for one in table.filter(pl.col("rho").is_in(deep.implode())).sort("dataset", "name", "rho").iter_rows(named=True):
        row = f"{one['name']}, {one['dataset'].upper()}, rho {one['rho']:g}"
        for figure, column, label in _shown(one["name"], one["dataset"]):
            cells[figure, row, label] = one[column]
            cells[figure, row, f"{label}, std"] = one[f"{column}_std"]
    return cells


def _shown(name: str, dataset: str) -> list[tuple[str, str, str]]:
    """Which figures show a model, what of it, and what that is called."""
    everywhere = [("Figure 6", "t", "t"), ("Figure 7", "accuracy_before", "% original")]
    if name == NAMES[BASELINE]:
        return everywhere
    figure = "Figure 4" if dataset == "snli" else "Figure 5"
    both = [(figure, "accuracy_before", "% original"), (figure, "accuracy_after", "% transformed")]
    return [*both, *everywhere]


def _hard_cases(samples: Survey) -> Obtained:
    """Items every deep model gets right before and wrong after at some rho; as worded, at every rho, there are none."""
    cells: Obtained = {}
    for one in describe_hard(samples.hard, samples.golds).iter_rows(named=True):
        suite, label = one["dataset"].upper(), LABELS[one["gold"]]
        cells["Hard cases", suite, "Observations"] = one["items"]
        cells["Hard cases", suite, "Observations at every rho"] = one["always"]
        cells["Hard cases", suite, "% of test set"] = 100 * one["share_of_test"]
        cells["Hard cases", suite, f"% {label}"] = 100 * one["share"]
    return cells


def _beyond_the_test(decisions: pl.DataFrame) -> Obtained:
    """What the paper leaves out: flips, a test of equivalence, and the drop that unsound rewordings explain.

    Flips and drops are means over the runs, in per cent and points; of the p-values the largest is given.
    """
    cells: Obtained = {}
    for one in decisions.iter_rows(named=True):
        row = f"{NAMES[one['model']]}, {one['dataset'].upper()}, rho {one['rho']:g}"
        cells["IE test (flips)", row, "% flipped"] = 100 * one["flips"]
        cells["IE test (equivalence)", row, f"Largest p, margin {MARGIN:g}"] = one["largest_p_tost"]
        cells["IE test (drop)", row, "Drop"] = 100 * one["drop"]
        cells["IE test (drop)", row, "Drop by unsound rewordings"] = 100 * one["unsound_drop"]
        cells["IE test (drop)", row, "Drop by unsound rewordings, at most"] = 100 * one["unsound_most"]
    return cells


# The runs: counts of all matched samples, and the authors' bootstrap


def survey(data: Path) -> Survey:
    """Count all matched samples, and the items that fool all deep models; 20 million rows are streamed, not held."""
    [path] = find(data, "ie_test", "matched.parquet")
    rows = pl.scan_parquet(path).rename({"batch": "run", "i": "id", "label": "gold"})
    return count_samples(rows, [BASELINE])


def published_runs(runs: pl.DataFrame, data: Path) -> pl.DataFrame:
    """The five runs of every setting behind the paper's tables and figures, as counts.

    Those of the baseline on SNLI are recovered from the accuracies and deviations the authors recorded, from which
    the counts follow: n10 - n01 = n * (difference), n10 + n01 = n * (deviation^2 + difference^2).
    """
    earlier = (pl.col("model") == BASELINE) & (pl.col("dataset") == "snli")
    ours = runs.filter(~earlier, pl.col("run") <= RUNS)
    return pl.concat([ours, _recovered(recorded(data).filter(earlier))]).sort(RUN)


def recorded(data: Path) -> pl.DataFrame:
    """The authors' records of each published run, with its seed."""
    [path] = find(data, "ie_test", "authors_results.parquet")
    published = pl.read_parquet(path).filter(~pl.col("extra")).rename({"batch": "run"})
    return published.with_columns(rho=pl.col("rho_dir").round(2)).sort(RUN)


def _recovered(runs: pl.DataFrame) -> pl.DataFrame:
    n, before, after = pl.col("test_size"), pl.col("test_accuracy"), pl.col("transformed_test_accuracy")
    drop, changes = n * (before - after), n * (pl.col("standart_error") ** 2 + (before - after) ** 2)
    counts = runs.select(*RUN, n=n, right=n * before, n10=(changes + drop) / 2, n01=(changes - drop) / 2)
    numbers = counts.select("n", "right", "n10", "n01").to_numpy()
    if np.abs(numbers - np.round(numbers)).max() > 1e-6:
        raise BadInput("recorded deviations do not give whole counts", fix="use the released authors_results.parquet")
    return counts.with_columns(pl.col("n", "right", "n10", "n01").round().cast(pl.Int64))


def matched_rows(data: Path, dataset: str, model: str, rho: float, run: int) -> pl.DataFrame:
    """The matched sample of one run, item by item."""
    [path] = find(data, "ie_test", "matched.parquet")
    one = (pl.col("dataset") == dataset) & (pl.col("model") == model) & (pl.col("batch") == run)
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
