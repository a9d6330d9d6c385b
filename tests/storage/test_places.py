"""Places that a driver shares with its workers: a folder, or whatever fsspec reaches."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.storage.places import Place

FRAME = pl.DataFrame({"text": ["a", "ü\u2028", ""], "\0rows": [1, 2, 3]})


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A real server: FTP, which fsspec speaks without further packages."""
    pytest.importorskip("fsspec")
    authorizers = pytest.importorskip("pyftpdlib.authorizers")
    handlers, servers = (pytest.importorskip(f"pyftpdlib.{one}") for one in ("handlers", "servers"))

    class Handler(handlers.FTPHandler):
        authorizer = authorizers.DummyAuthorizer()
        log_prefix = ""

    monkeypatch.setattr(logging.getLogger("pyftpdlib"), "level", logging.WARNING)  # else it prints each session
    (tmp_path / "served").mkdir()
    Handler.authorizer.add_user("me", "secret", str(tmp_path / "served"), perm="elradfmwMT")
    found = servers.FTPServer(("127.0.0.1", 0), Handler)
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            found.serve_forever(timeout=0.05, blocking=False, handle_exit=False)
        found.close_all()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"ftp://me:secret@127.0.0.1:{found.address[1]}/shards"
    stop.set()
    thread.join(5)


@pytest.fixture(params=["folder", "file", "ftp"])
def where(request, tmp_path):
    if request.param == "ftp":
        return request.getfixturevalue("server")
    return str(tmp_path / "new" / "place") if request.param == "folder" else f"file://{tmp_path}/new/place"


def test_what_is_written_is_read_by_another(where):
    place = Place(where)
    assert not place.has("one")
    assert place.read("one") is None
    place.remove("one")  # is no error
    place.write("one", FRAME)
    place.write("one", FRAME)  # again
    other = Place(where)
    assert other.has("one")
    assert other.read("one").equals(FRAME)
    other.store("two", b"no table")
    assert place.read("two") is None
    assert place.fetch("two") == b"no table"
    other.remove("one")
    assert not place.has("one")
    place.clear()
    assert place.fetch("two") is None
    place.clear()  # is no error


def test_several_threads_use_a_place_at_a_time(where):
    place = Place(where)

    def use(number):
        for turn in range(10):
            name = f"{number}-{turn}"
            place.store(name, name.encode())
            assert place.fetch(name) == name.encode()
            place.remove(name)
            assert place.fetch(name) is None
        return number

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(use, range(4))) == list(range(4))


def test_passwords_are_not_shown(server):
    assert Place(server).name.startswith("ftp://127.0.0.1:")
    with pytest.raises(BadInput) as caught:
        Place(server.replace(":secret@", ":wrong-one@")).store("one", b"")
    assert "wrong-one" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_passwords_in_what_a_store_says_are_not_shown(server, monkeypatch):
    place = Place(server)

    def fail(path):
        raise OSError(f"{server}/{path}: timed out; user secret")

    monkeypatch.setattr(place._files, "cat_file", fail)
    with pytest.raises(BadInput) as caught:
        place.fetch("one")
    assert "timed out" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["unheard-of://bucket/folder", "ftp://127.0.0.1:1/folder", "/proc/nothing/there"])
def test_a_place_that_cannot_be_reached_is_refused(url):
    pytest.importorskip("fsspec")
    with refuses(BadInput, field="shared"):
        Place(url).store("one", b"")
