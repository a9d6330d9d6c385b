"""Masked-LMs as ONNX files, on the CPU, with onnxruntime and tokenizers: no torch. One comes with the package."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..inference import onnx_files
from ..inference.limits import configured_positions, limit, refuse_sizes
from ..inference.scheduling import Scheduler
from ..inference.tokens import PaddedRows
from ..registry import masked_lms
from .masked_lm import Encode, MaskedLM

#: What such a graph takes besides the tokens, and what it returns: see `otherwords export`.
INPUTS = ("at", "own", "k")
OUTPUTS = ("top_ids", "top_logp", "own_logp")


@masked_lms("onnx.v1", unsigned=("threads", "tokens"))
def onnx(path: Path, max_length: int = 256, threads: int = 0, tokens: int = onnx_files.TOKENS) -> MaskedLM:
    """Fill masks with a masked-LM that `otherwords export` stored as model.onnx, with its tokenizer, on the CPU.

    `path` is the folder, or an .onnx file with tokenizer.json and config.json next to it. Of texts of more than
    `max_length` tokens, those around the mask are read. `threads` of 0 uses all cores; a batch holds up to `tokens`
    tokens.
    """
    file = onnx_files.find_graph(path)
    refuse_sizes(f"onnx:{path}", max_length, tokens)
    config, tokenizer = onnx_files.read_config(file), onnx_files.read_tokenizer(file)
    graph = onnx_files.load_graph(file, threads, INPUTS)
    _refuse_other_graphs(graph)
    return MaskedLM(
        tokenizer,
        partial(_scheduler, graph, tokens),
        limit(str(file), max_length, configured_positions(config)),
        types=graph.types,
        size=int(config.get("vocab_size") or 0),
        identity=onnx_files.identity(path, file),
        batch_invariant=graph.batch_invariant,
    )


def _scheduler(graph: onnx_files.OnnxGraph, tokens: int, encode: Encode, top: int) -> Scheduler:
    width = np.array([top], np.int64)

    def start(rows: PaddedRows) -> Any:
        own = np.maximum(rows.own if rows.own is not None else -1, 0)  # where not one token was masked, any will do
        return graph.start(OUTPUTS, rows, at=rows.at, own=own, k=width)

    return Scheduler(
        encode, start, graph.wait, tokens, exact=True, in_flight=graph.in_flight, is_full=onnx_files.is_full
    )


def _refuse_other_graphs(graph: onnx_files.OnnxGraph) -> None:
    """A graph that returns the logits of all positions and tokens computes a hundred times what is needed."""
    inputs, outputs = set(graph.inputs), {output.name for output in graph.session.get_outputs()}
    if missing := [*(set(INPUTS) - inputs), *(set(OUTPUTS) - outputs)]:
        found = f"it lacks {', '.join(sorted(missing))} (outputs: {', '.join(sorted(outputs))})"
        message = f"is not a masked-LM exported by otherwords: {found}"
        fix = "export the model itself: otherwords export FOLDER"
        raise BadInput(message, where=str(graph.file), fix=fix)


@masked_lms("mlm-small.v1", unsigned=("threads", "tokens"), language="en")
def mlm_small(max_length: int = 256, threads: int = 0, tokens: int = onnx_files.TOKENS) -> MaskedLM:
    """Fill masks with the small masked-LM that comes with otherwords, on the CPU.

    Of texts of more than `max_length` tokens, those around the mask are read. `threads` of 0 uses all cores; a
    batch holds up to `tokens` tokens.
    Its card in assets/mlm-small says what it was trained on and how good it is.
    """
    folder = onnx_files.embedded("mlm-small")
    return replace(onnx(folder, max_length, threads, tokens), identity=onnx_files.content(folder / "model.onnx"))
