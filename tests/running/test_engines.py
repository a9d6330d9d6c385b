"""Engines: whoever does the work, and in which order, results are the same bytes, and users see the same."""

from __future__ import annotations

import json
import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jobs
import pytest
from engine_runs import ROWS, assert_both_see_the_same, seen, write
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, MissingExtra, WorkerLost
from otherwords.problem import TASKS
from otherwords.progress import Progress, current, reporting_to
from otherwords.registry import is_local
from otherwords.running import Engine, InProcess, Processes, Study, messages, stages
from otherwords.running.engines import closing, make_engine


class Backwards(Engine):
    """The last job first, each with nothing made before: what travels to another process does so here, too."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any], give_up: Any = None) -> Iterator[Any]:
        results = []
        for job in reversed(list(jobs)):
            stages.forget()
            work, copy = pickle.loads(pickle.dumps((function, job)))
            results.append(pickle.loads(pickle.dumps(work(copy))))
            self.done.append((function.__name__, job.number))
        return reversed(results)


def study(out, engine, shard=40, model="bag_of_words"):
    return ow.run(
        data=["everyday"],
        vary=["recorded", "contractions"],
        check=["surface", "overlap"],
        models=["scripted", model],
        canary=False,
        cache=str(out.parent / f"{out.name}.sqlite"),
        shard=shard,
        out=out,
        engine=engine,
        replicates=100,
    )


def assert_same_bytes(here, there):
    assert len(list((here.folder / "problems").iterdir())) > 1
    assert (here.folder / "scores.json").read_bytes() == (there.folder / "scores.json").read_bytes()
    for part in sorted(here.folder.rglob("*.parquet")):
        assert part.read_bytes() == (there.folder / part.relative_to(here.folder)).read_bytes(), part.name


def test_any_order_and_copies_of_jobs_give_the_same_bytes(tmp_path):
    engine, fast = Backwards(), (70, "other=scripted(seed=2)")
    assert_same_bytes(study(tmp_path / "here", InProcess(), *fast), study(tmp_path / "there", engine, *fast))
    assert [number for name, number in engine.done if name == "vary_shard"] == [1, 0]
    assert {name for name, _ in engine.done} == {"vary_shard", "check_shard", "ask_texts"}


def test_in_process_is_lazy():
    done = []
    results = InProcess().map(done.append, [1, 2, 3])
    next(results)
    assert done == [1]


# Worker processes


@pytest.fixture(scope="module")
def pool():
    """Two workers for all tests that do not harm them; `map` starts others where a test did."""
    engine = Processes(2)
    yield engine
    engine.close()


class Counted(Progress):
    def __init__(self):
        self.count = 0

    def advance(self, count):
        self.count += count


def test_results_come_in_the_order_of_the_jobs_and_progress_is_reported(pool):
    with reporting_to(Counted()):
        assert list(pool.map(jobs.double, range(7))) == [2 * one for one in range(7)]
        assert current().count == sum(range(7))


def test_jobs_are_taken_only_when_a_worker_is_free(pool):
    taken = []
    results = pool.map(jobs.double, (taken.append(one) or one for one in range(200)))
    next(results)
    assert len(taken) < 40
    assert list(pool.map(jobs.double, range(3))) == [0, 2, 4], "although the other map was not finished"
    with pytest.raises(RuntimeError, match="another map"):
        list(results)


def test_a_single_job_is_done_here():
    assert list(Processes(2).map(lambda job: (job, os.getpid()), [1])) == [(1, os.getpid())]


def test_warnings_come_once_in_the_order_of_the_jobs(pool):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(pool.map(jobs.slow_first, range(6))) == list(range(6))
    assert [str(one.message) for one in caught] == ["number 0", "number 1", "number 2"]
    assert {one.filename for one in caught} == {__file__}


def test_the_error_of_the_first_job_that_fails_is_raised_as_it_was(pool):
    with refuses(BadInput, where="a.jsonl, line 3", field="label", fix="give one") as caught:
        list(pool.map(jobs.fail, range(5)))
    assert "jobs.py" in str(caught.value.__cause__)  # where it was raised, for --debug


class Odd(Exception):
    """An error that cannot travel as it is."""

    def __init__(self, one, two):
        super().__init__(one)
        self.lock = threading.Lock()


def test_errors_of_every_class_travel():
    for error in (MissingExtra("a model", "hf"), OSError(28, "No space left", "part"), BadInput("found 1", fix="2")):
        copy = messages.unpacked(messages.packed(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
        assert getattr(copy, "errno", None) == getattr(error, "errno", None)
        assert getattr(copy, "filename", None) == getattr(error, "filename", None)
    assert str(messages.unpacked(messages.packed(Odd("here", 2)))) == "Odd: here"


@pytest.mark.slow
def test_workers_share_the_cores_and_print_through_the_driver(pool, capfd, tmp_path, monkeypatch):
    pool.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    found = list(pool.map(jobs.about, range(3)))
    pool.close()
    assert all(pid != os.getpid() for pid, *_ in found)
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert found[0][1:] == (["1", str(share) if share == 1 else found[0][1][1], str(share)], False, "", str(tmp_path))
    out, err = capfd.readouterr()
    assert out == ""
    assert {"printed 0", "error 0", "printed 2", "raw"} <= set(err.splitlines())


def test_a_killed_worker_is_reported_and_the_others_end():
    engine = Processes(2)
    with pytest.raises(
        WorkerLost,
        match=r"was killed \(SIGKILL\), as 2 did before it, while it worked on shard 2; .*--engine in-process",
    ):
        list(engine.map(jobs.die, range(4)))
    assert engine._workers == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_names_and_numbers_travel_as_they_are(value):
    job = stages.ShardJob("a folder", 3, TASKS["a-nli"], ("m=x",), label_map=(("a", "b"),))
    for one in (value, stages.Made(1, accounts=(value, None)), job, stages.vary_shard):
        assert messages.decoded(json.loads(json.dumps(messages.encoded(one)))) == one


def test_what_is_no_name_or_number_is_refused():
    with pytest.raises(TypeError, match=r"[Ll]ock cannot travel"):
        messages.encoded([threading.Lock()])


def test_what_only_this_process_has_is_recognised():
    assert is_local("models", "mine=python:this-process:mine")
    assert is_local("checks", "human:-")
    assert not is_local("models", "mine=python:models.py:ask")
    assert not is_local("generators", "recorded:some-file.jsonl")


def test_engines_have_names():
    assert isinstance(make_engine("in-process"), InProcess)
    assert make_engine("processes").count == len(os.sched_getaffinity(0))
    for wrong in ("rays", "ray://", "processes:0", "processes:x", "", "Processes"):
        with refuses(BadInput, field="engine", fix="use in-process, processes, processes:N, ray or ray://HOST:PORT"):
            Study(data=["everyday"], models=["scripted"], engine=wrong)
    assert Study(data=["a"], models=["b"], engine="processes").folder == Study(data=["a"], models=["b"]).folder


# Whole studies: what users see is the same

FRENCH = [{**row, "premise": f"Un homme joue de la guitare dans le parc {row['id']}."} for row in ROWS]


def test_processes_give_the_same_bytes_in_every_stage(tmp_path):
    assert_both_see_the_same(
        tmp_path,
        data=["everyday"],
        vary=["recorded", "contractions"],
        check=["surface", "overlap"],
        models=["scripted", "bag_of_words"],
        by=["topic"],
        shard=60,
    )


@pytest.mark.slow
def test_warnings_about_recorded_rows_and_languages_are_the_same(tmp_path):
    rows = [{"of": row["id"], "hypothesis": row["hypothesis"]} for row in ROWS[:6]]
    rows += [{"of": f"p{number}", "hypothesis": f"It is {number}, I think."} for number in range(15)]
    recorded = write(tmp_path / "recorded.jsonl", rows)
    found = assert_both_see_the_same(
        tmp_path, data=[str(write(tmp_path / "data.jsonl", FRENCH))], vary=[f"recorded:{recorded}", "contractions"]
    )
    assert any("6 of its rows are not variants: unchanged" in one for one in found)
    assert any("3 of its rows match no problem" in one for one in found)
    assert len([one for one in found if "supports only English" in one]) == 1


@pytest.mark.slow
def test_stored_answers_are_counted_and_replaced_as_here(tmp_path):
    data = [str(write(tmp_path / "data.jsonl", ROWS))]
    about = []
    for engine in ("in-process", "processes:2"):
        settings = {"data": data, "vary": ["contractions"], "cache": str(tmp_path / f"{engine[:4]}.sqlite")}
        seen(tmp_path / f"first-{engine[:4]}", engine, **{**settings, "vary": ["contractions(field=premise)"]})
        about.append(seen(tmp_path / f"again-{engine[:4]}", engine, **settings)[2]["answered"])
        about.append(seen(tmp_path / f"fresh-{engine[:4]}", engine, fresh=True, **settings)[2]["answered"])
    assert about[:2] == about[2:]
    assert about[0]["scripted"]["from_cache"] > 0 == about[1]["scripted"]["from_cache"]


def test_functions_of_this_process_are_called_here(tmp_path):
    called = []

    def mine(batch):
        called.extend(batch["premise"])
        return ["neutral"] * len(batch)

    data = [str(write(tmp_path / "data.jsonl", ROWS))]
    with pytest.warns(UserWarning, match="exists in this process only, and is not given to workers; put it") as caught:
        done = ow.run(data=data, vary=[lambda text: f"{text} Indeed."], models=[mine], canary=False, cache=None,
                      shard=4, out=tmp_path / "out", engine="processes:2", replicates=50)  # fmt: skip
    assert called
    assert [text.split()[0] for one in caught if "exists" in (text := str(one.message))] == ["lambda", "mine"]
    assert done.manifest["answered"]["mine"]["answers"] == 36


def test_answers_that_depend_on_the_batch_are_the_same(tmp_path, monkeypatch):
    (tmp_path / "models.py").write_text(
        "def ask(batch):\n    share = [len(one) / sum(map(len, batch['premise'])) for one in batch['premise']]\n"
        "    return [[one, 1 - one, 0] for one in share]\nask.batch_invariant = False\n"
    )
    monkeypatch.chdir(tmp_path)
    rows = [{**row, "premise": row["premise"] + " So." * (place % 5)} for place, row in enumerate(2 * ROWS)]
    rows = [{**row, "id": f"q{place}"} for place, row in enumerate(rows)]
    data = [str(write(tmp_path / "data.jsonl", rows))]
    assert_both_see_the_same(tmp_path, data=data, vary=["contractions"], models=["python:models.py:ask"], batch_size=5)


@pytest.mark.slow
def test_what_was_done_before_a_worker_was_killed_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(
        "import os, signal\nfrom pathlib import Path\ndef ask(batch):\n"
        "    with Path('asked').open('a') as file:\n"
        "        file.writelines(f'{one}\\n' for one in batch['premise'])\n"
        "    if Path('trap').exists() and any('11' in one for one in batch['premise']):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return ['neutral'] * len(batch)\n"
    )
    settings = {"data": [str(write(tmp_path / "data.jsonl", ROWS))], "vary": ["contractions"]}
    settings |= {"models": ["python:models.py:ask"]}
    Path("trap").touch()
    with pytest.raises(WorkerLost):
        seen(tmp_path / "killed", "processes:2", **settings)
    done = list((tmp_path / "killed").glob("answers/*/*.parquet"))
    assert done
    Path("trap").unlink()
    Path("asked").write_text("")
    resumed = seen(tmp_path / "killed", "processes:2", **settings)
    assert len(Path("asked").read_text().splitlines()) < 3 * len(ROWS)
    whole = seen(tmp_path / "whole", "in-process", **settings)[0]
    assert {**resumed[0], "report.html": b""} == {**whole, "report.html": b""}
    assert resumed[2]["answered"]["python:models.py:ask"]["parts_reused"] == len(done)


@pytest.mark.slow
def test_a_study_is_continued_on_another_engine_with_its_results(tmp_path):
    data = [str(write(tmp_path / "data.jsonl", FRENCH))]
    first = seen(tmp_path / "out", "in-process", data=data, vary=["contractions"])
    again = seen(tmp_path / "out", "processes:2", data=data, vary=["contractions"])
    assert first[0] == again[0]
    assert first[2]["warnings"] == again[2]["warnings"] != []
    assert 'engine = "processes:2"' in (tmp_path / "out" / "study.toml").read_text()


def test_an_object_that_is_no_engine_is_refused(tmp_path):
    class Mapper:
        def map(self, function, jobs):
            return map(function, jobs)

    with refuses(BadInput, field="engine"):
        study(tmp_path / "out", Mapper())


def test_results_that_the_driver_cannot_read_end_the_run():
    engine = Processes(2)
    with closing(engine), pytest.raises(TypeError, match="Local cannot travel"):
        list(engine.map(jobs.of_a_local_class, range(2)))
    with closing(engine), pytest.raises(WorkerLost, match="while it worked on shard 0"):
        list(engine.map(jobs.unreadable, range(2)))
