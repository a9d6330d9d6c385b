"""The command line answers at once: `otherwords --help` against importing what it needs (typer and rich) alone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REPEATS, TINY_REPEATS = 15, 1


def run(tiny: bool = False) -> list[dict[str, Any]]:
    repeats = TINY_REPEATS if tiny else REPEATS
    command = str(Path(sys.executable).with_name("otherwords"))
    imports = [sys.executable, "-c", "import typer, rich.console, rich.table"]
    ours, peer, bare = [], [], []
    for _ in range(repeats):  # interleaved, so that a busy moment hits all of them
        peer.append(_seconds(imports))
        ours.append(_seconds([command, "--help"]))
        bare.append(_seconds([sys.executable, "-c", "import otherwords"]))
    fast, slow, least = (sorted(times)[repeats // 2] for times in (ours, peer, bare))
    detail = f"--help {fast * 1000:.0f} ms; its imports {slow * 1000:.0f} ms; import otherwords {least * 1000:.0f} ms"
    claim = "otherwords --help, times importing typer and rich"
    return [{"claim": claim, "measured": fast / slow, "unit": "x", "at_most": 1.5, "detail": detail}]


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start
