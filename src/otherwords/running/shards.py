"""Taking in the data of a study: all of it is checked, and cut between buckets into the shards of `problems/`."""

import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._version import __version__
from ..datasets.source import Source
from ..errors import caller_level
from ..frames import Piece, join_pieces
from ..problem import Task
from ..progress import current
from ..storage.files import digest, fingerprint
from ..storage.run_folder import RunFolder, key_of, read_part

#: Rows after which a shard ends, at the next bucket; and where a generator or check works problem by problem: it may
#: be slow, and what it did of a shard is lost when the run is interrupted.
SHARD, SLOW_SHARD = 20_000, 2_000
#: Rows that are in memory together while scattered buckets are put together.
_GROUP = 200_000


def take_in(source: Source, folder: RunFolder, shard: int = SHARD) -> dict[str, Any]:
    """Read the data into the folder as `problems/`, bucket by bucket; return the counts."""
    files = [path for bound in source.bound for path in bound.function.files]
    unseen = any(str(path) == "-" for path in files)
    key = digest(__version__, source.signature, shard, [fingerprint(path) for path in files if path.exists()])
    counts = dict(folder.manifest.get("intake", {}))
    draft = RunFolder(folder.path / ".taking-in")  # until all is known to be good, an earlier study stays as it was
    shutil.rmtree(draft.path, ignore_errors=True)
    known = counts.get("key") == key and {"shards", "rows", "originals", "rejected", "no_majority"} <= counts.keys()
    if known and not unseen and _is_whole(folder, key, counts["shards"]):
        return keep_problems(folder)
    try:
        cutter = _Cutter(shard)
        with warnings.catch_warnings(record=True) as caught:
            count = _write(draft, key, cutter.cut(_counted(source.pieces()), source.chosen), unseen)
        if not cutter.contiguous:
            _align(draft)
            count = _write(draft, key, _Cutter(shard).cut(_bucket_by_bucket(draft), source.chosen), unseen)
            draft.trim("problems", count)
        _align(draft)
        folder.adopt("problems", draft)
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)
    intake = source.intake
    counts = {"key": key, "shards": count, "rows": intake.accepted, "originals": cutter.originals,
              "no_majority": intake.no_majority, "rejected": len(intake.rejected)}  # fmt: skip
    if intake.unlabelled:
        counts["unlabelled"] = intake.unlabelled
    if caught:
        counts["warnings"] = [str(one.message) for one in caught]
        for message in counts["warnings"]:
            warnings.warn(message, stacklevel=caller_level())
    (folder.path / "rejected.jsonl").unlink(missing_ok=True)
    if intake.rejected:
        source.write_rejected(folder.path)
    folder.note(intake=counts)
    return counts


def keep_problems(folder: RunFolder) -> dict[str, Any]:
    """The counts of an earlier intake, whose problems stay as they are."""
    counts = dict(folder.manifest["intake"])
    for message in counts.get("warnings", ()):  # a suite that leaves rows out says so in every report
        warnings.warn(message, stacklevel=caller_level())
    current().advance(counts["rows"])
    return counts


class _Cutter:
    """Cuts a stream of rows into frames between buckets, and records whether every bucket was contiguous."""

    def __init__(self, shard: int):
        self.shard, self.contiguous, self.originals = shard, True, 0
        self._bucket: str | None = None

    def cut(self, pieces: Iterable[Piece], task: Task) -> Iterator[pl.DataFrame]:
        some: list[Piece] = []
        height = 0
        for piece in pieces:
            begin, starts = 0, self._starts(piece)
            while begin < len(piece):
                beginnings = starts[np.searchsorted(starts, begin + max(self.shard - height, 0 if height else 1)) :]
                end = int(beginnings[0]) if len(beginnings) else len(piece)
                if end > begin:
                    some.append(piece[begin:end])
                height, begin = height + end - begin, end
                if len(beginnings):
                    yield join_pieces(some, task)
                    some, height = [], 0
        if some:
            yield join_pieces(some, task)

    def _starts(self, piece: Piece) -> np.ndarray:
        """Where the buckets of a piece begin; all of its rows once some bucket is in pieces, and must be cut again."""
        frame = (
            piece.select("id", "of")
            if isinstance(piece, pl.DataFrame)
            else pl.DataFrame({name: pl.Series([row[name] for row in piece], dtype=pl.String) for name in ("id", "of")})
        )
        is_original = frame["of"].is_null()
        buckets = frame.select(
            pl.when(is_original).then("id").forward_fill().fill_null(pl.lit(self._bucket, pl.String))
        ).to_series()
        self.contiguous &= bool((is_original | buckets.eq_missing(frame["of"])).all())
        self.originals += int(is_original.sum())
        self._bucket = buckets[-1] if len(buckets) else self._bucket
        return is_original.arg_true().to_numpy() if self.contiguous else np.arange(len(piece))


