"""The settings of ParaNLU's experiment: data with paraphrases and test sets, selection, and what is compared."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..storage.files import digest, fingerprint
from .data import DataPart, PaperData
from .protocol import PaperSettings


class ParaphrasedData(PaperData):
    """A data set and where its paraphrases come from: the file or data set `paraphrases`, or a `generator`.

    Without either, they are the rewordings that the data have themselves. `testset` is what corrects for the selection.
    """

    paraphrases: str = ""
    generator: str = ""
    testset: DataPart | None = None

    def signature(self) -> str:
        """A digest of the content of all its files, and of how they are read."""
        given = Path(self.paraphrases)
        content = fingerprint(given) if self.paraphrases and given.is_file() else ""
        test = self.source(self.testset, self.testset.data).signature if self.testset else ""
        return digest(super().signature(), content, test)[:16]


class Selection(BaseModel):
    """Which problems are used: all, `n` of each stratum at random, or `n` of each over deciles of a model's confidence.

    Strata are the values of the column `by`; or what AFLite finds easy and difficult with the embeddings of the trained
    classifier `aflite`.
    """

    model_config = ConfigDict(extra="forbid")

    how: Literal["none", "sample", "deciles"] = "none"
    n: int = Field(default=125, ge=1, strict=True)
    by: str = ""
    model: str = ""
    aflite: str = ""


class ParanluSettings(PaperSettings):
    """What to try: see the template that `--init` writes."""

    datasets: dict[str, ParaphrasedData] = Field(min_length=1)  # type: ignore[assignment]  # read by the same rules
    select: Selection = Selection()
    check: list[str] = Field(["surface"])
    automatic: list[str] = Field([])
    judge: str = "nli-small"
    parser: str = ""
    encoder: str = ""
    pretraining: dict[str, list[str]] = Field({})
    finetuning: dict[str, list[str]] = Field({})
    replicates: int = Field(2000, ge=2, strict=True)

    @field_validator("automatic", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """A generator alone is a list of one."""
        return [value] if isinstance(value, str) else value
