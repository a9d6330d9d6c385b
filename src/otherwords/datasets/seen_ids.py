"""The ids that intake has seen, and what it knows of their originals, on disk: memory stays flat, columns are fast."""

from typing import NamedTuple

import numpy as np
import polars as pl

from ..storage.files import Scratch
from .records import BATCH

#: What is known of an id.
_SEEN = dict.fromkeys(("id", "label", "cluster", "contrast"), pl.String)


class SeenOriginal(NamedTuple):
    """The label (empty: none), cluster and contrast suite of an original, against which its variants are checked."""

    label: str
    cluster: str
    contrast: str = ""


class SeenIds:
    """The ids seen so far and what is known of originals, on disk so that memory stays flat.

    Ids of whole columns are remembered as 8 bytes each in memory, which say whether an id may have occurred, and lie on
    disk as they came. Only when a single id is looked up are they sorted into a table there, from which it is known.
    """

    def __init__(self) -> None:
        self._db = Scratch()
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -16000"):  # 16 MB, the rest on disk
            self._db.execute(f"pragma {pragma}")
        columns = "id text primary key, label text, cluster text, contrast text"
        self._db.execute(f"create table seen ({columns}) without rowid")
        self._db.execute("create table unsorted (original integer, rows blob)")
        self._db.execute("begin")  # and never commit: an insert then costs microseconds
        self._last: tuple[str, SeenOriginal] = ("", SeenOriginal("", ""))  # rows of a bucket are mostly adjacent
        self._recent = pl.DataFrame(schema=_SEEN)  # the originals of the last columns: their variants may follow
        self._hashes: list[np.ndarray] = []  # sorted, each at most half as long as the one before
        self._single: list[str] = []  # ids that were added one by one, and are not in `_hashes` yet
        self._unsorted: set[bool] = set()  # of originals, of variants

    def add(self, name: str, original: SeenOriginal | None) -> bool:
        """Add an id, and its row's label, cluster and suite if it is an original; False if the id is known already."""
        self._sort(True, False)
        values = original or (None, None, None)
        result = self._db.execute("insert or ignore into seen values (?, ?, ?, ?)", (name, *values))
        if not result.rowcount:
            return False
        self._single.append(name)
        if len(self._single) >= BATCH:
            self._hash_single()
        if original:
            self._last = (name, original)
        return True

    def original(self, name: str) -> SeenOriginal | None:
        """Find an original; None if the id is unknown or a variant's."""
        if self._last[0] != name:
            self._sort(True)
            values = self._db.execute("select label, cluster, contrast from seen where id = ?", (name,)).fetchone()
            if values is None or values[0] is None:
                return None
            self._last = (name, SeenOriginal(*values))
        return self._last[1]

    def may_repeat(self, ids: pl.Series) -> bool:
        """Whether an id occurs twice or was added before. It may be said of other ids, too, though very seldom."""
        self._hash_single()
        new = np.sort(ids.hash().to_numpy())
        return bool((new[1:] == new[:-1]).any()) or any(_overlap(new, old) for old in self._hashes)

    def extend(self, rows: pl.DataFrame) -> None:
        """Add many ids that do not repeat; a row has null for a label if it is no original, and "" if it has none."""
        self._merge(np.sort(rows["id"].hash().to_numpy()))
        is_original = rows["label"].is_not_null()
        for original, some in ((True, rows.filter(is_original)), (False, rows.filter(~is_original))):
            if some.height:
                data = some.select(*_SEEN).write_ipc(None, compression="uncompressed").getbuffer()
                self._db.execute("insert into unsorted values (?, ?)", (original, data))
                self._unsorted.add(original)
        if is_original.any():
            self._recent = rows.filter(is_original).select(*_SEEN)

    def originals(self, names: pl.Series) -> pl.DataFrame:
        """Find many originals: those that are known, as they were added."""
        recent = self._recent.filter(pl.col("id").is_in(names.implode()))
        others = names.filter(~names.is_in(recent["id"].implode()))
        rows = [(name, *found) for name in others if (found := self.original(name))]
        return pl.concat([recent, pl.DataFrame(rows, schema=_SEEN, orient="row")])

    def _sort(self, *kinds: bool) -> None:
        """Sort the ids of columns into the table: those of originals, of variants."""
        for kind in self._unsorted.intersection(kinds):
            for (data,) in self._db.execute("select rows from unsorted where original = ? order by rowid", (kind,)):
                self._db.executemany("insert into seen values (?, ?, ?, ?)", pl.read_ipc(data).iter_rows())
            self._db.execute("delete from unsorted where original = ?", (kind,))
            self._unsorted.remove(kind)

    def _hash_single(self) -> None:
        if self._single:
            self._merge(np.sort(pl.Series(self._single, dtype=pl.String).hash().to_numpy()))
            self._single = []

    def _merge(self, new: np.ndarray) -> None:
        while self._hashes and len(self._hashes[-1]) < 2 * len(new):
            new = np.sort(np.concatenate([self._hashes.pop(), new]), kind="stable")
        self._hashes.append(new)


def _overlap(new: np.ndarray, old: np.ndarray) -> bool:
    """Whether two sorted arrays share a value."""
    places = np.searchsorted(old, new)
    inside = places < len(old)
    return bool((old[places[inside]] == new[inside]).any())
