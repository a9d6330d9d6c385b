"""What a model is trained for: the label of a pair of texts, or the words that were masked in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inference.tokens import Ints, Tokens, side_by_side
from .examples import UNLABELLED, Examples

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
    batch = side_by_side(tokens, rows, pad)
    mask = np.ones_like(batch.ids) if batch.mask is None else batch.mask
    types = {} if batch.types is None else {"token_type_ids": batch.types}
    return {"input_ids": batch.ids, "attention_mask": mask, **types}
