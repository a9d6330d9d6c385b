"""Sequence-pair classifiers as ONNX files, on the CPU, without torch; `nli-small` comes with the package."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..inference import onnx_files
from ..inference.joining import JOIN_KEY
from ..inference.limits import configured_positions, limit, refuse_sizes
from ..registry import models
from .model import Model, label_names, probabilities, reply
from .repeating import local_ways

#: Problems asked at a time: a few seconds of work, which is all that a killed run loses.
PROBLEMS = 1024


@models("onnx.v1", unsigned=("threads", "tokens"))
def onnx(path: Path, max_length: int = 256, threads: int = 0, tokens: int = onnx_files.TOKENS) -> Model:
    """Ask a sequence-pair classifier stored as model.onnx, tokenizer.json and config.json, on the CPU.

    `path` is the folder that holds them, or an .onnx file with the other two next to it. Pairs of more than
    `max_length` tokens are cut, or of more than the model has positions for. `threads` of 0 uses all cores; a batch
    holds up to `tokens` tokens.
    """
    file = onnx_files.find_graph(path)
    where = str(file)
    refuse_sizes(f"onnx:{path}", max_length, tokens=tokens)
    config = onnx_files.read_config(file)
    if any(str(name).endswith("ForMaskedLM") for name in config.get("architectures") or ()):
        message = "is a masked-LM, which cannot answer problems"
        raise BadInput(message, where=f"onnx:{path}", fix="give a classifier")
    if any(str(name).endswith("ForMultipleChoice") for name in config.get("architectures") or ()):
        raise BadInput("is a multiple-choice model", where=f"onnx:{path}", fix="ask it with torch, as hf:FOLDER")
    labels = label_names(config.get("id2label"), str(file.parent / "config.json"))
    room = configured_positions(config)
    length = limit(where, max_length, room)
    graph = onnx_files.load_graph(file, threads)
    scheduler = graph.scheduler(_output(graph.session, labels, where), length, tokens)
    return Model(
        partial(reply, scheduler, labels, where, join=str(config.get(JOIN_KEY, ""))),
        labels,
        onnx_files.identity(path, file),
        graph.batch_invariant,
        batch_size=PROBLEMS,
        max_length=length,
        positions=room,
        uses_all_cores=not threads,
        ways=local_ways(graph.batch_invariant),
    )


def _output(session: Any, labels: tuple[str, ...], where: str) -> str:
    """The output named logits, or else the first; its width is checked here if it is fixed, else with the answers."""
    shapes = {output.name: output.shape for output in session.get_outputs()}
    name = "logits" if "logits" in shapes else next(iter(shapes))
    if len(shapes[name]) == 2 and isinstance(shapes[name][1], int):
        probabilities(np.zeros((1, shapes[name][1])), labels, where)
    return name


@models("nli-small.v1", unsigned=("threads", "tokens"), language="en")
def nli_small(max_length: int = 256, threads: int = 0, tokens: int = onnx_files.TOKENS) -> Model:
    """Ask the small NLI classifier that comes with otherwords, on the CPU.

    Pairs of more than `max_length` tokens are cut. `threads` of 0 uses all cores; a batch holds up to `tokens` tokens.
    Its card in assets/nli-small says what it was trained on and how good it is.
    """
    folder = onnx_files.embedded("nli-small")
    return replace(onnx(folder, max_length, threads, tokens), identity=onnx_files.content(folder / "model.onnx"))
