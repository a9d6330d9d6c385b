"""Workers on a Ray cluster: actors that do the jobs which `Processes` gives to its worker processes.

What travels is the JSON text that worker processes get, too. An actor is asked for its news again and again; what it
has to say (a result, rows that are done, text to print) comes with the answer. That needs nothing of Ray but calls of
actors, so it works on a node of the cluster, and from outside through `ray://`.
"""

import io
import json
import logging
import os
import platform
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .._version import __version__
from ..errors import ON_COMMAND_LINE, BadInput, MissingExtra, shorten
from .engines import _THREADS, _carry_out, _decoded, _encoded, _Prints

#: What Ray reads when it is loaded: no statistics are sent, no errors shown that the driver shows itself.
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}
#: Bytes of Ray's object store on a cluster that is started here: next to nothing goes through it.
_STORE = 100_000_000
#: Where a Ray client connects when no port is given, and the seconds in which an address must answer.
_CLIENT_PORT, _PATIENCE = 10001, 5.0
#: Seconds in which all nodes must have told what they have.
_CHECK = 60.0
#: Seconds for which a worker holds back its progress: a driver of many workers has more to do than to count.
_PROGRESS = 0.5
#: Ends with 0 where a head node of Ray is at an address. A process of its own: Ray ends the one that asks, on failure.
_KNOCK = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1]).internal_kv_keys(b'x')"
#: What the texts of Ray say, and what that means; the first that fits.
_ENDS = (
    (r"killed by `ray\.kill`", "was stopped{place}"),
    (r"(?i)out_?of_?memory|low on memory", "was ended by Ray{place}, because the memory of the node was used up"),
    (r"node has died.*?(?:unexpectedly|preempted): ([^\n]*)", "was lost{place} with its node ({detail})"),
    (r"node has died", "was lost{place} with its node"),
    (r"creation task.*\n(\S[^\n]*)\s*$", "could not start{place} ({detail})"),
    (r"exit code (\d+)", "ended with exit code {detail}{place}"),
    (r"connection error code|SYSTEM_ERROR", "was killed or crashed{place}"),
    (r"owner|job.*finished", "was ended{place}, because the connection to the cluster was lost"),
)


class Hello(NamedTuple):
    """What a worker says first, when it is ready: its versions, and where it is."""

    version: str
    python: str
    node: str
    host: str


# The driver's side


def connect(address: str = "", count: int = 0) -> "RayCluster":
    """Connect to the cluster at an address: "ray://HOST:PORT", "HOST:PORT", or "" for the one of this machine.

    The latter is what RAY_ADDRESS names, or one that runs here; where there is none, or with "local", a cluster of
    `count` CPUs (all, if 0) is started, and ends with the connection. A program that is connected already stays so.
    """
    ray = _load_ray()
    if ray.is_initialized():
        _refuse_second(ray, address)
        return RayCluster(ray, own=False)
    address = address or os.environ.get("RAY_ADDRESS", "")
    with _quiet():
        if address and address not in ("auto", "local"):
            _enter(ray, address)
        elif address == "local" or not _join_local(ray):
            # no dashboard, which needs more packages, and a store that leaves the memory to the models
            _init(ray, "local", num_cpus=count or None, include_dashboard=False, object_store_memory=_STORE)
    return RayCluster(ray, own=True)


