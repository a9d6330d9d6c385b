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


class Trace:
    """When the GPU worked: every kernel and copy, as CUDA's own profiler saw them."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, str]] = []

    def seconds(self) -> float:
        """The time in which anything ran, what ran at the same time counted once."""
        total = end = 0
        for first, last, _ in sorted(self.spans):
            total += max(0, last - max(first, end))
            end = max(end, last)
        return total / 1e9

    def gaps(self, count: int = 12) -> dict[str, Any]:
        """Milliseconds of idle time in gaps up to 0.1 ms, up to 1 ms and longer, and the longest with their times."""
        spans, found, end = sorted(self.spans), [], None
        for first, last, _ in spans:
            if end is not None and first > end:
                found.append(((first - end) / 1e6, (end - spans[0][0]) / 1e6))
            end = last if end is None else max(end, last)
        sums = [sum(gap for gap, _ in found if low < gap <= high) for low, high in ((0, 0.1), (0.1, 1), (1, 1e9))]
        longest = sorted(found, reverse=True)[:count]
        return {"ms": [round(one, 1) for one in sums], "longest": [[round(gap, 1), round(at)] for gap, at in longest]}

    def kernels(self, count: int = 14) -> dict[str, float]:
        """Seconds of the kernels that took longest."""
        sums: dict[str, int] = {}
        for first, last, name in self.spans:
            sums[name[:80]] = sums.get(name[:80], 0) + last - first
        return {name: round(sums[name] / 1e9, 4) for name in sorted(sums, key=lambda one: -sums[one])[:count]}


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what the GPU does meanwhile."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    found = Trace()
    if not GPU:
        yield found
        return
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        yield found
        torch.cuda.synchronize()
    events = profiled.profiler.kineto_results.events()
    found.spans = [
        (one.start_ns(), one.start_ns() + one.duration_ns(), one.name())
        for one in events
        if one.device_type() == DeviceType.CUDA
    ]


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
