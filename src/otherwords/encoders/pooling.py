"""How an encoder makes one vector of its tokens': as sentence-transformers writes beside a model, or the user says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadInput
from .reading import read_json

if TYPE_CHECKING:
    import torch

POOLINGS = ("mean", "cls")
#: How sentence-transformers' files name them: as one of many switches, and since version 5.3 as a word.
_WRITTEN = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "mean": "mean", "cls": "cls"}
#: Parts of a model that leave its vectors' direction alone; all vectors are made unit length here.
_KNOWN = ("Transformer", "Pooling", "Normalize")


def choose_pooling(wanted: str, folder: Path, who: str) -> str:
    """The pooling that the user wants, or else that the folder tells; a folder that tells nothing has mean.

    What sentence-transformers would compute besides is refused: it is no encoder without it.
    """
    if wanted and wanted not in POOLINGS:
        raise BadInput(f"found {wanted!r}", where=who, field="pooling", fix=f"give one of {', '.join(POOLINGS)}")
    place = _pooling_folder(folder, who)
    if wanted or place is None:
        return wanted or "mean"
    if not (file := folder / place / "config.json").is_file():
        fix = "fetch it, too, or give pooling=mean or pooling=cls"
        raise BadInput(f"has no {place}/config.json, of which modules.json speaks", where=who, fix=fix)
    return _read_pooling(file, who)


def pooled(states: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """The first token's state of each row, or the mean over all that are not filled up."""
    if pooling == "cls":
        return states[:, 0].float()
    if mask is None:
        return states.float().mean(dim=1)
    real = mask[:, :, None].float()
    return (states.float() * real).sum(dim=1) / real.sum(dim=1)


def _pooling_folder(folder: Path, who: str) -> str | None:
    """Where the pooling of a model of sentence-transformers is described; None for other models."""
    if not (file := folder / "modules.json").is_file():
        return None
    parts = read_json(file, who)
    if not (
        isinstance(parts, list) and all(isinstance(part, dict) and {"type", "path"} <= set(part) for part in parts)
    ):
        fix = "download or save it again, or give a folder without it and pooling=mean or pooling=cls"
        raise BadInput("modules.json is no list of parts with type and path", where=who, fix=fix)
    names = [str(part["type"]).rpartition(".")[2] for part in parts]
    if strangers := [name for name in names if name not in _KNOWN]:
        fix = f"use one that is made of {', '.join(_KNOWN)} alone"
        raise BadInput(f"its vectors are computed on by {', '.join(strangers)}", where=who, fix=fix)
    return next((str(part["path"]) for part, name in zip(parts, names, strict=True) if name == "Pooling"), None)


def _read_pooling(file: Path, who: str) -> str:
    told = read_json(file, who)
    if not isinstance(told, dict):
        found = f"{file.parent.name}/config.json holds no names and values"
        raise BadInput(found, where=who, fix="download or save it again, or give pooling=")
    switches = [name for name, on in told.items() if name.startswith("pooling_mode_") and on is True]
    modes = [told["pooling_mode"]] if "pooling_mode" in told else switches
    if len(modes) != 1 or modes[0] not in _WRITTEN:
        message = f"{file.parent.name}/config.json asks for {', '.join(map(str, modes)) or 'no pooling'}"
        raise BadInput(message, where=who, fix=f"use a model of {' or '.join(POOLINGS)} pooling, or give pooling=")
    return _WRITTEN[modes[0]]
