"""Fifty annotators, a verdict a second each, for two minutes: none lost or doubled by their own logs, and how fast.

Also with PostgreSQL, where OTHERWORDS_POSTGRES names an empty database that may be written to.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PEOPLE, SECONDS, VARIANTS = 50, 120, 3_000
TINY = (4, 2, 60)
#: Milliseconds in which 95 of 100 verdicts are acknowledged.
AT_MOST = 100.0


def run(tiny: bool = False) -> list[dict[str, Any]]:
    people, seconds, variants = TINY if tiny else (PEOPLE, SECONDS, VARIANTS)
    rows = _measured("SQLite", "", people, seconds, variants)
    if address := os.environ.get("OTHERWORDS_POSTGRES", ""):
        rows += _measured("PostgreSQL", address, people, seconds, variants)
    return rows


def _measured(kind: str, address: str, people: int, seconds: int, variants: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        suite = _suite(Path(folder), variants)
        database = address or f"{folder}/verdicts.db"
        command = [sys.executable, "-m", "otherwords", "annotate", suite, "--form", "sound", "-o", database]
        command += ["--annotators", str(people), "--number", "500", "--port", "0", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            links = [one["link"] for one in _ready(server)["invitations"] if one["role"] == "annotator"]
            senders = [Sender(link) for link in links]
            _work(senders, seconds)
            spent = _processor_seconds(server.pid)
        finally:
            server.terminate()
            server.wait(20)
        stored = _stored(database)
    return _rows(kind, senders, stored, seconds, spent)


class Sender(threading.Thread):
    """An annotator who judges one page a second, and writes down what was acknowledged and how long it took."""

    def __init__(self, link: str):
        super().__init__()
        place = urlsplit(link)
        self.connection = http.client.HTTPConnection(place.netloc, timeout=30)
        self.link, self.cookie = place.path, ""
        self.log: dict[int, str] = {}
        self.verdicts: list[float] = []
        self.pages: list[float] = []
        self.until = 0.0

    def ask(self, method: str, path: str, body: str = "") -> tuple[int, str]:
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
        headers |= {"Cookie": self.cookie} if self.cookie else {}
        self.connection.request(method, path, body or None, headers)
        response = self.connection.getresponse()
        response.read()
        if cookie := response.getheader("set-cookie"):
            self.cookie = cookie.partition(";")[0]
        return response.status, response.getheader("location") or ""

    def run(self) -> None:
        assert self.ask("POST", self.link, "consent=yes")[0] == 303
        chosen = random.Random(self.link)
        time.sleep(chosen.random())
        _, place = self.ask("GET", "/next")
        while (start := time.monotonic()) < self.until and place.startswith("/item/"):
            self.ask("GET", place)
            self.pages.append(time.monotonic() - start)
            answer = chosen.choice(("sound", "unsound"))
            sent = time.monotonic()
            status, following = self.ask("POST", place, f"0.sound={answer}")
            if status == 303:
                self.verdicts.append(time.monotonic() - sent)
                self.log[int(place.rpartition("/")[2])] = answer
            place = following
            time.sleep(max(0.0, start + 1 - time.monotonic()))


def _work(senders: list[Sender], seconds: int) -> None:
    until = time.monotonic() + seconds + 1
    for sender in senders:
        sender.until = until
        sender.start()
    for sender in senders:
        sender.join()


def _suite(folder: Path, variants: int) -> str:
    rows: list[dict[str, Any]] = []
    for number in range(variants // 10):
        original = {"id": f"p{number}", "premise": f"Person {number} sleeps.", "label": "entailment"}
        rows.append({**original, "hypothesis": f"Somebody {number} rests."})
        for n in range(10):
            text = f"One {number} rests, {n}."
            rows.append({**original, "id": f"p{number}~{n}", "of": f"p{number}", "hypothesis": text})
    path = folder / "suite.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def _ready(server: subprocess.Popen[str]) -> dict[str, Any]:
    assert server.stdout
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        line = server.stdout.readline()
        assert line, "the server ended"
        lines.append(line)
    found: dict[str, Any] = json.loads("".join(lines))
    return found


def _stored(database: str) -> dict[tuple[int, int], list[str]]:
    """What the database has: by person and item, all answers."""
    import sqlalchemy as sa

    from otherwords.web.store import ANSWERS, open_store

    store = open_store(database)
    found: dict[tuple[int, int], list[str]] = {}
    with store.reading() as connection:
        for row in connection.execute(sa.select(ANSWERS)):
            found.setdefault((row.person, row.item), []).append(row.answer)
    store.close()
    return found


def _rows(
    kind: str, senders: list[Sender], stored: dict[tuple[int, int], list[str]], seconds: int, spent: float
) -> list[dict[str, Any]]:
    logged = sorted((item, answer) for sender in senders for item, answer in sender.log.items())
    kept = sorted((item, answer) for (_, item), answers in stored.items() for answer in answers)
    wrong = len(set(logged) ^ set(kept)) + abs(len(logged) - len(kept))
    waits = sorted(1000 * wait for sender in senders for wait in sender.verdicts)
    pages = sorted(1000 * wait for sender in senders for wait in sender.pages)
    detail = (
        f"{len(logged):,} verdicts acknowledged to {len(senders)} annotators in {seconds} s, {len(kept):,} stored; "
        f"median {_at(waits, 0.5):.0f} ms, worst {waits[-1]:.0f} ms; the next page median "
        f"{_at(pages, 0.5):.0f} ms, 95th percentile {_at(pages, 0.95):.0f} ms; the server used {spent:.0f} s of "
        f"processor time; {os.getloadavg()[0]:.1f} processes ran"
    )
    lost = f"verdicts lost, doubled or changed, {kind}"
    slow = f"95th percentile of the time until a verdict is on disk, {kind}"
    return [
        {"claim": lost, "measured": float(wrong), "unit": "verdicts", "at_most": 0.0, "detail": detail},
        {"claim": slow, "measured": _at(waits, 0.95), "unit": "ms", "at_most": AT_MOST, "detail": detail},
    ]


def _at(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
