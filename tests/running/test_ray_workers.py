"""Workers on Ray: what a driver gets from them is what it gets from worker processes, and every end is noticed."""

from __future__ import annotations

import importlib
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import jobs
import pytest
from ray_nodes import IGNORED, add, free_port, nodes, served
from refusals import refuses

from otherwords import __version__
from otherwords.errors import BadInput, MissingExtra
from otherwords.running.messages import Hello, Outcome, unpacked
from otherwords.running.ray_cluster import check_nodes, connect, refuse_unfit
from otherwords.running.ray_workers import _News

pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
pytestmark = IGNORED

#: A module of the user's: workers find it in the folders that the driver finds it in.
OWN = """
import subprocess, sys, time

def leave(code):
    sys.exit(code)

def wait(seconds):
    time.sleep(seconds)

def start_and_wait(seconds):
    print(subprocess.Popen(["sleep", "300"]).pid)
    time.sleep(seconds)

def node(_):
    import ray
    return ray.get_runtime_context().get_node_id()

def fill_memory(size):
    taken = []
    while size > 0:
        taken.append(b"x" * 20_000_000)
        size -= 20_000_000
        time.sleep(0.02)
    time.sleep(20)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_jobs_for_ray.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("own_jobs_for_ray")


def outcome(news, limit=60):
    """The next outcome, and what came before it."""
    before = []
    while True:
        worker, message = news.get(timeout=limit)
        if isinstance(message, Outcome) or message is None:
            return worker, message, before
        before.append(message)


@pytest.fixture(scope="module")
def cluster():
    """One node for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # a cluster of this machine has what started it
        cluster = connect("local", 4)
    yield cluster
    cluster.close()


# Addresses


