"""Nothing is lost: a `run` is killed at many moments, or its disk fills up, and continued; the end is the same.

Each moment is a line of `results/soak.jsonl`. `python -m benchmarks soak` needs minutes; the moments are seeded.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

import otherwords

from . import spine

SEED = 16
KILLS, FULL_DISKS = 100, 10
TINY_KILLS, TINY_FULL_DISKS = 2, 1
PROBLEMS, SHARD = 240, 20
LOG = Path(__file__).parent / "results" / "soak.jsonl"
#: What can be seen of a stage while it is at work: files of this kind, and how many there will be.
PARTS = PROBLEMS // SHARD
STAGES = {
    "problems": (".taking-in/problems/part-*.parquet", PARTS),
    "variants": ("variants/part-*.parquet", PARTS),
    "buckets": ("buckets/part-*.parquet", PARTS),
    "answers": ("answers/*/part-*.parquet", 2 * PARTS),
    "scores": ("scores.json", 1),
}
#: Of the manifest, what says how a run went and not what it found.
_HOW = ("timings", "answered", "study")


def run(tiny: bool = False) -> list[dict[str, Any]]:
    kills, disks = (TINY_KILLS, TINY_FULL_DISKS) if tiny else (KILLS, FULL_DISKS)
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        soak = Soak(Path(place))
        moments = random.Random(SEED)
        for number in range(kills):
            lines.append(soak.kill(moments, number))
            _log(lines, tiny)
        for number in range(disks):
            lines.append(soak.fill(moments, number, disks))
            _log(lines, tiny)
    return [
        _claim(lines, "kill", f"runs of {kills} that were killed (-9) and did not end as if undisturbed"),
        _claim(lines, "full", f"runs of {disks} whose disk was full and that did not end as if undisturbed"),
    ]


def _log(lines: list[dict[str, Any]], tiny: bool) -> None:
    if not tiny:
        LOG.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _claim(lines: list[dict[str, Any]], kind: str, claim: str) -> dict[str, Any]:
    own = [line for line in lines if line["kind"] == kind]
    bad = [line for line in own if line["wrong"]]
    detail = ", ".join(f"{stage} {count}" for stage, count in Counter(line["stage"] for line in own).items())
    detail += f"; how: {', '.join(dict.fromkeys(line['how'] for line in own))}"
    detail += f"; first: {bad[0]['wrong'][0]}" if bad else ""
    return {"claim": claim, "measured": float(len(bad)), "unit": "runs", "at_most": 0, "detail": detail}


class Soak:
    """One study, run undisturbed once, and then disturbed again and again."""

    def __init__(self, place: Path):
        self.place = place
        _write_study(place)
        self.wanted: dict[str, Any] = {}
        done = self.start(place / "whole").wait()
        assert done == 0, (place / "log").read_text()
        self.wanted = results(place / "whole")
        self.bytes = _size(place / "whole") + _size(place / "whole.cache")

    def start(self, out: Path, engine: str = "in-process", limit: int = 0) -> subprocess.Popen[bytes]:
        """Start the study into a folder, with a cache of its own beside it; `limit` is for the size of a file."""
        cache = out.parent / f"{out.name}.cache" / "answers.sqlite"
        options = ["--out", str(out), "--cache", str(cache), "--engine", engine]
        command = [sys.executable, "-m", "otherwords", "run", "study.toml", *options]
        env = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(Path(otherwords.__file__).parents[1])}
        with (self.place / "log").open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.place,
                env=env,
                stdout=log,
                stderr=log,
                preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None,
            )

    def kill(self, moments: random.Random, number: int) -> dict[str, Any]:
        """Kill a run in the middle of a stage, and continue it."""
        out = self.place / f"kill-{number}"
        stage = ["start", *STAGES][number % (len(STAGES) + 1)]
        engine = "processes:2" if number % 5 > 2 else "in-process"
        pattern, count = STAGES.get(stage, ("manifest.json", 1))
        after, delay = moments.randrange(count) + (stage != "start"), moments.random()
        process = self.start(out, engine)
        while process.poll() is None and stage != "start" and len(list(out.glob(pattern))) < after:
            time.sleep(0.0005)
        time.sleep(delay * (1.5 if stage == "start" else 0.05))
        ended = process.poll() is not None
        process.kill()
        process.wait()
        wrong = list(half_written(out))
        there = {name: len(list(out.glob(one))) for name, (one, _) in STAGES.items()}
        wrong += self._resume(out, engine)
        line = {"kind": "kill", "number": number, "stage": stage, "after": after, "delay": round(delay, 4)}
        return {**line, "how": engine, "ended_before": ended, "there": there, "wrong": wrong}

    def fill(self, moments: random.Random, number: int, count: int) -> dict[str, Any]:
        """Let the disk be full in the middle of a run; make room, and continue it."""
        share = (number + moments.random()) / count
        with small_disk(self.place, max(4096, int(share * self.bytes))) as (folder, grow, limit):
            out = folder / "run"
            process = self.start(out, limit=limit)
            code = process.wait()
            message = (self.place / "log").read_text().strip().splitlines()[-1:] or [""]
            wrong = list(half_written(out))
            if code not in (0, 2):
                wrong.append(f"exit code {code}: {message[0]}")
            if code == 2 and not ("free some space" in message[0] and "error:" in message[0]):
                wrong.append(f"says: {message[0]}")
            there = {name: len(list(out.glob(one))) for name, (one, _) in STAGES.items()}
            grow()
            wrong += self._resume(out)
        stage = next((name for name in reversed(STAGES) if there[name]), "start")
        line = {"kind": "full", "number": number, "stage": stage, "bytes": int(share * self.bytes)}
        how = "RLIMIT_FSIZE: no tmpfs could be mounted" if limit else "tmpfs"
        return {
            **line,
            "how": how,
            "exit": code,
            "said": message[0].replace(f"{folder}/", ""),
            "there": there,
            "wrong": wrong,
        }

    def _resume(self, out: Path, engine: str = "in-process") -> Iterator[str]:
        """Continue the run, and say what is not as in the undisturbed one."""
        if code := self.start(out, engine).wait():
            yield f"continuing ended with {code}: {(self.place / 'log').read_text()[-500:]}"
            return
        found = results(out)
        yield from (
            f"{name} differs" for name in self.wanted.keys() | found.keys() if self.wanted.get(name) != found.get(name)
        )
        shutil.rmtree(out)
        shutil.rmtree(out.parent / f"{out.name}.cache", ignore_errors=True)


def results(out: Path) -> dict[str, Any]:
    """All that a run found: its parts, scores, and the manifest but for how it went."""
    found: dict[str, Any] = {str(one.relative_to(out)): one.read_bytes() for one in sorted(out.rglob("*.parquet"))}
    found |= {name: (out / name).read_bytes() for name in ("scores.json", "unvaried.jsonl") if (out / name).exists()}
    manifest = json.loads((out / "manifest.json").read_text())
    found["answers"] = {model: one["answers"] for model, one in manifest["answered"].items()}
    found["left over"] = [one.name for one in out.rglob(".*") if one.name != ".lock"]
    return {**found, "manifest": {name: entry for name, entry in manifest.items() if name not in _HOW}}


def half_written(out: Path) -> Iterator[str]:
    """Files of a run that is not at work which cannot be read whole; drafts have names of their own."""
    for part in out.rglob("part-*.parquet"):
        try:
            pl.read_parquet(part)
        except Exception as error:
            yield f"{part.name} is half written: {error}"
    for name in ("manifest.json", "scores.json"):
        if (out / name).exists():
            try:
                json.loads((out / name).read_text())
            except ValueError as error:
                yield f"{name} is half written: {error}"


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[tuple[Path, Callable[[], None], int]]:
    """A folder on a disk of so many bytes, a function that makes room, and, where none can be mounted, a file limit."""
    folder = place / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    mounted = bool(shutil.which("mount")) and not subprocess.run(mount, capture_output=True).returncode
    try:
        if mounted:
            more = ["mount", "-o", "remount,size=256m", str(folder)]
            yield folder, lambda: subprocess.run(more, check=True, capture_output=True) and None, 0
        else:
            yield folder, lambda: None, max(8192, size // 16)
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def _write_study(place: Path) -> None:
    """A small study with every stage, two models, and many parts."""
    premise = "Person {} isn't far from the river, and they're {} years old."
    pairs = ((premise.format(n, n % 97), f"Person {n} won't be late.") for n in range(PROBLEMS))
    spine.write_problems(place / "data.jsonl", pairs, ("entailment", "neutral", "contradiction"))
    (place / "study.toml").write_text(
        'data = ["data.jsonl"]\nvary = ["contractions"]\ncheck = ["surface", "overlap"]\n'
        'models = ["one=scripted(seed=1)", "two=scripted(seed=2)"]\ncanary = false\n'
        f"replicates = 200\nshard = {SHARD}\n"
    )


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
