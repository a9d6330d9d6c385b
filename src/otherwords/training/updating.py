"""What an update is made of: a batch in portions that fit the device, and the optimiser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from .settings import Settings


def portions(inputs: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Cut a batch into so many parts of nearly the same size, or one a row where there are fewer.

    >>> [part["labels"].tolist() for part in portions({"labels": np.arange(5)}, 2)]
    [[0, 1], [2, 3, 4]]
    """
    rows = len(inputs["labels"])
    ends = np.linspace(0, rows, min(count, rows) + 1).round().astype(int)
    return ({name: value[a:b] for name, value in inputs.items()} for a, b in pairwise(ends))


def optimizer(model: Any, settings: Settings, *, fused: bool) -> Any:
    """AdamW; biases and normalisations are not drawn towards zero."""
    import torch

    weights = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups = [{"params": weights, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=fused)
