"""Run the benchmarks named on the command line, or all, and keep what they say in benchmarks/results/."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from pathlib import Path

NAMES = ("metrics", "intervals", "invariance", "comparison", "synonyms", "inference", "merge", "memory", "startup")


def main() -> int:
    chosen = sys.argv[1:] or list(NAMES)
    if strangers := set(chosen) - set(NAMES):
        print(f"no benchmark {', '.join(sorted(strangers))}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    machine = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    failed = False
    for name in chosen:
        rows = importlib.import_module(f"benchmarks.{name}").run()
        for row in rows:
            failed |= row["measured"] > row["at_most"]
            verdict = "ok" if row["measured"] <= row["at_most"] else "TOO MUCH"
            print(f"{row['claim']}: {row['measured']:.2f} {row['unit']} (at most {row['at_most']:g}) {verdict}")
            print(f"    {row['detail']}")
        out = Path(__file__).parent / "results" / f"{name}.json"
        out.write_text(json.dumps({"machine": machine, "results": rows}, indent=2) + "\n")
    return int(failed)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


sys.exit(main())
