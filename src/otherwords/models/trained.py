"""Folders that `otherwords train` wrote, whatever the trainer: `trained:FOLDER` answers as the folder says it does."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadInput, OtherwordsError
from ..problem import Batch, Task, get_task
from ..registry import models
from ..storage.files import digest, fingerprint
from .model import Model, as_model

#: Written last: a folder that has it is trained. Until then the other one says which training it holds.
TRAINED, TRAINING = "trained.json", "training.json"


@dataclass(frozen=True)
class Trained:
    """What a trained folder says of itself: by whom it answers, for which task, which fields it was shown."""

    folder: Path
    trainer: str
    answers_as: str
    task: Task
    fields: tuple[str, ...]
    labels: tuple[str, ...]
    seed: int
    rows: dict[str, int]
    figures: dict[str, float]

    def texts(self, batch: Batch) -> list[Sequence[str]]:
        """The columns of a batch that the model was trained on, in the order of training."""
        self.refuse_other(batch.task)
        return [batch[name] for name in self.fields]

    def refuse_other(self, task: Task | None) -> None:
        """Refuse problems with other texts than those of the task that was trained."""
        if task is not None and {*task.fields} != {*self.task.fields}:
            found = f"was trained for {self.task.name} ({', '.join(self.task.fields)}), not for {task.name}"
            fix = f"ask it problems of that task, or train a model for {task.name} ({', '.join(task.fields)})"
            raise BadInput(f"{found} ({', '.join(task.fields)})", where=str(self.folder), field="task", fix=fix)

    def identity(self, *files: str) -> str:
        """What decides the answers: the content of the named files of the folder, the fields and the labels."""
        content = [fingerprint(self.folder / name) for name in files]
        return digest(content, self.fields, self.labels)[:16]


def read_trained(folder: str | Path) -> Trained:
    """Read what a trained folder says of itself; a folder without a finished training is refused."""
    place = Path(folder).expanduser()
    path = place / TRAINED
    if not path.is_file():
        raise _untrained(place)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        values: dict[str, Any] = {name: found[name] for name in ("trainer", "answers_as", "seed", "rows", "figures")}
        values |= {name: tuple(found[name]) for name in ("fields", "labels")}
        return _consistent(Trained(folder=place, task=get_task(found["task"]), **values))
    except (ValueError, TypeError, KeyError, RecursionError, OtherwordsError) as error:
        message = f"cannot be read: {type(error).__name__}: {error}"
        raise BadInput(message, where=str(path), fix="train the model again, in another folder") from error


def _consistent(trained: Trained) -> Trained:
    """Refuse what no training writes: other fields or labels than the task's, or nothing that answers."""
    if not isinstance(trained.answers_as, str) or trained.answers_as in ("", "trained"):
        raise ValueError(f"answers_as is {trained.answers_as!r}")
    if not trained.fields or not {*trained.fields} <= {*trained.task.fields}:
        raise ValueError(f"fields are {', '.join(map(str, trained.fields)) or 'missing'}")
    if trained.labels != trained.task.labels:
        raise ValueError(f"labels are {', '.join(map(str, trained.labels)) or 'missing'}")
    return trained


@models("trained.v1", unsigned=("path", "task"))
def trained(path: Path, task: Any = None) -> Model:
    """Ask the model in a folder that `otherwords train` wrote, whatever its trainer.

    The folder's trained.json says which model plug-in answers (`hf`, `boosted`, ...); use that one to set its options.
    """
    found = read_trained(path)
    found.refuse_other(task)
    first = next(iter(models.get(found.answers_as).options()))
    bound = models.make(f"{found.answers_as}({first}={json.dumps(str(found.folder))})", task=task)
    content = re.sub(r"#[^#]*@", "#", bound.signature.replace(" ", ""))  # a folder by its content, not by its name
    return replace(as_model(bound.function), identity=content)


def _untrained(folder: Path) -> BadInput:
    where, fix = str(folder), "train one: otherwords train TRAINER --data FILE -o FOLDER"
    if not folder.is_dir():
        return BadInput("no such folder", where=where, fix=fix)
    if (folder / TRAINING).is_file():
        return BadInput("its training is not finished", where=where, fix="run the same training again to resume it")
    return BadInput(f"is not a trained folder: it has no {TRAINED}", where=where, fix=fix)
