"""The embedded classifier: a small NLI model that comes with the package, for the first minute and for tests."""

from __future__ import annotations

from dataclasses import replace

from ..inference.embedded import embedded
from ..inference.onnx_files import TOKENS, content
from ..registry import models
from .model import Model
from .onnx import onnx


@models("nli-small.v1", unsigned=("threads", "tokens"))
def nli_small(max_length: int = 256, threads: int = 0, tokens: int = TOKENS) -> Model:
    """Ask the small NLI classifier that comes with otherwords, on the CPU.

    Pairs of more than `max_length` tokens are cut. `threads` of 0 uses all cores; a batch holds up to `tokens` tokens.
    Its card, beside it in assets/nli-small, says what it was trained on and how good it is.
    """
    folder = embedded("nli-small")
    return replace(onnx(folder, max_length, threads, tokens), identity=content(folder / "model.onnx"))
