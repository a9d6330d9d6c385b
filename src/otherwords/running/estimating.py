"""What asking servers would take: the stages before it are done in a temporary folder, and requests are counted."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ..errors import BadInput, caller_level
from ..language_models.batch_files import BatchReader
from ..language_models.budget import Budget, shown, spending
from ..models.answering import Texts, asked_columns, count_requests, texts_without_reply
from ..models.cache import Cache, cache_path
from ..models.canary import canary_batch
from ..models.model import Answerer
from ..storage.run_folder import RunFolder, read_part
from ..validity.mutual_entailment import pairs_to_judge
from .asking import read_kept
from .driver import PRIVATE, Driver
from .engines import InProcess
from .readiness import open_data
from .study import read_study

#: The entry of a model that asks no server.
_NOTHING = {"requests": 0, "prompt": 0, "completion": 0}
#: What an estimate does not know of generators that let servers write.
_NOT_WRITTEN = (
    "what a server will write is not known: counted as if every draft were used, and kept by all checks; a draft that "
    "is not used is asked for again"
)


class StudyCounts(NamedTuple):
    """What a study would take: the entries of all that asks servers, how many variants, how many texts of a model."""

    planned: dict[str, dict[str, Any]]
    variants: int
    texts: int


def estimate(
    study: Any = None, *, out: str | Path | None = None, fresh: bool = False, **overrides: Any
) -> dict[str, dict[str, Any]]:
    """What a run of a study would take of each model's server: requests, tokens and, where prices are given, costs.

    Nothing is sent, and nothing written: variants are made and checked in a temporary folder. Tokens are estimated, of
    completions as many as are allowed. Answers and replies that are stored are not counted. Arguments are as for `run`.
    What generators and checks would take has entries of its own, "vary MODEL" and "check MODEL".
    """
    return tally(study, out=out, fresh=fresh, **overrides).planned


def tally(study: Any = None, *, out: str | Path | None = None, fresh: bool = False, **overrides: Any) -> StudyCounts:
    """The same as `estimate`, with the number of variants, and of originals and variants that are asked."""
    named = Path(study) if isinstance(study, (str, os.PathLike)) else None
    earlier = RunFolder(named) if named and named.is_dir() else None
    settled = read_study(study, **overrides)
    opened = open_data(settled, earlier, overrides)
    folder = RunFolder(out or (earlier.path if earlier else settled.folder)).path
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
        driver = Driver(settled, opened.source, RunFolder(place), InProcess(), fresh, dry_run=True)
        driver.take_in()
        planned = estimate_answers(driver, folder / PRIVATE)
        made = [read_part(part)["of"].count() for part in driver.folder.parts("buckets")]
        texts = [read_kept(part).height for part in driver.folder.parts("buckets")]
        return StudyCounts(planned, sum(made), sum(texts))


def estimate_variants(driver: Driver) -> dict[str, dict[str, Any]]:
    """What the generators would take of servers; the variants are then in the folder, or what stands for them."""
    driver.vary(driver.survey())
    planned = _taken(driver.budget, "vary")
    if planned:
        warnings.warn(_NOT_WRITTEN, stacklevel=caller_level())
    return planned


def estimate_checks(driver: Driver) -> dict[str, dict[str, Any]]:
    """What the checks would take of servers."""
    driver.check()
    return _taken(driver.budget, "check")


def _taken(budget: Budget, stage: str) -> dict[str, dict[str, Any]]:
    """What a stage has planned, by the models that it asks."""
    planned, budget.planned = budget.planned, {}
    return {f"{stage} {name}": shown(spent, budget.prices.currency) for name, spent in planned.items()}


def estimate_answers(driver: Driver, private: Path | None = None) -> dict[str, dict[str, Any]]:
    """The same for a driver that has taken in its data; `private` is the cache of a run without a lasting one."""
    planned = estimate_variants(driver) if driver.study.vary else {}
    unwritten = bool(planned)
    planned |= estimate_checks(driver)
    path = cache_path(driver.study.cache) or private
    with ExitStack() as stack:
        stack.enter_context(spending(driver.budget))
        there = path is not None and path.is_file()
        cache = stack.enter_context(Cache(path, writing=False)) if there else None
        served = False
        for model in map(driver._load, driver.study.asked):
            planned[model.name] = _planned(driver, model, path, cache, unwritten)
            served = served or model.model.keep_replies is not None
    if driver.budget.batch is not None and not served:
        fix = "name one as api:MODEL, or leave out --batch-out and --batch-in"
        raise BadInput("none of the models asks a server", field="--model", fix=fix)
    return planned


def _planned(driver: Driver, model: Answerer, path: Path | None, cache: Cache | None, all_rows: bool) -> dict[str, Any]:
    """What one model would take; one that keeps no replies asks no server."""
    keep, budget = model.model.keep_replies, driver.budget
    if keep is None:
        return dict(_NOTHING)
    if path is not None:
        keep(path, model.loaded if model.fresh else 0.0)
    budget.planned.clear()
    for one in (model, *(model.repeated(repeat) for repeat in driver._repeats(model))):
        is_first = one is model
        for texts in _texts(driver, model, canary=driver.study.canary and is_first, all_rows=all_rows, first=is_first):
            count_requests(one, texts, cache)
    (spent,) = budget.planned.values() or [None]
    return shown(spent, budget.prices.currency) if spent else dict(_NOTHING)


def rows_without_reply(driver: Driver, replies: BatchReader) -> dict[str, str]:
    """Why rows have no reply of a model, by their ids, in a driver that has read a batch and made its buckets.

    Without a reply to an original, its variants have nothing to be compared with, and are named, too.
    """
    path, lacking = cache_path(driver.study.cache), dict[str, str]()
    with ExitStack() as stack:
        stack.enter_context(spending(driver.budget))
        there = path is not None and path.is_file()
        cache = stack.enter_context(Cache(path, writing=False)) if there else None
        for model in map(driver._load, driver.study.asked):
            if path is not None and (keep := model.model.keep_replies):
                keep(path, model.loaded if model.fresh else 0.0)
            for one in (model, *(model.repeated(repeat) for repeat in driver._repeats(model))):
                for part in driver.folder.parts("buckets") if one.model.keep_replies else ():
                    lacking |= _lacking_in(read_kept(part), one, cache, replies) | lacking
    return lacking


def _lacking_in(suite: pl.DataFrame, model: Answerer, cache: Cache | None, replies: BatchReader) -> dict[str, str]:
    texts = Texts.of(asked_columns(suite, model), model.task, originals=model.model.by_original)
    reasons: dict[int, str] = {}
    for place in texts_without_reply(model, texts, cache):
        reasons[place] = replies.reason
    places = zip(suite["id"], suite["of"], texts.places.tolist(), strict=True)
    rows = [(name, of, reasons[place]) for name, of, place in places if place in reasons]
    lacking = {name: reason for name, _, reason in rows}
    originals = [name for name, of, _ in rows if of is None]
    for name in suite["id"].filter(suite["of"].is_in(originals)):
        lacking.setdefault(name, "its original has no reply")
    return lacking


def _texts(driver: Driver, model: Answerer, *, canary: bool, all_rows: bool, first: bool) -> Iterator[Texts]:
    """The texts of all shards, those of the canary, and what a model that is asked for the `first` time judges."""
    task = driver.task
    if canary and len(batch := canary_batch(task)):
        yield Texts.of(batch.columns, task, originals=model.model.by_original)
    for part in driver.folder.parts("buckets"):
        suite = read_part(part) if all_rows else read_kept(part)
        if first and (pairs := pairs_to_judge(suite, task)):
            columns = {name: [pair[at] for pair in pairs] for at, name in enumerate(task.fields)}
            yield Texts.of(columns, task, originals=model.model.by_original)
        yield Texts.of(asked_columns(suite, model), task, originals=model.model.by_original)
