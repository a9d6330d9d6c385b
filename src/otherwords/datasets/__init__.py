"""Data sets: readers for plain tables and for data sets in their released layouts, and the intake that checks rows.

A data set is a factory that returns a `Dataset` of `Record`s; `Intake` checks every record once; `Source` and `load`
read what the user names. One module per layout.
"""

from .intake import Intake
from .records import Dataset, Record, delimited, json_lines, renamed, table_rows
from .source import Source
from .suite import load

__all__ = ["Dataset", "Intake", "Record", "Source", "delimited", "json_lines", "load", "renamed", "table_rows"]
