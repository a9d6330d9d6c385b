"""A training made ready: a folder with all it needs, which any machine with torch and transformers can carry out."""

from __future__ import annotations

import json
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
from .objectives import Examples, read, write
from .settings import Settings

# MERGED from training.teaching: What teachers say of the examples: the mean of their probabilities, kept, since asking again would cost the same.


def taught(settings: Settings, examples: Examples, kept: Path) -> Examples:
    """Ask all teachers about all examples, unless the answers are in the file `kept`."""
    if kept.is_file():
        return examples.with_teacher(np.load(kept, allow_pickle=False))
    total = np.zeros((len(examples), len(settings.labels)))
    for name in settings.teachers:
        total += _answers(name, settings, examples)
    mean = (total / len(settings.teachers)).astype(np.float32)
    draft = kept.with_suffix(".part.npy")
    np.save(draft, mean, allow_pickle=False)
    draft.replace(kept)
    return examples.with_teacher(mean)


def _answers(name: str, settings: Settings, examples: Examples) -> npt.NDArray[np.float64]:
    task = Task("pairs", fields=("first", "second"), labels=settings.labels)
    model = hf(name, max_length=settings.max_length, device=settings.device)
    if {label_key(label) for label in model.labels} != {label_key(label) for label in settings.labels}:
        message = f"answers {', '.join(model.labels)}; the training is for {', '.join(settings.labels)}"
        raise BadInput(message, where=f"teacher {name}", fix="name teachers for the same labels (id2label)")
    teacher = Answerer(name, name, model, task)
    assert examples.seconds is not None
    # By length, so that every portion fills its batches with rows alike.
    order = sorted(range(len(examples)), key=lambda i: len(examples.firsts[i]) + len(examples.seconds[i]))  # type: ignore[index]
    found = np.zeros((len(examples), len(settings.labels)))
    current().start(f"teacher {Path(name).name}", len(examples))
    for start in range(0, len(order), model.batch_size):
        rows = order[start : start + model.batch_size]
        columns = {"first": [examples.firsts[i] for i in rows], "second": [examples.seconds[i] for i in rows]}
        found[rows] = teacher(Batch(task, columns)).p
        current().advance(len(rows))
    current().done()
    return found


# MERGED from training.prepared: A training made ready: a folder with all it needs, which any machine with torch and transformers can carry out.

DATA, _SETTINGS, _TRAIN, _VALID, _TAUGHT = "data", "settings.json", "train.jsonl", "valid.jsonl", "taught.npy"
Lines = Iterable[Sequence[str | None]]


def prepare(folder: Path, settings: Settings, train: Lines, valid: Lines) -> tuple[int, int]:
    """Write settings and examples into a folder, the settings last; say how many examples there are of each."""
    data = folder / DATA
    data.mkdir(parents=True, exist_ok=True)
    counts = write(data / _TRAIN, train), write(data / _VALID, valid)
    write_json(data / _SETTINGS, settings.as_dict())
    return counts


def is_prepared(folder: Path) -> bool:
    """Whether a folder holds a training."""
    return (folder / DATA / _SETTINGS).is_file()


def prepared_settings(folder: Path) -> Settings:
    """The settings that a training was prepared with."""
    path = folder / DATA / _SETTINGS
    if not path.is_file():
        raise BadInput("holds no training", where=str(folder), fix="prepare one with otherwords train ... --prepare")
    return Settings.of(json.loads(path.read_text(encoding="utf-8")), str(path))


def change(folder: Path, **values: Any) -> None:
    """Change settings that decide where and in which portions a training is computed, not what is learnt."""
    before = prepared_settings(folder)
    if (now := replace(before, **values)) != before:
        write_json(folder / DATA / _SETTINGS, now.as_dict())


def carry_out(folder: Path) -> dict[str, float]:
    """Train what was prepared, or go on with it; return the validation figures of the model that is kept."""
    settings, data = prepared_settings(folder), folder / DATA
    with lock_folder(folder, data / ".lock"):
        train = read(data / _TRAIN, settings.labels)
        valid = read(data / _VALID, settings.labels) if (data / _VALID).stat().st_size else None
        if settings.teachers:
            train = taught(settings, train, data / _TAUGHT)
        return finetune(settings, train, valid, folder)
