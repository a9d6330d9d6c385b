"""The settings of an IE experiment: data sets, models, rho and all that decides; of a TOML file, or of its folder."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..registry import trainers
from ..training.recipe import with_new_name
from ..variants.resampling import refuse_no_share
from .experiment import EXPERIMENT, ExperimentSettings, read_settings
from .ie_data import IEData

#: What --quick sets: few values, small samples, two runs.
QUICK = {"rho": [0.0, 0.5, 1.0], "runs": 2}
QUICK_SIZES = {"train_size": 2000, "test_size": 1000}


def template() -> str:
    """The commented settings that `--init` writes; they work as they are, on the bundled problems."""
    return (files(__package__) / "ie_test.toml").read_text(encoding="utf-8")


class IEModel(BaseModel):
    """A model of the experiment: its trainer, whose options may stand beside it, and a search for them.

    `search` is the number of trials, once per data set, or with `search_inside` in every sample; `space` says where.
    """

    model_config = ConfigDict(extra="allow")

    trainer: str
    search: int = Field(0, ge=0, strict=True)
    search_inside: bool = False
    space: str = "ie-paper"

    @field_validator("trainer", mode="after")
    @classmethod
    def _new_name(cls, value: str) -> str:
        return with_new_name(value)

    @property
    def spec(self) -> str:
        """The trainer with its options."""
        return trainers.respell(self.trainer, **(self.model_extra or {}))


class IESettings(ExperimentSettings):
    """What to try: see the template that `--init` writes."""

    datasets: dict[str, IEData] = Field(min_length=1)
    models: dict[str, IEModel] = Field(min_length=1)
    generator: str = "wordnet-ie"
    rho: list[float] = Field([0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0], min_length=1)
    runs: int = Field(5, ge=1, strict=True)
    alpha: float = Field(0.05, gt=0, lt=1)
    replicates: int = Field(1000, ge=1, strict=True)
    margin: float = Field(0.01, gt=0, lt=1)
    votes: int = Field(1, ge=1, strict=True)
    judge: int = Field(400, ge=0, strict=True)
    baseline: str = ""

    @field_validator("rho", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        """One value is a list of one."""
        several = [value] if isinstance(value, int | float) else value
        for one in several if isinstance(several, list) else ():
            if isinstance(one, int | float):
                refuse_no_share(one)
        return several

    @field_validator("models", mode="before")
    @classmethod
    def _trainers(cls, value: Any) -> Any:
        """A trainer alone is a model."""
        named = value.items() if isinstance(value, Mapping) else ()
        return {name: {"trainer": one} if isinstance(one, str) else one for name, one in named} or value

    @field_validator("rho", mode="after")
    @classmethod
    def _shares(cls, value: list[float]) -> list[float]:
        return sorted({round(one, 6) + 0.0 for one in value})  # 0.1 + 0.2 is 0.3, -0 is 0, and each has one folder

    def generator_of(self, dataset: str) -> str:
        """The transformation of a data set."""
        return self.datasets[dataset].generator or self.generator


def read_ie_settings(
    source: str | Path | Mapping[str, Any] | None, folder: Path, quick: bool = False, **overrides: Any
) -> IESettings:
    """The settings of an experiment: of a file, a mapping, its folder, or the bundled ones."""
    if source is None and (folder / EXPERIMENT).is_file():
        source = folder
    if source is None:
        source = tomllib.loads(template())
    settings = read_settings(IESettings, source, **{**(QUICK if quick else {}), **overrides})
    return _smaller(settings) if quick else settings


def _smaller(settings: IESettings) -> IESettings:
    """The same with small samples and without searches."""
    for data in settings.datasets.values():
        for name, most in QUICK_SIZES.items():
            setattr(data, name, min(getattr(data, name) or most, most))
    for model in settings.models.values():
        model.search = 0
    return settings
