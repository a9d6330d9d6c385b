"""What the door must remember of every row, kept on disk so that memory stays flat: ids, labels, clusters, suites."""

from __future__ import annotations

from typing import NamedTuple

from ..storage.scratch import Scratch


class Entry(NamedTuple):
    """An original's label and cluster, and the contrast suite it belongs to, if any."""

    label: str
    cluster: str
    contrast: str = ""


class Ledger:
    """Ids seen so far, in SQLite's private temporary file, which goes when the ledger does."""

    def __init__(self) -> None:
        self._db = Scratch()
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -16000"):  # 16 MB, the rest on disk
            self._db.execute(f"pragma {pragma}")
        columns = "id text primary key, label text, cluster text, contrast text"
        self._db.execute(f"create table seen ({columns}) without rowid")
        self._db.execute("begin")  # and never commit: an insert then costs microseconds
        self._last: tuple[str, Entry] = ("", Entry("", ""))  # rows of a bucket mostly stand together

    def add(self, name: str, original: Entry | None) -> bool:
        """Enter an id, with label and cluster if it is an original's; False where it was there already."""
        told = original or (None, None, None)
        done = self._db.execute("insert or ignore into seen values (?, ?, ?, ?)", (name, *told))
        if done.rowcount and original:
            self._last = (name, original)
        return bool(done.rowcount)

    def original(self, name: str) -> Entry | None:
        """Find an original; None where the id is unknown or a variant's."""
        if self._last[0] != name:
            found = self._db.execute("select label, cluster, contrast from seen where id = ?", (name,)).fetchone()
            if found is None or found[0] is None:
                return None
            self._last = (name, Entry(*found))
        return self._last[1]
