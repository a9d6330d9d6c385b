"""A place on disk for what is too much for memory and of no use afterwards."""

from __future__ import annotations

import sqlite3


class Scratch(sqlite3.Connection):
    """A database in SQLite's private temporary file; it goes when nobody holds it any more."""

    def __init__(self) -> None:
        super().__init__("", isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        self.close()  # Python 3.13 warns of a database that was left open
