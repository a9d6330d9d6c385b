"""Running a study: `run` takes all stages through a run folder, and what comes out is a Run."""

import os
import platform
import warnings
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from .._version import __version__
from ..datasets.intake import warn_no_majority
from ..errors import ON_COMMAND_LINE, BadInput, OtherwordsError, caller_level
from ..models.answering import ASKED_AGAIN, with_templates
from ..problem import Score
from ..report.page import write_report
from ..scoring.gates import GateResult, check
from ..scoring.requirements import refuse_unknown, refuse_unlabelled
from ..scoring.results import Results
from ..storage.in_memory import AnyTable
from ..storage.run_folder import RunFolder
from ..storage.specs import split_name
from .driver import Driver
from .engines import checked, closing
from .pool import Engine
from .readiness import (
    OpenedData,
    open_data,
    refuse_own_files,
)
from .study import Study, read_study

#: What may have a part in a result.
_PACKAGES = ("numpy", "polars", "onnxruntime", "tokenizers", "torch", "transformers", "spacy")


@dataclass(frozen=True, repr=False)
class Run:
    """The result of a study: its scores, how its gates went, and the folder with all data behind them.

    Wherever a function takes a run folder, it takes the Run.
    """

    folder: Path
    scores: Results[Score]
    report: Path
    manifest: dict[str, Any]
    gates: list[GateResult] = field(default_factory=list)

    def answers(self) -> pl.LazyFrame:
        """The answers of all models, as a table that is read when it is collected."""
        return RunFolder(self.folder).scan("answers")

    def open(self) -> None:
        """Open the report in the browser."""
        if not webbrowser.open(self.report.resolve().as_uri()):
            warnings.warn(f"no browser was found; the report is {self.report}", stacklevel=caller_level())

    def to_polars(self) -> pl.DataFrame:
        """The scores as a Polars frame."""
        return self.scores.to_polars()

    def to_pandas(self) -> Any:
        """The scores as a pandas frame; needs the extra `pandas`."""
        return self.scores.to_pandas()

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"{self.scores!r}\nreport: {self.report}"

    def _repr_html_(self) -> str:
        return f"{self.scores._repr_html_()}\n<p>report: <code>{escape(str(self.report))}</code></p>"


def run(
    study: str | Path | dict[str, Any] | Study | AnyTable | None = None,
    *,
    out: str | Path | None = None,
    engine: Engine | str | None = None,
    fresh: bool = False,
    require: str | Sequence[str] = (),
    **overrides: Any,
) -> Run:
    """Run a study into a folder. Finished work in the folder is reused.

    `study` is a study file, settings, a table of data, or the folder of an earlier run (or its Run), which is then
    continued; settings given by name replace those in it. Data may be tables. Without `out`, the folder is `runs/`, the
    name of the study and six digits of its content, so that the same study is continued and another one has another
    folder. Before any work is done, everything that the study names is looked up and tried; so are its gates, or those
    in `require` instead. A gate that fails raises nothing here: see `Run.gates`.

    With `fresh`, the models are asked everything anew, and the answers that were stored are replaced. Without a cache
    (`cache=None`), answers are of one run: they are used again where it was interrupted, or is continued by its folder.

    `engine` is "in-process", "processes" (a worker for each core), "ray" or "ray://HOST:PORT" (one for each core or GPU
    of a cluster), or an `Engine` of your own.

    >>> result = run(data=["everyday"], vary=["recorded"], models=["scripted"], canary=False, cache=None, out=tmp)
    >>> sorted({score.metric for score in result.scores})
    ['accuracy_drop', 'accuracy_original', 'flip_rate', 'label_agreement', 'p_c', 'p_c_distinct', 'pa']
    """
    overrides |= {"require": require} if require else {}
    overrides |= {"engine": engine} if isinstance(engine, str) else {}
    earlier = RunFolder(study) if isinstance(study, (str, os.PathLike)) and Path(study).is_dir() else None
    study = read_study(study, **overrides)
    refuse_unknown(study.require, study.metrics)
    if str(out) == "-":
        raise BadInput("a run is a folder", where="-", fix="name a folder with -o; score FOLDER -o - prints its scores")
    folder = RunFolder(out or (earlier.path if earlier else study.folder))
    folder.refuse_foreign()
    opened = open_data(study, earlier, overrides)
    refuse_own_files(study, opened, folder)
    chosen = study.make_engine() if engine is None or isinstance(engine, str) else checked(engine)
    driver = Driver(study, opened.source, folder, chosen, fresh)
    driver.continues = earlier is not None and "cache" not in overrides
    if out:
        _warn_replaced(folder, study, opened)
    _warn_removed(folder, study)
    with folder.locked(), folder.naming_damage(), _collected_warnings() as messages, closing(chosen):
        scores = _drive(driver, opened)
        timings = {stage: round(seconds, 3) for stage, seconds in driver.timings.items()}
        # A warning given when a part was made still holds when the part is not made again.
        before = [one for one in folder.manifest.get("warnings", ()) if ASKED_AGAIN not in one]
        messages = list(dict.fromkeys([*before, *messages]))
        gates = check(study.require, scores)
        folder.note(timings=timings, warnings=messages, **({"gates": [asdict(one) for one in gates]} if gates else {}))
        report = write_report(folder, scores)
        driver.forget_private_answers()
        return Run(folder.path, scores, report, folder.manifest, gates)


