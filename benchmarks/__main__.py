"""Run the benchmarks named on the command line, or all, and write what they measured to benchmarks/results/."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

NAMES = (
    "metrics",
    "intervals",
    "coverage",
    "noise",
    "people",
    "invariance",
    "comparison",
    "crossed",
    "synonyms",
    "reworded",
    "inference",
    "merge",
    "answers",
    "spine",
    "memory",
    "soak",
    "requests",
    "engines",
    "cluster",
    "startup",
    "fuzz",
    "anytime",
    "ie_laws",
    "training",
    "small_trainers",
    "report_page",
    "annotators",
    "logs",
    "batches",
)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if unknown := set(options.names) - set(NAMES):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    machine = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    failed = False
    for name in options.names or NAMES:
        rows = importlib.import_module(f"benchmarks.{name}").run(tiny=options.tiny)
        for row in rows:
            verdict = "ok" if row["measured"] <= row["at_most"] else "TOO MUCH"
            failed |= verdict != "ok"
            limit = "" if options.tiny else f" (at most {row['at_most']:g}) {verdict}"
            print(f"{row['claim']}: {row['measured']:.2f} {row['unit']}{limit}")
            print(f"    {row['detail']}")
        if not options.tiny:
            out = Path(__file__).parent / "results" / f"{name}.json"
            out.write_text(json.dumps({"machine": machine, "results": rows}, indent=2) + "\n")
    return int(failed and not options.tiny)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(NAMES)}")
    parser.add_argument(
        "--tiny", action="store_true", help="so small that it takes seconds: checks no limit, writes no results"
    )
    return parser.parse_args(arguments)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
