"""The command line: one file per command; a command parses, then makes one library call."""

import signal
import sys

from .app import app

__all__ = ["main"]


def main() -> None:
    """Run the command line. SIGTERM unwinds like any other end, so that no temporary file is left."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app()
