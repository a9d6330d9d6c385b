"""PaRTE (Verma et al. 2023) on models and data of one's own.

Sentences are paraphrased one by one. A paraphrase counts if it shares few words with its sentence (section 3), and if
all checks that stand for the paper's raters verify it. Of several that do, the most similar one is taken. Premise,
hypothesis and, where both were verified, both together are replaced; the label is checked once more. Then models are
asked the originals and what was made of them, and a flip is an answer that changed, right or wrong.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field, field_validator

from ..errors import BadInput
from ..frames import by_bucket, rewordings
from ..models.answering import load
from ..pipeline import check, score, vary
from ..problem import TASKS, Score, Task, label_key
from ..registry import checks, generators
from ..storage.files import fingerprint
from ..storage.run_folder import RunFolder, is_whole, read_part
from ..storage.tables import write
from .data import PaperData, refuse_blank, write_rows
from .dry_run import PaperEstimate, estimate_run
from .experiment import begin_cell, finish_cell, in_setting, read_cell
from .paper_page import PaperResults
from .parte_tables import KINDS, Step, TestedData, make_results
from .protocol import PaperSettings, Protocol, RunCell

FIELDS = ("premise", "hypothesis")
#: A model that costs nothing, where a dry run only wants to know what paraphrases take.
_NOBODY = "scripted"
#: Table 2; the directions of Figure 1; and what merging labels hides.
ACCURACIES = ("accuracy_original_weighted", "accuracy_variants", "flip_rate")
DIRECTIONS = ("flip_to_wrong", "flip_to_right", "flip_wrong_to_wrong")
MERGING = {
    "changed, three labels": "flip_rate", "changed, merged": "flip_rate_merged",
    "lost by merging": "flips_lost_by_merging", "changed, p(N) + p(C)": "flip_rate_merged(by=probability)",
}  # fmt: skip


class ParteSettings(PaperSettings):
    """What to try: see the template that `--init` writes."""

    generator: str = "reworded(n=3, changes=0)"
    jaccard: float = Field(0.75, gt=0, le=1)
    verify: list[str] = Field(["stack"], min_length=1)
    recheck: str = "label-safety"
    source_column: str = ""
    validation: dict[str, PaperData] = Field({})
    mnli: dict[str, PaperData] = Field({})

    @field_validator("validation", "mnli", mode="before")
    @classmethod
    def _more_data(cls, value: Any) -> Any:
        return cls._data(value)

    @field_validator("validation", "mnli", mode="after")
    @classmethod
    def _more_names(cls, value: dict[str, Any]) -> dict[str, Any]:
        return cls._file_names(value)


class Parte(Protocol[ParteSettings]):
    """The experiment: paraphrases made, filtered, verified and put together; then the models."""

    name = "parte"
    title = "PaRTE: paraphrased textual entailment (Verma et al. 2023)"
    bibtex = """@inproceedings{verma2023parte,
  title = {Evaluating Paraphrastic Robustness in Textual Entailment Models},
  author = {Verma, Dhruv and Lal, Yash Kumar and Sinha, Shreyashee and Van Durme, Benjamin and Poliak, Adam},
  booktitle = {Proceedings of the 61st Annual Meeting of the Association for Computational Linguistics},
  year = {2023}
}"""
    methods = (
        "Premises and hypotheses were paraphrased. Paraphrases that share too many words with their sentence (Jaccard "
        "index) were left out, and those that the checks named in the settings did not verify. Of several, the most "
        "similar was taken. Problems with a paraphrased premise, hypothesis, or both were asked, unless a last check "
        "found that the label may have changed. The percentage of changed answers is over paraphrased problems; an "
        "original counts as often as it has paraphrased versions, as in Verma et al. (2023). Intervals are over "
        "clusters of problems that share a premise."
    )
    exhibits = ("Table 1", "Table 2", *(f"Figure {number}" for number in range(1, 8)))
    kind = ParteSettings
    quick_size = 60

    # Before any work

    def refuse(self) -> None:
        """Refuse what is not there, a generator that cannot take one sentence, and data of another task."""
        settings = self.settings
        with in_setting("generator"):
            for field in FIELDS:
                generators.make(self.generator(field))
        for key, some in (("verify", settings.verify), ("recheck", [settings.recheck])):
            with in_setting(key):
                for one in some:
                    checks.make(one)
        for name, data in self.data_sets().items():
            task, where = data.source().chosen, name.replace("~", ".")
            if task.fields != FIELDS:
                fix = "give data of a task with premise and hypothesis (rte, nli)"
                raise BadInput(f"{task.name} has other fields", where=where, field="task", fix=fix)
            if name.startswith("mnli~") and task.labels != TASKS["nli"].labels:
                fix = "give data with entailment, neutral and contradiction"
                raise BadInput(f"{task.name} has other labels", where=where, field="task", fix=fix)

    def data_sets(self) -> dict[str, PaperData]:
        """The data that are tested, then those for validation, and those with three labels."""
        more = {"validation": self.settings.validation, "mnli": self.settings.mnli}
        named = {f"{table}~{name}": one for table, some in more.items() for name, one in some.items()}
        return {**self.settings.datasets, **named}

    def named_files(self) -> Mapping[str, str]:
        """The verdicts of people."""
        files = [path for one in (*self.settings.verify, self.settings.recheck) for path in checks.files(one)]
        return {f"the file {path.name}": fingerprint(path)[:16] for path in files if path.is_file()}

    def refuse_problems(self, where: str, problems: pl.DataFrame) -> None:
        """Refuse data that are tested without the column of source tasks."""
        column = self.settings.source_column
        if column and where.startswith("datasets.") and column not in problems.columns:
            fix = f"available: {', '.join(problems.columns)}"
            raise BadInput(f"no column {column!r}", where=where, field="source_column", fix=fix)
        if column and where.startswith("datasets."):
            refuse_blank(problems, column, where, "source_column")

    def generator(self, field: str) -> str:
        """The generator, for one of the two sentences."""
        return generators.respell(self.settings.generator, field=field)

    # Paraphrases

    def suite(self, name: str) -> Path:
        """Where originals and their paraphrased versions are."""
        return self.folder / "data" / f"{name}~suite.parquet"

    def paraphrased(self, name: str) -> list[Step]:
        """Make the suite of a data set, unless it is there; give how many rows each step left."""
        cell = self._making(name)
        if not self._is_made(name):
            place, task = begin_cell(cell), self.tasks[name]
            problems = read_part(self.problems(name))
            found = self._distant(self._candidates(problems, task), task)
            self._write_sheet(name, found, task)
            candidates = self._verified(found, task)
            halves = _most_similar(candidates, checks.make(self.settings.verify[0]).name)
            rows = self._rechecked(_recombined(problems, halves, self.settings.generator), task)
            write_rows(place / "candidates.parquet", candidates)
            write_rows(place / "recombined.parquet", rows)
            write_rows(self.suite(name), _suite(problems, rows.filter("kept")))
            finish_cell(cell, {"steps": _counts(candidates, halves, rows)})
        return [Step(name.replace("~", " "), *one) for one in (read_cell(cell) or {})["steps"].items()]

    def _write_sheet(self, name: str, whole: pl.DataFrame, task: Task) -> None:
        """Write a table for people to rate what shares few words; one that is there may be filled in, and is kept."""
        path = self.folder / "to-judge" / f"{name.replace('~', '-')}.csv"
        if path.exists():
            return
        texts = rewordings(whole.filter(pl.col("of").is_null() | pl.col("distant")), task)
        sides = {"p": "premise", "h": "hypothesis"}
        both = texts.join(whole.select("id", "paraphrased"), on="id", how="left", maintain_order="left")
        side = pl.col("paraphrased").cast(pl.String).replace_strict(sides, default=None)  # of no rows it has no type
        pairs = {
            column: pl.coalesce(pl.when(side == field).then(pl.col(f"{start}{field}")) for field in FIELDS)
            for column, start in (("reference", "original:"), ("paraphrase", ""))
        }
        sheet = both.select("id", **pairs, similarity=pl.lit(""), grammar=pl.lit(""))
        path.parent.mkdir(exist_ok=True)
        write([sheet], path)

    def _making(self, name: str) -> RunCell:
        """What is made before any model is asked: another model changes nothing of it."""
        return self.cell(f"{name.replace('~', '/')}/paraphrases", [name], [], cache=None, canary=False)

    def _candidates(self, problems: pl.DataFrame, task: Task) -> pl.DataFrame:
        """Originals, and the paraphrases of each sentence alone; `paraphrased` says of which."""
        using = [self.generator(field) for field in FIELDS]
        whole = vary(problems, using, task, self.settings.seed, suite=True)
        texts = rewordings(whole, task)
        side = pl.when(pl.col("premise") != pl.col("original:premise")).then(pl.lit("p")).otherwise(pl.lit("h"))
        return whole.join(texts.select("id", side.alias("paraphrased")), on="id", how="left", maintain_order="left")

    def _distant(self, whole: pl.DataFrame, task: Task) -> pl.DataFrame:
        """Mark in `distant` the paraphrases that share few words with their sentence: Jaccard at most 0.75."""
        judged = check(whole, f"jaccard=overlap(most={self.settings.jaccard})", task)
        return judged.with_columns(distant=pl.col("check:jaccard").fill_null(value=True))

    def _verified(self, whole: pl.DataFrame, task: Task) -> pl.DataFrame:
        """The candidates; `verified` are distant ones that every check keeps. One without a verdict is not verified."""
        judged = check(whole.filter("distant"), self.settings.verify, task)
        names = [f"check:{checks.make(one).name}" for one in self.settings.verify]
        verdicts = judged.select("id", pl.selectors.starts_with(*names), verified=pl.all_horizontal(names))
        whole = whole.join(verdicts, on="id", how="left", maintain_order="left")
        return whole.filter(pl.col("of").is_not_null()).with_columns(pl.col("verified").fill_null(value=False))

    def _rechecked(self, rows: pl.DataFrame, task: Task) -> pl.DataFrame:
        """The paraphrased problems; `kept` says whether they have the label of the original."""
        judged = check(rows, self.settings.recheck, task).filter(pl.col("of").is_not_null())
        verdict = f"check:{checks.make(self.settings.recheck).name}"
        return judged.with_columns(kept=pl.col(verdict).fill_null(value=True))

    # Models

    @classmethod
    def shrink(cls, settings: ParteSettings) -> None:
        """Few problems of all data, also of those for validation and with three labels."""
        super().shrink(settings)
        for data in (*settings.validation.values(), *settings.mnli.values()):
            cls.shrink_data(data)

    def planned(self) -> Iterator[RunCell]:
        """The runs of what was paraphrased; before that, of all candidates that checks keep: at least as many."""
        for name in self.settings.datasets:
            if self._is_made(name):
                yield self._tested(name)
                yield from [self._unmerged(name)] if self._is_merged(name) else []
            else:
                yield self._unselected(name)

    def estimated(self) -> PaperEstimate:
        """As of all papers, what models are asked before merging, and the paraphrases of data for validation."""
        total = super().estimated()
        before: dict[str, Any] = {"label_map": {}, "task": "nli", "metrics": ["flip_rate"]}
        with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
            for number, name in enumerate(one for one in self.data_sets() if not self._is_made(one)):
                if name in self.settings.datasets and self._is_merged(name):
                    data = [str(self._unlabelled(name, self.problems(name)))]
                    study = {**self._unselected(name).study, **before, "data": data}
                    study["models"] = [self.spec(one, name) for one in self.three_way]
                    total += replace(estimate_run(study, Path(place) / str(number), self.settings.seed), variants=0)
                elif name.startswith("validation~"):
                    study = {**self._unselected(name).study, "models": [_NOBODY], "label_map": {}}
                    total += replace(estimate_run(study, Path(place) / str(number), self.settings.seed), answers=0)
        return total

    def _is_made(self, name: str) -> bool:
        """Whether the suite of a data set is there."""
        return read_cell(self._making(name)) is not None and is_whole(self.suite(name))

    def _unselected(self, name: str) -> RunCell:
        """A run of all candidates that checks keep, which is only tried."""
        using = [self.generator(field) for field in FIELDS]
        checking = [f"jaccard=overlap(most={self.settings.jaccard})", *self.settings.verify]
        return self.cell(f"{name}/all", [name], vary=using, check=checking)

    def asked(self) -> Iterator[RunCell]:
        """The answers to data with three labels."""
        for name in (f"mnli~{one}" for one in self.settings.mnli):
            yield from (self._plain_of(name, model) for model in self.three_way)

    def _plain_of(self, name: str, model: str) -> RunCell:
        return self.plain(f"{name.replace('~', '/')}/{model}", name, model, label_map={})

    def _is_merged(self, name: str) -> bool:
        """Whether labels of models are merged for a data set, and models are asked before merging, too."""
        return self.tasks[name].labels != TASKS["nli"].labels and bool(self.three_way)

    def _tested(self, name: str) -> RunCell:
        """The run over a suite that is done: nothing is varied, nothing checked."""
        data = [str(self.suite(name))]
        return self.cell(f"{name}/models", [name], data=data, check=[], metrics=["flip_rate"])

    def _unmerged(self, name: str) -> RunCell:
        """The same texts without right labels, for models with three labels: their answers before merging."""
        data = [str(self._unlabelled(name, self.suite(name)))]
        return self.cell(
            f"{name}/before-merging", [name], self.three_way, data=data, check=[], label_map={}, task="nli",
            metrics=["flip_rate"],
        )  # fmt: skip

    def _unlabelled(self, name: str, rows: Path) -> Path:
        path = self.folder / "data" / f"{name}~unlabelled.parquet"
        return write_rows(path, read_part(rows).with_columns(label=pl.lit(None, pl.String)))

    def _three_labels(self, name: str) -> dict[str, list[Score]]:
        """The accuracy of models with three labels on a data set with three, as they are and merged to two."""
        asked = [self.answers(self._plain_of(name, model)) for model in self.three_way]
        columns = ["model", "bucket", "variant", "cluster", "gold", "pred"]
        answers = pl.concat(one.select(columns) for one in asked)
        merged = answers.with_columns(pl.col("gold", "pred").replace("contradiction", "neutral"))
        ways = {"three labels": answers, "two labels": merged}
        return {way: list(score(table, "accuracy_original")) for way, table in ways.items()}

    @cached_property
    def three_way(self) -> list[str]:
        """The models that answer in the three labels of NLI, by their names; what other labels mean is not known."""
        return [name for name in self.settings.models if self._has_three(name)]

    def _has_three(self, name: str) -> bool:
        try:
            labels = load(self.spec(name, next(iter(self.tasks))), TASKS["nli"]).model.labels
        except BadInput:  # they do not fit the task
            return False
        return {label_key(one) for one in labels} == {label_key(one) for one in TASKS["nli"].labels}

    # Results

    def results(self) -> PaperResults:
        """Paraphrase all data, ask the models, and make tables and figures."""
        steps = [step for name in self.data_sets() if not name.startswith("mnli~") for step in self.paraphrased(name)]
        tested = [self._measured(name) for name in self.settings.datasets]
        plain = {name: self._three_labels(f"mnli~{name}") for name in self.settings.mnli if self.three_way}
        settings = self.settings
        results = make_results(settings.models, tested, steps, plain, settings.source_column)
        scores = [score for one in tested for some in (one.scores, *one.merging.values()) for score in some]
        scores += [score for some in plain.values() for found in some.values() for score in found]
        signed = tuple(dict.fromkeys(one.signature for one in scores))
        return replace(results, deviations=(*results.deviations, *self._deviations()), signatures=signed)

    def _measured(self, name: str) -> TestedData:
        """A data set with all scores of its models."""
        suite = read_part(self.suite(name))
        if not suite.height:
            fix = "give more problems, another generator, or a greater `jaccard`"
            raise BadInput("no paraphrase was verified", where=f"datasets.{name}", fix=fix)
        run, source = self.run(self._tested(name)), self.settings.source_column
        by = ["sentences", "label", "original", *([source] if source else [])]
        scores: list[Score] = [*score(run, [*ACCURACIES, *DIRECTIONS]), *score(run, "flip_rate", by=by)]
        return TestedData(name, suite, scores, self._merging(name, run))

    def _merging(self, name: str, run: Path) -> dict[str, list[Score]]:
        """Flips before and after merging: of the most probable label, and by sums of probabilities."""
        if self._is_merged(name):
            run = self.run(self._unmerged(name))
        elif self.tasks[name].labels != TASKS["nli"].labels:
            return {}
        gives_p = any(one.startswith("p:") for one in RunFolder(run).scan("answers").collect_schema().names())
        return {
            title: list(score(run, metric))
            for title, metric in MERGING.items()
            if gives_p or "probability" not in metric
        }

    def _deviations(self) -> Iterator[str]:
        settings, paper = self.settings, "the paper's people rate similarity (above 75 of 100) and grammar"
        yield f"Paraphrases come from {settings.generator}; the paper's from a T5 tuned on PAWS, three a sentence."
        people = [one for one in settings.verify if checks.read(one)[0].name == "human"]
        if len(people) < len(settings.verify):
            yield f"Verified by {', '.join(settings.verify)}; {paper}."
        first = checks.make(settings.verify[0]).name
        yield "A paraphrase on which a check gives no verdict is not verified."
        yield f"The most similar paraphrase has the highest score of {first}, then the highest Jaccard index."
        yield f"Labels are checked again by {settings.recheck}; in the paper by its authors."
        if settings.jaccard != 0.75:
            yield f"Jaccard at most {settings.jaccard:g}; the paper has 0.75."


def _most_similar(candidates: pl.DataFrame, name: str) -> pl.DataFrame:
    """Of the verified paraphrases of a sentence, the one with the highest score of this check, then of Jaccard."""
    order = [f"check:{name}:score", "check:jaccard:score"]
    ranked = candidates.filter("verified").sort(
        *order, descending=True, nulls_last=True, maintain_order=True
    )  # of equals, the first that was made
    return ranked.unique(["of", "paraphrased"], keep="first", maintain_order=True)


def _recombined(problems: pl.DataFrame, halves: pl.DataFrame, generator: str) -> pl.DataFrame:
    """The originals, and each with a paraphrased premise, hypothesis and, where both are verified, both."""
    texts = problems
    for side, field in zip("ph", FIELDS, strict=True):
        new = halves.filter(pl.col("paraphrased") == side).select(pl.col("of").alias("id"), pl.col(field).alias(side))
        texts = texts.join(new, on="id", how="left", maintain_order="left")
    rows = [texts]
    for kind in KINDS:
        names = dict(zip("ph", FIELDS, strict=True))
        whole = texts.drop_nulls(list(kind)).with_columns(
            pl.col("id").alias("of"),
            pl.format("{}_{}", "id", pl.lit(kind)).alias("id"),
            pl.lit(generators.read(generator)[0].name).alias("how"),
            pl.lit(kind).alias("paraphrased"),
            pl.lit("both" if len(kind) == 2 else "one").alias("sentences"),
            *(pl.col(side).alias(names[side]) for side in kind),
        )
        rows.append(whole)
    return pl.concat(rows, how="diagonal_relaxed").drop("p", "h")


def _suite(problems: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Each original that has a paraphrased version, before its versions."""
    there = problems.filter(pl.col("id").is_in(rows["of"].unique().implode()))
    plain = rows.drop("kept", pl.selectors.starts_with("check:"))
    return by_bucket(pl.concat([there, plain], how="diagonal_relaxed"))


def _counts(candidates: pl.DataFrame, halves: pl.DataFrame, rows: pl.DataFrame) -> dict[str, dict[str, int]]:
    """How many rows each step left, by what was paraphrased."""
    steps = {
        "candidates": candidates, "few shared words": candidates.filter("distant"),
        "verified": candidates.filter("verified"), "most similar": halves,
        "recombined": rows, "label kept": rows.filter("kept"),
    }  # fmt: skip
    return {step: dict(some["paraphrased"].value_counts(sort=True).iter_rows()) for step, some in steps.items()}
