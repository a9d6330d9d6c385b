"""`otherwords train`: from a recipe to a trained folder, whatever the trainer; or resume an earlier training.

`fit` is the part without a recipe: rows in, a folder that answers as an ordinary model out.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..datasets.source import Source, files_of
from ..errors import BadInput, Busy, OtherwordsError, setting
from ..inference.joining import options_of
from ..models.trained import TRAINED, TRAINING, read_trained
from ..problem import Task
from ..registry import Bound, models
from ..storage.files import digest, lock_folder, refuse_overwriting, write_json, write_text
from ..storage.user_code import guarded
from .data import TrainingData, TrainingRow, collect_rows, recombine
from .history import has_checkpoint, is_trained
from .prepared import DATA, LOCK, is_prepared, prepared_settings
from .recipe import Recipe, read_recipe
from .trainer import Preparing, begin, finish, read_json, refuse_differing

#: Files next to the examples: the recipe they come from, their numbers, and the rows left out.
ORIGIN, COUNTS, LEFT_OUT = "origin.json", "counts.json", "left-out.jsonl"
#: A search for a recipe's options, in the folder of its model; and what became of a trial, in the folder of each.
SEARCH, TRIAL = "search", "trial.json"
#: The digest of a file's content in a signature.
_CONTENT = re.compile(r"[#@]([0-9a-f]{12})\b")


@dataclass(frozen=True)
class TrainingResult:
    """The folder, the counts of rows, the validation figures of the model, and whether it was trained `before`."""

    folder: Path
    counts: dict[str, Any]
    figures: dict[str, float] | None = None
    before: bool = False


# Rows in, a trained folder out


def fit(trainer: Bound, data: TrainingData, folder: str | Path, seed: int = 1) -> dict[str, float]:
    """Train on rows, so that `trained:FOLDER` answers; return the figures of the validation.

    A folder where the same was begun is resumed, a finished one is not trained again, and another training in it is
    refused.
    """
    place = Path(folder)
    refuse_untrainable(trainer, data, seed)
    if not (place / TRAINED).is_file():
        refuse_unready(trainer)
    if (known := begin(place, describe_training(trainer, data, seed))) is not None:
        return known
    with _own_code(trainer):
        figures = trainer.function.fit(data, place, seed)
    finished = finish(place, figures)
    if trainer.plugin.source:
        _refuse_silent(trainer, place, data.task)
    return finished


def _refuse_silent(trainer: Bound, folder: Path, task: Task) -> None:
    """Refuse a model that cannot be loaded, as that of a user's trainer which wrote none, or another one's files."""
    try:
        models.make(f"trained(path={json.dumps(str(folder))})", task=task)
    except OtherwordsError as error:
        (folder / TRAINED).unlink()
        fix = f"write what {trainer.function.answers_as} reads into the folder"
        raise BadInput(f"its model cannot be loaded: {error}", where=trainer.plugin.full_name, fix=fix) from error


def describe_training(trainer: Bound, data: TrainingData, seed: int) -> dict[str, Any]:
    """What decides a training: what its folder says of itself before there are figures."""
    decisive = [data.train, data.valid, data.merged] if data.merged else [data.train, data.valid]
    return {
        "trainer": trainer.signature,
        "answers_as": trainer.function.answers_as,
        "task": asdict(data.task),
        "fields": list(data.fields),
        "labels": list(data.task.labels),
        "seed": seed,
        "rows": {"train": len(data.train), "valid": len(data.valid)},
        "data": digest(decisive)[:16],
    }


def refuse_untrainable(trainer: Bound, data: TrainingData, seed: int) -> None:
    """Refuse rows that nothing can be learnt from, before any work."""
    if not trainer.function.answers_as:
        fix = "choose another trainer: otherwords list trainers"
        raise BadInput(f"{trainer.name} makes no model that answers problems", field="trainer", fix=fix)
    if not 0 <= seed < 2**63:
        raise BadInput(f"found {seed}", field="seed", fix="give a number from 0 to 2**63 - 1")
    if not data.train:
        raise BadInput("no rows to train on", field="data", fix="give more data")
    labels = {row.label for row in data.train}
    if None in labels and not getattr(trainer.function, "teachers", ()):
        raise BadInput("a row to train on has no label", where=trainer.name, field="data", fix="give labelled rows")
    known = labels - {None}
    if len(known) < 2 and None not in labels:
        fix = f"give data with at least two of {', '.join(data.task.labels)}"
        raise BadInput(f"all rows have the label {next(iter(known))!r}", field="data", fix=fix)
    used = known | ({row.label for row in data.valid} - {*data.merged.values()})
    if unknown := sorted(str(label) for label in used if label not in (*data.task.labels, None)):
        fix = f"{data.task.name} has {', '.join(data.task.labels)}"
        raise BadInput(f"found the label {unknown[0]!r}", field="data", fix=fix)


def refuse_unready(trainer: Bound) -> None:
    """Refuse what a trainer cannot do here: an extra that is not installed, a model or a GPU that is not there."""
    if check := getattr(trainer.function, "refuse_unready", None):
        with _own_code(trainer):
            check()


@contextmanager
def _own_code(trainer: Bound) -> Iterator[None]:
    with guarded(trainer.plugin.full_name) if trainer.plugin.source else nullcontext():
        yield


# A recipe in, a trained folder out


def train(
    recipe: str | Path | Mapping[str, Any],
    trainer: str = "encoder",
    *,
    out: str | Path,
    prepare_only: bool = False,
    **overrides: Any,
) -> TrainingResult:
    """Train what a recipe describes, and write the model to `out`, where `trained:OUT` finds it.

    `trainer` is one of `otherwords list trainers`, or masked-lm. A folder with the same, unfinished training is
    resumed; one with another training is an error. With `prepare_only`, `python -m otherwords.training OUT` trains
    later, where only torch, transformers and numpy are needed.
    """
    read, bound = read_recipe(recipe, trainer, **overrides)
    if prepare_only and not isinstance(bound.function, Preparing):
        fix = "leave it out: only encoders are prepared here and trained elsewhere"
        name = setting("--prepare", "prepare_only")
        raise BadInput(f"{bound.name} cannot be prepared", field=name, fix=fix)
    refuse_overwriting(out, recipe, *files_read(read))
    return train_recipe(read, bound, Path(out), prepare_only=prepare_only)


def train_recipe(
    recipe: Recipe, trainer: Bound, folder: Path, *, prepare_only: bool = False, finished: Path | None = None
) -> TrainingResult:
    """The same of a recipe that was read; `finished` is a folder where a search has trained just this."""
    origin, fresh, made = _origin(recipe, trainer), not _is_begun(folder, trainer), not folder.exists()
    if not fresh:
        _refuse_other(folder, origin, trainer)
        _refuse_other_content(folder, trainer)
    else:
        _refuse_occupied(folder)
        if not (prepare_only or finished):
            refuse_unready(trainer)
    before = _is_finished(folder, trainer)
    try:
        if fresh:
            with _held(folder):  # a second process must not prepare the same, nor clear it away
                _prepare(folder, recipe, trainer, origin)
        if finished and not before:
            _adopt(folder, finished)
        if (counts := read_json(folder / DATA / COUNTS)) is None:
            raise BadInput("has no counts of its rows", where=str(folder), fix="delete the folder, and train again")
        return TrainingResult(folder, counts, None if prepare_only else _carry_out(folder, recipe, trainer), before)
    except OtherwordsError as error:
        in_use = isinstance(error, Busy) or has_checkpoint(folder) or _is_finished(folder, trainer)
        if fresh and not (finished or in_use):
            shutil.rmtree(folder, ignore_errors=True)  # refused: it would be in the way
            if not made:
                folder.mkdir(exist_ok=True)  # it was there before
        raise


def _held(folder: Path) -> AbstractContextManager[None]:
    """One process at a time: the lock lies among the data, where `train_prepared` looks for it, too."""
    (folder / DATA).mkdir(parents=True, exist_ok=True)
    return lock_folder(folder, folder / DATA / LOCK)


def files_read(recipe: Recipe) -> list[Any]:
    """The files that a recipe names: none of them may be written over."""
    return [file for names in (recipe.data, recipe.valid, recipe.without) for file in files_of(names)]


def _adopt(folder: Path, trained: Path) -> None:
    """Take over the model of a finished training of the same, which a search has made."""
    for path in trained.iterdir():
        if path.is_dir() and path.name != DATA:
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
        elif path.is_file() and path.name not in (TRAINED, TRIAL):
            shutil.copyfile(path, folder / path.name)
    shutil.copyfile(trained / TRAINED, folder / TRAINED)  # it says that all is there
    (folder / TRAINING).unlink(missing_ok=True)


def _prepare(folder: Path, recipe: Recipe, trainer: Bound, origin: dict[str, Any]) -> None:
    """Write what the recipe's data are, and, of a trainer that prepares, the data themselves."""
    data, place = collect(recipe, trainer), folder / DATA
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in data.left_out)
    counted = [row.label for row in data.train if row.label is not None]
    recombined = len(data.train) - len(counted) if recipe.recombine else 0
    counts: dict[str, Any] = {
        "train": len(data.train) - recombined, "recombined": recombined, "valid": len(data.valid)
    }  # fmt: skip
    if counted:
        counts["labels"] = {label: counted.count(label) for label in data.task.labels}
    write_text(place / LEFT_OUT, lines.encode("utf-8", "backslashreplace").decode())
    write_json(place / COUNTS, {**counts, "left_out": dict(sorted((+data.reasons).items()))})
    write_json(place / ORIGIN, origin)
    if isinstance(trainer.function, Preparing):
        if trainer.function.answers_as:
            begin(folder, describe_training(trainer, data, recipe.seed))
        trainer.function.prepare(data, folder, recipe.seed)


