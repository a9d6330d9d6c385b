"""PaRTE's table and figures from the authors' collated predictions (Verma et al. 2023, ACL).

The file has predictions of two classes, so flips between neutral and contradiction cannot be counted. Each original
occurs once per paraphrased version and is counted as often, as in the paper (its footnote 6). Table 2 is printed
truncated, the percentages of the text are rounded. The answers to originals are those of the paper; some answers to
paraphrases seem not to be: there are 2 to 6 changes per model more or fewer than printed.

For intervals, an original and its paraphrases are a bucket, and buckets with the same premise a cluster.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from ..answers.reading import read
from ..metrics import accuracy
from ..registry import metrics, papers
from ..words.distance import jaccard
from .reproduction import Cell, Key, Reproduce, WithIntervals, against_published, find, percent_intervals

Obtained = Iterator[tuple[Key, float | WithIntervals]]
MODELS = {"BoW": "cbow", "BiLSTM": "bilstm", "BERT": "bert", "RoBERTa": "roberta", "GPT-3": "gpt"}


@papers("parte.v1")
def parte() -> Reproduce:
    """PaRTE (Verma et al. 2023): Table 2, Figures 1 to 5 and the counts of section 3, from the released predictions."""
    return reproduce


def reproduce(data: Path) -> list[Cell]:
    """Table 2, the figures as numbers and the counts of section 3 from `data`/parte."""
    rows, candidates = (
        pl.read_parquet(path) for path in find(data, "parte", "parte.parquet", "rte_test_candidates_j075.parquet")
    )
    obtained: dict[Key, float | WithIntervals] = dict(_section_3(rows, candidates))
    for name, model in MODELS.items():
        answers = rows.select(
            "paraphrased",
            "task",
            variant="id",
            bucket="original_pair_id",
            cluster="premise",
            gold=(pl.col("gold_label") == "entailed").cast(pl.Int64),
            before=pl.col(f"{model}_orig").cast(pl.Int64),
            after=pl.col(f"{model}_par").cast(pl.Int64),
        )
        obtained |= dict(_table_2(name, answers)) | dict(_figures(name, answers))
    return against_published("parte", obtained)


def _section_3(rows: pl.DataFrame, candidates: pl.DataFrame) -> Obtained:
    """How many candidates and examples there are, and how many Jaccard indices come out as in the file."""
    shares = np.array([jaccard(*pair) for pair in candidates.select("original", "paraphrase").iter_rows()])
    yield ("Section 3", "candidates", "all"), float(len(shares))
    yield ("Section 3", "candidates", "premises"), float((candidates["side"] == "premise").sum())
    yield ("Section 3", "candidates", "hypotheses"), float((candidates["side"] == "hypothesis").sum())
    same = np.abs(shares - candidates["jaccard"].to_numpy()) < 1e-9  # ten decimals are in the file
    yield ("Section 3", "candidates", "Jaccard as in the file"), float(same.sum())
    yield ("Section 3", "candidates", "Jaccard at most 0.75"), float((shares <= 0.75).sum())
    yield ("Section 3", "examples", "all"), float(rows.height)
    yield ("Section 3", "examples", "originals"), float(rows["original_pair_id"].n_unique())
    for kind, column in (("p", "premise"), ("h", "hypothesis"), ("ph", "both")):
        yield ("Section 3", "examples", column), float((rows["paraphrased"] == kind).sum())


def _table_2(name: str, answers: pl.DataFrame) -> Obtained:
    before, after = (100 * accuracy(answers["gold"], answers[when]) for when in ("before", "after"))
    yield ("2", name, "RTE"), _with_intervals(before, "accuracy_original_weighted", answers)
    yield ("2", name, "PaRTE"), _with_intervals(after, "accuracy_variants", answers)
    yield ("2", name, "% changed"), _changed(answers)


def _figures(name: str, answers: pl.DataFrame) -> Obtained:
    right, now_right = pl.col("before") == pl.col("gold"), pl.col("after") == pl.col("gold")
    yield ("Figure 1", name, "correct to incorrect"), float(answers.filter(right & ~now_right).height)
    yield ("Figure 1", name, "incorrect to correct"), float(answers.filter(~right & now_right).height)
    both = pl.col("paraphrased") == "ph"
    one, two = _changed(answers.filter(~both)), _changed(answers.filter(both))
    yield ("Figure 2", name, "one paraphrased"), one
    yield ("Figure 2", name, "both paraphrased"), two
    yield ("Figure 2", name, "increase"), two.value - one.value
    yield ("Figure 3", name, "entailed"), _changed(answers.filter(pl.col("gold") == 1))
    yield ("Figure 3", name, "not entailed"), _changed(answers.filter(pl.col("gold") == 0))
    yield ("Figure 4", name, "original correct"), _changed(answers.filter(right))
    yield ("Figure 4", name, "original incorrect"), _changed(answers.filter(~right))
    for task in answers["task"].unique().sort():
        yield ("Figure 5", name, task), _changed(answers.filter(pl.col("task") == task), f"Figure 5, {task}")


def _changed(answers: pl.DataFrame, where: str = "PaRTE") -> WithIntervals:
    value = 100 * float(np.mean(answers["after"].to_numpy() != answers["before"].to_numpy()))
    return _with_intervals(value, "flip_rate", answers, where)


def _with_intervals(value: float, metric: str, answers: pl.DataFrame, where: str = "PaRTE") -> WithIntervals:
    """A value, with both intervals of the metric that it is; a warning of few clusters says `where`."""
    common = ("bucket", "cluster", "gold", pl.lit(where).alias("model"))
    originals = answers.unique("bucket", maintain_order=True).select(*common, variant=pl.lit(None), pred="before")
    variants = answers.select(*common, "variant", pred="after")
    both = read(pl.concat([originals, variants], how="vertical_relaxed"))
    [intervals] = percent_intervals({metric: metrics.make(metric)}, both).values()
    return WithIntervals(value, *intervals)
