"""The seam: another engine, whose workers share nothing with this process, gives the same bytes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import otherwords as ow
from otherwords.running.engines import InProcess


class Workers:
    """Two fresh processes; jobs and results travel."""

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from list(pool.map(function, jobs))


def study(out, engine):
    return ow.run(
        data=["everyday"],
        vary=["recorded", "contractions"],
        check=["surface", "overlap"],
        models=["scripted", "bag_of_words"],
        canary=False,
        cache=str(out.parent / f"{out.name}.sqlite"),
        shard=40,
        out=out,
        engine=engine,
    )


def test_workers_elsewhere_give_the_same_bytes(tmp_path):
    here, there = study(tmp_path / "here", InProcess()), study(tmp_path / "there", Workers())
    assert len(list((here.folder / "problems").iterdir())) > 2
    assert (here.folder / "scores.json").read_bytes() == (there.folder / "scores.json").read_bytes()
    for part in sorted(here.folder.rglob("*.parquet")):
        assert part.read_bytes() == (there.folder / part.relative_to(here.folder)).read_bytes(), part.name


def test_in_process_is_lazy():
    done = []
    results = InProcess().map(done.append, [1, 2, 3])
    next(results)
    assert done == [1]
