"""The run folder: one folder of Parquet parts per stage, each part with the key of what it was made from.

A part whose key still matches is never made again. That rule makes a run resumable, and a rerun as cheap as the change.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from .._version import __version__
from ..errors import BadInput
from .files import RUN_FILES, STAGES, atomic, digest, lock_folder, refuse_link, remove_drafts, write_json

#: What Polars raises of a damaged Parquet file; of some damage it panics, and that is no Exception.
DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_KEY = "otherwords.key"
#: Rows that are read at a time, at least, where a stage is read in batches.
_BATCH = 50_000
#: Letters of Polars' message that are shown.
_MOST = 200
_PART = re.compile(r"part-(\d{5,})\.parquet")
#: A folder within a stage: of a model's answers, or of a table. Others are somebody else's.
_INNER = re.compile(r"(.+-)?[0-9a-f]{8}")
#: What a folder may hold and still count as empty.
_NOTHING = (".lock", ".DS_Store")
#: Settings of a study that say by whom the work is done, and what it may cost.
BY_WHOM = ("engine", "workers", "gpus", "gpu_share", "shared", "max_requests", "max_cost", "prices")
#: Where files for workers, and theirs, are until a run is whole.
SHARDS = ".shards"
_WORK = (".lock", ".taking-in", ".answers.sqlite", ".answers.replies.sqlite", SHARDS)
#: What of a manifest says whether a folder has another study, or another version's.
_OPENING = ("study", "task", "inputs", "otherwords")
#: The manifest of a folder in which nothing has been done.
_MARK = {"otherwords": __version__}


class RunFolder:
    """The folder of one study: problems/, variants/, buckets/, answers/, scores.json, report.html, manifest.json.

    What else lies in it is never deleted, nor written to.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for the block; a second process is refused at once with `Busy`."""
        self.refuse_foreign()
        fresh = [one for one in (self.path, *self.path.parents) if not one.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.path, self.path / ".lock"):
            remove_drafts(self.path)
            if not (self.path / "manifest.json").exists():
                write_json(self.path / "manifest.json", _MARK)  # first of all: it says whose folder this is
            try:
                yield
            finally:
                self._remove_if_empty(fresh)

    def _remove_if_empty(self, fresh: list[Path]) -> None:
        """Bad input, nothing was written: leave the place as it was."""
        names = sorted(file.name for file in self.path.iterdir() if file.name != ".DS_Store")
        if names == [".lock", "manifest.json"] and self._manifest_or_none() == _MARK:
            (self.path / "manifest.json").unlink()
            if fresh:  # Windows cannot delete the open lock: there the folder stays
                shutil.rmtree(self.path, ignore_errors=True)
            for above in fresh[1:]:
                with suppress(OSError):  # somebody else has put something there
                    above.rmdir()

    def refuse_foreign(self) -> None:
        """Refuse a folder that holds something and is not a run's, and links in the place of what a run makes."""
        path, fix = self.path, "choose another folder with -o: a new or empty one, or that of an earlier run"
        refuse_link(path)
        if path.exists() and not path.is_dir():
            raise BadInput("is a file, not a folder", where=str(path), fix="choose another folder with -o")
        names = sorted(one.name for one in path.iterdir() if one.name not in _NOTHING) if path.exists() else []
        if not names:
            refuse_link(path / ".lock")
        elif self.is_run():
            self._refuse_links()
        else:
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            whose = "a manifest.json of something else" if "manifest.json" in names else "no manifest of a run"
            raise BadInput(f"is not empty and not a run folder: it has {shown}, {whose}", where=str(path), fix=fix)

    def is_run(self) -> bool:
        """Whether a run made this folder, as its manifest says; if that was deleted or damaged, a part does."""
        manifest = self._manifest_or_none()
        if manifest is not None:
            return "otherwords" in manifest or "key" in (manifest.get("intake") or ())
        return bool(key_of(self.part("problems", 0)))

    def _manifest_or_none(self) -> dict[str, Any] | None:
        try:
            return self.manifest if (self.path / "manifest.json").is_file() else None
        except BadInput:
            return None

    def _refuse_links(self) -> None:
        inner = [one for stage in ("answers", "tables") for one in (self.path / stage).glob("*")]
        parts = [part for stage in STAGES for part in self.parts(stage)]
        for one in (*(self.path / name for name in (*_WORK, *RUN_FILES, *STAGES)), *inner, *parts):
            refuse_link(one, "a run writes only into its own folder: remove the link, or choose another folder with -o")

    def part(self, stage: str, number: int) -> Path:
        """The path of the given shard of a stage."""
        return self.path / stage / f"part-{number:05}.parquet"

    def parts(self, stage: str) -> list[Path]:
        """All parts of a stage, in order; of the stage `answers`, those of all models, in the order of the study."""
        place = self.path / stage
        found = [*place.glob("part-*.parquet"), *place.glob("*/part-*.parquet")]
        inside = (one for one in found if one.parent == place or _INNER.fullmatch(one.parent.name))
        parts = sorted(one for one in inside if _PART.fullmatch(one.name))
        return sorted(parts, key=self._model_rank()) if stage == "answers" else parts

    def _model_rank(self) -> Callable[[Path], int]:
        """The place of a part's model among those of the study; what the manifest does not name comes last."""
        models = (self._manifest_or_none() or {}).get("signatures", {}).get("models", {})
        folders = [answer_folder(name, signature) for name, signature in models.items()]
        ranks = {self.path / folder: place for place, folder in enumerate(folders)}
        return lambda part: ranks.get(part.parent, len(ranks))

    def make(self, stage: str, number: int, key: str, build: Callable[[], pl.DataFrame]) -> Path:
        """Return the path of a shard's part; build it only if there is none with this key."""
        path = self.part(stage, number)
        if key_of(path) != key:
            self.write(stage, number, key, build())
        return path

    def write(self, stage: str, number: int, key: str, frame: pl.DataFrame) -> None:
        """Write a shard's part atomically, with its key in the Parquet metadata."""
        _refuse_stranger(self.part(stage, number))
        with atomic(self.part(stage, number)) as draft:
            frame.write_parquet(draft, metadata={_KEY: key}, statistics=False)

    def trim(self, stage: str, count: int) -> None:
        """Delete parts beyond `count`: leftovers of an earlier, larger study in the same folder."""
        for path in self.parts(stage):
            if int(path.stem.removeprefix("part-")) >= count:
                _refuse_stranger(path)
                path.unlink()

    def adopt(self, stage: str, made: "RunFolder") -> None:
        """Replace the parts of a stage by those that were made in another folder."""
        parts = made.parts(stage)
        for part in parts:
            _refuse_stranger(self.path / stage / part.name)
        (self.path / stage).mkdir(exist_ok=True)
        for part in parts:
            part.replace(self.path / stage / part.name)
        self.trim(stage, len(parts))

    def remove(self, stage: str) -> None:
        """Delete the parts and tables of a stage, and its folders where nothing else is in them."""
        place = self.path / stage
        tables = [one for one in place.glob("*/table.tsv") if _INNER.fullmatch(one.parent.name)]
        own = [*(part for part in self.parts(stage) if not _is_stranger(part)), *tables]
        if _INNER.fullmatch(place.name) and (place / "table.tsv").exists():
            own.append(place / "table.tsv")
        for path in own:
            path.unlink()
        for folder in (*dict.fromkeys(path.parent for path in own), place):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def inner(self, stage: str) -> list[Path]:
        """The folders that a run made within a stage: one for each model's answers, or for each table."""
        return sorted(one for one in (self.path / stage).glob("*") if one.is_dir() and _INNER.fullmatch(one.name))

    def read(self, stage: str, choose: Callable[[list[str]], list[str]] = list) -> pl.DataFrame:
        """Read a whole stage as one table, or the columns of it that are chosen; parts may differ in extra ones."""
        try:
            table = self.scan(stage)
            return table.select(choose(list(table.collect_schema()))).collect()
        except DAMAGED as error:
            for part in self.parts(stage):
                read_part(part)  # names the damaged one
            raise BadInput(f"{stage} cannot be read together: {error}", where=str(self.path)) from error

    def batches(self, stage: str) -> list[pl.LazyFrame]:
        """A whole stage as tables of a few parts each, which are read when they are collected.

        No bucket is split between them. Small parts are put together, because each table costs time.
        """
        batches: list[list[Path]] = []
        rows = _BATCH
        for part in self._parts_there(stage):
            if rows >= _BATCH:
                batches, rows = [*batches, []], 0
            batches[-1].append(part)
            rows += int(pl.scan_parquet(part, glob=False).select(pl.len()).collect().item())
        return [_together(some) for some in batches]

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Name the damaged part, where one is read in the block whose key fits and whose data cannot be read."""
        try:
            yield
        except DAMAGED:
            for part in (part for stage in STAGES for part in self.parts(stage)):
                read_part(part)
            raise

    def scan(self, stage: str) -> pl.LazyFrame:
        """A whole stage as one table that is read when it is collected."""
        return _together(self._parts_there(stage))

    def _parts_there(self, stage: str) -> list[Path]:
        if parts := self.parts(stage):
            return parts
        raise BadInput(f"has no {stage}", where=str(self.path), fix="run the study first: otherwords run")

    def begin(self, **about: Any) -> None:
        """Open the manifest of a study, and delete the results of a different study that used this folder before."""
        before = self.manifest
        if any(_deciding(before.get(one)) != _deciding(_as_json(about[one])) for one in _OPENING):
            for name in ("scores.json", "report.html"):
                (self.path / name).unlink(missing_ok=True)
            before = {"intake": before.get("intake", {})}
        self._write_manifest({**before, **about})

    @property
    def manifest(self) -> dict[str, Any]:
        """Inputs, signatures, seed, versions and timings of the run. Empty before the first stage."""
        path = self.path / "manifest.json"
        try:
            entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(entries, dict):
                raise ValueError(f"found {type(entries).__name__}, not a JSON object")
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"is damaged: {error}", where=str(path), fix="delete it: the run then starts over"
            ) from error
        return entries

    def note(self, **entries: Any) -> None:
        """Add entries to the manifest."""
        self._write_manifest({**self.manifest, **entries})

    def _write_manifest(self, entries: dict[str, Any]) -> None:
        """Replace the manifest, if anything in it has changed: every write waits for the disk."""
        if not (self.path / "manifest.json").exists() or self.manifest != _as_json(entries):
            write_json(self.path / "manifest.json", entries)


def answer_folder(model: str, signature: str) -> str:
    """The folder of a model's answers, named after it."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in model)[:40].strip("-")
    return f"answers/{plain}-{digest(model, signature)[:8]}"


