"""Clusters of Ray for tests: several nodes on this machine, of which each test has its own."""

from __future__ import annotations

import os
import socket
import sys
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


def add(made: Any, **about: Any) -> Any:
    """Add a node."""
    return made.add_node(**{"num_cpus": 1, "object_store_memory": STORE, **about})


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
