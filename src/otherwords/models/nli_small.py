"""The embedded classifier: a small NLI model that comes with the package, for the first minute and for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import BadInput
from ..inference.onnx_files import TOKENS, content
from ..registry import models
from .model import Model
from .onnx import onnx

FOLDER = Path(__file__).parents[1] / "assets" / "nli-small"


@models("nli-small.v1", unsigned=("threads", "tokens"))
def nli_small(max_length: int = 256, threads: int = 0, tokens: int = TOKENS) -> Model:
    """Ask the small NLI classifier that comes with otherwords, on the CPU.

    Pairs of more than `max_length` tokens are cut. `threads` of 0 uses all cores; a batch holds up to `tokens` tokens.
    Its card, beside it in assets/nli-small, says what it was trained on and how good it is.
    """
    if not (FOLDER / "model.onnx").is_file():
        fix = "reinstall otherwords, or name a model of your own: onnx:FOLDER, hf:NAME"
        raise BadInput("the embedded model is not in this installation", where="nli-small", fix=fix)
    model = onnx(FOLDER, max_length, threads, tokens)
    return replace(model, identity=content(FOLDER / "model.onnx"))