def _write(folder: RunFolder, key: str, frames: Iterable[pl.DataFrame], unseen: bool) -> int:
    """Write frames as parts. No signature covers standard input, so its content is in the keys."""
    count = 0
    for frame in frames:
        folder.write("problems", count, digest(key, count, frame.write_ndjson() if unseen else ""), frame)
        count += 1
    return count


def _counted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        current().advance(len(piece))
        yield piece


def _bucket_by_bucket(folder: RunFolder) -> Iterator[pl.DataFrame]:
    """All rows with each original before its variants, in the order of the originals, which come before them already.

    The rows are dealt out on disk to groups that follow one another, so that no more than a group is in memory.
    """
    place, groups = "\0place", folder.path / "groups"  # no column of the user's is called so
    groups.mkdir()
    places, done = _places(folder.parts("problems")), 0
    for number, part in enumerate(folder.parts("problems")):
        frame = read_part(part)
        frame = frame.with_columns(pl.Series(place, places[done : done + frame.height]))
        done += frame.height
        for (group,), some in frame.group_by(pl.col(place) // _GROUP, maintain_order=True):
            some.write_parquet(groups / f"{group:06}-{number:06}.parquet", compression="lz4", statistics=False)
    for group in range(len(places) // _GROUP + 1):
        if dealt := sorted(groups.glob(f"{group:06}-*.parquet")):
            yield pl.concat([read_part(one) for one in dealt]).sort(place).drop(place)


def _places(parts: Sequence[Path], seed: int = 0) -> np.ndarray:
    """The place of each row where every bucket is in one piece. Ids are known by hashes that all differ."""
    frames = (pl.read_parquet(part, columns=["id", "of"], glob=False) for part in parts)
    hashed = [(one["of"].is_null().to_numpy(), one.select(pl.coalesce("of", "id").hash(seed))) for one in frames]
    is_original = np.concatenate([flags for flags, _ in hashed])
    buckets = np.concatenate([hashes.to_series().to_numpy() for _, hashes in hashed])
    numbers = np.flatnonzero(is_original)
    order = np.argsort(buckets[numbers])
    names, numbers = buckets[numbers][order], numbers[order]
    if (names[1:] == names[:-1]).any():
        return _places(parts, seed + 1)
    begins = numbers[np.searchsorted(names, buckets)]
    places = np.empty(len(begins), np.int64)
    places[np.argsort(begins, kind="stable")] = np.arange(len(begins))
    return places


def _align(folder: RunFolder) -> None:
    """Give all parts the same columns of the same kinds, so that any reader can open `problems/*.parquet` as one."""
    parts = folder.parts("problems")
    scans = [pl.scan_parquet(part, glob=False) for part in parts]
    schema = pl.concat(scans, how="diagonal_relaxed").collect_schema()
    for number, part in enumerate(parts):
        if scans[number].collect_schema() != schema:
            whole = pl.concat([pl.DataFrame(schema=schema), read_part(part)], how="diagonal_relaxed")
            folder.write("problems", number, key_of(part), whole)


def _is_whole(folder: RunFolder, key: str, count: int) -> bool:
    wanted = [digest(key, number, "") for number in range(count)]
    return [key_of(part) for part in folder.parts("problems")] == wanted
