"""How the stages report their progress: silently; the command line shows bars, `show_progress` a line."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def rate(number: float) -> str:
    """A number of things in a second, for people: a slow model does not stand still.

    >>> rate(0.34), rate(12345.6)
    ('0.3', '12,346')
    """
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}"


class Progress:
    """Receives every step of a stage, and does nothing. `total` is None where it is not known beforehand."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int) -> None:
        """So many more rows are done."""

    def note(self, text: str) -> None:
        """Something to show beside the count, instead of what was shown before: rates, costs."""

    def done(self) -> None:
        """The stage ended well."""


class ProgressLine(Progress):
    """Writes how far a stage is to one line of standard error, and again over it; nothing for what takes no time."""

    def __init__(self) -> None:
        self.start("")

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins."""
        self._stage, self._total, self._count, self._width, self._note = stage, total, 0, 0, ""
        self._begin = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        """So many more rows are done."""
        self._count += count
        if time.monotonic() - self._last > 0.2:
            self._last = time.monotonic()
            self._write(f" ({self._note}{self._left()})" if self._note else "")

    def note(self, text: str) -> None:
        """Something to show beside the count."""
        self._note = text

    def _left(self) -> str:
        if not self._total or not self._count:
            return ""
        seconds = (time.monotonic() - self._begin) * (self._total / self._count - 1)
        return f", {max(0, seconds):,.0f} s left"

    def done(self) -> None:
        """The stage ended well."""
        if self._width:
            self._write(f" in {time.monotonic() - self._begin:.1f} s")
            sys.stderr.write("\n")
        self._width = 0

    def _write(self, more: str) -> None:
        of = "" if self._total is None else f" of {self._total:,}"
        text = f"{self._stage}: {self._count:,}{of}{more}"
        sys.stderr.write(f"\r{text.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(text)


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)
#: Where to report if nothing else was chosen; no ContextVar, because a notebook may give each cell another context.
_usual = [Progress()]


def current() -> Progress:
    """The progress to report to now. On a worker of another machine it is the silent one."""
    return _current.get() or _usual[0]


def show_progress(on: bool = True) -> None:
    """Show the progress of each stage on standard error from now on, or stop showing it."""
    _usual[0] = ProgressLine() if on else Progress()


_part: ContextVar[Callable[[float], None] | None] = ContextVar("part", default=None)


def advance_part(share: float) -> None:
    """So much of a step that somebody else reports as one is done, from 0 to 1: of a batch that a model answers."""
    if report := _part.get():
        report(share)


@contextmanager
def advancing(count: int, advance: Callable[[int], None]) -> Iterator[None]:
    """A block that does so many rows: `advance` gets parts of them as it goes, and the rest at its end."""
    done = 0

    def report(share: float) -> None:
        nonlocal done
        more = int(count * min(1.0, share)) - done
        if more > 0:
            done += more
            advance(more)

    token = _part.set(report)
    try:
        yield
    finally:
        _part.reset(token)
    report(1.0)


@contextmanager
def reporting_to(progress: Progress) -> Iterator[None]:
    """Report to `progress` whatever happens in the block."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)
