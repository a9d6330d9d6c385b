from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.storage import files
from otherwords.storage.files import (
    Scratch,
    atomic,
    digest,
    fingerprint,
    refuse_overwriting,
    remove_drafts,
    seed_for,
    write_json,
    write_text,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "cache")


def test_a_good_end_puts_the_file_in_place(tmp_path):
    path = tmp_path / "new" / "folder" / "out.txt"
    with atomic(path) as draft:
        draft.write_text("half")
        assert not path.exists()
        assert draft.parent == path.parent
        draft.write_text("whole")
    assert path.read_text() == "whole"
    assert names(path.parent) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("before", [None, "what was there"])
def test_a_bad_end_leaves_everything_as_it_was(tmp_path, error, before):
    path = tmp_path / "out.txt"
    if before:
        path.write_text(before)
    with pytest.raises(error), atomic(path) as draft:  # noqa: PT012
        draft.write_text("half")
        raise error
    assert names(tmp_path) == (["out.txt"] if before else [])
    assert not before or path.read_text() == before


def test_a_file_that_cannot_be_put_in_place_leaves_nothing(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="out"), atomic(tmp_path / "out") as draft:
        draft.write_text("whole")
    assert names(tmp_path) == ["out"]


def test_text_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "out.txt", "good \ud800 bad")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "out.json", {"value": float("nan")})
    assert names(tmp_path) == []


def test_a_full_disk_leaves_nothing_and_says_where(tmp_path):
    """A limit on the size of files stands in for the full disk: the kernel refuses the write all the same."""
    code = f"""
import resource, signal
from pathlib import Path
import polars as pl
from otherwords.storage.files import atomic, write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
path = Path({str(tmp_path)!r}) / "out"
for write in (lambda: write_text(path, "x" * 100_000), lambda: parquet()):
    def parquet():
        with atomic(path) as draft:
            pl.DataFrame({{"x": range(100_000)}}).write_parquet(draft, compression="uncompressed")
    try:
        write()
    except OSError as error:
        print(error.errno, error.filename)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"27 {tmp_path / 'out'}\n" * 2
    assert names(tmp_path) == []


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "out.txt", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o640


def test_text_is_utf8_with_plain_line_ends(tmp_path):
    write_text(tmp_path / "out.txt", "Zoë\n木\n")
    assert (tmp_path / "out.txt").read_bytes() == "Zoë\n木\n".encode()


@settings(max_examples=at_most(20))
@given(JSON)
def test_json_comes_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "some.json"
    if "\\ud" in json.dumps(value) and not _encodable(value):
        return
    try:
        write_json(path, value)
    except ValueError:  # infinity is no JSON
        assert "Infinity" in json.dumps(value)
        return
    assert json.loads(path.read_text(encoding="utf-8")) == value
    assert path.read_text(encoding="utf-8").endswith("\n")


def _encodable(value) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def test_only_the_drafts_of_a_run_are_removed(tmp_path):
    drafts = (".scores.json.abc.part", "answers/m-01234567/.part-00000.parquet.1.part", "tables/x/.table.tsv.9_.part")
    others = (".film.mkv.part", "answers/.x.part", "mine/.part-00000.parquet.1.part", "out.part", ".hidden")
    for name in (*drafts, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    remove_drafts(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(others)


class TestOverwriting:
    """Whatever the spelling, what is read is not written."""

    @pytest.fixture
    def file(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "below").mkdir()
        (tmp_path / "data.jsonl").write_text("mine")
        return tmp_path / "data.jsonl"

    @pytest.mark.parametrize("spelling", ["data.jsonl", "./data.jsonl", "below/../data.jsonl"])
    def test_by_another_spelling(self, file, spelling):
        with refuses(BadInput, where=str(Path(spelling))):
            refuse_overwriting(spelling, file)

    def test_by_a_hard_link(self, file):
        os.link(file, "other.jsonl")
        with refuses(BadInput, where="other.jsonl"):
            refuse_overwriting("other.jsonl", "data.jsonl")

    def test_read_through_a_link(self, file):
        Path("link.jsonl").symlink_to(file)
        with refuses(BadInput, where="data.jsonl"):
            refuse_overwriting("data.jsonl", "link.jsonl")

    @pytest.mark.parametrize("target", ["data.jsonl", "gone"])
    def test_a_link_is_never_written_to(self, file, target):
        Path("link.jsonl").symlink_to(target)
        with refuses(BadInput, where="link.jsonl"):
            refuse_overwriting("link.jsonl")

    def test_in_a_folder_that_is_read(self, file):
        with refuses(BadInput, where="below/new/out.parquet"):
            refuse_overwriting("below/new/out.parquet", "below")
        refuse_overwriting("out.parquet", "below")

    def test_of_a_run_folder_only_what_the_run_made(self, file):
        Path("run/answers").mkdir(parents=True)
        Path("run/manifest.json").write_text('{"otherwords": "0"}')
        refuse_overwriting("run/mine.csv", "run")
        for name in ("run/answers/mine.parquet", "run/manifest.json"):
            with refuses(BadInput, where=name):
                refuse_overwriting(name, "run")

    def test_what_is_no_file_is_no_input(self, file):
        refuse_overwriting("data.jsonl", "", "-", "x" * 5000, "a\0b", None, 3, "snli:gone")
        refuse_overwriting(None, "data.jsonl")
        refuse_overwriting("-", "-")


def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["timeout", "20", "cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    write_text(pipe, "whole")
    assert reader.communicate()[0] == "whole"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_device_says_so():
    """Opened first: its folder is then one in which nothing can be replaced, whatever the code under test does."""
    with Path("/dev/full").open("wb") as full:
        path = Path(f"/proc/self/fd/{full.fileno()}")
        with pytest.raises(OSError, match="No space") as caught:
            write_text(path, "x" * 100_000)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize(("free", "kind"), [(0, OSError), (1 << 30, pl.exceptions.ComputeError)])
def test_a_full_disk_that_polars_names_otherwise(tmp_path, monkeypatch, free, kind):
    """Where only the end of a Parquet file finds no space, Polars gives no number (seen on a full tmpfs)."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    found = pl.exceptions.ComputeError("parquet: File out of specification: Invalid thrift: transport error")
    with pytest.raises(kind, match="No space" if kind is OSError else "thrift"), atomic(tmp_path / "a.parquet"):
        raise found
    assert list(tmp_path.iterdir()) == []


