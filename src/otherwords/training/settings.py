"""The settings of a training, validated on construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from ..errors import BadInput
from ..inference.joining import Join

OBJECTIVES = ("nli", "masked-lm")
PRECISIONS = ("auto", "bf16", "fp32")


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained. Defaults suit a small encoder on some ten thousand pairs.

    `start` is a Hugging Face name or a folder. `join` says how fields become one text or two (by default as suits the
    task), of at most `max_length` tokens. Where the start is a classifier, `start_labels` says which label of the task
    each of its own means, if they have other names.

    Every example is seen `epochs` times. An update uses `batch` examples, in `accumulate` portions if they do not fit
    at once. `learning_rate` is reached after the share `warmup` of all updates, and falls to zero from there; AdamW has
    this `weight_decay` and `adam_epsilon`, and a gradient longer than `clip` is shortened to it (0: never). `dropout`
    -1 is the encoder's own. `precision` is auto (bf16 on a GPU), bf16 or fp32; `device` auto, cpu, cuda or cuda:N.

    There are `evaluations` validations per epoch; training ends after `patience` of them without a better
    `valid_accuracy` (0: never), and with `checkpoints` each of them leaves its model in `FOLDER/checkpoints`. `merged`
    says what each label means in validation data that has fewer. With `teachers`, the share `taught` of the loss comes
    from their probabilities and the rest from the label of the data, where a row has one. A masked-LM guesses the share
    `masked` of all tokens.
    """

    start: str
    objective: str = "nli"
    labels: tuple[str, ...] = ("entailment", "neutral", "contradiction")
    fields: tuple[str, ...] = ("premise", "hypothesis")
    join: str = ""
    start_labels: dict[str, str] | None = None
    merged: dict[str, str] = field(default_factory=dict)
    seed: int = 1
    epochs: int = 4
    learning_rate: float = 1e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    adam_epsilon: float = 1e-8
    dropout: float = -1.0
    batch: int = 64
    accumulate: int = 1
    max_length: int = 128
    evaluations: int = 1
    patience: int = 0
    checkpoints: bool = False
    clip: float = 1.0
    precision: str = "auto"
    device: str = "auto"
    masked: float = 0.15
    teachers: tuple[str, ...] = ()
    taught: float = 1.0

    def __post_init__(self) -> None:
        for name in ("labels", "fields", "teachers"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.join:
            Join.read(self.join)
        self._choose("objective", OBJECTIVES)
        self._choose("precision", PRECISIONS)
        for name in ("epochs", "batch", "accumulate", "evaluations"):
            self._between(name, 1)
        self._between("max_length", 8)
        if self.seed >= 2**63:
            raise BadInput(f"found {self.seed}", field="seed", fix="give a number below 2**63")
        for name in ("patience", "seed"):
            self._between(name, 0)
        for name in ("warmup", "taught"):
            self._between(name, 0, 1)
        self._between("masked", 0.01, 0.9)
        if self.dropout != -1:
            self._between("dropout", 0, 0.9)
        self._between("learning_rate", 1e-9, 1)
        self._between("weight_decay", 0, 1)
        self._between("adam_epsilon", 1e-16, 1)
        self._between("clip", 0)
        if self.batch % self.accumulate:
            message = f"{self.batch} is not a multiple of accumulate = {self.accumulate}"
            raise BadInput(message, field="batch", fix="give one that is, or other portions")
        if len(set(self.labels)) < 2 and self.objective == "nli":
            raise BadInput(f"found {list(self.labels)}", field="labels", fix="name at least two")

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str = "") -> TrainingSettings:
        """Read settings from a mapping (a recipe's); an error about an unknown name lists those that exist."""
        known = {one.name: one for one in fields(cls)}
        if unknown := sorted(set(given) - set(known)):
            raise BadInput(f"no setting {', '.join(unknown)}", where=where, fix=f"available: {', '.join(known)}")
        if "start" not in given:
            raise BadInput("is missing", where=where, field="start", fix="name a Hugging Face model or a folder")
        for name, value in given.items():
            _refuse_type(name, value, _default(known[name]), where)
        try:
            return cls(**given)
        except BadInput as error:
            raise BadInput(error.message, where=where, field=error.field, fix=error.fix) from None

    def as_dict(self) -> dict[str, Any]:
        """All settings, with defaults, as plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def _choose(self, name: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, name) not in allowed:
            raise BadInput(f"found {getattr(self, name)!r}", field=name, fix=f"give {' or '.join(allowed)}")

    def _between(self, name: str, least: float, most: float = float("inf")) -> None:
        value = getattr(self, name)
        if not least <= value <= most:
            fix = f"give {least:g} or more" if most == float("inf") else f"give {least:g} to {most:g}"
            raise BadInput(f"found {value}", field=name, fix=fix)


#: What is given for a setting of each type, and how an error names it.
_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    tuple: ((list, tuple), "a list of texts"),
    dict: ((dict,), "a table of texts"),
    type(None): ((dict, type(None)), 'a table of texts: {LABEL_0 = "entailment"}'),
}


def _default(setting: Any) -> Any:
    if setting.default_factory is not MISSING:
        return setting.default_factory()
    return "" if setting.default is MISSING else setting.default


def _refuse_type(name: str, value: Any, default: Any, where: str) -> None:
    wanted, kind = _KINDS[type(default)]
    if not isinstance(value, wanted) or isinstance(value, bool) != (wanted == (bool,)) or not _texts(value):
        raise BadInput(f"found {value!r}", where=where, field=name, fix=f"give {kind}")


def _texts(value: Any) -> bool:
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return not isinstance(value, (list, tuple, dict)) or all(isinstance(part, str) for part in parts)
