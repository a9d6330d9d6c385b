"""What the tests of the command line share: a folder of its own, some problems, and two ways to run a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from otherwords.cli.app import app

Rows = list[dict[str, Any]]

PROBLEMS: Rows = [
    {
        "id": "a",
        "premise": "It isn't raining on the two men.",
        "hypothesis": "The men are not wet.",
        "label": "neutral",
        "topic": "weather",
    },
    {
        "id": "b",
        "premise": "A man is sleeping.",
        "hypothesis": "The man isn't asleep.",
        "label": "contradiction",
        "topic": "people",
    },
    {
        "id": "c",
        "premise": "Eine Straße, 日本 🙂: it isn't here.",
        "hypothesis": "They're elsewhere.",
        "label": "entailment",
        "topic": "people",
    },
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; temporary files go beside it, where `leftovers` finds them."""
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("COLUMNS", "120")
    return here


@pytest.fixture
def leftovers(place: Path) -> Callable[[], list[str]]:
    """Temporary files, anywhere, by name: drafts beside outputs, and whatever is in $TMPDIR."""

    def find() -> list[str]:
        drafts = [*place.rglob(".*.part"), *place.rglob(".taking-in")]
        return sorted(path.name for path in [*drafts, *(place.parent / "temporary").iterdir()])

    return find


@pytest.fixture
def problems(place: Path) -> Path:
    """Three problems, seven contractions to open or close, as JSONL."""
    return write_jsonl(place / "problems.jsonl", PROBLEMS)


@pytest.fixture
def repeated(place: Path) -> Path:
    """Variants that repeat the problems under other ids: rewordings that reword nothing, and no control."""
    again = [{**row, "id": f"{row['id']}.again", "of": row["id"], "how": "again"} for row in PROBLEMS]
    return write_jsonl(place / "again.jsonl", again)


@pytest.fixture
def cli(place: Path) -> Callable[..., Result]:
    """Run a command in this process; a traceback fails the test."""

    def run(*arguments: object, stdin: str | bytes | None = None, rc: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == rc, f"exit code {result.exit_code}\n{result.stdout}\n{result.stderr}"
        return result

    return run


@pytest.fixture
def shell(place: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command line in bash, where `otherwords` is this checkout's."""

    def run(line: str, **env: str) -> subprocess.CompletedProcess[str]:
        define = f'otherwords() {{ "{sys.executable}" -c "from otherwords.cli import main; main()" "$@"; }}\n'
        return subprocess.run(
            ["bash", "-c", "set -o pipefail\n" + define + line],
            capture_output=True,
            text=True,
            cwd=place,
            env={**os.environ, "PYTHONWARNINGS": "ignore", **env},
            timeout=60,
        )

    return run


def write_jsonl(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(name="write_jsonl")
def write_jsonl_fixture() -> Callable[[Path, Rows], Path]:
    return write_jsonl


@pytest.fixture
def lines() -> Callable[[Path | str], Rows]:
    """Read JSONL, from a file or from what a command printed."""

    def read(source: Path | str) -> Rows:
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        return [json.loads(line) for line in text.split("\n") if line]

    return read
