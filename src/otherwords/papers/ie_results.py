"""What an IE experiment shows (Salvatore et al. 2023): from its matched samples to tests, decisions and rankings.

A run is a model trained once on a resampled training set and asked the test set in both wordings. All statistics follow
from a few counts of each run, so the rows are read once, lazily. No run is dropped: those that collapsed are marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from .._version import __version__
from ..errors import BadInput, setting
from ..profiling import Profile
from ..significance.ie_test import (
    NULLS,
    SYMMETRY,
    Matched,
    decide,
    ie_test,
    reachable,
    symmetry_test,
    unsound_drop,
)
from ..significance.multiple import adjust
from ..significance.permutation import sign_test
from ..significance.proportions import mcnemar, tost, wald, wilson
from ..storage.specs import split_signature
from .ie_samples import RUN, SETTING, checked, describe_hard, majority, refuse_odd_runs, survey, with_correctness

#: Printed sound shares in per cent of a sample of 400: training sets (Table 1) and test sets (Table 16).
SOUND = {("1", "SNLI"): 82.2, ("1", "MNLI"): 84.2, ("16", "SNLI"): 82.5, ("16", "MNLI"): 80.5}
ANNOTATED = 400
_PRINTED_IN = {"train": "1", "test": "16"}
#: Where a share of sound rewordings comes from, if not from the paper.
JUDGED = "judged"
#: What makes a run a collapsed one.
ONE_ANSWER, AT_CHANCE = "one answer", "at chance"
#: The test that swaps whole clusters.
CLUSTERED = "clustered"
#: Of the training and the test set: how many pairs are sound, and how many were judged.
Verdicts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class ResultSettings:
    """How an experiment is analysed, and what is known beside its answers.

    `alpha` is the level of a setting's decision, over all its runs; `replicates`, `seed` and `tails` are those of the
    simulated nulls; `null` is the one that decides; `margin` the largest difference of accuracies that counts as none.
    `baseline` is left out of the hard cases, and Figure 3 shows it alone. By data set: `sound` has the numbers of sound
    and of judged pairs of "train" and "test", `judged` the pairs themselves, `texts` the wordings of the test set,
    `profiles` what the transformation does to the training set. `spaces` has the search space of each model's options.
    """

    alpha: float = 0.05
    replicates: int = 1000
    margin: float = 0.01
    seed: int = 0
    null: str = "paper"
    tails: str = "inclusive"
    baseline: str = ""
    sound: Mapping[str, Verdicts | None] = field(default_factory=dict)
    judged: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    texts: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    spaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """How p-values, decisions and equivalence were computed."""
        drawn = "" if self.null == "exact" else f", replicates={self.replicates}, seed={self.seed}"
        options = f"null={self.null}, tails={self.tails}{drawn}, alpha={self.alpha:g}, margin={self.margin:g}"
        return f"ie_results.v1({options}) otherwords {__version__}"


@dataclass(frozen=True)
class IEResults:
    """All that was found, as tables: a row per run, per setting, per model (`snr`), per hard case, and so on."""

    settings: ResultSettings
    runs: pl.DataFrame
    decisions: pl.DataFrame
    snr: pl.DataFrame
    hard: pl.DataFrame
    hard_labels: pl.DataFrame
    sound: pl.DataFrame


def results(
    cells: pl.DataFrame, matched: pl.LazyFrame | pl.DataFrame, settings: ResultSettings | None = None
) -> IEResults:
    """Analyse an experiment: `cells` has a row per run, `matched` one per run and item (and retraining, with `vote`).

    >>> run = {"dataset": "toy", "model": "m", "rho": 0.5, "run": 1}
    >>> items = {"id": [f"p{i}" for i in range(20)], "gold": ["yes", "no"] * 10, "before": ["yes", "no"] * 10}
    >>> rows = pl.DataFrame({**items, "after": ["yes"] * 20, "changed": [True] * 20})
    >>> found = results(pl.DataFrame([run]), rows.with_columns(**{name: pl.lit(one) for name, one in run.items()}))
    >>> found.decisions.select("drop", "label_flips", "rejected").row(0)
    (0.5, 0.5, True)
    """
    settings = settings or ResultSettings()
    rows = checked(matched.lazy())
    if "vote" in rows.collect_schema():
        rows = majority(rows)
    found = survey(with_correctness(rows), [settings.baseline])
    refuse_odd_runs(cells, found)
    runs = _with_cells(analyse_runs(found.runs, settings), cells)
    runs = mark_collapsed(runs, found.golds)
    shares = sound_shares(runs["dataset"].unique().sort(), settings.sound)
    decisions = decide_settings(runs, shares, settings)
    hard_labels = describe_hard(found.hard, found.golds)
    hard = _with_texts(found.hard, settings.texts)
    return IEResults(settings, runs, decisions, rank(signal_to_noise(runs)), hard, hard_labels, shares)


# Each run


def _with_cells(runs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Each run with what its cell tells (trainer, numbers of rows, seconds, seed), without what is counted here."""
    known = [name for name in cells.columns if name not in runs.columns or name in RUN]
    rows = cells.select(known).with_columns(pl.col("rho").cast(pl.Float64).round(6), pl.col("run").cast(pl.Int64))
    return runs.join(rows, on=RUN, how="left", validate="1:1")


