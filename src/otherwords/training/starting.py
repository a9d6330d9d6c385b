"""The model that a training starts from: its weights, tokenizer and device."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingExtra
from ..inference.hf_folders import CLASSIFIER, MASKED_LM, Folder, find, load_fast_tokenizer, load_start, quietly
from ..inference.limits import positions
from ..inference.tokens import pair_encoder, text_encoder
from ..inference.torch_device import choose_device
from ..storage.files import disk_errors
from .objectives import Examples, MaskedWords, PairLabels
from .settings import TrainingSettings

#: The names of the dropout rate in the configurations of encoders.
_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


@dataclass(frozen=True)
class StartModel:
    """A model with its tokenizer, its device and its precision."""

    model: Any
    tokenizer: Any
    device: str
    autocast: Callable[[], Any]

    def objective(self, examples: Examples, settings: TrainingSettings) -> PairLabels | MaskedWords:
        """Tokenize examples for the objective of the training."""
        from tokenizers import Tokenizer

        own = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str())  # a length limit set here is not saved
        pad = self.tokenizer.pad_token_id or 0
        types = "token_type_ids" in self.tokenizer.model_input_names
        length = min(settings.max_length, positions(self.model) or settings.max_length)
        if settings.objective == "nli":
            encode = pair_encoder(own, length, types=types)
            tokens = encode(list(zip(examples.firsts, examples.seconds or (), strict=True)))
            return PairLabels(tokens, examples, pad, settings.taught)
        tokens = text_encoder(own, length, types=types)(examples.firsts)
        special, words = tuple(self.tokenizer.all_special_ids), len(self.tokenizer)
        return MaskedWords(tokens, pad, self.tokenizer.mask_token_id, special, words, settings.masked)

    def send(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Copy the inputs of a batch to the device of the model."""
        import torch

        here = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs.items()}
        if not self.device.startswith("cuda"):
            return {name: value.to(self.device) for name, value in here.items()}
        return {name: value.pin_memory().to(self.device, non_blocking=True) for name, value in here.items()}  # gpu only

    def save(self, model: Any, folder: Path) -> None:
        """Save model and tokenizer with `save_pretrained`."""
        with quietly(), disk_errors(folder):
            model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        for weights in folder.glob("*.safetensors"):  # safetensors makes them readable by their owner only
            weights.chmod((folder / "config.json").stat().st_mode)


def require_torch() -> None:
    """Raise an error that names the extra where torch or transformers is missing."""
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        raise MissingExtra("training", "train")


def load_start_model(settings: TrainingSettings) -> StartModel:
    """Load the encoder that a training starts from, with a new head where it has none for the objective."""
    require_torch()
    folder = find(settings.start)
    tokenizer = load_fast_tokenizer(folder)
    if settings.objective == "masked-lm" and tokenizer.mask_token_id is None:
        raise BadInput("its tokenizer has no mask token", where=folder.who, fix="start from a masked-LM's encoder")
    device, autocast = _device(settings, folder.who)
    dropout = _dropout(settings, folder)
    if settings.objective == "masked-lm":
        model, _ = load_start(folder, MASKED_LM, **dropout)
    else:
        names = dict(enumerate(settings.labels))
        labels = {"num_labels": len(names), "id2label": names, "label2id": {v: k for k, v in names.items()}}
        model, _ = load_start(folder, CLASSIFIER, **labels, **dropout)
    return StartModel(model, tokenizer, device, autocast)


def _device(settings: TrainingSettings, who: str) -> tuple[str, Callable[[], Any]]:
    """The device and the precision: by default bf16 on a GPU, where it costs nothing, and fp32 elsewhere."""
    import torch

    place = choose_device(settings.device, who)
    exact = settings.precision == "fp32" or (settings.precision == "auto" and place.type == "cpu")
    return str(place), lambda: nullcontext() if exact else torch.autocast(place.type, dtype=torch.bfloat16)


def _dropout(settings: TrainingSettings, folder: Folder) -> dict[str, float]:
    """The dropout rate under the names that this encoder has for it."""
    if settings.dropout < 0:
        return {}
    config = json.loads((folder.path / "config.json").read_text(encoding="utf-8"))
    names = [name for name in _DROPOUTS if name in config]
    if not names:
        fix = f"leave it out (known names are {', '.join(_DROPOUTS)})"
        raise BadInput("has no dropout in config.json", where=folder.who, field="dropout", fix=fix)
    return dict.fromkeys(names, settings.dropout)
