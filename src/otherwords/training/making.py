"""`otherwords train`: from a recipe to a prepared folder, and from there to a model; or on from where it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets.source import Source
from ..errors import BadInput, OtherwordsError
from ..storage.files import write_json, write_text
from .checkpoints import exists, is_trained
from .data import Gathered, gather, recombine
from .prepared import DATA, carry_out, change, is_prepared, prepare, prepared_settings
from .recipe import Recipe, read_recipe
from .settings import Settings
from .starting import refuse_bare

#: Beside the examples: what they were made of, how many there are, and what was left out.
ORIGIN, COUNTS, LEFT_OUT = "origin.json", "counts.json", "left-out.jsonl"
#: Settings of where and in which portions; a training may go on with others.
_WHERE = ("device", "accumulate")


@dataclass(frozen=True)
class Made:
    """A training's folder, its counts, the model's validation figures, and whether it was there `before`."""

    folder: Path
    counts: dict[str, Any]
    figures: dict[str, float] | None = None
    before: bool = False


def train(
    recipe: str | Path | Mapping[str, Any],
    objective: str = "nli",
    *,
    out: str | Path,
    prepare_only: bool = False,
    **overrides: Any,
) -> Made:
    """Train what a recipe describes, and leave the model in `out`, where `hf:OUT` finds it.

    A folder where the same training was begun is gone on with; one with another training is refused. With
    `prepare_only`, `python -m otherwords.training OUT` trains later, where no more than torch and transformers is.
    """
    read, given = read_recipe(recipe, objective, **overrides)
    folder, origin = Path(out), _origin(read, given)
    fresh = not is_prepared(folder)
    if not fresh:
        _refuse_other(folder, origin)
        settings = Settings.of(given)
        change(folder, **{name: getattr(settings, name) for name in _WHERE})
    else:
        _refuse_occupied(folder)
        if not prepare_only:
            _refuse_absent(given)
        _prepare(folder, read, given, origin)
    counts = json.loads((folder / DATA / COUNTS).read_text(encoding="utf-8"))
    before = is_trained(folder)
    try:
        return Made(folder, counts, None if prepare_only else carry_out(folder), before)
    except OtherwordsError:
        if fresh and not (exists(folder) or is_trained(folder)):  # refused: what was prepared for it is in the way
            shutil.rmtree(folder)
        raise


def _prepare(folder: Path, recipe: Recipe, given: dict[str, Any], origin: dict[str, Any]) -> None:
    found = gather(recipe, given["objective"])
    settings = _settled(found, given)
    further = _recombined(found, recipe)
    data = folder / DATA
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.left_out)
    write_text(data / LEFT_OUT, lines.encode("utf-8", "backslashreplace").decode())
    counts = {"train": len(found.train), "recombined": len(further), "valid": len(found.valid)}
    labels = {label: sum(row.label == label for row in found.train) for label in found.task.labels}
    told = {"labels": labels} if settings.objective == "nli" else {}
    write_json(data / COUNTS, {**counts, **told, "left_out": dict(sorted((+found.reasons).items()))})
    write_json(data / ORIGIN, origin)
    train = [_line(row) for row in found.train] + [[*pair, None] for pair in further]
    prepare(folder, settings, train, [_line(row) for row in found.valid])


def _line(row: Any) -> list[str | None]:
    return [*row.texts, row.label] if len(row.texts) > 1 else [*row.texts]


def _settled(found: Gathered, given: Mapping[str, Any]) -> Settings:
    """The settings, now that the data told the labels, and data and settings fit."""
    if given["objective"] != "nli":
        return Settings.of(given)
    task, labels = found.task, {row.label for row in found.train}
    if len(task.fields) != 2:
        fix = "train on pairs: nli, rte, or a task file with two fields"
        raise BadInput(f"{task.name} has {len(task.fields)} texts a problem", field="task", fix=fix)
    if len(labels) < 2:
        fix = f"give data with at least two of {', '.join(task.labels)}"
        raise BadInput(f"all rows say {labels.pop()!r}", field="data", fix=fix)
    return Settings.of({**given, "labels": task.labels})


def _recombined(found: Gathered, recipe: Recipe) -> list[tuple[str, str]]:
    if not recipe.recombine:
        return []
    return recombine([(row.texts[0], row.texts[1]) for row in found.train], recipe.recombine, recipe.data_seed)


def _origin(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides what is trained: the recipe, the settings, and the data by content."""
    named = {"data": recipe.data, "without": recipe.without, "valid": recipe.valid}
    content = {
        f"the content of {part}": Source(names, recipe.task, recipe.columns, recipe.labels).signature[0]
        for part, names in named.items()
        if isinstance(names, list) and names
    }
    settings = Settings.of(given).as_dict()
    for name in ("labels", *_WHERE):
        del settings[name]
    told: dict[str, Any] = json.loads(json.dumps({**recipe.model_dump(), **settings, **content}))
    return told


def _refuse_other(folder: Path, origin: dict[str, Any]) -> None:
    path = folder / DATA / ORIGIN
    there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings = prepared_settings(folder).as_dict()  # the labels there are the task's, in a recipe what the data's mean
    there |= {name: value for name, value in settings.items() if name in origin and name != "labels"}
    differing = [name for name in origin if there.get(name) != origin[name]]
    if differing:
        told = "; ".join(f"{name} is {_shown(there.get(name))} there, {_shown(origin[name])} now" for name in differing)
        raise BadInput(f"holds another training: {told}", where=str(folder), fix="name another folder, or delete it")


def _refuse_occupied(folder: Path) -> None:
    """A folder with a model of other making, perhaps the start itself, would pass for a finished training."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", where=str(folder), fix="choose another place with -o")
    if folder.is_dir() and (others := sorted(path.name for path in folder.iterdir() if path.name != DATA)):
        fix = "choose a new folder with -o"
        raise BadInput(f"holds {', '.join(others[:3])}, which is no training", where=str(folder), fix=fix)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:48]} … {text[-48:]}"


def _refuse_absent(given: Mapping[str, Any]) -> None:
    """What cannot be loaded is told before minutes of preparing."""
    from ..inference.hf_folders import find
    from ..inference.torch_device import choose_device

    refuse_bare()
    for name in (given["start"], *given.get("teachers", ())):
        find(name)
    choose_device(given.get("device", "auto"), given["start"])
