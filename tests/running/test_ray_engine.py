"""Studies on Ray: the same bytes as in one process, whatever dies on the way; one error before work begins."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import jobs
import pytest
from engine_runs import ROWS, assert_both_see_the_same, files_of, manifest_of, write
from ray_nodes import IGNORED, add, free_port, nodes, served

import otherwords as ow
from otherwords.running.ray_cluster import connect
from otherwords.running.ray_engine import Ray

pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
pytestmark = IGNORED

#: A generator and a model that write down what they are given, and where. At a text that a file `hold-asked` (or
#: `hold-varied`) names, they wait for as long as it is there. At a text with "11", where there is a file `trap`, the
#: model ends its process: each time, or once, or by taking memory.
MINE = """
import json, os, signal, sys, time
from pathlib import Path

def content(name):
    try:
        return Path(name).read_text()
    except FileNotFoundError:
        return ""

def note(name, texts):
    ray = sys.modules.get("ray")
    node = ray.get_runtime_context().get_node_id() if ray and ray.is_initialized() else ""
    with Path(name).open("a") as file:
        file.writelines(json.dumps([os.getpid(), node, one]) + "\\n" for one in texts)
    wait = content(f"hold-{name}")
    while wait and wait in str(texts) and content(f"hold-{name}"):
        time.sleep(0.05)

def reword(text):
    note("varied", [text])
    return text + " Indeed."

def ask(batch):
    trap = content("trap")
    if trap and any("11" in one for one in batch["premise"]):
        if trap != "always":
            Path("trap").unlink(missing_ok=True)
        taken = []
        while trap.isdigit() and sum(map(len, taken)) < int(trap):
            taken.append(b"x" * 20_000_000)
            time.sleep(0.02)
        time.sleep(20 * trap.isdigit())
        os.kill(os.getpid(), signal.SIGKILL)
    note("asked", list(zip(batch["premise"], batch["hypothesis"])))
    return [[0.5, 0.3, 0.2] if len(one) % 2 else [0.1, 0.2, 0.7] for one in batch["premise"]]
"""
STUDY = ["run", "--data", "data.jsonl", "--with", "contractions", "--with", "python:mine.py:reword",
         "--check", "surface", "--check", "overlap", "--model", "python:mine.py:ask", "--model", "scripted",
         "--no-canary", "--no-cache", "--shard", "4", "--batch-size", "2", "--replicates", "50"]  # fmt: skip
#: What a worker may have in hand: 16 batches of two texts.
IN_HAND = 16 * 2


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(one for one in sys.path if one))
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    Path("mine.py").write_text(MINE)
    write(Path("data.jsonl"), [{**row, "id": f"{row['id']}-{turn}", "premise": row["premise"] + " So." * turn}
                               for turn in range(3) for row in ROWS])  # fmt: skip
    return tmp_path


def logged(name):
    """What the generator (varied) or the model (asked) was given: the process, its node, and the text."""
    found = Path(name).read_text().splitlines(keepends=True) if Path(name).exists() else []
    return [json.loads(line) for line in found if line.endswith("\n")]


def texts(name):
    return Counter(json.dumps(text) for _, _, text in logged(name))


def otherwords(*arguments, before=(), **more):
    """Run a command to its end."""
    command = [*before, sys.executable, "-m", "otherwords", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def alone(*arguments):
    """The study in one process: its files and manifest, what users see, and what was varied and asked."""
    done = otherwords(*STUDY, *arguments, "-q", "-o", "alone")
    assert done.returncode == 0, done.stderr
    found = files_of(Path("alone")), manifest_of(Path("alone")), done.stderr, texts("varied"), texts("asked")
    for name in ("varied", "asked"):
        Path(name).unlink(missing_ok=True)
    return found


def held(name):
    """The processes, by their nodes, that wait at a text which the file names."""
    return {node: pid for pid, node, text in logged(name) if Path(f"hold-{name}").read_text() in str(text)}


@contextmanager
def started(*arguments):
    """A command at work."""
    command = [sys.executable, "-m", "otherwords", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def without_patience(printed):
    """What a command printed, but that it had to wait for workers: the machine may be busy."""
    return "".join(line for line in printed.splitlines(keepends=True) if "no worker could start for" not in line)


def until(condition, driver=None, limit=120):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert driver is None or driver.poll() is None, driver.stderr.read()
        time.sleep(0.05)


def is_alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


# One node


@pytest.fixture(scope="module")
def one_node():
    """A cluster that this process is connected to: all studies of the process are done there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        cluster = connect("local", 2)
    yield cluster
    cluster.close()


