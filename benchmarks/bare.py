"""What the spine is held against: read Parquet, hash every row in Python, store all in SQLite, write Parquet."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from pathlib import Path

import polars as pl

#: As the answer cache writes: a killed process loses nothing, a power cut the last transactions.
_SETTINGS = ("journal_mode = wal", "synchronous = normal", "wal_autocheckpoint = 20000", "cache_size = -65536")


def run(suite: Path, folder: Path) -> float:
    """Do it with all rows of a Parquet file that has premise and hypothesis; return the seconds."""
    start = time.perf_counter()
    frame = pl.read_parquet(suite)
    keys = keys_of(frame)
    database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    for setting in _SETTINGS:
        database.execute(f"pragma {setting}")
    database.execute("create table answers (key blob primary key, pred integer, at real) without rowid")
    database.execute("begin immediate")
    now = time.time()
    upsert = (
        "insert into answers values (?, ?, ?) on conflict (key) do update set pred = excluded.pred, at = excluded.at"
    )
    database.executemany(upsert, ((key, 1, now) for key in keys))
    database.execute("commit")
    database.close()
    frame.with_columns(pl.lit("neutral").alias("pred")).write_parquet(folder / "bare.parquet")
    return time.perf_counter() - start


def keys_of(frame: pl.DataFrame) -> list[bytes]:
    """A hash of each row's texts."""
    return [
        hashlib.sha256(f"{premise}\0{hypothesis}".encode()).digest()
        for premise, hypothesis in frame.select("premise", "hypothesis").iter_rows()
    ]
