"""Local language models: masked-LMs that fill in words, writers that write texts, encoders that give vectors.

Each kind has its interface in a module of that name, and one module for each plug-in (`_hf`, `_onnx`, `_scripted`).
"""

from .encoder import SentenceEncoder
from .encoder import load as load_encoder
from .masked_lm import Fillings, MaskedLM
from .masked_lm import load as load_masked_lm
from .writer import Decoding, Draft, Writer, choose_decoding
from .writer import load as load_writer

__all__ = [
    "Decoding",
    "Draft",
    "Fillings",
    "MaskedLM",
    "SentenceEncoder",
    "Writer",
    "choose_decoding",
    "load_encoder",
    "load_masked_lm",
    "load_writer",
]
