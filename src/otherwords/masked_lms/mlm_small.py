"""The embedded masked-LM: a small one that comes with the package."""

from __future__ import annotations

from dataclasses import replace

from ..inference.embedded import embedded
from ..inference.onnx_files import TOKENS, content
from ..registry import masked_lms
from .filling import MaskedLM
from .onnx import onnx


@masked_lms("mlm-small.v1", unsigned=("threads", "tokens"))
def mlm_small(max_length: int = 256, threads: int = 0, tokens: int = TOKENS) -> MaskedLM:
    """Fill masks with the small masked-LM that comes with otherwords, on the CPU.

    Of texts of more than `max_length` tokens, those around the mask are read. `threads` of 0 uses all cores; a
    batch holds up to `tokens` tokens.
    Its card, beside it in assets/mlm-small, says what it was trained on and how good it is.
    """
    folder = embedded("mlm-small")
    return replace(onnx(folder, max_length, threads, tokens), identity=content(folder / "model.onnx"))
