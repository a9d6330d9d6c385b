"""Run a piece of work in a process of its own, and say what it took: seconds inside, and its peak memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def run(code: str, *arguments: str) -> dict[str, Any]:
    """Run code that ends by calling `report(**values)`; its peak resident memory in MB is added."""
    preamble = (
        "import json, resource, sys\n"
        "from pathlib import Path\n"
        "def report(**values):\n"
        "    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "    if (status := Path('/proc/self/status')).exists():  # without what the starting process held\n"
        "        peak = int(status.read_text().partition('VmHWM:')[2].split()[0]) / 1024\n"
        "    print(json.dumps({**values, 'peak_mb': peak}))\n"
    )
    done = subprocess.run([sys.executable, "-c", preamble + code, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))
