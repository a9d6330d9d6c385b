"""The public double: a model that says what it is told, for examples, tests and dry runs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from ..datasets.records import json_lines
from ..errors import BadInput, WrongAnswer
from ..problem import Batch, Task
from ..registry import models
from ..storage.files import seed_for
from .model import Floats, Model


@models("scripted.v1", unsigned=("delay", "log", "batch_size"))
def scripted(
    script: Path = Path(),
    otherwise: str = "any",
    seed: int = 0,
    delay: float = 0.0,
    log: str = "",
    batch_size: int = 64,
) -> Model:
    """Give scripted answers by text, and a fixed label, or any by the text's hash, to the rest.

    `script` is a JSONL file: the task's fields and either `pred` or a `p:<label>` for every label. `otherwise` is a
    label, "any" (a pseudo-random answer that depends on the text and `seed` only) or "fail". `log` collects every text
    that was really asked, one JSON line each; `delay` is the seconds a batch takes.
    """
    rows = [(record.where, record.row) for record in json_lines(script)] if script != Path() else []
    book: dict[tuple[str, ...], Floats] = {}

    def answer(batch: Batch) -> Floats:
        task = batch.task
        if rows and not book:
            book.update(
                {tuple(str(row.get(name, "")) for name in task.fields): _read(row, task, where) for where, row in rows}
            )
        texts = list(zip(*(batch[name] for name in task.fields), strict=True))
        if log:
            with Path(log).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
        time.sleep(delay)
        return np.stack([_improvise(text, task, otherwise, seed) if text not in book else book[text] for text in texts])

    return Model(answer, batch_size=batch_size)


def _read(row: dict[str, object], task: Task, where: str) -> Floats:
    if f"p:{task.labels[0]}" in row:
        return np.array([row.get(f"p:{label}", 0.0) for label in task.labels], dtype=np.float64)
    if row.get("pred") not in task.labels:
        raise BadInput(
            f"found {row.get('pred')!r}",
            where=where,
            field="pred",
            fix=f"use one of {', '.join(task.labels)}",
        )
    return np.array([float(label == row["pred"]) for label in task.labels])


def _improvise(text: tuple[str, ...], task: Task, otherwise: str, seed: int) -> Floats:
    if otherwise == "any":
        weights = np.array([1 + seed_for(seed, label, *text) % 1000 for label in task.labels], dtype=np.float64)
        return np.asarray(weights / weights.sum())
    if otherwise not in task.labels:
        known = ", ".join(task.labels)
        raise WrongAnswer(f"the script has no answer to {text}; add one, or set otherwise to any, {known}")
    return np.array([float(label == otherwise) for label in task.labels])
