"""The package on Windows, as far as Linux can tell: nothing needs a module or function that only POSIX has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import otherwords

SRC = Path(otherwords.__file__).parent
#: Modules that Windows lacks.
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
#: Names of `os` and `signal` that Windows lacks.
FUNCTIONS = ("fork", "getuid", "geteuid", "sched_getaffinity", "O_DIRECTORY", "O_NOFOLLOW", "mkfifo", "killpg")
SIGNALS = ("SIGPIPE", "SIGKILL", "SIGHUP", "SIGALRM", "SIGXFSZ")
HIDE = f"""
import os, signal, sys
for name in {MODULES}:
    sys.modules[name] = None
for module, names in ((os, {FUNCTIONS}), (signal, {SIGNALS})):
    for name in names:
        delattr(module, name)
"""
#: Every command in one process: imports are most of the time.
COMMANDS = """
import otherwords, otherwords.storage.files, otherwords.storage.run_folder, otherwords.storage.tables
import otherwords.cli.app
from otherwords.cli import main

for command in (
    ["score", "answers.jsonl", "--metric", "flip_rate", "-o", "scores.jsonl"],
    ["run", "--data", "rows.jsonl", "-w", "identity", "-m", "scripted", "--metric", "control_flips", "-o", "run"],
    ["report", "run"],
):
    sys.argv = ["otherwords", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, command
"""
PROBLEM = {"premise": "A man sleeps – at home.", "hypothesis": "Somebody sleeps ≥ once.", "label": "entailment"}
ANSWERS = [
    {"bucket": "a", "variant": None, "gold": "neutral", "pred": "neutral"},
    {"bucket": "a", "variant": "1", "gold": "neutral", "pred": "entailment"},
]


def test_no_module_imports_what_windows_lacks():
    found = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(MODULES)})\b", re.M)
    assert [str(file) for file in SRC.rglob("*.py") if found.search(file.read_text(encoding="utf-8"))] == []


def test_score_run_and_report_work_without_posix(tmp_path):
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))
    (tmp_path / "rows.jsonl").write_text(json.dumps(PROBLEM) + "\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore:only soft file lock", "-c", HIDE + COMMANDS],
        cwd=tmp_path,
        capture_output=True,
        encoding="cp1252",
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},  # what a Windows console may have
    )
    assert done.returncode == 0, done.stderr
    score = json.loads((tmp_path / "scores.jsonl").read_text())
    assert score["value"] == 1.0
    assert (tmp_path / "run" / "report.html").stat().st_size > 1_000
