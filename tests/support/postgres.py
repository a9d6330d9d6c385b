"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, on a port of the loopback that is free."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Where its programs are: on the path, or where Debian puts them; the newest."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    there = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: float(one.parts[4]))
    return there[-1].parent if there else None


def why_not() -> str:
    """What such a test lacks here, or nothing."""
    if not programs():
        return "needs PostgreSQL: apt install postgresql"
    return "" if os.geteuid() or _somebody() else "needs a user other than root: PostgreSQL refuses to run as root"


def _somebody() -> str | None:
    """Who PostgreSQL runs as where the tests run as root."""
    names = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def running() -> Iterator[str]:
    """The address of a cluster with one empty database, `postgresql://USER@127.0.0.1:PORT/postgres`."""
    user = None if os.geteuid() else _somebody()
    name = user or pwd.getpwuid(os.geteuid()).pw_name
    bin_folder, folder = programs(), Path(tempfile.mkdtemp(prefix="otherwords-pg-"))
    assert bin_folder
    if user:
        shutil.chown(folder, user)
    port = _free_port()

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run([bin_folder / program, *arguments], user=user, cwd=folder, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, check=False)  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    data = str(folder / "data")
    try:
        call("initdb", "-D", data, "-U", name, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
        call("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://{name}@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
