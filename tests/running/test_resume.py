"""Killed, interrupted, out of space, run twice at once: what was finished is kept, and the numbers are the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import otherwords as ow

MAIN = "from otherwords.cli import main; main()"
BATCH = 5
PROBLEMS = 30
MOMENTS = 20


def _write_data(folder: Path) -> Path:
    rows = [
        {
            "id": f"p{i}",
            "premise": f"It isn't the {i // 2}th day.",
            "hypothesis": f"They're {'very ' * (i % 7)}late, {i}.",
            "label": ("entailment", "neutral", "contradiction")[i % 3],
        }
        for i in range(PROBLEMS)
    ]
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Place:
    """A run folder, a cache and a log of its own; the log is outside the run folder."""

    def __init__(self, home: Path, data: Path):
        home.mkdir()
        self.run, self.log, self.cache, self.temporary = (home / name for name in ("run", "log", "cache", "tmp"))
        self.temporary.mkdir()
        self.study, self.data = home / "study.toml", data

    def write_study(self, delay: float = 0.0) -> Path:
        """Shards of ten rows, batches of five: 90 texts in 18 batches or more."""
        self.study.write_text(
            f'data = ["{self.data}"]\nvary = ["contractions"]\nreplicates = 100\nshard = 10\ncanary = false\n'
            f'models = ["m=scripted(delay={delay}, log={self.log}, batch_size={BATCH})"]\ncache = "{self.cache}"\n'
        )
        return self.study

    def start(self, delay: float, setup: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", setup + MAIN, "run", str(self.write_study(delay)), "-o", str(self.run), "-q"],
            env={**os.environ, "TMPDIR": str(self.temporary)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self) -> None:
        """Run the same study again, without delays, in this process."""
        ow.run(self.write_study(), out=self.run)

    def asked(self) -> list[str]:
        """Every text that was asked, in order."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def scores(self) -> bytes:
        return (self.run / "scores.json").read_bytes()

    def manifest(self) -> dict[str, Any]:
        """The manifest up to timings, where answers came from, and the names of this place."""
        manifest = json.loads((self.run / "manifest.json").read_text())
        study = {name: value for name, value in manifest["study"].items() if name not in ("models", "cache")}
        return {**manifest, "study": study, "timings": None, "answered": None}

    def wait_for(self, path: Path, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + 30
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def wait_for_answers(self, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + 30
        while not self.asked() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def leftovers(self) -> list[Path]:
        """What an unfinished run left in its folder."""
        return [*self.run.rglob(".*.part"), *self.run.rglob(".taking-in")]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return _write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, data):
    place = Place(tmp_path_factory.mktemp("undisturbed") / "home", data)
    place.finish()
    assert len(place.asked()) == len(set(place.asked())) == 3 * PROBLEMS
    return place


@pytest.fixture
def place(tmp_path, data):
    return Place(tmp_path / "home", data)


def test_killed_while_it_answers(place, undisturbed):
    """kill -9 in the middle of the answers; the resume ends with the same bytes. Twenty moments: see below."""
    process = place.start(delay=0.3)
    place.wait_for_answers(process)
    process.kill()
    process.communicate()
    before = place.asked()
    place.finish()
    assert 0 < len(before) < 3 * PROBLEMS
    _check_resumed(place, before, undisturbed)


def _check_resumed(place, before, undisturbed):
    after = place.asked()[len(before) :]
    assert set(before) & set(after) <= set(before[-BATCH:]), "more than the batch in flight was asked again"
    assert set(before) | set(after) == set(undisturbed.asked())
    assert place.scores() == undisturbed.scores()
    assert place.manifest() == undisturbed.manifest()
    assert place.leftovers() == []
    # Nobody can clean up for a process that is killed with -9 while it has a temporary folder; nothing else may stay.
    assert all(path.name.startswith("otherwords-") for path in place.temporary.iterdir())


@pytest.mark.slow
def test_killed_at_twenty_moments(tmp_path, data, undisturbed):
    """kill -9 at seeded moments of a run of about a second and a half; each resume ends with the same bytes."""
    moments = [random.Random(number).uniform(0.0, 1.6) for number in range(MOMENTS)]

    def killed(number: int) -> Place:
        place = Place(tmp_path / f"home{number}", data)
        process = place.start(delay=0.06)
        place.wait_for(place.run / ".lock", process)
        time.sleep(moments[number])
        process.kill()
        process.communicate()
        return place

    reached = []
    with ThreadPoolExecutor(2) as pool:
        for place in pool.map(killed, range(MOMENTS)):
            before = place.asked()
            place.finish()
            _check_resumed(place, before, undisturbed)
            reached.append(len(before))
    # The moments really lie within the answering, many of them.
    assert sum(0 < count < 3 * PROBLEMS for count in reached) >= MOMENTS // 3, reached


@pytest.mark.slow
def test_killed_again_and_again(place, undisturbed):
    for number in range(4):
        process = place.start(delay=0.1)
        place.wait_for(place.log, process)
        time.sleep(0.15 + 0.1 * number)
        process.kill()
        process.communicate()
    asked = place.asked()
    place.finish()
    assert place.scores() == undisturbed.scores()
    assert len(asked) - len(set(asked)) <= 4 * BATCH


@pytest.mark.slow  # a command that is stopped: tests/cli/test_shell.py
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(place, undisturbed, number, code):
    process = place.start(delay=0.3)
    place.wait_for_answers(process)
    process.send_signal(number)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (code, "")
    assert error == "error: interrupted; finished work is kept: run the same command again to continue\n"
    assert not (place.run / "scores.json").exists()
    before = place.asked()
    assert 0 < len(before) < 3 * PROBLEMS
    place.finish()
    assert len(place.asked()) <= 3 * PROBLEMS + BATCH
    assert place.scores() == undisturbed.scores()
    assert place.leftovers() == list(place.temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("answer", "nothing was written, but answers that were given are in the cache, unless there was none"),
        ("check", "nothing was written: run the same command again\n"),
    ],
)
@pytest.mark.slow  # in this process: tests/cli/test_own_files.py
def test_a_command_claims_to_keep_only_what_it_keeps(place, data, command, kept):
    """Terminated in the middle, a command from file to file leaves no file; `answer` has filled the cache."""
    slow = f"scripted(delay=0.3, log={place.log}, batch_size={BATCH})"
    using = ("-m", slow, "--no-canary", "--cache", str(place.cache))
    if command == "check":
        using = ("-w", f'mutual-entailment(judge="{slow}")')
    variants = place.temporary.parent / "suite.jsonl"
    vary = [sys.executable, "-c", MAIN, "vary", str(data), "-w", "contractions", "--suite", "-o", str(variants), "-q"]
    subprocess.run(vary, check=True, timeout=60)
    out = variants.with_name("out.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, command, str(variants), *using, "-o", str(out), "-q"],
        env={**os.environ, "TMPDIR": str(place.temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    place.wait_for_answers(process)
    process.terminate()
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error.startswith(f"error: interrupted; {kept}")) == (143, True), error
    assert not out.exists()
    assert list(place.temporary.iterdir()) == []
    if command == "answer":
        before = len(place.asked())
        subprocess.run(process.args, check=True, timeout=60)
        assert len(place.asked()) <= 3 * PROBLEMS + BATCH
        assert 0 < before < 3 * PROBLEMS


@pytest.mark.slow
def test_bars_leave_the_terminal_as_it_was(place, data):
    """Terminated while bars are drawn: the cursor is shown again, and the error stands on a line of its own."""
    import pty

    main, terminal = pty.openpty()
    study = place.write_study(0.3)
    command = [sys.executable, "-c", MAIN, "run", str(study), "-o", str(place.run)]
    process = subprocess.Popen(command, stderr=terminal, stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
    os.close(terminal)
    place.wait_for_answers(process)
    process.terminate()
    seen = b""
    while True:
        try:
            some = os.read(main, 65536)
        except OSError:
            break
        if not some:
            break
        seen += some
    os.close(main)
    assert process.wait(timeout=30) == 143
    assert seen.rfind(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l") >= 0
    last = seen.rstrip().rpartition(b"\n")[2]
    assert b"error: interrupted; finished work is kept" in last
    assert b"\xe2\x94\x81" not in last  # no bar before it


# A file may not grow beyond so many bytes: the first run stops at its problems, the next at its buckets, the last at
# the cache. (Parquet files of this size differ a little from version to version; all that matters is that they stop.)
@pytest.mark.parametrize(
    "limit", [3_000, pytest.param(2_500, marks=pytest.mark.slow), pytest.param(20_000, marks=pytest.mark.slow)]
)
def test_a_full_disk(place, undisturbed, limit):
    setup = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY)); "
    process = place.start(delay=0.0, setup=setup)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert "run the same command again" in error
    assert not (place.run / "scores.json").exists()
    place.finish()
    assert place.scores() == undisturbed.scores()
    assert place.manifest() == undisturbed.manifest()
    assert place.leftovers() == list(place.temporary.iterdir()) == []


@pytest.mark.slow  # the lock itself: tests/storage
def test_two_at_once(place, undisturbed):
    first = place.start(delay=0.5)
    place.wait_for(place.log, first)
    second = place.start(delay=0.5)
    _, error = second.communicate(timeout=30)
    assert second.returncode == 2
    assert error == f"error: another process is using {place.run}; wait for it, or choose another folder with -o\n"
    first.kill()
    first.communicate()
    place.finish()  # a lock dies with its holder
    assert place.scores() == undisturbed.scores()


@pytest.mark.slow  # two processes and one cache: tests/models/test_cache.py
def test_two_runs_share_one_cache(tmp_path, data, undisturbed):
    """Two folders at the same time: no answer is lost, none is wrong."""
    one, two = (Place(tmp_path / name, data) for name in ("one", "two"))
    two.cache = one.cache
    running = [place.start(delay=0.02) for place in (one, two)]
    for process in running:
        said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert one.scores() == two.scores() == undisturbed.scores()
