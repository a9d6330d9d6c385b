"""Reaching a Ray cluster: its address, and whether all of its nodes can do the work."""

import json
import logging
import os
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .._version import __version__
from ..errors import ON_COMMAND_LINE, BadInput, MissingExtra, shorten
from ..storage.places import Place
from .ray_workers import RayCluster, describe, quiet, where_from

#: What Ray reads when it is loaded: no statistics are sent, no errors shown that the driver shows itself.
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}
#: Bytes of Ray's object store on a cluster that is started here: next to nothing goes through it.
_STORE = 100_000_000
#: Where a Ray client connects when no port is given, and the seconds in which an address must answer.
_CLIENT_PORT, _PATIENCE = 10001, 5.0
#: Seconds in which all nodes must have told what they have.
_CHECK = 60.0
#: Ends with 0 where a head node of Ray is at an address. A process of its own: Ray ends the one that asks, on failure.
_KNOCK = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1]).internal_kv_keys(b'x')"


def connect(address: str = "", count: int = 0) -> RayCluster:
    """Connect to the cluster at an address: "ray://HOST:PORT", "HOST:PORT", or "" for the one of this machine.

    The latter is what RAY_ADDRESS names, or `ray start` started here; where there is none, or with "local", a cluster
    of `count` CPUs (all, if 0) is started, and ends with the connection. A program that is connected already stays so.
    """
    ray = _load_ray()
    if ray.is_initialized():
        _refuse_second(ray, address)
        return RayCluster(ray, own=False, head=_head(ray, address))
    address = address or os.environ.get("RAY_ADDRESS", "")
    with quiet():
        if address and address not in ("auto", "local"):
            _enter(ray, address)
        elif address == "local" or not _join_local(ray):
            # no dashboard, which needs more packages, and a store that leaves the memory to the models
            _init(ray, "local", num_cpus=count or None, include_dashboard=False, object_store_memory=_STORE)
    return RayCluster(ray, own=True, head=_head(ray, address))


def _head(ray: Any, address: str) -> tuple[str, int]:
    """Where the cluster answers: the head node, or its server for clients."""
    if ray.util.client.ray.is_connected() and address.startswith("ray://"):
        return _split(address.removeprefix("ray://"), _CLIENT_PORT)
    return _split(ray.get_runtime_context().gcs_address, 0)


def is_reachable(cluster: RayCluster) -> bool:
    """Whether a cluster still takes calls."""
    return _open(*cluster.head)


def _load_ray() -> Any:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        with quiet():
            return import_module("ray")
    except ImportError as error:
        raise MissingExtra("--engine ray" if ON_COMMAND_LINE.get() else "the engine ray", "ray") from error


def _init(ray: Any, address: str, **more: Any) -> None:
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


def _refuse_second(ray: Any, address: str) -> None:
    """A process has one connection: another address than that of the one it has cannot be meant."""
    here = ray.get_runtime_context().gcs_address
    wanted = address.removeprefix("ray://")
    if not wanted or wanted == here:
        return
    client = address.startswith("ray://")
    host, port = _split(wanted, _CLIENT_PORT if client else 0, address)
    if not client or not _open(host, port) or _is_other_head(f"{host}:{port}", here):
        message = f"found {address!r}, but this process is connected to Ray at {here}"
        raise BadInput(message, field="engine", fix="use ray, or call ray.shutdown() first")


def _is_other_head(address: str, here: str) -> bool:
    """Whether the head node of another cluster is at an address; a server for clients has no port of a head."""
    return address.rpartition(":")[2] != here.rpartition(":")[2] and _is_head(address)


def _join_local(ray: Any) -> bool:
    """Connect to the cluster that `ray start` made this machine a part of; whether there is one.

    Others that run here are of programs, and end with them.
    """
    address = import_module("ray._private.services").find_bootstrap_address(None)  # it may have been ended by force
    if not address or not _open(*_split(address, 0)) or not _is_head(address):
        return False
    _attach(ray, address, address)
    return True


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
        ports += "; where it wants a token, set RAY_AUTH_MODE=token"
        raise _unreachable(f"what answers at {address} is no Ray cluster of this version", ports)


def _attach(ray: Any, address: str, given: str) -> None:
    try:
        _init(ray, address)
    except Exception as error:
        with suppress(Exception):
            ray.shutdown()
        fix = "use the versions of Ray and Python that the cluster has; from a machine outside it, use ray://HEAD:10001"
        first = shorten(" ".join(str(error).split()) or type(error).__name__, 200)
        raise _unreachable(f"could not connect to Ray at {given}: {first}", fix) from error


def _unreachable(message: str, fix: str) -> BadInput:
    return BadInput(message, field="engine", fix=fix)


def parse_address(address: str) -> None:
    """Refuse what is no address, before anything is started."""
    if address:
        client = address.startswith("ray://")
        _split(address.removeprefix("ray://"), _CLIENT_PORT if client else 0, address)


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