def as_matched(run: Mapping[str, Any]) -> Matched:
    """A row of a table of runs as a matched sample."""
    return Matched(run["n"], run["right"], run["n10"], run["n01"])


def analyse_runs(runs: pl.DataFrame, settings: ResultSettings) -> pl.DataFrame:
    """Accuracies, flips and all tests of each run, from its counts."""
    _refuse_few_replicates(runs, settings)
    tested = pl.DataFrame([_tests(as_matched(run), settings) for run in runs.iter_rows(named=True)])
    if "drops" in runs.columns:
        tested = tested.with_columns(p_clustered=pl.Series([sign_test(one.to_numpy()) for one in runs["drops"]]))
    whole = runs.drop("distinct", "drops", strict=False).hstack(tested)
    if "flipped" not in whole.columns:
        return whole
    return whole.with_columns(
        label_flips=pl.col("flipped") / pl.col("n"),
        flips_of_changed=pl.when(pl.col("changed") > 0).then(pl.col("flipped") / pl.col("changed")),
    )


def _tests(sample: Matched, settings: ResultSettings) -> dict[str, float]:
    """All numbers of one run; of the two tests of Alternative 1 also the p-value of the chi-square distribution."""
    drawn = {"tails": settings.tails, "replicates": settings.replicates, "seed": settings.seed}
    under = {null: ie_test(sample, null, **drawn) for null in NULLS}  # type: ignore[arg-type]
    one = under["exact"]
    found = {
        "accuracy_before": one.accuracy_before,
        "accuracy_after": one.accuracy_after,
        "drop": (sample.n10 - sample.n01) / sample.n,
        "flips": one.flips,
        "t": one.t,
        **{f"p_{null}": test.p for null, test in under.items()},
    }
    for name, method in zip(SYMMETRY, ("corrected", "chi2"), strict=True):
        test = symmetry_test(sample, name, settings.null, **drawn)  # type: ignore[arg-type]
        classical = mcnemar(sample.n10, sample.n01, method).p
        found |= {name: test.statistic, f"p_{name}": test.p, f"p_{name}_chi2": classical}
    return {**found, "p_tost": tost(sample.n, sample.n10, sample.n01, settings.margin).p}


def _refuse_few_replicates(runs: pl.DataFrame, settings: ResultSettings) -> None:
    """Refuse replicates so few that nothing could be rejected, whatever the answers were."""
    most, drawn = runs["run"].n_unique(), settings.replicates
    if settings.null == "exact" or settings.tails == "paper" or reachable(10**6, settings.alpha, most, None, drawn):
        return
    fix = f"draw more than {int(2 * most / settings.alpha)}, or use null=exact"
    name = setting("--replicates", "replicates")
    raise BadInput(f"{drawn} replicates cannot reject at {settings.alpha:g} / {most}", field=name, fix=fix)


def mark_collapsed(runs: pl.DataFrame, golds: pl.DataFrame) -> pl.DataFrame:
    """Say which runs collapsed: one answer to all originals, or an accuracy that may be that of the commonest label.

    The second is so where the 95 % Wilson interval of the accuracy begins at or below that label's share.
    """
    common = dict(golds.group_by("dataset").agg(pl.col("n").max() / pl.col("n").sum()).rows())
    marks = []
    for run in runs.iter_rows(named=True):
        chance = wilson(run["right"], run["n"])[0] <= common[run["dataset"]]
        marks.append(ONE_ANSWER if run.get("answers") == 1 else AT_CHANCE if chance else "")
    return runs.with_columns(pl.Series("collapsed", marks, dtype=pl.String))


# Each setting


