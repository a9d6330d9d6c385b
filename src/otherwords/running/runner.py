"""Running a study: stage after stage into one folder that can be resumed, inspected and shared."""

from __future__ import annotations

import platform
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from .. import pipeline
from .._version import __version__
from ..datasets.source import Source
from ..errors import BadInput, UnknownName
from ..models.answering import run_canary
from ..models.cache import Cache, default_path
from ..problem import Score, Task
from ..progress import current
from ..report.page import write_report
from ..storage.files import fingerprint, write_json
from ..storage.run_folder import RunFolder
from ..validity.checking import refuse_duplicate_names, refuse_unfit, warn_replaced_verdicts, warn_unknown_ids
from ..validity.funnel import scans
from . import stages, varying
from .engines import Engine, InProcess
from .study import Study, read_study


@dataclass(frozen=True)
class Run:
    """What a finished study leaves: its scores, and the folder with everything behind them."""

    folder: Path
    scores: list[Score]
    report: Path
    manifest: dict[str, Any]


def run(
    study: str | Path | dict[str, Any] | Study | None = None,
    *,
    out: str | Path | None = None,
    engine: Engine | None = None,
    **overrides: Any,
) -> Run:
    """Run a study into a folder (default `runs/<name>`). What the folder already holds is not done again.

    >>> result = run(data=["everyday"], vary=["recorded"], models=["scripted"], canary=False, cache=None, out=tmp)
    >>> sorted({score.metric for score in result.scores})
    ['accuracy_original', 'accuracy_variants', 'flip_rate', 'label_agreement', 'p_c', 'p_c_distinct', 'pa']
    """
    if not isinstance(study, Study):
        study = read_study(study if study is not None else {}, **overrides)
    elif overrides:
        study = read_study(study.model_dump(), **overrides)
    folder = RunFolder(out or Path("runs") / study.name)
    stages.forget()
    runner = _Runner(study, folder, engine or InProcess())
    with folder.locked(), _heard_warnings() as said:
        return runner.run(said)


