"""Batch files: the requests of OpenAI's batch API and of vLLM's `run_batch`, written, and their replies read back.

A request is named by the cache key of its reply, so a file of replies needs no other file. Only one request is in
memory at a time; which ones were written, and where replies are, is kept on disk.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import urlsplit

from ..errors import BadInput, ServerFailed, shorten
from ..storage.files import atomic, refuse_overwriting
from .completion import Capabilities, Completion, Request
from .dialects import NO_LOGPROBS, Malformed, body_of, completion_of, lacks_logprobs
from .endpoint import Endpoint

#: Letters of a key in hexadecimal.
_DIGITS = 40
#: Rows that are put into a table on disk together.
_ROWS = 10_000


class RequestTaker(Protocol):
    """What takes the requests of a dry run: one that writes them, or one that knows the replies."""

    def take(self, endpoint: Endpoint, can: Capabilities, request: Request, key: bytes) -> Completion | None:
        """A request that nobody has answered yet; the reply to it, if it is known."""
        ...


class BatchWriter:
    """Writes requests to a file, each once."""

    def __init__(self, file: IO[str], database: sqlite3.Connection):
        self._file, self._database, self.count = file, database, 0
        database.execute("create table written (key blob primary key) without rowid")

    def take(self, endpoint: Endpoint, can: Capabilities, request: Request, key: bytes) -> None:
        """Write a request, unless it was written before."""
        if endpoint.dialect != "openai":
            fix = "use dialect=openai, or ask without --batch-out"
            raise BadInput(
                f"batch files are not supported for {endpoint.dialect}", where=f"api:{endpoint.model}", fix=fix
            )
        if self._database.execute("insert or ignore into written values (?)", (key,)).rowcount < 1:
            return
        path, body = body_of(endpoint, request, can)
        line = {"custom_id": key.hex(), "method": "POST", "url": f"{_version_of(endpoint.url)}{path}", "body": body}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.count += 1


def _version_of(url: str) -> str:
    """The beginning of a request's address in a batch file, which is /v1 wherever a gateway serves it."""
    path = urlsplit(url).path.rstrip("/")
    return "/v1" if path.endswith("/v1") else path or "/v1"


@contextmanager
def writing_batch(path: str | Path, *inputs: Any) -> Iterator[BatchWriter]:
    """Write requests to a file, which appears once it is complete."""
    target = Path(path)
    refuse_overwriting(target, *inputs)
    if target.suffix != ".jsonl":
        raise BadInput("is not the name of a batch file", where=str(path), field="batch_out", fix="end it in .jsonl")
    with _database() as database, atomic(target) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        yield BatchWriter(file, database)


