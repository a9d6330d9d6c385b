"""Checkpoints as safetensors: weights, optimiser, random state and progress; written as a whole or not at all."""

import json
import shutil
from pathlib import Path
from typing import Any

from ..storage.files import disk_errors

FOLDER = "checkpoint"


def save(folder: Path, model: Any, optimizer: Any, progress: dict[str, Any]) -> None:
    """Replace the checkpoint of a training by the current state."""
    import torch
    from safetensors.torch import save_file

    new, old, kept = (folder / name for name in (f"{FOLDER}.new", f"{FOLDER}.old", FOLDER))
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    numbers = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        numbers["cuda"] = torch.cuda.get_rng_state()  # gpu only
    with disk_errors(new):
        save_file(_weights(model), new / "model.safetensors")
        save_file(_moments(model, optimizer), new / "optimizer.safetensors")
        save_file(numbers, new / "random.safetensors")
        (new / "progress.json").write_text(json.dumps(progress), encoding="utf-8")
    if kept.exists():  # otherwise a killed process left only the old one
        shutil.rmtree(old, ignore_errors=True)
        kept.rename(old)
    new.rename(kept)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path, model: Any, optimizer: Any) -> dict[str, Any] | None:
    """Restore a training from its checkpoint and return its progress; None without a checkpoint."""
    import torch
    from safetensors.torch import load_file

    if not exists(folder):
        return None
    kept = folder / FOLDER if (folder / FOLDER).exists() else folder / f"{FOLDER}.old"  # killed between two renames
    stored = load_file(kept / "model.safetensors")
    with torch.no_grad():
        for name, weight in _weights(model).items():
            weight.copy_(stored[name])
    _restore(model, optimizer, load_file(kept / "optimizer.safetensors"))
    numbers = load_file(kept / "random.safetensors")
    torch.set_rng_state(numbers["cpu"])
    if "cuda" in numbers and torch.cuda.is_available():
        torch.cuda.set_rng_state(numbers["cuda"])  # gpu only
    progress: dict[str, Any] = json.loads((kept / "progress.json").read_text(encoding="utf-8"))
    return progress


def exists(folder: Path) -> bool:
    """Whether a training can be resumed."""
    return any((folder / name / "progress.json").is_file() for name in (FOLDER, f"{FOLDER}.old"))


def is_trained(folder: Path) -> bool:
    """Whether a training is finished: its weights are written last."""
    return (folder / "model.safetensors").is_file()


def remove(folder: Path) -> None:
    """Remove the checkpoint of a finished training."""
    for name in (f"{FOLDER}.new", f"{FOLDER}.old", FOLDER):
        shutil.rmtree(folder / name, ignore_errors=True)


def _weights(model: Any) -> dict[str, Any]:
    """Parameters, each once: tied ones share a tensor, which safetensors refuses to store twice."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def _moments(model: Any, optimizer: Any) -> dict[str, Any]:
    states = optimizer.state
    return {
        f"{name}:{part}": value
        for name, parameter in model.named_parameters()
        for part, value in states.get(parameter, {}).items()
    }


def _restore(model: Any, optimizer: Any, stored: dict[str, Any]) -> None:
    parameters = dict(model.named_parameters())
    for key, value in stored.items():
        name, _, part = key.rpartition(":")
        parameter = parameters[name]
        # `step` stays on the CPU, or on the device of the weights if the optimiser is fused.
        moved = part != "step" or bool(optimizer.param_groups[0].get("fused"))
        optimizer.state[parameter][part] = value.to(parameter.device) if moved else value