def decide_settings(runs: pl.DataFrame, shares: pl.DataFrame, settings: ResultSettings) -> pl.DataFrame:
    """A row per setting: means over its runs, the decision of every test, equivalence, and the drop by unsound ones.

    `reachable` is false where so few rows were changed that no outcome could be rejected. `p_adjusted` is the smallest
    p-value of the exact null times the number of runs (simulated ones have a floor), and `rejected_overall` Holm's
    procedure on it over all settings of the experiment, which the paper does not use.
    """
    groups = runs.sort(RUN).partition_by(SETTING, maintain_order=True)
    rows = pl.DataFrame([_decide(one, settings) for one in groups])
    overall = adjust(rows["p_adjusted"].to_numpy(), "holm") < settings.alpha
    return _with_unsound(rows.with_columns(rejected_overall=overall), shares)


def _decide(runs: pl.DataFrame, settings: ResultSettings) -> dict[str, Any]:
    decision = decide(runs[f"p_{settings.null}"], settings.alpha)
    marked = runs["collapsed"] != "" if "collapsed" in runs.columns else pl.Series([False])
    return {
        **{name: runs[name][0] for name in (*SETTING, "n", "changed") if name in runs.columns},
        "runs": runs.height,
        "collapsed": int(marked.sum()),
        **means(runs, ("accuracy_before", "accuracy_after", "drop", "flips", "label_flips", "t")),
        "smallest_p": decision.smallest,
        "threshold": decision.threshold,
        "rejected": decision.rejected,
        "reachable": reachable(runs["n"][0], settings.alpha, runs.height, _changed(runs)),
        "runs_bonferroni": sum(decision.bonferroni),
        "runs_holm": sum(decision.holm),
        "p_adjusted": min(1.0, min(runs["p_exact"]) * runs.height),
        **{f"rejected_{name}": decide(runs[f"p_{name}"], settings.alpha).rejected for name in names_of_tests(runs)},
        "largest_p_tost": runs["p_tost"].max(),
        "equivalent": bool((runs["p_tost"] < settings.alpha).all()),
    }


def names_of_tests(runs: pl.DataFrame) -> list[str]:
    """The tests that runs have: under the three nulls, of Alternative 1, and by clusters where these are known."""
    return [name for name in (*NULLS, *SYMMETRY, CLUSTERED) if f"p_{name}" in runs.columns]


def _changed(runs: pl.DataFrame) -> int | None:
    return int(runs["changed"][0]) if "changed" in runs.columns else None


def means(runs: pl.DataFrame, columns: Sequence[str]) -> dict[str, float]:
    """Mean and deviation (ddof 0, as in the paper) of some columns over runs."""
    known = [name for name in columns if name in runs.columns]
    table = runs.select(pl.col(known).mean(), pl.col(known).std(ddof=0).name.suffix("_std"))
    return {name: table[end].item() for one in known for name, end in ((one, one), (f"{one}_std", f"{one}_std"))}


# Sound rewordings, and what unsound ones explain


def sound_shares(datasets: Iterable[str], verdicts: Mapping[str, Verdicts | None]) -> pl.DataFrame:
    """The share of sound rewordings in each data set's training and test set, with Wald's and Wilson's intervals.

    Where no pair was judged, the paper's share stands in: that of its data set of the same name, else SNLI's. It is a
    share of all pairs, changed or not; verdicts are on changed ones.
    """
    rows = []
    for dataset in datasets:
        for part, table in _PRINTED_IN.items():
            sound, judged = (verdicts.get(dataset) or {}).get(part) or (0, 0)
            if judged:
                rows.append({"dataset": dataset, "part": part, **_share(sound, judged), "source": JUDGED})
                continue
            name = dataset.upper() if (table, dataset.upper()) in SOUND else "SNLI"
            source = f"not judged; Table {table} of the paper, {name}"
            share = _share(SOUND[table, name] / 100 * ANNOTATED, ANNOTATED)
            rows.append({"dataset": dataset, "part": part, **share, "source": source})
    return pl.DataFrame(rows)


def _share(k: float, n: int) -> dict[str, float]:
    ends = {"wald": wald(k, n), "wilson": wilson(round(k), n)}
    bounds = {f"{kind}_{end}": at for kind, both in ends.items() for end, at in zip(("low", "high"), both, strict=True)}
    return {"pairs": n, "sound": k / n, **bounds}


