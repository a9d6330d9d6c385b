"""The IE test as one command (Salvatore et al. 2023): data sets x models x rho x runs, resumable, on any engine.

What the protocol leaves open is a setting: Alternative 2 of the paper is `votes`, Alternative 3 `search_inside`. All is
checked before the first training, and a run that learnt nothing is marked, and stays.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..errors import BadInput, setting
from ..language_models.budget import make_budget, spending
from ..progress import Progress, reporting_to
from ..registry import generators, load_plugins, trainers
from ..running.engines import checked, closing, make_engine
from ..running.pool import Engine
from ..significance.ie_test import reachable, smallest_p
from ..storage.files import digest, write_text
from ..storage.tables import write as write_table
from ..training.making import refuse_unready, refuse_untrainable
from ..training.recipe import make_trainer
from ..training.search import first_trial_seconds, read_space
from .experiment import (
    CELL,
    finish_cell,
    in_file,
    in_setting,
    opened,
    plugins_for,
    prepare_engine,
    read_cell,
    refuse_other,
    run_cells,
    write_settings,
)
from .ie_cells import (
    ScannedRho,
    TrainingCell,
    both_wordings,
    cells_table,
    forget,
    matched_table,
    rho_name,
    sample,
    scan_chart,
    scanned,
    search_options,
    searched_spec,
    train_cell,
    train_profile,
)
from .ie_data import JUDGED_PARTS, IEData, Prepared, draw_for_judges, prepare_data, read_judged, verdict_counts
from .ie_settings import IEModel, IESettings, read_ie_settings

if TYPE_CHECKING:
    from .ie_results import IEResults

#: Settings that decide which cells there are, and what is made of them; and tables that may have more entries.
_MAY_CHANGE = ("rho", "runs", "alpha", "replicates", "margin", "judge", "baseline", "verdicts")
_GROW = ("datasets", "models")
#: The values of a scan, as in the paper's Figure 3.
SCAN = tuple(step / 100 for step in range(101))
QUICK_SCAN = tuple(step / 10 for step in range(11))
#: Trainers that are cheap enough for a scan, the paper's baseline first.
CHEAP = ("boosted", "bag_of_words", "ngrams")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class TrainingTime:
    """How many trainings there are, how many are done, and how long the rest takes, in seconds, as the others went."""

    trainings: int
    done: int
    seconds: float
    by_model: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class IEOutcome:
    """What came out: the results, or of a dry run the estimate, or of a scan the proposals; and counts of rows."""

    folder: Path
    settings: IESettings
    data: dict[str, Prepared]
    estimate: TrainingTime
    results: "IEResults | None" = None
    scans: tuple[ScannedRho, ...] = ()


def run_ie_test(
    source: str | Path | Mapping[str, Any] | None = None,
    *,
    out: str | Path,
    engine: Engine | str = "in-process",
    quick: bool = False,
    dry_run: bool = False,
    scan: bool = False,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path = "",
    **overrides: Any,
) -> IEOutcome:
    """Run the IE test into a folder. Finished cells are never repeated; another experiment in the folder is refused.

    `source` is a TOML file, a mapping, or None: the experiment that the folder holds, else the bundled one. With
    `quick`, few and small trainings. With `dry_run`, one training per model, and an estimate of the rest. With `scan`,
    the baseline over 101 values of rho, and those it proposes. A generator that lets a server write is limited by
    `max_requests` and `max_cost` at these `prices`, see `answer`; a dry run makes the rewordings, too.
    """
    if scan and dry_run:
        message = "a scan and a dry run are two things"
        raise BadInput(message, field=setting("--dry-run", "dry_run"), fix="leave one of them out")
    folder = Path(out)
    settings = read_ie_settings(source, folder, quick, **overrides)
    with in_file(source), in_setting("plugins"):
        load_plugins(settings.plugins)
    chosen = make_engine(engine) if isinstance(engine, str) else checked(engine)
    with spending(make_budget(max_requests, max_cost, prices)):
        with in_file(source):
            experiment = _Experiment(settings, folder, chosen, quick)
            experiment.refuse_wrong_names()
        forget()
        with opened(folder), closing(chosen):
            with in_file(source):
                experiment.prepare()
            return experiment.drive(scan=scan, dry_run=dry_run)


class _Experiment:
    """An experiment on its way: checked, prepared, then trained cell by cell."""

    def __init__(self, settings: IESettings, folder: Path, engine: Engine, quick: bool):
        self.settings, self.folder, self.engine, self.quick = settings, folder, engine, quick
        self.data: dict[str, Prepared] = {}
        self.specs: dict[str, str] = {}
        for name, model in settings.models.items():
            with in_setting(f"models.{name}"):
                self.specs[name] = model.spec

    def drive(self, *, scan: bool, dry_run: bool) -> IEOutcome:
        """Do what is wanted, when all is prepared."""
        prepare_engine(self.engine, self.folder, [("trainers", spec) for spec in self.specs.values()])
        if scan:
            return self.scan()
        return self.estimate() if dry_run else self.run()

    # Before any training

    def refuse_wrong_names(self) -> None:
        """Refuse names that no folder can have, and whatever cannot be made or is not here."""
        settings = self.settings
        for kind in _GROW:
            for name in getattr(settings, kind):
                if not _NAME.fullmatch(name) or len(name) > 80:
                    fix = "use letters, digits, and - _ . between them"
                    raise BadInput(f"found {name!r}", field=kind, fix=fix)
        if settings.baseline and settings.baseline not in settings.models:
            fix = f"name one of {', '.join(settings.models)}"
            raise BadInput(f"found {settings.baseline!r}", field="baseline", fix=fix)
        for name, model in settings.models.items():
            with in_setting(f"models.{name}"):
                bound = make_trainer(self.specs[name])
                if not bound.function.answers_as:
                    fix = "choose another (otherwords list trainers)"
                    raise BadInput(f"{bound.name} trains no classifier", field=f"models.{name}.trainer", fix=fix)
                if not self.engine.elsewhere:
                    refuse_unready(bound)
            if model.search:
                with in_setting(f"models.{name}.space"):
                    read_space(model.space, bound.plugin)
        for name, data in settings.datasets.items():
            with in_setting(f"datasets.{name}.generator" if data.generator else "generator"):
                generators.make(settings.generator_of(name))
            self._refuse_wrong_data(name, data)

    def _refuse_wrong_data(self, name: str, data: IEData) -> None:
        where = f"datasets.{name}"
        if isinstance(data.valid, float) and not 0 <= data.valid < 1:
            fix = "give a share below 1 (0: no validation), or a data set"
            raise BadInput(f"found {data.valid:g}", where=where, field="valid", fix=fix)
        if data.valid == 0 and any(model.search for model in self.settings.models.values()):
            raise BadInput(
                "a search needs rows to validate on", where=where, field="valid", fix="give a share, or data"
            )
        for part, file in data.verdicts.items():
            if part not in JUDGED_PARTS:
                fix = f"name {' or '.join(JUDGED_PARTS)}"
                raise BadInput(f"found {part!r}", where=where, field="verdicts", fix=fix)
            if not Path(file).is_file():
                raise BadInput("no such file", where=file, field="verdicts", fix="name a table with id and verdict")

    def prepare(self) -> None:
        """Prepare all data, and refuse what could not be tested; then the folder is this experiment's."""
        settings = self.settings
        content = {f"the data of {name}": self._content_of(name, data) for name, data in settings.datasets.items()}
        content |= {
            f"the generator of {name}": generators.make(settings.generator_of(name)).signature
            for name in settings.datasets
        }
        content |= {f"the trainer of {name}": trainers.make(spec).signature for name, spec in self.specs.items()}
        for name, space in self._spaces():
            content[f"the space of {name}"] = ", ".join(f"{option} {values}" for option, values in space.items())
        refuse_other(self.folder, settings, content, _MAY_CHANGE, _GROW)
        for name, data in settings.datasets.items():
            place = self.folder / "data" / name
            phi, warn = settings.generator_of(name), not self.quick
            try:
                self.data[name] = prepare_data(name, data, phi, settings.seed, place, warn)
            except BadInput as error:
                key = f"datasets.{name}"
                where = error.where if key in error.where else ": ".join(filter(None, (key, error.where)))
                raise BadInput(error.message, where=where, field=error.field, fix=error.fix) from error
            self._refuse_untestable(name)
            self._judged(name)  # a wrong table of verdicts is an error before any training
        write_settings(self.folder, settings, content)
        self._draw_for_judges()

    def _content_of(self, name: str, data: IEData) -> str:
        with in_setting(f"datasets.{name}"):
            return data.signature()

    def _refuse_untestable(self, name: str) -> None:
        """Refuse a transformation that changes nothing, a test set too small for alpha, rows that teach nothing."""
        settings, data = self.settings, self.data[name]
        where = f"datasets.{name}"
        for part in ("train", "test"):
            if not data.changed[part]:
                what = settings.generator_of(name)
                fix = "choose a generator that rewords these texts (otherwords vary shows what one does)"
                raise BadInput(f"{what} changes none of {data.rows[part]:,} rows of {part}", where=where, fix=fix)
        rows, changed = data.rows["test"], data.changed["test"]
        if not reachable(rows, settings.alpha, settings.runs, changed, settings.replicates):
            least = smallest_p(rows, changed, settings.replicates)
            found = (
                f"the test set is too small: {rows:,} rows, of which {changed:,} change, give at best p = {least:.2g}"
            )
            level = settings.alpha / settings.runs
            fix = f"give more rows, more replicates, fewer runs or a larger alpha: p must be below {level:.2g}"
            raise BadInput(found, where=where, field="test", fix=fix)
        for model in settings.models:
            job = self._cell(name, model, 0.0, 1)
            try:
                refuse_untrainable(trainers.make(job.trainer), sample(job)[0], job.seed_of("train 1"))
            except BadInput as error:
                raise BadInput(error.message, where=where, field=error.field, fix=error.fix) from None

    def _judged(self, name: str) -> pl.DataFrame | None:
        return read_judged(self.folder, name, self.settings.datasets[name].verdicts, self.data[name].task)

    def _draw_for_judges(self) -> None:
        for name in self.settings.datasets:
            draw_for_judges(self.folder, name, self.data[name].task, self.settings.judge, self.settings.seed)

    def _spaces(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The values that were searched for each model's options, as text."""
        for name, model in self.settings.models.items():
            if model.search:
                yield name, {option: json.dumps(values) for option, values in self._space(name).items()}

    def _space(self, model: str) -> dict[str, Any]:
        """Where the options of a model are searched for: what its file holds, not what it is called."""
        return read_space(self.settings.models[model].space, trainers.make(self.specs[model]).plugin)

    # Cells

    def _cell(self, dataset: str, model: str, rho: float, run: int) -> TrainingCell:
        settings, place = self.settings, self.folder.absolute()
        chosen, spec = settings.models[model], self.specs[model]
        inside = chosen.search if chosen.search_inside else 0
        if chosen.search and not chosen.search_inside:
            spec = searched_spec(self._search_folder(dataset, model)) or spec
        space, drawn = (chosen.space, json.dumps(self._space(model))) if inside else ("", "")
        about = [self.data[dataset].key, trainers.make(spec).signature, rho, run, settings.seed, settings.votes]
        return TrainingCell(
            folder=str(place / "cells" / dataset / model / f"rho-{rho_name(rho)}" / f"run-{run}"),
            key=digest(about, inside, drawn)[:16],
            data=str(place / "data" / dataset),
            dataset=dataset,
            model=model,
            trainer=spec,
            rho=rho,
            run=run,
            seed=settings.seed,
            votes=settings.votes,
            budget=inside,
            space=space,
            plugins=plugins_for(self.engine, settings),
        )

    def _cells(self, models: Sequence[str] = (), rho: Sequence[float] = ()) -> list[TrainingCell]:
        """All cells, or those of some models and values of rho."""
        settings = self.settings
        return [
            self._cell(dataset, model, one, run)
            for dataset in settings.datasets
            for model in models or settings.models
            for one in rho or settings.rho
            for run in range(1, settings.runs + 1)
        ]

    def _searches(self, models: Sequence[str] = ()) -> list[TrainingCell]:
        """The searches that are done once per model and data set, before any row is replaced; or those of some."""
        wanted = {name: one for name, one in self.settings.models.items() if name in (models or self.settings.models)}
        chosen = {name: one for name, one in wanted.items() if one.search and not one.search_inside}
        return [self._search(dataset, *one) for dataset in self.settings.datasets for one in chosen.items()]

    def _search(self, dataset: str, model: str, chosen: IEModel) -> TrainingCell:
        spec, budget, space = self.specs[model], chosen.search, chosen.space
        about = [self.data[dataset].key, trainers.make(spec).signature, budget, self._space(model), self.settings.seed]
        key = digest(about)[:16]
        cell = replace(self._cell(dataset, model, 0.0, 0), folder=str(self._search_folder(dataset, model)), key=key)
        return replace(cell, trainer=spec, budget=budget, space=space)

    def _search_folder(self, dataset: str, model: str) -> Path:
        return self.folder.absolute() / "search" / dataset / model

    def _do_searches(self, models: Sequence[str] = ()) -> None:
        """Do the searches that are not done, on the engine trial by trial."""
        for job in self._searches(models):
            if read_cell(job) is None:
                (Path(job.folder) / CELL).unlink(missing_ok=True)
                spec = search_options(job, sample(job)[0], Path(job.folder), self.engine.map)
                finish_cell(job, {"dataset": job.dataset, "model": job.model, "spec": spec})

    def _train(self, cells: Sequence[TrainingCell], stage: str = "trainings") -> list[dict[str, Any]]:
        return run_cells(self.engine, train_cell, cells, stage)

    def run(self) -> IEOutcome:
        """Train all that is not trained, and make the results."""
        self._do_searches()
        cells = self._cells()
        found = self._train(cells)
        with reporting_to(Progress()):
            made = self._analyse(cells, found)
        return IEOutcome(self.folder, self.settings, self.data, self._estimated(cells), made)

    def _analyse(self, cells: Sequence[TrainingCell], found: Sequence[Mapping[str, Any]]) -> "IEResults":
        """Make all tests, tables and figures, and write them to `results/`."""
        from .ie_figures import write
        from .ie_results import ResultSettings, results

        settings, data = self.settings, self.data
        judged = {name: self._judged(name) for name in data}
        places = {name: self.folder / "data" / name for name in data}
        known = ResultSettings(
            alpha=settings.alpha,
            replicates=settings.replicates,
            margin=settings.margin,
            seed=settings.seed,
            baseline=settings.baseline if len(settings.models) > 1 else "",
            sound={name: verdict_counts(one) for name, one in judged.items()},
            judged={name: one for name, one in judged.items() if one is not None},
            texts={name: both_wordings(places[name], one.task) for name, one in data.items()},
            spaces=dict(self._spaces()),
            profiles={name: train_profile(places[name], one.task) for name, one in data.items()},
        )
        made = results(cells_table(found), matched_table(cells), known)
        write(made, self.folder / "results")
        return made

    def estimate(self) -> IEOutcome:
        """Do the first training of each model that has none, which is kept, and estimate the time of the others.

        Where its options are searched for first, that is the first trial.
        """
        cells, searches = self._cells(), [job for job in self._searches() if read_cell(job) is None]
        for job in {job.model: job for job in reversed(searches)}.values():
            if first_trial_seconds(Path(job.folder)) is None:
                search_options(replace(job, budget=1), sample(job)[0], Path(job.folder), self.engine.map)
        done = {cell.model for cell in cells if read_cell(cell)} | {job.model for job in searches}
        first = {cell.model: cell for cell in reversed(cells) if cell.model not in done}
        self._train(list(first.values()), "first ones")
        return IEOutcome(self.folder, self.settings, self.data, self._estimated(cells))

    def _estimated(self, cells: Sequence[TrainingCell]) -> TrainingTime:
        """A cell takes as long as those of its model did, by the rows that they learn from and answer."""
        found = [(cell, read_cell(cell)) for cell in cells]
        searches = [job for job in self._searches() if read_cell(job) is None]
        rows = {name: sum(one.rows.values()) for name, one in self.data.items()}
        rates: dict[str, list[float]] = {}
        for cell, one in found:
            if one:
                rates.setdefault(cell.model, []).append(one["seconds"] / rows[cell.dataset])
        for job in searches:
            if (seconds := first_trial_seconds(Path(job.folder))) is not None:
                rates.setdefault(job.model, []).append(seconds / rows[job.dataset])
        left: dict[str, float] = dict.fromkeys(self.settings.models, 0.0)
        for cell, times in [*((cell, 1) for cell, one in found if not one), *((job, job.budget) for job in searches)]:
            known = rates.get(cell.model, [0.0])
            left[cell.model] += times * sum(known) / len(known) * rows[cell.dataset]
        each = {
            name: self.settings.votes + one.search * one.search_inside for name, one in self.settings.models.items()
        }
        once = sum(job.budget for job in self._searches())
        done = sum(each[cell.model] for cell, one in found if one) + once - sum(job.budget for job in searches)
        workers = max(1, self.engine.count)
        return TrainingTime(sum(each[cell.model] for cell in cells) + once, done, sum(left.values()) / workers, left)

    def scan(self) -> IEOutcome:
        """Train the baseline over the values of a scan, and propose values of rho for each data set."""
        baseline = self._baseline()
        self._do_searches([baseline])
        cells = self._cells([baseline], QUICK_SCAN if self.quick else SCAN)
        self._train(cells, "scan")
        alpha, names = self.settings.alpha, self.settings.datasets
        scans = tuple(scanned([cell for cell in cells if cell.dataset == name], alpha) for name in names)
        whole = pl.concat([one.table.select(pl.lit(one.dataset).alias("dataset"), pl.all()) for one in scans])
        write_table([whole], self.folder / "results" / "scan.csv")
        write_text(self.folder / "results" / "scan.svg", scan_chart(scans, baseline, alpha / self.settings.runs))
        return IEOutcome(self.folder, self.settings, self.data, self._estimated(cells), scans=scans)

    def _baseline(self) -> str:
        settings = self.settings
        plain = {name: trainers.make(spec).plugin.name for name, spec in self.specs.items()}
        cheap = [name for kind in CHEAP for name, one in plain.items() if one == kind]
        if not (chosen := settings.baseline or next(iter(cheap), "")):
            fix = f"add a model with the trainer {', '.join(CHEAP)}, or name one: baseline = ..."
            raise BadInput("no model is cheap enough for a scan", field="baseline", fix=fix)
        return chosen