def test_fingerprint_of_a_file_is_sha256(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert fingerprint(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_fingerprint_of_a_folder_knows_names_and_contents_and_not_its_place(tmp_path):
    def folder(name, **files):
        for file, text in files.items():
            path = tmp_path / name / file.replace("_", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return fingerprint(tmp_path / name)

    first = folder("one", a="x", b_c="y")
    assert folder("two", b_c="y", a="x") == first
    others = [
        folder("three", a="y", b_c="x"),
        folder("four", a="x", b_d="y"),
        folder("five", a="x"),
        folder("six", a="xy"),
    ]
    assert len({first, *others}) == 5


def test_digest_is_the_same_on_every_machine():
    # Recorded once: caches and run folders made before a change here would all be lost.
    assert digest("a", 1, ["b", None], {"y": 1.5, "x": "木"}) == digest("a", 1, ("b", None), {"x": "木", "y": 1.5})
    assert digest("a", 1)[:16] == "2657442bb4a48d62"  # printf '["a", 1]' | sha256sum
    assert seed_for(1, "x") == int(digest(1, "x")[:16], 16) >> 1
    assert seed_for(1, "x") == 1286838129737143908


@settings(max_examples=at_most(50))
@given(st.lists(JSON, max_size=3), st.lists(JSON, max_size=3))
def test_digest_distinguishes_values(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(*one) == digest(*other)) is same
    assert 0 <= seed_for(*one) < 2**63


def test_digest_takes_half_a_character():
    assert digest("\ud800") != digest("\ud801")


def test_json_is_written_for_people(tmp_path):
    write_json(tmp_path / "x.json", {"b": "木", "a": [1]})
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n  "b": "木",\n  "a": [\n    1\n  ]\n}\n'


def test_a_scratch_database_is_closed_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scratch = Scratch()
        scratch.execute("create table t (x text)")
        scratch.executemany("insert into t values (?)", ((str(i) * 100,) for i in range(1_000)))
        assert scratch.execute("select count(*) from t").fetchone() == (1_000,)
        del scratch
        gc.collect()


def test_a_database_that_another_process_keeps_locked_is_waited_for_once(tmp_path, monkeypatch):
    """SQLite waits five seconds by itself."""
    tries = []

    def read_only(path):
        tries.append(path)
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.01)

    path = tmp_path / "answers.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("pragma application_id = 7")
        database.execute("begin exclusive")
        monkeypatch.setattr(files, "read_only", read_only)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            files.sqlite_mark(path)
    assert len(tries) == 1
    assert files.sqlite_mark(path) == 7
