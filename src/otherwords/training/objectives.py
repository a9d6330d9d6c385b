"""What a model is trained on, what for, and from where it starts.

There are examples, two objectives (labels of problems, or masked words), and the model with its tokenizer and device.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.hf_folders import (
    CLASSIFIER,
    MASKED_LM,
    MULTIPLE_CHOICE,
    Folder,
    find,
    load_fast_tokenizer,
    load_start,
    quietly,
)
from ..inference.joining import JOIN_KEY, Join, default_join, options_of
from ..inference.limits import known_tokens, positions
from ..inference.tokens import Ints, Tokens, pad_rows, row_encoder, text_encoder
from ..inference.torch_device import choose_device, require_torch
from ..problem import Task
from ..storage.files import disk_errors
from .heads import StartHead, begin_choice, begin_labels
from .settings import TrainingSettings

#: What a training is called where its packages are missing, their extra, and what it needs beside torch.
NEEDED = ("training", "train", "transformers")
#: The label number of a row without a label: only teachers label it.
UNLABELLED = -1
#: Of the tokens to predict: replaced by the mask, replaced by a random token, and the rest unchanged (Devlin et al.).
MASKED, SWAPPED = 0.8, 0.1
_IGNORED = -100
#: The names of the dropout rate in the configurations of encoders.
_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


@dataclass(frozen=True)
class Examples:
    """Texts, their second texts where there are any, label numbers, and the teachers' probabilities.

    In a choice each problem has as many texts in a row as there are `options`.
    """

    firsts: Sequence[str]
    seconds: Sequence[str] | None = None
    labels: npt.NDArray[np.int64] | None = None
    teacher: npt.NDArray[np.float32] | None = None
    options: int = 1

    def __len__(self) -> int:
        return len(self.firsts) // self.options

    def rows(self) -> list[tuple[str, ...]]:
        """The one text or the two of each example; in a choice, of each option."""
        sides = (self.firsts,) if self.seconds is None else (self.firsts, self.seconds)
        return list(zip(*sides, strict=True))


def write_examples(path: Path, rows: Iterable[Sequence[str | None]]) -> int:
    """Write rows `[text]` or `[text of each field ..., label or null]` as JSON lines; return how many."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(list(row), ensure_ascii=False) + "\n")
            count += 1
    return count


