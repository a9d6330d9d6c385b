"""Rates under judges: a model's metrics on the variants that a judge accepts, how many it accepts, where two differ."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ..answers.groups import groups, split
from ..answers.reading import read
from ..answers.table import Array, Location, is_original
from ..metrics import fooling
from ..metrics.metric import as_metric, divide
from ..problem import AGAIN, Score
from ..registry import Bound, metrics
from ..scoring.measure import measure_answers
from ..scoring.select import IntervalSettings
from .verdicts import accepted

#: Named as the judge where all variants count.
NOBODY = "(none)"
#: The judge of variants that every model accepts for itself.
EVERY_SELF = "self of all"
#: The source of a variant without a generator: it came with the data.
GIVEN = "(given)"
_SOURCE = "\0source"  # no column of the user's is called so


@dataclass(frozen=True)
class Judged:
    """One model's rates on the variants that one judge accepts, over the whole suite or a group of it.

    `right` are the problems answered correctly, which are the denominator of the rates under every judge; `without`
    are those of them that the judge left no variant: if all of them, no problem is fooled, and r_r and r_s are 0.
    """

    model: str
    judge: str
    group: str | None
    variants: int
    accepted: int
    problems: int
    right: int
    without: int
    scores: tuple[Score, ...]

    def score(self, metric: str) -> Score | None:
        """The score of one metric, or None where it cannot be measured here."""
        return next((one for one in self.scores if one.metric == metric), None)


@dataclass(frozen=True)
class Acceptance:
    """How many variants of one source a judge accepts: of a generator with its options, or given with the data.

    `model` is empty where the judge is not the model itself.
    """

    judge: str
    model: str
    source: str
    variants: int
    accepted: int
    rate: Score


@dataclass(frozen=True)
class Disagreement:
    """Two judges on the same variants: how many both accept, only the first, only the second, or neither.

    `kappa` is Cohen's, None where chance alone would have them always agree; `r_r` is the model's relaxed fooling rate
    on the variants that both accept, None without gold labels.
    """

    model: str
    judge: str
    other: str
    both: int
    only_judge: int
    only_other: int
    neither: int
    share: float
    kappa: float | None
    r_r: Score | None


@dataclass(frozen=True)
class Measuring:
    """What is measured, of which labels, and how intervals are made."""

    using: Sequence[Bound]
    labels: tuple[str, ...]
    settings: IntervalSettings

    def judged(self, answers: pl.DataFrame, judges: Sequence[str], by: Sequence[str]) -> Iterator[Judged]:
        """One model's rates without a judge and under each, of the whole and of groups.

        A group has the same problems under every judge: those with any variant in it, accepted or not.
        """
        for group, part in groups(answers, by):
            for judge in judges:
                yield self._judged(part, judge, group)

    def _judged(self, part: pl.DataFrame, judge: str, group: str | None) -> Judged:
        left = _left(part, judge)
        right = part.filter(is_original(), pl.col("gold") == pl.col("pred"))["bucket"]
        varied = left.filter(~is_original())["bucket"]
        return Judged(
            part["model"][0],
            judge,
            group,
            part.filter(~is_original()).height,
            varied.len(),
            part.filter(is_original()).height,
            right.len(),
            int((~right.is_in(varied.unique().to_list())).sum()),
            tuple(self._scores(left, self.using if judge == NOBODY else counted(self.using), self.labels, group)),
        )

    def acceptance(self, answers: pl.DataFrame, judge: str, bound: Bound, model: str) -> Iterator[Acceptance]:
        """Which share of the variants of each source a judge accepts, with an interval over clusters."""
        name = pl.col("how").cast(pl.String).replace("", None).fill_null(GIVEN)
        sources = answers.with_columns(pl.when(~is_original()).then(name).alias(_SOURCE))
        for source, part in split(sources, _SOURCE):
            verdicts = part.filter(~is_original())[accepted(judge)]
            rate = self._rate(part, judge, bound, str(source))
            yield Acceptance(judge, model, str(source), verdicts.len(), int(verdicts.sum()), rate)

    def _rate(self, part: pl.DataFrame, judge: str, bound: Bound, source: str) -> Score:
        """A verdict is an answer, and acceptance its accuracy on variants: so it has an interval as all shares have."""
        yes, no = "accepted", "rejected"
        verdict = pl.when(is_original() | pl.col(accepted(judge))).then(pl.lit(yes)).otherwise(pl.lit(no))
        table = part.with_columns(verdict.alias("pred"), pl.lit(yes).alias("gold")).drop(f"^p:.*|{AGAIN}.*$")
        share = metrics.make("accuracy_variants")
        (score,) = self._scores(table, [share], (yes, no), source)
        signature = score.signature.replace(share.signature, bound.signature, 1)
        return replace(score, metric="mutual_entailment", signature=signature)

    def disagreement(self, answers: pl.DataFrame, judge: str, other: str) -> Disagreement:
        """How two judges differ on one model's variants."""
        variants = answers.filter(~is_original())
        one, two = (variants[accepted(name)] for name in (judge, other))
        a, b, c, d = (int(both.sum()) for both in (one & two, one & ~two, ~one & two, ~one & ~two))
        fooled = [] if answers["gold"].null_count() else counted([metrics.make("r_r")])
        r_r = next(iter(self._scores(_left(_left(answers, judge), other), fooled, self.labels, None)), None)
        share = (b + c) / (a + b + c + d)
        return Disagreement(answers["model"][0], judge, other, a, b, c, d, share, kappa(a, b, c, d), r_r)

    def _scores(
        self, table: pl.DataFrame, using: Sequence[Bound], labels: tuple[str, ...], group: str | None
    ) -> list[Score]:
        place = Location("the answers", table["model"][0])
        with warnings.catch_warnings():  # where a judge left nothing to measure, the report has a dash
            warnings.filterwarnings("ignore", message=".*: nothing to measure")
            return measure_answers(using, read(table, labels, place), group, self.settings, lenient=True)


def counted(using: Sequence[Bound]) -> list[Bound]:
    """Let fooling rates be 0 where a judge left no variant, instead of undefined: no problem is fooled then.

    The paper's denominator is all problems answered correctly, with variants or without; only where there are none is
    there no rate.
    """
    return [
        replace(one, function=replace(metric, combine=_of_all)) if metric.combine is fooling.rate else one
        for one, metric in ((one, as_metric(one.function)) for one in using)
    ]


def _of_all(totals: Array) -> Array:
    return divide(totals[..., 0], totals[..., 2])


def kappa(both: int, only_one: int, only_other: int, neither: int) -> float | None:
    """Cohen's kappa: agreement beyond what chance would give; None where chance gives all of it.

    >>> kappa(20, 5, 10, 15)
    0.4
    """
    total = both + only_one + only_other + neither
    one, other = both + only_one, both + only_other
    chance = one * other + (total - one) * (total - other)
    if chance == total * total:
        return None
    return ((both + neither) * total - chance) / (total * total - chance)


def _left(answers: pl.DataFrame, judge: str) -> pl.DataFrame:
    """All originals, and the variants that a judge accepts."""
    if judge == NOBODY:
        return answers
    return answers.filter(is_original() | pl.col(accepted(judge)))
