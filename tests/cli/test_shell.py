"""The command line as the shell meets it: pipes, signals, closed readers, full disks, no colours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

OTHERWORDS = (sys.executable, "-c", "from otherwords.cli import main; main()")


def _by_files(cli, place):
    cli("vary", "problems.jsonl", "-w", "contractions", "--suite", "-o", "suite.jsonl", "-q")
    cli("check", "suite.jsonl", "-o", "checked.jsonl", "-q")
    cli("answer", "checked.jsonl", "-m", "scripted", "--no-canary", "-o", "answers.jsonl", "-q")
    return json.loads(cli("score", "answers.jsonl", "--json").stdout)


def test_stages_read_what_the_one_before_wrote(cli, problems, place, leftovers):
    """The thin version of the next: standard input and output, without processes."""
    stages = (
        ("vary", "-", "--suite", "--with", "contractions"),
        ("check", "-"),
        ("answer", "-", "-m", "scripted", "--no-canary"),
    )
    rows = problems.read_text(encoding="utf-8")
    for stage in stages:
        done = cli(*stage, stdin=rows)
        rows = done.stdout
        assert "rows written to standard output" in done.stderr
    assert json.loads(cli("score", "-", "--json", stdin=rows).stdout) == _by_files(cli, place)
    assert leftovers() == []


@pytest.mark.slow
def test_stages_as_a_pipe(shell, cli, problems, place, leftovers):
    done = shell(
        "cat problems.jsonl | otherwords vary - --suite --with contractions | otherwords check - | "
        "otherwords answer - -m scripted --no-canary | otherwords score - --json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == _by_files(cli, place)
    assert "rows written to standard output" in done.stderr
    assert leftovers() == []


@pytest.mark.slow
def test_an_error_at_the_head_of_a_pipe_gives_the_rest_nothing(shell, problems, place):
    done = shell("otherwords vary absent.jsonl -w contractions --suite -q | otherwords answer - -m scripted -q")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: absent.jsonl: no such file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "vary many.jsonl -w contractions -q",
        pytest.param("list", marks=pytest.mark.slow),
        pytest.param("list --json", marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_goes_away(shell, write_jsonl, place, leftovers, command):
    good = {"premise": "It isn't so.", "hypothesis": "It is.", "label": "neutral"}
    write_jsonl(place / "many.jsonl", [{"id": str(i), **good} for i in range(3000)])
    done = shell(f"otherwords {command} | head -1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
    assert leftovers() == []


def test_no_room_for_the_output(shell, problems):
    """The error is neither coloured nor cut, however narrow the terminal."""
    done = shell("otherwords vary problems.jsonl -w contractions -q > /dev/full", COLUMNS="40")
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: No space left on device; free some space")
    assert done.stderr.count("\n") == 1


def test_a_closed_output_is_named(shell, problems):
    done = shell("otherwords vary problems.jsonl -w contractions -q >&-")
    assert done.returncode == 2
    assert done.stderr == "error: standard output: is closed; name a file with -o\n"


def test_tables_in_a_pipe_are_neither_coloured_nor_cut(shell, problems):
    done = shell("otherwords list metrics | cat", COLUMNS="40")
    assert "accuracy_original.v1" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_stopped_command_leaves_no_temporary_files(problems, place, leftovers, number):
    command = ["answer", "problems.jsonl", "-m", "scripted(delay=30, log=log)", "--no-canary", "--no-cache"]
    process = subprocess.Popen(
        [*OTHERWORDS, *command, "-o", "out.jsonl", "-q"],
        cwd=place,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    deadline = time.monotonic() + 20
    while not (place / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    if number == signal.SIGINT:
        assert error.startswith("error: interrupted; ")
        assert error.count("\n") == 1
    assert not (place / "out.jsonl").exists()
    assert leftovers() == []


def test_ctrl_c_while_modules_load_shows_no_traceback(place):
    """There is nothing to put in order yet: the process ends as any other does."""
    stopping = """
import os, signal, sys

class Stopping:
    def find_spec(self, name, *_):
        if name == "otherwords.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Stopping())
from otherwords.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", stopping, "list"], cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
