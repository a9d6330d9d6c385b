"""A prepared training: a folder with all it needs, which any machine with torch and transformers can train from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..models.huggingface import hf
from ..models.model import Answerer
from ..problem import Batch, Task, label_key
from ..progress import current
from ..storage.files import lock_folder, write_json
from .finetuning import finetune
from .objectives import Examples, read_examples, write_examples
from .settings import TrainingSettings
from .trainer import read_json

DATA, LOCK = "data", ".lock"
_SETTINGS, _TRAIN, _VALID, _TEACHERS = "settings.json", "train.jsonl", "valid.jsonl", "taught.npy"
Lines = Iterable[Sequence[str | None]]


def prepare(folder: Path, settings: TrainingSettings, train: Lines, valid: Lines) -> tuple[int, int]:
    """Write settings and examples into a folder, the settings last; return how many examples there are of each."""
    data = folder / DATA
    data.mkdir(parents=True, exist_ok=True)
    counts = write_examples(data / _TRAIN, train), write_examples(data / _VALID, valid)
    write_json(data / _SETTINGS, settings.as_dict())
    return counts


def is_prepared(folder: Path) -> bool:
    """Whether a folder holds a training."""
    return (folder / DATA / _SETTINGS).is_file()


def prepared_settings(folder: Path) -> TrainingSettings:
    """The settings that a training was prepared with."""
    path = folder / DATA / _SETTINGS
    if not path.is_file():
        raise BadInput("contains no training", where=str(folder), fix="prepare one with otherwords train ... --prepare")
    return TrainingSettings.of(read_json(path) or {}, str(path))


def change_settings(folder: Path, **values: Any) -> None:
    """Change settings that decide where and in which portions a training is computed, not what is learnt."""
    before = prepared_settings(folder)
    if (now := replace(before, **values)) != before:
        write_json(folder / DATA / _SETTINGS, now.as_dict())


def train_prepared(folder: Path) -> dict[str, float]:
    """Train what was prepared, or resume it; return the validation figures of the model that is kept."""
    settings, data = prepared_settings(folder), folder / DATA
    with lock_folder(folder, data / LOCK):
        train, asked = read_examples(data / _TRAIN, settings), tuple(dict.fromkeys(settings.merged.values()))
        valid = read_examples(data / _VALID, settings, asked) if (data / _VALID).stat().st_size else None
        if settings.teachers:
            train = label_with_teachers(settings, train, data / _TEACHERS)
        return finetune(settings, train, valid, folder)


def label_with_teachers(settings: TrainingSettings, examples: Examples, path: Path) -> Examples:
    """Add the mean of all teachers' probabilities. It is saved at `path` and read from there the next time."""
    if path.is_file():
        return replace(examples, teacher=np.load(path, allow_pickle=False))
    total = np.zeros((len(examples), len(settings.labels)))
    for name in settings.teachers:
        total += _probabilities(name, settings, examples)
    mean = (total / len(settings.teachers)).astype(np.float32)
    draft = path.with_suffix(".part.npy")
    np.save(draft, mean, allow_pickle=False)
    draft.replace(path)
    return replace(examples, teacher=mean)


def _probabilities(name: str, settings: TrainingSettings, examples: Examples) -> npt.NDArray[np.float64]:
    """What one teacher answers to all examples, whose texts are joined already."""
    fields = ("first",) if examples.seconds is None else ("first", "second")
    task = Task("texts", fields, labels=settings.labels)
    model = hf(name, max_length=settings.max_length, device=settings.device, join=" | ".join(fields))
    if {label_key(label) for label in model.labels} != {label_key(label) for label in settings.labels}:
        message = f"has the labels {', '.join(model.labels)}; the training needs {', '.join(settings.labels)}"
        raise BadInput(message, where=f"teacher {name}", fix="use teachers with the same labels (id2label)")
    teacher = Answerer(name, name, model, task)
    texts = examples.rows()
    # By length, so that every call fills its batches with rows of similar length.
    order = sorted(range(len(examples)), key=lambda i: sum(map(len, texts[i])))
    p = np.zeros((len(examples), len(settings.labels)))
    current().start(f"teacher {Path(name).name}", len(examples))
    for start in range(0, len(order), model.batch_size):
        rows = order[start : start + model.batch_size]
        columns = zip(*(texts[i] for i in rows), strict=True)
        p[rows] = teacher(Batch(task, dict(zip(fields, columns, strict=True)))).p
        current().advance(len(rows))
    current().done()
    return p
