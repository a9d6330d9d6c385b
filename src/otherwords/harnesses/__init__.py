"""Other harnesses: their logs as answers tables, and suites as their tasks."""

from .logs import find_harness, read_log
from .samples import LogOptions
from .suite_files import write_suite

__all__ = ["LogOptions", "find_harness", "read_log", "write_suite"]