def refuse_unfit(
    cluster: RayCluster,
    shared: str,
    fix: str,
    files: Sequence[str] = (),
    plugins: Sequence[str] = (),
    named: Sequence[tuple[str, str]] = (),
) -> None:
    """Raise one error where a node has another version, cannot see a place or files, or cannot load plug-ins.

    `fix` says what to do where it is the place.
    """
    if not (troubles := check_nodes(cluster, shared, fix, files, plugins, named)):
        return
    more = f" (and {len(troubles) - 1} more like this)" if len(troubles) > 1 else ""
    raise BadInput(troubles[0].message + more, field="engine", fix=troubles[0].fix)


class Trouble(NamedTuple):
    """Why a node cannot work, and what to do about it."""

    message: str
    fix: str


def check_nodes(
    cluster: RayCluster,
    shared: str,
    fix: str,
    files: Sequence[str] = (),
    plugins: Sequence[str] = (),
    named: Sequence[tuple[str, str]] = (),
) -> list[Trouble]:
    """Ask every node for its version, whether it sees what is in a folder (or URL) and files, and loads plug-ins.

    These are files that register some, and what is named by kind and spec.
    """
    place, token = Place(shared if "://" in shared else Path(shared).expanduser().resolve()), f".{uuid.uuid4().hex}"
    files = list(dict.fromkeys(files))
    place.store(token, b"")
    try:
        reports = list(_ask_nodes(cluster, [f"{place.where.rstrip('/')}/{token}.parquet", *files], plugins, named))
    finally:
        place.remove(token)
    seen = {place.name: fix} | dict.fromkeys(files, "put it on all nodes, at the same path")
    loaded = [*(f"the plug-in {file}" for file in plugins), *(spec for _, spec in named)]
    return [one for host, report in reports for one in _troubles(f"node {host}", report, seen, loaded)]


def _ask_nodes(
    cluster: RayCluster, tokens: Sequence[str], plugins: Sequence[str], named: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, Any]]:
    """What each node reports, or why it does not."""
    ray, affinity = cluster.ray, import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    with quiet():
        probe = ray.remote(num_cpus=0, max_retries=0, max_calls=1)(_make_probe())
        asked = []
        for node in cluster.nodes():
            there = probe.options(scheduling_strategy=affinity(node["NodeID"], soft=False))
            given = (list(tokens), list(plugins), list(named), *where_from())
            asked.append((node["NodeManagerAddress"], there.remote(*given)))
        ray.wait([call for _, call in asked], num_returns=len(asked), timeout=_CHECK)
    for host, call in asked:
        try:
            yield host, json.loads(ray.get(call, timeout=0.1))
        except Exception as error:
            yield host, {"silent": describe(error)}


def _make_probe() -> Callable[..., str]:
    """A function that travels as it is, since a node may lack the package, or have one without this module."""

    def probe(tokens: list[str], plugins: list[str], named: list[tuple[str, str]], folder: str, path: list[str]) -> str:
        import json
        import os
        import sys
        from pathlib import Path

        def see(file: str) -> None:
            if "://" not in file:
                Path(file).stat()
            else:
                import fsspec  # type: ignore[import-untyped,unused-ignore]

                fsspec.open(file).open().close()

        def attempt(work: Callable[[Any], None], given: Any) -> str:
            try:
                work(given)
            except BaseException as error:
                return f"{type(error).__name__}: {error}"
            return ""

        report: dict[str, Any] = {}
        try:
            from otherwords._version import __version__

            report["version"] = __version__
            from otherwords.registry import KINDS, load_plugins
        except BaseException as error:
            return json.dumps({**report, "missing": f"{type(error).__name__}: {error}"})
        if Path(folder).is_dir():  # from here on as a worker
            os.chdir(folder)
        sys.path.extend(one for one in path if one not in sys.path and Path(one).exists())
        report["seen"] = [attempt(see, file) for file in tokens]
        report["loaded"] = [attempt(load_plugins, [file]) for file in plugins]
        report["loaded"] += [attempt(KINDS[kind].try_import, spec) for kind, spec in named]
        return json.dumps(report)

    return probe


def _troubles(node: str, report: Any, seen: Mapping[str, str], loaded: Sequence[str]) -> Iterator[Trouble]:
    install = f"install otherwords {__version__} on all nodes, in the Python that Ray runs in"
    if "silent" in report:
        yield Trouble(f"{node} {report['silent']} when it was asked for its version", "look at it with: ray status")
    elif report.get("version", __version__) != __version__:
        yield Trouble(f"{node} has otherwords {report['version']}, the driver {__version__}", install)
    elif "missing" in report:
        yield Trouble(f"{node} has no otherwords ({report['missing']})", install)
    else:
        for (name, fix), why in zip(seen.items(), report["seen"], strict=True):
            if why:
                more = "" if why.startswith("FileNotFoundError") else f" ({why})"
                yield Trouble(f"{node} cannot see {name}{more}", fix)
        for name, why in zip(loaded, report["loaded"], strict=True):
            if why:
                fix = "put the file, and what it imports, on all nodes at the same path"
                yield Trouble(f"{node} cannot load {name} ({why})", fix)