def _together(parts: list[Path]) -> pl.LazyFrame:
    """Some parts as one table; they may differ in their extra columns."""
    return pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed")


def read_part(path: Path) -> pl.DataFrame:
    """Read one part; the error names a damaged one."""
    try:
        return pl.read_parquet(path, glob=False)
    except DAMAGED as error:
        message = f"is damaged: {str(error).splitlines()[0][:_MOST]}"
        raise BadInput(message, where=str(path), fix="delete it and run again: it will be rebuilt") from error


def is_whole(path: Path) -> bool:
    """Whether a Parquet file is there and has its end, which is written last."""
    return _metadata(path) is not None


def key_of(path: Path) -> str:
    """Return the key a part was written with, or "" if it is absent, unreadable, or of another tool."""
    return (_metadata(path) or {}).get(_KEY, "")


def _metadata(path: Path) -> dict[str, str] | None:
    """The metadata of a Parquet file; None if it is absent or unreadable."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        return pl.read_parquet_metadata(path)
    except DAMAGED:
        return None


def _is_stranger(path: Path) -> bool:
    """Whether a file in the place of a part is somebody else's: a whole Parquet file without a key."""
    found = _metadata(path)
    return found is not None and _KEY not in found


def _refuse_stranger(path: Path) -> None:
    if _is_stranger(path):
        raise BadInput("was not made by this run", where=str(path), fix="move it out of the run folder")


def _deciding(entry: Any) -> Any:
    """An entry of the manifest without what changes no result, nor any warning."""
    return {name: value for name, value in entry.items() if name not in BY_WHOM} if isinstance(entry, dict) else entry


def _as_json(value: Any) -> Any:
    """Return a value as it comes back from JSON: tuples as lists."""
    return json.loads(json.dumps(value))
