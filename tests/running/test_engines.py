"""The interface of engines: one whose workers share nothing with this process gives the same bytes."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

import otherwords as ow
from otherwords.running import InProcess, stages


class Workers:
    """Two fresh processes; jobs and results travel."""

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from list(pool.map(function, jobs))


class Backwards:
    """The last job first, each with nothing made before: what travels to another process does so here, too."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
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
    assert {name for name, _ in engine.done} == {"vary_shard", "check_shard", "answer_shard"}


@pytest.mark.slow
def test_workers_elsewhere_give_the_same_bytes(tmp_path):
    assert_same_bytes(study(tmp_path / "here", InProcess()), study(tmp_path / "there", Workers()))


def test_in_process_is_lazy():
    done = []
    results = InProcess().map(done.append, [1, 2, 3])
    next(results)
    assert done == [1]
