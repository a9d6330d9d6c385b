"""A recipe: what to train, from which data, as a TOML file or from options, with any of `TrainingSettings`."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadInput, decode
from ..problem import get_task
from .settings import TrainingSettings

#: Not part of a recipe: the command decides the objective, the task the labels.
_IMPLIED = ("objective", "labels")
#: How to write a field, by its type.
_FORMS = {
    "list": 'write a list: ["..."]',
    "float | list": 'write a share, 0.05, or a list of data sets: ["..."]',
    "dict": 'write a table: {found = "meant"}',
}


class Recipe(BaseModel):
    """The data of a training. No row that shares a text with a data set of `without` is trained on.

    `valid` is a share of the data, split by premise, or data sets. `recombine` is how many further pairs are made of
    the training sentences for `teachers` to label. `data_seed` decides these draws, independently of `seed`, so that
    models of several seeds are trained and validated on the same rows.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    data: list[str] = Field(min_length=1)
    without: list[str] = []
    valid: float | list[str] = 0.05
    valid_fields: list[str] = []
    recombine: int = Field(0, ge=0)
    data_seed: int = Field(1, ge=0)
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    skip_bad: bool = False


def read_recipe(
    source: str | Path | Mapping[str, Any], objective: str = "nli", **overrides: Any
) -> tuple[Recipe, dict[str, Any]]:
    """Read a recipe from a TOML file or a mapping; keyword arguments override it. Also returns its settings.

    >>> recipe, settings = read_recipe({"start": "encoder", "data": ["everyday"], "epochs": 2}, seed=3)
    >>> recipe.data, settings
    (['everyday'], {'start': 'encoder', 'epochs': 2, 'seed': 3, 'objective': 'nli'})
    """
    where, given = ("", source) if isinstance(source, Mapping) else (str(source), _read_toml(Path(source)))
    values = {**given, **overrides}
    own = [name for name in Recipe.model_fields if name in values]
    settings = {name: value for name, value in values.items() if name not in own}
    _refuse_unknown(settings, where)
    try:
        recipe = Recipe(**{name: values[name] for name in own})
    except ValidationError as error:
        raise _bad_input(error, where) from error
    settings["objective"] = objective
    TrainingSettings.of(settings, where)  # a wrong value is an error before any data is read
    _refuse_conflicts(recipe, settings, where)
    return recipe, settings


def _refuse_unknown(settings: Mapping[str, Any], where: str) -> None:
    known = [field.name for field in fields(TrainingSettings) if field.name not in _IMPLIED]
    if unknown := sorted(set(settings) - set(known)):
        names = ", ".join([*Recipe.model_fields, *known])
        raise BadInput("no such setting", where=where, field=unknown[0], fix=f"there are {names}")


def _refuse_conflicts(recipe: Recipe, settings: Mapping[str, Any], where: str) -> None:
    if recipe.recombine and not settings.get("teachers"):
        fix = "add teachers, which label the recombined pairs"
        raise BadInput(f"found {recipe.recombine} without teachers", where=where, field="recombine", fix=fix)
    if isinstance(recipe.valid, float) and not 0 <= recipe.valid < 1:
        fix = "give a share below 1 (0: no validation), or data sets"
        raise BadInput(f"found {recipe.valid:g}", where=where, field="valid", fix=fix)
    if recipe.valid_fields and (settings["objective"] == "nli" or not isinstance(recipe.valid, list)):
        fix = "leave it out, or name data sets in valid"
        raise BadInput(
            "applies only to validation data sets of a masked-LM", where=where, field="valid_fields", fix=fix
        )
    if "-" in (*recipe.data, *recipe.without, *(recipe.valid if isinstance(recipe.valid, list) else ())):
        raise BadInput("standard input cannot be read twice", where=where, field="data", fix="name a file")
    if settings.get("teachers") and settings["objective"] != "nli":
        raise BadInput("are not supported for a masked-LM", where=where, field="teachers", fix="leave them out")
    if recipe.task:
        get_task(recipe.task)


def _read_toml(path: Path) -> dict[str, Any]:
    if path.is_dir():
        raise BadInput("is a folder", where=str(path), fix="a recipe is a TOML file; give the training folder with -o")
    if not path.is_file():
        fix = "give a TOML file, or use --start and --data"
        raise BadInput("no such file", where=str(path), fix=fix)
    try:
        return tomllib.loads(decode(path.read_bytes(), str(path)))
    except ValueError as error:  # neither UTF-8 nor TOML
        fix = "a recipe is a TOML file; to train on data, use --data"
        raise BadInput(f"cannot be read as a recipe: {error}", where=str(path), fix=fix) from error


def _bad_input(error: ValidationError, where: str) -> BadInput:
    first = error.errors()[0]
    field = str(first["loc"][0])
    if first["type"] in ("missing", "too_short") and field == "data":
        fix = 'write data = ["..."]' if where else "give --data, or a recipe"
        return BadInput("no data named", where=where, fix=fix)
    fix = _FORMS.get(str(Recipe.model_fields[field].annotation).partition("[")[0], first["msg"])
    return BadInput(f"found {first['input']!r}", where=where, field=field, fix=fix)
