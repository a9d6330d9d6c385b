"""Models stored as ONNX files: find the file, refuse one that cannot be used, and run it on all cores of the CPU."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, WrongAnswer
from ..storage.files import digest, fingerprint
from .scheduling import Arrays, Scheduler
from .tokens import PaddedRows, row_encoder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Inputs that any graph may have; some kinds of model allow more.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
#: Tokens to a batch: 256 to 1,024 are equally fast, 2,048 slower by 5 % (cache), 128 by 25 % (MiniLM-L6).
TOKENS = 512
#: Inputs that are the same for all rows of a batch.
SHARED = ("k",)
#: The models that come with the package.
ASSETS = Path(__file__).parents[1] / "assets"
_COMPANIONS = ("tokenizer.json", "config.json")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}
_FULL = ("failed to allocate", "bad_alloc", "bad allocation", "out of memory")


@dataclass(frozen=True)
class OnnxGraph:
    """A loaded graph. Its `start` and `wait` are those of a Scheduler, which should keep `in_flight` batches going.

    Each core works on its own batch: that is faster by a seventh than all cores on one, and the order of
    summation does not depend on the number of cores.
    """

    file: Path
    session: Any
    inputs: Mapping[str, type]
    cores: ThreadPoolExecutor = field(repr=False)
    in_flight: int
    batch_invariant: bool

    def start(self, outputs: Sequence[str], rows: PaddedRows, **more: Any) -> Future[Arrays]:
        """Start a batch; `more` are inputs that a kind of model has besides the usual ones."""
        return self.cores.submit(self._run, list(outputs), rows, more)

    @staticmethod
    def wait(started: Future[Arrays]) -> Arrays:
        """The outputs of a batch."""
        return started.result()

    @property
    def types(self) -> bool:
        """Whether the model has segment numbers."""
        return "token_type_ids" in self.inputs

    def scheduler(self, output: str, length: int, tokens: int, tokenizer: Tokenizer | None = None) -> Scheduler:
        """What computes an output for rows of one text or two; they are cut to a length, a batch has so many tokens."""
        return Scheduler(
            encode=row_encoder(tokenizer or read_tokenizer(self.file), length, types=self.types),
            start=partial(self.start, [output]),
            wait=self.wait,
            budget=tokens,
            exact=True,  # no padding, so that no answer depends on the lengths of other rows
            in_flight=self.in_flight,
            is_full=is_full,
        )

    def _run(self, outputs: list[str], rows: PaddedRows, more: dict[str, Any]) -> Arrays:
        mask = np.ones_like(rows.ids) if rows.mask is None else rows.mask
        given = {"input_ids": rows.ids, "attention_mask": mask, "token_type_ids": rows.types, **more}
        if len(rows) == 1:
            # A single row is asked twice: a batch of one is summed in another order (gemv, not gemm: other last bits).
            given = {
                name: one if name in SHARED or one is None else np.repeat(one, 2, 0) for name, one in given.items()
            }
        feeds: dict[str, Any] = {name: np.asarray(given[name], kind) for name, kind in self.inputs.items()}
        try:
            results = self.session.run(outputs, feeds)
        except Exception as error:  # onnxruntime's exceptions have no common root of their own
            shape = f"{len(rows)} texts of {rows.ids.shape[1]} tokens"
            raise WrongAnswer(f"{self.file} failed on {shape}: {error}; a smaller max_length may work") from error
        return tuple(array[: len(rows)] for array in results)


def is_full(error: Exception) -> bool:
    """Whether a batch failed because the machine ran out of memory."""
    message = f"{error} {error.__cause__}".lower()
    return isinstance(error, MemoryError) or any(words in message for words in _FULL)


def load_graph(
    file: Path, threads: int = 0, more: Sequence[str] = (), weights: Mapping[str, bytes] | None = None
) -> OnnxGraph:
    """Load a graph, and refuse one with other inputs than the usual and `more`; `threads` of 0 uses all cores.

    `weights` are files that the graph takes its weights from, where these do not lie beside it.
    """
    if threads < 0:
        raise BadInput(f"found {threads}", where=str(file), field="threads", fix="give 1 or more, or 0 for all cores")
    session = _session(file, weights or {})
    inputs = _inputs(session, (*INPUTS, *more), str(file))
    count = threads or _cores()
    cores = ThreadPoolExecutor(count, thread_name_prefix="onnx")
    # Dynamic quantisation takes its scales from the whole batch; nothing else here depends on other rows.
    invariant = b"DynamicQuantize" not in file.read_bytes()
    return OnnxGraph(file, session, inputs, cores, 2 * count, invariant)


def find_graph(path: Path) -> Path:
    """The .onnx file of a path: itself, or model.onnx in a folder; its companions must be in the same folder."""
    graph = path / "model.onnx" if path.is_dir() else path
    for file in (graph, *(_beside(graph, name) for name in _COMPANIONS)):
        if not file.is_file():
            others = ", ".join(sorted(str(other) for other in (*path.glob("*.onnx"), *path.glob("*/*.onnx"))))
            present = f" (but {others})" if others and file == graph else ""
            fix = "give a folder with model.onnx, tokenizer.json and config.json, or an .onnx file next to these two"
            raise BadInput(f"no such file{present}", where=str(file), fix=fix)
    return graph


def embedded(name: str) -> Path:
    """The folder of a bundled model, which may be missing from an installation."""
    if not (ASSETS / name / "model.onnx").is_file():
        fix = "reinstall otherwords, or give another model: onnx:FOLDER, hf:NAME"
        raise BadInput("the bundled model is missing from this installation", where=name, fix=fix)
    return ASSETS / name


def identity(path: Path, graph: Path) -> str:
    """The content of an .onnx file and its companions; of a folder, the registry signs all files itself."""
    return "" if path.is_dir() else content(graph)


def content(graph: Path) -> str:
    """A short digest of a graph and the files it is used with; weights may be in files that the graph names."""
    raw = graph.read_bytes()
    named = {file.name for file in graph.parent.iterdir() if file.is_file() and file.name.encode() in raw}
    names = sorted({graph.name, *named, *_COMPANIONS})
    return digest(*((name, fingerprint(_beside(graph, name))) for name in names))[:12]


def read_config(graph: Path) -> dict[str, Any]:
    """The config.json of a graph."""
    path = graph.parent / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not JSON: {error}", where=str(path)) from error
    return config if isinstance(config, dict) else {}


def read_tokenizer(graph: Path) -> Tokenizer:
    """The tokenizer.json of a graph."""
    from tokenizers import Tokenizer

    path = _beside(graph, "tokenizer.json")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # `tokenizers` raises plain Exception
        fix = "save it with the `tokenizers` library or a fast tokenizer's save_pretrained"
        raise BadInput(f"is not a tokenizer: {error}", where=str(path), fix=fix) from error


def _beside(graph: Path, name: str) -> Path:
    """A file that a graph is used with. The bundled models have one tokenizer, which is stored once."""
    shared = name == "tokenizer.json" and graph.parent.resolve() == (ASSETS / "mlm-small").resolve()
    return (ASSETS / "nli-small" if shared else graph.parent) / name


def _cores() -> int:
    """How many cores this process may use, which may be fewer than there are; a worker among others has its share."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = os.environ.get("OTHERWORDS_THREADS", "")
    return min(there, int(share)) if share.isdigit() and int(share) else there


