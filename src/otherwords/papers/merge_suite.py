"""MERGE's settings, and a data set whose variants were drawn and answered: its groups, by model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..errors import BadInput
from ..problem import Task
from ..report.figures import Figure
from ..report.tables import Plain, Table, TableCell
from ..variants.masked_lm.filters import RULES
from .merge_draws import Draws, by_model
from .merge_people import Rating
from .protocol import PaperSettings

Row = list[TableCell | Plain]
Groups = Mapping[str, Draws]
#: Where a variant comes from, as a model sees it (section 5.3).
SAME, SIZE, MULTI, OTHER = "same masked-LM", "same family, other size", "two or more masked-LMs", "other family"
#: The paper's word classes; it counts shared adverbs, too, and finds too few.
_CLASSES = ["noun", "verb", "adjective"]
#: Exhibits that hold nothing to be measured.
_DRAWN = {
    "Table 1": "it compares the designs of earlier studies; nothing in it is measured",
    "Figure 1": "it illustrates the metric; nothing in it is measured",
    "Figure 2": "it illustrates the method; nothing in it is measured",
}


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


class Exhibits:
    """Tables, figures and reasons as they are made."""

    def __init__(self, suite: MergeSuite) -> None:
        self.suite = suite
        self.tables: dict[str, list[Table]] = {}
        self.figures: dict[str, list[Figure]] = {}
        self.missing: dict[str, str] = dict(_DRAWN)

    def add(self, exhibit: str, made: Table | Figure | None, reason: str = "") -> None:
        """Put what was made under the name of an exhibit, or the reason why it was not."""
        if made is None:
            self.missing[exhibit] = reason
        elif isinstance(made, Table):
            self.tables.setdefault(exhibit, []).append(made)
        else:
            self.figures.setdefault(exhibit, []).append(made)
