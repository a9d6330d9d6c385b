"""Encoders of the Hugging Face ecosystem as trainers: for the labels of a task, or for masked words.

Their options are the settings of a training, which `settings` describes once.
"""

import inspect
from dataclasses import MISSING, field, fields, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import BadInput
from ..inference.joining import Join, default_join, options_of, shown_task
from ..inference.tokens import clean
from ..registry import trainers
from .data import TrainingData, TrainingRow
from .objectives import NEEDED
from .prepared import change_settings, is_prepared, prepare, train_prepared
from .settings import TrainingSettings

#: Not options: the trainer decides the objective, the data labels and fields, and the seed is every trainer's.
_IMPLIED = ("objective", "labels", "fields", "merged", "seed")
#: No options of a masked-LM: it has neither labels nor pairs of texts.
_OF_LABELS = ("teachers", "taught", "join", "start_labels")
#: They decide where and in which portions a training is computed, not what is learnt; `start` is signed by its content.
_UNSIGNED = ("start", "device", "accumulate")


class FineTuning:
    """What both trainers do: settings are checked when they are made; data is written first, then trained from."""

    answers_as: ClassVar[str] = "hf"
    objective: ClassVar[str] = "nli"
    start: str
    join: str
    device: str
    teachers = ()

    def __post_init__(self) -> None:
        self.settings()

    def settings(self, **implied: Any) -> TrainingSettings:
        """All settings of a training, with those that are no options."""
        given = {name: value for name, value in vars(self).items() if name not in _IMPLIED}
        return TrainingSettings.of({**given, "objective": self.objective, **implied})

    @property
    def identity(self) -> str:
        """The name and the content of the model to start from; of one that is not here, the name."""
        from ..inference.hf_folders import find

        try:
            return find(self.start).identity if Path(self.start).expanduser().is_dir() else self.start
        except BadInput:
            return Path(self.start).name

    def refuse_unready(self) -> None:
        """Find the packages, the models and the device before minutes of reading data."""
        from ..inference.hf_folders import find
        from ..inference.torch_device import choose_device, require_torch

        require_torch(*NEEDED)
        for name in (self.start, *self.teachers):
            find(name)
        choose_device(self.device, self.start)

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Train, or resume what was prepared before."""
        if not is_prepared(folder):
            self.prepare(data, folder, seed)
        return self.carry_out(folder)

    def prepare(self, data: TrainingData, folder: Path, seed: int) -> None:
        """Write the examples and the settings: all that a machine with a GPU needs."""
        settings = self._settings_for(data, seed)
        prepare(folder, settings, map(_line, data.train), map(_line, data.valid))

    def carry_out(self, folder: Path) -> dict[str, float]:
        """Train what was prepared, where and in which portions these options say."""
        change_settings(folder, **{name: getattr(self, name) for name in ("device", "accumulate")})
        return train_prepared(folder)

    def _settings_for(self, data: TrainingData, seed: int) -> TrainingSettings:
        """The settings with fields and labels of the data, and how the fields are joined."""
        if self.objective != "nli":
            return self.settings(seed=seed)
        task = shown_task(data.task, data.fields)
        join = Join.read(self.join) if self.join else default_join(task)
        join.refuse_other(task, "")
        if self.teachers and options_of(task):
            fix = "leave them out: they label texts, and this task chooses between them"
            raise BadInput(f"are not supported for {data.task.name}", field="teachers", fix=fix)
        shown = {"fields": data.fields, "labels": data.task.labels, "merged": data.merged}
        return self.settings(seed=seed, join=str(join), **shown)


def _line(row: TrainingRow) -> list[str | None]:
    """A sentence of a masked-LM by itself, else texts and label; without what no tokenizer can read."""
    texts = [clean(text) for text in row.texts]
    return [*texts] if row.label is None and len(texts) == 1 else [*texts, row.label]


def _made(name: str, about: str, objective: str, *left_out: str) -> Any:
    """A trainer whose options are the settings, but for those that are implied or make no sense for it."""
    settings = [one for one in fields(TrainingSettings) if one.default_factory is MISSING]
    chosen = [one for one in settings if one.name not in (*_IMPLIED, *left_out)]
    options = [(one.name, one.type, field(default=one.default)) for one in chosen]
    more = (inspect.getdoc(TrainingSettings) or "").partition("\n")[2]
    own = {"__module__": __name__, "__doc__": f"{about}\n{more}", "objective": objective}
    own |= {} if objective == "nli" else {"answers_as": ""}
    return make_dataclass(name, options, bases=(FineTuning,), frozen=True, namespace=own)


Encoder = trainers("encoder.v1", unsigned=_UNSIGNED, extra="train", example="encoder(start=encoder)")(
    _made("Encoder", "Fine-tune an encoder of the Hugging Face hub, or of a folder, for a task.", "nli", "masked")
)
#: It answers no problems: `vary` uses it, as `masked-lm(models=hf:FOLDER)`.
MaskedLM = trainers("masked-lm.v1", unsigned=_UNSIGNED, extra="train", example="masked-lm(start=encoder)")(
    _made("MaskedLM", "Fine-tune an encoder to guess masked words.", "masked-lm", *_OF_LABELS)
)
