"""MERGE's settings, a data set whose variants were drawn and answered, and the numbers of its draws (section 3).

The row of a cluster of seeds has sums over seeds and draws, so that a mean over draws is a ratio of sums, and has the
interval of any share. Where a group lacks a seed in some draws, as one of origins may, a draw weighs by its seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..answers.table import Array
from ..errors import BadInput
from ..metrics.metric import Metric, both_shares, first_less_second
from ..metrics.pattern import GRID, matching_threshold, passing
from ..problem import Task
from ..report.tables import TableCell
from ..significance.across_models import T, crossed_test, difference_influences, influences, side_by_side, t_test
from ..significance.bootstrap import by_cluster
from ..significance.intervals import Estimate, closed_form, difference_ends, difference_p
from ..storage.run_folder import RunFolder
from ..variants.masked_lm.filters import RULES
from .protocol import PaperSettings

#: Where a variant comes from, as a model sees it (section 5.3).
SAME, SIZE, MULTI, OTHER = "same masked-LM", "same family, other size", "two or more masked-LMs", "other family"
#: The paper's word classes; it counts shared adverbs, too, and finds too few.
_CLASSES = ["noun", "verb", "adjective"]
#: Columns of a row: for each threshold the seeds that pass it, right seeds, seeds, right variants, variants.
SEED, SEEDS, RIGHT, VARIANTS = range(len(GRID), len(GRID) + 4)
#: Accuracy on seeds and on variants, as pairs of columns.
ON_SEEDS, ON_VARIANTS = (SEED, SEEDS), (RIGHT, VARIANTS)
CONFIDENCE = 0.95
_SHARE = Metric(np.asarray)
_DROP = Metric(np.asarray, first_less_second, uses="both", bounds=(-1, 1), sides=both_shares)
_MATCHING: Metric = matching_threshold()


# Settings


class MaskedModel(BaseModel):
    """A masked-LM that suggests words, and the `family` of its architecture: BERT in two sizes is one family."""

    model_config = ConfigDict(extra="forbid")

    model: str
    family: str = ""


class MergeSettings(PaperSettings):
    """The settings of MERGE: see the template that `--init` writes."""

    masked_lms: dict[str, MaskedModel] = Field(min_length=1)
    classes: list[str] = Field(_CLASSES, min_length=1)
    top: int = Field(200, ge=1, strict=True)
    least: int = Field(20, ge=1, strict=True)
    n: int = Field(20, ge=1, strict=True)
    draws: int = Field(10, ge=1, strict=True)
    ablations: list[str] = Field([name for name in RULES if name])
    counts: Literal["reached", "all"] = "reached"
    quality: float = Field(0.9, gt=0, le=1)
    below: float = Field(0.05, gt=0, le=1)
    counterparts: dict[str, str] = Field({})
    corpus: str = ""
    corpus_models: list[str] = Field([])
    judge: int = Field(100, ge=0, strict=True)
    verdicts: list[str] = Field([])
    corrected: str = ""

    @field_validator("masked_lms", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """A name alone is a masked-LM."""
        return {name: {"model": one} if isinstance(one, str) else one for name, one in dict(value).items()}

    @field_validator("quality", mode="after")
    @classmethod
    def _hundredths(cls, value: float) -> float:
        if abs(100 * value - round(100 * value)) > 1e-9:
            raise BadInput(f"found {value}", field="quality", fix="give hundredths, as in 0.9")
        return value


# Draws


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


# A data set with its variants and answers


Groups = Mapping[str, Draws]


class Rating(NamedTuple):
    """What one annotator gave a variant, from 1 (poor) to 5 (good), and why."""

    id: str
    fluency: int
    reasoning: int
    why: str


@dataclass(frozen=True)
class MergeSuite:
    """A data set with its variants, what filters noted, and all answers.

    `originals` are the answers to all problems, `asked` those to drawn variants; `ablations` has the draws of each
    ablation by model. With `several` data sets, files are named after theirs.
    """

    dataset: str
    several: bool
    settings: MergeSettings
    task: Task
    problems: pl.DataFrame
    variants: pl.DataFrame
    notes: pl.DataFrame
    originals: pl.DataFrame
    asked: pl.DataFrame
    ablations: Mapping[str, Groups]
    ratings: Sequence[Rating]
    corrected: Mapping[str, str]

    def file(self, name: str) -> str:
        """What a table or figure is called."""
        return f"{name}-{self.dataset}" if self.several else name

    @property
    def models(self) -> list[str]:
        """All models, in the order of the settings."""
        return list(self.settings.models)

    @cached_property
    def whole(self) -> dict[str, Draws]:
        """All drawn variants, by model (ALL in the paper)."""
        return by_model(self.asked, self.models)

    def group(self, chosen: pl.Expr) -> dict[str, Draws]:
        """The drawn variants of a group, by model."""
        return by_model(self.asked.filter(chosen), self.models)

    @cached_property
    def classes(self) -> dict[str, dict[str, Draws]]:
        """The variants of each word class, by model."""
        return {name: self.group(pl.col("word_class") == name) for name in sorted(self.asked["word_class"].unique())}

    @cached_property
    def matched(self) -> dict[tuple[str, str], dict[str, Draws]]:
        """The variants of one class, of seeds that have variants of another, too."""
        pairs = [(one, other) for pair in combinations(self.classes, 2) for one, other in (pair, pair[::-1])]
        both = pl.col("classes").str.split("+")
        found = {
            (one, other): self.group((pl.col("word_class") == one) & both.list.contains(other)) for one, other in pairs
        }
        return {pair: some for pair, some in found.items() if some}

    @cached_property
    def origins(self) -> dict[str, dict[str, Draws]]:
        """Variants by where they come from, for each model that has a counterpart among the masked-LMs."""
        found: dict[str, dict[str, Draws]] = {}
        for model, masked in self.settings.counterparts.items():
            own = self.asked.filter(pl.col("model") == model)
            for name, some in own.with_columns(kind=origin_kind(masked, self.settings)).partition_by(
                "kind", as_dict=True
            ).items():  # fmt: skip
                found.setdefault(str(name[0]), {}).update(by_model(some, [model]))
        return {name: found[name] for name in (SAME, SIZE, MULTI, OTHER) if name in found}


def origin_kind(masked: str, settings: MergeSettings) -> pl.Expr:
    """Where variants come from, as a model sees it whose counterpart is this masked-LM."""
    family = settings.masked_lms[masked].family
    relatives = [name for name, one in settings.masked_lms.items() if family and one.family == family]
    origin = pl.col("origin")
    several = pl.when(origin.str.contains("+", literal=True)).then(pl.lit(MULTI))
    return several.when(origin == masked).then(pl.lit(SAME)).when(origin.is_in(relatives)).then(pl.lit(SIZE)).otherwise(
        pl.lit(OTHER)
    )  # fmt: skip
