"""What asking servers would take: the stages before it are done in a temporary folder, and requests are counted."""

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..language_models.budget import shown, spending
from ..language_models.served import Counted
from ..models.answering import Texts, asked_columns, open_batches
from ..models.cache import Cache, cache_path
from ..models.canary import canary_batch
from ..models.model import Answerer
from ..storage.run_folder import RunFolder
from .asking import read_kept
from .driver import PRIVATE, Driver
from .engines import InProcess
from .readiness import open_data
from .study import read_study

#: The entry of a model that asks no server.
_NOTHING = {"requests": 0, "prompt": 0, "completion": 0}


def estimate(
    study: Any = None, *, out: str | Path | None = None, fresh: bool = False, **overrides: Any
) -> dict[str, dict[str, Any]]:
    """What a run of a study would take of each model's server: requests, tokens and, where prices are given, costs.

    Nothing is sent, and nothing written: variants are made and checked in a temporary folder. Tokens are estimated, of
    completions as many as are allowed. Answers and replies that are stored are not counted. Arguments are as for `run`.
    """
    named = Path(study) if isinstance(study, (str, os.PathLike)) else None
    earlier = RunFolder(named) if named and named.is_dir() else None
    settled = read_study(study, **overrides)
    opened = open_data(settled, earlier, overrides)
    folder = RunFolder(out or (earlier.path if earlier else settled.folder)).path
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
        driver = Driver(settled, opened.source, RunFolder(place), InProcess(), fresh, dry_run=True)
        driver.take_in()
        return estimate_answers(driver, folder / PRIVATE)


def estimate_answers(driver: Driver, private: Path | None = None) -> dict[str, dict[str, Any]]:
    """The same for a driver that has taken in its data; `private` is the cache of a run without a lasting one."""
    budget = driver.budget
    try:
        if driver.study.vary:
            driver.vary(driver.survey())
        driver.check()
    except Counted:
        message = "a generator or check asks a server, and nobody knows what it would reply"
        raise BadInput(message, fix="write the checked suite first (otherwords vary, check), then count") from None
    path = cache_path(driver.study.cache) or private
    with ExitStack() as stack:
        stack.enter_context(spending(budget))
        there = path is not None and path.is_file()
        cache = stack.enter_context(Cache(path, writing=False)) if there else None
        return {model.name: _planned(driver, model, path, cache) for model in map(driver._load, driver.study.asked)}


def _planned(driver: Driver, model: Answerer, path: Path | None, cache: Cache | None) -> dict[str, Any]:
    """What one model would take; one that keeps no replies asks no server."""
    keep, budget = model.model.keep_replies, driver.budget
    if keep is None:
        return dict(_NOTHING)
    if path is not None:
        keep(path, model.loaded if model.fresh else 0.0)
    budget.planned.clear()
    seen: set[bytes] = set()
    for one in (model, *(model.repeated(repeat) for repeat in driver._repeats(model))):
        for texts in _texts(driver, model, canary=driver.study.canary and one is model):
            for batch in open_batches(one, texts, cache, seen):
                with suppress(Counted):
                    model.model(batch)
    (spent,) = budget.planned.values() or [None]
    return shown(spent, budget.prices.currency) if spent else dict(_NOTHING)


def _texts(driver: Driver, model: Answerer, *, canary: bool) -> Any:
    """The texts of all shards, and those of the canary."""
    task = driver.task
    if canary and len(batch := canary_batch(task)):
        yield Texts.of(batch.columns, task, originals=model.model.by_original)
    for part in driver.folder.parts("buckets"):
        suite = read_kept(part)
        yield Texts.of(asked_columns(suite, model), task, originals=model.model.by_original)
