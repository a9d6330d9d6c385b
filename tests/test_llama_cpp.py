"""The server that other tests ask: it is real, one for all processes of a run, and does not outlive them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import llama_cpp
import pytest


def test_the_server_serves_the_model_by_its_name(llama_server: str) -> None:
    with urllib.request.urlopen(f"{llama_server}/models") as reply:
        assert [one["id"] for one in json.load(reply)["data"]] == ["smollm2"]


@pytest.mark.slow
def test_the_server_ends_when_all_who_asked_it_were_killed(smollm2: Path, tmp_path: Path) -> None:
    code = "import llama_cpp, pathlib, sys, time\n"
    code += "with llama_cpp.serving(pathlib.Path(sys.argv[1])) as url: print(url, flush=True); time.sleep(600)"
    environment = {**os.environ, "PYTHONPATH": str(Path(llama_cpp.__file__).parent)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as one,
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as other,
    ):
        assert one.stdout
        assert other.stdout
        url = one.stdout.readline()
        assert url == other.stdout.readline() != b""
        one.send_signal(signal.SIGKILL)
        time.sleep(1.5)
        assert _answers(url.decode().strip())
        other.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while _answers(url.decode().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/models").close()
    except OSError:
        return False
    return True