class _Runner:
    """One pass through the stages. Each method is a stage; all they share is on disk."""

    def __init__(self, study: Study, folder: RunFolder, engine: Engine):
        self.study, self.folder, self.engine = study, folder, engine
        self.source = Source(study.data, study.task, study.columns, study.labels, study.skip_bad)
        self.task: Task = self.source.chosen
        self._refuse_wrong_names()
        self.timings: dict[str, float] = {}

    def _refuse_wrong_names(self) -> None:
        """Tell of a wrong name now, not after the last answer."""
        for kind, names in (
            ("generators", self.study.vary),
            ("checks", self.study.check),
            ("metrics", [name for name in self.study.metrics if name != "all"]),
        ):
            for name in names:
                stages.made(kind, name)
        judges = [stages.made("checks", name) for name in self.study.check]
        refuse_duplicate_names(judges)
        refuse_unfit(judges, self.task)
        stages.refuse_wrong_models(self.study.models)

    def run(self, said: list[str]) -> Run:
        folder = self.folder
        if self._shared_cache:
            Cache(self._shared_cache).close()  # one that cannot be opened is told of now
        intake = self._timed("problems", self._take_in)
        folder.begin(**_about(self.study, self.source))
        shards = range(intake["shards"])
        self._timed("variants", lambda: self._vary(shards, intake))
        asked = self._timed("buckets", lambda: self._check(shards))
        self._timed("answers", lambda: self._answer(shards, asked))
        scores = self._timed("scores", self._score)
        timings = {stage: round(seconds, 3) for stage, seconds in self.timings.items()}
        # What was warned of when a part was made holds for it still, though it was not made again.
        folder.note(timings=timings, warnings=list(dict.fromkeys([*folder.manifest.get("warnings", ()), *said])))
        return Run(folder.path, scores, write_report(folder, scores), folder.manifest)

    @property
    def _shared_cache(self) -> str | Path | None:
        """The answers that all runs share, unless the study wants none or others."""
        return default_path() if self.study.cache == "" else self.study.cache or None

    def _timed(self, stage: str, work: Any) -> Any:
        start = time.perf_counter()
        result = work()
        self.timings[stage] = time.perf_counter() - start
        return result

    def _take_in(self) -> dict[str, Any]:
        current().start("problems")
        with self.source.rejected_to(self.folder.path):
            intake = stages.take_in(self.source, self.folder, self.study.shard)
        current().done()
        return intake

    def _vary(self, shards: range, intake: dict[str, Any]) -> None:
        if not self.study.vary:
            if intake["rows"] == intake["originals"]:
                raise BadInput(
                    "nothing to compare",
                    fix="name a generator (vary = [...], --with), or data that holds variants",
                )
            for stage in ("variants", "notes", "tables"):
                shutil.rmtree(self.folder.path / stage, ignore_errors=True)
            (self.folder.path / "unvaried.jsonl").unlink(missing_ok=True)
            return
        specs = varying.prepare(self.folder, self.study.vary, self.task, intake["rows"])
        jobs = [self._job(i, tuple(specs)) for i in shards]
        counts = stages.run_stage(self.engine, "variants", jobs, intake["originals"] * len(specs))
        listed = self.folder.path / "unvaried.jsonl"
        unvaried = varying.list_unvaried(self.folder, specs, listed)
        if not any(unvaried.by_generator.values()):
            listed.unlink()
        self._note("vary", list(unvaried.by_generator), variants=sum(counts), unvaried=unvaried.problems)
        self.folder.note(unvaried=unvaried.by_generator, left_out=unvaried.left_out)

    def _check(self, shards: range) -> int:
        judges = [stages.made("checks", name) for name in self.study.check]
        jobs = [self._job(i, tuple(self.study.check)) for i in shards]
        counts = stages.run_stage(self.engine, "buckets", jobs)
        kept = stages.asked(self.folder)
        self._note("check", [one.title for one in judges], dropped=sum(counts) - kept, asked=kept)
        warn_replaced_verdicts(judges, scans(self.folder.parts("problems")))
        warn_unknown_ids(judges, self.folder.parts("buckets"))
        self._refuse_wrong_groups()
        return kept

    def _refuse_wrong_groups(self) -> None:
        """Tell of a column that is not there before the models are asked."""
        parts = self.folder.parts("buckets")
        known = {name for part in parts for name in pl.scan_parquet(part, glob=False).collect_schema()}
        known |= {"model", "bucket", "variant", "gold", "pred"}
        known -= {"id", "of", *self.task.fields}
        for name in self.study.by:
            if name not in known:
                raise UnknownName(f"no column {name!r} to group by; there are: {', '.join(sorted(known))}")

    def _answer(self, shards: range, total: int) -> None:
        private = self.folder.path / ".answers.sqlite"  # without a shared cache: until the run is whole
        signatures, invariant, accepted, wanted = {}, {}, {}, set()
        with Cache(self._shared_cache or private) as cache:
            for spec in self.study.models:
                jobs = [self._job(i, (spec,), str(cache.path)) for i in shards]
                model = stages.answerer(spec, self.task, jobs[0].label_map)
                if self.study.canary:
                    run_canary(model, cache)
                stages.run_stage(self.engine, "answers", jobs, total)
                stages.warn_truncated_parts(self.folder, model)
                accepted[model.name] = stages.self_judged(self.folder, model)
                signatures[model.name], invariant[model.name] = model.signature, model.model.batch_invariant
                wanted.add(Path(stages.answer_folder(model)).name)
        for leftover in self.folder.path.glob(".answers.sqlite*"):
            leftover.unlink()
        self._sweep_answers(wanted)
        self._note("models", signatures)
        self.folder.note(batch_invariant=invariant)
        if any(accepted.values()):
            self.folder.note(self_judged=accepted)

    def _sweep_answers(self, wanted: set[str]) -> None:
        """Remove the answers of models that are no longer in the study; the cache still has them."""
        for other in (self.folder.path / "answers").iterdir():
            if other.is_dir() and other.name not in wanted:
                shutil.rmtree(other)

    def _score(self) -> list[Score]:
        study = self.study
        current().start("scores")
        answers = self.folder.read("answers")
        scores = pipeline.score(
            answers, study.metrics, by=study.by, task=self.task, seed=study.seed,
            replicates=study.replicates, confidence=study.confidence, interval=study.interval,
        )  # fmt: skip
        write_json(self.folder.path / "scores.json", [asdict(one) for one in scores])
        self._note("metrics", list(dict.fromkeys(one.signature for one in scores)))
        current().done()
        return scores

    def _job(self, number: int, using: tuple[str, ...], cache: str = "") -> stages.Job:
        label_map = tuple(sorted(self.study.label_map.items()))
        return stages.Job(
            str(self.folder.path),
            number,
            self.task,
            using,
            self.study.seed,
            label_map,
            cache,
            self.study.batch_size,
        )

    def _note(self, stage: str, signatures: Any, **counts: int) -> None:
        known = self.folder.manifest
        signed = {**known.get("signatures", {}), stage: signatures}
        self.folder.note(signatures=signed, counts={**known.get("counts", {}), **counts})


def _about(study: Study, source: Source) -> dict[str, Any]:
    """The manifest's opening: everything that decides the result, and the versions it was made with."""
    inputs = []
    for bound in source.bound:
        files = [path for path in bound.function.files if path.exists()]
        listed = [{"name": f.name, "sha256": fingerprint(f), "bytes": f.stat().st_size} for f in files]
        inputs.append({"signature": bound.signature, "files": listed})
    packages = ("numpy", "polars", "onnxruntime", "tokenizers")
    return {
        "otherwords": __version__,
        "study": study.model_dump(),
        "seed": study.seed,
        "task": asdict(source.chosen),
        "inputs": inputs,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }


@contextmanager
def _heard_warnings() -> Iterator[list[str]]:
    """Collect what the user is warned of, without keeping it from the user."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        said: list[str] = []

        def hear(message: Warning | str, *rest: Any, **more: Any) -> None:
            said.append(str(message))
            show(message, *rest, **more)

        warnings.showwarning = hear
        yield said
