"""The run folder: a folder of Parquet parts per stage, each part carrying the key of what it was made from.

A part whose key still fits is never made again. That one rule makes a run resumable, and a rerun cost what changed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput
from .files import alone, atomic, sweep, write_json

_KEY = "otherwords.key"


class RunFolder:
    """Where one study lives: problems/, variants/, buckets/, answers/, scores.json, report.html, manifest.json."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process alone; a second run of it is refused at once."""
        if self.path.exists() and not self.path.is_dir():
            raise BadInput("is a file, not a folder", where=str(self.path), fix="choose another place with -o")
        fresh = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        with alone(self.path, self.path / ".lock"):
            sweep(self.path)
            try:
                yield
            finally:
                if fresh and [one.name for one in self.path.iterdir()] == [".lock"]:
                    shutil.rmtree(self.path)  # bad input: nothing came of it

    def part(self, stage: str, number: int) -> Path:
        """Where the given shard of a stage lies."""
        return self.path / stage / f"part-{number:05}.parquet"

    def parts(self, stage: str) -> list[Path]:
        """All parts of a stage, in order."""
        return sorted((self.path / stage).rglob("part-*.parquet"))

    def make(self, stage: str, number: int, key: str, build: Callable[[], pl.DataFrame]) -> Path:
        """Give the part of a shard, building it only where none with this key exists."""
        path = self.part(stage, number)
        if key_of(path) != key:
            self.write(stage, number, key, build())
        return path

    def write(self, stage: str, number: int, key: str, frame: pl.DataFrame) -> None:
        """Write the part of a shard, whole or not at all, with its key inside."""
        with atomic(self.part(stage, number)) as draft:
            frame.write_parquet(draft, metadata={_KEY: key}, statistics=False)

    def trim(self, stage: str, count: int) -> None:
        """Remove parts beyond the last: leftovers of an earlier, larger study in the same folder."""
        for path in self.parts(stage):
            if int(path.stem.removeprefix("part-")) >= count:
                path.unlink()

    def read(self, stage: str) -> pl.DataFrame:
        """Read a whole stage as one table; parts may differ in their extra columns."""
        parts = self.parts(stage)
        if not parts:
            raise BadInput(f"has no {stage}", where=str(self.path), fix="run the study first: otherwords run")
        try:
            return pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed").collect()
        except pl.exceptions.PolarsError as error:
            for part in parts:
                read_part(part)  # tells which one it is
            raise BadInput(f"{stage} cannot be read together: {error}", where=str(self.path)) from error

    def begin(self, **about: Any) -> None:
        """Open the manifest of a study. What an earlier, different study in this folder concluded is removed."""
        before = self.manifest
        if any(before.get(name) != _plain(about[name]) for name in ("study", "task", "inputs", "otherwords")):
            for name in ("scores.json", "report.html"):
                (self.path / name).unlink(missing_ok=True)
            before = {"intake": before.get("intake", {})}
        write_json(self.path / "manifest.json", {**before, **about})

    @property
    def manifest(self) -> dict[str, Any]:
        """What is known of the run: inputs, signatures, seed, versions, timings. Empty before the first stage."""
        path = self.path / "manifest.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(known, dict):
                raise ValueError(f"found {type(known).__name__}, not a JSON object")
        except ValueError as error:
            raise BadInput(
                f"is damaged: {error}", where=str(path), fix="delete it: the run then starts over"
            ) from error
        return known

    def note(self, **entries: Any) -> None:
        """Add entries to the manifest."""
        write_json(self.path / "manifest.json", {**self.manifest, **entries})


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))


def read_part(path: Path) -> pl.DataFrame:
    """Read one part; one that is damaged inside is named."""
    try:
        return pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        found = f"is damaged: {str(error).splitlines()[0]}"
        raise BadInput(found, where=str(path), fix="delete it and run again: it is made anew") from error


def key_of(path: Path) -> str:
    """The key a part was written with, or nothing where it is absent or unreadable."""
    if not path.exists() or path.stat().st_size == 0:
        return ""
    try:
        return pl.read_parquet_metadata(path).get(_KEY, "")
    except pl.exceptions.PolarsError:
        return ""
