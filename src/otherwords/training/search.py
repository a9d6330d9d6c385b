"""Random search for the options of a trainer: draws that depend on the seed alone, one training folder per trial.

A space is a TOML file, or a preset beside this module: for each option a list of values, or a range `{from, to}` with
`step` or `count` for evenly spaced values, or `log = true`.
"""

import csv
import io
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..models.trained import TRAINED, read_trained
from ..problem import get_task
from ..progress import Progress, current, reporting_to
from ..registry import Bound, Plugin, load_plugins, models, plugin_files, trainers
from ..storage.files import digest, lock_folder, read_json, read_toml, refuse_overwriting, write_json, write_text
from .data import TrainingData, TrainingRow
from .making import (
    SEARCH,
    TRIAL,
    TrainingResult,
    collect,
    files_read,
    fit,
    refuse_other_data,
    refuse_unready,
    refuse_untrainable,
    train_recipe,
)
from .prepared import DATA
from .recipe import bind_trainer, read_recipe
from .trainer import refuse_differing

#: Files of a search: what it is, its rows, the table of its trials, and the lock of who works on it.
_SEARCH, _ROWS, TRIALS, _LOCK = "search.json", "rows.json", "trials.csv", ".lock"
#: The space that is searched if no other is named.
IE_PAPER = "ie-paper"
#: The keys of a range.
_RANGE = {"from", "to", "step", "count", "log"}
#: No number of a range is as large as this, nor the number of its values.
_LARGEST = 10**9
#: So often a trial is drawn again if it was drawn before.
_REDRAWS = 10_000
#: What an engine does: apply a function to jobs, which may travel, and give the results in their order.
Mapper = Callable[[Callable[["Trial"], dict[str, Any]], Iterable["Trial"]], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class Trial:
    """A training of a search, by names and numbers: it may be carried out in another process, or on another machine."""

    folder: str
    rows: str
    content: str
    spec: str
    seed: int
    plugins: tuple[str, ...] = ()


def search(
    trainer: Bound,
    space: str | Path | Mapping[str, Any],
    data: TrainingData,
    folder: str | Path,
    budget: int = 10,
    seed: int = 1,
    mapper: Mapper = map,
) -> dict[str, Any]:
    """Try `budget` draws from a space, and return the options of the one with the best validation accuracy.

    Options that the space does not name stay as they are. The folder holds the table of all trials; those that are
    there are not repeated, and a larger budget adds to them.
    """
    place, drawn = Path(folder), _draws(trainer, space, budget, seed)
    _refuse_unsearchable(trainer, data, seed)
    if mapper is map:  # else the trials are done elsewhere, perhaps where there is a GPU
        refuse_unready(trainer)
    content = digest(asdict(data.task), data.fields, data.train, data.valid, data.merged)[:16]
    _refuse_other_search(place, trainer, space, seed)
    _write_rows(place / _ROWS, data, content)
    files = _own_files(trainer)
    there = place.absolute()  # a worker may have another current folder
    jobs = [
        Trial(str(there / _trial_name(n)), str(there / _ROWS), content, _spec(trainer, options), seed, files)
        for n, options in enumerate(drawn, 1)
    ]
    outcomes = []
    current().start("trials", len(jobs))
    for outcome in mapper(run_trial, jobs):
        outcomes.append(outcome)
        current().advance(1)
    current().done()
    best = _best(outcomes, trainer)
    _write_trials(place / TRIALS, drawn, outcomes, best)
    return drawn[best]


def run_trial(trial: Trial) -> dict[str, Any]:
    """Train one trial, unless it was; a training that fails is a trial without figures, and says why."""
    place = Path(trial.folder) / TRIAL
    key = {"spec": trial.spec, "seed": trial.seed, "rows": trial.content}
    if place.is_file():
        known = read_json(place)
        if {name: known.get(name) for name in key} == key:
            return known
        shutil.rmtree(trial.folder)
    load_plugins(trial.plugins)
    started, outcome = time.perf_counter(), {**key, "figures": {}, "error": ""}
    try:
        with reporting_to(Progress()):  # the search reports its trials
            data = _read_rows(trial.rows, trial.content)
            outcome["figures"] = fit(trainers.make(trial.spec), data, trial.folder, trial.seed)
    except BadInput as error:
        outcome["error"] = str(error)
    outcome["seconds"] = round(time.perf_counter() - started, 3)
    outcome["files"] = sorted(path.name for path in place.parent.glob("*"))
    write_json(place, outcome)
    return outcome


def train_best(
    recipe: str | Path | Mapping[str, Any],
    trainer: str = "encoder",
    *,
    out: str | Path,
    budget: int = 10,
    space: str | Path | Mapping[str, Any] = IE_PAPER,
    mapper: Mapper = map,
    ready: Callable[[Bound], None] = refuse_unready,
    **overrides: Any,
) -> TrainingResult:
    """Search for the options of a trainer on the data of a recipe, and keep the best model in `out`.

    `out/search` has the table of the trials. A search that was interrupted goes on, trial by trial. Where a larger one
    finds better options, the model of the former best is replaced. `mapper` does the trials, and `ready` finds out
    whether it can, before any data is read.
    """
    read, bound = read_recipe(recipe, trainer, **overrides)
    _draws(bound, space, budget, read.seed)  # a wrong space is an error before any data is read
    refuse_overwriting(out, recipe, *files_read(read))
    place = Path(out) / SEARCH
    _refuse_foreign(Path(out))
    if (Path(out) / TRAINED).is_file():
        refuse_other_data(Path(out), read, bound)
    ready(bound)
    data = collect(read, bound)
    _refuse_unsearchable(bound, data, read.seed)
    _refuse_other_search(place, bound, space, read.seed)
    with lock_folder(Path(out), place / _LOCK):
        best = search(bound, space, data, place, budget, read.seed, mapper)
        chosen = next(path.parent for path in sorted(place.glob(f"*/{TRIAL}")) if _is_of(path, _spec(bound, best)))
        now, better = read_recipe(recipe, trainer, **{**overrides, **best})
        _give_up_former(Path(out), better)
        result = train_recipe(now, better, Path(out), finished=chosen if (chosen / TRAINED).is_file() else None)
        forget_models(place)
        (place / _ROWS).unlink()
    return result


def forget_models(folder: Path) -> None:
    """Delete the models of all trials of a search; what became of each stays."""
    for path in folder.glob("trial-*/*"):
        if path.name != TRIAL:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def first_trial_seconds(folder: Path) -> float | None:
    """How long the first trial of a search took, if it is done."""
    return read_json(folder / _trial_name(1) / TRIAL).get("seconds")


def _trial_name(number: int) -> str:
    return f"trial-{number:03}"


def _give_up_former(folder: Path, best: Bound) -> None:
    """Delete the model that a smaller search has chosen, where it is another; its trial stays in the table."""
    if not (folder / TRAINED).is_file() or read_trained(folder).trainer == best.signature:
        return
    trials = map(read_json, (folder / SEARCH).glob(f"*/{TRIAL}"))
    ours = {DATA, TRAINED, *(name for trial in trials for name in trial.get("files", ()))}
    others = [path for path in sorted(folder.iterdir()) if path.name != SEARCH]
    if foreign := [path.name for path in others if path.name not in ours]:
        message = f"its model is to be replaced by a better one, and {foreign[0]} is not of its training"
        raise BadInput(message, where=str(folder), fix="move it elsewhere, and run again: the trials are kept")
    for path in others:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


# Spaces


def read_space(space: str | Path | Mapping[str, Any], plugin: Plugin) -> dict[str, list[Any] | dict[str, Any]]:
    """The values of each option that a search may draw: a preset by its name, a TOML file, or the same as a mapping."""
    where, table = _name(space), _table(space, plugin)
    if not table:
        raise BadInput("is empty", where=where, fix="name options of the trainer, with the values that they may have")
    known = plugin.options()
    for name, values in table.items():
        if name not in known:
            fix = f"{plugin.name} has {', '.join(known)}"
            raise BadInput("no such option", where=where, field=name, fix=fix)
        _refuse_wrong_values(values, where, name)
    return {name: table[name] for name in known if name in table}  # the order of the file does not matter


def presets() -> list[str]:
    """The names of the spaces that come with the package."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))


def _name(space: str | Path | Mapping[str, Any]) -> str:
    return "space" if isinstance(space, Mapping) else str(space)


def _table(space: str | Path | Mapping[str, Any], plugin: Plugin) -> dict[str, Any]:
    """The part of a space that is about a trainer: the table of its name, or all where no table is a trainer's."""
    found = space if isinstance(space, Mapping) else _read_file(str(space))
    names = {one.name for one in trainers}
    if plugin.name in found and isinstance(found[plugin.name], Mapping):
        return dict(found[plugin.name])
    if others := [name for name in found if name in names]:
        fix = f"add a table [{plugin.name}], or give another space"
        raise BadInput(f"has spaces for {', '.join(others)}, not for {plugin.name}", where=_name(space), fix=fix)
    return dict(found)


def _read_file(space: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"{space}.toml") if space in presets() else Path(space).expanduser()
    if not path.is_file():
        fix = f"give a TOML file, or {' or '.join(presets())}"
        raise BadInput("no such file", where=space, field="space", fix=fix)
    return read_toml(path, "a space", "a space is a TOML file")


def _refuse_wrong_values(values: Any, where: str, name: str) -> None:
    fix = "write a list of values, or {from = 10, to = 30}, also with step, count or log = true"
    if isinstance(values, list):
        if not values:
            raise BadInput("has no values", where=where, field=name, fix=fix)
        return
    if not isinstance(values, Mapping) or not {"from", "to"} <= set(values) <= _RANGE:
        raise BadInput(f"found {values!r}", where=where, field=name, fix=fix)
    low, high, log = values["from"], values["to"], values.get("log", False)
    numbers = [low, high, *(values[key] for key in ("step", "count") if key in values)]
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) or not math.isfinite(one) for one in numbers):
        raise BadInput(f"found {dict(values)}", where=where, field=name, fix=fix)
    if low > high or (log is True and low <= 0) or not isinstance(log, bool):
        fix = "give from at most as large as to, and above 0 with log"
        raise BadInput(f"found {dict(values)}", where=where, field=name, fix=fix)
    if len({"step", "count", "log"} & set(values)) > 1:
        raise BadInput(f"found {dict(values)}", where=where, field=name, fix="give one of step, count and log")
    if max(map(abs, (low, high, (high - low) / (values.get("step") or 1), values.get("count", 1)))) >= _LARGEST:
        fix = f"give numbers below {_LARGEST:g}, and fewer values than that"
        raise BadInput(f"found {dict(values)}", where=where, field=name, fix=fix)
    if values.get("step", 1) <= 0 or values.get("count", 1) < 1 or not isinstance(values.get("count", 1), int):
        raise BadInput(f"found {dict(values)}", where=where, field=name, fix="give a step above 0, a count from 1 on")