class BatchReader:
    """Knows the replies in batch files by the keys of their requests.

    A reply withheld by a filter is an error and is not stored, since it may succeed another time. `reason` says why the
    last request without a reply has none.
    """

    def __init__(self, files: Sequence[str | Path], database: sqlite3.Connection):
        self._files = [Path(file) for file in files]
        self._database = database
        self._open: dict[int, IO[bytes]] = {}
        self.found = self.missing = self.failed = 0
        self.first_error = self.reason = ""
        database.execute(
            "create table replies (key blob primary key, file integer, place integer, error text) without rowid"
        )
        for number, file in enumerate(self._files):
            self._index(number, file)

    def _index(self, number: int, path: Path) -> None:
        """Note where each reply is; of two replies to one request, one without an error counts, else the later one."""
        if not path.is_file():
            raise BadInput("no such file", where=str(path), field="batch_in")
        insert = """insert into replies values (?, ?, ?, ?) on conflict (key) do update set
                    file = excluded.file, place = excluded.place, error = excluded.error
                    where excluded.error is null or replies.error is not null"""
        rows: list[tuple[bytes, int, int, str | None]] = []
        with path.open("rb") as file:
            place = 0
            for line_number, line in enumerate(file, 1):
                if line.strip():
                    key, error = _key_and_error(line, f"{path}, line {line_number}")
                    rows.append((key, number, place, error))
                place += len(line)
                if len(rows) == _ROWS:
                    self._database.executemany(insert, rows)
                    rows.clear()
            self._database.executemany(insert, rows)

    def take(self, endpoint: Endpoint, can: Capabilities, request: Request, key: bytes) -> Completion | None:
        """The reply to a request, if there is one that can be used."""
        row = self._database.execute("select file, place, error from replies where key = ?", (key,)).fetchone()
        if row is None:
            self.missing += 1
            self.reason = "has no reply"
            return None
        number, place, error = row
        if error is None:
            try:
                reply = completion_of(
                    endpoint, request, endpoint.read_json(self._line(number, place))["response"]["body"]
                )
            except Malformed as problem:
                error = f"is not a valid reply: {problem}"
            else:
                if not (reply.is_withheld or lacks_logprobs(request, reply)):
                    self.found += 1
                    return reply
                error = "withheld by a filter of the server" if reply.is_withheld else NO_LOGPROBS
        self.failed += 1
        self.first_error = self.first_error or error
        self.reason = f"ended with an error: {shorten(error)}"
        return None

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Look replies up a second time in the block, without counting them again."""
        counts = self.found, self.missing, self.failed
        try:
            yield
        finally:
            self.found, self.missing, self.failed = counts

    def _line(self, number: int, place: int) -> bytes:
        if number not in self._open:
            self._open[number] = self._files[number].open("rb")
        file = self._open[number]
        file.seek(place)
        return file.readline()

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()

    @property
    def is_complete(self) -> bool:
        """Whether there was a reply to each request."""
        return not (self.missing or self.failed)

    def refuse_incomplete(self) -> None:
        """Raise if any reply is missing; replies that were found are already stored."""
        named = ", ".join(map(str, self._files))
        if self.is_complete:
            return
        if not self.found and not self.failed:
            fix = "give the same data, model, template and options as with --batch-out (batch_out)"
            raise BadInput(f"no reply in {named} is to one of these requests", field="batch_in", fix=fix)
        parts = [f"{self.missing:,} have none"] if self.missing else []
        parts += [f"{self.failed:,} ended with an error, the first: {shorten(self.first_error)}"] if self.failed else []
        message = f"{named}: of {self.found + self.missing + self.failed:,} requests, {'; '.join(parts)}"
        stored = f"{self.found:,} replies are stored"
        raise ServerFailed(
            f"{message}; {stored}: write the others with --batch-out, ask the server without --batch-in, or leave the "
            "others out with --skip-bad"
        )


@contextmanager
def reading_batch(files: Sequence[str | Path]) -> Iterator[BatchReader]:
    """Open files of replies."""
    with _database() as database:
        reader = BatchReader(files, database)
        try:
            yield reader
        finally:
            reader.close()


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """A database that lasts as long as it is used."""
    with tempfile.TemporaryDirectory(prefix="otherwords-") as folder:
        database = sqlite3.connect(Path(folder) / "keys.sqlite", isolation_level=None)
        try:
            database.executescript("pragma journal_mode = off; pragma synchronous = off; begin")
            yield database
        finally:
            with suppress(sqlite3.Error):
                database.close()


def _key_and_error(line: bytes, where: str) -> tuple[bytes, str | None]:
    """The request that a line replies to, and what went wrong with it, if anything did."""
    from ..storage.tables import parse_json  # needs Polars, which a bare GPU machine may lack

    try:
        reply = parse_json(line.decode())
    except ValueError as error:
        fix = "fetch the file again: it is damaged, or was not written to its end"
        raise BadInput(str(error), where=where, fix=fix) from None
    name = reply.get("custom_id") if isinstance(reply, dict) else None
    if not isinstance(name, str) or len(name) != _DIGITS or set(name) - set("0123456789abcdef"):
        fix = "give the output file of a batch whose requests --batch-out wrote"
        raise BadInput(f"found {shorten(name)}", where=where, field="custom_id", fix=fix)
    return bytes.fromhex(name), _error_of(reply)


def _error_of(reply: dict[str, Any]) -> str | None:
    response, error = reply.get("response"), reply.get("error")
    if (
        isinstance(response, dict)
        and response.get("status_code", 200) == 200
        and isinstance(response.get("body"), dict)
    ):
        return None
    body = response.get("body") if isinstance(response, dict) else None
    given = error or (body.get("error") if isinstance(body, dict) else None) or body or response
    text = given.get("message") if isinstance(given, dict) else given
    status = response.get("status_code") if isinstance(response, dict) else None
    return " ".join(str(part) for part in (status, text) if part) or "no response"
