"""Random search on Ray: the same trials and the same model as in one process, whatever dies on the way."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from ie_grids import SLOW
from ray_nodes import IGNORED, served

from .conftest import problems, toy_rows

pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
pytestmark = [*IGNORED, pytest.mark.slow]

#: The trainer writes down each fit; `trap` ends the process of the third.
SEARCH = ("train", "slow", "--plugin", "slow.py", "--data", "d.jsonl", "--valid", 0.2, "--seed", 3)
SPACE = ("--space", "space.toml", "--search", 4)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as (_, found):
        yield found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(SLOW)
    Path("space.toml").write_text("steps = {from = 1, to = 40}\n")
    problems(Path("d.jsonl"), toy_rows(90))
    return tmp_path


def otherwords(*arguments: Any, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "otherwords", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one), "COLUMNS": "500"}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=env)


def trained(folder: str) -> tuple[list[dict[str, str]], dict[str, bytes]]:
    """The trials without their times, and the files of the model."""
    with Path(folder, "search", "trials.csv").open(encoding="utf-8", newline="") as file:
        rows = [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]
    return rows, {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file()}


def test_a_search_on_ray_is_the_same_as_here_and_outlives_a_killed_worker(here, address):
    alone = otherwords(*SEARCH, *SPACE, "-o", "alone")
    assert alone.returncode == 0, alone.stderr
    Path("fits").unlink()
    Path("trap").touch()
    done = otherwords(*SEARCH, *SPACE, "--engine", address, "--workers", 2, "-o", "far/there")
    assert done.returncode == 0, done.stderr
    assert len(Path("fits").read_text().splitlines()) == 5, "one trial was done again"
    assert trained("far/there") == trained("alone")
    assert done.stdout.replace("far/there", "alone") == alone.stdout
    again = otherwords(*SEARCH, *SPACE, "--engine", address, "--workers", 2, "-o", "far/there")
    assert "far/there was trained before" in again.stdout
    assert len(Path("fits").read_text().splitlines()) == 5, "nothing was done again"


def test_what_cannot_end_well_is_one_error_before_any_trial(here, address):
    elsewhere = ("--engine", address, "--workers", 1, "-o", "m")
    for wrong, message in (
        ((*SEARCH[:5], "absent.jsonl", *SPACE), "absent.jsonl"),
        ((*SEARCH, "--space", "absent.toml", "--search", 2), "absent.toml"),
        ((*SEARCH, *SPACE, "--gpu-share", 1), "gpu_share: found 1; no node has more than 0 GPUs"),
    ):
        done = otherwords(*wrong, *elsewhere)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr.strip().splitlines()[-1]
    assert not Path("fits").exists()
    assert not Path("m").exists()


def test_a_folder_that_workers_do_not_see_is_named_with_the_option_that_names_it(here, address):
    Path("hidden").mkdir()
    root = ["--map-root-user"] if os.getuid() else []
    before = ["unshare", *root, "--mount", "sh", "-c", 'mount -t tmpfs none hidden && "$@"', "sh"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a process have a folder of its own (unshare --mount)")
    done = otherwords(*SEARCH, *SPACE, "--engine", address, "-o", "hidden/m", before=before)
    assert done.returncode == 2
    assert "give a folder that all nodes see, with -o" in done.stderr
    assert "--shared" not in done.stderr
