"""The embedded masked-LM: a small one that comes with the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import BadInput
from ..inference.onnx_files import TOKENS, content
from ..registry import masked_lms
from .filling import MaskedLM
from .onnx import onnx

FOLDER = Path(__file__).parents[1] / "assets" / "mlm-small"


@masked_lms("mlm-small.v1", unsigned=("threads", "tokens"))
def mlm_small(max_length: int = 256, threads: int = 0, tokens: int = TOKENS) -> MaskedLM:
    """Fill masks with the small masked-LM that comes with otherwords, on the CPU.

    Of texts of more than `max_length` tokens, those around the mask are read. `threads` of 0 uses all cores; a
    batch holds up to `tokens` tokens.
    Its card, beside it in assets/mlm-small, says what it was trained on and how good it is.
    """
    if not (FOLDER / "model.onnx").is_file():
        fix = "reinstall otherwords, or name a model of your own: onnx:FOLDER, hf:NAME"
        raise BadInput("the embedded model is not in this installation", where="mlm-small", fix=fix)
    model = onnx(FOLDER, max_length, threads, tokens)
    return replace(model, identity=content(FOLDER / "model.onnx"))