# Draws


def _draws(trainer: Bound, space: str | Path | Mapping[str, Any], budget: int, seed: int) -> list[dict[str, Any]]:
    """The options of each trial, all different; every one can be made."""
    if budget < 1:
        raise BadInput(f"found {budget}", field="search", fix="give the number of trials, from 1 on")
    drawn: list[dict[str, Any]] = []
    values = read_space(space, trainer.plugin)
    for number in range(budget):
        random = np.random.default_rng([seed, number])
        for _ in range(_REDRAWS):
            options = {name: _draw(choice, random) for name, choice in values.items()}
            if options not in drawn:
                break
        else:
            break  # a small space is searched whole
        drawn.append(options)
        bind_trainer(trainer.plugin, {**_given(trainer), **options}, _name(space))
    return drawn


def _draw(values: list[Any] | Mapping[str, Any], random: np.random.Generator) -> Any:
    """One value of an option, each as likely.

    >>> [_draw({"from": 0.05, "to": 1.0, "step": 0.05}, np.random.default_rng(n)) for n in range(4)]
    [0.9, 0.5, 0.85, 0.85]
    """
    if isinstance(values, list):
        return values[int(random.integers(len(values)))]
    low, high = values["from"], values["to"]
    if "step" in values:
        steps = int(random.integers(math.floor((high - low) / values["step"] + 1e-9) + 1))
        return _rounded(low + steps * values["step"], low, values["step"])
    if "count" in values:
        return float(f"{np.linspace(low, high, values['count'])[int(random.integers(values['count']))]:.12g}")
    if values.get("log"):
        found = math.exp(random.uniform(math.log(low), math.log(high)))
        return _rounded(found, low, high) if type(low) is type(high) is int else found
    return int(random.integers(low, high + 1)) if type(low) is type(high) is int else float(random.uniform(low, high))


