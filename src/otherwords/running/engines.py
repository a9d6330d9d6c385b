"""Engines: an engine maps a stage over its shards. This one works in the process; a cluster fits the interface."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Anything that can map a function over jobs.

    Jobs hold names, paths and numbers only, and the function is importable, so that both can travel to another machine.
    Results come back in the order of the jobs. No stage needs more than this.
    """

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job."""
        ...


class InProcess:
    """Do one shard after the other, here."""

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job, lazily, so that memory stays flat."""
        return map(function, jobs)