class RayCluster:
    """The connection to a cluster. `hire` starts workers; a thread puts what they send into the queues they have."""

    def __init__(self, ray: Any, own: bool):
        self.ray, self._own = ray, own
        self._arrived: queue.SimpleQueue[tuple[RayWorker, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._pump, name="news of Ray workers", daemon=True).start()

    def hire(
        self,
        news: "queue.SimpleQueue[tuple[Any, Any]]",
        threads: int = 1,
        cpus: float = 1,
        gpus: float = 0,
        environment: Mapping[str, str] | None = None,
    ) -> "RayWorker":
        """Start a worker with `cpus` cores and a share of a GPU (or several). It is ready when it sent its `Hello`.

        It may wait for that until the cluster has room. `threads` is how many it may start; `environment` are
        variables to set beside it. It works in the folder of this process, where its node has one of this name.
        """
        given = {**{name: str(threads) for name in _THREADS}, **(environment or {})}
        if not gpus:
            given.setdefault("CUDA_VISIBLE_DEVICES", "")  # since Ray 2.60, a worker without a share would see all
        calls = {"max_concurrency": 4, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        with _quiet():
            kind = self.ray.remote(num_cpus=cpus, num_gpus=gpus, runtime_env={"env_vars": given}, **calls)(RayActor)
            worker = RayWorker(self.ray, kind.remote(str(Path.cwd()), [str(one) for one in sys.path]), news)
        self._ask(worker)
        return worker

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive and have CPUs, as Ray describes them."""
        return [one for one in self.ray.nodes() if one["Alive"] and one["Resources"].get("CPU")]

    def close(self) -> None:
        """Leave the cluster; one that was started here ends, and so do all workers that are left."""
        self._arrived.put(None)
        if self._own and self.ray.is_initialized():
            with _quiet():
                self.ray.shutdown()

    def _ask(self, worker: "RayWorker") -> None:
        """Ask for the next news of a worker. Ray calls back from threads that must not wait: the pump goes on."""
        try:
            answer = worker.actor.news.remote().future()
        except Exception as error:  # the cluster is gone
            worker.end(error)
            return
        answer.add_done_callback(lambda done: self._arrived.put((worker, done)))

    def _pump(self) -> None:
        while arrived := self._arrived.get():
            worker, answer = arrived
            try:
                messages = json.loads(answer.result())
            except BaseException as error:
                self._end(worker, error)
                continue
            self._ask(worker)
            for one in messages:
                worker.tell(_decoded(one))
            del arrived, answer  # what Ray keeps for as long as it is known here

    def _end(self, worker: "RayWorker", error: BaseException) -> None:
        """A worker that cannot be reached now may be asked later why: until then, Ray may not know that it died."""
        if isinstance(error, self.ray.exceptions.ActorUnavailableError) and not worker.doubted:
            worker.doubted = True
            worker.stop()
            self._ask(worker)  # a dead one answers with the reason; one that is not is dead now
        else:
            worker.end(error)


class RayWorker:
    """A worker as the driver sees it: an actor. What it sends is put into the queue `news`; None when it has ended."""

    def __init__(self, ray: Any, actor: Any, news: "queue.SimpleQueue[tuple[Any, Any]]"):
        self.number, self.actor, self.doubted = -1, actor, False
        self.hello: Hello | None = None
        self._ray, self._news, self._error, self._ended = ray, news, "", threading.Event()

    def give(self, function: Callable[..., Any], number: int, job: Any) -> None:
        """Send a job."""
        self.number = number
        text = json.dumps(_encoded((ON_COMMAND_LINE.get(), function, job)))
        with suppress(Exception):  # it has ended, and `news` will say so
            self.actor.give.remote(text)

    def stop(self) -> None:
        """Let it end at once, whatever it does."""
        with suppress(Exception):  # the cluster is gone, and the worker with it
            self._ray.kill(self.actor, no_restart=True)

    def wait(self, limit: float) -> None:
        """Wait until it has ended, but not after the time `limit`: Ray will end it in any case."""
        self._ended.wait(max(0.1, limit - time.monotonic()))

    def describe_end(self) -> str:
        """How it ended, in words."""
        self._ended.wait(_PATIENCE)
        return self._error or "does not answer"

    def tell(self, message: Any) -> None:
        """Hand on what it sent."""
        if isinstance(message, Hello):
            self.hello = message
        self._news.put((self, message))

    def end(self, error: BaseException) -> None:
        """It is gone, for this reason."""
        self._error = _describe(error)
        self._ended.set()
        self._news.put((self, None))


def _describe(error: BaseException) -> str:
    """What Ray knows of the end of a worker, in words: its own texts are of many lines, and about Ray."""
    text = str(error)
    host = re.search(r"^\tip: (\S+)|on the node \(IP: ([^,\s]+)", text, re.MULTILINE)
    place = f" on node {host[1] or host[2]}" if host else ""
    for pattern, words in _ENDS:
        if match := re.search(pattern, text, re.DOTALL):
            return words.format(place=place, detail=" ".join((match[1] if match.groups() else "").split()))
    return f"ended{place} ({shorten(next(iter(text.strip().splitlines()), type(error).__name__), 200)})"


# Reaching a cluster


def _load_ray() -> Any:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        with _quiet():
            return import_module("ray")
    except ImportError as error:
        raise MissingExtra("--engine ray" if ON_COMMAND_LINE.get() else "the engine ray", "ray") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray may neither write to the terminal, nor take the signals of this process."""
    logger = logging.getLogger("ray")
    logger.setLevel(logging.CRITICAL)
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(logging.CRITICAL)  # `ray.init` sets it
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _init(ray: Any, address: str, **more: Any) -> None:
    import_module("ray._private.worker").print_to_stdstream = _ignore  # type: ignore[attr-defined]  # it prints of workers that died to standard output, whatever one asks for
    with _without_standard_error():  # Ray writes there which level its log has
        ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=False, **more)


@contextmanager
def _without_standard_error() -> Iterator[None]:
    """Lose what compiled code writes to standard error."""
    before, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nothing)