def read_examples(path: Path, settings: TrainingSettings, labels: Sequence[str] = ()) -> Examples:
    """Read what `write_examples` wrote, and join the fields as the settings say; `labels` if not the settings'."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        raise BadInput("has no examples", where=str(path))
    if settings.objective == "masked-lm":
        return Examples([row[0] for row in rows])
    task, known = task_of(settings), labels or settings.labels
    if wrong := next((row for row in rows if len(row) != len(task.fields) + 1), None):
        fix = f"prepare it again: a row has {', '.join(task.fields)} and a label"
        raise BadInput(f"has a row of {len(wrong)} texts", where=str(path), fix=fix)
    number = {label: i for i, label in enumerate(known)} | {None: UNLABELLED}
    if unknown := {str(row[-1]) for row in rows if row[-1] not in number}:
        raise BadInput(f"has the labels {', '.join(sorted(unknown))}", where=str(path), fix=f"use the labels {known}")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(task.fields)}
    options = options_of(task)
    sides = [list(side) for side in zip(*join_of(settings).rows(columns, options), strict=True)]
    codes = np.array([number[row[-1]] for row in rows], np.int64)
    return Examples(sides[0], sides[1] if len(sides) > 1 else None, codes, options=len(options) or 1)


def task_of(settings: TrainingSettings) -> Task:
    """The task of a training, with the fields that the model is shown."""
    return Task("the training", settings.fields, settings.labels)


def join_of(settings: TrainingSettings) -> Join:
    """How the fields of a training become texts."""
    return Join.read(settings.join) if settings.join else default_join(task_of(settings))


@dataclass(frozen=True)
class TextLabels:
    """Predict labels of texts, or choose between texts; of the loss, `teacher_share` is that of the teachers' answers.

    `merged` has, for each label that is learnt, the number of the label that the examples have for it, where theirs are
    fewer: the best label is found first and merged then, as `models.model` does when it answers. Rows are padded on the
    `left` for a model that reads the last token.
    """

    tokens: Tokens
    examples: Examples
    pad: int
    teacher_share: float = 1.0
    merged: tuple[int, ...] = ()
    left: bool = False

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each example; in a choice, of its longest option."""
        return np.asarray(self.tokens.lengths.reshape(-1, self.examples.options).max(axis=1))

    def batch(self, rows: Ints, random: np.random.Generator) -> dict[str, Any]:
        """The inputs of some rows, and their targets."""
        each = self.examples.options
        inputs = _inputs(self.tokens, (rows[:, None] * each + np.arange(each)).ravel(), self.pad, self.left)
        if each > 1:
            inputs = {name: value.reshape(len(rows), each, -1) for name, value in inputs.items()}
        assert self.examples.labels is not None
        inputs["labels"] = self.examples.labels[rows]
        if self.examples.teacher is not None:
            inputs["teacher"] = self.examples.teacher[rows]
        return inputs

    def weight(self, inputs: dict[str, Any]) -> int:
        """How many losses a batch adds up: one per row that has a label or a teacher."""
        return len(inputs["labels"]) if "teacher" in inputs else int((inputs["labels"] != UNLABELLED).sum())

    def loss(self, model: Any, inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The summed losses of all rows, the number of right labels, and the number of labels."""
        import torch

        labels, teacher = inputs.pop("labels"), inputs.pop("teacher", None)
        logits = model(**inputs).logits.float()
        known = labels != UNLABELLED
        if self.merged:
            return self._merged_loss(logits, labels, known)
        loss = torch.nn.functional.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction="none")
        if teacher is not None:
            soft = torch.nn.functional.cross_entropy(logits, teacher, reduction="none")
            share = torch.where(known, self.teacher_share, 1.0)  # a row without a label has only the teachers
            loss = share * soft + (1 - share) * loss
        return loss.sum(), ((logits.argmax(dim=1) == labels) & known).sum(), known.sum()

    def _merged_loss(self, logits: Any, labels: Any, known: Any) -> tuple[Any, Any, Any]:
        """The same where several labels mean one of the data's: probabilities add up, the best own label is merged."""
        import torch

        to = torch.tensor(self.merged, device=logits.device)
        means = (to[None, :] == labels[:, None]) & known[:, None]
        p = torch.where(means, torch.softmax(logits, dim=1), 0.0).sum(dim=1)
        loss = torch.where(known, -torch.log(p.clamp_min(torch.finfo(p.dtype).tiny)), 0.0)
        return loss.sum(), ((to[logits.argmax(dim=1)] == labels) & known).sum(), known.sum()


@dataclass(frozen=True)
class MaskedWords:
    """Predict masked tokens: new ones are drawn in every epoch, the same ones in every validation."""

    tokens: Tokens
    pad: int
    mask: int
    special: tuple[int, ...]
    vocabulary: int
    share: float = 0.15

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each sentence."""
        return self.tokens.lengths

    def batch(self, rows: Ints, random: np.random.Generator) -> dict[str, Any]:
        """The inputs of some rows with tokens masked, and which tokens these were."""
        inputs = _inputs(self.tokens, rows, self.pad)
        ids = inputs["input_ids"]
        eligible = (inputs["attention_mask"] == 1) & ~np.isin(ids, self.special)
        draw = np.where(eligible, random.random(ids.shape), 2.0)
        chosen = draw < self.share
        chosen[np.arange(len(ids)), draw.argmin(axis=1)] = True  # at least one a row,
        chosen &= eligible  # unless it has none to mask
        inputs["labels"] = np.where(chosen, ids, _IGNORED)
        how = random.random(ids.shape)
        others = random.integers(0, self.vocabulary, ids.shape)
        shown = np.where(how < MASKED, self.mask, np.where(how < MASKED + SWAPPED, others, ids))
        inputs["input_ids"] = np.where(chosen, shown, ids)
        return inputs

    def weight(self, inputs: dict[str, Any]) -> int:
        """How many losses a batch adds up: one per token to predict."""
        return int((inputs["labels"] != _IGNORED).sum())

    def loss(self, model: Any, inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The summed losses of all masked tokens, the number of right predictions, and the number of masked tokens."""
        import torch

        labels = inputs.pop("labels")
        chosen = labels != _IGNORED
        logits, right = model(**inputs).logits[chosen].float(), labels[chosen]
        loss = torch.nn.functional.cross_entropy(logits, right, reduction="sum")
        return loss, (logits.argmax(dim=1) == right).sum(), chosen.sum()


def _inputs(tokens: Tokens, rows: Ints, pad: int, left: bool = False) -> dict[str, Any]:
    batch = pad_rows(tokens, rows, pad)
    mask = np.ones_like(batch.ids) if batch.mask is None else batch.mask
    types = {} if batch.types is None else {"token_type_ids": batch.types}
    inputs = {"input_ids": batch.ids, "attention_mask": mask, **types}
    if not left or batch.mask is None:
        return inputs
    padding = mask.shape[1] - mask.sum(axis=1, keepdims=True)
    place = (np.arange(mask.shape[1]) - padding) % mask.shape[1]  # what stood on the right comes first
    return {name: np.take_along_axis(value, place, axis=1) for name, value in inputs.items()}


# The model that a training starts from: its weights, tokenizer and device


@dataclass(frozen=True)
class StartModel:
    """A model with its tokenizer, its device and its precision, and what became of the head that it came with.

    Rows are padded with the token `pad`.
    """

    model: Any
    tokenizer: Any
    device: str
    autocast: Callable[[], Any]
    head: StartHead
    pad: int

    def objective(
        self, examples: Examples, settings: TrainingSettings, merged: Sequence[int] = ()
    ) -> TextLabels | MaskedWords:
        """Tokenize examples for the objective of the training; `merged` as TextLabels has it."""
        from tokenizers import Tokenizer

        own = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str())  # a length limit set here is not saved
        types = "token_type_ids" in self.tokenizer.model_input_names
        length = min(settings.max_length, positions(self.model) or settings.max_length)
        if settings.objective == "nli":
            tokens = row_encoder(own, length, types=types)(examples.rows())
            left = self.tokenizer.padding_side == "left"  # XLNet: the last token is read, and must not be padding
            return TextLabels(tokens, examples, self.pad, settings.taught, tuple(merged), left)
        tokens = text_encoder(own, length, types=types)(examples.firsts)
        special, words = tuple(self.tokenizer.all_special_ids), len(self.tokenizer)
        return MaskedWords(tokens, self.pad, self.tokenizer.mask_token_id, special, words, settings.masked)

    def send(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Copy the inputs of a batch to the device of the model."""
        import torch

        here = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs.items()}
        if not self.device.startswith("cuda"):
            return {name: value.to(self.device) for name, value in here.items()}
        return {name: value.pin_memory().to(self.device, non_blocking=True) for name, value in here.items()}  # gpu only

    def save(self, model: Any, folder: Path) -> None:
        """Save model and tokenizer with `save_pretrained`."""
        with quietly(), disk_errors(folder):
            model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        for weights in folder.glob("*.safetensors"):  # safetensors makes them readable by their owner only
            weights.chmod((folder / "config.json").stat().st_mode)


def load_start_model(settings: TrainingSettings) -> StartModel:
    """Load the encoder that a training starts from, with a new head where it has none for the objective."""
    require_torch(*NEEDED)
    folder = find(settings.start)
    tokenizer = load_fast_tokenizer(folder)
    if settings.objective == "masked-lm" and tokenizer.mask_token_id is None:
        raise BadInput("its tokenizer has no mask token", where=folder.who, fix="start from a masked-LM's encoder")
    device, autocast = _device(settings, folder.who)
    dropout = _dropout(settings, folder)
    model, head = _load(settings, folder, dropout)
    return StartModel(model, tokenizer, device, autocast, head, _pad(model, tokenizer, folder.who))


def _load(settings: TrainingSettings, folder: Folder, dropout: dict[str, float]) -> tuple[Any, StartHead]:
    if settings.objective == "masked-lm":
        model, new = load_start(folder, MASKED_LM, **dropout)
        return model, StartHead("new" if new else "matched")
    names = dict(enumerate(settings.labels))
    labels = {"num_labels": len(names), "id2label": names, "label2id": {v: k for k, v in names.items()}}
    if options_of(task_of(settings)):
        model, new = load_start(folder, MULTIPLE_CHOICE, **labels, **dropout)
        head = begin_choice(folder, new, settings.start_labels or {})
    else:
        model, _ = load_start(folder, CLASSIFIER, **labels, **dropout)
        head = begin_labels(folder, model, settings.labels, settings.start_labels or {})
    setattr(model.config, JOIN_KEY, str(join_of(settings)))
    return model, head


def _pad(model: Any, tokenizer: Any, who: str) -> int:
    """The padding token that the model knows: decoders read the last one before it. One that knows none learns it."""
    config = model.config.get_text_config()
    if getattr(config, "pad_token_id", None) is None:
        if tokenizer.pad_token_id is None:
            fix = "save its tokenizer with one: tokenizer.pad_token = tokenizer.eos_token"
            raise BadInput("has no padding token", where=who, fix=fix)
        config.pad_token_id = tokenizer.pad_token_id
    pad: int = config.pad_token_id
    return pad if 0 <= pad < (known_tokens(model) or pad + 1) else tokenizer.pad_token_id or 0


def _device(settings: TrainingSettings, who: str) -> tuple[str, Callable[[], Any]]:
    """The device and the precision: by default bf16 on a GPU, where it costs nothing, and fp32 elsewhere."""
    import torch

    place = choose_device(settings.device, who)
    exact = settings.precision == "fp32" or (settings.precision == "auto" and place.type == "cpu")
    return str(place), lambda: nullcontext() if exact else torch.autocast(place.type, dtype=torch.bfloat16)


def _dropout(settings: TrainingSettings, folder: Folder) -> dict[str, float]:
    """The dropout rate under the names that this encoder has for it."""
    if settings.dropout < 0:
        return {}
    config = json.loads((folder.path / "config.json").read_text(encoding="utf-8"))
    names = [name for name in _DROPOUTS if name in config]
    if not names:
        fix = f"leave it out (known names are {', '.join(_DROPOUTS)})"
        raise BadInput("has no dropout in config.json", where=folder.who, field="dropout", fix=fix)
    return dict.fromkeys(names, settings.dropout)