def _rounded(value: float, *given: float) -> float | int:
    """A whole number where only whole numbers were given; else without the last bits of a sum."""
    return round(value) if all(type(one) is int for one in given) else float(f"{value:.12g}")


def _given(trainer: Bound) -> dict[str, Any]:
    """The options of a trainer that are not the defaults."""
    options = {name: getattr(trainer.function, name) for name in trainer.plugin.options()}
    return {name: value for name, value in options.items() if value != trainer.plugin.options()[name]}


def _spec(trainer: Bound, options: Mapping[str, Any]) -> str:
    given = {**_given(trainer), **options}
    written = ", ".join(f"{name}={json.dumps(value, default=str)}" for name, value in given.items())
    return f"{trainer.plugin.full_name}({written})"


# Trials


def _best(outcomes: Sequence[dict[str, Any]], trainer: Bound) -> int:
    """The place of the best: by validation accuracy, then by loss, then the first."""
    good = [n for n, outcome in enumerate(outcomes) if "valid_accuracy" in outcome["figures"]]
    if not good:
        message = f"no trial succeeded: {outcomes[0]['error']}"
        raise BadInput(message, where=trainer.name, field="search", fix="search in another space")
    figures = [outcome["figures"] for outcome in outcomes]
    return max(good, key=lambda n: (figures[n]["valid_accuracy"], -figures[n].get("valid_loss", 0.0), -n))