def test_an_address_nobody_answers_at_is_refused_at_once(capfd):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        begin = time.monotonic()
        with pytest.raises(BadInput, match=r"nobody answers at ray://127\.0\.0\.1:") as caught:
            connect(f"ray://127.0.0.1:{taken.getsockname()[1]}")
    assert caught.value.field == "engine"
    assert "ray start --head" in caught.value.fix
    assert time.monotonic() - begin < 10
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_whatever_else_answers_is_no_cluster(capfd):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: [server.accept() for _ in range(9)], daemon=True).start()
        with pytest.raises(BadInput, match="is no Ray cluster"):
            connect(f"127.0.0.1:{server.getsockname()[1]}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("address", ["ray://", "ray://head:x", "ray://head:70000", "head"])
def test_addresses_of_another_form_are_refused(address):
    with refuses(BadInput, field="engine", fix="use ray, or ray://HOST:PORT"):
        connect(address)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with refuses(MissingExtra):
        connect()


# One node. A cluster takes long to start: a study on one is fast enough for the fast tests, see test_ray_engine.py


@pytest.mark.slow
def test_results_prints_progress_and_errors_come_from_an_actor(cluster, capfd, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # fewer than a worker may have: the user knows why
    for name in ("POLARS_MAX_THREADS", "OTHERWORDS_THREADS"):
        monkeypatch.delenv(name, raising=False)
    news = queue.SimpleQueue()
    worker = cluster.hire(news, cpus=3)
    sender, hello = news.get(timeout=60)
    assert sender is worker
    assert worker.hello == hello == Hello(__version__, hello.place)
    worker.give(jobs.about, 5)
    _, done, printed = outcome(news)
    pid, threads, on_command_line, read, folder = done.result
    assert (threads, on_command_line, read, folder) == (["3", "1", "3"], False, "", str(Path.cwd()))
    assert "".join(printed) == "printed 5\nerror 5\n"
    worker.give(jobs.double, 21)
    assert outcome(news)[1:] == (Outcome(42), [21])
    worker.give(jobs.fail, 1)
    error = unpacked(outcome(news)[1].error)
    assert (type(error), error.where, error.field) == (BadInput, "a.jsonl, line 3", "label")
    os.kill(pid, signal.SIGKILL)
    assert outcome(news) == (worker, None, [])
    assert worker.describe_end().startswith("was killed or crashed on node ")
    worker.give(jobs.double, 1)  # is no error: `news` has said that it is gone
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_worker_is_stopped_in_the_middle_of_a_job_and_before_it_has_begun(cluster, own):
    news = queue.SimpleQueue()
    busy, waiting = cluster.hire(news), cluster.hire(news, cpus=100)
    assert news.get(timeout=60)[0] is busy
    busy.give(own.start_and_wait, 60)
    started = int(news.get(timeout=60)[1])
    begin = time.monotonic()
    for one in (busy, waiting):
        one.stop()
        one.wait(begin + 10)
    assert time.monotonic() - begin < 5
    assert {news.get(timeout=10)[0] for _ in range(2)} == {busy, waiting}
    assert busy.describe_end() == waiting.describe_end() == "was stopped"
    for _ in range(50):  # what it started ends with it
        if not Path(f"/proc/{started}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("a process that the job started is still there")


@pytest.mark.slow
def test_a_job_that_exits_ends_its_worker(cluster, own):
    news = queue.SimpleQueue()
    worker = cluster.hire(news)
    worker.give(own.leave, 3)
    assert outcome(news)[1] is None
    assert "crashed" in worker.describe_end()


@pytest.mark.slow
def test_nodes_are_asked_for_folders_and_plug_ins(cluster, own, tmp_path):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(
        "import own_jobs_for_ray  # which workers find where the driver finds it\n"
        "from otherwords.registry import generators\n@generators('mine.v1')\ndef mine(): return None\n"
    )
    bad.write_text("import a_module_that_no_node_has\n")
    assert check_nodes(cluster, str(tmp_path), "", [str(bad), str(bad)], [str(good)]) == []
    named = [("generators", f"python:{bad}:reword"), ("models", "unheard-of"), ("checks", "surface")]
    missing, *unknown = check_nodes(cluster, str(tmp_path), "", [str(bad), "words.txt", "words.txt"], named=named)
    assert [one.message.partition(" cannot load ")[2].split()[0] for one in unknown] == [spec for _, spec in named[:2]]
    assert "a_module_that_no_node_has" in unknown[0].message
    assert missing.message.endswith(" cannot see words.txt")
    assert missing.fix == "put it on all nodes, at the same path"
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix == "") == []
    with pytest.raises(BadInput, match=r"node \S+ cannot load the plug-in \S+bad.py .*a_module_that_no_node_has"):
        refuse_unfit(cluster, str(tmp_path), "", plugins=[str(bad)])


@pytest.mark.slow
def test_a_place_that_nodes_cannot_see_is_refused(cluster):
    pytest.importorskip("fsspec")
    with pytest.raises(BadInput, match=r"node \S+ cannot see memory://mine") as caught:
        refuse_unfit(cluster, "memory://mine", "give another")  # a file system that each process has for itself
    assert caught.value.fix == "give another"
    with pytest.raises(BadInput, match="cannot be written to"):
        refuse_unfit(cluster, "/proc/nothing/there", "")


@pytest.mark.slow
def test_the_cluster_of_another_program_is_not_joined(cluster, tmp_path):
    script = "from otherwords.running import ray_cluster as one; print(one._join_local(one._load_ray()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_TMPDIR": str(tmp_path)}
    environment.pop("RAY_ADDRESS", None)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", ""), "it would end with that program"


@pytest.mark.slow
def test_a_connection_to_another_cluster_is_refused(cluster):
    for address in ("127.0.0.1:1", f"ray://127.0.0.1:{free_port()}"):
        with pytest.raises(BadInput, match="this process is connected to Ray at"):
            connect(address)
    own = cluster.ray.get_runtime_context().gcs_address
    for address in ("", own, f"ray://{own}"):
        connect(address).close()
    assert cluster.ray.is_initialized()


# Several nodes


@contextmanager
def connected(address):
    import ray

    ray.shutdown()  # the cluster of the tests above
    cluster = connect(address)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.slow
def test_the_cluster_of_this_machine_is_joined(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as short:  # the names of sockets must be
        monkeypatch.setenv("RAY_TMPDIR", short)
        with nodes() as made, connected("") as cluster:
            assert cluster.ray.get_runtime_context().gcs_address == made.address


@pytest.mark.slow
def test_a_node_that_dies_costs_its_workers_and_no_others(own, capfd):
    with nodes() as made:
        second = add(made)
        with connected(made.address) as cluster:
            news = queue.SimpleQueue()
            workers = [cluster.hire(news) for _ in range(2)]
            assert {news.get(timeout=60)[0] for _ in workers} == set(workers)
            for one in workers:
                one.give(own.node, 0)
            where = {worker: done.result for worker, done, _ in (outcome(news) for _ in workers)}
            [lost] = [one for one in workers if where[one] == second.node_id]
            [kept] = [one for one in workers if one is not lost]
            lost.give(own.wait, 60)
            begin = time.monotonic()
            made.remove_node(second, allow_graceful=False)
            assert outcome(news) == (lost, None, [])
            assert time.monotonic() - begin < 10
            assert "with its node" in lost.describe_end()
            kept.give(jobs.double, 4)
            assert outcome(news)[1] == Outcome(8)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_node_with_another_version_or_without_the_package_is_refused(tmp_path):
    for name, text in {"old": "__version__ = '0.0.7'", "none": "raise ImportError('no')"}.items():
        package = tmp_path / name / "otherwords"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "_version.py").write_text(text)
    with nodes() as made:
        for name in ("old", "none"):
            path = os.pathsep.join([str(tmp_path / name), *sys.path])
            add(made, env_vars={"PYTHONPATH": path})
        with connected(made.address) as cluster:
            found = sorted(one.message.partition(" has ")[2] for one in check_nodes(cluster, str(tmp_path), ""))
            assert found == ["no otherwords (ImportError: no)", f"otherwords 0.0.7, the driver {__version__}"]
            with pytest.raises(BadInput, match="1 more"):
                refuse_unfit(cluster, str(tmp_path), "")


@pytest.mark.slow
def test_a_worker_that_takes_too_much_memory_is_ended_by_ray(own):
    with Path("/proc/meminfo").open(encoding="ascii") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in file}
    used = 1 - sizes["MemAvailable"] / sizes["MemTotal"]
    with (
        nodes(memory_usage_threshold=used + 0.1, memory_monitor_refresh_ms=100) as made,
        connected(made.address) as cluster,
    ):
        news = queue.SimpleQueue()
        worker = cluster.hire(news)
        assert isinstance(news.get(timeout=60)[1], Hello)
        worker.give(own.fill_memory, 0.2 * sizes["MemTotal"] * 1024)
        assert outcome(news)[1] is None
        assert worker.describe_end().endswith("because the memory of the node was used up")


