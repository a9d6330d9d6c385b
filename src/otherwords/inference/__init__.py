"""Local models on a CPU or a GPU: texts become tokens, tokens become batches that fill the machine, order is restored.

Needs nothing but numpy to import; torch and transformers, or onnxruntime, are imported when a model is opened.
"""

from .hf_folders import CLASSIFIER, MASKED_LM, Folder, OpenModel, find, open_model
from .scheduling import Scheduler
from .tokens import PaddedRows, Tokens, pad_rows, pair_encoder, text_encoder
from .torch_device import TorchDevice, choose_device, choose_dtype

__all__ = [
    "CLASSIFIER",
    "MASKED_LM",
    "Folder",
    "OpenModel",
    "PaddedRows",
    "Scheduler",
    "Tokens",
    "TorchDevice",
    "choose_device",
    "choose_dtype",
    "find",
    "open_model",
    "pad_rows",
    "pair_encoder",
    "text_encoder",
]
