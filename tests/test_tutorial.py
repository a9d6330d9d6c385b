"""The tutorial is a valid notebook, runs from top to bottom, and shows what it shows when it is run today."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import notebooks
import pytest
from refusals import UPDATE

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
WHOLE = json.loads(TUTORIAL.read_text(encoding="utf-8"))
#: Keys of a cell by kind, and of an output, as the notebook format 4.5 has them.
CELL_KEYS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {"cell_type", "id", "metadata", "source", "execution_count", "outputs"},
}
OUTPUT_KEYS = {
    "stream": {"output_type", "name", "text"},
    "execute_result": {"output_type", "execution_count", "metadata", "data"},
}


def outputs_of(tmp_path: Path, *replaced: str) -> list[list[dict[str, Any]]]:
    warnings = "ignore" if replaced else "error"  # another model may be weak
    environment = {**os.environ, "OTHERWORDS_CACHE": str(tmp_path / "cache.sqlite"), "PYTHONWARNINGS": warnings}
    command = [sys.executable, notebooks.__file__, str(TUTORIAL), *replaced]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def comparable(output: dict[str, Any]) -> Any:
    """What must be the same each time: not how Polars draws its frames, nor the version in a signature."""
    data = {kind: "".join(lines) for kind, lines in output.get("data", {"text": output.get("text", ())}).items()}
    if data.get("text/plain", "").startswith("shape: "):
        return data["text/plain"].partition("\n")[0]
    return {kind: re.sub(r'title="[^"]*"', "", text) for kind, text in data.items()}


@pytest.mark.slow
def test_the_tutorial_shows_what_it_shows_today(tmp_path: Path) -> None:
    found = outputs_of(tmp_path)
    if os.environ.get(UPDATE):
        notebooks.fill(TUTORIAL, found)
    stored = [cell["outputs"] for cell in notebooks.cells_of(TUTORIAL)]
    for number, (one, other) in enumerate(zip(stored, found, strict=True), 1):
        assert [comparable(each) for each in one] == [comparable(each) for each in other], f"code cell {number}"


def test_the_tutorial_runs_with_another_model(tmp_path: Path) -> None:
    """The thin version: with a model that needs no time; what is shown is of the same kinds."""
    found = outputs_of(tmp_path, '"nli-small"', '"nli-small=scripted"')
    stored = [cell["outputs"] for cell in notebooks.cells_of(TUTORIAL)]
    kinds = [[sorted(one.get("data", ["text"])) for one in outputs] for outputs in found]
    assert kinds == [[sorted(one.get("data", ["text"])) for one in outputs] for outputs in stored]


def test_the_tutorial_is_a_valid_notebook() -> None:
    assert (WHOLE["nbformat"], WHOLE["nbformat_minor"]) == (4, 5)
    assert set(WHOLE) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert WHOLE["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in WHOLE["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
    for cell in WHOLE["cells"]:
        assert set(cell) == CELL_KEYS[cell["cell_type"]]
        assert all(isinstance(line, str) for line in cell["source"])
        for output in cell.get("outputs", ()):
            assert set(output) == OUTPUT_KEYS[output["output_type"]]
    code = notebooks.cells_of(TUTORIAL)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


def test_the_tutorial_has_tables_and_pictures_and_knows_no_machine() -> None:
    shown = [set(output.get("data", ())) for cell in notebooks.cells_of(TUTORIAL) for output in cell["outputs"]]
    assert sum("text/html" in kinds for kinds in shown) >= 4
    assert sum("image/svg+xml" in kinds for kinds in shown) >= 2
    text = TUTORIAL.read_text(encoding="utf-8")
    assert len(text.encode()) < 200_000
    assert not re.search(r"/(home|Users|root|work|tmp|mnt)/|[A-Z]:\\\\", text)


def test_links_of_the_tutorial_lead_somewhere() -> None:
    text = "".join(notebooks.source_of(cell) for cell in notebooks.cells_of(TUTORIAL, "markdown"))
    links = re.findall(r"\]\((\w[\w.-]*)\)", text)
    assert len(links) >= 4
    assert [link for link in links if not (TUTORIAL.parent / link).exists()] == []