def _with_unsound(decisions: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """The drop that unsound rewordings alone explain in each setting, at most and with the intervals of their share.

    They explain no gain: an unsound one costs right answers.
    """
    by_dataset = {row["dataset"]: row for row in shares.filter(pl.col("part") == "test").iter_rows(named=True)}
    rows = []
    for one in decisions.iter_rows(named=True):
        share = by_dataset[one["dataset"]]
        of = one["changed"] / one["n"] if share["source"] == JUDGED and "changed" in one else 1.0
        explained = {name: unsound_drop(one["accuracy_before"], 1 - of * (1 - share[name])) for name in _ENDS}
        row = {f"unsound_{new}": explained[name].at_random for name, new in _ENDS.items()}
        most = explained["sound"].most
        rows.append({**row, "unsound_most": most, "explained": 0 <= one["drop"] <= explained["sound"].at_random})
    return decisions.hstack(pl.DataFrame(rows))


#: The share and the ends of its intervals; of the drop that goes with them, the larger share has the smaller one.
_ENDS = {
    "sound": "drop",
    "wald_high": "wald_low",
    "wald_low": "wald_high",
    "wilson_high": "wilson_low",
    "wilson_low": "wilson_high",
}


# All runs of a model, and all models together


def signal_to_noise(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean over deviation (ddof 0) of accuracies on originals, over the rho that all models of a data set have.

    The ratio rewards a model that is constant, and is not defined where the deviation is 0: both stand beside it.
    """
    models = pl.col("model").n_unique()
    shared = models.over("dataset", "rho") == models.over("dataset")
    some = runs.filter(shared | ~shared.any().over("dataset"))
    before = pl.col("accuracy_before")
    table = some.group_by("model", "dataset", maintain_order=True).agg(
        values=pl.len(), mean=before.mean(), std=before.std(ddof=0), constant=before.min() == before.max()
    )
    return table.with_columns(
        std=pl.when("constant").then(0.0).otherwise("std"),
        snr=pl.when(~pl.col("constant")).then(pl.col("mean") / pl.col("std")),
    ).drop("constant")


def rank(snr: pl.DataFrame) -> pl.DataFrame:
    """The models by the mean of their ratios over data sets, the highest first; where one has none, last."""
    whole = pl.when(pl.col("snr").is_not_null().all()).then(pl.col("snr").mean())
    average = snr.group_by("model", maintain_order=True).agg(average=whole)
    order = average.sort("average", descending=True, nulls_last=True, maintain_order=True).with_row_index("rank", 1)
    ranked = order.join(snr, on="model", how="left", maintain_order="left").with_columns(pl.col("rank").cast(pl.Int64))
    return ranked.select("rank", "model", "dataset", "values", "mean", "std", "snr", "average")


def hyperparameters(runs: pl.DataFrame, space: Mapping[str, str]) -> pl.DataFrame:
    """A row per option; several values of a data set, from searches inside samples, are listed by frequency."""
    values: dict[str, dict[str, list[str]]] = {}
    for dataset, signature in runs.select("dataset", "trainer").rows():
        name, options = split_signature(signature)
        for option, value in {"trainer": name, **options}.items():
            values.setdefault(option, {}).setdefault(dataset, []).append(value)
    names = runs["dataset"].unique(maintain_order=True)
    rows = [
        {"option": option, "space": space.get(option, ""), **{one: _counted(by.get(one, [""])) for one in names}}
        for option, by in values.items()
    ]
    return pl.DataFrame(rows) if space else pl.DataFrame(rows).drop("space")


def _counted(values: list[str]) -> str:
    """One value, or each with the number of runs that have it; nothing where a trainer lacks the option.

    >>> _counted(["5", "5"]), _counted(["5", "3", "5"])
    ('5', '5 (x2), 3 (x1)')
    """
    counts = Counter(values).most_common()
    return values[0] if len(counts) == 1 else ", ".join(f"{value} (x{times})" for value, times in counts)


def _with_texts(hard: pl.DataFrame, texts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The hard cases with their wordings before and after, where these are given; an id is compared as text."""
    name = pl.col("id").cast(pl.String)
    given = [table.with_columns(name, dataset=pl.lit(dataset)) for dataset, table in texts.items()]
    if not given or not hard.height:
        return hard
    known = pl.concat(given, how="diagonal_relaxed").unique(["dataset", "id"], keep="first", maintain_order=True)
    new = [one for one in known.columns if one not in hard.columns]
    wordings = known.select("dataset", "id", *new)
    return hard.with_columns(name).join(wordings, on=["dataset", "id"], how="left", maintain_order="left")