def _carry_out(folder: Path, recipe: Recipe, trainer: Bound) -> dict[str, float]:
    if isinstance(trainer.function, Preparing):
        if not trainer.function.answers_as:
            return trainer.function.carry_out(folder)
        if not any((folder / name).is_file() for name in (TRAINED, TRAINING)):  # an earlier version prepared it
            begin(folder, describe_training(trainer, collect(recipe, trainer), recipe.seed))
        if _is_finished(folder, trainer):
            return read_trained(folder).figures
        return finish(folder, trainer.function.carry_out(folder))
    if _is_finished(folder, trainer):
        return read_trained(folder).figures
    with _held(folder):
        return fit(trainer, collect(recipe, trainer), folder, recipe.seed)


def collect(recipe: Recipe, trainer: Bound) -> TrainingData:
    """The rows of the recipe, and those that it recombines for teachers."""
    if not trainer.function.answers_as:
        return collect_rows(recipe, "masked-lm")
    data = collect_rows(recipe)
    refuse_untrainable(trainer, data, recipe.seed)
    if recipe.recombine and (len(data.fields) != 2 or options_of(data.task)):
        message = f"{data.task.name} shows {', '.join(data.fields)}, and only pairs are recombined"
        raise BadInput(message, field="recombine", fix="leave it out")
    if recipe.recombine:
        pairs = recombine([(row.texts[0], row.texts[1]) for row in data.train], recipe.recombine, recipe.data_seed)
        data.train += [TrainingRow(pair) for pair in pairs]
    return data


