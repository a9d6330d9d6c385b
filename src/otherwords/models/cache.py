"""The answer cache: SQLite, keyed by model signature and text, shared by all runs, committed batch by batch."""

from __future__ import annotations

import errno
import functools
import hashlib
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..storage.files import answer_cache_path, read_only, sqlite_mark, use_wal
from .predictions import Cached, Floats, Ints, Predictions

Method = TypeVar("Method", bound=Callable[..., Any])
_SCHEMA = """
create table if not exists models (id integer primary key, key text unique, signature text, task text);
create table if not exists answers (
    key blob primary key, model integer, pred integer, p blob, at integer, cut integer, mass blob
) without rowid;
"""
#: Columns of the answers that files of earlier versions lack, with their types.
_ADDED = {"cut": "integer", "mass": "blob"}
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
    # What SQLite says of it is "disk I/O error" or "unable to open database file".
    "deleted": (
        "deleted",
        "the answer cache was deleted or replaced while it was in use",
        f"run again: what was stored since is asked again; leave the file, its -wal and -shm alone, or {_ELSEWHERE}",
    ),
    "not a database": ("SQLITE_NOTADB", "is not an answer cache", _ELSEWHERE),
    "unable to open": (
        "SQLITE_CANTOPEN",
        "the answer cache cannot be opened",
        f"make file and folder writable, or {_ELSEWHERE}",
    ),
}
#: Bytes of a key.
_KEY = 20
#: Keys that are looked up in one statement: their answers come back as one text.
_MOST_KEYS = 50_000
#: A number that is not known, among others, as hexadecimal bytes.
_NAN = np.array(np.nan, "<f8").tobytes().hex()
# Columns go in and come out as one value each, so that a statement is one call of SQLite, which then needs neither
# Python nor its lock: a model or another thread works on meanwhile.
_NUMBERS = "with recursive rows(n) as (select 0 union all select n + 1 from rows where n + 1 < ?1)"
_STORE = f"""{_NUMBERS}
insert or replace into answers (key, model, pred, p, at, cut, mass)
select substr(?2, 1 + {_KEY} * n, {_KEY}), ?3, cast(substr(?4, 1 + ?5 * n, ?5) as integer),
       substr(?6, 1 + ?7 * n, ?7), ?8, nullif(cast(substr(?9, 1 + 2 * n, 2) as integer), -1),
       nullif(substr(?10, 1 + 8 * n, 8), x'{_NAN}') from rows"""
_FIND = f"""{_NUMBERS}
select group_concat(n), group_concat(pred), group_concat(hex(p), ' '), group_concat(ifnull(cut, -1)),
       group_concat(at < ?3), group_concat(hex(mass), ' ')
from rows cross join answers on key = substr(?2, 1 + {_KEY} * n, {_KEY})"""


class Found(NamedTuple):
    """What is stored of some keys: their places, the answers, and which are old, as whoever asked defined it."""

    rows: Ints
    answers: Predictions
    old: npt.NDArray[np.bool_]


class Keyed(NamedTuple):
    """Answers of a model, by its number, under their keys."""

    model: int
    keys: Sequence[bytes]
    answers: Predictions


