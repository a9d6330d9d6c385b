"""The settings of ParaNLU's experiment: data with paraphrases and test sets, what is trained and selected, dynamics."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..datasets.source import Source
from ..errors import BadInput
from ..selection.aflite import AFLite
from ..selection.partition import PARANLU, PARANLU_LEAST
from ..storage.files import digest
from .data import DataPart, PaperData
from .protocol import PaperModel, PaperSettings

#: The parts of a training set: what AFLite's embedder learns from, what is selected from, what models learn from.
EMBEDDER, POOL, REST = PARANLU
#: What the stages of a curve are given as, and how.
_LISTS: dict[str, tuple[Any, str]] = {
    "shares": (float | int, "give shares of the training part: [0.01, 0.05, 0.1, 0.5]"),
    "starts": (str, 'give encoders to start from: ["nyu-mll/roberta-base-1B-1"]'),
}


class TestPart(DataPart):
    """A test set; of more, `size` items are drawn."""

    size: int = Field(default=0, ge=0, strict=True)


class ParaphrasedData(PaperData):
    """A data set and where its paraphrases come from: the file or data set `paraphrases`, or a `generator`.

    Without either, they are the rewordings that the data have themselves. `testset` is what corrects for the selection.
    With a training set, `train`, in place of `data`, it is divided: problems are selected from one part, and models
    with a `trainer` learn from another. Their paraphrases may be collected later.
    """

    data: list[str] = Field(default=[])
    train: DataPart | None = None
    paraphrases: str = ""
    generator: str = ""
    testset: TestPart | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "ParaphrasedData":
        if bool(self.data) == (self.train is not None):
            found = "both are given" if self.data else "is missing"
            raise BadInput(found, field="datasets.*.data", fix="give data, or a training set: train = {data = ...}")
        return self

    def source(self, part: DataPart | None = None, names: Any = ()) -> Source:
        """What it is read from."""
        return super().source(part, list(names) or self.data or (self.train.data if self.train else []))

    def signature(self) -> str:
        """A digest of the content of problems and test set, and of how they are read; not of paraphrases."""
        test = self.source(self.testset, self.testset.data).signature if self.testset else ""
        how = self.model_dump(exclude={"domain", "paraphrases", "generator"})
        return digest(self.source().signature, how, test)[:16]

    @property
    def given(self) -> Path | None:
        """The file of paraphrases, where it is one."""
        return path if self.paraphrases and (path := Path(self.paraphrases)).is_file() else None

    @property
    def to_collect(self) -> bool:
        """Whether paraphrases of what is selected have still to be written."""
        return self.train is not None and not self.paraphrases and not self.generator


class ParanluModel(PaperModel):
    """A model that is given, or one that a `trainer` makes of each data set's training part (all sets: `together`).

    It learns from a `share` of the part, and sees `fields` alone where they are named, which makes it `partial`.
    `start` takes the place of the trainer's own. One that is only a `stage` of a curve is in Figures 5 and 6 alone.
    """

    model: str = ""
    trainer: str = ""
    fields: list[str] = Field(default=[])
    share: float = Field(default=1.0, gt=0, le=1)
    start: str = ""
    seed: int = Field(default=1, ge=0, strict=True)
    together: bool = False
    stage: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> "ParanluModel":
        if bool(self.model) == bool(self.trainer):
            found = "both are given" if self.model else "is missing"
            raise BadInput(found, field="models.*.model", fix="give model, or a trainer that makes one")
        if self.model and (self.fields or self.start or self.together or self.share < 1):
            fix = "give a trainer in place of model, or leave it out"
            raise BadInput("nothing is trained", field="models.*.fields, share, start, together", fix=fix)
        self.partial = self.partial or bool(self.fields)
        return self


class Filter(BaseModel):
    """AFLite's settings, as `otherwords select aflite` names them."""

    model_config = ConfigDict(extra="forbid")

    classifiers: int = Field(default=AFLite.n, ge=1, strict=True)
    train_on: int = Field(default=AFLite.m, ge=1, strict=True)
    leave: int = Field(default=AFLite.k, ge=1, strict=True)
    tau: float = Field(default=AFLite.tau, ge=0, lt=1)

    def aflite(self, seed: int) -> AFLite:
        """As AFLite takes them."""
        return AFLite(self.classifiers, self.train_on, self.leave, self.tau, seed)