def _session(graph: Path, weights: Mapping[str, bytes]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if weights and not hasattr(options, "add_external_initializers_from_files_in_memory"):
        found, fix = onnxruntime.__version__, "pip install --upgrade 'onnxruntime>=1.24'"
        raise BadInput(f"needs onnxruntime 1.24 or newer; found {found}", where=str(graph), fix=fix)
    options.intra_op_num_threads = 1  # cores work on different batches
    options.log_severity_level = 4  # fatal errors only: the others are raised as well
    # Weights stored as int8 are converted to float once, at load: arithmetic in int8 would change answers.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        if weights:
            sizes = [len(raw) for raw in weights.values()]
            options.add_external_initializers_from_files_in_memory([*weights], [*weights.values()], sizes)
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        fix = "export or download it again"
        raise BadInput(f"onnxruntime cannot load it: {error}", where=str(graph), fix=fix) from error


def _inputs(session: Any, allowed: Sequence[str], where: str) -> dict[str, type]:
    declared = {given.name: given.type for given in session.get_inputs()}
    strangers = {name: kind for name, kind in declared.items() if name not in allowed or kind not in _TYPES}
    sized = [given for given in session.get_inputs() if given.name not in SHARED]
    fixed = any(isinstance(size, int) for given in sized for size in given.shape)
    if strangers or fixed or "input_ids" not in declared:
        inputs = ", ".join(f"{given.name}: {given.type}{given.shape}" for given in session.get_inputs())
        fix = f"export it with {', '.join(allowed)} alone, of any batch size and length (dynamic axes)"
        raise BadInput(f"the graph's inputs are {inputs}", where=where, fix=fix)
    return {name: _TYPES[kind] for name, kind in declared.items()}
