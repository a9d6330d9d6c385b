"""A training made ready: a folder with all it needs, which any machine with torch and transformers can carry out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..storage.files import alone, write_json
from .examples import read, write
from .finetuning import finetune
from .settings import Settings
from .teaching import taught

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
    with alone(folder, data / ".lock"):
        train = read(data / _TRAIN, settings.labels)
        valid = read(data / _VALID, settings.labels) if (data / _VALID).stat().st_size else None
        if settings.teachers:
            train = taught(settings, train, data / _TAUGHT)
        return finetune(settings, train, valid, folder)