def test_a_study_with_every_stage_is_the_same_as_in_this_process(one_node, here):
    assert_both_see_the_same(
        here,
        "ray",
        data=["data.jsonl"],
        vary=["contractions", "python:mine.py:reword"],
        check=["surface"],
        models=["bag_of_words", "scripted(otherwise=entailment)"],
        shard=12,
    )
    assert {pid for pid, *_ in logged("varied")} > {os.getpid()}, "by workers, too"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"workers": 1}])
def test_an_engine_that_nobody_prepared_does_all_jobs(one_node, settings):
    engine = Ray(**settings)
    try:
        assert list(engine.map(jobs.double, range(4))) == [0, 2, 4, 6]
    finally:
        engine.close()


# Several nodes


@pytest.fixture(scope="module")
def cluster():
    with nodes() as made:
        add(made)
        yield made


@contextmanager
def another(cluster, **about):
    """One more node, for a while."""
    node = add(cluster, **about)
    try:
        yield node
    finally:
        if node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)


@pytest.fixture
def engine(cluster):
    return ["--engine", f"ray://{cluster.address}"]


@pytest.mark.slow
def test_every_stage_on_several_nodes_gives_the_same_bytes(here, engine):
    more = ["--check", "mutual-entailment", "--model", "bag_of_words"]
    files, manifest, printed, *asked = alone(*more)
    hold = Path("hold-varied")
    hold.write_text("So.")
    with started(*STUDY, *more, *engine, "-q", "-o", "out") as driver:
        until(lambda: len(held("varied")) == 2, driver)  # both nodes are at work
        hold.unlink()
        assert without_patience(driver.communicate(timeout=240)[1]) == printed
    assert driver.returncode == 0
    assert files_of(Path("out")) == files
    assert manifest_of(Path("out")) == manifest
    assert [texts("varied"), texts("asked")] == asked
    assert not (here / "out" / ".shards").exists()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["varied", "asked"])
def test_a_node_that_is_killed_costs_what_it_had_in_hand(here, cluster, engine, stage):
    files, _, printed, *usual = alone()
    hold = Path(f"hold-{stage}")
    hold.write_text("So.")
    with another(cluster) as node, started(*STUDY, *engine, "-q", "-o", "out") as driver:
        until(lambda: node.node_id in held(stage), driver)
        cluster.remove_node(node, allow_graceful=False)
        hold.unlink()
        assert without_patience(driver.communicate(timeout=240)[1]) == printed
    assert driver.returncode == 0
    assert files_of(Path("out")) == files
    for name, before in zip(("varied", "asked"), usual, strict=True):
        assert before - texts(name) == Counter(), "nothing is lost"
        again = texts(name) - before
        assert again.total() <= (IN_HAND if name == stage else 0)
        assert again.keys() <= {json.dumps(text) for _, where, text in logged(name) if where == node.node_id}


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_what_kills_all_is_named(here, engine):
    files, _, printed, _, asked = alone()
    Path("trap").write_text("once")
    done = otherwords(*STUDY, *engine, "-q", "-o", "out")
    assert (done.returncode, without_patience(done.stderr)) == (0, printed)
    assert files_of(Path("out")) == files
    assert (texts("asked") - asked).total() <= IN_HAND
    Path("trap").write_text("always")
    done = otherwords(*STUDY, *engine, "-q", "-o", "stopped")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = without_patience(done.stderr).splitlines()
    assert re.search(
        r"a worker was killed or crashed on node \S+, as 2 did before it, while it worked on shard \d", line
    )
    assert re.search(r"its first row is premise .*, hypothesis .*; --skip-bad continues", line)
    done = otherwords(*STUDY, *engine, "-q", "-o", "stopped", "--skip-bad")
    assert done.returncode == 0
    assert "ask: left out the problems of " in done.stderr
    Path("trap").unlink()
    assert otherwords(*STUDY, *engine, "-q", "-o", "stopped").returncode == 0
    whole = files_of(Path("stopped"))
    assert {**whole, "report.html": b""} == {**files, "report.html": b""}