def _is_begun(folder: Path, trainer: Bound) -> bool:
    """Whether a folder holds a training whose data were all written: of each kind, the file that comes last."""
    return is_prepared(folder) if isinstance(trainer.function, Preparing) else (folder / DATA / ORIGIN).is_file()


def _is_finished(folder: Path, trainer: Bound) -> bool:
    return (folder / TRAINED).is_file() if trainer.function.answers_as else is_trained(folder)


def _origin(recipe: Recipe, trainer: Bound) -> dict[str, Any]:
    """Everything that decides the result: the recipe, the trainer's options, and the content of the data."""
    named = {"data": recipe.data, "without": recipe.without, "valid": recipe.valid}
    asked: dict[str, Any] = {"valid": (recipe.valid_task, recipe.columns, {})} if recipe.valid_task else {}
    usual = (recipe.task, recipe.columns, recipe.labels)
    content = {
        f"the content of {part}": Source(names, *asked.get(part, usual)).signature[0]
        for part, names in named.items()
        if isinstance(names, list) and names
    }
    options = {name: getattr(trainer.function, name) for name in trainer.plugin.options()}
    kept = {name: value for name, value in options.items() if name == "start" or name not in trainer.plugin.unsigned}
    origin: dict[str, Any] = json.loads(
        json.dumps({"trainer": trainer.plugin.full_name, **recipe.model_dump(), **kept, **content}, default=str)
    )
    return origin


def refuse_other_data(folder: Path, recipe: Recipe, trainer: Bound) -> None:
    """Refuse a folder with a training of another recipe, whatever its trainer's options are, which a search changes."""
    options, origin = trainer.plugin.options(), _origin(recipe, trainer)
    _refuse_other(folder, {name: value for name, value in origin.items() if name not in options}, trainer)


def _refuse_other(folder: Path, origin: dict[str, Any], trainer: Bound) -> None:
    there = read_json(folder / DATA / ORIGIN) or {}
    if there:  # what an earlier version did not know is as it is by default
        usual = {name: one.default for name, one in Recipe.model_fields.items()} | trainer.plugin.options()
        usual = {"trainer": trainer.plugin.full_name, **usual}
        there = {name: json.loads(json.dumps(usual[name], default=str)) for name in origin if name in usual} | there
    if is_prepared(folder):  # changed by hand; of a recipe, labels are a map, fields and join may be left open
        settings, other = prepared_settings(folder).as_dict(), ("labels", "fields", "join")
        there |= {name: value for name, value in settings.items() if name in origin and name not in other}
    refuse_differing(folder, there, origin)


def _refuse_other_content(folder: Path, trainer: Bound) -> None:
    """Refuse where a file, a start or code that the trainer is made of is another one now, under the same name."""
    found = read_json(folder / TRAINED) or read_json(folder / TRAINING) or {}
    there, now = (_CONTENT.findall(signature) for signature in (str(found.get("trainer", "")), trainer.signature))
    if len(there) == len(now) and there != now:
        digests = f"is {', '.join(there)} there, {', '.join(now)} now"
        message = f"contains another training: the content of what {trainer.plugin.full_name} reads {digests}"
        raise BadInput(message, where=str(folder), fix="choose another folder, or delete it")


def _refuse_occupied(folder: Path) -> None:
    """Refuse a folder with another model, perhaps the start itself: it would look like a finished training."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", where=str(folder), fix="choose another folder with -o")
    written = [path for path in (folder / DATA).glob("*") if path.name != LOCK]
    begun = (folder / DATA / LEFT_OUT).exists() or not written  # it is written first
    ours = {TRAINING, SEARCH} if begun else set()
    others = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if others := [name for name in others if name not in ours and not (name == DATA and begun)]:
        fix = "choose a new folder with -o"
        raise BadInput(f"is not a training folder: it contains {', '.join(others[:3])}", where=str(folder), fix=fix)
