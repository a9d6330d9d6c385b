"""Running a study: a driver that takes stage after stage through a run folder, and `run`, which drives all of them."""

import platform
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
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
from ..frames import with_texts
from ..models.answering import refuse_wrong_models, run_canary, warn_unused_labels
from ..models.cache import Cache, cache_path
from ..models.model import label_map_of
from ..problem import Score
from ..progress import current
from ..registry import load_plugins, metrics, split_name
from ..report.page import write_report
from ..storage.files import fingerprint, write_json
from ..storage.run_folder import RunFolder
from ..validity.checking import warn_replaced_verdicts, warn_unknown_ids
from ..validity.funnel import scans
from . import stages
from .engines import Engine, InProcess
from .study import Study, read_study


@dataclass(frozen=True)
class Run:
    """The result of a study: its scores, and the folder with all data behind them."""

    folder: Path
    scores: list[Score]
    report: Path
    manifest: dict[str, Any]


def run(
    study: str | Path | dict[str, Any] | Study | None = None,
    *,
    out: str | Path | None = None,
    engine: Engine | None = None,
    fresh: bool = False,
    **overrides: Any,
) -> Run:
    """Run a study into a folder (default `runs/<name>`). What the folder already holds is not done again.

    With `fresh`, the models are asked everything anew, and the answers that were stored are replaced.

    >>> result = run(data=["everyday"], vary=["recorded"], models=["scripted"], canary=False, cache=None, out=tmp)
    >>> sorted({score.metric for score in result.scores})
    ['accuracy_original', 'accuracy_variants', 'flip_rate', 'label_agreement', 'p_c', 'p_c_distinct', 'pa']
    """
    if not isinstance(study, Study):
        study = read_study(study if study is not None else {}, **overrides)
    elif overrides:
        study = read_study(study.model_dump(), **overrides)
    load_plugins(study.plugins)  # of a Study that was made in Python
    folder = RunFolder(out or Path("runs") / study.name)
    source = Source(study.data, study.task, study.columns, study.labels, study.skip_bad)
    driver = Driver(study, source, folder, engine or InProcess(), fresh)
    with folder.locked(), _collected_warnings() as messages:
        driver.take_in()
        folder.begin(**_about(study, source))
        if study.vary:
            driver.vary(driver.survey(), folder.path / "unvaried.jsonl")
        else:
            driver.skip_vary()
        if not any(folder.manifest.get("unvaried", {}).values()):
            (folder.path / "unvaried.jsonl").unlink(missing_ok=True)
        driver.check()
        driver.answer()
        scores = driver.score()
        timings = {stage: round(seconds, 3) for stage, seconds in driver.timings.items()}
        # A warning given when a part was made still holds when the part is not made again.
        messages = list(dict.fromkeys([*folder.manifest.get("warnings", ()), *messages]))
        folder.note(timings=timings, warnings=messages)
        return Run(folder.path, scores, write_report(folder, scores), folder.manifest)


