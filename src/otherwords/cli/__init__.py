"""The command line: one file per command; a command parses, then makes one library call."""

import signal
from typing import Any

from .app import Terminated, app

__all__ = ["main"]


def main() -> None:
    """Run the command line. SIGTERM ends it as Ctrl-C does, so that no temporary file is left."""
    signal.signal(signal.SIGTERM, _terminate)
    app()


def _terminate(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait
    raise Terminated
