"""What sequence-pair classifiers share: texts of a problem, label names, probabilities."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import BadInput
from ..inference.scheduling import Scheduler
from ..inference.tokens import clean
from ..problem import Batch, Task
from .model import Floats, Reply


def reply(scheduler: Scheduler, labels: tuple[str, ...], where: str, batch: Batch) -> Reply:
    """Answer with a classifier's scheduler: a row of probabilities for each problem, and which were truncated."""
    texts = pairs(batch)
    if not texts:
        return Reply(np.empty((0, len(labels))), np.empty(0, np.bool_))
    (logits,), cut = scheduler(texts)
    return Reply(probabilities(logits, labels, where), cut)


def pairs(batch: Batch) -> list[tuple[str, str]]:
    """Every problem as two texts: its two fields; of more fields, the last target is the second text.

    >>> task = Task("two-premise", fields=("first", "second", "hypothesis"), labels=("yes", "no"))
    >>> pairs(Batch(task, {"first": ["It rains."], "second": ["I am out."], "hypothesis": ["I am wet."]}))
    [('It rains. I am out.', 'I am wet.')]
    """
    refuse_other_tasks(batch.task)
    second = batch.task.fields[-1] if len(batch.task.fields) == 2 else batch.task.targets[-1]
    before = [batch[name] for name in batch.task.fields if name != second]
    firsts = (" ".join(text for text in texts if text) for texts in zip(*before, strict=True))
    return [(clean(a), clean(b)) for a, b in zip(firsts, batch[second], strict=True)]


def refuse_other_tasks(task: Task) -> None:
    """Raise where a problem cannot be put as two texts: one field only, or a choice between fields."""
    if len(task.fields) < 2:
        reason = f"has only the field {task.fields[0]}; a sequence-pair classifier needs two texts"
    elif set(task.labels) <= set(task.fields):
        reason = f"chooses between the fields {', '.join(task.labels)}; a sequence-pair classifier cannot do that"
    else:
        return
    raise BadInput(reason, where=f"task {task.name}", fix="use a Python function: python:module:function")


def label_names(id2label: Any, where: str) -> tuple[str, ...]:
    """The model's label names in the order of its outputs, from the `id2label` of its config."""
    fix = 'give it "id2label": {"0": "entailment", "1": "neutral", ...}, in the order of the outputs'
    if not isinstance(id2label, Mapping) or not id2label:
        raise BadInput("has no label names", where=where, field="id2label", fix=fix)
    by_number = {str(number): str(name) for number, name in id2label.items()}
    if set(by_number) != {str(number) for number in range(len(by_number))}:
        raise BadInput(f"numbers its labels {', '.join(by_number)}", where=where, field="id2label", fix=fix)
    if len(by_number) == 1:
        message = "has one output: a score, not a label"
        raise BadInput(message, where=where, field="id2label", fix="use a model with one output per label")
    return tuple(by_number[str(number)] for number in range(len(by_number)))


def probabilities(logits: Any, labels: tuple[str, ...], where: str) -> Floats:
    """Softmax in float64, each row by itself, after a check that there is one column per label."""
    raw = np.asarray(logits, dtype=np.float64)
    if raw.ndim != 2 or raw.shape[1] != len(labels):
        message = f"the outputs have the shape {raw.shape}, but id2label names {len(labels)}"
        raise BadInput(
            f"{message}: {', '.join(labels)}", where=where, fix="correct id2label in config.json to one name per output"
        )
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
