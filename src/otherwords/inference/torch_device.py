"""Forward passes of torch models on one device: asynchronous copies, out-of-memory errors, compiled layers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput
from .tokens import PaddedRows, Tokens

if TYPE_CHECKING:
    import torch

DTYPES = ("auto", "float32", "bfloat16", "float16")
_FULL = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "can't allocate memory")


@dataclass(frozen=True)
class TorchDevice:
    """Starts batches on a device and waits for their results; the `start` and `wait` of a Scheduler.

    `forward` gets tensors on the device (input_ids, attention_mask, token_type_ids, at, own: those that a batch has;
    no mask where nothing is padded) and returns tensors with one row per row of the batch. For packed rows it gets
    `offsets` and the number `longest` instead of a mask.
    """

    device: torch.device
    forward: Callable[..., tuple[torch.Tensor, ...]]

    @property
    def in_flight(self) -> int:
        """How many batches to queue: enough to keep a GPU busy while Python prepares the next texts."""
        return 4 if self.device.type == "cuda" else 1

    def start(self, rows: PaddedRows | Tokens) -> Any:
        """Queue copies and work, and return before they are done, unless the device is the CPU."""
        import torch

        try:
            with torch.inference_mode(), self._current():
                return self._fetch(self.forward(**self._send(rows)))
        except Exception as error:
            if not out_of_memory(error):
                raise
            message = str(error)
        # Only here is the error released, and with it the frames that hold the tensors of the batch.
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        raise MemoryError(message)

    def wait(self, started: Any) -> tuple[np.ndarray, ...]:
        """The results, once they have been copied."""
        tensors, done = started
        if done is not None:
            done.synchronize()
        return tuple(tensor.numpy() for tensor in tensors)

    def _current(self) -> AbstractContextManager[Any]:
        """Make the device current: Triton's kernels run there, wherever their tensors are."""
        import torch

        return torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()

    def _send(self, rows: PaddedRows | Tokens) -> dict[str, Any]:
        import torch

        known = {"longest": rows.longest} if isinstance(rows, Tokens) else {}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in _arrays(rows).items()}
        if self.device.type != "cuda":
            return {name: tensor.to(self.device) for name, tensor in tensors.items()} | known
        # Pinned memory comes from torch's own pool, which reuses it only after the copy is done.
        return {name: one.pin_memory().to(self.device, non_blocking=True) for name, one in tensors.items()} | known

    def _fetch(self, results: tuple[torch.Tensor, ...]) -> Any:
        import torch

        if self.device.type != "cuda":
            return [tensor.cpu() for tensor in results], None
        copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in results]
        for copy, tensor in zip(copies, results, strict=True):
            copy.copy_(tensor, non_blocking=True)
        return copies, torch.cuda.current_stream(self.device).record_event()


def _arrays(rows: PaddedRows | Tokens) -> dict[str, Any]:
    """The arrays of a batch, under the names of a model's inputs."""
    ends = ("offsets", rows.offsets) if isinstance(rows, Tokens) else ("attention_mask", rows.mask)
    named = (("input_ids", rows.ids), ends, ("token_type_ids", rows.types), ("at", rows.at), ("own", rows.own))
    return {name: array for name, array in named if array is not None}


def out_of_memory(error: Exception) -> bool:
    """Whether the device, or this machine, ran out of memory."""
    import torch

    known = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return known or (isinstance(error, RuntimeError) and any(sign in str(error) for sign in _FULL))


def choose_device(name: str, who: str) -> torch.device:
    """The device of that name, after a trial; `auto` is the GPU where there is one."""
    import torch

    place = ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    try:
        torch.zeros(1, device=torch.device(place)).cpu()
    except (AssertionError, RuntimeError, NotImplementedError) as error:
        message = f"cannot use {name!r}: {error}"
        raise BadInput(message, where=who, field="device", fix="give auto or cpu") from error
    return torch.device(place)


def choose_dtype(name: str, device: torch.device, who: str) -> torch.dtype:
    """The dtype of that name; `auto` is bfloat16 on GPUs that have it, where it is many times as fast."""
    import torch

    if name not in DTYPES:
        raise BadInput(f"found {name!r}", where=who, field="dtype", fix=f"give one of {', '.join(DTYPES)}")
    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32


def compile_layers(model: Any) -> None:
    """Compile the repeated layers of a model, once for all of them and for any shape: seconds instead of minutes."""
    import torch

    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    stacks = [layers for layers in lists if len({type(layer) for layer in layers}) == 1]
    longest = max(stacks, key=len, default=None)
    for layer in [model] if longest is None else longest:
        layer.compile(dynamic=True)


def budget(device: torch.device) -> int:
    """How many tokens a batch holds by default."""
    return 32_768 if device.type == "cuda" else 2048


def refuse_budget(who: str, tokens: int) -> None:
    """Raise where a budget of tokens cannot work."""
    if tokens < 0:
        raise BadInput(f"found {tokens}", where=who, field="tokens", fix="give 1 or more, or 0 for the default")
