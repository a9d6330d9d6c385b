"""ParaNLU's tables from the authors' released predictions (Srikanth et al. 2024, TACL).

Not in the release: GPT-3's answers to the buckets (there is only its sample of the test sets), and the RoBERTa with
partial input by which Table 7 splits the buckets. The release has a bag of words instead, whose test files are copies
of the full-input model's. Its corrected values therefore use another model's weights, and have a table of their own,
"7 (bag of words)". Figures 3 and 8 plot the last two columns of Table 4. The models of Figure 6 are RoBERTa-large in
the text and RoBERTa-base in the files.

Intervals are over clusters: buckets about the same premise and hypothesis, or the same two observations. The release
does not say which items of the test sets belong together, so these are taken as independent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from ..answers import reading
from ..answers.table import Answers, Array
from ..metrics import accuracy
from ..metrics.consistency import agreement
from ..metrics.corrected import confidence_in, corrected_mean, covered_share
from ..metrics.metric import as_metric
from ..registry import Bound, metrics, papers
from ..words.distance import lexical_distance
from .reproduction import Both, Cell, Key, Reproduce, WithIntervals, against_published, find, percent_intervals

Obtained = Iterator[tuple[Key, float | WithIntervals]]
SPLITS = ("a-NLI", "d-SNLI", "d-ATOMIC", "d-SOCIAL")
TABLE_4 = {
    "Lexical (BoW)": "bow",
    "BiLSTM": "bilstm",
    "RoBERTa": "roberta-large",
    "DeBERTa-V3": "deberta-v3-large",
    "Unified RoBERTa": "roberta-large-unified",
    "GPT-3 Curie": "gpt3-curie",
}
#: Tokens of pretraining, and the share of the training set used for fine-tuning.
FIGURE_5 = {"1M": "roberta-med-small-1M"} | {size: f"roberta-base-{size}" for size in ("10M", "100M", "1B")}
FIGURE_6 = {f"{share} %": f"roberta-base-ft{share / 100:g}" for share in (1, 5, 10, 50)}
FIGURE_5["30B"] = FIGURE_6["100 %"] = "roberta-base"
LABELS = ("0", "1")
#: The metrics behind the cells: of the answers to the buckets, and those that use the test set as well.
MEASURED = ("accuracy_original", "accuracy_variants", "p_c", "p_c_distinct", "pvap", "pvap_distinct")
WITH_TESTSET = {
    "A_T": "accuracy_testset",
    "A~": "accuracy_corrected",
    "P~_C": "p_c_corrected",
    "A~ renormalised": "accuracy_corrected(renormalise=true)",
    "P~_C renormalised": "p_c_corrected(renormalise=true)",
    "coverage": "coverage",
}


@papers("paranlu.v1")
def paranlu() -> Reproduce:
    """ParaNLU (Srikanth et al. 2024): Tables 2, 4, 6 and 7, Figures 5 and 6, from the released predictions."""
    return reproduce


def reproduce(data: Path) -> list[Cell]:
    """Every cell of Tables 2, 4, 6 and 7 and of Figures 5 and 6 from `data`/paranlu, and what the paper leaves out."""
    names = ("problems", "paraphrases", "pred_originals", "pred_paraphrases", "pred_testset")
    problems, paraphrases, originals, variants, testset = (
        pl.read_parquet(path) for path in find(data, "paranlu", *(f"{name}.parquet" for name in names))
    )
    main = paraphrases.filter(pl.col("collection") == "main")
    tests = _tests(testset)
    runs = _runs(originals.join(_clusters(problems), on=["split", "bucket_id"], how="left"), variants, tests)
    obtained = dict(_table_2(main))
    obtained |= dict(_table_4(runs, tests))
    obtained |= dict(_table_6(problems, main))
    obtained |= dict(_table_7(runs))
    obtained |= dict(_figure("Figure 5", FIGURE_5, runs)) | dict(_figure("Figure 6", FIGURE_6, runs))
    return against_published("paranlu", obtained)


@dataclass(frozen=True)
class TestSet:
    """One split's test set: each model's answers, and the metrics behind the cells, which know it."""

    answers: Mapping[str, Answers]
    metrics: Mapping[str, Bound]

    def confidence(self, model: str) -> Array:
        """A model's probability of the right label on each item."""
        of = self.answers[model]
        return confidence_in(of.gold, of.labels, of.frame, model)

    def accuracy(self, model: str) -> WithIntervals:
        """A_T."""
        of = self.answers[model]
        [intervals] = percent_intervals({"A_T": self.metrics["A_T"]}, of).values()
        return WithIntervals(100 * accuracy(of.gold, of.pred), *intervals)


