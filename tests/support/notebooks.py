"""Notebooks without Jupyter: run the code cells of one in order, and give what each would show.

`python notebooks.py FILE [OLD NEW]` prints a list of outputs for each code cell as JSON, with a text replaced in all
cells before they run, if two are given. A cell with the tag `again` runs twice, as people do.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Output = dict[str, Any]
#: The ways in which an object shows itself, as Jupyter asks for them.
REPRESENTATIONS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def cells_of(notebook: Path, kind: str = "code") -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run(notebook: Path, old: str = "", new: str = "") -> list[list[Output]]:
    """Run all code cells, in the namespace of `__main__`, as a kernel does."""
    namespace = vars(sys.modules["__main__"])
    outputs = []
    for number, cell in enumerate(cells_of(notebook), 1):
        source = source_of(cell).replace(old, new) if old else source_of(cell)
        for _ in range(2 if "again" in cell["metadata"].get("tags", ()) else 1):
            found = _run_cell(source, namespace, number)
        outputs.append(found)
    return outputs


def _run_cell(source: str, namespace: dict[str, Any], number: int) -> list[Output]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and source.strip()[-1] != ";" else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), namespace) if last else None
    outputs: list[Output] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        outputs.append(
            {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown(value)}
        )
    return outputs


def shown(value: Any) -> dict[str, list[str]]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    for kind, method in REPRESENTATIONS.items():
        if hasattr(value, method):
            data[kind] = getattr(value, method)().splitlines(keepends=True)
    return data


def fill(notebook: Path, outputs: list[list[Output]]) -> None:
    """Store outputs in the notebook."""
    whole = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    for number, (cell, found) in enumerate(zip(code, outputs, strict=True), 1):
        cell["outputs"], cell["execution_count"] = found, number
    notebook.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    result = run(Path(sys.argv[1]), *sys.argv[2:])
    print(json.dumps(result))
