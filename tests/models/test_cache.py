from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.models.cache import Cache, default_path, key
from otherwords.models.predictions import Cached

A, B = key(b"model", ["a"]), key(b"model", ["b"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some" / "answers.sqlite"


def test_answers_come_back_to_the_bit(path):
    answers = {A: Cached(2, (0.1, 1 / 3, 1e-308)), B: Cached(0, None)}
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), answers)
        assert cache.get([A, B, key(b"other", ["a"])]) == answers
        assert cache.get([]) == {}
    with Cache(path) as again:
        assert again.get([B, A]) == answers


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.tuples(*[st.floats(allow_nan=False)] * 2)), max_size=5))
def test_any_answer_comes_back(rows):
    answers = {key(b"m", [str(i)]): Cached(pred, p) for i, (pred, p) in enumerate(rows)}
    with Cache() as cache:
        cache.put(cache.model("m", "t"), answers)
        assert repr(cache.get(list(answers))) == repr({one: answers[one] for one in cache.get(list(answers))})
        assert len(cache.get(list(answers))) == len(answers)


@pytest.mark.parametrize("cut", [None, False, True])
def test_whether_a_text_was_cut_comes_back(cut):
    with Cache() as cache:
        cache.put(1, {A: Cached(1, None, cut)})
        assert cache.get([A])[A].cut is cut


#: What version 0.1 made.
OLD = """
create table models (id integer primary key, key text unique, signature text, task text);
create table answers (key blob primary key, model integer, pred integer, p blob, at integer) without rowid;
insert into models values (1, 'k', 'm', 't');
"""


def test_a_file_of_an_earlier_version_goes_on_working(path):
    path.parent.mkdir()
    old = sqlite3.connect(path)
    old.executescript(OLD)
    old.execute("insert into answers values (?, 1, 2, null, 1700000000)", (A,))
    old.commit()
    old.close()
    for _ in "ab":  # changed once, then as it is
        with Cache(path) as cache:
            assert cache.get([A]) == {A: Cached(2, None, None)}
            cache.put(1, {B: Cached(0, (0.5, 0.5), True)})
            assert cache.get([B])[B].cut is True
            assert cache.info()[0]["answers"] == 2


def test_more_keys_than_one_question_may_hold():
    keys = [key(b"m", [str(number)]) for number in range(2_000)]
    with Cache() as cache:
        cache.put(1, {one: Cached(1, None) for one in keys[::2]})
        assert set(cache.get(keys)) == set(keys[::2])


def test_a_later_answer_replaces_an_earlier_one():
    with Cache() as cache:
        cache.put(1, {A: Cached(0, None)})
        cache.put(1, {A: Cached(1, (0.2, 0.8))})
        assert cache.get([A]) == {A: Cached(1, (0.2, 0.8))}


def test_models_are_numbered_by_signature_and_task(path):
    with Cache(path) as cache:
        numbers = [cache.model(signature, task) for signature in ("m1", "m2") for task in ("t1", "t2")]
        assert len(set(numbers)) == 4
        assert cache.model("m1", "t1") == numbers[0]
    with Cache(path) as again:
        assert again.model("m2", "t2") == numbers[3]


@settings(max_examples=at_most(40))
@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_distinguish_texts(one, other):
    assert (key(b"m", one) == key(b"m", other)) is (one == other)


def test_keys_depend_on_where_a_text_ends():
    assert len({key(b"m", texts) for texts in (["ab", "c"], ["a", "bc"], ["abc", ""], ["", "abc"], ["abc"])}) == 5
    assert key(b"m", ["a"]) != key(b"n", ["a"])
    assert key(b"m", ["\ud800"]) != key(b"m", ["\ud801"])  # half characters are texts too


def test_info_and_prune(path):
    with Cache(path) as cache:
        old, new = cache.model("old.v1(x=1)", "nli"), cache.model("new.v1(x_1)", "rte")
        cache.put(old, {A: Cached(0, None)})
        cache.put(new, {key(b"m", [str(n)]): Cached(0, None) for n in range(3)})
        assert [(row["signature"], row["task"], row["answers"]) for row in cache.info()] == [
            ("new.v1(x_1)", "rte", 3),
            ("old.v1(x=1)", "nli", 1),
        ]
        now = time.time()
        assert all(now - 60 < row["oldest"] <= row["newest"] <= now + 1 for row in cache.info())
        assert cache.prune(model="old.v1", older_than_days=1) == 0
        assert cache.prune(model="x%1") == 0  # no patterns
        assert cache.prune(model="old.v1") == 1
        assert [row["signature"] for row in cache.info()] == ["new.v1(x_1)"]
        assert cache.get([A]) == {}
        assert cache.prune(older_than_days=-1) == 3
        assert cache.info() == []


def test_prune_without_conditions_takes_all():
    with Cache() as cache:
        cache.put(cache.model("m", "t"), {A: Cached(0, None)})
        assert cache.prune() == 1


