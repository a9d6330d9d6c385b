"""How the stages tell of their progress. Silent by itself; the command line puts bars in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Progress:
    """Hears of every stage, and does nothing. `total` is None where it is not known beforehand."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int) -> None:
        """So many more rows are settled."""

    def done(self) -> None:
        """The stage ended well."""


_current: ContextVar[Progress] = ContextVar("progress", default=Progress())  # noqa: B039 (it has no state)


def current() -> Progress:
    """Who listens now. On a worker of another machine: nobody."""
    return _current.get()


@contextmanager
def reporting_to(progress: Progress) -> Iterator[None]:
    """Let `progress` hear of all that happens in the block."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)
