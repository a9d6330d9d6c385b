"""MERGE on one's own models (Zgreaban et al. 2025): words that premise and hypothesis share are replaced, and NLI
models are asked whether enough of a problem's variants are right.

The method in the paper's order: shared words get suggestions of masked-LMs, filters keep what is likelier, new and of
the same class in both texts; problems with enough of them are seeds. Of each seed and class, variants are drawn, again
and again. Then ablations on the same seeds, all models, and what is counted of their answers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import polars as pl

from ..errors import BadInput
from ..registry import generators
from ..storage.run_folder import RunFolder, is_whole, read_part
from ..variants.corpus import content
from ..variants.masked_lm.filters import RULES
from ..variants.masked_lm.suggestions import CLASSES
from .data import write_rows
from .experiment import in_setting
from .merge_suite import MergeSettings, MergeSuite, Rating, by_model, read_answers
from .merge_tables import exhibits_of, summary
from .merge_variants import Exhibits, draw_for_judges, read_corrected, read_ratings
from .paper_page import PaperResults
from .protocol import Protocol, RunCell

Exhibit = TypeVar("Exhibit")
#: What runs measure; the first also where no problem has suggestions, which `results` refuses in its own words.
METRICS = ["accuracy_original", "pa", "flip_rate"]
#: Where the protocol differs from the paper, whatever the settings.
DEVIATIONS = (
    'A replacement is none of the problem\'s words in any form: no "dogs" where there is a "dog".',
    "Words that differ in capitals are one suggestion; a word of different classes in its places is left alone.",
    "Where a group lacks seeds in some draws, as one of origins may, draws weigh by their seeds.",
    "Table 3 gives the matching threshold as an interval: pattern accuracy is a step function.",
    "Table 2's average over all classes is of all suggestions of a seed; the paper does not say how it gets its own.",
    "Beside the t test over models, which takes them for independent, stands one with models and problems crossed.",
    "Figures 3 and 10 show shares of good variants and of marks; the paper draws both marks in one chart.",
)


class Merge(Protocol[MergeSettings]):
    """MERGE: several masked-LMs, draws, ablations on the same seeds, all models."""

    name = "merge"
    title = "MERGE: Minimal Expression-Replacement GEneralization Test for Natural Language Inference"
    bibtex = (
        "@misc{zgreaban-2025-merge,\n"
        "  title = {{MERGE}: Minimal Expression-Replacement {GE}neralization Test for Natural Language Inference},\n"
        "  author = {Zgreab{\\u a}n, M{\\u a}d{\\u a}lina and Deoskar, Tejaswini and Abzianidze, Lasha},\n"
        "  year = {2025}\n}"
    )
    methods = (
        "Nouns, verbs and adjectives that premise and hypothesis share were replaced by words that masked language "
        "models find likelier in both, that are new to the problem and of the same word class in context. Of each "
        "problem and class with enough suggestions, variants were drawn several times; accuracy on variants and "
        "pattern accuracy (the share of problems with at least so many of their variants right) are means over draws "
        "(Zgreaban et al. 2025)."
    )
    exhibits = (*(f"Table {number}" for number in range(1, 11)), *(f"Figure {number}" for number in range(1, 12)))
    kind = MergeSettings
    quick_settings: ClassVar[Mapping[str, Any]] = {"counts": "reached", "draws": 3}
    quick_size = 120
    may_change = (
        *("ablations", "quality", "below", "counterparts", "corpus", "corpus_models"),
        *("judge", "verdicts", "corrected"),
    )

    # Before any work

    def refuse(self) -> None:
        """Refuse names that mean nothing, files that are not there, and masked-LMs that cannot be loaded."""
        settings = self.settings
        masked = set(settings.masked_lms)
        _refuse_strangers("classes", settings.classes, CLASSES)
        _refuse_strangers("ablations", settings.ablations, [name for name in RULES if name])
        _refuse_strangers("counterparts", settings.counterparts, settings.models)
        _refuse_strangers("counterparts", settings.counterparts.values(), masked)
        _refuse_strangers("corpus_models", settings.corpus_models, settings.models)
        with in_setting("corpus"):
            if settings.corpus:
                content(Path(settings.corpus))
        with in_setting("verdicts"):
            self.ratings: list[Rating] = read_ratings(settings.verdicts)
        with in_setting("corrected"):
            self.corrected = read_corrected(settings.corrected)
        with in_setting("masked_lms"):
            generators.make(self.generator())

    def generator(self, ablation: str = "") -> str:
        """MERGE's generator of variants, or one of its ablations."""
        settings = self.settings
        options = {
            "models": [f"{name}={one.model}" for name, one in settings.masked_lms.items()],
            "top": settings.top, "classes": "+".join(settings.classes), "least": settings.least,
            "n": settings.n, "subsamples": settings.draws,
            "ablation": ablation, "counts": "reached" if ablation else settings.counts,
        }  # fmt: skip
        return f"masked-lm({', '.join(f'{name}={json.dumps(value)}' for name, value in options.items())})"

    # Cells: the method on all problems, its ablations on the seeds

    def planned(self) -> Iterable[RunCell]:
        """The runs on all problems, and the ablations; before seeds are known, those count all problems: at most."""
        for name in self.settings.datasets:
            yield self.whole(name)
            data = self.seeds(name) if is_whole(self.seeds(name)) else self.problems(name)
            yield from (self.ablated(name, one, data) for one in self.settings.ablations)

    def whole(self, dataset: str) -> RunCell:
        """The run of the method itself."""
        return self.cell(f"{dataset}/merge", [dataset], vary=[self.generator()], check=[], metrics=METRICS)

    def ablated(self, dataset: str, ablation: str, data: Path) -> RunCell:
        """The run of an ablation; its seeds are those of the method, whatever it keeps."""
        vary = [self.generator(ablation)]
        return self.cell(
            f"{dataset}/{ablation}",
            [dataset],
            vary=vary,
            data=[str(data)],
            check=[],
            metrics=METRICS,
            canary=False,
        )  # the models were tried in the run of the method

    def seeds(self, dataset: str) -> Path:
        """Where the seeds of a data set are; "~" is in no name of a data set."""
        return self.folder / "data" / f"{dataset}~seeds.parquet"

    # Results

    def results(self) -> PaperResults:
        """All runs, then the tables and figures of each data set."""
        suites = [self._suite(name) for name in self.settings.datasets]
        found = [exhibits_of(one) for one in suites]
        lines = " ".join(summary(one) for one in suites)
        return PaperResults(
            _listed(one.tables for one in found), _listed(one.figures for one in found), _reasons(found),
            list(self._deviations()), lines,
        )  # fmt: skip

    def _suite(self, dataset: str) -> MergeSuite:
        settings = self.settings
        run = self.run(self.whole(dataset))
        variants = RunFolder(run).read("variants")
        if not variants.height:
            fix = "give more problems, another masked-LM, or a smaller `least`"
            raise BadInput(f"no problem has {settings.least} suggestions", where=f"datasets.{dataset}", fix=fix)
        problems = read_part(self.problems(dataset))
        write_rows(self.seeds(dataset), problems.filter(pl.col("id").is_in(variants["of"].unique().implode())))
        draw_for_judges(self.folder, dataset, variants, settings.judge, settings.seed)
        originals, asked = read_answers(run)
        ablations = {}
        for one in settings.ablations:
            some = read_answers(self.run(self.ablated(dataset, one, self.seeds(dataset))))[1]
            if some.height:
                ablations[one] = by_model(some, list(settings.models))
        return MergeSuite(
            dataset, len(settings.datasets) > 1, settings, self.tasks[dataset], problems, variants,
            RunFolder(run).read("notes"), originals, asked, ablations, self.ratings, self.corrected,
        )  # fmt: skip

    def _deviations(self) -> Iterator[str]:
        settings = self.settings
        yield from DEVIATIONS
        if settings.counts == "reached":
            yield 'Table 6 counts of what reached each filter; the paper of all suggestions: counts = "all", slow.'
        if (settings.least, settings.n, settings.draws, settings.top) != (20, 20, 10, 200):
            changed = f"at least {settings.least} suggestions, {settings.n} variants, {settings.draws} draws"
            yield f"{changed}, of the {settings.top} likeliest words; the paper has 20, 20, 10 and 200."
        if len(settings.masked_lms) == 1:
            yield "One masked-LM; the paper has eight of four families."


def _listed(several: Iterable[Mapping[str, list[Exhibit]]]) -> dict[str, list[Exhibit]]:
    """The exhibits of all data sets under their names in the paper."""
    together: dict[str, list[Exhibit]] = {}
    for one in several:
        for name, some in one.items():
            together.setdefault(name, []).extend(some)
    return together


def _reasons(found: Sequence[Exhibits]) -> dict[str, str]:
    """Why exhibits are missing; of several data sets, which lack them."""
    if len(found) == 1:
        return found[0].missing
    by_exhibit: dict[str, dict[str, str]] = {}
    for one in found:
        for name, reason in one.missing.items():
            by_exhibit.setdefault(name, {})[one.suite.dataset] = reason
    return {
        name: "; ".join(
            dict.fromkeys(reasons.values())
            if len(reasons) == len(found) and len(set(reasons.values())) == 1
            else (f"{dataset}: {reason}" for dataset, reason in reasons.items())
        )
        for name, reasons in by_exhibit.items()
    }


def _refuse_strangers(field: str, names: Iterable[str], known: Iterable[str]) -> None:
    listed = list(known)
    for name in names:
        if name not in listed:
            raise BadInput(f"no {name!r}", field=field, fix=f"available: {', '.join(listed)}")