@dataclass(frozen=True)
class SplitAnswers:
    """One model on one split: its answers to the buckets, and the test set."""

    answers: Answers
    test: TestSet

    def percent(self, metric: str) -> WithIntervals:
        """The value of a registered metric."""
        measure = as_metric(self.test.metrics[metric].function)
        value = 100 * float(measure.combine(measure.statistics(self.answers).sum(axis=0)))
        return WithIntervals(value, *self.intervals[metric])

    def corrected(self, what: str, renormalise: bool = False) -> WithIntervals:
        """A~ or P~_C."""
        k, n = self.answers.variants
        values = k / n if what == "A~" else agreement(k, n)
        value = 100 * corrected_mean(values, self.confidence, self.test_confidence, renormalise)
        return WithIntervals(value, *self.intervals[f"{what} renormalised" if renormalise else what])

    @property
    def coverage(self) -> WithIntervals:
        """How much of the test set the corrected values cover."""
        return WithIntervals(100 * covered_share(self.confidence, self.test_confidence), *self.intervals["coverage"])

    @property
    def confidence(self) -> Array:
        """In the right label, on each bucket's original."""
        of = self.answers
        return confidence_in(of.gold, of.labels, of.frame, of.model)[of.originals]

    @property
    def test_confidence(self) -> Array:
        """In the right label, on each item of the test set."""
        return self.test.confidence(self.answers.model)

    @cached_property
    def intervals(self) -> dict[str, Both]:
        """Both intervals of all metrics, which share their draws."""
        return percent_intervals({name: one for name, one in self.test.metrics.items() if name != "A_T"}, self.answers)

    def among(self, buckets: Collection[str]) -> SplitAnswers:
        """The same model on some of the buckets; the test set stays whole, as in the paper."""
        frame = self.answers.frame.filter(pl.col("bucket").is_in(list(buckets)))
        return SplitAnswers(reading.read(frame, LABELS), self.test)


def _tests(testset: pl.DataFrame) -> dict[str, TestSet]:
    """The test set of each split; the metrics that use one read it from a file."""
    tests = {}
    for (split,), items in testset.rename({"p0": "p:0", "p1": "p:1"}).partition_by("split", as_dict=True).items():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "testset.parquet"
            items.rename({"example_id": "id"}).write_parquet(path)
            specs = {name: metrics.respell(spec, testset=path) for name, spec in WITH_TESTSET.items()}
            chosen = {name: metrics.make(spec) for name, spec in {**{one: one for one in MEASURED}, **specs}.items()}
        by_model = items.rename({"example_id": "bucket"}).with_columns(variant=None).partition_by("model", as_dict=True)
        answers = {str(model): reading.read(frame, LABELS) for (model,), frame in by_model.items()}
        tests[str(split)] = TestSet(answers, chosen)
    return tests


def _clusters(problems: pl.DataFrame) -> pl.DataFrame:
    """Which buckets are about the same: a premise and hypothesis, by the released number, or two observations."""
    observations = pl.concat_str("context1", "context2", separator="\n", ignore_nulls=True)
    cluster = pl.coalesce("premise_hypothesis_id", observations)
    return problems.select("split", "bucket_id", cluster=cluster)


def _runs(
    originals: pl.DataFrame, variants: pl.DataFrame, tests: Mapping[str, TestSet]
) -> dict[tuple[str, str], SplitAnswers]:
    names = {"bucket_id": "bucket", "pos": "variant", "p0": "p:0", "p1": "p:1"}
    both = pl.concat([originals, variants.drop("paraphrase_id")], how="diagonal_relaxed")
    both = both.filter(pl.col("collection") == "main").rename(names)
    return {
        (str(split), str(model)): SplitAnswers(reading.read(frame, LABELS), tests[str(split)])
        for (split, model), frame in both.partition_by("split", "model", as_dict=True).items()
    }


