"""What teachers say of the examples: the mean of their probabilities, kept, since asking again would cost the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..models.huggingface import hf
from ..models.model import Answerer
from ..problem import Batch, Task, plain
from ..progress import current
from .examples import Examples
from .settings import Settings


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
    if {plain(label) for label in model.labels} != {plain(label) for label in settings.labels}:
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
