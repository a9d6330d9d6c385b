"""Engines: what maps a stage over its shards, in this process, in several, or on a cluster."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from ..errors import BadInput
from .pool import Pool
from .processes import Processes

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Called with a job that no worker survived, and the reason.
GiveUp = Callable[[Any, str], Any]
#: The engine of a study that names none, and all there are.
USUAL, NAMES = "in-process", "in-process, processes or processes:N"


class Engine(Protocol):
    """Anything that can map a function over jobs.

    Jobs hold names, paths and numbers only, and the function is importable, so that both can travel to another machine.
    Results come back in the order of the jobs. No stage needs more than this. Where an engine has a method `close`, it
    is called at the end of a run.
    """

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job."""
        ...


class InProcess:
    """Do one shard after the other, here."""

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job, lazily, so that memory stays flat."""
        return map(function, jobs)


def make_engine(name: str) -> InProcess | Processes:
    """The engine of this name: in-process, processes (as many as there are cores), or processes:N.

    >>> make_engine("processes:4").count
    4
    """
    if name == USUAL:
        return InProcess()
    if match := re.fullmatch(r"processes(?::([1-9]\d{0,3}))?", name):
        return Processes(int(match[1] or 0))
    raise BadInput(f"found {name!r}", field="engine", fix=f"use {NAMES}")


def map_jobs(
    engine: Engine, function: Callable[[Item], Result], jobs: Iterable[Item], give_up: GiveUp | None = None
) -> Iterator[Result]:
    """Map a function over jobs; `give_up` is called with one that no worker survives, and gives what stands for it."""
    if give_up and isinstance(engine, Pool):
        return engine.map(function, jobs, give_up)
    return engine.map(function, jobs)


@contextmanager
def closing(engine: Engine) -> Iterator[None]:
    """Let the workers of an engine, if it has any, end with the block."""
    try:
        yield
    finally:
        if close := getattr(engine, "close", None):
            close()
