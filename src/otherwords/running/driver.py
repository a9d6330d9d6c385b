"""The driver: takes the stages of a study, one after the other, through a run folder, on an engine."""

import re
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from .. import pipeline
from ..datasets.source import SOURCE, Source
from ..errors import BadInput, WorkerLost, caller_level, shorten
from ..frames import MARKS, is_unmarked, with_texts
from ..language_models.budget import added, spending
from ..language_models.replies import replies_path
from ..models.answering import refuse_wrong_models, warn_unused_labels
from ..models.cache import Cache, cache_path
from ..models.model import Answerer, label_map_of
from ..models.repeating import is_noisy, refuse_wrong_repeats, repeats_of
from ..problem import Repeat, Score
from ..progress import current
from ..registry import KINDS, is_local, metrics, plugin_files
from ..scoring.grouped import GroupWeights, averages, family_means, weigh_groups
from ..scoring.requirements import missing_metrics, needs_anytime
from ..scoring.results import Results
from ..scoring.select import IntervalSettings, choose, columns_needed, need_texts, read_collapsed
from ..significance.anytime import Plan
from ..storage.files import write_json
from ..storage.places import Place
from ..storage.run_folder import SHARDS, RunFolder, answer_folder, read_part
from ..storage.specs import split_name
from ..validity.checking import warn_replaced_verdicts, warn_unknown_ids
from ..validity.funnel import funnel, scans
from ..validity.mutual_entailment import Counts, judged_by
from ..variants.generating import notes_table, refuse_repeated, refuse_wrong_fields
from . import asking, shards, stages
from .delegating import Answered, AskJob, delegate
from .engines import InProcess
from .exchange import clear_place, map_elsewhere
from .pool import Engine
from .readiness import (
    all_need_variants,
    count_variants,
    ready_models,
    refuse_unmeasurable,
    refuse_wrong_groups,
)
from .study import Study

#: The cache of a run without a lasting one.
PRIVATE = ".answers.sqlite"
#: Bytes of a suite that are kept in memory from one model to the next.
_SHELF = 64_000_000
#: A plug-in that asks a language model on a server.
ASKS_SERVER = re.compile(r"\bapi(\.v\d+)?\s*[:(]")


