"""The answer cache: SQLite, keyed by model signature and text, shared by all runs, committed batch by batch."""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import sqlite3
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

from ..errors import BadInput

Method = TypeVar("Method", bound=Callable[..., Any])
_SCHEMA = """
create table if not exists models (id integer primary key, key text unique, signature text, task text);
create table if not exists answers (
    key blob primary key, model integer, pred integer, p blob, at integer, cut integer
) without rowid;
"""
#: The columns that files of all versions have.
_COLUMNS = {"models": {"id", "key", "signature", "task"}, "answers": {"key", "model", "pred", "p", "at"}}
#: Marks a file as an answer cache, in its header ("owac").
_OURS = 0x6F776163
#: Seconds to wait for another process that writes.
_PATIENCE = 60
_ELSEWHERE = "give another file with --cache, or use --no-cache"
#: What SQLite says: the start of its code, then what was found, and what to do.
_TROUBLES = {
    "malformed": (
        "SQLITE_CORRUPT",
        "the answer cache is damaged",
        f"delete it (answers are asked again), or {_ELSEWHERE}",
    ),
    "locked": ("SQLITE_BUSY", "the answer cache is locked by another process", f"wait for it to end, or {_ELSEWHERE}"),
    "readonly": ("SQLITE_READONLY", "the answer cache is read-only", f"make file and folder writable, or {_ELSEWHERE}"),
    "not a database": ("SQLITE_NOTADB", "is not an answer cache", _ELSEWHERE),
    "unable to open": (
        "SQLITE_CANTOPEN",
        "the answer cache cannot be opened",
        f"make file and folder writable, or {_ELSEWHERE}",
    ),
}
_STORE = "insert or replace into answers (key, model, pred, p, at, cut) values (?, ?, ?, ?, ?, ?)"


class Cached(NamedTuple):
    """A stored answer: the label's position, the probabilities if the model has them, and whether the text was cut.

    `cut` is None where the model does not say, or did not when the answer was stored.
    """

    pred: int
    p: tuple[float, ...] | None
    cut: bool | None = None


def default_path() -> Path:
    """$OTHERWORDS_CACHE, or answers.sqlite in the user's cache folder."""
    if chosen := os.environ.get("OTHERWORDS_CACHE"):
        return Path(chosen)
    base = Path.home() / "Library/Caches" if sys.platform == "darwin" else Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or base) / "otherwords" / "answers.sqlite"


def cache_path(chosen: str | Path | Literal[False] | None = "") -> Path | None:
    """The file that an option `cache` names: "" is the one that all runs share; None or False is a temporary one."""
    if chosen == "":
        return default_path()
    return Path(chosen) if chosen else None


def _named(method: Method) -> Method:
    """Let the errors of a method name the file."""

    @functools.wraps(method)
    def named(self: Cache, *given: Any, **options: Any) -> Any:
        with self._named_errors():
            return method(self, *given, **options)

    return cast(Method, named)