def _write_trials(path: Path, drawn: Sequence[dict[str, Any]], outcomes: Sequence[dict[str, Any]], best: int) -> None:
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome["figures"] if name[:6] == "valid_"))
    columns = ["trial", *drawn[0], *names, "seconds", "error", "chosen"]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    table.writeheader()
    for n, (options, outcome) in enumerate(zip(drawn, outcomes, strict=True)):
        known = {"trial": n + 1, "seconds": outcome["seconds"], "error": outcome["error"]}
        table.writerow({**options, **outcome["figures"], **known, "chosen": "yes" if n == best else ""})
    write_text(path, text.getvalue())


def _is_of(path: Path, spec: str) -> bool:
    return bool(read_json(path).get("spec") == spec)


def _refuse_unsearchable(trainer: Bound, data: TrainingData, seed: int) -> None:
    refuse_untrainable(trainer, data, seed)
    if not data.valid:
        raise BadInput("no rows to validate on", field="search", fix="give some with valid")


def _refuse_other_search(folder: Path, trainer: Bound, space: str | Path | Mapping[str, Any], seed: int) -> None:
    """Refuse a folder with another search; a new one is this search's from now on."""
    header = {"trainer": trainer.signature, "seed": seed, "space": _table(space, trainer.plugin)}
    path, now = folder / _SEARCH, json.loads(json.dumps(header))
    if there := read_json(path):
        refuse_differing(folder, there, now, "search")
    else:
        write_json(path, now)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder with something else in it before any trial."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", where=str(folder), fix="choose another folder with -o")
    others = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if others and not (folder / SEARCH / _SEARCH).is_file():
        message = f"is not the folder of a search: it contains {', '.join(others[:3])}"
        raise BadInput(message, where=str(folder), fix="choose a new folder with -o")


# Rows, for trials in other processes


def _own_files(trainer: Bound) -> tuple[str, ...]:
    """The files of a user's that register the trainer and its model."""
    sources = {trainer.plugin.source, models.get(trainer.function.answers_as).source}
    return tuple(file for file in plugin_files() if file in sources)


def _write_rows(path: Path, data: TrainingData, content: str) -> None:
    values: dict[str, Any] = {"content": content, "task": asdict(data.task), "fields": data.fields}
    values |= {"merged": data.merged, "train": data.train, "valid": data.valid}
    if read_json(path).get("content") != content:
        write_text(path, json.dumps(values))


@lru_cache(maxsize=1)
def _read_rows(path: str, content: str) -> TrainingData:
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    train, valid = ([TrainingRow(tuple(texts), label) for texts, label in found[part]] for part in ("train", "valid"))
    return TrainingData(get_task(found["task"]), tuple(found["fields"]), train, valid, merged=found["merged"])
