"""Files that are whole or absent: atomic writes, locks, checksums and stable hashes, and a scratch database on disk."""

import hashlib
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import Busy


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; move it there when the block succeeds, delete it when it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        with disk_errors(path):
            yield draft
        with draft.open("r+b") as written:  # Windows syncs only what is open for writing
            os.fsync(written.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise a full disk as an OSError with its number and a file name, also where Polars reports it as text."""
    try:
        yield
    except Exception as error:
        match = re.search(r"\(os error (\d+)\)", str(error))
        number = getattr(error, "errno", None) or (int(match[1]) if match else None)
        if number is None or getattr(error, "filename", None):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


@contextmanager
def lock_folder(folder: Path, lock: Path) -> Iterator[None]:
    """Hold the file `lock` for the block, so that one process at a time writes to `folder`; a second gets `Busy`.

    The operating system releases the lock when its process ends, however it ends.
    """
    from filelock import FileLock, Timeout  # late: it takes as long to import as all of this module

    held = FileLock(lock)
    try:
        held.acquire(blocking=False)
    except Timeout as error:
        message = f"another process is using {folder}; wait for it, or choose another folder with -o"
        raise Busy(message) from error
    try:
        yield
    finally:
        held.release()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with atomic(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write JSON in one fixed form (indented, as ordered by the caller), so that equal values are equal bytes."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def remove_drafts(folder: Path) -> None:
    """Delete the temporary files of a killed process in a folder that this process has locked."""
    for draft in folder.rglob(".*.part"):
        draft.unlink(missing_ok=True)


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's content, or of the names and contents of all files below a folder."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return digest(*((str(file.relative_to(path)), fingerprint(file)) for file in files))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(*parts: Any) -> str:
    """SHA-256 of JSON-like values: the same on every machine and in every process, unlike `hash`."""
    return hashlib.sha256(
        json.dumps(parts, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def seed_for(*parts: Any) -> int:
    """A 63-bit seed from names and numbers, so that order, shards and machines do not matter."""
    return int(digest(*parts)[:16], 16) >> 1


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Scratch(sqlite3.Connection):
    """A database in SQLite's private temporary file, for what may not fit in memory; deleted with the object."""

    def __init__(self) -> None:
        super().__init__("", isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        self.close()  # Python 3.13 warns of a database that was left open