class Cache:
    """One file of answers. Without a path, a temporary one, so that equal texts are still answered once in a run.

    A file of somebody else is refused and left as it was; every error names the file and what to do.
    """

    def __init__(self, path: str | Path | None = None, *, writing: bool = True):
        self._temporary = tempfile.TemporaryDirectory(prefix="otherwords-") if path is None else None
        self.path = Path(self._temporary.name) / "answers.sqlite" if self._temporary else Path(path or "")
        with self._named_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            refuse_foreign(self.path)
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            with self._named_errors():
                self._prepare()
                if writing:  # a read-only or locked file is refused now, not at the first answer
                    self._db.execute("begin immediate")
                    self._db.execute("rollback")
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        if not self._db.execute("select count(*) from sqlite_master").fetchone()[0]:
            # All at once, and before WAL: no other process sees a file that is not yet marked as ours.
            self._db.executescript(f"begin immediate; pragma application_id = {_OURS}; {_SCHEMA} commit")
        self._use_wal()
        # Keys are hashes, so every batch touches pages all over the file: write back rarely, keep many in memory.
        self._db.execute("pragma wal_autocheckpoint = 20000")
        self._db.execute("pragma cache_size = -65536")
        # A killed process loses nothing; a power cut, the last batches.
        self._db.execute("pragma synchronous = normal")
        self._add_column_cut()

    def _use_wal(self) -> None:
        """Switch to WAL. Where another process does the same at this moment, SQLite does not wait, but fails."""
        limit = time.monotonic() + min(_PATIENCE, 5)
        while True:
            try:
                self._db.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_IOERR")) or time.monotonic() > limit:
                    raise
                time.sleep(0.02)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Raise what SQLite or the disk says with the name of the file, and what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            text, code = str(error), getattr(error, "sqlite_errorname", "")
            if isinstance(error, sqlite3.ProgrammingError) or getattr(error, "errno", 0) in (
                errno.ENOSPC,
                errno.EDQUOT,
            ):
                raise
            if "disk is full" in text or code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
                raise OSError(None, f"the answer cache cannot be written: {text}", str(self.path)) from error
            known = next((one for one in _TROUBLES if one in text or code.startswith(_TROUBLES[one][0])), "")
            _, found, fix = _TROUBLES.get(known, ("", f"cannot be used as answer cache: {text}", _ELSEWHERE))
            raise BadInput(found, where=str(self.path), fix=fix) from error

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove it if it was temporary."""
        self._db.close()
        if self._temporary:
            self._temporary.cleanup()

    def _add_column_cut(self) -> None:
        """Files of earlier versions have no column `cut`."""
        if "cut" in {row[1] for row in self._db.execute("pragma table_info(answers)")}:
            return
        try:
            self._db.execute("alter table answers add column cut integer")
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):  # another process was faster
                raise

    @_named
    def model(self, signature: str, task: str) -> int:
        """Number a model under a task; the same pair always gets the same number."""
        key = hashlib.sha256(f"{signature}\0{task}".encode()).hexdigest()
        self._db.execute("insert or ignore into models (key, signature, task) values (?, ?, ?)", (key, signature, task))
        return int(self._db.execute("select id from models where key = ?", (key,)).fetchone()[0])

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Cached]:
        """Look up many keys at once; unknown ones are absent."""
        return {key: answer for key, (answer, _) in self.find(keys).items()}

    @_named
    def find(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Cached, float]]:
        """Look up many keys at once: the answers, and when each was stored."""
        found: dict[bytes, tuple[Cached, float]] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            marks = ",".join("?" * len(some))
            query = f"select key, pred, p, cut, at from answers where key in ({marks})"
            for key, pred, p, cut, at in self._db.execute(query, some):
                values = None if p is None else struct.unpack(f"<{len(p) // 8}d", p)
                found[key] = Cached(pred, values, None if cut is None else bool(cut)), at
        return found

    @_named
    def put(self, model: int, answers: Mapping[bytes, Cached]) -> None:
        """Store a batch in one transaction."""
        now = time.time()
        rows = [
            (k, model, a.pred, None if a.p is None else struct.pack(f"<{len(a.p)}d", *a.p), now, a.cut)
            for k, a in answers.items()
        ]
        try:
            self._db.execute("begin immediate")
            self._db.executemany(_STORE, rows)
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have ended it
                self._db.execute("rollback")
            raise

    @_named
    def info(self) -> list[dict[str, Any]]:
        """How many answers of each model are stored, and since when."""
        query = """select signature, task, count(*) as answers, min(at) as oldest, max(at) as newest
                   from answers join models on models.id = model group by model order by answers desc, signature"""
        cursor = self._db.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    @_named
    def prune(self, *, model: str = "", older_than_days: float | None = None) -> int:
        """Delete the answers of models whose signature contains `model`, and older than so many days; count them."""
        before = time.time() + 1 if older_than_days is None else time.time() - older_than_days * 86_400
        query = """delete from answers where at < ?
                   and model in (select id from models where instr(signature, ?) > 0 or ? = '')"""
        deleted = self._db.execute(query, (before, model, model)).rowcount
        self._db.execute("delete from models where id not in (select model from answers)")
        self._db.execute("vacuum")
        return deleted


def refuse_foreign(path: Path) -> None:
    """Refuse a file that is not an answer cache, before anything is written to it."""
    if not path.exists():
        return
    if not path.is_file():
        raise BadInput("is not a file", where=str(path), fix=_ELSEWHERE)
    with path.open("rb") as file:
        head = file.read(100)
    if not head or int.from_bytes(head[68:72], "big") == _OURS:
        return
    if not head.startswith(b"SQLite format 3\0"):
        raise BadInput("is not an answer cache, nor any database", where=str(path), fix=_ELSEWHERE)
    still = "" if Path(f"{path}-wal").exists() else "&immutable=1"  # leaves no files beside it
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True)
    try:
        found = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
        columns = {name: {row[1] for row in database.execute(f"pragma table_info({name})")} for name in _COLUMNS}
    finally:
        database.close()
    ours = found == set(_COLUMNS) and all(_COLUMNS[name] == columns[name] - {"cut"} for name in found)
    if int.from_bytes(head[68:72], "big") or not ours:  # files of early versions have no mark
        names = ", ".join(sorted(found)) or "none"
        raise BadInput(f"is a database of something else (tables: {names})", where=str(path), fix=_ELSEWHERE)


@contextmanager
def open_cache(chosen: Cache | str | Path | Literal[False] | None = "") -> Iterator[Cache]:
    """Open the cache that a caller names, see `cache_path`; one that is open already stays open afterwards."""
    if isinstance(chosen, Cache):
        yield chosen
        return
    with Cache(cache_path(chosen)) as cache:
        yield cache


def key(model_key: bytes, texts: Iterable[str]) -> bytes:
    """The key of an answer: a hash of the model and the texts."""
    state = hashlib.blake2b(model_key, digest_size=20)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.digest()
