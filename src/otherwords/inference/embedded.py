"""The models that come with the package."""

from __future__ import annotations

from pathlib import Path

from ..errors import BadInput

ASSETS = Path(__file__).parents[1] / "assets"


def embedded(name: str) -> Path:
    """The folder of an embedded model, which an installation may have been stripped of."""
    if not (ASSETS / name / "model.onnx").is_file():
        fix = "reinstall otherwords, or name a model of your own: onnx:FOLDER, hf:NAME"
        raise BadInput("the embedded model is not in this installation", where=name, fix=fix)
    return ASSETS / name
