"""One file per paper: its protocol, the values it printed (a CSV file of the same name), and where they deviate.

A paper is a plug-in like all others: a decorated factory that returns a function from a folder of data to cells.
"""

from .reproduction import (
    Cell,
    Reproduce,
    WithIntervals,
    against_published,
    find,
    of_tables,
    percent_intervals,
    reproduce,
    summary,
)

__all__ = [
    "Cell",
    "Reproduce",
    "WithIntervals",
    "against_published",
    "find",
    "of_tables",
    "percent_intervals",
    "reproduce",
    "summary",
]
