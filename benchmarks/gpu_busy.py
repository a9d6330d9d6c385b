"""What goes through a device during a run, and how long it works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from otherwords.inference import torch_device
from otherwords.inference.tokens import Tokens

GPU = torch.cuda.is_available()


class Busy:
    """Counts of tokens and places, and the time from the first to the last kernel of each batch."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.lengths: list[Any] = []
        self.places: list[int] = []
        self.events: list[tuple[Any, Any]] = []
        if GPU:
            torch.cuda.reset_peak_memory_stats()

    def note(self, rows: Any) -> None:
        whole = not isinstance(rows, Tokens) and rows.mask is None
        padded = np.full(len(rows), rows.ids.shape[1]) if whole else None
        lengths = rows.lengths if isinstance(rows, Tokens) else padded if whole else rows.mask.sum(axis=1)
        self.lengths.append(lengths)
        self.places.append(rows.ids.size)

    @property
    def tokens(self) -> int:
        return int(sum(lengths.sum() for lengths in self.lengths))

    def seconds(self) -> float:
        torch.cuda.synchronize()
        return sum(before.elapsed_time(after) for before, after in self.events) / 1000

    def flops(self, shape: dict[str, int]) -> float:
        """Products of weights (12 h^2 a layer) and of the attention (2 h a pair of tokens), two operations each.

        All layers count in full, and filling does not.
        """
        h, inner = shape["hidden_size"], shape["intermediate_size"]
        squares = sum(float((lengths**2).sum()) for lengths in self.lengths)
        return 2 * shape["num_hidden_layers"] * (self.tokens * (4 * h * h + 2 * h * inner) + 2 * h * squares)


@contextmanager
def busy() -> Iterator[Busy]:
    """Note every batch that models made meanwhile start."""
    found, real = Busy(), torch_device.TorchDevice.start

    def start(self: Any, rows: Any) -> Any:
        found.note(rows)
        if not GPU:
            return real(self, rows)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        started = real(self, rows)
        after.record()
        found.events.append((before, after))
        return started

    torch_device.TorchDevice.start = start  # type: ignore[method-assign]
    try:
        yield found
    finally:
        torch_device.TorchDevice.start = real  # type: ignore[method-assign]
