"""The command line: one file per command; a command parses, then makes one library call."""

import signal
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line. SIGTERM ends it as Ctrl-C does, so that no temporary file is left."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # while modules load, there is nothing to put in order, nor to show
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .app import app

    signal.signal(signal.SIGINT, usual)
    signal.signal(signal.SIGTERM, _terminate)
    app()


def _terminate(*_: Any) -> None:
    from .app import Terminated

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait
    raise Terminated