def _ignore(*_: Any, **__: Any) -> None:
    pass


def _refuse_second(ray: Any, address: str) -> None:
    """A process has one connection: another address than that of the one it has cannot be meant."""
    here = ray.get_runtime_context().gcs_address
    wanted = address.removeprefix("ray://")
    if wanted and not address.startswith("ray://") and wanted != here:
        message = f"found {address!r}, but this process is connected to Ray at {here}"
        raise BadInput(message, field="engine", fix="use ray, or call ray.shutdown() first")


def _join_local(ray: Any) -> bool:
    """Connect to a cluster that runs on this machine; whether there is one."""
    services = import_module("ray._private.services")
    last = services.find_bootstrap_address(None)  # it may be one that was ended by force
    for address in [*([last] if last else []), *sorted(services.find_gcs_addresses())]:
        if _open(*_split(address, 0)) and _is_head(address):
            _attach(ray, address, address)
            return True
    return False


def _enter(ray: Any, address: str) -> None:
    """Connect to a head node, or to a server for clients of Ray; both may be called ray://."""
    client = address.startswith("ray://")
    host, port = _split(address.removeprefix("ray://"), _CLIENT_PORT if client else 0, address)
    start = "start one with: ray start --head"
    if not _open(host, port):
        raise _unreachable(f"nobody answers at {address}", f"check the address and that the cluster runs; {start}")
    found = f"{host}:{port}"
    if client and _serves_clients(found):
        _attach(ray, f"ray://{found}", address)
    elif _is_head(found):
        _attach(ray, found, address)
    else:
        if client and not find_spec("grpc"):
            raise MissingExtra(address, "ray")
        ports = f"a head node has port 6379 for its own machines, and {_CLIENT_PORT} for ray://, unless told otherwise"
        raise _unreachable(f"what answers at {address} is no Ray cluster of this version", ports)


def _attach(ray: Any, address: str, given: str) -> None:
    try:
        _init(ray, address)
    except Exception as error:
        with suppress(Exception):
            ray.shutdown()
        fix = "use the versions of Ray and Python that the cluster has; from a machine outside it, use ray://HEAD:10001"
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise _unreachable(f"could not connect to Ray at {given}: {first}", fix) from error


def _unreachable(message: str, fix: str) -> BadInput:
    return BadInput(message, field="engine", fix=fix)


def _split(address: str, port: int, given: str = "") -> tuple[str, int]:
    """Host and port; `port` is taken where none is given, unless it is 0.

    >>> _split("head:6379", 0), _split("[::1]:6379", 0), _split("head", 10001)
    (('head', 6379), ('[::1]', 6379), ('head', 10001))
    """
    match = re.fullmatch(r"(\[[^\]]+\]|[^:/\s]+)(?::(\d{1,5}))?/?", address)
    number = int(match[2] or port) if match else 0
    if not match or not 0 < number < 65536:
        raise BadInput(f"found {given or address!r}", field="engine", fix="use ray, or ray://HOST:PORT")
    return match[1], number


