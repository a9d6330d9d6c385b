"""How the stages report their progress: silently by default; the command line shows bars instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Progress:
    """Receives every step of a stage, and does nothing. `total` is None where it is not known beforehand."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int) -> None:
        """So many more rows are done."""

    def done(self) -> None:
        """The stage ended well."""


_current: ContextVar[Progress] = ContextVar("progress", default=Progress())  # noqa: B039 (it has no state)


def current() -> Progress:
    """The progress to report to now. On a worker of another machine it is the silent one."""
    return _current.get()


@contextmanager
def reporting_to(progress: Progress) -> Iterator[None]:
    """Report to `progress` whatever happens in the block."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)
