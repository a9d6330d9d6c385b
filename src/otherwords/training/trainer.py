"""A trainer, and what every training writes about itself: which one a folder holds, and that it is finished.

A trainer is a frozen dataclass whose fields are its options. This module needs numpy and the standard library alone: a
bare GPU machine finishes a training, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..models.trained import TRAINED, TRAINING
from ..storage.files import write_json
from .history import START

if TYPE_CHECKING:
    from ..models.predictions import Floats
    from .data import TrainingData, TrainingRow


class Trainer(Protocol):
    """Learns from rows, and writes what the model plug-in `answers_as` needs into a folder.

    Model plug-ins of trained folders read fields and labels with `models.trained.read_trained(folder)`. The same data,
    options and seed give the same bytes.
    """

    answers_as: ClassVar[str]

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Learn, write the model, and return its figures: `valid_accuracy`, `valid_loss`, where there is validation."""


@runtime_checkable
class Preparing(Protocol):
    """A trainer that writes all it needs first: the rest may be done later, elsewhere, or after an interruption."""

    answers_as: ClassVar[str]

    def prepare(self, data: TrainingData, folder: Path, seed: int) -> None:
        """Write the data and the settings."""

    def carry_out(self, folder: Path) -> dict[str, float]:
        """Train what was prepared, or resume it."""


def begin(folder: Path, header: Mapping[str, Any]) -> dict[str, float] | None:
    """Note which training a folder holds; return its figures if it is finished. Another training is refused."""
    found = read_json(folder / TRAINED) or read_json(folder / TRAINING)
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / TRAINING, header)
        return None
    refuse_differing(folder, found, json.loads(json.dumps(header)))
    figures: dict[str, float] | None = found.get("figures")
    return figures


def refuse_differing(folder: Path, there: Mapping[str, Any], now: Mapping[str, Any], what: str = "training") -> None:
    """Refuse a folder that says something else of itself than what is wanted now; name all that differs."""
    if differing := [name for name in now if there.get(name) != now[name]]:
        changes = (f"{name} is {shown(there.get(name))} there, {shown(now[name])} now" for name in differing)
        fix = "choose another folder, or delete it"
        raise BadInput(f"contains another {what}: {'; '.join(changes)}", where=str(folder), fix=fix)


def finish(folder: Path, figures: Mapping[str, float]) -> dict[str, float]:
    """Mark the training of a folder as finished, with its figures, which must be finite numbers."""
    if (header := read_json(folder / TRAINING)) is None:
        raise BadInput(f"its {TRAINING} is gone", where=str(folder), fix="leave it there while the model is trained")
    refuse_wrong_figures(figures, str(header["trainer"]), with_validation=bool(header["rows"]["valid"]))
    head = {"head": started} if (started := read_json(folder / START)) else {}  # an encoder's: new, matched or replaced
    plain = {str(name): value if type(value) is int else float(value) for name, value in figures.items()}
    write_json(folder / TRAINED, {**header, **head, "figures": plain})
    (folder / TRAINING).unlink()
    return plain


def finish_if_begun(folder: Path, figures: dict[str, float]) -> dict[str, float]:
    """The same where a model for problems was begun, and is not finished yet."""
    return finish(folder, figures) if (folder / TRAINING).is_file() else figures


def refuse_wrong_figures(figures: Any, trainer: str, *, with_validation: bool) -> None:
    """Refuse NaN, infinity and what is no number; with validation rows there must be a validation accuracy."""
    if not isinstance(figures, Mapping):
        raise BadInput(f"fit returned {figures!r}", where=trainer, fix="return a dict of figures, by name")
    fix = "change its options (a smaller learning rate, a larger penalty), or look for odd rows in the data"
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise BadInput(f"training failed: {name} is {value!r}", where=trainer, field=str(name), fix=fix)
    accuracy = figures.get("valid_accuracy")
    if with_validation and (accuracy is None or not 0 <= accuracy <= 1):
        fix = "return the share of right answers to the validation rows as valid_accuracy"
        raise BadInput(f"its valid_accuracy is {accuracy}", where=trainer, fix=fix)


def validation_figures(p: Floats, gold: Sequence[int]) -> dict[str, float]:
    """The accuracy and the mean negative log-likelihood of probabilities; none without validation rows.

    >>> validation_figures(np.array([[0.5, 0.5], [0.25, 0.75]]), [0, 0])
    {'valid_accuracy': 0.5, 'valid_loss': 1.0397207708399179}
    """
    if not len(gold):
        return {}
    right = p[np.arange(len(gold)), gold]
    loss = -np.log(np.maximum(right, np.finfo(np.float64).tiny))
    return {"valid_accuracy": float((p.argmax(axis=1) == gold).mean()), "valid_loss": float(loss.mean())}


def columns_of(rows: Sequence[TrainingRow], fields: Sequence[str]) -> list[list[str]]:
    """The texts of rows, field by field."""
    return [[row.texts[place] for row in rows] for place in range(len(fields))]


def validated(data: TrainingData, p: Floats) -> dict[str, float]:
    """The same for all validation rows; where these have fewer labels, the best own one is found, then merged."""
    meant = [data.merged.get(label, label) for label in data.task.labels]
    asked = list(dict.fromkeys(meant))
    place = np.array([asked.index(label) for label in meant])
    gold = np.array([asked.index(str(row.label)) for row in data.valid], np.int64)
    figures = validation_figures(p @ np.eye(len(asked))[place], gold.tolist())
    return {**figures, "valid_accuracy": float((place[p.argmax(axis=1)] == gold).mean())} if figures else {}


def refuse_non_finite(weights: npt.NDArray[Any], trainer: str) -> None:
    """Refuse weights with NaN or infinity in them: the model would answer, but mean nothing."""
    if not np.isfinite(weights).all():
        fix = "change its options (a smaller learning rate or penalty), or look for odd rows in the data"
        raise BadInput("training failed: its weights are not finite", where=trainer, fix=fix)


def shown(value: Any) -> str:
    """A value as messages show it, cut in the middle where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:48]} … {text[-48:]}"


def read_json(path: Path) -> dict[str, Any] | None:
    """What a file of a training folder says; None if it is not there, an error where it is damaged."""
    if not path.is_file():
        return None
    try:
        if isinstance(found := json.loads(path.read_text(encoding="utf-8")), dict):
            return found
        raise ValueError(f"found {shown(found)}")
    except ValueError as error:
        raise BadInput(f"cannot be read: {error}", where=str(path), fix="delete the folder, and train again") from error