class Driver:
    """Takes the stages of a study through a run folder, shard by shard, on an engine.

    Each method is a stage; all they share is on disk. Commands from file to file drive some of them (`files`).
    """

    def __init__(self, study: Study, source: Source, folder: RunFolder, engine: Engine, fresh: bool = False):
        self.study, self.source, self.folder, self.engine, self.fresh = study, source, folder, engine, fresh
        self.task = source.chosen
        self.intake: dict[str, Any] = {}
        self.timings: dict[str, float] = {}
        stages.forget()
        self._refuse_wrong_names()

    def _refuse_wrong_names(self) -> None:
        """Refuse early: wrong names and options, checks that do not fit, a broken cache."""
        study = self.study
        for kind, names in (("generators", study.vary), ("metrics", study.metrics)):
            for name in names:
                if (kind, name) != ("metrics", "all"):
                    stages.make_cached(kind, name)
        self.checks = pipeline.bind_checks([stages.make_cached("checks", name) for name in study.check], self.task)
        refuse_wrong_models(study.models, study.label_map)
        if study.models and (path := cache_path(study.cache)):
            Cache(path).close()

    def take_in(self, rejected: Path | None = None) -> None:
        """Read and check all data before anything else is done. Bad rows are listed in the folder `rejected`."""
        with self._timed("problems"):
            current().start("problems")
            with self.source.rejected_to(rejected or self.folder.path):
                self.intake = stages.take_in(self.source, self.folder, self.study.shard)
            current().done()

    def survey(self) -> list[str]:
        """The specs of all generators; those that must see all texts first name the table that they learned."""
        with self._timed("variants"):
            return stages.survey(self.folder, self.study.vary, self.task, self.intake["rows"])

    def vary(self, generators: list[str], unvaried: str | Path = "") -> None:
        """Make variants; list the problems that a generator did not vary in the table `unvaried`, if named."""
        with self._timed("variants"):
            counts = self.run_stage("variants", generators, self.intake["originals"] * len(generators))
            found = stages.list_unvaried(self.folder, generators, unvaried)
            self._note(
                "vary", list(found.by_generator), variants=sum(made.rows for made in counts), unvaried=found.problems
            )
            self.folder.note(unvaried=found.by_generator, left_out=found.left_out)

    def skip_vary(self) -> None:
        """Continue with the variants of the data; remove those that an earlier study made in this folder."""
        if self.intake["rows"] == self.intake["originals"]:
            fix = "add a generator (vary = [...], --with), or use data with variants"
            raise BadInput("no variants", fix=fix)
        with self._timed("variants"):
            for stage in ("variants", "notes", "tables"):
                shutil.rmtree(self.folder.path / stage, ignore_errors=True)

    def check(self) -> None:
        """Put originals and variants together, with the verdict of each check."""
        with self._timed("buckets"):
            counts = self.run_stage("buckets", self.study.check, None if self.study.vary else self.intake["rows"])
            asked = stages.count_asked(self.folder)
            self._note(
                "check",
                [one.title for one in self.checks],
                dropped=sum(made.rows for made in counts) - asked,
                asked=asked,
            )
            warn_replaced_verdicts(self.checks, scans(self.folder.parts("problems")))
            warn_unknown_ids(self.checks, self.folder.parts("buckets"))
            self._refuse_wrong_groups()

    def _refuse_wrong_groups(self) -> None:
        """Refuse a column to group by that does not exist, before the models are asked."""
        if not self.study.by:
            return
        parts = self.folder.parts("buckets")
        known = {name for part in parts for name in pl.scan_parquet(part, glob=False).collect_schema()}
        known |= {"model", "bucket", "variant", "gold", "pred"}
        known -= {"id", "of", *self.task.fields}
        for name in self.study.by:
            if name not in known:
                raise UnknownName(f"no column {name!r} to group by; there are: {', '.join(sorted(known))}")

    def answer(self) -> None:
        """Ask the models, one after the other, what no check dropped."""
        private = self.folder.path / ".answers.sqlite"  # without a lasting cache: until the run is whole
        total = self.folder.manifest["counts"]["asked"]
        signatures, invariant, accepted, wanted = {}, {}, {}, set()
        answered: dict[str, dict[str, int | bool]] = {}
        labels: dict[str, tuple[str, ...]] = {}
        with self._timed("answers"), Cache(cache_path(self.study.cache) or private) as cache:
            for spec in self.study.models:
                model = stages.load_cached(spec, self.task, self._label_map(spec), self.fresh)
                if self.study.canary:
                    run_canary(model, cache)
                parts = self.run_stage("answers", [spec], total, str(cache.path))
                answered[model.name] = _count_answers(parts, self.fresh)
                labels[model.name] = model.model.labels
                stage = stages.answer_folder(model)
                accepted[model.name] = pipeline.warn_about_answers(model, scans(self.folder.parts(stage)))
                signatures[model.name], invariant[model.name] = model.signature, model.model.batch_invariant
                wanted.add(self.folder.path / stage)
        for leftover in self.folder.path.glob(".answers.sqlite*"):
            leftover.unlink()
        for other in (self.folder.path / "answers").iterdir():
            if other.is_dir() and other not in wanted:
                shutil.rmtree(other)  # of a model that is no longer in the study; the cache still has its answers
        warn_unused_labels(self.study.label_map, labels)
        self._note("models", signatures)
        self.folder.note(batch_invariant=invariant, answered=answered)
        if any(accepted.values()):
            self.folder.note(self_judged=accepted)

    def score(self) -> list[Score]:
        """Measure the answers of all models, and write `scores.json`."""
        study = self.study
        with self._timed("scores"):
            current().start("scores")
            scores = pipeline.score(
                self._read_answers(), study.metrics, by=study.by, task=self.task, seed=study.seed,
                replicates=study.replicates, confidence=study.confidence, interval=study.interval,
            )  # fmt: skip
            write_json(self.folder.path / "scores.json", [asdict(one) for one in scores])
            self._note("metrics", list(dict.fromkeys(one.signature for one in scores)))
            current().done()
        return scores

    def _read_answers(self) -> pl.DataFrame:
        """The answers of all models, with their texts where a metric of texts is named."""
        answers = self.folder.read("answers")
        if not any(metrics.takes(name, "suite") for name in self.study.metrics):
            return answers
        return with_texts(answers, self.folder.read("buckets"), self.task.fields, str(self.folder.path))

    def run_stage(
        self, stage: str, using: Sequence[str] = (), total: int | None = None, cache: str = ""
    ) -> list[stages.Made]:
        """Map one stage over all shards, on the engine; say of each part what was made."""
        study, folder, shards = self.study, str(self.folder.path), self.intake["shards"]
        label_map = self._label_map(using[0]) if stage == "answers" else ()
        about = (self.task, tuple(using), study.seed, label_map, cache, study.batch_size, tuple(study.plugins))
        current().start(stage, total)
        jobs = [stages.ShardJob(folder, number, *about, self.fresh) for number in range(shards)]
        counts = list(self.engine.map(stages.SHARD_FUNCTIONS[stage], jobs))
        for name in ("variants", "notes") if stage == "variants" else (stage,):
            self.folder.trim(name, shards)  # leftovers of a larger study
        current().done()
        return counts

    def _label_map(self, spec: str) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(label_map_of(self.study.label_map, split_name(spec)[0]).items()))

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.timings[stage] = self.timings.get(stage, 0) + time.perf_counter() - start

    def _note(self, stage: str, signatures: Any, **counts: int) -> None:
        known = self.folder.manifest
        signed = {**known.get("signatures", {}), stage: signatures}
        self.folder.note(signatures=signed, counts={**known.get("counts", {}), **counts})


def _count_answers(parts: Sequence[stages.Made], fresh: bool) -> dict[str, int | bool]:
    """Where the answers of a model came from: the cache, parts that this folder had already, or the model."""
    reused = [part for part in parts if part.reused]
    return {
        "answers": sum(part.rows for part in parts),
        "from_cache": sum(part.from_cache for part in parts),
        "from_folder": sum(part.rows for part in reused),
        "parts": len(parts),
        "parts_reused": len(reused),
        "fresh": fresh,
    }


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
