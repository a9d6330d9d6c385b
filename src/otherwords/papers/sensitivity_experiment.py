"""Semantic sensitivity (Arakelyan et al. 2024) on models and data of one's own.

Of each data set a model is asked first, and what it answers right is kept. The hypotheses of these problems are
reworded until enough rewordings pass the model itself as the judge of mutual entailment (section 3.1), and for
comparison an independent judge: the first is circular by design, and makes the rewordings each model's own. Then the
model is asked again. A problem fools it where at least one rewording gets another label (r_r), or the opposite (r_s).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field

from ..errors import BadInput
from ..pipeline import score
from ..problem import Score
from ..registry import checks, generators
from ..storage.run_folder import RunFolder, is_whole
from .data import write_rows
from .experiment import in_setting
from .paper_page import PaperResults
from .protocol import PaperSettings, Protocol, RunCell
from .sensitivity_tables import LABELS_ORDER, MeasuredModel, accepted_answers, make_results

#: What is measured of each run, and what only where a model gives probabilities.
RATES, SHIFTS = ("r_r", "r_s"), ("jsd_pairs", "jsd_means", "ks_split", "sigma")
#: The generator that refines until `k` rewordings pass a check.
REFINING = "paraphrase"
#: What is reworded.
FIELD = "hypothesis"


class SensitivitySettings(PaperSettings):
    """What to try: see the template that `--init` writes."""

    generator: str = "reworded(n=10, field=hypothesis)"
    judge: str = "nli-small"
    accept: list[Literal["self", "judge"]] = Field(["self", "judge"], min_length=1)


class Sensitivity(Protocol[SensitivitySettings]):
    """The experiment: answers first, then the rewordings of what was right, judged and answered."""

    name = "sensitivity"
    title = "Semantic sensitivity (Arakelyan et al. 2024)"
    bibtex = """@inproceedings{arakelyan2024semantic,
  title = {Semantic Sensitivities and Inconsistent Predictions: Measuring the Fragility of {NLI} Models},
  author = {Arakelyan, Erik and Liu, Zhaoqi and Augenstein, Isabelle},
  booktitle = {Proceedings of the 18th Conference of the European Chapter of the ACL},
  year = {2024}
}"""
    methods = (
        "Each model was asked all problems, and those that it answered right were kept. Their hypotheses were "
        "reworded. A rewording counts if a judge finds that it entails the original hypothesis and is entailed by it; "
        "the judge is the model under test, or an independent one. The relaxed fooling rate is the share of problems "
        "answered right that have at least one accepted rewording with another label, the strict one with the opposite "
        "label (for neutral, any other), as in Arakelyan et al. (2024). Intervals are over clusters of problems that "
        "share a premise."
    )
    exhibits = ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5")
    kind = SensitivitySettings
    quick_size = 60

    def refuse(self) -> None:
        """Refuse a generator or judge that cannot be made, and a refining generator that names a check itself."""
        settings = self.settings
        with in_setting("generator"):
            generators.make(settings.generator)
        plugin, options = generators.read(settings.generator)
        if options.get("field", "") not in ("", FIELD):
            fix = f"leave field out, or give field={FIELD}"
            raise BadInput(f"{options['field']!r} is not what is reworded", field="generator", fix=fix)
        if plugin.name == REFINING and "accept=" in settings.generator:
            fix = "leave accept out: the protocol sets it, for each model and for the judge"
            raise BadInput("the generator has a check of its own", field="generator", fix=fix)
        with in_setting("judge"):
            checks.make(self._check("judge", ""))
        for name, data in settings.datasets.items():
            task = data.source().chosen
            if FIELD not in task.fields:
                fix = "give data of a task with a hypothesis (nli, rte)"
                raise BadInput(f"{task.name} has no hypothesis", where=f"datasets.{name}", field="task", fix=fix)

    @cached_property
    def wanted(self) -> int:
        """How many rewordings must pass, for a generator that refines; 0 for others."""
        plugin, options = generators.read(self.settings.generator)
        return int(options["k"]) if plugin.name == REFINING else 0

    # Cells

    def planned(self) -> Iterator[RunCell]:
        """The runs of each model; before it has answered, as if all problems were answered right: at most."""
        for dataset in self.settings.datasets:
            for model in self.settings.models:
                right = self._right(dataset, model)
                data = right if is_whole(right) else self.problems(dataset)
                yield from (self._reworded(dataset, model, one, data) for one in self.settings.accept)

    def asked(self) -> Iterator[RunCell]:
        """The first answers of all models."""
        for dataset in self.settings.datasets:
            yield from (self._first(dataset, model) for model in self.settings.models)

    def _first(self, dataset: str, model: str) -> RunCell:
        return self.plain(f"{dataset}/{model}/first", dataset, model)

    def _right(self, dataset: str, model: str) -> Path:
        """Where the problems are that a model answers right."""
        return self.folder / "cells" / dataset / model / "right.parquet"

    def results(self) -> PaperResults:
        """Ask, keep what is right, reword, judge, ask again; then tables and figures."""
        settings, measured = self.settings, list[MeasuredModel]()
        for dataset in settings.datasets:
            for model in settings.models:
                first = self.answers(self._first(dataset, model))
                right = self._right_problems(dataset, model, first)
                runs: dict[str, Path] = {
                    one: self.run(self._reworded(dataset, model, one, right)) for one in settings.accept if right
                }
                scores: dict[str, list[Score]] = {
                    one: _scores(run, self.tasks[dataset].labels, self.wanted) for one, run in runs.items()
                }
                measured.append(MeasuredModel(dataset, model, first, scores, runs))
        results = make_results(settings, measured, self.rows, self.wanted)
        same = [name for name, one in settings.models.items() if one.model == settings.judge]
        note = [f"The judge is {name} itself: for it, both ways to accept are the same." for name in same]
        found = [one.accuracy for one in measured]
        found += [one for model in measured for some in model.scores.values() for one in some]
        signed = tuple(dict.fromkeys(one.signature for one in found))
        return replace(results, deviations=(*results.deviations, *note), signatures=signed)

    def _right_problems(self, dataset: str, model: str, first: pl.DataFrame) -> Path | None:
        """A file of the problems that the model answers right; None where there is none."""
        right = first.filter(pl.col("pred") == pl.col("gold"))["bucket"]
        problems = pl.read_parquet(self.problems(dataset)).filter(pl.col("id").is_in(right.implode()))
        return write_rows(self._right(dataset, model), problems) if problems.height else None

    def _reworded(self, dataset: str, model: str, accept: str, right: Path) -> RunCell:
        """The run in which the rewordings of a model's right problems are judged, and answered."""
        check = self._check(accept, model)
        generator = self.settings.generator
        if generators.takes(generator, "field"):
            generator = generators.respell(generator, field=FIELD)
        if self.wanted:
            drafts = self._check("judge" if accept == "judge" else "model", model)
            generator = generators.respell(generator, accept=drafts)
        return self.cell(
            f"{dataset}/{model}/{accept}", [dataset], [model], data=[str(right)], vary=[generator],
            check=["surface", check],
        )  # fmt: skip

    def _check(self, accept: str, model: str) -> str:
        """The check that accepts rewordings: by the model as it answers, by name while it is drafted, or by a judge."""
        judge = {"self": "self", "model": self.settings.models[model].model if model else ""}.get(
            accept, self.settings.judge
        )
        return checks.respell("mutual-entailment", judge=judge, field=FIELD)


def _scores(run: Path, labels: Sequence[str], wanted: int) -> list[Score]:
    """All scores of a run, the rates also by the right label; none where no rewording was accepted."""
    if not accepted_answers(run).height:
        return []
    few = [f"too_few_variants(k={wanted})"] if wanted else []
    found = [*score(run, RATES, by="label"), *score(run, ["r_r", "r_s_without_neutral", *few])]
    if any(name.startswith("p:") for name in RunFolder(run).scan("answers").collect_schema().names()):
        order = LABELS_ORDER if sorted(labels) == sorted(LABELS_ORDER.split("+")) else ""
        found += score(run, [*SHIFTS, f"ks_labels(order={order})" if order else "ks_labels"], replicates=1000)
    return found
