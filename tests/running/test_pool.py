"""Pools of workers: what is lost is done again, what cannot be done is given up, and nothing else changes."""

from __future__ import annotations

import math
import os
import signal

import jobs
import pytest
from refusals import refuses

from otherwords.errors import BadInput, WorkerLost
from otherwords.running import InProcess, Processes, Study, engines, processes
from otherwords.running.engines import make_engine


@pytest.fixture
def pool():
    engine = Processes(2)
    yield engine
    engine.close()


def test_a_worker_that_is_lost_costs_only_its_job(pool, tmp_path):
    given = [(str(tmp_path), number) for number in range(5)]
    assert list(pool.map(jobs.die_once, given)) == list(range(5))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["0", "3"]


def test_a_job_that_no_worker_survives_is_given_up_and_the_others_go_on(pool):
    gone = []
    assert list(pool.map(jobs.die, range(5), lambda job, reason: gone.append((job, reason)) or -1)) == [0, 1, -1, 3, 4]
    [(job, reason)] = gone
    assert job == 2
    assert reason == (
        "a worker process was killed (SIGKILL), as 2 did before it, while it worked on shard 2; "
        "if the memory did not suffice, use fewer workers: --engine in-process"
    )


def test_workers_that_are_idle_may_be_lost(pool):
    assert list(pool.map(jobs.double, range(4))) == [0, 2, 4, 6]
    for one in pool._idle:
        os.kill(one._process.pid, signal.SIGKILL)
    assert list(pool.map(jobs.double, range(4))) == [0, 2, 4, 6]


def test_workers_that_cannot_start_are_reported(pool, monkeypatch):
    monkeypatch.setattr(processes, "_START", "import sys; sys.exit(3)")
    with pytest.raises(WorkerLost, match=r"^a worker process ended with exit code 3 before it was ready, 3 times; "):
        list(pool.map(jobs.double, range(3)))


# GPUs of this machine


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(engines, "count_gpus", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_each_worker_sees_its_gpu_and_so_does_the_one_that_replaces_it(two_gpus, tmp_path):
    engine = make_engine("processes", gpus=[1, 0])
    assert (engine.count, engine.shares_cores) == (2, False)
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
    try:
        found = dict(engine.map(jobs.visible_gpus, 2 * [str(tmp_path / "first")]))
        assert found.keys() == {"0", "1"}
        os.kill(found["1"], signal.SIGKILL)
        again = dict(engine.map(jobs.visible_gpus, 2 * [str(tmp_path / "again")]))
        assert again.keys() == {"0", "1"}
        assert again["0"] == found["0"]
        assert again["1"] != found["1"]
        [(_, alone)] = engine.map(jobs.visible_gpus, [str(tmp_path / "again")])
        assert alone != os.getpid(), "also a single job, since this process may have no GPU"
    finally:
        engine.close()


def test_gpus_are_numbered_as_this_process_sees_them(two_gpus, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    (tmp_path / "another").touch()
    engine = make_engine("processes", gpus=[1])
    try:
        assert next(engine.map(jobs.visible_gpus, [str(tmp_path)]))[0] == "7"
    finally:
        engine.close()


# Settings


@pytest.mark.parametrize(
    ("name", "settings", "field"),
    [
        ("in-process", {"workers": 2}, "workers"),
        ("processes:3", {"workers": 2}, "workers"),
        ("processes", {"shared": "/data"}, "shared"),
        ("processes", {"gpu_share": 0.5}, "gpu_share"),
        ("processes", {"gpus": [2]}, "gpus"),
        ("processes", {"gpus": [0, 0]}, "gpus"),
        ("processes:3", {"gpus": [0, 1]}, "workers"),
        ("ray", {"gpus": [0]}, "gpus"),
        ("ray", {"shared": "ftp://[host/folder"}, "shared"),
        ("ray", {"gpu_share": 1.5}, "gpu_share"),
        ("ray", {"gpu_share": -1}, "gpu_share"),
        ("ray", {"gpu_share": math.nan}, "gpu_share"),
        ("ray", {"gpu_share": math.inf}, "gpu_share"),
    ],
)
def test_settings_that_do_not_fit_the_engine_are_refused(two_gpus, name, settings, field):
    with refuses(BadInput, field=field):
        make_engine(name, **settings)


def test_without_a_gpu_none_can_be_chosen(monkeypatch):
    monkeypatch.setattr(engines, "count_gpus", lambda: 0)
    with refuses(BadInput, field="gpus"):
        make_engine("processes", gpus=[0])


def test_who_does_the_work_changes_neither_the_folder_nor_the_study_in_it():
    plain = Study(data=["a"], models=["b"])
    assert Study(data=["a"], models=["b"], engine="processes", workers=3).folder == plain.folder
    assert isinstance(plain.make_engine(), InProcess)