def _open(host: str, port: int) -> bool:
    """Whether anybody takes a call there."""
    try:
        socket.create_connection((host.strip("[]"), port), timeout=_PATIENCE).close()
    except OSError:
        return False
    return True


def _serves_clients(address: str) -> bool:
    """Whether a server for clients of Ray is there."""
    if not find_spec("grpc"):
        return False
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return True
    grpc, client = import_module("grpc"), import_module("ray.core.generated.ray_client_pb2")
    stub = import_module("ray.core.generated.ray_client_pb2_grpc").RayletDriverStub
    with grpc.insecure_channel(address) as channel:
        try:
            stub(channel).ClusterInfo(client.ClusterInfoRequest(type=client.ClusterInfoType.PING), timeout=_PATIENCE)
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return True


def _is_head(address: str) -> bool:
    """Whether a head node is there."""
    try:
        subprocess.run([sys.executable, "-c", _KNOCK, address], check=True, capture_output=True, timeout=2 * _PATIENCE)
    except subprocess.SubprocessError:
        return False
    return True


# What all nodes must have


def refuse_unfit(cluster: RayCluster, folders: Sequence[str] = (), plugins: Sequence[str] = ()) -> None:
    """Raise one error where a node has another version, cannot see a folder, or cannot load a file of plug-ins."""
    if not (troubles := check_nodes(cluster, folders, plugins)):
        return
    more = f" (and {len(troubles) - 1} more like this)" if len(troubles) > 1 else ""
    raise BadInput(troubles[0].message + more, field="engine", fix=troubles[0].fix)


class Trouble(NamedTuple):
    """Why a node cannot work, and what to do about it."""

    message: str
    fix: str


def check_nodes(cluster: RayCluster, folders: Sequence[str] = (), plugins: Sequence[str] = ()) -> list[Trouble]:
    """Ask every node for its version, whether it sees what is in the folders (or URLs), and whether plug-ins load."""
    tokens: list[str] = []
    try:
        for folder in folders:
            tokens.append(_leave_token(folder))
        files = [str(Path(one).expanduser().resolve()) for one in plugins]
        reports = list(_ask_nodes(cluster, tokens, files))
    finally:
        for token in tokens:
            with suppress(Exception):
                _file_at(token, remove=True)
    return [one for host, report in reports for one in _troubles(f"node {host}", report, folders, plugins)]


