"""Clusters of Ray for tests: several nodes on this machine, of which each test has its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from otherwords.running import ray_cluster

#: Settings of a cluster that notices a dead node at once.
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
#: Bytes of the object store of a node.
STORE = 80_000_000
#: What every module of tests with Ray is marked with: Ray leaves it to the garbage collector to close its log files.
IGNORED = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@contextmanager
def nodes(head: dict[str, Any] | None = None, **settings: Any) -> Iterator[Any]:
    """A cluster of one node, to which others can be added; `settings` are those of Ray itself."""
    ray_cluster._load_ray()
    from ray.cluster_utils import Cluster

    usual = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False, **(head or {})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        made = Cluster(initialize_head=True, head_node_args={**usual, "_system_config": {**QUICK, **settings}})
        try:
            yield made
        finally:
            made.shutdown()


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """A cluster of one node in a process of its own: its address for clients from outside, and that of its head."""
    port = free_port()
    settings = f"num_cpus=2, object_store_memory={STORE}, include_dashboard=False, ray_client_server_port={port}"
    script = f"from ray.cluster_utils import Cluster; made = Cluster(True, head_node_args=dict({settings}))\n"
    script += "print(made.address, flush=True)\ninput()\nmade.shutdown()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], env=env, **pipes) as head:
        assert head.stdin is not None
        assert head.stdout is not None
        address, limit = head.stdout.readline().strip(), time.monotonic() + 60
        while not ray_cluster._open("127.0.0.1", port) and time.monotonic() < limit:
            time.sleep(0.2)
        try:
            yield f"ray://127.0.0.1:{port}", f"ray://{address}"
        finally:
            head.stdin.write("\n")


def add(made: Any, **about: Any) -> Any:
    """Add a node."""
    return made.add_node(**{"num_cpus": 1, "object_store_memory": STORE, **about})


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
