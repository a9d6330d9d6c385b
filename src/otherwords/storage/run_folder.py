"""The run folder: one folder of Parquet parts per stage, each part with the key of what it was made from.

A part whose key still matches is never made again. That rule makes a run resumable, and a rerun as cheap as the change.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput
from .files import atomic, lock_folder, remove_drafts, write_json

_KEY = "otherwords.key"


class RunFolder:
    """The folder of one study: problems/, variants/, buckets/, answers/, scores.json, report.html, manifest.json."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for the block; a second process is refused at once with `Busy`."""
        if self.path.exists() and not self.path.is_dir():
            raise BadInput("is a file, not a folder", where=str(self.path), fix="choose another folder with -o")
        fresh = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.path, self.path / ".lock"):
            remove_drafts(self.path)
            try:
                yield
            finally:
                if fresh and [file.name for file in self.path.iterdir()] == [".lock"]:
                    # Bad input, nothing was written. Windows cannot delete the open lock: there the folder stays.
                    shutil.rmtree(self.path, ignore_errors=True)

    def part(self, stage: str, number: int) -> Path:
        """The path of the given shard of a stage."""
        return self.path / stage / f"part-{number:05}.parquet"

    def parts(self, stage: str) -> list[Path]:
        """All parts of a stage, in order."""
        return sorted((self.path / stage).rglob("part-*.parquet"))

    def make(self, stage: str, number: int, key: str, build: Callable[[], pl.DataFrame]) -> Path:
        """Return the path of a shard's part; build it only if there is none with this key."""
        path = self.part(stage, number)
        if key_of(path) != key:
            self.write(stage, number, key, build())
        return path

    def write(self, stage: str, number: int, key: str, frame: pl.DataFrame) -> None:
        """Write a shard's part atomically, with its key in the Parquet metadata."""
        with atomic(self.part(stage, number)) as draft:
            frame.write_parquet(draft, metadata={_KEY: key}, statistics=False)

    def trim(self, stage: str, count: int) -> None:
        """Delete parts beyond `count`: leftovers of an earlier, larger study in the same folder."""
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
                read_part(part)  # names the damaged one
            raise BadInput(f"{stage} cannot be read together: {error}", where=str(self.path)) from error

    def begin(self, **about: Any) -> None:
        """Open the manifest of a study, and delete the results of a different study that used this folder before."""
        before = self.manifest
        if any(before.get(name) != _as_json(about[name]) for name in ("study", "task", "inputs", "otherwords")):
            for name in ("scores.json", "report.html"):
                (self.path / name).unlink(missing_ok=True)
            before = {"intake": before.get("intake", {})}
        write_json(self.path / "manifest.json", {**before, **about})

    @property
    def manifest(self) -> dict[str, Any]:
        """Inputs, signatures, seed, versions and timings of the run. Empty before the first stage."""
        path = self.path / "manifest.json"
        try:
            entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(entries, dict):
                raise ValueError(f"found {type(entries).__name__}, not a JSON object")
        except ValueError as error:
            raise BadInput(
                f"is damaged: {error}", where=str(path), fix="delete it: the run then starts over"
            ) from error
        return entries

    def note(self, **entries: Any) -> None:
        """Add entries to the manifest."""
        write_json(self.path / "manifest.json", {**self.manifest, **entries})


def read_part(path: Path) -> pl.DataFrame:
    """Read one part; the error names a damaged one."""
    try:
        return pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        message = f"is damaged: {str(error).splitlines()[0]}"
        raise BadInput(message, where=str(path), fix="delete it and run again: it will be rebuilt") from error


def key_of(path: Path) -> str:
    """Return the key a part was written with, or "" if it is absent or unreadable."""
    if not path.exists() or path.stat().st_size == 0:
        return ""
    try:
        return pl.read_parquet_metadata(path).get(_KEY, "")
    except pl.exceptions.PolarsError:
        return ""


def _as_json(value: Any) -> Any:
    """Return a value as it comes back from JSON: tuples as lists."""
    return json.loads(json.dumps(value))