@pytest.mark.slow
def test_a_client_from_outside_gets_the_same(own, tmp_path):
    pytest.importorskip("grpc", reason="a client of Ray needs grpcio")
    with served() as addresses:
        for one in addresses:  # the port of the head node does, too
            with connected(one) as cluster:
                news = queue.SimpleQueue()
                worker = cluster.hire(news)
                assert isinstance(news.get(timeout=60)[1], Hello)
                worker.give(jobs.double, 21)
                assert outcome(news)[1:] == (Outcome(42), [21])
                assert check_nodes(cluster, str(tmp_path), "") == []
                worker.give(jobs.die, 2)
                assert outcome(news)[1] is None
                assert worker.describe_end().startswith("was killed or crashed on node ")


def test_a_job_that_prints_without_end_is_heard():
    sent, over = _News(), threading.Event()

    def talk():
        while not over.is_set():
            sent.send("again\n")

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        start = time.monotonic()
        assert "again" in sent.take()
        assert time.monotonic() - start < 10
    finally:
        over.set()
        talking.join()


@pytest.mark.slow
def test_a_worker_that_says_what_nobody_understands_is_replaced(cluster):
    news = queue.SimpleQueue()
    worker = cluster.hire(news)
    assert isinstance(news.get(timeout=60)[1], Hello)
    worker.give(jobs.unreadable, None)
    assert news.get(timeout=60) == (worker, None)
    assert "nowhere" in worker.describe_end()
