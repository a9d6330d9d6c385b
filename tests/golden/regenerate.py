"""Rewrite the golden files with what the code does today: `python tests/golden/regenerate.py [NAME ...]`.

Only for a change of behaviour that is meant: look at the difference that git shows, and say in the commit why it is
right. Without names, all files are written. The functions are those of `test_pins.py`, so that both always agree.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(names: list[str]) -> None:
    from test_pins import HERE, PINS, STUDIES, now

    for name in names or PINS:
        with tempfile.TemporaryDirectory() as folder:
            value = now(name, Path(folder))
        if name in STUDIES:
            value["scores"] = tabulated(value["scores"])
        (HERE / f"{name}.json").write_text(written(value) + "\n", encoding="utf-8")
        print(name)


def tabulated(scores: list[dict[str, Any]]) -> list[list[Any]]:
    """Scores as rows, after the names of the columns."""
    (names,) = {tuple(score) for score in scores}
    return [list(names), *(list(score.values()) for score in scores)]


def written(value: Any, depth: int = 2) -> str:
    """JSON with a line for each entry of the two outer levels: small, and git shows what changed.

    >>> print(written({"a": [1.5, {"b": None}]}))
    {
    "a": [
    1.5,
    {"b":null}
    ]
    }
    """
    if not depth or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(written(one, depth - 1) for one in value) + "\n]"
    lines = [f"{json.dumps(key)}: {written(one, depth - 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    main(sys.argv[1:])
