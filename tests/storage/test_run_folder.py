from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput, Busy
from otherwords.storage.run_folder import RunFolder, key_of

FRAME = pl.DataFrame({"id": ["a", "b"]})


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def test_a_part_is_made_once_for_a_key(folder):
    builds = []

    def build():
        builds.append(1)
        return FRAME

    for _ in range(3):
        path = folder.make("variants", 7, "k1", build)
    assert len(builds) == 1
    assert path == folder.path / "variants" / "part-00007.parquet"
    assert key_of(path) == "k1"
    folder.make("variants", 7, "k2", build)
    assert len(builds) == 2
    assert key_of(path) == "k2"
    assert pl.read_parquet(path).equals(FRAME)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"\0" * 1000])
def test_a_damaged_part_is_made_again(folder, damage):
    path = folder.make("variants", 0, "k", lambda: FRAME)
    path.write_bytes(damage)
    assert key_of(path) == ""
    folder.make("variants", 0, "k", lambda: FRAME)
    assert pl.read_parquet(path).equals(FRAME)


def test_half_a_part_is_made_again(folder):
    path = folder.make("variants", 0, "k", lambda: FRAME)
    path.write_bytes(path.read_bytes()[:-20])
    assert key_of(path) == ""


def test_a_part_of_another_tool_has_no_key(tmp_path):
    FRAME.write_parquet(tmp_path / "x.parquet")
    assert key_of(tmp_path / "x.parquet") == ""
    assert key_of(tmp_path / "gone.parquet") == ""


def test_a_failed_build_leaves_the_old_part(folder):
    path = folder.make("variants", 0, "k1", lambda: FRAME)

    def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        folder.make("variants", 0, "k2", fail)
    assert key_of(path) == "k1"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_parts_are_read_as_one_table_in_order(folder):
    for number, frame in enumerate([pl.DataFrame({"id": ["a"], "x": [1]}), pl.DataFrame({"id": ["b"], "y": ["z"]})]):
        folder.write("problems", 10 - number, "k", frame)
    assert folder.read("problems").to_dicts() == [{"id": "b", "y": "z", "x": None}, {"id": "a", "y": None, "x": 1}]


def test_empty_columns_take_the_kind_of_the_other_parts(folder):
    folder.write("problems", 0, "k", pl.DataFrame({"id": ["a"], "x": pl.Series([None], dtype=pl.Null)}))
    folder.write("problems", 1, "k", pl.DataFrame({"id": ["b"], "x": [True]}))
    assert folder.read("problems")["x"].to_list() == [None, True]


def test_a_stage_that_is_not_there(folder):
    with refuses(BadInput, where=str(folder.path)):
        folder.read("answers")


def test_trim_removes_what_is_beyond(folder):
    for number in range(5):
        folder.write("answers/one-00000001", number, "k", FRAME)
        folder.write("answers/two-00000002", number, "k", FRAME)
    folder.trim("answers/one-00000001", 2)
    assert len(folder.parts("answers/one-00000001")) == 2
    assert len(folder.parts("answers/two-00000002")) == 5
    assert len(folder.parts("answers")) == 7
    folder.trim("nowhere", 0)


def test_names_that_look_like_patterns(tmp_path):
    folder = RunFolder(tmp_path / "run [1] *")
    path = folder.make("problems", 0, "k", lambda: FRAME)
    assert key_of(path) == "k"
    assert folder.read("problems").equals(FRAME)


def test_notes_add_up(folder):
    assert folder.manifest == {}
    folder.note(seed=1, counts={"rows": 2})
    folder.note(seed=2)
    assert folder.manifest == {"seed": 2, "counts": {"rows": 2}}
    assert json.loads((folder.path / "manifest.json").read_text()) == folder.manifest


@pytest.mark.parametrize("content", [b'{"seed": ', b"[1]", b"\xff\xfe", b"", b"[" * 200_000])
def test_a_damaged_manifest_is_named(folder, content):
    folder.note(seed=1)
    (folder.path / "manifest.json").write_bytes(content)
    with refuses(BadInput, where=str(folder.path / "manifest.json")):
        folder.note(seed=2)


HOLD = """
import sys, time
from otherwords.storage.run_folder import RunFolder
with RunFolder(sys.argv[1]).locked():
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from otherwords.errors import Busy
from otherwords.storage.run_folder import RunFolder
try:
    with RunFolder(sys.argv[1]).locked():
        print("held")
except Busy as busy:
    print("busy", busy.exit_code)
"""


