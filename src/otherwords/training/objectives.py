"""What a model is trained for: the label of a pair of texts, or the words that were masked in a text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.tokens import Ints, Tokens, pad_rows

# MERGED from training.examples: What is trained on: texts or pairs of texts, each with a label, a teacher's probabilities, or both.

#: The label of a row that has none: only a teacher says what it is.
UNLABELLED = -1


@dataclass(frozen=True)
class Examples:
    """Texts, their second texts (none for a masked-LM), label numbers, and a teacher's probabilities where it spoke."""

    firsts: Sequence[str]
    seconds: Sequence[str] | None = None
    labels: npt.NDArray[np.int64] | None = None
    taught: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def with_teacher(self, probabilities: npt.NDArray[np.float32]) -> Examples:
        """The same, with what a teacher says of each."""
        return replace(self, taught=probabilities)


def read(path: Path, labels: Sequence[str]) -> Examples:
    """Read what `write` wrote."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        raise BadInput("holds no examples", where=str(path))
    if len(rows[0]) == 1:
        return Examples([row[0] for row in rows])
    number = {label: i for i, label in enumerate(labels)} | {None: UNLABELLED}
    if strangers := {str(row[2]) for row in rows if row[2] not in number}:
        raise BadInput(f"has the labels {', '.join(sorted(strangers))}", where=str(path), fix=f"name all in {labels}")
    codes = np.array([number[row[2]] for row in rows], np.int64)
    return Examples([row[0] for row in rows], [row[1] for row in rows], codes)


def write(path: Path, rows: Iterable[Sequence[str | None]]) -> int:
    """Write rows `[text]` or `[first, second, label or null]` as JSON lines; say how many."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(list(row), ensure_ascii=False) + "\n")
            count += 1
    return count


# MERGED from training.objectives: What a model is trained for: the label of a pair of texts, or the words that were masked in a text.

#: Of the tokens to be guessed: shown as the mask, shown as some other token, and the rest as they are (Devlin et al.).
MASKED, SWAPPED = 0.8, 0.1
_IGNORED = -100


@dataclass(frozen=True)
class PairLabels:
    """Say the label of a pair; with a teacher, say it with the teacher's probabilities."""

    tokens: Tokens
    examples: Examples
    pad: int
    taught: float = 1.0

    def batch(self, rows: Ints, random: np.random.Generator) -> dict[str, Any]:
        """The inputs of some rows, and what is right for them."""
        inputs = _inputs(self.tokens, rows, self.pad)
        assert self.examples.labels is not None
        inputs["labels"] = self.examples.labels[rows]
        if self.examples.taught is not None:
            inputs["taught"] = self.examples.taught[rows]
        return inputs

    def weight(self, inputs: dict[str, Any]) -> int:
        """How many losses a batch adds up: one a row that has a label or a teacher."""
        return len(inputs["labels"]) if "taught" in inputs else int((inputs["labels"] != UNLABELLED).sum())

    def loss(self, model: Any, inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The losses of all rows added up, how many labels are right, and how many there were."""
        import torch

        labels, taught = inputs.pop("labels"), inputs.pop("taught", None)
        logits = model(**inputs).logits.float()
        known = labels != UNLABELLED
        hard = torch.nn.functional.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction="none")
        if taught is not None:
            soft = torch.nn.functional.cross_entropy(logits, taught, reduction="none")
            share = torch.where(known, self.taught, 1.0)  # a row without a label has the teacher's word alone
            hard = share * soft + (1 - share) * hard
        return hard.sum(), ((logits.argmax(dim=1) == labels) & known).sum(), known.sum()


@dataclass(frozen=True)
class MaskedWords:
    """Guess masked tokens; other ones are masked in every epoch, the same ones in every validation."""

    tokens: Tokens
    pad: int
    mask: int
    special: tuple[int, ...]
    vocabulary: int
    share: float = 0.15

    def batch(self, rows: Ints, random: np.random.Generator) -> dict[str, Any]:
        """The inputs of some rows with tokens masked, and which these were."""
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
        """How many losses a batch adds up: one a token to be guessed."""
        return int((inputs["labels"] != _IGNORED).sum())

    def loss(self, model: Any, inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The losses of all masked tokens added up, how many are guessed right, and how many there were."""
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
