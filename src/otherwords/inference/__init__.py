"""Inference with local models on a CPU or a GPU: opening models, tokenising, batching and scheduling.

Needs nothing but numpy to import; torch and transformers, or onnxruntime, are imported when a model is opened.
"""

from .hf_folders import Folder, OpenModel, find, open_model
from .scheduling import Scheduler
from .tokens import PaddedRows, Tokens

__all__ = ["Folder", "OpenModel", "PaddedRows", "Scheduler", "Tokens", "find", "open_model"]
