"""An IE experiment that is killed in the middle, on whatever engine, comes to the same results when it is repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ie_grids import SLOW, answers_of, as_toml, forget_plugins, results_of, settings
from ray_nodes import IGNORED, add, nodes, served

from otherwords.papers.ie_experiment import run_ie_test

pytestmark = IGNORED
MAIN = "from otherwords.cli import main; main()"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an experiment of six cells, whose trainer writes down each fit."""
    monkeypatch.chdir(tmp_path)
    forget_plugins(monkeypatch)
    (tmp_path / "slow.py").write_text(SLOW)
    values = settings(tmp_path, plugins=["slow.py"], runs=3, models={"slow": {"trainer": "slow"}})
    (tmp_path / "x.toml").write_text(as_toml(values))
    run_ie_test("x.toml", out="whole")
    (tmp_path / "fits").unlink()
    return tmp_path


def start(*options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAIN, "paper", "ie-test", "x.toml", "-o", "x", *map(str, options)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def wait_for(condition: Any, driver: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < limit, "nothing happened for a minute"
        time.sleep(0.02)


def fits() -> list[str]:
    return Path("fits").read_text().splitlines() if Path("fits").exists() else []


def assert_as_whole() -> None:
    assert results_of(Path("x")) == results_of(Path("whole"))
    assert answers_of(Path("x")) == answers_of(Path("whole"))


@pytest.mark.parametrize("engine", ["in-process", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_a_killed_driver_is_continued_and_nothing_finished_is_done_again(place, engine):
    Path("hold").touch()
    driver = start("--engine", engine)
    wait_for(lambda: len(fits()) > 3 and len(list(Path("x").rglob("cell.json"))) >= 2, driver)
    driver.kill()
    driver.communicate()
    finished = {str(one.parent) for one in Path("x").rglob("cell.json")}
    before = len(fits())
    Path("hold").unlink()
    run_ie_test("x.toml", out="x", engine=engine)
    repeated = [one for one in fits()[before:] if any(one.endswith(cell) for cell in finished)]
    assert repeated == []
    assert_as_whole()


@pytest.mark.slow
def test_an_interrupted_driver_says_that_what_is_done_is_kept(place):
    Path("hold").touch()
    driver = start()
    wait_for(lambda: len(fits()) > 3, driver)
    driver.send_signal(signal.SIGINT)
    Path("hold").unlink()
    said = driver.communicate(timeout=60)[1]
    assert driver.returncode == 130
    assert "finished work is kept: run the same command again to continue" in said
    assert len(list(Path("x").rglob("cell.json"))) >= 3
    run_ie_test("x.toml", out="x")
    assert_as_whole()


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_the_cell_in_hand(place):
    Path("trap").touch()  # the third fit ends its process
    run_ie_test("x.toml", out="x", engine="processes:2")
    assert len(fits()) == 7
    assert_as_whole()


@pytest.mark.slow
def test_on_ray_a_killed_driver_is_continued(place):
    pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
    with served() as (_, address):
        Path("hold").touch()
        driver = start("--engine", address, "--workers", 2)
        wait_for(lambda: len(fits()) > 3 and len(list(Path("x").rglob("cell.json"))) >= 2, driver)
        driver.kill()
        driver.communicate()
        Path("hold").unlink()
        again = start("--engine", address, "--workers", 2)
        assert again.wait(180) == 0, again.communicate()
        again.communicate()
    assert_as_whole()


@pytest.mark.slow
def test_on_ray_a_killed_worker_and_a_lost_machine_cost_the_cells_in_hand(place):
    pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
    Path("trap").touch()  # the third fit ends its process
    Path("hold").touch()  # the fourth and later ones wait
    with nodes() as cluster:
        node = add(cluster)
        cluster.wait_for_nodes()
        driver = start("--engine", f"ray://{cluster.address}", "--workers", 2)
        wait_for(lambda: len(fits()) >= 5, driver)  # both nodes are at work
        cluster.remove_node(node, allow_graceful=False)
        Path("hold").unlink()
        said = driver.communicate(timeout=240)[1]
        assert driver.returncode == 0, said
    assert_as_whole()
