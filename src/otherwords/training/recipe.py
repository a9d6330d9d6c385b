"""A recipe: which data to train on, and the options of the trainer, as a TOML file or from the command line."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadInput
from ..problem import get_task
from ..registry import Bound, Plugin, models, trainers
from ..storage.files import read_toml
from ..storage.specs import nearest

#: How to give an option that a trainer cannot do without.
_REQUIRED = {"start": "name a Hugging Face model or a folder"}
#: How to write a value, by what Pydantic says is wrong with it.
_BY_FAULT = {
    "list_type": "write a list: [...]",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "write a table: {{name = ...}}"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "give a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "give a number"),
    "string_type": 'give a text: "..."',
    "bool_type": "give true or false",
    "bool_parsing": "give true or false",
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give {ge} or more",
    "less_than": "give less than {lt}",
    "less_than_equal": "give {le} or less",
}
#: How to write a field, by its type.
_FORMS = {
    "list": 'write a list: ["..."]',
    "float | list": 'write a share, 0.05, or a list of data sets: ["..."]',
    "dict": 'write a table: {found = "meant"}',
}


class Recipe(BaseModel):
    """The data of a training. No row that shares a text with a data set of `without` is trained on.

    `valid` is a share of the data, split by premise, or data sets; where these ask another task (`valid_task`: two
    labels, of a model with three), `valid_label_map` says what each label that is learnt means there. A model sees the
    `fields` (partial input; none: all of the task's) of the `share` of the training problems. `recombine` is how many
    further pairs are made of the training sentences for `teachers` to label. `data_seed` decides these draws,
    independently of `seed`, so that models of several seeds are trained and validated on the same rows.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    data: list[str] = Field(min_length=1)
    without: list[str] = []
    valid: float | list[str] = 0.05
    valid_fields: list[str] = []
    valid_task: str | dict[str, Any] = ""
    valid_label_map: dict[str, str] = {}
    fields: list[str] = []
    share: float = 1.0
    recombine: int = Field(0, ge=0)
    seed: int = Field(1, ge=0, lt=2**63)
    data_seed: int = Field(1, ge=0)
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    skip_bad: bool = False


def read_recipe(
    source: str | Path | Mapping[str, Any], trainer: str = "encoder", **overrides: Any
) -> tuple[Recipe, Bound]:
    """Read a recipe from a TOML file or a mapping; keyword arguments override it. Also returns the trainer.

    >>> recipe, trainer = read_recipe({"data": ["everyday"], "steps": 50}, "bag_of_words", seed=3)
    >>> recipe.seed, trainer.signature
    (3, 'bag_of_words.v1(penalty=1.0, steps=50)')
    """
    where, given = ("", source) if isinstance(source, Mapping) else (str(source), _read_toml(Path(source)))
    values = {**given, **overrides}
    own = [name for name in Recipe.model_fields if name in values]
    options = {name: value for name, value in values.items() if name not in own}
    plugin = find_trainer(trainer)
    _refuse_unknown(plugin, options, where)
    try:
        recipe = Recipe(**{name: values[name] for name in own})
    except ValidationError as error:
        raise _bad_input(error, where) from error
    bound = bind_trainer(plugin, options, where)  # a wrong value is an error before any data is read
    _refuse_conflicts(recipe, bound, where)
    return recipe, bound


def find_trainer(name: str) -> Plugin:
    """A trainer by its name, or by an old one."""
    return trainers.get(with_new_name(name))


def with_new_name(spec: str) -> str:
    """A trainer's spec with the name that it has now: `encoder` was called `nli`.

    >>> with_new_name("nli(start=encoder)"), with_new_name("nli"), with_new_name("nli-other")
    ('encoder(start=encoder)', 'encoder', 'nli-other')
    """
    return re.sub(r"^nli(?=$|[(:])", "encoder", spec.strip())


def bind_trainer(plugin: Plugin, options: Mapping[str, Any], where: str = "") -> Bound:
    """A trainer with its options, given as plain values; errors name the file or place where they stand."""
    if missing := [name for name, default in plugin.options().items() if default is ... and name not in options]:
        fix = _REQUIRED.get(missing[0], f"give {missing[0]}")
        raise BadInput("is missing", where=where, field=missing[0], fix=fix)
    given = ", ".join(f"{name}={json.dumps(value, default=str)}" for name, value in options.items())
    try:
        return make_trainer(f"{plugin.full_name}({given})")
    except BadInput as error:
        field = error.field or error.where.rpartition(": ")[2]
        raise BadInput(error.message, where=where, field=field, fix=error.fix) from None


def make_trainer(spec: str) -> Bound:
    """A trainer of a spec; one that lacks what every trainer has is refused."""
    bound = trainers.make(spec)
    answers_as, where = getattr(bound.function, "answers_as", None), bound.plugin.full_name
    if not isinstance(answers_as, str) or not callable(getattr(bound.function, "fit", None)):
        fix = "give it a method fit, and answers_as: ClassVar[str], the name of the model that answers from its folder"
        raise BadInput("is not a trainer", where=where, fix=fix)
    if answers_as and not models.has(answers_as):
        fix = "name one of otherwords list models, or load the plug-in that has it"
        raise BadInput(f"no model is called {answers_as!r}", where=where, field="answers_as", fix=fix)
    return bound


def _refuse_unknown(plugin: Plugin, options: Mapping[str, Any], where: str) -> None:
    if unknown := sorted(set(options) - set(plugin.options())):
        known = [*Recipe.model_fields, *plugin.options()]
        near = nearest(unknown[0], known)
        hint = f"did you mean {near}? " if near else ""
        message, fix = f"{plugin.name} has no such option", f"{hint}available: {', '.join(known)}"
        raise BadInput(message, where=where, field=unknown[0], fix=fix)


def _refuse_conflicts(recipe: Recipe, trainer: Bound, where: str) -> None:
    masked_lm = not trainer.function.answers_as
    if recipe.recombine and not getattr(trainer.function, "teachers", ()):
        fix = "add teachers, which label the recombined pairs"
        raise BadInput(f"found {recipe.recombine} without teachers", where=where, field="recombine", fix=fix)
    if isinstance(recipe.valid, float) and not 0 <= recipe.valid < 1:
        fix = "give a share below 1 (0: no validation), or data sets"
        raise BadInput(f"found {recipe.valid:g}", where=where, field="valid", fix=fix)
    if recipe.valid_fields and (not masked_lm or not isinstance(recipe.valid, list)):
        fix = "leave it out, or name data sets in valid"
        raise BadInput(
            "applies only to validation data sets of a masked-LM", where=where, field="valid_fields", fix=fix
        )
    if "-" in (*recipe.data, *recipe.without, *(recipe.valid if isinstance(recipe.valid, list) else ())):
        raise BadInput("standard input cannot be read twice", where=where, field="data", fix="name a file")
    for name, value in (("fields", recipe.fields), ("share", recipe.share < 1)):
        if value and masked_lm:
            raise BadInput("is not supported for a masked-LM", where=where, field=name, fix="leave it out")
    if not 0 < recipe.share <= 1:
        fix = "give a share of the training problems above 0, at most 1"
        raise BadInput(f"found {recipe.share:g}", where=where, field="share", fix=fix)
    if recipe.task:
        get_task(recipe.task)


def _read_toml(path: Path) -> dict[str, Any]:
    if path.is_dir():
        raise BadInput("is a folder", where=str(path), fix="a recipe is a TOML file; give the training folder with -o")
    if not path.is_file():
        fix = "give a TOML file, or use --start and --data"
        raise BadInput("no such file", where=str(path), fix=fix)
    return read_toml(path, "a recipe", "a recipe is a TOML file; to train on data, use --data")


def _bad_input(error: ValidationError, where: str) -> BadInput:
    first = error.errors()[0]
    field = str(first["loc"][0])
    if first["type"] in ("missing", "too_short") and field == "data":
        fix = 'write data = ["..."]' if where else "give --data, or a recipe"
        return BadInput("no data named", where=where, fix=fix)
    fix = _FORMS.get(str(Recipe.model_fields[field].annotation).partition("[")[0]) or how_to_write(first)
    return BadInput(f"found {first['input']!r}", where=where, field=field, fix=fix)


def how_to_write(error: Mapping[str, Any]) -> str:
    """What to do about an error of Pydantic's."""
    form = _BY_FAULT.get(error["type"])
    return form.format(**error.get("ctx", {})) if form else str(error["msg"])
