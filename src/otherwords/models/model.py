"""A model as the answer stage sees it: its labels are translated to the task's, its answers checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, WrongAnswer, shorten
from ..problem import TOLERANCE, Batch, Task, label_key

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reply:
    """What a model's function may return instead of bare labels or probabilities: these, and which texts it `cut`.

    `cut` has a flag for each problem, or is None where the model does not say.
    """

    answers: Any
    cut: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Model:
    """What a model's factory may return instead of a bare function, to say more about itself.

    `function` takes a Batch and returns one label per problem, or one row of probabilities per problem with a column
    for each of `labels` (by default the task's). `identity` distinguishes two contents of the same name. The answers
    of a model that is not `batch_invariant` may depend on the rest of the batch; manifest and report say so. A model
    that reads no more than `max_length` tokens truncates the rest, and says so in a Reply; `positions` is the most
    that it can read. It is given `batch_size` problems at a time, and their answers are stored at once.
    """

    function: Callable[[Batch], Any]
    labels: tuple[str, ...] = ()
    identity: str = ""
    batch_invariant: bool = True
    batch_size: int = 64
    max_length: int = 0
    positions: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise BadInput(f"found {self.batch_size}", field="batch_size", fix="give 1 or more")

    def __call__(self, batch: Batch) -> Any:
        """Answer a batch."""
        return self.function(batch)


@dataclass(frozen=True)
class Predictions:
    """Checked answers to a batch: a label's position for each problem and, if the model gives them, probabilities.

    `cut` says which problems were truncated, if the model says so.
    """

    pred: npt.NDArray[np.int64]
    p: Floats | None
    cut: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.pred)


@dataclass(frozen=True)
class Answerer:
    """A model made ready for one task."""

    name: str
    signature: str
    model: Model
    task: Task
    label_map: Mapping[str, str] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        """The task's label for each of the model's own labels; several may have the same."""
        own = self.model.labels or self.task.labels
        return tuple(self._translate(label) for label in own)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The model's possible labels and their meaning; the user's map overrides equal names."""
        known = {label_key(name): name for name in self.task.labels}
        return known | {label_key(label): target for label, target in self.label_map.items()}

    def _translate(self, label: str) -> str:
        target = self._names.get(label_key(label))
        if target not in self.task.labels:
            own = ", ".join(self.model.labels or self.task.labels)
            example = ",".join(f"{name}=..." for name in (self.model.labels or self.task.labels))
            raise BadInput(
                f"{self.name}: cannot map label {label!r} ({own}) to {self.task.name} ({', '.join(self.task.labels)})",
                fix=f"map its labels: --label-map {example}",
            )
        return target

    def __call__(self, batch: Batch) -> Predictions:
        """Answer a batch, and refuse what is not one valid answer per problem."""
        raw = self.model(batch)
        if isinstance(raw, Reply):
            return replace(self._checked(raw.answers, batch), cut=self._flags(raw.cut, len(batch)))
        return self._checked(raw, batch)

    def _checked(self, raw: Any, batch: Batch) -> Predictions:
        if raw is None:
            raise WrongAnswer(f"{self.name} returned None; return labels or rows of probabilities")
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "UO":
            raw = raw.tolist()  # labels, as scikit-learn gives them
        if isinstance(raw, (list, tuple)) and raw and isinstance(raw[0], str):
            return self._from_labels(raw, len(batch))
        return self._from_probabilities(raw, batch)

    def _from_labels(self, raw: Sequence[str], count: int) -> Predictions:
        self._count(len(raw), count)
        place = {name: i for i, name in enumerate(self.task.labels)}
        return Predictions(np.array([place[self._translate(label)] for label in raw], dtype=np.int64), None)

    def _from_probabilities(self, raw: Any, batch: Batch) -> Predictions:
        try:
            given = np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise WrongAnswer(f"{self.name} returned {shorten(raw)}; return labels or rows of probabilities") from error
        targets = self.targets
        self._count(len(given) if given.ndim else 0, len(batch))
        if given.ndim != 2 or given.shape[1] != len(targets):
            own = ", ".join(self.model.labels or self.task.labels)
            raise WrongAnswer(
                f"{self.name} returned shape {given.shape} for {len(batch)} problems; use a column for each of {own}"
            )
        wrong = ~(np.abs(given.sum(axis=1) - 1) <= TOLERANCE) | ~((given >= 0) & (given <= 1 + TOLERANCE)).all(axis=1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            text = shorten(dict(batch[row].text), 200)
            raise WrongAnswer(
                f"{self.name} returned {[float(value) for value in given[row]]} for {text}; "
                "probabilities must be numbers from 0 to 1 that sum to one (apply softmax to logits first)"
            )
        place = np.array([self.task.labels.index(target) for target in targets])
        merged = np.zeros((len(given), len(self.task.labels)))
        for column, target in enumerate(place):
            merged[:, target] += given[:, column]
        return Predictions(place[given.argmax(axis=1)], merged)  # argmax first, then merge: as the PaRTE paper does

    def _flags(self, raw: Any, count: int) -> npt.NDArray[np.bool_] | None:
        if raw is None:
            return None
        flags = np.asarray(raw)
        if flags.shape != (count,) or (count and flags.dtype != np.bool_):
            found = f"{self.name} returned flags of shape {flags.shape} and type {flags.dtype} as cut"
            raise WrongAnswer(f"{found}; use True or False for each of {count} problems, or None")
        return flags.astype(np.bool_)

    def _count(self, found: int, wanted: int) -> None:
        if found != wanted:
            raise WrongAnswer(f"{self.name} returned {found} answers for {wanted} problems; return one per problem")


def as_model(function: Any) -> Model:
    """Accept a bare function from a factory."""
    return function if isinstance(function, Model) else Model(function)


def label_map_suffix(label_map: Mapping[str, str]) -> str:
    """A label map as signatures show it.

    >>> label_map_suffix({"yes": "entailment", "no": "neutral"})
    '[no=neutral,yes=entailment]'
    """
    return f"[{','.join(f'{label}={target}' for label, target in sorted(label_map.items()))}]" if label_map else ""
