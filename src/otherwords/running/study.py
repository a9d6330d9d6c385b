"""A study: the whole pipeline as one description, from a TOML file or from options."""

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadInput, decode
from .stages import SHARD


class Study(BaseModel):
    """What to do, from data to scores. Every field can stand in a TOML file under the same name."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = "study"
    data: list[str] = Field(description="files or data sets")
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    skip_bad: bool = False
    vary: list[str] = []
    check: list[str] = ["surface"]
    models: list[str] = Field(min_length=1)
    label_map: dict[str, str] = {}
    canary: bool = True
    batch_size: int = Field(0, ge=0)
    cache: str | Literal[False] | None = Field("", description='path, "" for the shared one, false for none')
    metrics: list[str] = []
    by: list[str] = []
    seed: int = 1
    replicates: int = Field(10_000, ge=1)
    confidence: float = Field(0.95, gt=0, lt=1)
    interval: Literal["percentile", "bca"] = "percentile"
    shard: int = Field(SHARD, ge=1)


def read_study(source: str | Path | dict[str, Any], **overrides: Any) -> Study:
    """Read a study from a TOML file or a dictionary; settings given by name replace those in it."""
    where, values = "", source
    if not isinstance(source, dict):
        where, values = str(source), {"name": Path(source).stem, **_read_toml(Path(source))}
    try:
        return Study(**{**values, **overrides})  # type: ignore[dict-item]
    except ValidationError as error:
        raise _translated(error, where) from error


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput("no such file", where=str(path), fix="give a TOML file, or use --data")
    try:
        return tomllib.loads(decode(path.read_bytes(), str(path)))
    except ValueError as error:  # neither UTF-8 nor TOML
        fix = "a study is a TOML file; to run on data, use --data"
        raise BadInput(f"cannot be read as a study: {error}", where=str(path), fix=fix) from error


#: What Pydantic adds to the location of a value that may be of several types.
_KINDS = ("str", "dict[str,any]", "literal[False]")


def _translated(error: ValidationError, where: str) -> BadInput:
    """The first error as one of ours. A misspelt name comes first: it is why another is missing."""
    first = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")[0]
    field = ".".join(str(part) for part in first["loc"] if part not in _KINDS)
    if first["type"] == "extra_forbidden":
        return BadInput("no such setting", where=where, field=field, fix=f"there are {', '.join(Study.model_fields)}")
    if first["type"] in ("missing", "too_short"):
        flag = {"data": "--data", "models": "--model"}.get(field, field)
        fix = f'write {field} = ["..."]' if where else f"give {flag}, or a study file"
        return BadInput(f"no {field} named", where=where, fix=fix)
    return BadInput(f"found {first['input']!r}", where=where, field=field, fix=first["msg"])