def _table_2(main: pl.DataFrame) -> Obtained:
    for split in SPLITS:
        sizes = main.filter(pl.col("split") == split).group_by("bucket_id", maintain_order=True).len()["len"].to_numpy()
        yield ("2", split, "# original"), float(len(sizes))
        yield ("2", split, "# paraphrases"), float(sizes.sum())
        yield ("2", split, "mean # paraphrases/ex"), float(sizes.mean())
        yield ("2", split, "std"), float(sizes.std())


def _table_4(runs: dict[tuple[str, str], SplitAnswers], tests: Mapping[str, TestSet]) -> Obtained:
    for row, model in TABLE_4.items():
        for split in SPLITS:
            if model in tests[split].answers:
                yield ("4", row, f"{split} A_T"), tests[split].accuracy(model)
            if run := runs.get((split, model)):
                yield ("4", row, f"{split} A_O"), run.percent("accuracy_original")
                yield ("4", row, f"{split} A_par"), run.percent("accuracy_variants")
                yield ("4", row, f"{split} P_C"), run.percent("p_c")
                yield from _corrected("4", row, split, run)
                yield from _beyond(row, split, run)


def _corrected(table: str, row: str, split: str, run: SplitAnswers, renormalise: bool = False) -> Obtained:
    for what in ("A~", "P~_C"):
        yield (table, row, f"{split} {what}"), run.corrected(what, renormalise)


def _beyond(row: str, split: str, run: SplitAnswers) -> Obtained:
    """What the paper does not print, for the rows of Table 4."""
    yield ("4 (distinct pairs)", row, f"{split} P_C"), run.percent("p_c_distinct")
    yield from _corrected("4 (renormalised)", row, split, run, renormalise=True)
    yield ("4 (coverage)", row, f"{split} coverage"), run.coverage
    yield ("4 (PVAP)", row, f"{split} PVAP"), run.percent("pvap")
    yield ("4 (PVAP)", row, f"{split} PVAP distinct pairs"), run.percent("pvap_distinct")


def _table_6(problems: pl.DataFrame, main: pl.DataFrame) -> Obtained:
    """Lexical distance, pooled over paraphrases; an a-NLI problem has two targets, whose mean it is."""
    pairs = main.join(problems, on=["split", "bucket_id"], suffix="_of")
    for split in SPLITS:
        here = pairs.filter(pl.col("split") == split)
        targets = [(f"target{i}", f"target{i}_of") for i in (1, 2) if here[f"target{i}"].null_count() < here.height]
        each = [[lexical_distance(*pair) for pair in here.select(names).iter_rows()] for names in targets]
        yield ("6", f"{split} human", "lex"), 100 * float(np.mean(each))


def _table_7(runs: dict[tuple[str, str], SplitAnswers]) -> Obtained:
    """Buckets by whether the partial-input model is right on the original, which makes its A_O 100 or 0."""
    for split in SPLITS[1:]:
        partial, full = runs[split, "bow-partial"], runs[split, "roberta-large"]
        of = partial.answers
        names = of.frame["bucket"].gather(of.originals)
        for kind, right in (("likely", True), ("unlikely", False)):
            some = names.filter(of.correct[of.originals] == right).to_list()
            yield from _split_by_artifact(f"{split} {kind}", partial.among(some), full.among(some))


def _split_by_artifact(row: str, partial: SplitAnswers, full: SplitAnswers) -> Obtained:
    for name, run in (("partial", partial), ("full", full)):
        right = run.percent("accuracy_original")
        # The split makes the partial-input model's a constant, which has no interval.
        yield ("7 (bag of words)", row, f"{name} A_O"), right.value if run is partial else right
        yield ("7 (bag of words)", row, f"{name} A_par"), run.percent("accuracy_variants")
        yield ("7 (bag of words)", row, f"{name} A~"), run.corrected("A~")
        yield ("7 (bag of words)", row, f"{name} A~ renormalised"), run.corrected("A~", renormalise=True)
        yield ("7 (bag of words)", row, f"{name} coverage"), run.coverage
    yield ("7 (bag of words)", row, "P_C"), full.percent("p_c")
    yield ("7 (bag of words)", row, "P~_C"), full.corrected("P~_C")


def _figure(table: str, models: dict[str, str], runs: dict[tuple[str, str], SplitAnswers]) -> Obtained:
    for row, model in models.items():
        for split in SPLITS[1:]:
            yield from _corrected(table, row, split, runs[split, model])
