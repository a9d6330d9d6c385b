"""Files that are whole or absent: atomic writes, locks, checksums and stable hashes, and a scratch database on disk."""

import errno
import hashlib
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import BadInput, Busy, decode

#: What a run makes in its folder: the folders of its stages, and files. Nothing else in there is touched.
STAGES = ("problems", "variants", "notes", "tables", "buckets", "answers")
RUN_FILES = ("manifest.json", "study.toml", "scores.json", "report.html", "unvaried.jsonl", "rejected.jsonl")
#: Bytes below which a disk counts as full.
_LITTLE = 1 << 16


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; move it there when the block succeeds, delete it when it fails.

    A device or a pipe is not replaced: what is whole is copied into it.
    """
    if is_stream(path):
        with tempfile.TemporaryDirectory(prefix="otherwords-") as folder, disk_errors(path):
            whole = Path(folder) / path.name
            yield whole
            with whole.open("rb") as source, path.open("wb") as stream:
                shutil.copyfileobj(source, stream)
        return
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


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or a socket: something to write into, and never to replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def refuse_link(path: Path, fix: str = "") -> None:
    """Refuse to write where a link stands: neither the link nor what it leads to is ours to replace."""
    if path.is_symlink() and not is_stream(path):
        fix = fix or f"name {os.path.realpath(path)} itself, or remove the link"
        raise BadInput("is a link", where=str(path), fix=fix)


def refuse_overwriting(target: str | Path | None, *inputs: Any) -> None:
    """Refuse, before any work, a target that is a link, or that is also read: in any spelling, or inside a folder.

    Of the inputs, those that are no paths are passed over. A run folder stands for what a run makes in it, so that
    other outputs may go there.
    """
    if not target or str(target) == "-" or is_stream(Path(target)):
        return
    path = Path(target)
    refuse_link(path)
    for one in inputs:
        source = Path(one) if isinstance(one, (str, Path)) and str(one) not in ("", "-") else None
        if source is None or not _exists(source):
            continue
        if _is_same(path, source):
            raise BadInput("is read and written", where=str(path), fix="name another place for the output")
        if inner := next((each for each in _read_below(source) if _is_same(path, each) or _is_below(path, each)), None):
            message = f"is in {inner}, which is read" if inner.is_dir() else f"belongs to the run {source}"
            raise BadInput(message, where=str(path), fix="name another place for the output")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for a file, or with a zero byte: no file
        return False


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one file: through links, hard links, and letters of either case where these are equal."""
    return one.exists() and other.exists() and one.samefile(other)


def _is_below(path: Path, folder: Path) -> bool:
    return folder.is_dir() and any(_is_same(each, folder) for each in Path(os.path.realpath(path)).parents)


def _read_below(source: Path) -> list[Path]:
    """What is read of an input: the file or folder itself, or all that a run has made in its folder."""
    if not (source / "manifest.json").is_file():
        return [source]
    return [source / name for name in (*STAGES, *RUN_FILES) if (source / name).exists()]


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise a full disk as an OSError with its number and a file name, also where Polars reports it as text."""
    try:
        yield
    except Exception as error:
        match = re.search(r"\(os error (\d+)\)", str(error))
        number = getattr(error, "errno", None) or (int(match[1]) if match else None)
        if number is None and "thrift: transport error" in str(error) and _is_full(path):
            number = errno.ENOSPC  # what Polars says where only the end of a Parquet file finds no space
        if number is None or getattr(error, "filename", None):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _is_full(path: Path) -> bool:
    return shutil.disk_usage(path.absolute().parent).free < _LITTLE


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


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; a file that is damaged says nothing, like one that is not there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def read_toml(path: Path, what: str, fix: str) -> dict[str, Any]:
    """What a TOML file says; one that cannot be read as `what` it should be is refused."""
    try:
        return tomllib.loads(decode(path.read_bytes(), str(path)))
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or too deep
        raise BadInput(f"cannot be read as {what}: {error}", where=str(path), fix=fix) from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON in one fixed form (indented, as ordered by the caller), so that equal values are equal bytes."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


#: The temporary files of a run: those of its parts, tables and files, and no other that ends in .part.
_DRAFT = re.compile(rf"\.(part-\d{{5,}}\.parquet|table\.tsv|{'|'.join(map(re.escape, RUN_FILES))})\.[^.]+\.part")


def remove_drafts(folder: Path) -> None:
    """Delete the temporary files of a killed process in a run folder that this process has locked."""
    for draft in (*folder.glob(".*.part"), *(one for stage in STAGES for one in (folder / stage).rglob(".*.part"))):
        if _DRAFT.fullmatch(draft.name) and not draft.is_symlink():
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


def answer_cache_path() -> Path:
    """$OTHERWORDS_CACHE, or answers.sqlite in the user's cache folder; other things that runs share stand beside it."""
    if chosen := os.environ.get("OTHERWORDS_CACHE"):
        return Path(chosen)
    base = Path.home() / "Library/Caches" if sys.platform == "darwin" else Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or base) / "otherwords" / "answers.sqlite"


def _umask() -> int:
    """Read, where the system tells it; setting it for a moment would change what another thread creates meanwhile."""
    status = Path("/proc/self/status")
    match = re.search(r"^Umask:\s*([0-7]+)", status.read_text(), re.MULTILINE) if status.exists() else None
    if match:
        return int(match[1], 8)
    mask = os.umask(0)
    os.umask(mask)
    return mask


def use_wal(database: sqlite3.Connection, patience: float = 5.0) -> None:
    """Switch to WAL. Where another process does the same at this moment, SQLite does not wait, but fails."""
    limit = time.monotonic() + patience
    while True:
        try:
            database.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_IOERR")) or time.monotonic() > limit:
                raise
            time.sleep(0.02)


def read_only(path: Path) -> sqlite3.Connection:
    """Open a database to read it; where it has no log, it is left without one."""
    still = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True)


def sqlite_mark(path: Path) -> int | None:
    """The mark (application_id) of a database that this process may have open; None of what is no database.

    Only SQLite reads it: a process that closes a file loses all its locks on it, and another process would take the
    database for unused, and remove its log. Where a log comes or goes at this moment, it is read again.
    """
    for pause in (0.02, 0.1, 0.5, 0.0):
        with closing(read_only(path)) as database:
            try:
                return int(database.execute("pragma application_id").fetchone()[0])
            except sqlite3.DatabaseError as error:
                if "not a database" in str(error):
                    return None
                if not pause or error.sqlite_errorname.startswith("SQLITE_BUSY"):  # SQLite has waited for it already
                    raise
        time.sleep(pause)
    return None


class Scratch(sqlite3.Connection):
    """A database in SQLite's private temporary file, for what may not fit in memory; deleted with the object."""

    def __init__(self) -> None:
        super().__init__("", isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        self.close()  # Python 3.13 warns of a database that was left open
