"""Ctrl-C between two steps: what was learnt so far is put down first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def between_steps() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C wait: whether there was one, is what the given function says. A second ends at once."""
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be caught
        yield lambda: False
        return
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)
