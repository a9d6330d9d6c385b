"""Jobs for engines: functions that a worker process can import."""

from __future__ import annotations

import dataclasses
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


def die_once(job):
    """Kill the worker, unless another was killed by this job before."""
    folder, number = job
    mark = Path(folder) / str(number)
    if number % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def visible_gpus(folder):
    """The GPU that a worker sees; wait until a second worker has come, too."""
    (Path(folder) / str(os.getpid())).touch()
    limit = time.monotonic() + 30
    while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < limit:
        time.sleep(0.02)
    return os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()


def unreadable(_):
    """A result of a class that the driver cannot import."""
    kind = dataclasses.make_dataclass("NoSuchRecord", ["number"])
    kind.__module__ = "nowhere"
    return kind(1)


def of_a_local_class(_):
    @dataclasses.dataclass
    class Local:
        number: int

    return Local(1)
