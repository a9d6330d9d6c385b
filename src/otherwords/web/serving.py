"""Serving the pages: an address that is free, invitation links, and a server that runs until it is stopped."""

import re
import socket
import warnings
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from ..errors import BadInput, caller_level, setting
from .app import make_app
from .pages import Site
from .security import LOOPBACK, Hosts
from .store import Store

#: Seconds that requests under way have when the server is stopped.
_PATIENCE = 5
#: How many may wait to be connected.
_WAITING = 512


def serve(
    store: Store,
    bound: socket.socket,
    *,
    host: str = "127.0.0.1",
    behind_tls: str = "",
    ready: Callable[[Site], None] = lambda _: None,
) -> None:
    """Serve the pages of a database at a bound socket until the process is stopped; `ready` is called before.

    `behind_tls` is the name under which a proxy offers them with TLS: links and cookies are then for that name.
    """
    site = Site(store, _address(bound, host, behind_tls), bool(behind_tls))
    store.note(address=site.address)  # for links that are made later
    app = make_app(site, _hosts(host, behind_tls))
    ready(site)
    serve_app(app, bound, behind_tls=bool(behind_tls))


def serve_app(app: ASGIApp, bound: socket.socket, *, behind_tls: bool = False) -> None:
    """Serve an application at a bound socket until the process is stopped."""
    import uvicorn  # late: it takes as long to import as all of the package

    config = uvicorn.Config(
        app, lifespan="off", log_level="warning", access_log=False, server_header=False, proxy_headers=behind_tls,
        ws="none", timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[bound])


def bind(host: str, port: int) -> socket.socket:
    """A socket at an address, or an error that says who else may be there."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, OverflowError) as error:
        raise BadInput(f"no such address: {error}", field=setting("--host", "host"), fix="use 127.0.0.1") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_WAITING)  # who opens a link before the pages are ready waits, and is not refused
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or str(error)
        fix = "choose another port, or 0 for any that is free"
        raise BadInput(f"{host}:{port}: {reason}", field=setting("--port", "port"), fix=fix) from error
    return bound


def refuse_name(behind_tls: str) -> None:
    """Refuse what is no name of a host."""
    if behind_tls and not re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]+)?", behind_tls):
        fix = "give only the name, as in annotate.example.org"
        raise BadInput(f"found {behind_tls!r}", field=setting("--behind-tls", "behind_tls"), fix=fix)


def warn_unprotected(host: str, behind_tls: str) -> None:
    """Warn where answers and links would travel in the clear."""
    if host not in LOOPBACK and not behind_tls:
        message = f"{host} can be reached by other machines, and links and answers are sent unencrypted"
        fix = f"put a proxy with TLS in front, and give its name: {setting('--behind-tls NAME', 'behind_tls')}"
        warnings.warn(f"{message}; {fix}", stacklevel=caller_level())


def _address(bound: socket.socket, host: str, behind_tls: str) -> str:
    if behind_tls:
        return f"https://{behind_tls}"
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{bound.getsockname()[1]}"


def _hosts(host: str, behind_tls: str) -> Hosts:
    everywhere = host in ("0.0.0.0", "::", "")
    names = [host] if not everywhere else [socket.gethostname(), socket.getfqdn()]
    return Hosts([*names, *([urlsplit(f"//{behind_tls}").hostname or ""] if behind_tls else [])], everywhere)
