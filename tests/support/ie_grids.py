"""Small IE experiments: data that a bag of words can learn, a transformation that needs no parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from otherwords import registry

LABELS = {"entailment": "yes", "neutral": "perhaps", "contradiction": "never"}
#: A trainer that writes down each fit, and, where a file says so, waits, or ends its process at a fit of that number.
SLOW = """
import os, signal, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from otherwords.registry import trainers

@trainers("slow.v1")
@dataclass(frozen=True)
class Slow:
    '''A bag of words that takes its time.

    `steps` is the number of its steps.
    '''

    answers_as: ClassVar[str] = "bag_of_words"
    steps: int = 5

    def fit(self, data, folder, seed):
        with Path("fits").open("a") as file:
            file.write(f"{folder}\\n")
        if Path("trap").exists() and len(Path("fits").read_text().splitlines()) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        while Path("hold").exists() and len(Path("fits").read_text().splitlines()) > 3:
            time.sleep(0.02)
        bound = trainers.make(f"bag_of_words(steps={self.steps})")
        return bound.function.fit(data, folder, seed)
"""


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the plug-ins that a test loads from files, after it."""
    list(registry.trainers)
    monkeypatch.setattr(registry.trainers, "_plugins", dict(registry.trainers._plugins))
    monkeypatch.setattr(registry, "_plugin_files", {})


def problems(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Three problems to a premise; a rewording opens the contraction."""
    names = list(LABELS)
    return [
        {
            "id": f"p{n}",
            "premise": f"It isn't {n // 3} o'clock{' at all' * (n % 2)}.",
            "hypothesis": f"They're {LABELS[names[n % 3]]} late, say {n % 7}.",
            "label": names[n % 3],
        }
        for n in range(first, first + count)
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def settings(place: Path, **other: Any) -> dict[str, Any]:
    """An experiment of two values of rho and two runs, on files in a folder."""
    train, test = place / "train.jsonl", place / "test.jsonl"
    if not train.exists():
        write_rows(train, problems(60))
        write_rows(test, problems(30, first=300))
    plain: dict[str, Any] = {
        "generator": "contractions(field=premise)",
        "rho": [0.0, 0.5],
        "runs": 2,
        "datasets": {"mine": {"train": str(train), "test": str(test), "valid": 0.2}},
        "models": {"bow": {"trainer": "bag_of_words", "steps": 5}},
    }
    return {**plain, **other}


def as_toml(values: dict[str, Any]) -> str:
    """Settings as a TOML file, tables inline."""

    def spelled(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)} = {spelled(one)}" for key, one in value.items()) + "}"
        return json.dumps(value)

    return "".join(f"{name} = {spelled(value)}\n" for name, value in values.items())


def results_of(folder: Path) -> dict[str, bytes]:
    """All results of an experiment, but for the times."""
    files = (path for path in sorted((folder / "results").rglob("*")) if path.is_file())
    return {path.name: path.read_bytes() for path in files if path.name != "timings.csv"}


def answers_of(folder: Path) -> dict[str, bytes]:
    """All answers of an experiment."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("answers.parquet"))}
