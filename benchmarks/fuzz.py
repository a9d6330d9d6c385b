"""Broken input gets a clear error: 10,000 damaged commands in this process, 300 as processes of their own.

No command may end with a traceback or another exit code than 0, 1 or 2, touch a file that is not its own, or leave a
file half-written. `python -m benchmarks.fuzz --only NUMBER` runs one case and shows what it prints.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import fuzzing

CASES, PROCESSES = 10_000, 300
TINY_CASES, TINY_PROCESSES = len(fuzzing.TEMPLATES), 1
#: Seconds after which a command hangs.
PATIENCE = 120
ROOT = Path(__file__).parents[1]
#: What every command did: large, and made again from the seed, so not in the repository.
LOG = Path(__file__).parent / "results" / "fuzz.jsonl.xz"


def run(tiny: bool = False) -> list[dict[str, Any]]:
    cases, processes = (TINY_CASES, TINY_PROCESSES) if tiny else (CASES, PROCESSES)
    start = time.perf_counter()
    jobs = [(number, number >= cases) for number in range(cases + processes)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        results = list(pool.map(attempt, *zip(*jobs, strict=True), chunksize=8))
    if not tiny:
        _write_log(results)
    wrong = [one for one in results if one["wrongs"]]
    for one in wrong[:20]:
        print(one["number"], one["arguments"], one["damage"], one["wrongs"], file=sys.stderr)
    codes = Counter(one["code"] for one in results)
    seconds = time.perf_counter() - start
    detail = f"{cases:,} in-process, {processes:,} processes, {seconds:.0f} s; exit codes {dict(sorted(codes.items()))}"
    return [
        {
            "claim": "damaged commands that misbehave",
            "measured": len(wrong),
            "unit": "of them",
            "at_most": 0,
            "detail": detail,
        }
    ]


@functools.cache
def finished() -> Path:
    """A run of the study that damaged commands start from."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder)
    place, temporary, here = folder / "here", folder / "temporary", Path.cwd()
    place.mkdir()
    temporary.mkdir()
    fuzzing.furnish(place)
    os.chdir(place)
    try:
        code, _, err = _in_process(["run", "study.toml", "-o", "out"], temporary)
    finally:
        os.chdir(here)
    if code:
        raise RuntimeError(err)
    return place / "out"


def attempt(number: int, process: bool, shown: bool = False) -> dict[str, Any]:
    """Run one case in a folder of its own."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        place, temporary = Path(folder, "here"), Path(folder, "temporary")
        place.mkdir()
        temporary.mkdir()
        case = fuzzing.make_case(number, place, finished())
        os.chdir(place)
        start = time.perf_counter()
        try:
            code, out, err = (_as_process if process else _in_process)(case.arguments, temporary)
        finally:
            os.chdir(here)
        seconds = time.perf_counter() - start
        wrongs = fuzzing.wrongs(case, place, code, err, sorted(one.name for one in temporary.iterdir()))
    if shown:
        print(out, err, sep="\n")
    last = err.strip().splitlines()[-1][:300] if err.strip() else ""
    last = last.replace(folder, "the folder").replace(f"{ROOT}/", "")
    return {
        "number": number, "process": process, "arguments": [one[:200] for one in case.arguments], "damage": case.damage,
        "code": code, "seconds": round(seconds, 2), "wrongs": wrongs, "last": last,
    }  # fmt: skip


def _in_process(arguments: list[str], temporary: Path) -> tuple[int, str, str]:
    from typer.testing import CliRunner

    from otherwords.cli.app import app
    from otherwords.registry import KINDS

    tempfile.tempdir = str(temporary)
    os.environ["OTHERWORDS_CACHE"] = str(temporary.parent / "answers.sqlite")
    before = set(sys.modules)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # not errors, as in tests
            result = CliRunner().invoke(app, arguments)
    finally:
        signal.alarm(0)
        tempfile.tempdir = None
        for registry in KINDS.values():
            for plugin in [one for one in registry if one.source.startswith(str(temporary.parent))]:
                registry.forget(plugin.source)
        for name in set(sys.modules) - before:  # the case's own modules
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(temporary.parent)):
                del sys.modules[name]
    err = result.stderr
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        err += "".join(traceback.format_exception(result.exception))
    return result.exit_code, result.stdout, err


def _give_up(*_: object) -> None:
    raise RuntimeError(f"no end after {PATIENCE} s")


def _as_process(arguments: list[str], temporary: Path) -> tuple[int, str, str]:
    env = {**os.environ, "OTHERWORDS_CACHE": str(temporary.parent / "answers.sqlite"), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "otherwords", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def _write_log(results: list[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in results)
    LOG.write_bytes(lzma.compress(lines.encode("utf-8", "backslashreplace"), preset=9))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run one case and show what it prints")
    parser.add_argument(
        "--range", type=int, nargs=2, metavar=("FROM", "TO"), help="run some cases; show the wrong ones"
    )
    parser.add_argument("--process", action="store_true", help="as a process of its own")
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(attempt(options.only, options.process, shown=True), indent=1))
    for number in range(*(options.range or (0, 0))):
        result = attempt(number, options.process)
        if result["wrongs"]:
            print(json.dumps(result, ensure_ascii=False), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