def test_a_temporary_cache_is_removed():
    with Cache() as cache:
        place = cache.path
        assert place.exists()
    assert not place.parent.exists()


def test_where_answers_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("OTHERWORDS_CACHE", str(tmp_path / "mine.sqlite"))
    assert default_path() == tmp_path / "mine.sqlite"
    monkeypatch.delenv("OTHERWORDS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_path() == tmp_path / "otherwords" / "answers.sqlite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path().is_relative_to(tmp_path)
    assert default_path().parts[-2:] == ("otherwords", "answers.sqlite")


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be looked at " * 5, b"SQLite format 3\0" + b"x" * 200]
)
def test_a_file_that_is_no_cache(tmp_path, content):
    (tmp_path / "notes").write_bytes(content)
    with refuses(BadInput):
        Cache(tmp_path / "notes")
    assert (tmp_path / "notes").read_bytes() == content


def foreign(path: Path, *statements: str) -> bytes:
    """Make a database of somebody else; its content."""
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "statements",
    [
        ["create table bookmarks (url text)"],
        ["create table models (id integer)", "create table answers (id integer)", "create table more (id integer)"],
        ["create table models (id integer)", "create table answers (id integer)"],
        ["create table models (name text)", "create table answers (key, model, pred, p, at, cut)"],
        ["pragma application_id = 252006674", "create table notes (text)"],
        ["pragma journal_mode = wal", "create table bookmarks (url text)"],
        ["pragma user_version = 7"],
    ],
)
def test_a_database_of_somebody_else_is_left_as_it_was(tmp_path, statements):
    path = tmp_path / "places.sqlite"
    content = foreign(path, *statements)
    with refuses(BadInput, where=str(path), fix="give another file with --cache, or use --no-cache"):
        Cache(path)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["places.sqlite"]


def test_a_new_file_is_marked_as_ours(path):
    Cache(path).close()
    assert path.read_bytes()[68:72] == b"owac"
    Cache(path).close()


def test_an_empty_file_becomes_a_cache(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), {A: Cached(0, None)})


def test_a_damaged_file_is_named_with_what_to_do(path):
    with Cache(path) as cache:
        number = cache.model("m", "t")
        cache.put(number, {key(b"m", [str(n)]): Cached(0, (0.5, 0.5)) for n in range(2_000)})
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(bytes(content))
    fix = "delete it (answers are asked again), or give another file with --cache, or use --no-cache"
    with refuses(BadInput, where=str(path), fix=fix), Cache(path) as cache:
        cache.get([key(b"m", [str(n)]) for n in range(2_000)])
    with refuses(BadInput, where=str(path)), Cache(path) as cache:
        cache.put(cache.model("m", "t"), {key(b"m", [f"new {n}"]): Cached(0, None) for n in range(500)})


def test_a_locked_file_is_named_with_what_to_do(path, monkeypatch):
    Cache(path).close()
    monkeypatch.setattr("otherwords.models.cache._PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    fix = "wait for it to end, or give another file with --cache, or use --no-cache"
    with refuses(BadInput, where=str(path), fix=fix):
        Cache(path)
    other.execute("rollback")
    other.close()
    Cache(path).close()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_named_with_what_to_do(path):
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), {A: Cached(0, None)})
    path.chmod(0o444)
    with refuses(BadInput, where=str(path)):
        Cache(path)
    with Cache(path, writing=False) as cache:
        assert cache.info()[0]["answers"] == 1


def test_a_read_only_database_is_named_with_what_to_do(path):
    """As an administrator sees it, who may write to every file: SQLite itself refuses."""
    with Cache(path) as cache:
        cache._db.execute("pragma query_only = true")
        fix = "make file and folder writable, or give another file with --cache, or use --no-cache"
        with refuses(BadInput, where=str(path), fix=fix):
            cache.put(1, {A: Cached(0, None)})


@pytest.mark.parametrize("place", ["file/answers.sqlite", "file/deeper/answers.sqlite"])
def test_an_unreachable_place_is_named_with_what_to_do(tmp_path, place):
    (tmp_path / "file").touch()
    with refuses(BadInput, where=str(tmp_path / place), fix="give another file with --cache, or use --no-cache"):
        Cache(tmp_path / place)


def test_a_folder_is_no_cache(tmp_path):
    with refuses(BadInput):
        Cache(tmp_path)


def test_it_is_a_database_that_others_can_read_meanwhile(path):
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), {A: Cached(0, None)})
        other = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert other.execute("pragma journal_mode").fetchone() == ("wal",)
        assert other.execute("select count(*) from answers").fetchone() == (1,)
        other.close()


WRITE = """
import sys
import threading
from otherwords.models.cache import Cache, key
from otherwords.models.predictions import Cached
with Cache(sys.argv[1]) as cache:
    number = cache.model("m", "t")
    print("ready", flush=True)
    batch = 0
    while batch < int(sys.argv[3]):
        cache.put(number, {key(sys.argv[2].encode(), [f"{batch} {i}"]): Cached(1, (0.5, 0.5)) for i in range(50)})
        print(batch, flush=True)
        batch += 1
"""


