"""A fake for examples, tests and dry runs: a model that returns answers from a script."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.records import Record, json_lines
from ..errors import BadInput, WrongAnswer, shorten
from ..problem import Batch, Task
from ..registry import models
from ..storage.files import seed_for
from .model import Model
from .predictions import Floats


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
    if delay < 0:
        raise BadInput(f"found {delay}", where="scripted", field="delay", fix="give 0 or more")
    rows = [_row(record) for record in json_lines(script)] if script != Path() else []
    book: dict[tuple[str, ...], Floats] = {}

    def answer(batch: Batch) -> Floats:
        task = batch.task
        if rows and not book:
            book.update({_texts(row, task, where): _read(row, task, where) for where, row in rows})
        texts = list(zip(*(batch[name] for name in task.fields), strict=True))
        if log:
            with Path(log).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
        if delay:
            time.sleep(delay)
        if not book and otherwise in task.labels:
            return np.tile(_certain(otherwise, task), (len(texts), 1))
        return np.stack([_improvise(text, task, otherwise, seed) if text not in book else book[text] for text in texts])

    return Model(answer, batch_size=batch_size, light=True, ways=())


def _row(record: Record) -> tuple[str, dict[str, Any]]:
    if record.error:
        raise BadInput(record.error, where=record.where)
    return record.where, record.row


def _texts(row: dict[str, Any], task: Task, where: str) -> tuple[str, ...]:
    texts = {name: row.get(name) for name in task.fields}
    texts |= {name: "" for name in task.optional if texts[name] is None}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        fix = f"a row of the script has {', '.join(task.fields)}"
        raise BadInput(f"found {shorten(texts[wrong[0]])}", where=where, field=wrong[0], fix=fix)
    return tuple(map(str, texts.values()))


def _read(row: dict[str, Any], task: Task, where: str) -> Floats:
    if given := [name for name in row if name.startswith("p:")]:
        wanted = [f"p:{label}" for label in task.labels]
        values = [row.get(name) for name in wanted]
        if set(given) != set(wanted) or not all(isinstance(value, (int, float)) for value in values):
            found = f"found {shorten({name: row[name] for name in given})}"
            raise BadInput(found, where=where, field="p:", fix=f"give a number for each of {', '.join(wanted)}")
        return np.array(values, dtype=np.float64)
    if row.get("pred") not in task.labels:
        raise BadInput(
            f"found {row.get('pred')!r}", where=where, field="pred", fix=f"use one of {', '.join(task.labels)}"
        )
    return _certain(row["pred"], task)


def _improvise(text: tuple[str, ...], task: Task, otherwise: str, seed: int) -> Floats:
    if otherwise == "any":
        weights = np.array([1 + seed_for(seed, label, *text) % 1000 for label in task.labels], dtype=np.float64)
        return np.asarray(weights / weights.sum())
    if otherwise not in task.labels:
        known = ", ".join(task.labels)
        raise WrongAnswer(f"the script has no answer to {text}; add one, or set otherwise to any, {known}")
    return _certain(otherwise, task)


def _certain(answer: str, task: Task) -> Floats:
    return np.array([float(label == answer) for label in task.labels])
