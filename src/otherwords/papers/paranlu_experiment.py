"""ParaNLU's protocol (Srikanth et al. 2024) on models and data of one's own.

Where a training set is named, it is divided, and problems are selected from a part of it, evenly over the deciles of
one model's confidence (section 4.1: `paranlu_training`). Each problem has paraphrases, written by people or by a
generator, and all models answer all of them (section 5). Their test sets undo the selection: corrected values weigh the
deciles as they occur there. Automatic paraphrases of the same problems are compared with the given ones (section 6),
problems are divided by whether a partial-input model is right (section 7), and models at several stages of training
make curves in the plane of accuracy and consistency (section 8).
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from ..errors import BadInput
from ..frames import join_pieces, kept
from ..pipeline import check
from ..problem import Task
from ..registry import checks, generators, metrics
from ..running.driver import ASKS_SERVER
from ..storage.files import digest, fingerprint
from ..storage.run_folder import RunFolder, is_whole, key_of, read_part
from ..storage.tables import write
from .data import PaperData, draw_rows, read_rows, refuse_blank, write_rows
from .dry_run import JUDGED, PaperEstimate, estimate_checks
from .experiment import finish_cell, in_setting, read_cell
from .paper_page import PaperResults
from .paranlu_settings import EMBEDDER, POOL, REST, ParanluSettings, ParaphrasedData
from .paranlu_tables import (
    AUTOMATIC,
    GIVEN,
    Distances,
    ParaphrasedSet,
    TrainedModels,
    make_results,
    measure,
    to_collect,
)
from .paranlu_training import (
    Trainings,
    as_spec,
    chosen_problems,
    divided,
    refuse_parts,
    refuse_trainer,
    trainer_of,
    with_strata,
)
from .protocol import Protocol, RunCell

#: What the sheets of selected problems ask for: three paraphrases from each of three workers (Appendix A).
_WORKERS, _EACH = 3, 3


class Paranlu(Protocol[ParanluSettings]):
    """The experiment: selected problems, given and automatic paraphrases, all models, test sets."""

    name = "paranlu"
    title = "ParaNLU: paraphrastic consistency (Srikanth et al. 2024)"
    bibtex = """@article{srikanth2024often,
  title = {How Often Are Errors in Natural Language Reasoning Due to Paraphrastic Variability?},
  author = {Srikanth, Neha and Carpuat, Marine and Rudinger, Rachel},
  journal = {Transactions of the Association for Computational Linguistics},
  year = {2024}
}"""
    methods = (
        "Every problem was asked with its original wording and with all its paraphrases. Paraphrastic consistency P_C "
        "is the probability that a model is right on both or wrong on both of two paraphrases of a problem, and PVAP "
        "the share of the variance in correctness that lies within problems (Srikanth et al. 2024); both are given "
        "with pairs drawn with replacement, as in the paper, and of distinct paraphrases. Corrected values weigh "
        "problems so that the model's confidence in the right label is distributed as on its test set. Intervals are "
        "over clusters of problems that share a text, and over the test set."
    )
    exhibits = (*(f"Table {number}" for number in range(1, 8)), *(f"Figure {number}" for number in range(1, 9)))
    kind = ParanluSettings
    quick_settings: ClassVar[Mapping[str, Any]] = {"replicates": 400}
    quick_size = 60
    may_change = (
        *("judge", "parser", "trees", "encoder", "regressor", "pretraining", "finetuning", "replicates"),
        *("paraphrases", "n"),
    )

    def __init__(self, settings: ParanluSettings, folder: Path, engine: Mapping[str, Any]):
        super().__init__(settings, folder, engine)
        self.left_out: dict[str, int] = {}
        self.trained = Trainings(settings, self.folder, self.tasks)

    @classmethod
    def shrink(cls, settings: ParanluSettings) -> None:
        """Fewer problems, also of test sets; of a training set 2,000 rows, and AFLite in proportion."""
        super().shrink(settings)
        select = settings.select
        for data in settings.datasets.values():
            if data.testset:
                data.testset.size = min(data.testset.size or 500, 500)
            if data.train:
                data.size = min(data.size or 2_000, 2_000)
                select.parts, select.at_least = {EMBEDDER: 0.3, POOL: 0.3}, {}
                select.n = min(select.n, 20)
                select.filter = select.filter.model_copy(update={"classifiers": 16, "train_on": 400, "leave": 40})

    # Before any work

    def refuse(self) -> None:
        """Refuse names that mean nothing, and plug-ins that cannot be made."""
        settings = self.settings
        for name in ("pretraining", "finetuning"):
            for models in getattr(settings, name).values():
                self._refuse_strangers(name, models)
        for name, data in settings.datasets.items():
            if data.paraphrases and data.generator:
                raise BadInput("both are given", where=f"datasets.{name}", field="generator", fix="leave one out")
            given = data.generator or self._recorded(data.paraphrases)
            with in_setting(f"datasets.{name}.{'generator' if data.generator else 'paraphrases'}"):
                if given and not self._is_made(name):
                    generators.make(given)
        for key, makers, some in (
            ("automatic", generators, settings.automatic), ("check", checks, settings.check),
            ("judge", checks, [self._judgement()] if settings.judge else []),
            *((self._key_of(column), metrics, [spec]) for column, spec in self.distances().items()),
        ):  # fmt: skip
            with in_setting(key):
                for one in some:
                    makers.make(one)
        self._refuse_selection()

    def _refuse_strangers(self, field: str, models: Iterable[str]) -> None:
        for name in models:
            if name not in self.settings.models:
                fix = f"available: {', '.join(self.settings.models)}"
                raise BadInput(f"no model {name!r}", where="models", field=field, fix=fix)

    def _refuse_selection(self) -> None:
        select, sets = self.settings.select, self.settings.datasets
        if select.how == "deciles":
            self._refuse_strangers("select.model", [select.model])
        named = [name for name in ("aflite", "embedder", "encoder") if getattr(select, name)]
        if named and (select.by or select.how != "deciles" or len(named) > 1):
            fix = 'give how = "deciles", no column `by`, and one of aflite, embedder and encoder'
            raise BadInput("AFLite makes the strata of deciles", field=f"select.{named[0]}", fix=fix)
        if select.embedder:
            refuse_trainer(select.embedder, "select.embedder")
        for name, data in sets.items():
            if data.train is None and (select.embedder or self.trained.names):
                who = "select.embedder" if select.embedder else f"models.{self.trained.names[0]}.trainer"
                fix = "name one: train = {data = ...}, in place of data"
                raise BadInput(f"no training set for {who}", where=f"datasets.{name}", field="train", fix=fix)
        if any(data.train for data in sets.values()):
            refuse_parts(select)

    def named_files(self) -> Mapping[str, str]:
        """The paraphrases of each data set; where there were none before, they may be added."""
        files = {name: data.given for name, data in self.settings.datasets.items()}
        return {f"the paraphrases of {name}": fingerprint(path)[:16] for name, path in files.items() if path}

    def signed(self, where: str, data: PaperData) -> str:
        """As of all papers; a training set and a test set have settings of their own."""
        assert isinstance(data, ParaphrasedData)
        for key, part in (("train", data.train), ("testset", data.testset)):
            with in_setting(f"{where}.{key}"):
                if part:
                    _ = data.source(part, part.data).signature
        return super().signed(where, data)

    def read(self, name: str, data: PaperData, where: str) -> tuple[pl.DataFrame, Task]:
        """The problems of a data set; of a training set, those of its pool, beside which its other parts are kept."""
        assert isinstance(data, ParaphrasedData)
        task, test = data.source().chosen, None
        if data.testset:
            with in_setting(f"{where}.testset"):
                test = read_rows(data, data.testset, task, f"{where}.testset")
            test = draw_rows(test, data.testset.size, self.settings.seed)
            write_rows(self._place(name, "test"), test)
        if data.train is None:
            problems, _ = data.problems(where, self.settings.seed)
            if self._is_made(name):
                with in_setting(f"{where}.paraphrases"):
                    write_rows(self._place(name, "paraphrases"), self._own_rewordings(data, problems, task, where))
            return problems, task
        parts = divided(data, self.settings.select, task, test, where, self.settings.seed)
        self.left_out[name] = parts.in_test
        for part, rows in parts.rows.items():
            if part != POOL:
                write_rows(self._place(name, part), rows)
        return parts.rows[POOL], task

    def refuse_unfit_model(self, name: str) -> None:
        """Refuse a model that cannot be asked or trained, before any work."""
        one = self.settings.models[name]
        if not one.trainer:
            super().refuse_unfit_model(name)
            return
        refuse_trainer(trainer_of(one), f"models.{name}.trainer")
        for dataset, task in self.tasks.items():
            if unknown := [field for field in one.fields if field not in task.fields]:
                fix = f"{dataset} has {', '.join(task.fields)}"
                raise BadInput(f"no field {unknown[0]!r}", field=f"models.{name}.fields", fix=fix)

    def refuse_problems(self, where: str, problems: pl.DataFrame) -> None:
        """Refuse strata that are too small."""
        select, rows = self.settings.select, problems
        if select.how == "none" or select.filtered:
            return
        if select.by and select.by not in rows.columns:
            fix = f"available: {', '.join(rows.columns)}"
            raise BadInput(f"no column {select.by!r}", where=where, field="select.by", fix=fix)
        if select.by:
            refuse_blank(rows, select.by, where, "select.by")
        sizes = dict(rows.group_by(select.by).len().iter_rows()) if select.by else {"all": rows.height}
        if thin := [f"{name} has {size:,}" for name, size in sorted(sizes.items(), key=str) if size < select.n]:
            fix = f"give {min(sizes.values())} or less, or more problems"
            message = f"too few problems for {select.n:,} of each: {', '.join(thin)}"
            raise BadInput(message, where=where, field="select.n", fix=fix)

    def _own_rewordings(self, data: ParaphrasedData, problems: pl.DataFrame, task: Task, where: str) -> pl.DataFrame:
        """The rewordings among the data themselves, or of another data set, of the problems that were drawn."""
        names = [data.paraphrases] if data.paraphrases else data.data
        rows = pl.concat(
            [join_pieces(list(data.source(data, [name]).pieces()), task) for name in names], how="diagonal_relaxed"
        )
        found = rows.filter(pl.col("of").is_in(problems["id"].implode()))
        if not found.height:
            fix = "give paraphrases = FILE, or a generator"
            raise BadInput("no paraphrases of these problems", where=where, field="paraphrases", fix=fix)
        return found

    def _is_made(self, dataset: str) -> bool:
        """Whether the paraphrases of a data set are taken from data, and written to a file here."""
        data = self.settings.datasets[dataset]
        return not data.generator and not Path(data.paraphrases or ".").is_file()

    def _recorded(self, path: str) -> str:
        return generators.respell("recorded", path=Path(path)) if path else ""

    def _place(self, dataset: str, what: str) -> Path:
        """Where a part of a data set is; "~" is in no name of a data set."""
        return self.folder / "data" / f"{dataset}~{what}.parquet"

    # Cells

    def planned(self) -> Iterator[RunCell]:
        """The runs of all data sets; before problems are selected, they count all of them: at most."""
        for dataset, data in self.settings.datasets.items():
            if data.to_collect:
                continue
            selected = self._place(dataset, "selected")
            yield from self._paraphrased(dataset, selected if is_whole(selected) else self.problems(dataset)).values()

    def asked(self) -> Iterator[RunCell]:
        """The test sets, and what is drawn from by a model's confidence."""
        for dataset, data in self.settings.datasets.items():
            if data.testset:
                yield from (self._tested(dataset, model) for model in self.settings.models)
            if self.settings.select.how == "deciles":
                yield self._pool(dataset, self.problems(dataset))

    def _tested(self, dataset: str, model: str) -> RunCell:
        return self.plain(f"{dataset}/test/{model}", dataset, model, self._place(dataset, "test"))

    def _pool(self, dataset: str, data: Path) -> RunCell:
        return self.plain(f"{dataset}/pool/{self.settings.select.model}", dataset, self.settings.select.model, data)

    def trainings(self) -> int:
        """All models of all data sets, and AFLite's embedders."""
        return len(self.trained.all())

    def estimated(self) -> PaperEstimate:
        """As of all papers; trainings from those on a few rows, whose models stand in for the others' answers."""
        with self.trained.tried() as seconds, tempfile.TemporaryDirectory(prefix="otherwords-") as place:
            total = super().estimated() + PaperEstimate(seconds=seconds)
            if ASKS_SERVER.search(self.settings.judge):
                for number, cell in enumerate(self.planned()):
                    judged = {**cell.study, "check": [self._judgement()]}
                    total += estimate_checks(judged, Path(place) / str(number), self.settings.seed)
            return total

    def spec(self, model: str, dataset: str) -> str:
        """A model under its name; one that is trained here is that of the data set."""
        trained = self.settings.models[model].trainer
        return self.trained.spec(model, dataset) if trained else super().spec(model, dataset)

    # Runs

    def _paraphrased(self, dataset: str, problems: Path) -> dict[str, RunCell]:
        """The runs of the given paraphrases, and of automatic ones."""
        data = self.settings.datasets[dataset]
        path = str(self._place(dataset, "paraphrases")) if self._is_made(dataset) else data.paraphrases
        vary = {GIVEN: [data.generator or self._recorded(path)], AUTOMATIC: self.settings.automatic}
        return {
            name: self.cell(
                f"{dataset}/{name}", [dataset], data=[str(problems)], vary=some, check=self.settings.check,
                metrics=["accuracy_original", "flip_rate"],
                canary=self.settings.canary and name == GIVEN and not data.testset,  # models were tried there
            )
            for name, some in vary.items() if some
        }  # fmt: skip

    def results(self) -> PaperResults:
        """Train and select, ask test sets, paraphrases and what they are compared with; then tables and figures."""
        settings = self.settings
        self.trained.train(self.engine)
        sets = [self._measured(name) for name, data in settings.datasets.items() if not data.to_collect]
        waiting = [self._sheet(name) for name, data in settings.datasets.items() if data.to_collect]
        trained = TrainedModels(self.trained.table(), self.left_out)
        if not sets:
            return to_collect(waiting, trained, {name: self._selected(name)[1] for name in settings.datasets})
        return make_results(settings, sets, trained, waiting)

    def _sheet(self, dataset: str) -> str:
        """Write a table for people to paraphrase what was selected; one that is there may be filled in, and is kept."""
        path = self.folder / "to-paraphrase" / f"{dataset}.csv"
        if not path.exists():
            task, rows = self.tasks[dataset], read_part(self._selected(dataset)[0])
            wanted = pl.DataFrame({"worker": [f"w{one + 1}" for one in range(_WORKERS) for _ in range(_EACH)]})
            texts = [pl.lit("").alias(name) if name in task.targets else pl.col(name) for name in task.fields]
            shown = [pl.col(name).alias(f"original:{name}") for name in task.targets]
            path.parent.mkdir(exist_ok=True)
            sheet = rows.select(pl.col("id").alias("of"), *shown, *texts, "label").join(wanted, how="cross")
            write([sheet], path)
        return f"{dataset}: fill in {path.relative_to(self.folder)}, then name it: paraphrases = ..."

    def _measured(self, dataset: str) -> ParaphrasedSet:
        settings, task = self.settings, self.tasks[dataset]
        problems, counts = self._selected(dataset)
        test = None
        if settings.datasets[dataset].testset:
            asked = [self.answers(self._tested(dataset, name)) for name in settings.models]
            test = write_rows(self._place(dataset, "test-answers"), pl.concat(asked, how="diagonal_relaxed"))
        cells = self._paraphrased(dataset, problems)
        runs = {name: self.run(cell) for name, cell in cells.items()}
        runs = {name: run for name, run in runs.items() if _has_variants(run)}
        if GIVEN not in runs:
            key = "generator" if settings.datasets[dataset].generator else "paraphrases"
            fix = "give other paraphrases, or fewer checks"
            raise BadInput("no paraphrase is left", where=f"datasets.{dataset}", field=key, fix=fix)
        partial = [name for name, one in settings.models.items() if one.partial and not one.stage]
        answers = {name: RunFolder(run).read("answers") for name, run in runs.items()}
        scores = {name: measure(some, task, test, settings.replicates) for name, some in answers.items()}
        given = answers[GIVEN]
        split = {
            name: measure(given, task, test, settings.replicates, self._right_or_wrong(dataset, given, name))
            for name in partial
        }
        apart = {name: self._distances_of(cells[name], run, task) for name, run in runs.items()}
        own = self._is_made(dataset)
        return ParaphrasedSet(dataset, read_part(problems).height, runs, scores, split, apart, counts, own)

    def _right_or_wrong(self, dataset: str, answers: pl.DataFrame, model: str) -> str:
        """Problems by whether a partial-input model answers them right: a column for scores."""
        path = self._place(dataset, f"answers-{model}")
        return f"answers:{write_rows(path, answers.filter(pl.col('model') == model))}"

    # Selection

    def _selected(self, dataset: str) -> tuple[Path, pl.DataFrame | None]:
        """The file of the selected problems, and how many there were and were drawn."""
        select, path = self.settings.select, self.problems(dataset)
        if select.how == "none":
            return path, None
        if select.filtered:
            path = self._filtered(dataset)
        task, seed = self.tasks[dataset], self.settings.seed
        chosen = chosen_problems(path, select, task, seed, lambda data: self._confidence(dataset, data))
        return write_rows(self._place(dataset, "selected"), chosen.table), chosen.counts

    def _confidence(self, dataset: str, data: Path) -> pl.DataFrame:
        return self.answers(self._pool(dataset, data))

    def _filtered(self, dataset: str) -> Path:
        """The problems with what AFLite finds of them; it sees all of a training set but the embedder's part."""
        select, data = self.settings.select, self.settings.datasets[dataset]
        model, made = select.aflite, digest(select.model_dump(exclude={"n", "how", "model"}))
        if select.embedder:
            job = self.trained.embedder(dataset)
            model, made = as_spec("", job.model)[1:], digest(made, job.key)
        rows = [self.problems(dataset), *([self._place(dataset, REST)] if data.train else [])]
        place, key = self.folder / "cells" / dataset / "aflite", digest(data.signature(), made, self.settings.seed)[:16]
        return with_strata(place, key, rows, model, self.settings, self.tasks[dataset])

    # How far paraphrases are from their originals

    def distances(self) -> dict[str, str]:
        """The metrics of Table 6 by its columns."""
        settings = self.settings
        found = {"lex": "lexical_distance"}
        if settings.parser or settings.trees:
            how = {"trees": Path(settings.trees)} if settings.trees else {"pipeline": settings.parser}
            found["syn"] = metrics.respell("syntactic_distance", **how)
        if settings.regressor:
            found["sem"] = metrics.respell("learned_similarity", regressor=settings.regressor)
        elif settings.encoder:
            found["sem"] = metrics.respell("embedding_distance", encoder=settings.encoder)
        return found

    def _key_of(self, column: str) -> str:
        """The setting that a column of Table 6 comes from."""
        keys = {"syn": ("trees", "parser"), "sem": ("regressor", "encoder")}.get(column, ())
        return next((key for key in keys if getattr(self.settings, key)), column)

    def _judgement(self) -> str:
        return checks.respell(JUDGED, judge=self.settings.judge)

    def _distances_of(self, cell: RunCell, run: Path, task: Task) -> Distances:
        judged = self._judged(cell, run, task) if self.settings.judge else None
        return Distances.measured(run, self.distances(), judged)

    def _judged(self, cell: RunCell, run: Path, task: Task) -> tuple[int, int]:
        """How many paraphrases of a run were judged, and how many entail their original and are entailed by it."""
        made = map(key_of, RunFolder(run).parts("buckets"))  # models have no part in them
        judged = RunCell(f"{cell.folder}-judged", digest(*made, self._judgement())[:16], {})
        if (found := read_cell(judged)) is None:
            found = _entailed(run, self._judgement(), task)
            finish_cell(judged, found)
        return int(found["judged"]), int(found["entailed"])


def _entailed(run: Path, judgement: str, task: Task) -> dict[str, int]:
    rows = kept(RunFolder(run).scan("buckets")).collect()
    verdicts = check(rows, judgement, task).filter(pl.col("of").is_not_null())[f"check:{JUDGED}"].drop_nulls()
    return {"judged": len(verdicts), "entailed": int(verdicts.cast(pl.Boolean).sum())}


def _has_variants(run: Path) -> bool:
    return bool(RunFolder(run).scan("answers").filter(pl.col("variant").is_not_null()).head(1).collect().height)