class Driver:
    """Takes the stages of a study through a run folder, shard by shard, on an engine.

    Each method is a stage; all they share is on disk. Commands from file to file drive some of them (`files`).
    """

    def __init__(
        self,
        study: Study,
        source: Source,
        folder: RunFolder,
        engine: Engine,
        fresh: bool = False,
        dry_run: bool = False,
    ):
        self.study, self.source, self.folder, self.engine, self.fresh = study, source, folder, engine, fresh
        self.task = source.chosen
        self.intake: dict[str, Any] = {}
        self.timings: dict[str, float] = {}
        self.continues = False
        self.start_spending(dry_run=dry_run)
        self._spent_before: dict[str, Any] | None = None
        self._known: dict[str, Answerer] = {}  # models that workers are asked for, without what was loaded
        stages.forget()
        with spending(self.budget):  # a writer or judge on a server may find out what that can do
            self._refuse_wrong_names()

    def start_spending(self, *, dry_run: bool = False) -> None:
        """Begin with nothing spent. In a dry run, requests are counted, and none is sent."""
        self.budget = self.study.make_budget(dry_run=dry_run)
        self.budget.saving(self._note_spent)

    def _refuse_wrong_names(self) -> None:
        """Refuse early: wrong names and options, generators, checks and metrics that cannot be made."""
        study = self.study
        for kind, names in (("generators", study.vary), ("metrics", study.metrics)):
            for name in names:
                if (kind, name) != ("metrics", "all"):
                    stages.make_cached(kind, name)
        refuse_repeated(stages.make_cached("generators", name) for name in study.vary)
        refuse_wrong_fields(study.vary, self.task)
        refuse_wrong_repeats(study.repeats, study.repeat_ways)
        self.checks = pipeline.bind_checks([stages.make_cached("checks", name) for name in study.check], self.task)
        refuse_wrong_models(study.asked, study.label_map, self.task)

    def take_in(self, rejected: Path | None = None, *, continued: bool = False) -> None:
        """Read and check all data before anything else is done. Bad rows are listed in the folder `rejected`.

        A run that is `continued` without its data keeps its problems as they are. A broken cache is refused first; not
        earlier, because it may be in the run folder, which is ours only now.
        """
        if self.study.asked and not self.budget.dry_run and (path := cache_path(self.study.cache)):
            Cache(path).close()
        named = self._named_for_workers()
        files = [str(file) for kind, spec in named for file in KINDS[kind].files(spec)]
        self.engine.prepare(str(self.folder.path.absolute()), files, self.plugins, named)
        with self._timed("problems"):
            current().start("problems")
            with self.source.rejected_to(rejected or self.folder.path):
                if not continued or self.study.shard != self.folder.manifest["study"]["shard"]:
                    size = self.study.shard or stages.choose_shard(self.study.vary, self.study.check)
                    self.intake = shards.take_in(self.source, self.folder, size)
                else:
                    self.intake = shards.keep_problems(self.folder)
            current().done()

    def refuse_no_variants(self) -> None:
        """Refuse a study without generators whose data have no variants, before any model is asked."""
        if not self.study.vary and self.intake["rows"] == self.intake["originals"]:
            fix = "add a generator (vary = [...], --with), or use data with variants"
            raise BadInput("no variants", fix=fix)

    def get_ready(self) -> None:
        """Find out what would stop the work later: wrong groups, models that do not fit, metrics that lack answers."""
        study = self.study
        with spending(self.budget):  # generators are tried
            if study.grouped:
                refuse_wrong_groups(study, self.folder, self.task, self.checks)
            # Without a lasting cache not the folder's: that one says that the answering was begun.
            with self._timed("answers"), Cache(cache_path(study.cache)) as cache:
                gives = ready_models(study, self._load, cache)
            refuse_unmeasurable(study, self.folder, self.task, gives)

    def survey(self) -> list[str]:
        """The specs of all generators; those that must see all texts first name the table that they learned."""
        with self._timed("variants"):
            return stages.survey(self.folder, self.study.vary, self.task, self.intake["rows"])

    def vary(self, generators: list[str], unvaried: str | Path = "") -> None:
        """Make variants; list the problems that a generator did not vary in the table `unvaried`, if named."""
        with self._timed("variants"):
            counts = self.run_stage("variants", generators, self.intake["originals"] * len(generators))
            found = stages.list_unvaried(self.folder, generators, unvaried)
            about = {"unvaried": found.by_generator, "left_out": found.left_out}
            made = sum(part.rows for part in counts)
            self._note("vary", list(found.by_generator), about, variants=made, unvaried=found.problems)

    def skip_vary(self) -> None:
        """Continue with the variants of the data; remove those that an earlier study made in this folder."""
        with self._timed("variants"):
            for stage in ("variants", "notes", "tables"):
                self.folder.remove(stage)

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
            if self.study.grouped:  # what only some generator adds is known now
                refuse_wrong_groups(self.study, self.folder, self.task, self.checks, "buckets")

    def refuse_no_kept_variants(self) -> None:
        """Before any model is asked: refuse where no variant was made and kept, and all metrics are about variants."""
        if all_need_variants(self.study) and count_variants(self.folder) == 0:
            self._refuse_all_dropped()
            fix = "use other generators (--with), or add a metric of originals, such as accuracy_original"
            raise BadInput("no problem could be varied", where=str(self.folder.path), fix=fix)

    def _open_cache(self) -> Cache:
        """The answer cache; without a lasting one, that of the folder, until the run is whole.

        Where the folder has none, its answers are of an earlier run, which was whole: they are asked for again, unless
        that run is continued.
        """
        path, private = cache_path(self.study.cache), self.folder.path / PRIVATE
        if path is None and not self.continues and not private.exists():
            self.folder.remove("answers")
        return Cache(path or private)

    def forget_private_answers(self) -> None:
        """Delete the cache of a run without a lasting one, and what workers left: the run is whole."""
        shutil.rmtree(self.folder.path / SHARDS, ignore_errors=True)
        clear_place(self.engine)
        private = self.folder.path / PRIVATE
        for name, end in product((private.name, replies_path(private).name), ("", "-wal", "-shm")):
            (self.folder.path / f"{name}{end}").unlink(missing_ok=True)

    def answer(self, plan: Plan | None = None) -> None:
        """Ask the models what no check dropped. They are `ready` already.

        Light ones answer together, shard by shard; others one after the other, because two may not fit into memory.
        With a `plan`, each is asked until its rule is answered.
        """
        asked: dict[str, _Asked] = {}
        with self._timed("answers"), self._open_cache() as cache:
            groups = [[spec] for spec in self.study.asked] if plan else self._together()
            shelf = asking.Shelf(_SHELF if len(groups) > 1 else 0)
            for specs in groups:
                asked |= dict(zip(specs, self._ask(specs, cache, plan, shelf), strict=True))
        models = [asked[spec] for spec in self.study.asked]
        wanted = {self.folder.path / one.stage for one in models}
        for other in self.folder.inner("answers"):
            if other not in wanted:  # of a model that is no longer in the study; the cache still has its answers
                self.folder.remove(f"answers/{other.name}")
        warn_unused_labels(self.study.label_map, {one.name: one.labels for one in models})
        self._note("models", {one.name: one.signature for one in models})
        stopped = {"stopped": {one.name: one.stopped for one in models}} if plan else {}
        invariant, answered = ({one.name: getattr(one, what) for one in models} for what in ("invariant", "answered"))
        self.folder.note(batch_invariant=invariant, answered=answered, **stopped)
        repeated = {one.name: dict(one.again) for one in models if one.again}
        self.folder.note(repeated=repeated, noise_unknown=[one.name for one in models if one.noise_unknown])
        if any(one.accepted for one in models):
            self.folder.note(self_judged={one.name: one.accepted for one in models})

    def _together(self) -> list[list[str]]:
        """The models that are asked together: all light ones, each of the others by itself, in the study's order."""
        known = {spec: (spec, self.task, self._label_map(spec), self.fresh) for spec in self.study.asked}
        light = [spec for spec in known if stages.is_light(*known[spec])]
        alone = [[spec] for spec in known if spec not in light]
        return ([light, *alone] if light[:1] == self.study.asked[:1] else [*alone, light]) if light else alone

    def _ask(self, specs: Sequence[str], cache: Cache, plan: Plan | None, shelf: asking.Shelf) -> Iterator["_Asked"]:
        """Ask some models, and say how each of them answered."""
        if plan:
            model = self._load(specs[0])
            settings = (self.study.batch_size, self._repeats(model))
            part, ended = asking.answer_until(self.folder, model, plan, cache, *settings)
            parts, stopped = [[part]], str(ended) if ended.known else ""
        else:
            parts, stopped = self._run_models(specs, str(cache.path), shelf), ""
        for spec, some in zip(specs, parts, strict=True):
            model = self._load(spec)
            stage = answer_folder(model.name, model.signature)
            accepted = pipeline.warn_about_answers(model, scans(self.folder.parts(stage)))
            counts = _count_answers(some, self.fresh)
            for name, count in (("unreadable", pipeline.count_unread), ("withheld", pipeline.count_withheld)):
                if found := count(scans(self.folder.parts(stage))):
                    counts[name] = found
            about = (model.signature, model.model.labels, model.model.batch_invariant)
            again = Counter(one.way for one in self._repeats(model))
            yield _Asked(model.name, *about, stage, counts, accepted, stopped, again, is_noisy(model) and not again)
            del model  # before the next is loaded

    def score(self) -> Results[Score]:
        """Measure the answers of all models, and write `scores.json`."""
        study = self.study
        with self._timed("scores"):
            current().start("scores")
            anytime = needs_anytime(study.require)
            settings = IntervalSettings(study.seed, study.replicates, study.confidence, study.interval, anytime)
            try:
                scores = pipeline.scored(
                    self._read_answers(),
                    study.metrics,
                    by=[*study.by, *(name for name in self._grid if name not in study.by)],
                    task=self.task,
                    settings=settings,
                    require=study.require,
                    more=self._required(),
                    checked=True,
                )
            except BadInput:
                self._refuse_all_dropped()
                raise
            if self._grid:
                scores += averages(scores, self._weights())
            scores += family_means(scores, study.by)
            write_json(self.folder.path / "scores.json", [asdict(one) for one in scores])
            self._note("metrics", list(dict.fromkeys(one.signature for one in scores)))
            current().done()
        return scores

    def _refuse_all_dropped(self) -> None:
        """Where nothing can be measured because the checks dropped every variant, say so, and why they did."""
        found = funnel(*scans(self.folder.parts("buckets")))
        if found and found.made and not found.kept:
            checks = "; ".join(
                f"{one.name}: {', '.join(f'{count:,} × {reason}' for reason, count in one.reasons) or one.dropped}"
                for one in found.checks
                if one.dropped
            )
            message = f"no variant is left: the checks dropped all {found.made:,} ({checks})"
            fix = "use other checks (--check) or other generators (--with)"
            raise BadInput(message, where=str(self.folder.path), fix=fix)

    @cached_property
    def _grid(self) -> list[str]:
        """The column that says which data set a problem is from, where several have problems: it is scored by it, too.

        Contrasts are scored by suite anyway, and files of variants alone have no problems.
        """
        found = self.folder.scan("problems")
        columns = found.collect_schema()
        if len(self.study.data) < 2 or SOURCE not in columns:
            return []
        sources = found.filter(pl.col("of").is_null(), is_unmarked(columns, *MARKS)).select(
            pl.col(SOURCE).drop_nulls().n_unique()
        )
        return [SOURCE] if sources.collect().item() > 1 else []

    def _weights(self) -> GroupWeights:
        """What each data set weighs in averages: its number of problems."""
        found = self.folder.scan("problems")
        problems = found.filter(pl.col("of").is_null(), is_unmarked(found.collect_schema(), *MARKS))
        table = problems.select(
            pl.col("id").alias("bucket"), pl.lit(None, pl.String).alias("variant"), "cluster", SOURCE
        )
        return weigh_groups(table.collect(), SOURCE, {})

    def _required(self) -> list[str]:
        """The metrics that gates are about and the study does not name."""
        return missing_metrics(self.study.require, choose(self.study.metrics)[0])

    def _read_answers(self) -> pl.DataFrame:
        """The answers of all models: collapsed, where metrics need no more; with texts, where one needs them."""
        study, chosen = self.study, [*choose(self.study.metrics)[0], *map(metrics.make, self._required())]
        parts = self.folder.batches("answers")
        by = [*study.grouped, *self._grid]
        if (distinct := read_collapsed(parts, chosen, by, self.task.labels)) is not None:
            return distinct
        answers = self.folder.read("answers", lambda names: columns_needed(names, chosen, by))
        if not need_texts([*study.metrics, *self._required()]):
            return answers
        texts = self.folder.read("buckets", lambda names: ["id", *(one for one in names if one in self.task.fields)])
        return with_texts(answers, texts, self.task.fields, str(self.folder.path))

    def run_stage(self, stage: str, using: Sequence[str] = (), total: int | None = None) -> list[stages.Made]:
        """Map one stage over all shards, on the engine; say of each part what was made."""
        current().start(stage, total)
        counts, engine, jobs = [], self._engine_for(stage, using), self._jobs(stage, using)
        give_up = partial(self._give_up_shard, stage)
        for made in (
            map_elsewhere(engine, stage, jobs, give_up)
            if engine.shared
            else engine.map(stages.SHARD_STAGES[stage].function, jobs, give_up)
        ):
            stages.merge_accounts(using, made)
            counts.append(made._replace(accounts=()))
        for name in stages.SHARD_STAGES[stage].results:
            self.folder.trim(name, self.intake["shards"])  # leftovers of a larger study
        current().done()
        return counts

    def _run_models(self, specs: Sequence[str], cache: str, shelf: asking.Shelf) -> list[list[stages.Made]]:
        """Let models answer all shards, and say of each model's parts what was made.

        In this process, they answer one shard after the other, which is read once for all of them.
        """
        jobs = [list(self._jobs("answers", [spec], cache)) for spec in specs]
        engines = [self._engine_for("answers", [spec]) for spec in specs]
        times = sum(1 + len(self._repeats(self._load(spec))) for spec in specs)
        current().start("answers", times * self.folder.manifest["counts"]["asked"])
        if all(type(one) is InProcess for one in engines):
            made = asking.answer_shards([job for some in zip(*jobs, strict=True) for job in some], shelf)
            parts = [made[place :: len(specs)] for place in range(len(specs))]
        else:
            parts = [self._delegate(*one) for one in zip(specs, engines, jobs, strict=True)]
        self.folder.trim("answers", self.intake["shards"])
        current().done()
        return parts

    def _delegate(self, spec: str, engine: Engine, jobs: Sequence[stages.ShardJob]) -> list[stages.Made]:
        if type(engine) is InProcess:
            return asking.answer_shards(jobs)
        model = stages.release(spec, self.task, self._label_map(spec), self.fresh)
        self._known[spec] = model
        place = engine.shared or str(self.folder.path.absolute() / SHARDS)
        return delegate(engine, model, jobs, place, self._give_up_texts)

    def _give_up_shard(self, stage: str, job: Any, reason: str) -> stages.Made:
        """No worker survived a shard: stop, or with --skip-bad go on without it, as if nothing could be made of it."""
        problems = read_part(self.folder.part("problems", job.number))
        first = f"{reason}; its first row is {problems['id'][0]!r}"
        if not self.source.skip_bad:
            raise WorkerLost(f"{first}; --skip-bad continues without the shard")
        for name in stages.SHARD_STAGES[stage].results:
            nothing = notes_table([]) if name == "notes" else problems.clear()
            self.folder.write(name, job.number, asking.unfit(""), nothing)
        warnings.warn(f"left out {problems.height:,} problems: {first}", stacklevel=caller_level())
        return stages.Made(0, given_up=True)

    def _give_up_texts(self, job: AskJob, reason: str) -> Answered:
        """The same for texts that a model was asked about: its answers lack their problems."""
        texts = Place(job.place).read(job.name)
        shown = "" if texts is None else ", ".join(f"{name} {shorten(texts[name][0])}" for name in self.task.fields)
        first = f"{reason}; its first row is {shown}"
        if not self.source.skip_bad:
            raise WorkerLost(f"{first}; --skip-bad continues without the problems of the shard")
        count = 0 if texts is None else texts.height
        name = split_name(job.using[0])[0]
        warnings.warn(f"{name}: left out the problems of {count:,} texts: {first}", stacklevel=caller_level())
        return Answered("", given_up=True)

    def _jobs(self, stage: str, using: Sequence[str], cache: str = "") -> Iterator[stages.ShardJob]:
        study, folder = self.study, str(self.folder.path.absolute())
        label_map = self._label_map(using[0]) if stage == "answers" else ()
        about = (self.task, tuple(using), study.seed, label_map, cache, study.batch_size, self.plugins, self.fresh)
        again = (study.repeats, tuple(study.repeat_ways))
        return (stages.ShardJob(folder, number, *about, *again) for number in range(self.intake["shards"]))

    @property
    def plugins(self) -> tuple[str, ...]:
        """The files of plug-ins that workers load: the study's, and others that this process has."""
        loaded = () if isinstance(self.engine, InProcess) else plugin_files()
        return tuple(dict.fromkeys([*self.study.plugins, *loaded]))

    def _named_for_workers(self) -> list[tuple[str, str]]:
        """The kind and spec of all that workers make, too."""
        study = self.study
        kinds = (("generators", study.vary), ("checks", study.check), ("models", study.asked))
        return [(kind, spec) for kind, specs in kinds for spec in specs if not is_local(kind, spec)]

    def _engine_for(self, stage: str, using: Sequence[str]) -> Engine:
        """The engine; but this process for what cannot travel, or would be slower elsewhere."""
        if isinstance(self.engine, InProcess):
            return self.engine
        kind = {"variants": "generators", "answers": "models"}.get(stage, "checks")
        if stage != "answers" and any(ASKS_SERVER.search(spec) for spec in using):
            return InProcess()  # limits of requests and costs are kept here
        if local := next((spec for spec in using if is_local(kind, spec)), ""):
            fix = "put it in a file: python:FILE.py:NAME, or --plugin FILE.py (plugins=[...])"
            message = f"{split_name(local)[0]} exists in this process only, and is not given to workers; {fix}"
            warnings.warn(message, stacklevel=caller_level())
            return InProcess()
        if stage == "answers":
            answerer = self._load(using[0])
            model = answerer.model
            if model.by_driver or self._repeats(answerer):
                return InProcess()  # limits are kept here; and workers are asked each text once
            alone = model.uses_all_cores and self.engine.shares_cores
            return InProcess() if alone or (model.uncacheable and self._models_judge()) else self.engine
        given = [spec in self.study.vary for spec in using] if stage == "variants" else [True]
        surveyed = not all(given) if self.engine.shared else not any(given)
        return InProcess() if surveyed else self.engine  # what was learned of the texts is here, and in the run folder

    def _models_judge(self) -> bool:
        """Whether models judge variants themselves: they are asked twice, and the first answers must be stored."""
        return any(judged_by(one.collect_schema()) for one in scans(self.folder.parts("buckets")))

    def _load(self, spec: str) -> Answerer:
        if spec in self._known:
            return self._known[spec]
        return stages.load_cached(spec, self.task, self._label_map(spec), self.fresh)

    def _repeats(self, model: Answerer) -> list[Repeat]:
        return repeats_of(model, self.study.repeats, self.study.repeat_ways)

    def _label_map(self, spec: str) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(label_map_of(self.study.label_map, split_name(spec)[0]).items()))

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            with spending(self.budget):
                yield
        finally:
            self._note_spent()
        self.timings[stage] = self.timings.get(stage, 0) + time.perf_counter() - start

    def _note_spent(self) -> None:
        """Write the ledger into the manifest: what this call spent on each model, and all calls on this folder."""
        spent = self.budget.as_json()
        if not spent:
            return
        if self._spent_before is None:
            self._spent_before = dict(self.folder.manifest.get("spent", {}).get("in_all", {}))
        before = self._spent_before
        together = {name: added(before.get(name, {}), spent.get(name, {})) for name in {**before, **spent}}
        self.folder.note(spent={"now": spent, "in_all": together})

    def _note(
        self, stage: str, signatures: Any, about: Mapping[str, Any] = MappingProxyType({}), **counts: int
    ) -> None:
        known = self.folder.manifest
        signed = {**known.get("signatures", {}), stage: signatures}
        self.folder.note(signatures=signed, counts={**known.get("counts", {}), **counts}, **about)


class _Asked(NamedTuple):
    """How a model answered: what the manifest says of it, and the folder of its answers."""

    name: str
    signature: str
    labels: tuple[str, ...]
    invariant: bool
    stage: str
    answered: dict[str, int | bool]
    accepted: Counts
    stopped: str
    again: Mapping[str, int]
    noise_unknown: bool


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
