"""Where problems come from: readers for plain tables and for data sets in the layouts their authors released.

A data set is a factory that returns a `Dataset` of `Record`s; `Intake` checks every record once; `Source` and `load`
read what the user names. One module per layout.
"""

from .intake import Intake
from .records import Dataset, Record, delimited, json_lines, renamed, table_rows
from .source import Source, load

__all__ = ["Dataset", "Intake", "Record", "Source", "delimited", "json_lines", "load", "renamed", "table_rows"]
