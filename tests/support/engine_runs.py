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
        done = ow.run(out=out, engine=engine, **{**plain, **settings})
    names = ("*.parquet", "scores.json", "unvaried.jsonl", "report.html")
    files = {str(one.relative_to(out)): one.read_bytes() for name in names for one in sorted(out.rglob(name))}
    files["report.html"] = re.sub(rb"<dt>timings.*|<b>engine</b> [a-z:0-9-]+", b"", files["report.html"])
    about = {name: entry for name, entry in done.manifest.items() if name not in ("timings", "study")}
    return files, lines(caught), about


def assert_both_see_the_same(tmp_path: Path, **settings: Any) -> list[str]:
    here, there = (seen(tmp_path / engine[:4], engine, **settings) for engine in ("in-process", "processes:2"))
    assert here[0].keys() == there[0].keys()
    assert [name for name in here[0] if here[0][name] != there[0][name]] == []
    assert here[1:] == there[1:]
    return here[1]
