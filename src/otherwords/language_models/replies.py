"""Every reply of a server, stored as soon as it comes: SQLite, beside the answer cache, keyed by what was asked.

A batch of problems is in the answer cache when all of it is answered; what was paid for before that is here.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..storage.files import sqlite_mark, use_wal
from .completion import Completion, Usage

_SCHEMA = """
create table if not exists models (id integer primary key, identity text unique);
create table if not exists replies (key blob primary key, model integer, at real, reply blob) without rowid;
"""
#: Marks a file as one of replies, in its header ("owrp").
_OURS = 0x6F777270
#: Seconds to wait for another process that writes.
_PATIENCE = 60
#: Keys that are looked up in one statement.
_MOST_KEYS = 500
#: Bytes from which on a reply is compressed.
_LONG = 300
_FIX = "delete the file (its requests are then sent again), or choose another cache with --cache"


def replies_path(answers: Path) -> Path:
    """The file of replies beside an answer cache.

    >>> replies_path(Path("cache/answers.sqlite")).as_posix()
    'cache/answers.replies.sqlite'
    """
    ending = answers.suffix if answers.suffix in (".sqlite", ".sqlite3", ".db") else ""
    stem = answers.name.removesuffix(ending) if ending else answers.name
    return answers.with_name(f"{stem}.replies{ending or '.sqlite'}")


class ReplyStore:
    """The replies of all servers that were asked with one answer cache. A file of somebody else is refused.

    One thread uses it at a time; several processes may.
    """

    def __init__(self, path: Path):
        self.path = path
        self._refuse_foreign()
        with self._named_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            with self._named_errors():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        if not self._db.execute("select count(*) from sqlite_master").fetchone()[0]:
            # All at once, and before WAL: no other process sees a file that is not yet marked as ours.
            self._db.executescript(f"begin immediate; pragma application_id = {_OURS}; {_SCHEMA} commit")
        use_wal(self._db)
        self._db.execute("pragma synchronous = normal")  # a killed process loses nothing; a power cut, the last ones

    def _refuse_foreign(self) -> None:
        if not self.path.is_file() or not self.path.stat().st_size:
            return
        with self._named_errors():
            mark = sqlite_mark(self.path)
        if mark != _OURS:
            fix = "move it away, or choose another cache with --cache: replies are stored next to it"
            raise BadInput("is not a file of replies, and is left as it is", where=str(self.path), fix=fix)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Raise what SQLite says with the name of the file."""
        try:
            yield
        except sqlite3.Error as error:
            if "full" in str(error) or getattr(error, "sqlite_errorname", "").startswith("SQLITE_IOERR"):
                raise OSError(None, f"replies cannot be written: {error}", str(self.path)) from error
            raise BadInput(f"cannot be used for replies: {error}", where=str(self.path), fix=_FIX) from error

    def __enter__(self) -> ReplyStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def find(self, keys: Sequence[bytes], not_before: float = 0.0) -> Iterator[tuple[bytes, Completion]]:
        """What is stored of some keys, and not older than a time."""
        for start in range(0, len(keys), _MOST_KEYS):
            some = keys[start : start + _MOST_KEYS]
            marks = ",".join("?" * len(some))
            query = f"select key, reply from replies where at >= ? and key in ({marks})"
            with self._named_errors():
                rows = self._db.execute(query, (not_before, *some)).fetchall()
            for key, reply in rows:
                if (found := _undamaged(reply)) is not None:
                    yield bytes(key), found

    def store(self, identity: str, replies: Mapping[bytes, Completion]) -> None:
        """Store some replies of a model, all or nothing."""
        with self._named_errors():
            self._db.execute("begin immediate")
            try:
                self._db.execute("insert or ignore into models (identity) values (?)", (identity,))
                (model,) = self._db.execute("select id from models where identity = ?", (identity,)).fetchone()
                now = time.time()
                rows = ((key, model, now, packed(one)) for key, one in replies.items())
                self._db.executemany("insert or replace into replies values (?, ?, ?, ?)", rows)
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have ended it
                    self._db.execute("rollback")
                raise

    def info(self) -> list[dict[str, Any]]:
        """How many replies of each model are stored, and since when."""
        query = """select identity, count(*), min(at), max(at) from replies join models on models.id = model
                   group by model order by 2 desc, 1"""
        names = ("identity", "replies", "oldest", "newest")
        with self._named_errors():
            return [dict(zip(names, row, strict=True)) for row in self._db.execute(query)]

    def prune(self, *, model: str = "", older_than_days: float | None = None) -> int:
        """Delete the replies of models whose signature contains `model`, and older than so many days; count them."""
        before = time.time() + 1 if older_than_days is None else time.time() - older_than_days * 86_400
        query = """delete from replies where at < ?
                   and model in (select id from models where instr('api.v1()#' || identity, ?) > 0 or ? = '')"""
        with self._named_errors():
            deleted = self._db.execute(query, (before, model, model)).rowcount
            self._db.execute("delete from models where id not in (select model from replies)")
            self._db.execute("vacuum")
        return deleted


def packed(one: Completion) -> bytes:
    """A reply as JSON, compressed where it is long."""
    values: dict[str, Any] = {"text": one.text, "finish": one.finish}
    values |= {"top": [dict(place) for place in one.top]} if one.top else {}
    values |= {"score": one.score} if one.score is not None else {}
    values |= {"usage": list(one.usage)} if any(one.usage) else {}
    values |= {"more": list(one.more), "ends": list(one.ends)} if one.more else {}
    plain = json.dumps(values, separators=(",", ":")).encode()
    return zlib.compress(plain) if len(plain) >= _LONG else plain


def _undamaged(reply: bytes) -> Completion | None:
    """The reply that was packed; none where it is damaged, so that it is asked for again."""
    try:
        found = unpacked(reply)
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return None
    return found if isinstance(found.text, str) and isinstance(found.finish, str) else None


def unpacked(reply: bytes) -> Completion:
    """The reply that was packed."""
    values = json.loads(zlib.decompress(reply) if reply[:1] != b"{" else reply)
    top, usage = tuple(values.get("top", ())), Usage(*values.get("usage", ()))
    more, ends = tuple(values.get("more", ())), tuple(values.get("ends", ()))
    return Completion(values["text"], values["finish"], top, values.get("score"), usage, more, ends)