def _drive(driver: Driver, opened: OpenedData) -> Results[Score]:
    """Take all stages through the run folder, the checks before them, and return the scores."""
    study, folder = driver.study, driver.folder
    before = folder.manifest.get("intake")
    driver.take_in(continued=opened.before == folder.path)
    if not ON_COMMAND_LINE.get():  # which prints the counts
        _warn_left_out(driver.intake, folder)
    if driver.intake != before:  # other data: what was found for the earlier ones goes
        folder.begin(**_about(study, opened))
    if driver.intake.get("unlabelled"):
        refuse_unlabelled(study.require, study.metrics, study.grouped)
    driver.refuse_no_variants()
    driver.get_ready()
    folder.begin(**_about(study, opened))
    study.write(folder.path)
    if study.vary:
        driver.vary(driver.survey(), folder.path / "unvaried.jsonl")
    else:
        driver.skip_vary()
    if not any(folder.manifest.get("unvaried", {}).values()):
        (folder.path / "unvaried.jsonl").unlink(missing_ok=True)
    driver.check()
    driver.refuse_no_kept_variants()
    driver.answer()
    return driver.score()


def _warn_left_out(intake: dict[str, Any], folder: RunFolder) -> None:
    """Warn of rows of the data that have no part in the run."""
    if intake["rejected"]:
        warnings.warn(
            f"left out {intake['rejected']} rows; see {folder.path / 'rejected.jsonl'}", stacklevel=caller_level()
        )
    warn_no_majority(intake["no_majority"])


def _warn_replaced(folder: RunFolder, study: Study, opened: OpenedData) -> None:
    """Warn, before it goes, of a study of other data, of other names and content, in the folder that the user named."""
    manifest = folder.manifest
    before = manifest.get("study", {}).get("data", study.data)
    if before != study.data and manifest.get("inputs") != opened.inputs:
        names = ", ".join(map(str, before))
        warnings.warn(
            f"{folder.path} held another study (data: {names}): its results will be replaced", stacklevel=caller_level()
        )


def _warn_removed(folder: RunFolder, study: Study) -> None:
    """Warn of models that an earlier study had in this folder, and the new one has not, before their answers go."""
    before = folder.manifest.get("study", {})
    kept = {split_name(spec)[0] for spec in study.asked}
    specs: Sequence[str] = before.get("models", ())
    with suppress(OtherwordsError):  # a template that is no longer there
        specs = with_templates(specs, before.get("templates", ()))
    removed = [name for spec in specs if (name := split_name(spec)[0]) not in kept]
    if removed and folder.inner("answers"):
        stored = "" if before.get("cache", "") is None else ", not from the cache"
        verb, whose = ("is", "its") if len(removed) == 1 else ("are", "their")
        message = f"{', '.join(removed)} {verb} no longer in the study: {whose} answers go from {folder.path}"
        warnings.warn(message + stored, stacklevel=3)


def _about(study: Study, opened: OpenedData) -> dict[str, Any]:
    """The manifest's opening: everything that decides the result, and the versions it was made with."""
    return {
        "otherwords": __version__,
        "study": study.shown(),
        "seed": study.seed,
        "task": asdict(opened.source.chosen),
        "inputs": opened.inputs,
        "versions": {"python": platform.python_version(), **_installed()},
    }


@cache
def _installed() -> dict[str, str]:
    """The versions of packages as they are installed, without importing any."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of the block; the user sees them, too."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        messages: list[str] = []

        def collect(message: Warning | str, *rest: Any, **more: Any) -> None:
            messages.append(str(message))
            show(message, *rest, **more)

        warnings.showwarning = collect
        yield messages
