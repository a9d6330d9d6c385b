"""Training examples, and the two things a model is trained for: the label of a pair of texts, or masked words."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.tokens import Ints, Tokens, pad_rows

#: The label number of a row without a label: only teachers label it.
UNLABELLED = -1
#: Of the tokens to predict: replaced by the mask, replaced by a random token, and the rest unchanged (Devlin et al.).
MASKED, SWAPPED = 0.8, 0.1
_IGNORED = -100


@dataclass(frozen=True)
class Examples:
    """Texts, their second texts (none for a masked-LM), label numbers, and the teachers' probabilities."""

    firsts: Sequence[str]
    seconds: Sequence[str] | None = None
    labels: npt.NDArray[np.int64] | None = None
    teacher: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.firsts)


def write_examples(path: Path, rows: Iterable[Sequence[str | None]]) -> int:
    """Write rows `[text]` or `[first, second, label or null]` as JSON lines; return how many."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(list(row), ensure_ascii=False) + "\n")
            count += 1
    return count


def read_examples(path: Path, labels: Sequence[str]) -> Examples:
    """Read what `write_examples` wrote."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        raise BadInput("has no examples", where=str(path))
    if len(rows[0]) == 1:
        return Examples([row[0] for row in rows])
    number = {label: i for i, label in enumerate(labels)} | {None: UNLABELLED}
    if unknown := {str(row[2]) for row in rows if row[2] not in number}:
        raise BadInput(f"has the labels {', '.join(sorted(unknown))}", where=str(path), fix=f"use the labels {labels}")
    codes = np.array([number[row[2]] for row in rows], np.int64)
    return Examples([row[0] for row in rows], [row[1] for row in rows], codes)


@dataclass(frozen=True)
class PairLabels:
    """Predict the label of a pair; with teachers, their probabilities make up `teacher_share` of the loss."""

    tokens: Tokens
    examples: Examples
    pad: int
    teacher_share: float = 1.0

    def batch(self, rows: Ints, random: np.random.Generator) -> dict[str, Any]:
        """The inputs of some rows, and their targets."""
        inputs = _inputs(self.tokens, rows, self.pad)
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
        loss = torch.nn.functional.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction="none")
        if teacher is not None:
            soft = torch.nn.functional.cross_entropy(logits, teacher, reduction="none")
            share = torch.where(known, self.teacher_share, 1.0)  # a row without a label has only the teachers
            loss = share * soft + (1 - share) * loss
        return loss.sum(), ((logits.argmax(dim=1) == labels) & known).sum(), known.sum()


@dataclass(frozen=True)
class MaskedWords:
    """Predict masked tokens: new ones are drawn in every epoch, the same ones in every validation."""

    tokens: Tokens
    pad: int
    mask: int
    special: tuple[int, ...]
    vocabulary: int
    share: float = 0.15

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


def _inputs(tokens: Tokens, rows: Ints, pad: int) -> dict[str, Any]:
    batch = pad_rows(tokens, rows, pad)
    mask = np.ones_like(batch.ids) if batch.mask is None else batch.mask
    types = {} if batch.types is None else {"token_type_ids": batch.types}
    return {"input_ids": batch.ids, "attention_mask": mask, **types}
