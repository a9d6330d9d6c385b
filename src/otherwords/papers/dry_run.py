"""What a paper's experiment would take: each of its runs tried on a few problems, and nothing sent to a server.

Generators, checks and models of this machine do their part of the work, and are timed. What asks a server is counted
instead; where its rewordings are not known, as many are counted as there could be.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from ..language_models.budget import current
from ..models.answering import load
from ..models.canary import canary_batch
from ..pipeline import answer
from ..problem import Task, get_task
from ..registry import checks
from ..running.driver import ASKS_SERVER
from ..running.estimating import StudyCounts, tally
from ..running.runner import run
from ..storage.run_folder import RunFolder
from ..storage.specs import split_name

#: Problems of a run that are tried, to estimate the rest from.
TRIED = 40
#: The check that has a judge with a canary.
JUDGED = "mutual-entailment"


@dataclass(frozen=True)
class PaperEstimate:
    """What an experiment would take; counts of variants and answers, and seconds, are extrapolated from a few."""

    problems: int = 0
    variants: int = 0
    answers: int = 0
    trainings: int = 0
    requests: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def __mul__(self, times: float) -> "PaperEstimate":
        """So many times as much."""
        counts = {name: round(getattr(self, name) * times) for name in ("variants", "answers", "requests")}
        return replace(
            self, **counts, seconds=self.seconds * times, cost=None if self.cost is None else self.cost * times
        )

    def __add__(self, other: "PaperEstimate") -> "PaperEstimate":
        costs = [one.cost for one in (self, other) if one.cost is not None]
        names = ("problems", "variants", "answers", "trainings", "requests", "seconds")
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return PaperEstimate(**added, cost=sum(costs) if costs else None)


def estimate_run(study: Mapping[str, Any], place: Path, seed: int) -> PaperEstimate:
    """What a run would take: its study on a few problems, in a new folder."""
    place.mkdir()
    names = [str(place / Path(path).name) for path in study["data"]]
    times = _draw_some(study["data"], names, seed)
    some = {**study, "data": names, "canary": False}
    counted = _tally(some)
    found = _requests(counted.planned.values())
    served = [one for one in study["models"] if _asks_server(one, study)]
    local = [one for one in study["models"] if one not in served]
    found += PaperEstimate(variants=counted.variants, answers=counted.texts * len(served))
    if local and any(ASKS_SERVER.search(spec) for spec in (*study.get("vary", ()), *study.get("check", ()))):
        return (found + _timed(names, local, counted.texts, some)) * times
    if local:
        started = time.perf_counter()
        folder = RunFolder(run({**some, "models": local, "cache": None}, out=place / "run").folder)
        answers = folder.scan("answers").select(pl.len()).collect().item()
        found += PaperEstimate(answers=answers, seconds=time.perf_counter() - started)
    return found * times


def estimate_answers(study: Mapping[str, Any], place: Path, seed: int) -> PaperEstimate:
    """What it would take to ask the models of a study its problems as they are."""
    place.mkdir()
    names = [str(place / Path(path).name) for path in study["data"]]
    times = _draw_some(study["data"], names, seed)
    some = {**study, "data": names, "canary": False, "vary": [], "check": []}
    counted = _tally(some)
    served = [one for one in study["models"] if _asks_server(one, study)]
    found = _requests(counted.planned.values()) + PaperEstimate(answers=counted.texts * len(served))
    local = [one for one in study["models"] if one not in served]
    return (found + _timed(names, local, counted.texts, some)) * times


def estimate_checks(study: Mapping[str, Any], place: Path, seed: int) -> PaperEstimate:
    """What the checks of a study would ask servers."""
    place.mkdir()
    names = [str(place / Path(path).name) for path in study["data"]]
    times = _draw_some(study["data"], names, seed)
    counted = _tally({**study, "data": names, "canary": False})
    return _requests(one for name, one in counted.planned.items() if name.startswith("check ")) * times


def _tally(study: Mapping[str, Any]) -> StudyCounts:
    """What would be asked, but for canaries: their number does not grow with the problems."""
    check = [checks.respell(one, canary=False) if JUDGED in one else one for one in study.get("check", ())]
    return tally({**study, "check": check, "prices": current().prices.where})


def _draw_some(data: Sequence[str], names: Sequence[str], seed: int) -> float:
    """Write a few problems of each file, with their rewordings if they have some; how many times as many there are."""
    size, tried, there = -(-TRIED // len(data)), 0, 0
    for path, name in zip(data, names, strict=True):
        rows = pl.read_parquet(path)
        bucket = pl.coalesce("of", "id") if "of" in rows.columns else pl.col("id")
        problems = rows.select(bucket).to_series().unique(maintain_order=True)
        drawn = problems.sample(min(size, problems.len()), seed=seed, shuffle=True)
        rows.filter(bucket.is_in(drawn.implode())).write_parquet(name)
        tried, there = tried + drawn.len(), there + problems.len()
    return there / tried


def _requests(planned: Iterable[Mapping[str, Any]]) -> PaperEstimate:
    """What servers would be asked."""
    entries = list(planned)
    costs = [one["cost"] for one in entries if one.get("cost") is not None]
    return PaperEstimate(requests=sum(one["requests"] for one in entries), cost=sum(costs) if costs else None)


def canary_requests(studies: Iterable[Mapping[str, Any]]) -> int:
    """What the canary asks servers: each model once for each task."""
    asked = {
        (spec, task.name): len(canary_batch(task))
        for one in studies
        if one.get("canary")
        for task in [_task(one)]
        for spec in one["models"]
        if _asks_server(spec, one)
    }
    return sum(asked.values())


def _asks_server(spec: str, study: Mapping[str, Any]) -> bool:
    given = study.get("label_map", {}).get(split_name(spec)[0])
    return load(spec, _task(study), given).model.keep_replies is not None


def _task(study: Mapping[str, Any]) -> Task:
    return get_task(study["task"])


def _timed(names: Sequence[str], models: Sequence[str], texts: int, study: Mapping[str, Any]) -> PaperEstimate:
    """The answers of models of this machine to so many texts, from the time that a few problems take."""
    rows, seconds = 0, 0.0
    for path in names:
        for spec in models:
            started = time.perf_counter()
            given = study.get("label_map", {}).get(split_name(spec)[0])
            rows += answer(path, spec, _task(study), label_map=given, cache=None, canary=False).height
            seconds += time.perf_counter() - started
    answers = texts * len(models)
    return PaperEstimate(answers=answers, seconds=seconds * answers / rows if rows else 0.0)