def writer(path: Path, name: str, batches: int) -> subprocess.Popen:
    command = [sys.executable, "-c", WRITE, str(path), name, str(batches)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_may_write_at_once(path):
    writers = [writer(path, name, 40) for name in ("one", "two")]
    assert [one.communicate()[0].splitlines()[-1] for one in writers] == ["39", "39"]
    with Cache(path) as cache:
        assert [row["answers"] for row in cache.info()] == [2 * 40 * 50]


def test_a_cache_that_is_opened_twice_keeps_its_locks(path):
    """As in a run on this machine; without them the other process removes the log, and what is stored next is lost."""
    with Cache(path):
        Cache(path).close()
        other = writer(path, "other", 1)
        assert other.communicate()[0]
        assert Path(f"{path}-wal").exists()


def test_a_killed_process_loses_at_most_the_batch_in_flight(path):
    process = writer(path, "one", 1_000_000)
    lines = [process.stdout.readline() for _ in range(25)]
    os.kill(process.pid, signal.SIGKILL)
    lines += process.communicate()[0].splitlines()
    finished = int([line for line in lines if line.strip().isdigit()][-1]) + 1
    with Cache(path) as cache:
        kept = cache.info()[0]["answers"]
        assert kept in (finished * 50, (finished + 1) * 50)
        cache.put(cache.model("m", "t"), {A: Cached(0, None)})


def test_a_full_disk_is_reported_and_keeps_what_was_written(path):
    """A limit on the size of files stands in for the full disk."""
    code = """
import resource, signal, sys
from otherwords.models.cache import Cache, key
from otherwords.models.predictions import Cached
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Cache(sys.argv[1]) as cache:
    number = cache.model("m", "t")
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    for batch in range(1_000):
        try:
            cache.put(number, {key(b"m", [f"{batch} {i}"]): Cached(1, (0.5, 0.5)) for i in range(500)})
        except OSError as error:
            print(batch, error.filename == sys.argv[1], error.strerror)
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(cache.info()[0]["answers"] // 500)
    cache.put(number, {key(b"m", ["more"]): Cached(1, None)})
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    failed, named, words = first.split(" ", 2)
    assert (named, second) == ("True", failed)
    assert words.startswith("the answer cache cannot be written: ")
    assert int(failed) > 0


@pytest.mark.parametrize("how", ["its log", "the file, and another put there", "the folder"])
def test_what_is_deleted_while_it_is_in_use_is_said_so(path, how):
    """SQLite's own words are "disk I/O error" and "unable to open database file"."""
    answers = {key(b"m", [str(i)]): Cached(1, (0.5, 0.5)) for i in range(2_000)}
    cache = Cache(path)
    cache.put(cache.model("m", "t"), answers)
    if how == "the folder":
        shutil.rmtree(path.parent)
    else:
        for name in ("-wal", "-shm") if how == "its log" else ("",):
            Path(f"{path}{name}").unlink()
        if how != "its log":
            other = Cache(path)
            other.put(other.model("m", "t"), answers)
    with refuses(BadInput):
        for _ in range(3):
            cache.put(1, {key(b"m", [f"more {i}"]): Cached(1, (0.5, 0.5)) for i in range(2_000)})
            cache.find(sorted(answers))
    cache.close()


def test_a_batch_is_stored_whole_or_not_at_all(path):
    with Cache(path) as cache:
        refuse = "create trigger t before insert on answers when new.pred = 7 begin select raise(abort, 'no'); end"
        cache._db.execute(refuse)
        with refuses(BadInput):
            cache.put(1, {A: Cached(0, None), B: Cached(7, None)})
        assert cache.get([A, B]) == {}
        cache.put(1, {A: Cached(0, None)})
        assert list(cache.get([A])) == [A]


def test_old_answers_are_pruned(path):
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), {A: Cached(0, None), B: Cached(1, None)})
        other = sqlite3.connect(path)
        other.execute("update answers set at = at - 2 * 24 * 60 * 60 where key = ?", (A,))
        other.commit()
        other.close()
        assert cache.prune(older_than_days=2.01) == 0
        assert cache.prune(older_than_days=1.99) == 1
        assert list(cache.get([A, B])) == [B]


def test_a_new_file_may_be_opened_by_several_at_once(tmp_path):
    """SQLite does not wait where two switch to WAL at one moment."""
    failed = []

    def open_it(path, barrier):
        barrier.wait()
        try:
            Cache(path).close()
        except BadInput as error:
            failed.append(str(error))

    for number in range(40):
        barrier = threading.Barrier(4)
        some = [threading.Thread(target=open_it, args=(tmp_path / f"{number}.sqlite", barrier)) for _ in range(4)]
        for one in some:
            one.start()
        for one in some:
            one.join()
    assert failed == []
