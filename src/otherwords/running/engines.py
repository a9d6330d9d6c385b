"""Engines: what maps a stage over its shards, in this process, in several, or on a cluster."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadInput, setting
from .pool import Engine, GiveUp, Item, Result
from .processes import Processes

#: The engine of a study that names none, and all there are.
USUAL, NAMES = "in-process", "in-process, processes, processes:N, ray or ray://HOST:PORT"


class InProcess(Engine):
    """Do one shard after the other, here."""

    def map(
        self, function: Callable[[Item], Result], jobs: Iterable[Item], give_up: GiveUp | None = None
    ) -> Iterator[Result]:
        """Apply the function to every job, lazily, so that memory stays flat."""
        return map(function, jobs)


def make_engine(
    name: str, workers: int = 0, gpus: Sequence[int] = (), gpu_share: float | None = None, shared: str = ""
) -> Engine:
    """The engine of this name: in-process, processes (also processes:N), ray, or ray://HOST:PORT. Nothing starts yet.

    `workers` is how many there are, if not as many as there are cores. `gpus` are for processes: a worker for each.
    `gpu_share` is what a worker on Ray has of a GPU, or how many. `shared` is a folder or URL that all machines of a
    cluster see, where the run folder is not.

    >>> make_engine("processes:4").count
    4
    """
    kind, count = _parse(name)
    _refuse_idle(kind, workers=workers, gpus=list(gpus), gpu_share=gpu_share, shared=shared)
    if workers < 0 or (count and workers and count != workers):
        raise BadInput(f"found {workers}", field="workers", fix=f"give a number from 1 on, or {name} alone")
    if kind == "processes":
        _refuse_wrong_gpus(gpus, count or workers)
        return Processes(count or workers, gpus)
    if kind == "ray":
        _refuse_no_url(shared)
        from .ray_engine import Ray

        return Ray(name.removeprefix("ray") and name, workers, gpu_share, shared)
    return InProcess()


def _parse(name: str) -> tuple[str, int]:
    """The kind of an engine, and the number of workers in its name, or 0."""
    if match := re.fullmatch(r"processes(?::([1-9]\d{0,3}))?", name):
        return "processes", int(match[1] or 0)
    if name == "ray" or re.fullmatch(r"ray://\S+", name):
        return "ray", 0
    if name == USUAL:
        return USUAL, 0
    raise BadInput(f"found {name!r}", field="engine", fix=f"use {NAMES}")


#: The engines that each setting is for.
_FOR = {"workers": ("processes", "ray"), "gpus": ("processes",), "gpu_share": ("ray",), "shared": ("ray",)}


def _refuse_idle(kind: str, **settings: Any) -> None:
    """Refuse settings of another engine, which would change nothing."""
    for name, value in settings.items():
        if value not in (0, [], None, "") and kind not in _FOR[name]:
            own, share = setting(f"--{name.replace('_', '-')}", name), setting("--gpu-share", "gpu_share")
            other = f"; on Ray, give a worker's share with {share}" if (name, kind) == ("gpus", "ray") else ""
            fix = (
                f"choose it with {setting('--engine ', 'engine=')}{' or '.join(_FOR[name])}, or leave {own} out{other}"
            )
            raise BadInput(f"is not for the engine {kind}", field=own, fix=fix)


def _refuse_no_url(shared: str) -> None:
    try:
        urlsplit(shared)
    except ValueError as error:
        raise BadInput(f"found {shared!r}: {error}", field="shared", fix="give a folder or a URL") from error


def _refuse_wrong_gpus(gpus: Sequence[int], workers: int) -> None:
    if not gpus:
        return
    there = count_gpus()
    wrong = [one for one in gpus if not 0 <= one < there]
    if wrong or len(set(gpus)) < len(gpus):
        found = f"found {', '.join(map(str, gpus))}; this machine has " + (
            f"{there}" if there else "none that torch sees"
        )
        fix = f"name each once, from 0 to {there - 1}" if there else "leave gpus out, or install torch with CUDA"
        raise BadInput(found, field="gpus", fix=fix)
    if workers and workers != len(gpus):
        raise BadInput(f"found {workers} for {len(gpus)} GPUs", field="workers", fix="leave it out: each GPU has one")


def count_gpus() -> int:
    """How many GPUs this process may use."""
    try:
        import torch
    except ImportError:
        return 0
    return int(torch.cuda.device_count())


def checked(engine: Engine) -> Engine:
    """An engine of the user's own, refused where it is none."""
    if not isinstance(engine, Engine):
        fix = f"derive it from otherwords.running.Engine, or name one: {NAMES}"
        raise BadInput(f"found {type(engine).__name__}", field="engine", fix=fix)
    return engine


@contextmanager
def closing(engine: Engine) -> Iterator[None]:
    """Let the workers of an engine, if it has any, end with the block."""
    try:
        yield
    finally:
        engine.close()
