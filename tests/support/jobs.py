"""Jobs for engines: functions that a worker process can import."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path

from otherwords.errors import ON_COMMAND_LINE, BadInput
from otherwords.progress import current


def double(number):
    current().advance(number)
    return 2 * number


def slow_first(number):
    time.sleep(0.3 if number == 0 else 0)
    warnings.warn(f"number {number // 2}", stacklevel=1)
    return number


def fail(number):
    time.sleep(0.3 if number == 1 else 0)
    if number == 1:
        raise BadInput("found nothing", where="a.jsonl, line 3", field="label", fix="give one")
    if number == 2:
        raise BadInput("comes later")
    return number


def about(number):
    print("printed", number)
    print("error", number, file=sys.stderr)
    os.write(1, b"raw\n")
    shown = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OTHERWORDS_THREADS")
    return os.getpid(), [os.environ[one] for one in shown], ON_COMMAND_LINE.get(), sys.stdin.read(), str(Path.cwd())


def die(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number
