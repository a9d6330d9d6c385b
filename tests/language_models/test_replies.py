"""Stored replies: what goes in comes out, and nobody else's file is touched."""

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.errors import BadInput
from otherwords.language_models.completion import Completion, Usage
from otherwords.language_models.replies import ReplyStore, packed, replies_path, unpacked

TEXTS = st.text(st.characters(exclude_categories=()), max_size=400)
COMPLETIONS = st.builds(
    Completion,
    TEXTS,
    st.sampled_from(["stop", "length"]),
    st.lists(st.dictionaries(TEXTS, st.floats(-100, 0), max_size=4), max_size=3).map(tuple),
    st.none() | st.floats(-100, 0),
    st.tuples(*[st.integers(0, 10**6)] * 4).map(lambda one: Usage(*one)),
    st.lists(TEXTS, max_size=2).map(tuple),
)


@given(COMPLETIONS)
def test_a_reply_comes_back_as_it_was(reply: Completion) -> None:
    assert unpacked(packed(reply)) == reply


def key(number: int) -> bytes:
    return number.to_bytes(20, "big")


def test_many_replies_are_found_and_older_ones_are_not(tmp_path: Path) -> None:
    replies = {key(number): Completion(f"reply {number}") for number in range(1200)}
    with ReplyStore(tmp_path / "r.sqlite") as store:
        store.store("m@u", replies)
    between = time.time()
    with ReplyStore(tmp_path / "r.sqlite") as store:
        store.store("m@u", {key(0): Completion("new")})
        found = dict(store.find([key(number) for number in range(2000)]))
        assert found == {**replies, key(0): Completion("new")}
        assert dict(store.find(list(replies), between)) == {key(0): Completion("new")}
        assert [(one["identity"], one["replies"]) for one in store.info()] == [("m@u", 1200)]


def test_replies_of_one_model_are_deleted(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "r.sqlite") as store:
        store.store("one@u", {key(1): Completion("x")})
        store.store("two@u", {key(2): Completion("y")})
        assert store.prune(model="api.v1()#one@") == 1
        assert [one["identity"] for one in store.info()] == ["two@u"]
        assert store.prune(older_than_days=1) == 0
        assert store.prune() == 1


def test_somebody_elses_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answers.replies.sqlite"
    database = sqlite3.connect(path)
    database.execute("create table replies (mine text)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(BadInput, match="not a file of replies"):
        ReplyStore(path)
    assert path.read_bytes() == before


def test_a_store_that_is_opened_twice_keeps_its_locks(tmp_path: Path) -> None:
    """As by two models on one server; without them another process that ends removes the log."""
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        store.store("m@u", {key(1): Completion("x")})
        ReplyStore(path)._db.close()
        code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('select count(*) from replies')"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        assert Path(f"{path}-wal").exists()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        store.store("m@u", {key(number): Completion("text " * 30) for number in range(500)})
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"r\.sqlite"), ReplyStore(path) as store:
        list(store.find([key(1)]))


def test_replies_lie_beside_the_answers() -> None:
    assert replies_path(Path("a/.answers.sqlite")) == Path("a/.answers.replies.sqlite")
    assert replies_path(Path("a/mine")) == Path("a/mine.replies.sqlite")


def test_a_damaged_reply_is_asked_for_again(tmp_path: Path) -> None:
    path, damages = tmp_path / "r.sqlite", [b"", b"{}", b"{bad", b"xx", b'{"text": 1, "finish": 2}', b"[]"]
    with ReplyStore(path) as store:
        store.store("m", {key(number): Completion("yes") for number in range(len(damages) + 1)})
        with sqlite3.connect(path) as database:
            for number, damage in enumerate(damages):
                database.execute("update replies set reply = ? where key = ?", (damage, key(number)))
        database.close()
        assert dict(store.find([key(number) for number in range(7)])) == {key(6): Completion("yes")}
