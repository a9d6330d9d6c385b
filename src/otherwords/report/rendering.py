"""From a run folder to its page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput
from ..problem import Score, Task
from ..storage.files import write_text
from ..storage.run import RunFolder
from .page import render


def rerender(path: str | Path, out: Path | None = None) -> Path:
    """Render the report of a finished run again, from what its folder holds."""
    folder = RunFolder(path)
    if not (folder.path / "scores.json").exists():
        raise BadInput("has no scores.json", where=str(path), fix="name the folder of a finished run: otherwords run")
    try:
        scores = [Score(**one) for one in json.loads((folder.path / "scores.json").read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        fix = "run the study again"
        raise BadInput(f"its scores.json is damaged: {error}", where=str(path), fix=fix) from error
    if "task" not in folder.manifest:
        raise BadInput("has no manifest.json", where=str(path), fix="run the study again")
    return write_report(folder, scores, out)


def write_report(folder: RunFolder, scores: Sequence[Score], out: Path | None = None) -> Path:
    """Render the report of a run folder."""
    manifest = folder.manifest
    task = Task(**manifest["task"])
    page = render(scores, folder.read("answers"), folder.read("buckets"), task, manifest)
    path = out or folder.path / "report.html"
    write_text(path, page)
    return path
