"""The same study on several engines: what users see of it."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

from warned import lines

import otherwords as ow

ROWS = [
    {"id": f"p{number}", "premise": f"It isn't {number} o'clock.", "hypothesis": f"It's {number}.", "label": "neutral"}
    for number in range(12)
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def seen(out: Path, engine: str, **settings: Any) -> tuple[dict[str, bytes], list[str], dict[str, Any]]:
    """The files of a run, what it warned of, and its manifest."""
    plain = {"models": ["scripted"], "canary": False, "cache": None, "shard": 4, "replicates": 50}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.run(out=out, engine=engine, **{**plain, **settings})
    return files_of(out), lines(caught), manifest_of(out)


def files_of(out: Path) -> dict[str, bytes]:
    """The files of a run by name, without what is of this run only."""
    names = ("*.parquet", "scores.json", "unvaried.jsonl", "report.html")
    files = {str(one.relative_to(out)): one.read_bytes() for name in names for one in sorted(out.rglob(name))}
    own = rb"<dt>timings.*|<b>(engine|workers|shared)</b> [^\s<]*"
    return files | {"report.html": re.sub(own, b"", files["report.html"])}


def manifest_of(out: Path) -> dict[str, Any]:
    """The manifest of a run, likewise."""
    found = json.loads((out / "manifest.json").read_text())
    return {name: entry for name, entry in found.items() if name not in ("timings", "study")}


def assert_both_see_the_same(tmp_path: Path, other: str = "processes:2", **settings: Any) -> list[str]:
    here, there = (seen(tmp_path / engine[:4], engine, **settings) for engine in ("in-process", other))
    assert here[0].keys() == there[0].keys()
    assert [name for name in here[0] if here[0][name] != there[0][name]] == []
    assert here[1:] == there[1:]
    return here[1]
