"""`otherwords train`: from a recipe to a prepared folder, and from there to a model; or resume an earlier training."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets.source import Source, files_of
from ..errors import BadInput, OtherwordsError
from ..storage.files import refuse_overwriting, write_json, write_text
from .data import TrainingData, TrainingRow, collect_rows, recombine
from .history import has_checkpoint, is_trained
from .objectives import require_torch
from .prepared import DATA, change_settings, is_prepared, prepare, prepared_settings, train_prepared
from .recipe import Recipe, read_recipe
from .settings import TrainingSettings

#: Files next to the examples: the recipe they come from, their numbers, and the rows left out.
ORIGIN, COUNTS, LEFT_OUT = "origin.json", "counts.json", "left-out.jsonl"
#: A training may be resumed with other values of these: they do not change what is learnt.
_WHERE = ("device", "accumulate")


@dataclass(frozen=True)
class TrainingResult:
    """The folder, the counts of rows, the validation figures of the model, and whether it was trained `before`."""

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
) -> TrainingResult:
    """Train what a recipe describes, and write the model to `out`, where `hf:OUT` finds it.

    A folder with the same, unfinished training is resumed; one with another training is an error. With `prepare_only`,
    `python -m otherwords.training OUT` trains later, where only torch, transformers and numpy are needed.
    """
    read, given = read_recipe(recipe, objective, **overrides)
    refuse_overwriting(
        out, recipe, *(file for names in (read.data, read.valid, read.without) for file in files_of(names))
    )
    folder, origin = Path(out), _origin(read, given)
    fresh = not is_prepared(folder)
    if not fresh:
        _refuse_other(folder, origin)
        settings = TrainingSettings.of(given)
        change_settings(folder, **{name: getattr(settings, name) for name in _WHERE})
    else:
        _refuse_occupied(folder)
        if not prepare_only:
            _refuse_unloadable(given)
        _prepare(folder, read, given, origin)
    counts = json.loads((folder / DATA / COUNTS).read_text(encoding="utf-8"))
    before = is_trained(folder)
    try:
        return TrainingResult(folder, counts, None if prepare_only else train_prepared(folder), before)
    except OtherwordsError:
        if fresh and not (has_checkpoint(folder) or is_trained(folder)):  # refused: the folder would be in the way
            shutil.rmtree(folder)
        raise


def _prepare(folder: Path, recipe: Recipe, given: dict[str, Any], origin: dict[str, Any]) -> None:
    data, place = collect_rows(recipe, given["objective"]), folder / DATA
    settings = _checked_settings(data, given)
    sentences = [(row.texts[0], row.texts[1]) for row in data.train] if recipe.recombine else []
    pairs = recombine(sentences, recipe.recombine, recipe.data_seed) if sentences else []
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in data.left_out)
    write_text(place / LEFT_OUT, lines.encode("utf-8", "backslashreplace").decode())
    counts: dict[str, Any] = {"train": len(data.train), "recombined": len(pairs), "valid": len(data.valid)}
    if settings.objective == "nli":
        counts["labels"] = {label: sum(row.label == label for row in data.train) for label in data.task.labels}
    write_json(place / COUNTS, {**counts, "left_out": dict(sorted((+data.reasons).items()))})
    write_json(place / ORIGIN, origin)
    train = [_line(row) for row in data.train] + [[*pair, None] for pair in pairs]
    prepare(folder, settings, train, [_line(row) for row in data.valid])


def _line(row: TrainingRow) -> list[str | None]:
    return [*row.texts, row.label] if len(row.texts) > 1 else [*row.texts]


def _checked_settings(data: TrainingData, given: Mapping[str, Any]) -> TrainingSettings:
    """The settings with the labels of the task; data that cannot be trained on is an error."""
    if given["objective"] != "nli":
        return TrainingSettings.of(given)
    task, labels = data.task, {row.label for row in data.train}
    if len(task.fields) != 2:
        fix = "train on pairs: nli, rte, or a task file with two fields"
        raise BadInput(f"{task.name} has {len(task.fields)} texts per problem", field="task", fix=fix)
    if len(labels) < 2:
        fix = f"give data with at least two of {', '.join(task.labels)}"
        raise BadInput(f"all rows have the label {labels.pop()!r}", field="data", fix=fix)
    return TrainingSettings.of({**given, "labels": task.labels})


def _origin(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the result: the recipe, the settings, and the content of the data."""
    named = {"data": recipe.data, "without": recipe.without, "valid": recipe.valid}
    content = {
        f"the content of {part}": Source(names, recipe.task, recipe.columns, recipe.labels).signature[0]
        for part, names in named.items()
        if isinstance(names, list) and names
    }
    settings = TrainingSettings.of(given).as_dict()
    for name in ("labels", *_WHERE):
        del settings[name]
    origin: dict[str, Any] = json.loads(json.dumps({**recipe.model_dump(), **settings, **content}))
    return origin


def _refuse_other(folder: Path, origin: dict[str, Any]) -> None:
    path = folder / DATA / ORIGIN
    there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings = prepared_settings(folder).as_dict()  # its labels are the task's; a recipe's labels are a map
    there |= {name: value for name, value in settings.items() if name in origin and name != "labels"}
    differing = [name for name in origin if there.get(name) != origin[name]]
    if differing:
        changes = (f"{name} is {_shown(there.get(name))} there, {_shown(origin[name])} now" for name in differing)
        raise BadInput(
            f"contains another training: {'; '.join(changes)}",
            where=str(folder),
            fix="choose another folder, or delete it",
        )


def _refuse_occupied(folder: Path) -> None:
    """Refuse a folder with another model, perhaps the start itself: it would look like a finished training."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", where=str(folder), fix="choose another folder with -o")
    begun = (folder / DATA / LEFT_OUT).exists() or not any((folder / DATA).glob("*"))  # it is written first
    if folder.is_dir() and (others := sorted(path.name for path in folder.iterdir() if path.name != DATA or not begun)):
        fix = "choose a new folder with -o"
        raise BadInput(f"is not a training folder: it contains {', '.join(others[:3])}", where=str(folder), fix=fix)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:48]} … {text[-48:]}"


def _refuse_unloadable(given: Mapping[str, Any]) -> None:
    """Find the models and the device before minutes of preparing data."""
    from ..inference.hf_folders import find
    from ..inference.torch_device import choose_device

    require_torch()
    for name in (given["start"], *given.get("teachers", ())):
        find(name)
    choose_device(given.get("device", "auto"), given["start"])