class Selection(BaseModel):
    """Which problems are used: all, `n` of each stratum at random, or `n` of each over deciles of a model's confidence.

    Strata are the values of the column `by`; or what AFLite finds easy and difficult, with the embeddings of a trained
    classifier `aflite`, of an `embedder` that is trained on a part of the training set, or of a sentence `encoder`.
    """

    model_config = ConfigDict(extra="forbid")

    how: Literal["none", "sample", "deciles"] = "none"
    n: int = Field(default=125, ge=1, strict=True)
    by: str = ""
    model: str = ""
    aflite: str = ""
    embedder: str = ""
    encoder: str = ""
    filter: Filter = Filter()
    parts: dict[str, float] = {name: share for name, share in PARANLU.items() if share is not None}
    at_least: dict[str, int] = dict(PARANLU_LEAST)

    @property
    def filtered(self) -> bool:
        """Whether AFLite makes the strata."""
        return bool(self.aflite or self.embedder or self.encoder)


class ParanluSettings(PaperSettings):
    """What to try: see the template that `--init` writes."""

    datasets: dict[str, ParaphrasedData] = Field(min_length=1)  # type: ignore[assignment]  # read by the same rules
    models: dict[str, ParanluModel] = Field(min_length=1)  # type: ignore[assignment]
    select: Selection = Selection()
    check: list[str] = Field(["surface"])
    automatic: list[str] = Field([])
    judge: str = "nli-small"
    parser: str = ""
    trees: str = ""
    encoder: str = ""
    regressor: str = ""
    pretraining: dict[str, list[str]] = Field({})
    finetuning: dict[str, list[str]] = Field({})
    replicates: int = Field(2000, ge=2, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _expanded(cls, values: Any) -> Any:
        """A model with `shares` or `starts` stands for one at each stage, and for the curve through them."""
        models = values.get("models") if isinstance(values, Mapping) else None
        if not isinstance(models, Mapping):
            return values
        found: dict[str, Any] = {}
        curves = {name: dict(values.get(name) or {}) for name in ("pretraining", "finetuning")}
        for name, one in models.items():
            if not isinstance(one, Mapping):
                found[name] = one
                continue
            own = {key: value for key, value in one.items() if key not in ("shares", "starts")}
            stages = _stages(name, own, one)
            found |= {key: value for some in stages.values() for key, value in some.items()} | {name: own}
            for curve, some in stages.items():
                curves[curve][name] = [*some, name]
        return {**values, "models": found, **{name: some for name, some in curves.items() if some}}

    @field_validator("automatic", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """A generator alone is a list of one."""
        return [value] if isinstance(value, str) else value


def _stages(name: str, own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The models at the stages of a curve, less the whole one.

    >>> list(_stages("big", {"trainer": "ngrams"}, {"shares": [0.01, 0.5, 1.0]})["finetuning"])
    ['big-1', 'big-50']
    """
    stages: dict[str, dict[str, Any]] = {}
    for key, curve in (("shares", "finetuning"), ("starts", "pretraining")):
        if not (some := given.get(key)):
            continue
        kind, fix = _LISTS[key]
        if not isinstance(some, list) or not all(isinstance(one, kind) for one in some):
            raise BadInput(f"found {some!r}", field=f"models.{name}.{key}", fix=fix)
        stages[curve] = {}
        for one in some:
            if key == "starts":
                stages[curve][f"{name}-{Path(one).name}"] = {**own, "start": one, "stage": True}
            elif one != 1:
                stages[curve][f"{name}-{100 * one:g}"] = {**own, "share": one, "stage": True}
    return stages
