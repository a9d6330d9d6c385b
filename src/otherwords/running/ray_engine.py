"""The engine for a Ray cluster: a pool whose workers are actors, wherever the cluster puts them."""

import platform
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from .._version import __version__
from ..errors import BadInput, WorkerLost, caller_level, setting
from ..storage.files import digest
from .messages import Hello
from .pool import News, Pool, Worker
from .ray_cluster import connect, is_reachable, parse_address, refuse_unfit
from .ray_workers import RayCluster

#: Seconds after which a user is told that the cluster has no room for any worker.
_PATIENCE = 60.0
#: Seconds between two looks at the head node while nothing happens, and looks in vain before it counts as gone.
_LOOK, _SILENCES = 5.0, 3


class Ray(Pool):
    """Do several shards at a time on a Ray cluster; each worker has a core, or a share of a GPU.

    `address` is that of a cluster; without one, it is what RAY_ADDRESS names, what `ray start` started on this
    machine, or one that is started here. There are as many workers as the cluster has room for, unless `workers` says.
    Where it has GPUs, each has one of them, unless `gpu_share` says. The run folder, or the place `shared`, must be
    seen by all.
    """

    elsewhere = True

    def __init__(self, address: str = "", workers: int = 0, gpu_share: float | None = None, shared: str = ""):
        parse_address(address)
        if gpu_share is not None and not (0 <= gpu_share < 1 or (gpu_share > 0 and float(gpu_share).is_integer())):
            fix = "give a part of one, such as 0.25, or a whole number"
            raise BadInput(f"found {gpu_share:g}", field="gpu_share", fix=fix)
        super().__init__(workers)
        self.address, self._place = address, shared
        #: The part of the shared place that is this run's: another run may have the same shards.
        self.shared = ""
        self._wanted, self._share = workers, gpu_share
        self._gpus: float | None = None  # of each worker; not known before the cluster is
        self._cluster: RayCluster | None = None
        self._alone_since = self._look_again = 0.0
        self._silences = 0

    def prepare(
        self,
        folder: str,
        files: Sequence[str] = (),
        plugins: Sequence[str] = (),
        named: Sequence[tuple[str, str]] = (),
        own: bool = False,
    ) -> None:
        """Connect, and refuse a cluster whose nodes cannot do the work.

        They must have this version, see the run folder (always where it is their `own`) or the shared place, and the
        files that plug-ins read. They must be able to load the files of plug-ins, and whatever is named: kinds and
        specs.
        """
        cluster = self._connected()
        if own:
            place, fix = folder, f"give a folder that all nodes see, with {setting('-o', 'out')}"
        else:
            option = setting("--shared", "shared")
            place, fix = self._place or folder, f"give a folder or URL that all nodes see, with {option}"
        refuse_unfit(cluster, place, fix, files, plugins, named)
        run = digest(platform.node(), str(Path(folder).resolve()))[:12]
        self.shared = f"{self._absolute_place()}/{run}" if self._place else ""
        self._count_room(cluster)

    def _absolute_place(self) -> str:
        place = self._place.rstrip("/")
        return place if "://" in place else str(Path(place).expanduser().resolve())

    def _connected(self) -> RayCluster:
        if self._cluster is None:
            self._cluster = connect(self.address, self._wanted)
        return self._cluster

    def _count_room(self, cluster: RayCluster) -> None:
        """Decide how many workers there are, and what each has."""
        nodes = [(one["Resources"]["CPU"], one["Resources"].get("GPU", 0)) for one in cluster.nodes()]
        most = max((gpus for _, gpus in nodes), default=0)
        share = self._share if self._share is not None else float(most >= 1)
        if share > most:  # a worker is on one node
            fix = "leave it out, or add nodes with GPUs"
            raise BadInput(f"found {share:g}; no node has more than {most:g} GPUs", field="gpu_share", fix=fix)
        self._gpus = share
        room = sum(int(min(cpus, gpus / share) if share else cpus) for cpus, gpus in nodes)
        self.count = self._wanted or max(1, room)

    def is_done_here(self, jobs: int) -> bool:
        """Only nothing."""
        if jobs and self._gpus is None:
            self._count_room(self._connected())
        return jobs == 0

    def start(self, news: News) -> Worker:
        """Start an actor; it may wait until the cluster has room."""
        self._alone_since = time.monotonic()
        return self._connected().hire(news, gpus=self._gpus or 0)

    def greet(self, hello: Hello) -> None:
        """A node that came later may have another version."""
        if hello.version != __version__:
            found = f"a worker on node {hello.place} has otherwords {hello.version}, the driver {__version__}"
            raise BadInput(found, field="engine", fix=f"install otherwords {__version__} on all nodes")

    def wait_on(self, starting: int) -> None:
        """Say so, once, where the cluster has no room for any worker; stop where it is gone."""
        self._refuse_gone()
        if starting == len(self._workers) and 0 < self._alone_since < time.monotonic() - _PATIENCE:
            self._alone_since = 0.0
            needs = f"{self._gpus:g} GPU" if self._gpus else "a CPU"
            message = (
                f"no worker could start for {_PATIENCE:.0f} s: each needs {needs}; see `ray status`; still waiting"
            )
            warnings.warn(message, stacklevel=caller_level())

    def _refuse_gone(self) -> None:
        """Stop before Ray does, which would end this process a minute after its head node, without a word."""
        if time.monotonic() < self._look_again or self._cluster is None:
            return
        self._look_again = time.monotonic() + _LOOK
        self._silences = 0 if is_reachable(self._cluster) else self._silences + 1
        if self._silences == _SILENCES:
            self._cluster.forget()
            self._workers.clear()  # which cannot be told to end, and end by themselves
            fix = "start the cluster again, and run the same command"
            raise WorkerLost(f"the head node of the Ray cluster does not answer any more; {fix}")

    def advice(self) -> str:
        """What may help where workers are lost."""
        return "if the memory did not suffice, use fewer workers, or nodes with more; see the logs of Ray"

    def close(self) -> None:
        """End all workers, and leave the cluster."""
        super().close()
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