def attempt(folder):
    done = subprocess.run([sys.executable, "-c", TRY, str(folder.path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_second_process_is_refused_at_once_until_the_first_is_killed(folder):
    folder.note(otherwords="0")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(folder.path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        start = time.monotonic()
        with refuses(Busy), folder.locked():
            pass
        assert time.monotonic() - start < 1
        assert attempt(folder) == "busy 2"
    finally:
        os.kill(holder.pid, signal.SIGKILL)  # not even a killed process keeps the lock
        holder.wait()
        holder.stdout.close()
    with folder.locked():
        pass


def test_the_lock_is_given_back(folder):
    folder.note(otherwords="0")
    for _ in range(2):
        with folder.locked(), refuses(Busy), RunFolder(folder.path).locked():  # nor twice in one process
            pass
    with pytest.raises(ValueError, match="oh"), folder.locked():
        raise ValueError("oh")
    assert attempt(folder) == "held"
    assert sorted(path.name for path in folder.path.iterdir()) == [".lock", "manifest.json"]


def test_a_lock_that_cannot_be_written_is_not_called_busy(folder):
    (folder.path / ".lock").mkdir(parents=True)
    with pytest.raises(OSError, match=r"\.lock"), folder.locked():
        pass


def test_locking_removes_the_drafts_of_a_killed_process(folder):
    folder.note(otherwords="0")
    (folder.path / "problems").mkdir()
    draft = folder.path / "problems" / ".part-00000.parquet.x.part"
    draft.write_text("half")
    with folder.locked():
        assert not draft.exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "run").write_text("")
    with refuses(BadInput, where=str(tmp_path / "run")), RunFolder(tmp_path / "run").locked():
        pass


def test_a_killed_writer_leaves_the_old_part(folder):
    """SIGKILL while a large part is being written: the old one is there, whole."""
    path = folder.make("problems", 0, "old", lambda: FRAME)
    code = """
import sys
import polars as pl
from otherwords.storage.run_folder import RunFolder
frame = pl.DataFrame({"x": range(3_000_000)})
print("go", flush=True)
RunFolder(sys.argv[1]).write("problems", 0, "new", frame)
print("done", flush=True)
"""
    writer = subprocess.Popen([sys.executable, "-c", code, str(folder.path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "go\n"
    end = time.monotonic() + 5
    while not list(path.parent.glob(".*.part")) and time.monotonic() < end and writer.poll() is None:
        time.sleep(0.0005)
    os.kill(writer.pid, signal.SIGKILL)
    finished = "done" in writer.communicate()[0]
    assert key_of(path) in (["new"] if finished else ["old", "new"])
    assert pl.read_parquet(path).height in (2, 3_000_000)


def test_a_folder_in_which_nothing_came_about_is_removed(folder):
    with pytest.raises(ValueError, match="bad input"), folder.locked():
        raise ValueError("bad input")
    assert not folder.path.exists()


@pytest.mark.parametrize("before", [True, False])
def test_a_folder_that_holds_something_stays(folder, before):
    if before:
        folder.path.mkdir()
    with pytest.raises(ValueError, match="later"), folder.locked():  # noqa: PT012
        if not before:
            folder.note(seed=1)
        raise ValueError("later")
    assert folder.path.exists()


ABOUT = {
    "study": {"seed": 1},
    "task": {"name": "nli", "fields": ("a",)},
    "inputs": [],
    "otherwords": "1.0.0rc1",
    "more": 1,
}


def test_another_study_removes_what_an_earlier_one_concluded(folder):
    folder.begin(**ABOUT)
    folder.note(intake={"key": "k"}, counts={"rows": 2})
    for name in ("scores.json", "report.html"):
        (folder.path / name).write_text("old")
    folder.begin(**{**ABOUT, "more": 2})
    assert (folder.path / "scores.json").exists()
    assert folder.manifest["counts"] == {"rows": 2}
    folder.begin(**{**ABOUT, "study": {"seed": 2}})
    assert not (folder.path / "scores.json").exists()
    assert not (folder.path / "report.html").exists()
    assert folder.manifest["intake"] == {"key": "k"}
    assert "counts" not in folder.manifest


def test_a_part_whose_key_fits_and_whose_data_does_not_is_named(tmp_path):
    folder = RunFolder(tmp_path / "run")
    frame = pl.DataFrame({"id": [f"problem {number}" for number in range(500)]})
    folder.write("variants", 0, "key", frame)
    path = folder.part("variants", 0)
    content = path.read_bytes()
    path.write_bytes(b"PAR1" + b"\x07" * 200 + content[204:])
    assert key_of(path) == "key"
    with refuses(BadInput, where=str(path)), folder.naming_damage():
        pl.scan_parquet(path, glob=False).collect()


def test_a_manifest_nested_too_deeply_is_damaged(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    (folder.path / "manifest.json").write_text("[" * 100_000)
    with refuses(BadInput, where=str(folder.path / "manifest.json")):
        _ = folder.manifest


def test_a_manifest_that_says_the_same_is_not_written_again(tmp_path):
    folder = RunFolder(tmp_path)
    folder.note(task=("a", "b"), seed=1)
    before = (tmp_path / "manifest.json").stat()
    folder.note(seed=1, task=["a", "b"])
    assert (tmp_path / "manifest.json").stat().st_ino == before.st_ino
    folder.note(seed=2)
    assert folder.manifest == {"task": ["a", "b"], "seed": 2}


def test_another_engine_is_no_other_study(tmp_path):
    folder = RunFolder(tmp_path)
    about = {"study": {"name": "s", "engine": "in-process"}, "task": {}, "inputs": [], "otherwords": "1"}
    folder.begin(**about)
    (tmp_path / "scores.json").write_text("[]")
    folder.begin(**{**about, "study": {"name": "s", "engine": "processes"}})
    assert (tmp_path / "scores.json").exists()
    folder.begin(**{**about, "study": {"name": "t", "engine": "processes"}})
    assert not (tmp_path / "scores.json").exists()