@pytest.mark.slow
def test_a_worker_without_memory_is_replaced(here):
    files, _, printed, _, asked = alone()
    with Path("/proc/meminfo").open(encoding="ascii") as file:
        sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in file}
    used = 1 - sizes["MemAvailable"] / sizes["MemTotal"]
    Path("trap").write_text(str(int(0.2 * sizes["MemTotal"])))
    with nodes(memory_usage_threshold=used + 0.12, memory_monitor_refresh_ms=100) as made:
        add(made)
        done = otherwords(*STUDY, "--engine", f"ray://{made.address}", "-q", "-o", "out")
    assert (done.returncode, without_patience(done.stderr)) == (0, printed)
    assert not Path("trap").exists()
    assert files_of(Path("out")) == files
    assert (texts("asked") - asked).total() <= 2 * IN_HAND


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_ended_leaves_no_workers_and_what_is_done(here, engine, how):
    files, _, printed, *usual = alone()
    Path("hold-asked").write_text("So. So.")
    with started(*STUDY, *engine, "-o", "out") as driver:
        until(lambda: len(held("asked")) == 2 and list((here / "out").glob("answers/*/*.parquet")), driver)
        begin = time.monotonic()
        driver.send_signal(how)
        _, shown = driver.communicate(timeout=60)
        until(lambda: not any(map(is_alive, {pid for pid, *_ in logged("asked")})))
        assert time.monotonic() - begin < 20
    assert driver.returncode == (130 if how == signal.SIGINT else -9)
    if how == signal.SIGINT:
        assert "Traceback" not in shown
        assert shown.splitlines()[-1].startswith("error: interrupted; finished work is kept")
    kept = {one: one.stat().st_mtime_ns for one in (here / "out").glob("answers/*/*.parquet")}
    Path("hold-asked").unlink()
    done = otherwords(*STUDY, *engine, "-q", "-o", "out")
    assert (done.returncode, without_patience(done.stderr)) == (0, printed)
    assert {one: one.stat().st_mtime_ns for one in kept} == kept, "what was there is not made again"
    assert {**files_of(Path("out")), "report.html": b""} == {**files, "report.html": b""}  # it counts what was reused
    for name, before in zip(("varied", "asked"), usual, strict=True):
        assert before - texts(name) == Counter(), "nothing is lost"
        assert (texts(name) - before).total() <= (2 * IN_HAND if name == "asked" else 0)


# Where the data are


def hiding(folder):
    """What makes a command see a folder `folder` of its own, which nobody else sees; its run is copied to `out`."""
    Path(folder).mkdir()
    script = f'mount -t tmpfs none {folder} && {{ "$@"; code=$?; cp -r {folder}/out out 2>&-; exit $code; }}'
    before = ["unshare", *(["--map-root-user"] if os.getuid() else []), "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a process have a folder of its own (unshare --mount)")
    return before


