"""The original of an export: a classifier or masked-LM of transformers, with its tokenizer and configuration."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..inference.hf_folders import CLASSIFIER, MASKED_LM, Folder, find, load, load_fast_tokenizer
from ..inference.limits import SHORTEST, positions
from ..models.model import label_names
from ..problem import label_key

KINDS = {"ForSequenceClassification": CLASSIFIER, "ForMaskedLM": MASKED_LM}
#: How many tokens a local model reads by default.
USUAL_LENGTH = 256
#: How transformers names labels without a name.
NAMELESS = re.compile(r"LABEL_\d+")


@dataclass(frozen=True)
class OriginalModel:
    """A model in single precision on the CPU, with its tokenizer and its configuration."""

    folder: Folder
    config: dict[str, Any]
    architecture: str
    model: Any
    tokenizer: Any

    @property
    def is_masked_lm(self) -> bool:
        """Whether it predicts masked words; otherwise it labels pairs."""
        return self.architecture.endswith("ForMaskedLM")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What a classifier answers, in the order of its outputs."""
        return label_names(self.model.config.id2label, f"{self.folder.who}: config.json")

    def named(self, label_map: Mapping[str, str]) -> tuple[str, ...]:
        """Its labels; those without a name get it from the label map. A masked-LM has none."""
        if self.is_masked_lm:
            return ()
        meant = {label_key(label): target for label, target in label_map.items()}
        return tuple(meant.get(label_key(name), name) if NAMELESS.fullmatch(name) else name for name in self.labels)

    @property
    def types(self) -> bool:
        """Whether it takes segment numbers: it has several, and its tokenizer makes them."""
        several = int(getattr(self.model.config, "type_vocab_size", 0) or 0) > 1
        return several and "token_type_ids" in self.tokenizer.model_input_names

    @property
    def max_length(self) -> int:
        """The default length, or fewer tokens if it has fewer positions."""
        return min(USUAL_LENGTH, int(self.tokenizer.model_max_length), positions(self.model) or USUAL_LENGTH)


def open_original(name: str, revision: str = "") -> OriginalModel:
    """Load a model from a folder or from the hub; what cannot be exported is refused before any work."""
    folder = find(name, revision)
    config = folder.read_config()
    architecture, auto = _kind(config, folder.who)
    tokenizer = load_fast_tokenizer(folder)
    original = OriginalModel(folder, config, architecture, load(folder, auto).eval(), tokenizer)
    _refuse_unusable(original)
    return original


def _kind(config: dict[str, Any], who: str) -> tuple[str, str]:
    named = [str(name) for name in config.get("architectures") or []]
    for name in named:
        for ending, auto in KINDS.items():
            if name.endswith(ending):
                return name, auto
    found = f"is a {', '.join(named)}" if named else "does not name its architecture"
    fix = "export a model with an architecture (config.json) that ends in ForSequenceClassification or ForMaskedLM"
    raise BadInput(f"{found}: neither a classifier nor a masked-LM", where=who, field="architectures", fix=fix)


def _refuse_unusable(original: OriginalModel) -> None:
    who = original.folder.who
    if not original.is_masked_lm:
        _ = original.labels
    elif original.tokenizer.mask_token_id is None:
        raise BadInput("its tokenizer has no mask token", where=who, fix="save it with mask_token set")
    if original.max_length < SHORTEST:
        message = f"reads {original.max_length} tokens at most"
        raise BadInput(message, where=who, fix=f"a pair of texts needs {SHORTEST} or more")


def write_config(original: OriginalModel, folder: Path, labels: tuple[str, ...]) -> None:
    """Write the tokenizer and the configuration, with the labels of a classifier."""
    original.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    names: dict[str, Any] = {"id2label": {str(i): name for i, name in enumerate(labels)}} if labels else {}
    if labels and labels != original.labels:
        names["label2id"] = {name: i for i, name in enumerate(labels)}
    text = json.dumps({**original.config, **names}, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
