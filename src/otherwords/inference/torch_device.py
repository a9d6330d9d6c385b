"""Forward passes of torch models on one device: asynchronous copies, out-of-memory errors, recorded kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, MissingExtra
from .tokens import PaddedRows, Tokens, fill_up

if TYPE_CHECKING:
    import torch

DTYPES = ("auto", "float32", "bfloat16", "float16")
#: Products in 8 bits, between sums in bfloat16; only the fused pass of classifiers computes so.
FLOAT8 = "float8"
#: The compute capability of the first GPUs that multiply in 8 bits (Ada, then Hopper).
_FLOAT8_SINCE = (8, 9)
#: Sizes that packed batches are filled up to on a GPU, so that their kernels are recorded for few shapes: tokens, rows,
#: and widths in which a row is counted. Longer rows are not recorded. Of multiples of 2048 tokens, products take a
#: hundredth longer on an H200.
STEPS, WIDTHS = (2046, 256), (16, 32, 64, 128)
#: Larger batches keep a GPU busy for so long that Python has time to launch their kernels.
MOST_TOKENS, MOST_RECORDINGS = 65_536, 64
_FULL = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "can't allocate memory")


@dataclass(frozen=True)
class TorchDevice:
    """Starts batches on a device and waits for their results; the `start` and `wait` of a Scheduler.

    `forward` gets tensors on the device (input_ids, attention_mask, token_type_ids, at, own: those that a batch has;
    no mask where nothing is padded) and returns tensors with one row per row of the batch. For packed rows it gets
    `offsets` and the number `longest` instead of a mask; where `filled`, these are filled up to few sizes.
    """

    device: torch.device
    forward: Callable[..., tuple[torch.Tensor, ...]]
    filled: bool = False
    _lock: Any = field(default_factory=Lock, repr=False)

    @property
    def in_flight(self) -> int:
        """How many batches to queue: enough to keep a GPU busy while Python prepares the next texts."""
        return 4 if self.device.type == "cuda" else 1

    def start(self, rows: PaddedRows | Tokens) -> Any:
        """Queue copies and work, and return before they are done, unless the device is the CPU."""
        import torch

        try:
            with torch.inference_mode(), self._current(), self._lock:  # a recording has one place for its inputs
                results = self.forward(**self._send(self._fill(rows)))
                return self._fetch(tuple(result[: len(rows)] for result in results))
        except Exception as error:
            if not out_of_memory(error):
                raise
            message = str(error)
        # Only here is the error released, and with it the frames that hold the tensors of the batch.
        if self.device.type == "cuda":
            if isinstance(self.forward, Replayed):
                self.forward.forget()
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

    def _fill(self, rows: PaddedRows | Tokens) -> PaddedRows | Tokens:
        if not self.filled or not isinstance(rows, Tokens) or rows.longest > WIDTHS[-1]:
            return rows
        return fill_up(rows, rows.longest, *STEPS)

    def _send(self, rows: PaddedRows | Tokens) -> dict[str, Any]:
        import torch

        known = {"longest": _width(rows.longest) if self.filled else rows.longest} if isinstance(rows, Tokens) else {}
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


@dataclass(frozen=True)
class Replayed:
    """A forward pass whose kernels are recorded (a CUDA graph) once a shape has come twice, and then only replayed.

    Python needs ten milliseconds to launch the hundreds of kernels of a batch one by one, more while another thread
    tokenises, and a fraction of one to replay them. The results stay valid until the next call.
    """

    forward: Callable[..., tuple[torch.Tensor, ...]]
    record: Callable[..., Callable[..., tuple[torch.Tensor, ...]]]
    _recordings: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __call__(self, **inputs: Any) -> tuple[torch.Tensor, ...]:
        """The same as `forward`; `record` makes a function of it that takes inputs of these shapes only."""
        shape = tuple((name, getattr(one, "shape", one)) for name, one in inputs.items())
        recordable = inputs["longest"] <= WIDTHS[-1] and inputs["input_ids"].numel() <= MOST_TOKENS
        if not recordable or (shape not in self._recordings and len(self._recordings) == MOST_RECORDINGS):
            return self.forward(**inputs)
        if shape not in self._recordings:
            self._recordings[shape] = None
            return self.forward(**inputs)
        if self._recordings[shape] is None:
            self._recordings[shape] = self._recorded(inputs)
        return self._recordings[shape](**inputs)  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Give the memory of all recordings back; what shapes come from now on is recorded again."""
        self._recordings.clear()

    def _recorded(self, inputs: dict[str, Any]) -> Callable[..., tuple[torch.Tensor, ...]]:
        try:
            return self.record(self.forward, inputs)
        except Exception as error:  # CUDA's errors have no common root
            cause = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            warnings.warn(f"kernels could not be recorded ({cause}): continuing without, slower", stacklevel=2)
            return self.forward


class Recorder:
    """Records forward passes on the current GPU; all recordings share memory, since they never run at the same time."""

    def __init__(self) -> None:  # gpu only
        import torch

        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, forward: Callable[..., Any], inputs: dict[str, Any]) -> Callable[..., Any]:  # gpu only
        """A function that copies its inputs to where they were when `forward` was recorded, and replays it."""
        import torch

        tensors = {name: one.clone() for name, one in inputs.items() if isinstance(one, torch.Tensor)}
        graph, stream = torch.cuda.CUDAGraph(), _recording_stream(torch.cuda.current_device())
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                results = forward(**{**inputs, **tensors})
            finally:
                graph.capture_end()

        def replay(**given: Any) -> Any:
            for name, place in tensors.items():
                place.copy_(given[name], non_blocking=True)
            graph.replay()
            return results

        return replay


@lru_cache
def _recording_stream(device: int) -> torch.cuda.Stream:  # gpu only
    """A stream to record on, for all models. cuBLAS keeps memory for each stream, which must not be a recording's."""
    import torch

    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        square = torch.ones((16, 16), dtype=torch.bfloat16, device=stream.device)
        torch.addmm(square[0], square, square)
    stream.synchronize()
    return stream


def _width(longest: int) -> int:
    """The number that rows up to this length share."""
    return next((width for width in WIDTHS if longest <= width), longest)


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


def require_torch(what: str, extra: str = "hf", beside: str = "safetensors") -> None:
    """Raise an error that names the extra where torch, or what is needed `beside` it, is missing."""
    if any(find_spec(name) is None for name in ("torch", beside)):
        raise MissingExtra(what, extra)


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


def choose_dtype(name: str, device: torch.device, who: str, also: tuple[str, ...] = ()) -> torch.dtype:
    """The dtype of that name; `auto` is bfloat16 on GPUs that have it, where it is many times as fast.

    Errors also name those that are chosen elsewhere.
    """
    import torch

    if name not in DTYPES:
        raise BadInput(f"found {name!r}", where=who, field="dtype", fix=f"give one of {', '.join((*DTYPES, *also))}")
    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32


def refuse_float8(device: torch.device, who: str) -> None:
    """Raise where a device does not multiply numbers of 8 bits."""
    import torch

    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= _FLOAT8_SINCE:  # gpu only
        return
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"the device {device.type}"
    fix = "give auto, or use an NVIDIA GPU of compute capability 8.9 or more (Ada, Hopper and later)"
    raise BadInput(f"{name} has no float8 products", where=who, field="dtype", fix=fix)


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
    return 16 * STEPS[0] if device.type == "cuda" else 2048


def refuse_budget(who: str, tokens: int) -> None:
    """Raise where a budget of tokens cannot work."""
    if tokens < 0:
        raise BadInput(f"found {tokens}", where=who, field="tokens", fix="give 1 or more, or 0 for the default")