def default_path() -> Path:
    """The file that all runs share."""
    return answer_cache_path()


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
        self._files: list[int | None] = []  # none before it is open
        with self._named_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            refuse_foreign(self.path)
            self._db = self._connect()
            self._reading: sqlite3.Connection | None = None
            self._lock, self._reading_lock = threading.RLock(), threading.RLock()
        try:
            with self._named_errors():
                self._prepare()
                if writing:  # a read-only or locked file is refused now, not at the first answer
                    self._db.execute("begin immediate")
                    self._db.execute("rollback")
                self._files = self._numbers()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        """A connection for any thread, one at a time."""
        return sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        if not self._db.execute("select count(*) from sqlite_master").fetchone()[0]:
            # All at once, and before WAL: no other process sees a file that is not yet marked as ours.
            self._db.executescript(f"begin immediate; pragma application_id = {_OURS}; {_SCHEMA} commit")
        use_wal(self._db, min(_PATIENCE, 5))
        # Keys are hashes, so every batch touches pages all over the file: write back rarely, keep many in memory.
        self._db.execute("pragma wal_autocheckpoint = 20000")
        self._db.execute("pragma cache_size = -65536")
        # A killed process loses nothing; a power cut, the last batches.
        self._db.execute("pragma synchronous = normal")
        self._add_columns()

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
            if self._was_replaced() and code.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")):
                text, code = "deleted", ""
            if "disk is full" in text or code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
                raise OSError(None, f"the answer cache cannot be written: {text}", str(self.path)) from error
            known = next((one for one in _TROUBLES if one in text or code.startswith(_TROUBLES[one][0])), "")
            _, found, fix = _TROUBLES.get(known, ("", f"cannot be used as answer cache: {text}", _ELSEWHERE))
            raise BadInput(found, where=str(self.path), fix=fix) from error

    def _was_replaced(self) -> bool:
        """Whether the file that was opened, or its log, is gone: somebody cleared the folder, or put another there."""
        return any(one != now for one, now in zip(self._files, self._numbers(), strict=False) if one)

    def _numbers(self) -> list[int | None]:
        """The numbers by which the file system knows the file and its log; None of one that is not there."""
        paths = (self.path, Path(f"{self.path}-wal"))
        return [path.stat().st_ino if path.exists() else None for path in paths]

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove it if it was temporary."""
        with self._lock, self._reading_lock:
            if self._reading:
                self._reading.close()
            self._db.close()
        if self._temporary:
            self._temporary.cleanup()

    def _add_columns(self) -> None:
        """Give files of earlier versions the columns that they lack."""
        present = {row[1] for row in self._db.execute("pragma table_info(answers)")}
        for name in _ADDED.keys() - present:
            try:
                self._db.execute(f"alter table answers add column {name} {_ADDED[name]}")
            except sqlite3.OperationalError as error:
                if "duplicate column" not in str(error):  # another process was faster
                    raise

    @_named
    def model(self, signature: str, task: str) -> int:
        """Number a model under a task; the same pair always gets the same number."""
        key = hashlib.sha256(f"{signature}\0{task}".encode()).hexdigest()
        row = (key, signature, task)
        with self._lock:
            self._db.execute("insert or ignore into models (key, signature, task) values (?, ?, ?)", row)
            return int(self._db.execute("select id from models where key = ?", (key,)).fetchone()[0])

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Cached]:
        """Look up many keys at once; unknown ones are absent."""
        found = self.find(keys)
        return {keys[row]: answer for row, answer in zip(found.rows.tolist(), found.answers, strict=True)}

    @_named
    def find(self, keys: Sequence[bytes], before: float = 0.0) -> Found:
        """Look up many keys at once; those that were stored `before` a time are marked as old.

        Neighbours in the file are found together: it is fastest where keys are sorted. Other threads may store
        answers meanwhile.
        """
        parts = [self._find(keys[start : start + _MOST_KEYS], before) for start in range(0, len(keys), _MOST_KEYS)]
        if len(parts) < 2:
            return parts[0] if parts else _nothing()
        rows = np.concatenate([part.rows + place * _MOST_KEYS for place, part in enumerate(parts)])
        return Found(rows, Predictions.join([one.answers for one in parts]), np.concatenate([one.old for one in parts]))

    def _find(self, keys: Sequence[bytes], before: float) -> Found:
        with self._reading_lock:
            if self._reading is None:
                self._reading = self._connect()
                self._reading.execute("pragma cache_size = -16384")
            row = self._reading.execute(_FIND, (len(keys), b"".join(keys), before)).fetchone()
        if row[0] is None:
            return _nothing()
        numbers, pred, cut, old = (np.fromstring(row[i], np.int64, sep=",") for i in (0, 1, 3, 4))
        mass = _read_hex(row[5], len(pred))
        mass = None if mass is None else mass[:, 0]
        answers = Predictions(pred, _read_hex(row[2], len(pred)), cut.astype(np.int8), mass)
        return Found(numbers, answers, old.astype(np.bool_))

    def put(self, model: int, answers: Mapping[bytes, Cached]) -> None:
        """Store some answers in one transaction."""
        width = max((len(one.p) for one in answers.values() if one.p is not None), default=0)
        p = [[np.nan] * width if one.p is None else one.p for one in answers.values()]
        cut = [-1 if one.cut is None else one.cut for one in answers.values()]
        pred = np.array([one.pred for one in answers.values()], np.int64)
        mass = np.array([np.nan if one.mass is None else one.mass for one in answers.values()], np.float64)
        columns = Predictions(pred, np.array(p, np.float64) if width else None, np.array(cut, np.int8), mass)
        self.store([Keyed(model, list(answers), columns)])

    @_named
    def store(self, batches: Sequence[Keyed]) -> None:
        """Store batches in one transaction, all or nothing. Many at once are fastest: their neighbours share pages."""
        now = time.time()
        with self._lock:
            try:
                self._db.execute("begin immediate")
                for model in dict.fromkeys(one.model for one in batches):
                    for values in _sorted_columns([one for one in batches if one.model == model]):
                        self._db.execute(_STORE, (values[0], values[1], model, *values[2:6], now, *values[6:]))
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
    if not path.stat().st_size or (mark := sqlite_mark(path)) == _OURS:
        return
    if mark is None:
        raise BadInput("is not an answer cache, nor any database", where=str(path), fix=_ELSEWHERE)
    with closing(read_only(path)) as database:
        found = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
        columns = {name: {row[1] for row in database.execute(f"pragma table_info({name})")} for name in _COLUMNS}
    ours = found == set(_COLUMNS) and all(_COLUMNS[name] == columns[name] - _ADDED.keys() for name in found)
    if mark or not ours:  # files of early versions have no mark
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
    return keys_of(model_key, [[text] for text in texts])[0]


def keys_of(model_key: bytes, columns: Sequence[Sequence[str]]) -> list[bytes]:
    """The keys of many answers, whose texts are given field by field.

    >>> keys_of(b"model", [["a", "b"], ["c", "d"]])[1] == key(b"model", ["b", "d"])
    True
    """
    raw = [part for texts in columns for part in _with_lengths(texts)]
    wholes = map(b"".join, zip(repeat(model_key), *raw, strict=False)) if raw else [model_key]
    return [hashlib.blake2b(whole, digest_size=_KEY).digest() for whole in wholes]


def _with_lengths(texts: Sequence[str]) -> tuple[Iterable[bytes], Iterable[bytes]]:
    """The length of each text, so that it counts where one ends, and the texts as bytes."""
    try:
        raw = list(map(str.encode, texts))
    except UnicodeEncodeError:  # half of a surrogate pair is a text, too
        raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = {length: length.to_bytes(8, "little") for length in set(map(len, raw))}
    return map(lengths.__getitem__, map(len, raw)), raw


def order_of(keys: Sequence[bytes]) -> Ints:
    """The numbers of keys in the order in which the file has them."""
    return np.argsort(np.frombuffer(b"".join(keys), f"S{_KEY}"), kind="stable") if keys else np.empty(0, np.int64)


def _nothing() -> Found:
    none = np.empty(0, np.int64)
    return Found(none, Predictions(none, None, none.astype(np.int8)), none.astype(np.bool_))


def _read_hex(text: str, count: int) -> Floats | None:
    """Rows of numbers as `_FIND` gives them: one after the other, and nothing for an answer without."""
    raw = bytes.fromhex(text)
    width = (text + " ").index(" ") // 2
    if not raw:
        return None
    if len(raw) == count * width:
        return np.frombuffer(raw, "<f8").reshape(count, -1)
    rows = [np.frombuffer(bytes.fromhex(one), "<f8") for one in text.split(" ")]
    p = np.full((count, max(map(len, rows))), np.nan)
    for place, row in enumerate(rows):
        p[place, : len(row)] = row
    return p


def _sorted_columns(batches: Sequence[Keyed]) -> Iterator[tuple[Any, ...]]:
    """The columns of a model's answers as `_STORE` takes them, by key; those with probabilities, and those without."""
    keys = [one for batch in batches for one in batch.keys]
    whole = Predictions.join([batch.answers for batch in batches])
    raw, order, has_p = np.frombuffer(b"".join(keys), f"V{_KEY}"), order_of(keys), whole.has_p
    for rows in (order[has_p[order]], order[~has_p[order]]):
        if len(rows):
            some = whole.take(rows)
            digits = len(str(some.pred.max()))
            numbers = np.array([f"{one:0{digits}}" for one in range(int(some.pred.max()) + 1)], f"S{digits}")
            p = None if some.p is None or not has_p[rows[0]] else some.p.astype("<f8").tobytes()
            cut = np.array([b"-1", b"00", b"01"], "S2")[np.asarray(some.cut) + 1]
            width = 8 * some.p.shape[1] if some.p is not None else 0
            mass = (
                None if some.mass is None else np.where(np.isnan(some.mass), np.nan, some.mass).astype("<f8").tobytes()
            )
            yield len(rows), raw[rows].tobytes(), numbers[some.pred].tobytes(), digits, p, width, cut.tobytes(), mass
