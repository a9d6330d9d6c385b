"""How good a model is on the validation examples, which are put in the same way every time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from .objectives import MaskedWords, PairLabels
from .starting import Started

_ROWS = 256


def evaluated(model: Any, valid: PairLabels | MaskedWords, started: Started) -> dict[str, float]:
    """The mean loss, and the share of labels or masked tokens that are right."""
    import torch

    model.eval()
    order, sums = np.argsort(valid.tokens.lengths, kind="stable"), torch.zeros(3, dtype=torch.float64)
    for first in range(0, len(order), _ROWS):
        inputs = valid.batch(order[first : first + _ROWS], np.random.default_rng([0, first]))
        with torch.inference_mode(), started.autocast():
            loss, right, count = valid.loss(model, started.send(inputs))
        sums += torch.stack([loss, right, count]).to("cpu", torch.float64)
    total_loss, total_right, total = sums.tolist()
    if not total:
        fix = "give labelled rows, or longer texts"
        raise BadInput("there is nothing to be right about", field="valid", fix=fix)
    return {"valid_loss": total_loss / total, "valid_accuracy": total_right / total}
