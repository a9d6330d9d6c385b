"""Sequence-pair classifiers as ONNX files, on the CPU, with onnxruntime and tokenizers: no torch."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, WrongAnswer
from ..problem import Batch
from ..registry import models
from ..storage.files import digest, fingerprint
from .model import Floats, Model
from .sequence_pairs import Truncation, label_names, pairs, probabilities, refuse_sizes

#: What a graph may ask for, and where an Encoding of `tokenizers` has it.
_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}


@models("onnx.v1", unsigned=("threads", "batch_size"))
def onnx(path: Path, max_length: int = 256, threads: int = 0, batch_size: int = 64) -> Model:
    """Ask a sequence-pair classifier stored as model.onnx, tokenizer.json and config.json, on the CPU.

    `path` is the folder that holds them, or an .onnx file with the other two beside it. Pairs of more than
    `max_length` tokens are cut. `threads` of 0 leaves their number to onnxruntime.
    """
    graph = _graph(path)
    who = f"onnx:{path}"
    refuse_sizes(who, max_length, batch_size)
    labels = _labels(graph.parent / "config.json")
    tokenizer = _tokenizer(graph.parent / "tokenizer.json", max_length)
    content = graph.read_bytes()
    session = _session(graph, threads)
    inputs = _inputs(session, str(graph))
    output = _output(session, labels, str(graph))
    truncation = Truncation(who, max_length)

    def ask(encodings: list[Any]) -> Floats:
        feeds: dict[str, Any] = {
            name: np.array([getattr(e, part) for e in encodings], kind) for name, part, kind in inputs
        }
        try:
            logits = session.run([output], feeds)[0]
        except Exception as error:  # onnxruntime's exceptions have no common root of their own
            shape = f"{len(encodings)} pairs of {len(encodings[0].ids)} tokens"
            hint = f"a smaller max_length (now {max_length}) or batch_size (now {batch_size}) may work"
            raise WrongAnswer(f"{who} failed on {shape}: {error}; {hint}") from error
        return probabilities(logits, labels, str(graph))

    def answer(batch: Batch) -> Floats:
        encodings = tokenizer.encode_batch(pairs(batch))
        truncation.note(sum(bool(e.overflowing) for e in encodings), len(encodings))
        answers = np.empty((len(encodings), len(labels)))
        for rows in _equally_long(encodings, batch_size):
            answers[rows] = ask([encodings[row] for row in rows])  # a row that is there twice has the same answer
        return answers

    # Dynamic quantisation takes its scales from the whole batch; nothing else here looks at the neighbours.
    invariant = b"DynamicQuantize" not in content
    identity = "" if path.is_dir() else _beside(graph, content)
    return Model(answer, labels, identity, batch_invariant=invariant, batch_size=batch_size)


def _equally_long(encodings: list[Any], batch_size: int) -> list[list[int]]:
    """Group rows of the same length: nothing is padded, so no answer depends on the lengths of its neighbours.

    It costs no more: 108 pairs a CPU second, 90 padded to the longest (MiniLM-L6 shape, length-sorted batches of 64).
    A row alone is asked twice, because onnxruntime sums a batch of one in another order (ReduceSum: other last bits).
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for row, encoding in enumerate(encodings):
        groups[len(encoding.ids)].append(row)
    chunks = [rows[i : i + batch_size] for rows in groups.values() for i in range(0, len(rows), batch_size)]
    return [rows if len(rows) > 1 else rows * 2 for rows in chunks]


def _beside(graph: Path, content: bytes) -> str:
    """Sign what an .onnx file is used with: a folder is signed whole by the registry, a file only by itself.

    Weights may be in files of their own, whose names are then in the graph.
    """
    names = {"tokenizer.json", "config.json"}
    names |= {file.name for file in graph.parent.iterdir() if file.is_file() and file.name.encode() in content}
    return digest(*((name, fingerprint(graph.parent / name)) for name in sorted(names - {graph.name})))[:12]


def _graph(path: Path) -> Path:
    graph = path / "model.onnx" if path.is_dir() else path
    for file in (graph, graph.parent / "tokenizer.json", graph.parent / "config.json"):
        if not file.is_file():
            others = ", ".join(sorted(str(other) for other in (*path.glob("*.onnx"), *path.glob("*/*.onnx"))))
            found = f" (but {others})" if others and file == graph else ""
            fix = "give a folder with model.onnx, tokenizer.json, config.json; or an .onnx file beside these"
            raise BadInput(f"no such file{found}", where=str(file), fix=fix)
    return graph


def _labels(path: Path) -> tuple[str, ...]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"is not JSON: {error}", where=str(path)) from error
    return label_names(config.get("id2label") if isinstance(config, dict) else None, str(path))


def _tokenizer(path: Path, max_length: int) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # `tokenizers` raises plain Exception
        fix = "save it with the `tokenizers` library or a fast tokenizer's save_pretrained"
        raise BadInput(f"is not a tokenizer: {error}", where=str(path), fix=fix) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    return tokenizer


def _session(graph: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # nothing short of fatal: what goes wrong is raised as well
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        fix = "export or download it again"
        raise BadInput(f"onnxruntime cannot load it: {error}", where=str(graph), fix=fix) from error


def _output(session: Any, labels: tuple[str, ...], where: str) -> str:
    """The output named logits, or else the first; its width is checked here if it is fixed, else with the answers."""
    shapes = {output.name: output.shape for output in session.get_outputs()}
    name = "logits" if "logits" in shapes else next(iter(shapes))
    if len(shapes[name]) == 2 and isinstance(shapes[name][1], int):
        probabilities(np.zeros((1, shapes[name][1])), labels, where)
    return name


def _inputs(session: Any, where: str) -> list[tuple[str, str, type]]:
    declared = {given.name: given.type for given in session.get_inputs()}
    strangers = {name: kind for name, kind in declared.items() if name not in _INPUTS or kind not in _TYPES}
    fixed = any(isinstance(size, int) for given in session.get_inputs() for size in given.shape)
    if strangers or fixed or "input_ids" not in declared:
        found = ", ".join(f"{given.name}: {given.type}{given.shape}" for given in session.get_inputs())
        fix = f"export it with {', '.join(_INPUTS)} alone, of any batch size and length (dynamic axes)"
        raise BadInput(f"the graph's inputs are {found}", where=where, fix=fix)
    return [(name, _INPUTS[name], _TYPES[kind]) for name, kind in declared.items()]
