"""Pages for annotators, really served: a server in a thread or a process of its own, and people who use it by HTTP."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import uvicorn

from otherwords import web
from otherwords.web.app import make_app
from otherwords.web.pages import Site
from otherwords.web.security import Hosts

NLI = [
    {"id": "a", "premise": "A man sleeps on a bench.", "hypothesis": "Somebody sleeps.", "label": "entailment"},
    {"id": "a~x.1", "of": "a", "how": "secret-generator.v1()", "premise": "A man sleeps on a bench.",
     "hypothesis": "A person is asleep.", "label": "entailment"},
    {"id": "a~x.2", "of": "a", "how": "secret-generator.v1()", "premise": "A man sleeps on a bench.",
     "hypothesis": "Someone is sleeping.", "label": "entailment"},
    {"id": "b", "premise": "Two dogs run in the snow.", "hypothesis": "The dogs are indoors.",
     "label": "contradiction"},
    {"id": "b~x.1", "of": "b", "how": "secret-generator.v1()", "premise": "In the snow two dogs run.",
     "hypothesis": "The dogs are indoors.", "label": "contradiction"},
    {"id": "b~x.2", "of": "b", "how": "secret-generator.v1()", "premise": "Two dogs run in the snow.",
     "hypothesis": "The dogs are inside.", "label": "contradiction"},
]  # fmt: skip
ANLI = [
    {"id": "tv", "obs1": "George decided to buy a TV.", "obs2": "It turned out just as he'd hoped.",
     "hyp1": "The TV had a cracked screen.", "hyp2": "He placed it where he wanted it.", "label": "hyp2"},
]  # fmt: skip


def write_rows(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@contextmanager
def serving(store: web.Store, **options: Any) -> Iterator[Site]:
    """The pages of a database, served by a thread of this process."""
    bound = web.bind("127.0.0.1", 0)
    site = Site(store, f"http://127.0.0.1:{bound.getsockname()[1]}", **options)
    config = uvicorn.Config(make_app(site, Hosts(["annotate.example.org"])), lifespan="off", log_level="critical",
                            access_log=False, server_header=False, ws="none")  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield site
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@contextmanager
def process(*arguments: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """`otherwords annotate ...` as a process: it, and what it printed when it was ready."""
    command = [sys.executable, "-m", "otherwords", "annotate", *arguments, "--port", "0", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    try:
        assert running.stdout
        lines = []
        for line in running.stdout:
            lines.append(line)
            if line == "}\n":
                break
        yield running, json.loads("".join(lines))
    finally:
        if running.poll() is None:
            running.terminate()
        running.wait(20)
        assert running.stdout
        running.stdout.close()


@dataclass
class Reply:
    """What came back: redirects are not followed."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


@dataclass
class Visitor:
    """Somebody with a browser that has no JavaScript: one connection, one cookie, headers as browsers send them."""

    address: str
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=lambda: {"Sec-Fetch-Site": "same-origin"})
    connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str | None] | None = None) -> Reply:
        """One request; a header of None is not sent."""
        sent: dict[str, str | None] = {"Cookie": self.cookie or None, **self.headers, **(headers or {})}
        if isinstance(body, dict):
            body, sent["Content-Type"] = urlencode(body), sent.get("Content-Type", "application/x-www-form-urlencoded")
        if self.connection is None:
            self.connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        given = {name: value for name, value in sent.items() if value is not None}
        try:
            self.connection.request(method, path, body, given)
            response = self.connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        found = {name.lower(): value for name, value in response.getheaders()}
        if "set-cookie" in found:
            self.cookie = found["set-cookie"].partition(";")[0]
        return Reply(response.status, found, text)

    def get(self, path: str, **headers: str | None) -> Reply:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, fields: Mapping[str, str] | None = None, **headers: str | None) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, dict(fields or {}), given)

    def join(self, link: str) -> Visitor:
        reply = self.post(urlsplit(link).path, {"consent": "yes"})
        assert reply.status == 303, reply.text
        return self

    def next(self) -> tuple[int, str] | None:
        """The next page: its number and its text; None where there is nothing left."""
        reply = self.get("/next")
        if reply.status != 303:
            assert reply.status == 200, reply.text
            return None
        page = self.get(reply.location)
        assert page.status == 200, page.text
        return int(reply.location.rpartition("/")[2]), page.text

    def answer(self, item: int, **answers: str) -> Reply:
        """Answer the questions of the first part, by name; other parts as `p1_name`."""
        named = {re.sub(r"^p(\d+)_", r"\1.", name) if name[0] == "p" and "_" in name and name[1].isdigit()
                 else f"0.{name}": value for name, value in answers.items()}  # fmt: skip
        return self.post(f"/item/{item}", named)

    def close(self) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None

    def __del__(self) -> None:
        self.close()


def invited(site: Site, role: str = "annotator", pseudonym: str = "") -> Visitor:
    """Somebody who was invited and has joined."""
    (one,) = web.invite(site.store, role, pseudonym=pseudonym)
    return Visitor(site.address).join(site.link(one.token))


def inputs(page: str) -> list[str]:
    """The names of all fields of a page, in order, each once."""
    return list(dict.fromkeys(re.findall(r'<(?:input|textarea|select)[^>]* name="([^"]+)"', page)))


def texts(page: str) -> list[str]:
    """The texts that a page shows, in order."""
    return [unescape(one) for one in re.findall(r'<dd dir="auto">(.*?)</dd>', page)]
