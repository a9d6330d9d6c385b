"""Whether a folder's weights are whole, and are those that its configuration speaks of: neither fewer nor more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import BadInput

#: Weights of an encoder that one may have or lack: those of a task, and tables that are computed.
_OPTIONAL = ("pooler", "position_ids", "inv_freq", "embeddings._weight")


def of_encoder(model: Any, names: Iterable[str]) -> list[str]:
    """Which of these weights belong to the encoder itself, and not to a head; without those it may do without.

    Weights of an encoder that was saved without a head are named without its prefix.
    """
    parts = {name for name, _ in model.base_model.named_children()} - {name for name, _ in model.named_children()}
    inside = f"{model.base_model_prefix}."
    own = (name for name in names if name.startswith(inside) or name.partition(".")[0] in parts)
    return [name for name in own if not any(part in name for part in _OPTIONAL)]


def refuse_lost(model: Any, missing: Iterable[str], who: str) -> None:
    """Raise where weights of the encoder are missing: it would compute with random ones."""
    if lost := of_encoder(model, missing):
        message = f"its weights lack {_some(lost)} of the encoder itself"
        raise BadInput(message, where=who, fix="save it again, with all its weights and the config.json they are of")


def refuse_unused(model: Any, unexpected: Iterable[str], who: str) -> None:
    """Raise where weights of the encoder would not be used; the heads of other tasks need not be."""
    if unused := of_encoder(model, unexpected):
        message = f"config.json knows nothing of {_some(unused)}, which are weights of the encoder itself"
        raise BadInput(message, where=who, fix="put the config.json beside them that they were saved with")


def refuse_damaged(folder: Path, who: str) -> None:
    """Raise where a file of weights cannot be read, because it was cut short or is something else."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, "pt"):
                pass
        except SafetensorError as error:
            raise BadInput(f"{file.name} is damaged ({error})", where=who, fix="download or save it again") from error


def _some(names: list[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