def _ask_nodes(cluster: RayCluster, tokens: Sequence[str], plugins: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """What each node reports, or why it does not."""
    ray, affinity = cluster.ray, import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    with _quiet():
        probe = ray.remote(num_cpus=0, max_retries=0, max_calls=1)(_make_probe())
        asked = []
        for node in cluster.nodes():
            there = probe.options(scheduling_strategy=affinity(node["NodeID"], soft=False))
            asked.append((node["NodeManagerAddress"], there.remote(list(tokens), list(plugins))))
        ray.wait([call for _, call in asked], num_returns=len(asked), timeout=_CHECK)
    for host, call in asked:
        try:
            yield host, json.loads(ray.get(call, timeout=0.1))
        except Exception as error:
            yield host, {"silent": _describe(error)}


def _make_probe() -> Callable[[list[str], list[str]], str]:
    """A function that travels as it is, since a node may lack the package, or have one without this module."""

    def probe(tokens: list[str], plugins: list[str]) -> str:
        import json
        from pathlib import Path

        def see(file: str) -> None:
            if "://" not in file:
                Path(file).read_bytes()
            else:
                import fsspec  # type: ignore[import-untyped,unused-ignore]

                fsspec.open(file).open().close()

        def attempt(work: Callable[[Any], None], given: Any) -> str:
            try:
                work(given)
            except BaseException as error:
                return f"{type(error).__name__}: {error}"
            return ""

        try:
            from otherwords import __version__
            from otherwords.registry import load_plugins
        except BaseException as error:
            return json.dumps({"missing": f"{type(error).__name__}: {error}"})
        seen, loaded = [attempt(see, file) for file in tokens], [attempt(load_plugins, [file]) for file in plugins]
        return json.dumps({"version": __version__, "seen": seen, "loaded": loaded})

    return probe


def _troubles(node: str, report: Any, folders: Sequence[str], plugins: Sequence[str]) -> Iterator[Trouble]:
    install = f"install otherwords {__version__} on all nodes, in the Python that Ray runs in"
    if "silent" in report:
        yield Trouble(f"{node} {report['silent']} when it was asked for its version", "look at it with: ray status")
    elif "missing" in report:
        yield Trouble(f"{node} has no otherwords ({report['missing']})", install)
    elif report["version"] != __version__:
        yield Trouble(f"{node} has otherwords {report['version']}, the driver {__version__}", install)
    else:
        for folder, why in zip(folders, report["seen"], strict=True):
            if why:
                more = "" if why.startswith("FileNotFoundError") else f" ({why})"
                yield Trouble(f"{node} cannot see {folder}{more}", "give a folder that all nodes share, with --shared")
        for file, why in zip(plugins, report["loaded"], strict=True):
            if why:
                fix = "put the file, and what it imports, on all nodes at the same path"
                yield Trouble(f"{node} cannot load the plug-in {file} ({why})", fix)


def _leave_token(folder: str) -> str:
    """Write a file with a name of its own to a folder; its path."""
    place = folder if "://" in folder else str(Path(folder).expanduser().resolve())
    file = f"{place.rstrip('/')}/.otherwords-{uuid.uuid4().hex}"
    try:
        _file_at(file)
    except Exception as error:
        fix = "give a folder that all nodes share, with --shared"
        raise BadInput(f"cannot write to it ({error})", where=folder, fix=fix) from error
    return file


def _file_at(file: str, remove: bool = False) -> None:
    """Make an empty file, or remove it."""
    if "://" not in file:
        make, drop = Path(file).touch, Path(file).unlink
    else:
        files, path = import_module("fsspec").core.url_to_fs(file)
        make, drop = partial(files.pipe, path, b""), partial(files.rm, path)
    (drop if remove else make)()


# On a node


class RayActor:
    """A worker on its node: does one job after the other in a thread of its own, and tells its news when asked."""

    def __init__(self, folder: str, path: Sequence[str]):
        if Path(folder).is_dir():
            os.chdir(folder)
        sys.path.extend(one for one in path if one not in sys.path and Path(one).exists())
        self._jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._news = _News()
        self._news.send(_hello())
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        prints: Any = _Prints(self._news)  # type: ignore[arg-type]
        sys.stdout = sys.stderr = io.TextIOWrapper(prints, "utf-8", "backslashreplace", write_through=True)
        threading.Thread(target=self._work, daemon=True).start()

    def give(self, job: str) -> None:
        """Take a job."""
        self._jobs.put(job)

    def news(self) -> str:
        """What there is to say since the last call; wait until there is something."""
        return self._news.take()

    def _work(self) -> None:
        try:
            while True:
                self._news.send(_carry_out(json.loads(self._jobs.get()), self._news))  # type: ignore[arg-type]
        finally:
            os._exit(1)  # a job called `sys.exit`: without this thread, nothing would ever come


class _News:
    """Messages to the driver, until it asks for them."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def send(self, message: Any) -> None:
        """Send a message: an outcome, a number of rows that are done, or a text to print."""
        self._messages.put(message)

    def take(self) -> str:
        """All messages, as JSON; rows that are done are one number, and may wait for what follows."""
        taken, rows, limit = [self._messages.get()], 0, time.monotonic() + _PROGRESS
        while True:
            rows += taken.pop() if isinstance(taken[-1], int) else 0
            try:
                taken.append(self._messages.get(timeout=0 if taken else max(0, limit - time.monotonic())))
            except queue.Empty:
                return json.dumps([_encoded(one) for one in (*([rows] if rows else []), *taken)])


def _hello() -> Hello:
    ray = import_module("ray")
    node = ray.get_runtime_context().get_node_id()
    return Hello(__version__, platform.python_version(), node, ray.util.get_node_ip_address())
