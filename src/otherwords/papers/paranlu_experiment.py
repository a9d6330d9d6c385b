"""ParaNLU's protocol (Srikanth et al. 2024) on models and data of one's own.

Problems are selected, evenly over the deciles of one model's confidence if the settings say so (section 4.1). Each has
paraphrases, written by people or by a generator, and all models answer all of them (section 5). Their test sets undo
the selection: corrected values weigh the deciles as they occur there. Automatic paraphrases of the same problems are
compared with the given ones (section 6), problems are divided by whether a partial-input model is right (section 7),
and models at several stages of training make curves in the plane of accuracy and consistency (section 8).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from ..errors import BadInput
from ..frames import join_pieces, kept
from ..pipeline import answer, check
from ..problem import Task
from ..registry import checks, generators, metrics
from ..selection import Chosen, aflite, deciles, sample
from ..storage.files import atomic, digest
from ..storage.run_folder import RunFolder, is_whole, read_part
from .data import read_rows
from .experiment import begin_cell, finish_cell, read_cell
from .paper_page import PaperResults
from .paranlu_settings import ParanluSettings
from .paranlu_tables import AUTOMATIC, GIVEN, Distances, ParaphrasedSet, make_results, measure
from .protocol import PaperEstimate, Protocol, RunCell

_JUDGED = "mutual-entailment"


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
    may_change = ("judge", "parser", "encoder", "pretraining", "finetuning", "replicates")

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
            if (given := data.generator or self._recorded(data.paraphrases)) and not self._is_made(name):
                generators.make(given)
        for one in settings.automatic:
            generators.make(one)
        for one in [*settings.check, *([self._judgement()] if settings.judge else [])]:
            checks.make(one)
        for one in self.distances().values():
            metrics.make(one)
        self._refuse_selection()

    def _refuse_strangers(self, field: str, models: Iterable[str]) -> None:
        for name in models:
            if name not in self.settings.models:
                fix = f"there are {', '.join(self.settings.models)}"
                raise BadInput(f"no model {name!r}", where="models", field=field, fix=fix)

    def _refuse_selection(self) -> None:
        select = self.settings.select
        if select.how == "deciles":
            self._refuse_strangers("select.model", [select.model])
        if select.aflite and (select.by or select.how != "deciles"):
            fix = 'give how = "deciles", and no column `by`'
            raise BadInput("AFLite makes the strata of deciles", field="select.aflite", fix=fix)

    def prepare(self) -> None:
        """Read all data, test sets and paraphrases, too; refuse strata that are too small."""
        super().prepare()
        for name, data in self.settings.datasets.items():
            if data.testset:
                rows = read_rows(data, data.testset, self.tasks[name], f"datasets.{name}.testset")
                _write(self._place(name, "test"), rows)
            if self._is_made(name):
                _write(self._place(name, "paraphrases"), self._own_rewordings(name))
            self._refuse_thin_strata(name)

    def _refuse_thin_strata(self, dataset: str) -> None:
        select, rows = self.settings.select, read_part(self.problems(dataset))
        if select.how == "none" or select.aflite:
            return
        if select.by and select.by not in rows.columns:
            fix = f"there are {', '.join(rows.columns)}"
            raise BadInput(f"no column {select.by!r}", where=f"datasets.{dataset}", field="select.by", fix=fix)
        sizes = dict(rows.group_by(select.by).len().iter_rows()) if select.by else {"all": rows.height}
        if thin := [f"{name} has {size:,}" for name, size in sorted(sizes.items(), key=str) if size < select.n]:
            fix = f"give {min(sizes.values())} or less, or more problems"
            message = f"too few problems for {select.n:,} of each: {', '.join(thin)}"
            raise BadInput(message, where=f"datasets.{dataset}", field="select.n", fix=fix)

    def _own_rewordings(self, dataset: str) -> pl.DataFrame:
        """The rewordings among the data themselves, or of another data set, of the problems that were drawn."""
        data = self.settings.datasets[dataset]
        names = [data.paraphrases] if data.paraphrases else data.data
        task = self.tasks[dataset]
        rows = pl.concat(
            [join_pieces(list(data.source(data, [name]).pieces()), task) for name in names], how="diagonal_relaxed"
        )
        found = rows.filter(pl.col("of").is_in(read_part(self.problems(dataset))["id"].implode()))
        if not found.height:
            fix = "give paraphrases = FILE, or a generator"
            where = f"datasets.{dataset}"
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
        for dataset in self.settings.datasets:
            selected = self._place(dataset, "selected")
            yield from self._paraphrased(dataset, selected if is_whole(selected) else self.problems(dataset)).values()

    def estimated(self) -> PaperEstimate:
        """As of all papers, and the answers to test sets, whose time is not estimated."""
        tests = [self._place(name, "test") for name, data in self.settings.datasets.items() if data.testset]
        return super().estimated() + PaperEstimate(
            answers=sum(read_part(one).height for one in tests) * len(self.settings.models)
        )

    def _paraphrased(self, dataset: str, problems: Path) -> dict[str, RunCell]:
        """The runs of the given paraphrases, and of automatic ones."""
        data = self.settings.datasets[dataset]
        path = str(self._place(dataset, "paraphrases")) if self._is_made(dataset) else data.paraphrases
        vary = {GIVEN: [data.generator or self._recorded(path)], AUTOMATIC: self.settings.automatic}
        return {
            name: self.cell(
                f"{dataset}/{name}", [dataset], data=[str(problems)], vary=some, check=self.settings.check,
                task=asdict(self.tasks[dataset]), metrics=["accuracy_original"],
            )
            for name, some in vary.items() if some
        }  # fmt: skip

    def _asked(self, dataset: str, what: str, data: Path, models: Iterable[str]) -> pl.DataFrame:
        """Answers to problems without paraphrases: the test set, or what is selected from; each model is asked once."""
        found = []
        for model in models:
            cell = self.cell(f"{dataset}/{what}/{model}", [dataset], [model], data=[str(data)])
            path = Path(cell.folder) / "answers.parquet"
            if read_cell(cell) is None:
                begin_cell(cell)
                answers = answer(
                    str(data), self.spec(model), self.tasks[dataset], cache=self.settings.cache,
                    label_map=self.settings.models[model].label_map or None, canary=self.settings.canary,
                )  # fmt: skip
                _write(path, answers)
                finish_cell(cell, {"rows": answers.height})
            found.append(read_part(path))
        return pl.concat(found, how="diagonal_relaxed")

    def results(self) -> PaperResults:
        """Select, ask test sets, paraphrases and what they are compared with; then tables and figures."""
        return make_results(self.settings, [self._measured(name) for name in self.settings.datasets])

    def _measured(self, dataset: str) -> ParaphrasedSet:
        settings, task = self.settings, self.tasks[dataset]
        problems, counts = self._selected(dataset)
        test = None
        if settings.datasets[dataset].testset:
            test = self._place(dataset, "test-answers")
            _write(test, self._asked(dataset, "test", self._place(dataset, "test"), settings.models))
        cells = self._paraphrased(dataset, problems)
        runs = {name: self.run(cell) for name, cell in cells.items()}
        runs = {name: run for name, run in runs.items() if _has_variants(run)}
        if GIVEN not in runs:
            fix = "give other paraphrases, or fewer checks"
            raise BadInput("no paraphrase is left", where=f"datasets.{dataset}", field="paraphrases", fix=fix)
        partial = [name for name, one in settings.models.items() if one.partial]
        answers = {name: RunFolder(run).read("answers") for name, run in runs.items()}
        scores = {name: measure(some, task, test, settings.replicates) for name, some in answers.items()}
        given = answers[GIVEN]
        split = {
            name: measure(given, task, test, settings.replicates, self._right_or_wrong(dataset, given, name))
            for name in partial
        }
        apart = {name: self._distances_of(cells[name], run, task) for name, run in runs.items()}
        return ParaphrasedSet(dataset, read_part(problems).height, runs, scores, split, apart, counts)

    def _right_or_wrong(self, dataset: str, answers: pl.DataFrame, model: str) -> str:
        """Problems by whether a partial-input model answers them right: a column for scores."""
        path = self._place(dataset, f"answers-{model}")
        _write(path, answers.filter(pl.col("model") == model))
        return f"answers:{path}"

    # Selection

    def _selected(self, dataset: str) -> tuple[Path, pl.DataFrame | None]:
        """The file of the selected problems, and how many there were and were drawn."""
        select, path = self.settings.select, self.problems(dataset)
        if select.how == "none":
            return path, None
        chosen = self._sampled(dataset) if select.how == "sample" else self._drawn(dataset)
        _write(self._place(dataset, "selected"), chosen.table)
        return self._place(dataset, "selected"), chosen.counts

    def _sampled(self, dataset: str) -> Chosen:
        select, task = self.settings.select, self.tasks[dataset]
        size: dict[str, Any] = {"each": select.n, "by": select.by} if select.by else {"n": select.n}
        return sample(str(self.problems(dataset)), **size, seed=self.settings.seed, task=task)

    def _drawn(self, dataset: str) -> Chosen:
        """Over deciles of confidence, from what AFLite finds easy and difficult where that is asked for."""
        select, task, data = self.settings.select, self.tasks[dataset], self.problems(dataset)
        if select.aflite:
            data = self._place(dataset, "aflite")
            if not is_whole(data):
                _write(data, aflite(str(self.problems(dataset)), model=select.aflite, task=task)[0])
        answers = self._asked(dataset, "pool", data, [select.model])
        by = "aflite" if select.aflite else select.by
        return deciles(str(data), answers, by=by, n=select.n, seed=self.settings.seed, task=task)

    # How far paraphrases are from their originals

    def distances(self) -> dict[str, str]:
        """The metrics of Table 6 by its columns."""
        settings = self.settings
        found = {"lex": "lexical_distance"}
        if settings.parser:
            found["syn"] = metrics.respell("syntactic_distance", pipeline=settings.parser)
        if settings.encoder:
            found["sem"] = metrics.respell("embedding_distance", encoder=settings.encoder)
        return found

    def _judgement(self) -> str:
        return checks.respell(_JUDGED, judge=self.settings.judge)

    def _distances_of(self, cell: RunCell, run: Path, task: Task) -> Distances:
        judged = self._judged(cell, run, task) if self.settings.judge else None
        return Distances.measured(run, self.distances(), judged)

    def _judged(self, cell: RunCell, run: Path, task: Task) -> tuple[int, int]:
        """How many paraphrases of a run were judged, and how many entail their original and are entailed by it."""
        judged = RunCell(f"{cell.folder}-judged", digest(cell.key, self._judgement())[:16], {})
        if (found := read_cell(judged)) is None:
            found = _entailed(run, self._judgement(), task)
            finish_cell(judged, found)
        return int(found["judged"]), int(found["entailed"])


def _entailed(run: Path, judgement: str, task: Task) -> dict[str, int]:
    rows = kept(RunFolder(run).scan("buckets")).collect()
    verdicts = check(rows, judgement, task).filter(pl.col("of").is_not_null())[f"check:{_JUDGED}"].drop_nulls()
    return {"judged": len(verdicts), "entailed": int(verdicts.cast(pl.Boolean).sum())}


def _has_variants(run: Path) -> bool:
    return bool(RunFolder(run).scan("answers").filter(pl.col("variant").is_not_null()).head(1).collect().height)


def _write(path: Path, rows: pl.DataFrame) -> None:
    """Write a table unless it is there."""
    if not is_whole(path) or not read_part(path).equals(rows):
        with atomic(path) as draft:
            rows.write_parquet(draft)
