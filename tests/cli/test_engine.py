"""--engine processes on the command line: what users see is the same, and no worker outlives its command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from otherwords.registry import _plugin_files, generators

PLUGIN = """
from otherwords.registry import generators
@generators("shout.v1")
def shout():
    def vary(problems, seeds):
        print("shouting")
        for problem in problems:
            yield problem.restate(premise=problem.text["premise"].upper())
    return vary
"""
MODELS = """
import os, time
from pathlib import Path
def ask(batch):
    with Path("pids").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    if Path("slow").exists():
        time.sleep(30)
    return ["neutral"] * len(batch)
def broken(batch):
    raise ValueError("no such word")
def deadly(batch):
    os._exit(7)
"""
MAIN = "from otherwords.cli import main; main()"


@pytest.fixture
def files(place: Path) -> Iterator[Path]:
    """Sixty problems, a plug-in and some models; shards of the commands are made small by the study."""
    rows = [
        {"id": f"p{n}", "premise": f"It isn't {n} o'clock.", "hypothesis": f"It's {n}.", "label": "neutral"}
        for n in range(60)
    ]
    (place / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "models.py").write_text(MODELS)
    (place / "study.toml").write_text(
        'data = ["data.jsonl"]\nvary = ["contractions"]\nmodels = ["m=python:models.py:ask"]\ncanary = false\n'
        'cache = false\nreplicates = 50\nshard = 10\nengine = "processes:2"\n'
    )
    yield place
    generators.forget(str((place / "plugin.py").resolve()))
    _plugin_files.pop((place / "plugin.py").resolve(), None)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, seconds: float = 30) -> bool:
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.02)
    return bool(condition())


def start(place: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A study whose model answers slowly, in the middle of its answers; and its workers."""
    (place / "slow").touch()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "run", "study.toml", "-o", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pids = place / "pids"
    assert wait_until(lambda: (pids.exists() and len(set(pids.read_text().split())) == 2) or process.poll() is not None)
    return process, [int(pid) for pid in set(pids.read_text().split())]


def test_a_wrong_name_is_refused_before_any_work(cli, files):
    for command in (
        ("run", "study.toml", "-o", "out"),
        ("vary", "data.jsonl", "-w", "contractions", "-o", "out.jsonl"),
        ("check", "data.jsonl", "-o", "out.jsonl"),
        ("answer", "data.jsonl", "--model", "scripted", "-o", "out.jsonl"),
    ):
        done = cli(*command, "--engine", "rays", rc=2)
        assert (
            "error: engine: found 'rays'; use in-process, processes, processes:N, ray or ray://HOST:PORT" in done.stderr
        )
    assert not (files / "out").exists()
    assert not (files / "out.jsonl").exists()


def test_errors_of_a_users_model_look_as_they_do_here(cli, files):
    seen = [
        cli("run", "study.toml", "--model", "python:models.py:broken", "--engine", engine, "-o", "out", rc=2).stderr
        for engine in ("in-process", "processes:2")
    ]
    errors = [[line for line in text.splitlines() if line.startswith("error")] for text in seen]
    assert errors[0] == errors[1]
    assert re.search(r"ValueError: no such word.*models\.py", errors[0][0])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["vary", "check", "answer"])
def test_each_stage_from_file_to_file_gives_the_same(cli, files, monkeypatch, command):
    for stage in ("vary_files", "check_files", "answer_files"):
        module = __import__("otherwords.running.files", fromlist=[stage])
        function = getattr(module, stage)
        monkeypatch.setattr(module, stage, lambda *given, _f=function, **more: _f(*given, **{**more, "shard": 10}))
    name = f"shout-{command}"  # a name is registered once in a process
    (files / "plugin.py").write_text(PLUGIN.replace("shout.v1", f"{name}.v1"))
    cli("vary", "data.jsonl", "-w", name, "--plugin", "plugin.py", "--suite", "-o", "suite.jsonl")
    options = {
        "vary": ("data.jsonl", "-w", name, "-w", "contractions", "--plugin", "plugin.py", "--notes", "notes.jsonl"),
        "check": ("suite.jsonl", "-w", "surface", "-w", "overlap"),
        "answer": ("suite.jsonl", "--model", "m=python:models.py:ask", "--no-canary", "--no-cache"),
    }[command]
    seen = []
    for engine in ("in-process", "processes:2"):
        done = cli(command, *options, "--engine", engine, "-o", "out.jsonl")
        seen.append(((files / "out.jsonl").read_bytes(), sorted(set(re.findall(r"^[a-z0-9].*", done.stderr, re.M)))))
    assert seen[0] == seen[1]
    assert len(seen[0][0].splitlines()) >= 120
    if command == "answer":
        assert len(set((files / "pids").read_text().split())) == 3  # this process, and two workers


@pytest.mark.slow
def test_a_worker_that_ends_is_reported(cli, files):
    done = cli("run", "study.toml", "--model", "python:models.py:deadly", "-o", "out", rc=2)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert "a worker process ended with exit code 7, as 2 did before it, while it worked on shard" in line
    assert "use fewer workers: --engine in-process" in line
    assert "finished work is kept: run the same command again to continue" in line
    assert len(list((files / "out" / "buckets").iterdir())) == 6


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_workers_end_with_their_command_and_what_is_done_is_kept(cli, files, stop, code):
    process, workers = start(files)
    if stop is signal.SIGINT:
        os.killpg(process.pid, stop)  # as Ctrl-C does: to the workers, too
    else:
        os.kill(process.pid, stop)
    _, error = process.communicate(timeout=30)
    assert process.returncode == code
    assert wait_until(lambda: not any(map(is_alive, workers)), 10)
    if code > 0:
        last = error.strip().splitlines()[-1]
        assert last == "error: interrupted; finished work is kept: run the same command again to continue"
        assert "Traceback" not in error
    (files / "slow").unlink()
    cli("run", "study.toml", "-o", "out")
    cli("run", "study.toml", "-o", "whole", "--engine", "in-process")
    assert (files / "out" / "scores.json").read_bytes() == (files / "whole" / "scores.json").read_bytes()
    assert [one.name for one in (files / "out").rglob(".*.part")] == []