@pytest.fixture(params=["folder", "ftp"])
def place(request, here):
    """A folder, and a server of files, which fsspec reaches without further packages; each with what it is called."""
    served = here / "served"
    served.mkdir()
    if request.param == "folder":
        yield str(served), served
        return
    pytest.importorskip("pyftpdlib")
    script = (
        "import sys; from pyftpdlib import authorizers, handlers, servers\n"
        "handlers.FTPHandler.authorizer = authorizers.DummyAuthorizer()\n"
        "handlers.FTPHandler.authorizer.add_user('me', 'secret', sys.argv[1], perm='elradfmwMT')\n"
        "server = servers.FTPServer(('127.0.0.1', 0), handlers.FTPHandler)\n"
        "print(server.address[1], flush=True)\nserver.serve_forever()\n"
    )
    command = [sys.executable, "-c", script, str(served)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        yield f"ftp://me:secret@127.0.0.1:{server.stdout.readline().strip()}/shards", served
        server.kill()


@pytest.mark.slow
def test_workers_that_do_not_see_the_run_folder_get_their_shards_through_a_place(here, engine, place):
    files, _, printed, *usual = alone("--model", "bag_of_words")
    before = hiding("hidden")
    where, served = place
    arguments = [*STUDY, "--model", "bag_of_words", *engine, "-q", "-o", "hidden/out", "--shared", where]
    done = otherwords(*arguments, before=before)
    assert (done.returncode, without_patience(done.stderr)) == (0, printed)
    assert files_of(Path("out")) == files
    assert [texts("varied"), texts("asked")] == usual
    assert [one for one in served.rglob("*") if one.is_file()] == [], "nothing stays there"
    assert "secret" not in (here / "out" / "manifest.json").read_text()
    assert "secret" not in (here / "out" / "study.toml").read_text()


# Bad input


def assert_one_error(done, *parts):
    """One line on standard error, with these parts."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    [line] = without_patience(done.stderr).splitlines()
    assert [part for part in parts if part not in line] == [], line
    assert logged("varied") == logged("asked") == []


@pytest.mark.slow
def test_an_address_nobody_answers_at_is_one_error(here):
    done = otherwords(*STUDY, "--engine", f"ray://127.0.0.1:{free_port()}", "-o", "out")
    assert_one_error(done, "engine: nobody answers at ray://127.0.0.1:", "ray start --head")


@pytest.mark.slow
def test_without_the_extra_its_name_is_the_error(here):
    (here / "ray.py").write_text("raise ImportError")
    done = otherwords(*STUDY, "--engine", "ray", "-o", "out")
    assert_one_error(done, "--engine ray needs an optional part: pip install 'otherwords[ray]'")


@pytest.mark.slow
def test_nodes_that_cannot_work_are_one_error(here, cluster, engine):
    old = here / "old" / "otherwords"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("")
    (old / "_version.py").write_text("__version__ = '0.0.7'")
    path = os.pathsep.join([str(old.parent), *sys.path])
    with another(cluster, env_vars={"PYTHONPATH": path}):
        done = otherwords(*STUDY, *engine, "-o", "out")
    assert_one_error(done, "engine: node ", f"has otherwords 0.0.7, the driver {ow.__version__}", "on all nodes")
    (here / "plug.py").write_text(
        "import os\nfrom otherwords.registry import generators\nif 'ONLY_HERE' not in os.environ: import only_there\n"
        "def reword(text): return text + ' Yes.'\n@generators('plugged.v1')\ndef plugged(): return reword\n"
    )
    for named in (["--plugin", "plug.py", "--with", "plugged"], ["--with", "python:plug.py:reword"]):
        done = otherwords(*STUDY, *engine, "-o", "out", *named, env={**os.environ, "ONLY_HERE": "1"})
        assert_one_error(done, "engine: node ", "cannot load ", "plug.py", "only_there", "on all nodes at")
    done = otherwords(*STUDY, *engine, "-o", "out", "--gpu-share", "1")
    assert_one_error(done, "gpu_share: found 1; no node has more than 0 GPUs; leave it out, or add nodes with GPUs")


@pytest.mark.slow
def test_workers_have_their_share_of_a_gpu(here, cluster):
    script = (
        "import sys, jobs; from otherwords.running.ray_engine import Ray\n"
        "engine = Ray(sys.argv[1], gpu_share=eval(sys.argv[2]))\n"
        "found = list(engine.map(jobs.visible_gpus, 4 * [sys.argv[3]]))\n"
        "print(engine.count, sorted({gpus for gpus, _ in found}), len({pid for _, pid in found}))\n"
        "engine.close()\n"
    )
    with another(cluster, num_gpus=2, num_cpus=3):  # Ray believes it
        for share, shown in {"None": "2 ['0', '1'] 2", "0.5": "3 [", "2": "1 ['0,1'] 1"}.items():
            folder = here / share
            folder.mkdir()
            (folder / "another").touch() if share == "2" else None
            command = [sys.executable, "-c", script, cluster.address, share, str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            assert done.stdout.startswith(shown), done.stdout + done.stderr
        done = otherwords(*STUDY, "--engine", f"ray://{cluster.address}", "--gpu-share", "3", "-o", "out")
        assert_one_error(done, "found 3; no node has more than 2 GPUs")


@pytest.mark.slow
def test_what_workers_cannot_see_is_one_error(here, engine):
    before = hiding("hidden")
    done = otherwords(*STUDY, *engine, "-o", "hidden/out", before=before)
    assert_one_error(done, "engine: node ", f"cannot see {here}/hidden/out", "with --shared")
    done = otherwords(*STUDY, *engine, "-o", "out", "--shared", "memory://mine")
    assert_one_error(done, "engine: node ", "cannot see memory://mine", "with --shared")
    script = 'echo "def shout(text): return text.upper()" > hidden/mine.py && exec "$@"'
    arguments = [*STUDY, *engine, "-o", "out", "--with", "python:hidden/mine.py:shout"]
    done = otherwords(*arguments, before=[*before, "sh", "-c", script, "sh"])
    assert_one_error(done, "engine: node ", "cannot load python:hidden/mine.py:shout", "on all nodes at the same path")


# Commands from file to file, study files, the terminal


@pytest.mark.slow
def test_commands_from_file_to_file_and_study_files(here, engine):
    stages = {
        "varied.jsonl": ["vary", "data.jsonl", "--suite", "--with", "contractions", "--with", "python:mine.py:reword"],
        "checked.jsonl": ["check", "varied.jsonl", "--with", "surface"],
        "answers.parquet": ["answer", "checked.jsonl", "--model", "python:mine.py:ask", "--no-cache", "--no-canary"],
    }
    for name, command in stages.items():
        found = []
        for more in ([], [*engine, "--workers", "2"]):
            done = otherwords(*command, "-q", "-o", name, *more)
            found.append((done.returncode, done.stdout, without_patience(done.stderr), (here / name).read_bytes()))
        assert found[0] == found[1]
        assert found[0][0] == 0
    address = engine[1]
    study = {
        "cache": "false",
        "data": '["data.jsonl"]',
        "vary": '["contractions"]',
        "models": '["scripted"]',
        "canary": "false",
        "shard": 4,
    }
    (here / "study.toml").write_text("".join(f"{name} = {value}\n" for name, value in study.items()))
    assert otherwords("run", "study.toml", "-q", "-o", "alone").returncode == 0
    with Path("study.toml").open("a") as file:
        file.write(f'engine = "{address}"\nworkers = 2\n')
    done = otherwords("run", "study.toml", "-q", "-o", "out")
    assert (done.returncode, without_patience(done.stderr)) == (0, "")
    assert files_of(Path("out")) == files_of(Path("alone"))


def on_terminal(*arguments):
    """What a command writes to a terminal, as lines, without what moves the cursor, and without times."""
    ours, its = pytest.importorskip("pty").openpty()
    command = [sys.executable, "-m", "otherwords", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    driver = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other end was closed
        pass
    os.close(ours)
    assert driver.wait() == 0, written
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())
    shown = [line for line in re.split(r"[\r\n]+", plain) if line.startswith("✓") or "━" not in line]
    lines = [re.sub(r"\d+:\d\d:\d\d|[\d,.]+/s|\s+", " ", line) for line in shown]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip()))  # bars are drawn again


@pytest.mark.slow
def test_on_a_terminal_it_looks_the_same(here, engine):
    plain = on_terminal(*STUDY, "-o", "here")
    assert any(line.startswith("✓ answers") for line in plain)
    assert on_terminal(*STUDY, *engine, "-o", "ray") == [line.replace("here/", "ray/") for line in plain]


# Several runs


@pytest.mark.slow
def test_two_drivers_at_a_time_share_a_cluster(here, engine):
    files, _, printed, *_ = alone()
    (here / "served").mkdir()
    more = ["-q", *engine, "--workers", "1", "--shared", here / "served"]
    with started(*STUDY, *more, "-o", "first") as first, started(*STUDY, *more, "-o", "second") as second:
        for driver in (first, second):
            assert without_patience(driver.communicate(timeout=240)[1]) == printed
    for name in ("first", "second"):
        assert files_of(Path(name)) == files
    assert [one for one in (here / "served").rglob("*") if one.is_file()] == []


@pytest.mark.slow
def test_a_program_runs_twice_and_keeps_its_own_connection(here, cluster):
    files, *_ = alone()
    script = (
        "import logging, ray, otherwords as ow\n"
        "about = dict(data=['data.jsonl'], vary=['contractions', 'python:mine.py:reword'], shard=4, batch_size=2,\n"
        "    check=['surface', 'overlap'], models=['python:mine.py:ask', 'scripted'], canary=False, cache=None,\n"
        "    replicates=50)\n"
        f"for turn in range(2):\n    ow.run(**about, engine='ray://{cluster.address}', out=f'out{{turn}}')\n"
        "    assert not ray.is_initialized()\n"
        f"ray.init('{cluster.address}', log_to_driver=False)\n"
        "level = logging.getLogger('ray').level\n"
        "ow.run(**about, engine='ray', out='out2')\n"
        "assert ray.is_initialized() and logging.getLogger('ray').level == level\n"
        "assert ray.get(ray.remote(lambda: 3).remote()) == 3\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for turn in range(3):
        assert files_of(Path(f"out{turn}")) == files


@pytest.mark.slow
def test_a_head_node_that_is_gone_ends_the_run_with_one_line(here):
    Path("slow.py").write_text("import time\ndef ask(batch):\n    time.sleep(5)\n    return ['neutral'] * len(batch)\n")
    with nodes() as made:
        command = [sys.executable, "-m", "otherwords", "run", "--data", "everyday", "--with", "recorded", "--model",
                   "python:slow.py:ask", "--no-canary", "--no-cache", "--shard", "20", "--batch-size", "1", "--engine",
                   f"ray://{made.address}", "-o", "out", "-q"]  # fmt: skip
        driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + 120
        while not list(Path("out").glob(".shards/*.parquet")) and time.monotonic() < limit:
            time.sleep(0.1)
        made.head_node.kill_gcs_server()
        _, stderr = driver.communicate(timeout=120)
    assert driver.returncode == 2
    [line] = [line for line in stderr.splitlines() if line.startswith("error:")]
    assert line.startswith("error: the head node of the Ray cluster does not answer any more; start the cluster again")


@pytest.mark.slow
def test_a_study_through_the_port_for_clients_is_the_same(here):
    pytest.importorskip("grpc", reason="a client of Ray needs grpcio")
    files, manifest, printed, *asked = alone()
    with served() as (address, _):
        done = otherwords(*STUDY, "--engine", address, "-q", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert without_patience(done.stderr) == printed
    assert files_of(Path("out")) == files
    assert manifest_of(Path("out")) == manifest
    assert [texts("varied"), texts("asked")] == asked
