"""Intervals that hold however often one looks, and asking a model until such an interval answers the question.

A betting confidence sequence (Waudby-Smith and Ramdas 2024) of a pooled share sum(num) / sum(den), over clusters in
random order. Against each candidate m somebody bets 1 on every cluster in turn: the capital is multiplied by
1 + bet (num - m den) / largest, where the bet may depend on the clusters before. If m is the true share, the capital
is expected to stay 1, and is ever above 1 / alpha with a probability of at most alpha (Ville). So the candidates whose
capital has stayed below form an interval that holds at all times together. Half of the capital bets that the share is
higher, half that it is lower: each half needs 2 / alpha, its capital falls (rises) with m, and bisection finds its end.
The unit is the cluster, because outcomes within one are not independent; `largest` bounds its weight.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.reading import answered, cluster_names, read
from ..answers.roles import split_roles
from ..answers.table import Answers, Array
from ..errors import BadInput, OtherwordsError, caller_level, setting
from ..frames import WITHHELD, kept
from ..metrics.metric import Metric, as_metric, ratio, role_of
from ..problem import Task
from ..registry import metrics
from ..storage.files import digest

#: The columns of a table whose asking was stopped: by which rule, and the place of the row's cluster in the order.
UNTIL, ASKED = "until", "asked"
#: The largest part of the admissible bet that is ever placed: a bet of all could lose all.
_BOLDEST = 0.95
#: Bets where no width is aimed at, as parts of the boldest: one of them fits, whatever the share and the size.
_BETS = _BOLDEST * 0.5 ** np.arange(11)
#: The part of the error that is spent on the mixture where a width is aimed at.
_SPARE = 0.05
#: The variance, of clusters of mean size, that is assumed at first and counts as one cluster: early bets are timid.
_CAUTION = 0.5
#: How finely ends are found, and the places to which they are rounded, outwards.
_HALVINGS, _PLACES = 40, 9
#: Clusters before the first look; by how much their number grows from look to look, at least and at most.
_FIRST_LOOK, _STEPS = 32, (1.05, 2.0)
_CONFIDENCE = "give a number between 0 and 1, such as 0.95"
_AS_WRITTEN = "give the table as `answer` wrote it; or leave out the column `until`, and believe no interval"
_APART = "a model was asked by one rule: score each table by itself"


def anytime_ends(
    num: npt.ArrayLike,
    den: npt.ArrayLike,
    confidence: float = 0.95,
    *,
    counts: npt.ArrayLike | None = None,
    within: float | None = None,
    largest: float | None = None,
) -> tuple[float, float]:
    """The interval of sum(num) / sum(den) over clusters, valid at every time that somebody looks.

    `num` (from 0 to `den`) and `den` have an entry per cluster; `counts` says how often each entry occurs. `largest` is
    the largest weight that a cluster of the suite can have (default: of those given). The bets are a mixture, and the
    order of the clusters does not matter. Where an interval of +-`within` is aimed at, the bets fit that width, learn
    from the clusters before, in the order given, and ends once reached stay: so it is reached with the fewest clusters.

    >>> flips, variants = [0, 1, 0, 0, 2, 0, 0, 1] * 40, [4] * 320
    >>> [round(end, 3) for end in anytime_ends(flips, variants)]
    [0.094, 0.161]
    >>> [round(end, 3) for end in anytime_ends(flips, variants, within=0.03)]
    [0.1, 0.154]
    """
    if not 0 < confidence < 1:
        raise BadInput(f"found {confidence}", field="confidence", fix=_CONFIDENCE)
    hits, sizes = _scaled(num, den, largest)
    often = np.ones(len(sizes)) if counts is None else np.asarray(counts, dtype=np.float64)
    hits, sizes, often = (some[sizes > 0] for some in (hits, sizes, often))
    if not len(sizes):
        return 0.0, 1.0
    ends = []
    for some in (hits, sizes - hits):  # the upper end is the lower one of what did not happen
        bettors = [(_mixture(some, sizes, often), 1.0)]
        if within is not None:  # a little is kept for the mixture, in case the width is out of reach
            bettors = [(_planned(some, sizes, within), 1 - _SPARE), (bettors[0][0], _SPARE)]
        ends.append(max(_lowest(bets, math.log(2 / (share * (1 - confidence)))) for bets, share in bettors))
    value = float((often * hits).sum() / (often * sizes).sum())
    return min(ends[0], value), max(round(1 - ends[1], _PLACES), value)


def _scaled(num: npt.ArrayLike, den: npt.ArrayLike, largest: float | None) -> tuple[Array, Array]:
    """Both sums of each cluster as parts of the largest weight."""
    hits, sizes = np.asarray(num, dtype=np.float64), np.asarray(den, dtype=np.float64)
    if hits.ndim != 1 or hits.shape != sizes.shape:
        raise BadInput(f"found shapes {hits.shape} and {sizes.shape}", where="num, den", fix="give one per cluster")
    heaviest = float(sizes.max(initial=0.0))
    largest = heaviest if largest is None else largest
    slack = 1e-9 * max(heaviest, 1.0)
    if (hits < -slack).any() or (hits > sizes + slack).any() or heaviest > largest + slack:
        fix = "give num from 0 to den, and den up to the largest"
        raise BadInput("a cluster is beyond its bounds", where="num, den", fix=fix)
    scale = max(largest, heaviest) or 1.0
    return np.clip(hits, 0, sizes) / scale, sizes / scale


def _lowest(capital: Callable[[float], float], wanted: float) -> float:
    """The largest share that is refuted as too low: the logarithm of its capital has reached what is wanted."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if capital(middle) >= wanted else (low, middle)
    return float(math.floor(low * 10.0**_PLACES) / 10.0**_PLACES)


def _mixture(hits: Array, sizes: Array, often: Array) -> Callable[[float], float]:
    """The capital of a mixture of constant bets. It is the same in any order, so it needs none."""

    def capital(m: float) -> float:
        gain = hits / m - sizes
        growth = np.array([(often * np.log1p(bet * gain)).sum() for bet in _BETS])
        return float(np.logaddexp.reduce(growth) - math.log(len(_BETS)))

    return capital


def _planned(hits: Array, sizes: Array, within: float) -> Callable[[float], float]:
    """The most capital so far of bets that grow fastest where the share is `within` above the candidate.

    The best bet is drift / (variance + drift^2) to second order (Waudby-Smith and Ramdas 2024, section B.3), both taken
    from the clusters before: the drift of a share that is `within` higher, the variance at the candidate.
    """

    def before(values: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(values)[:-1]])

    seen, weight = np.arange(len(sizes)), before(sizes)
    share = (before(hits) + 0.5) / (weight + 1)
    squares = before(hits**2) - 2 * share * before(hits * sizes) + share**2 * before(sizes**2)
    candidate = np.maximum(share - within, share / 2)
    size = np.where(seen > 0, weight / np.maximum(seen, 1), 0.5)
    variance = (_CAUTION * size**2 + squares) / (seen + 1) * candidate * (1 - candidate) / (share * (1 - share))
    drift = within * size
    bets = drift / (variance + drift**2)

    def capital(m: float) -> float:
        return float(np.cumsum(np.log1p(np.minimum(bets, _BOLDEST / m) * (hits - m * sizes))).max())

    return capital


def is_plain_share(metric: Metric) -> bool:
    """Whether a metric of one model is a ratio of sums in [0, 1], so that its clusters can be bet on."""
    low, high = metric.bounds
    alone = not (metric.across or metric.outside or metric.parts) and metric.interval
    return metric.combine is ratio and alone and low >= 0 and high <= 1


# Rules: when the answer is known


@dataclass(frozen=True)
class Until:
    """When to stop asking: a metric is known `within` so much, or on which side of a `bound` it lies."""

    metric: str
    within: float | None = None
    sign: str = ""
    bound: float = 0.0

    def __str__(self) -> str:
        return f"{self.metric} within {self.within}" if self.within else f"{self.metric} {self.sign} {self.bound}"

    def is_known(self, low: float, high: float) -> bool:
        """Whether an interval answers the question: no wider than +-within around its middle, or beyond the bound."""
        if self.within:
            return high - low <= 2 * self.within
        below = high <= self.bound if self.sign == "<=" else high < self.bound
        return below or (low >= self.bound if self.sign == ">=" else low > self.bound)

    def next_look(self, clusters: int, low: float, high: float) -> int:
        """After how many clusters to look again: often where the answer is near. A width falls no faster than 1 / n."""
        least, most = _STEPS
        step = min(max((high - low) / (2 * self.within), least), most) if self.within else least
        return max(math.ceil(clusters * step), clusters + _FIRST_LOOK // 4, _FIRST_LOOK)


_NUMBER = r"([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(%?)"
_RULE = re.compile(rf"\s*(.+?)\s*(?:\bwithin\s+{_NUMBER}|(<=|>=|<|>)\s*{_NUMBER})\s*")
_STOPPED = re.compile(r"(.+) \(largest=([0-9.e+-]+)\)")


def parse_until(text: str) -> Until:
    """Read a rule.

    >>> parse_until("flip_rate within 1%")
    Until(metric='flip_rate', within=0.01, sign='', bound=0.0)
    """
    match = _RULE.fullmatch(text)
    if match is None:
        fix = "write it like 'flip_rate within 0.01' or 'flip_rate<=0.1'"
        raise _wrong_rule(f"cannot read {text!r}", fix)
    name, width, width_percent, sign, bound, bound_percent = match.groups()
    if sign is None:
        within = _percent(width, width_percent)
        if not 0 < within < 0.5:
            fix = "give more than 0 and less than 0.5"
            raise _wrong_rule(f"found within {width}{width_percent}", fix)
        return Until(name, within)
    limit = _percent(bound, bound_percent)
    if not 0 < limit < 1:
        fix = "give a bound between 0 and 1"
        raise _wrong_rule(f"found {sign}{bound}{bound_percent}", fix)
    return Until(name, None, sign, limit)


def refuse_wrong_rule(text: str, confidence: float = 0.95) -> tuple[Until, Metric]:
    """Refuse, before any work, a rule that cannot be read, or whose metric is none or no ratio of sums in [0, 1]."""
    rule = parse_until(text)
    metric = as_metric(metrics.make(rule.metric).function)
    fix = "use one that is a share, such as flip_rate, p_c, pa or accuracy_variants"
    if not is_plain_share(metric):
        raise _wrong_rule(f"{rule.metric} is not a ratio of sums between 0 and 1", fix)
    if metrics.takes(rule.metric, "suite"):
        raise _wrong_rule(f"{rule.metric} is about the texts, whatever is answered", fix)
    if not 0 < confidence < 1:
        raise BadInput(f"found {confidence}", field="confidence", fix=_CONFIDENCE)
    return rule, metric


def _wrong_rule(message: str, fix: str) -> BadInput:
    return BadInput(message, where=setting("--until", "until"), fix=fix)


def _percent(number: str, percent: str) -> float:
    """A decimal as it is written: 0.7 % is 0.007, to the last bit."""
    return float(f"{number}e-2") if percent and "e" not in number else float(number) / (100 if percent else 1)


# Asking until the answer is known


@dataclass(frozen=True)
class Plan:
    """What to ask in which order: the rows of a suite with the place of their cluster, from 1, in the column `asked`.

    Clusters come in random order, by their content and the seed; those that tell nothing about the metric come last.
    """

    rule: Until
    metric: Metric
    task: Task
    rows: pl.DataFrame
    largest: float
    confidence: float

    @property
    def n_clusters(self) -> int:
        """How many clusters there are to ask."""
        return int(self.rows[ASKED].max() or 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Stopped:
    """How asking ended: what is known, after how many problems and clusters, and of how many there were."""

    rule: Until
    known: bool
    value: float
    low: float
    high: float
    problems: tuple[int, int]
    clusters: tuple[int, int]

    def __str__(self) -> str:
        many = f"{self.problems[0]:,} of {self.problems[1]:,} problems"
        if self.clusters != self.problems:
            many += f" ({self.clusters[0]:,} of {self.clusters[1]:,} clusters)"
        found = f"{self.rule.metric} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (anytime)"
        if self.known:
            return f"stopped after {many}: {found}"
        return f"asked all {self.problems[1]:,} problems before {str(self.rule)!r} was answered: {found}"


def plan_asking(text: str, suite: pl.DataFrame, task: Task, seed: int = 1, confidence: float = 0.95) -> Plan:
    """Order the clusters of a suite for a rule; refuse a rule that its answers could not decide, before any is asked.

    Every cluster's weight must be known before it is asked: it is measured with invented answers, and must be the same
    whatever they are. A metric among right answers only (flip_when_right) is therefore refused.
    """
    rule, metric = refuse_wrong_rule(text, confidence)
    suite = kept(suite.lazy()).collect()
    suite = suite.rename({name: f"input_{name}" for name in (UNTIL, ASKED) if name in suite.columns})
    place = _places(suite, task, seed)
    numbered = suite.with_columns(pl.Series(ASKED, place + 1))
    weights = [_sums(metric, _invented(numbered, task, way), task.labels)[1] for way in range(3)]
    if any((other != weights[0]).any() for other in weights):
        fix = "use one whose denominator does not depend on the answers, such as flip_rate"
        raise _wrong_rule(f"{rule.metric} divides by a number that only the answers give", fix)
    if not weights[0].any():
        fix = "give a suite with variants (otherwords vary --suite), of the kind that the metric is about"
        raise _wrong_rule(f"nothing to measure: no problem counts for {rule.metric}", fix)
    order = np.argsort(weights[0] == 0, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Plan(
        rule, metric, task, suite.with_columns(pl.Series(ASKED, rank[place] + 1)), float(weights[0].max()), confidence
    )


def ask_until(plan: Plan, ask: Callable[[pl.DataFrame], pl.DataFrame]) -> tuple[pl.DataFrame, Stopped]:
    """Ask cluster by cluster until the rule's question is answered; give the answers, in the order of the suite.

    `ask` answers some rows of the plan. The column `until` of the answers holds the rule, with the largest weight.
    """
    row = "\0row"  # no column of the user's is called so
    rows, tables, done = plan.rows.with_row_index(row), [], 0
    low, high, known = 0.0, 1.0, False
    while done < plan.n_clusters and not known:
        until = plan.rule.next_look(done, low, high)
        tables.append(ask(rows.filter(pl.col(ASKED).is_between(done + 1, until))))
        done = min(until, plan.n_clusters)
        answers = pl.concat(tables, how="diagonal_relaxed")
        num, den = _sums(plan.metric, answers, plan.task.labels)
        low, high = anytime_ends(num, den, plan.confidence, within=plan.rule.within, largest=plan.largest)
        known = plan.rule.is_known(low, high)
    answers = (
        answers.sort(row).drop(row).with_columns(pl.lit(f"{plan.rule} (largest={plan.largest:.12g})").alias(UNTIL))
    )
    marks = [name for name in ("truncated", WITHHELD) if name in answers.columns]  # in the batches that have such rows
    answers = answers.with_columns(pl.col(name).fill_null(False) for name in marks)
    problems = (answers["bucket"].n_unique(), rows.select(pl.coalesce("of", "id").n_unique()).item())
    value = float(num.sum() / den.sum()) if den.any() else math.nan
    stopped = Stopped(plan.rule, known, value, low, high, problems, (done, plan.n_clusters))
    return answers, stopped


def _places(suite: pl.DataFrame, task: Task, seed: int) -> Array:
    """The place of each row's cluster in an order that hangs on the seed and on what the cluster holds."""
    name, content = "\0cluster", "\0content"
    bucket = pl.coalesce("of", "id").alias("bucket")
    rows = suite.with_columns(bucket, pl.col("of").is_null().alias(name))
    heads = rows.sort(name, descending=True, maintain_order=True).unique("bucket", keep="first", maintain_order=True)
    clusters = cluster_names(heads, "bucket") if "cluster" in heads.columns else heads["bucket"]
    rows = rows.drop(name).join(
        heads.select("bucket", clusters.alias(name)), on="bucket", how="left", maintain_order="left"
    )
    shown = [one for one in ("label", "contrast", "control", *task.fields) if one in rows.columns]
    held = [pl.col("of").is_null(), *map(pl.col, shown)]
    texts = pl.concat_str([one.cast(pl.String).fill_null("") for one in held], separator="\x1f")
    groups = rows.select(name, texts.alias(content)).group_by(name, maintain_order=True).agg(pl.col(content).sort())
    keys = [digest(seed, *some) for some in groups[content].to_list()]
    rank = np.empty(len(keys), dtype=np.int64)
    rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    placed = groups.select(name, pl.Series(ASKED, rank))
    return rows.select(name).join(placed, on=name, how="left", maintain_order="left")[ASKED].to_numpy()


def _invented(rows: pl.DataFrame, task: Task, way: int) -> pl.DataFrame:
    """Answers that nobody gave: always the first label, always the second, or all labels in turn."""
    labels = task.labels
    pred = [labels[number % len(labels) if way > 1 else way] for number in range(rows.height)]
    return rows.select(
        pl.coalesce("of", "id").alias("bucket"),
        pl.when(pl.col("of").is_not_null()).then("id").alias("variant"),
        pl.col("label").alias("gold"),
        pl.Series("pred", pred, dtype=pl.String),
        *(pl.Series(f"p:{label}", [float(one == label) for one in pred]) for label in labels),
        *(name for name in ("cluster", "contrast", "control", ASKED) if name in rows.columns),
    )


def _sums(metric: Metric, answers: pl.DataFrame, labels: Sequence[str]) -> tuple[Array, Array]:
    """Both sums of the metric for each cluster, in the order of the column `asked`."""
    size = int(answers[ASKED].max() or 0)  # type: ignore[arg-type]
    answers, where = answered(answers)
    for role, part, place in split_roles(answers, where):
        if role == role_of(metric):
            return ordered_sums(metric, read(part, labels, place), size)
    return np.zeros(size), np.zeros(size)


# Tables whose asking was stopped


class StoppingRule(NamedTuple):
    """By what the asking of a table was stopped: the rule, the signature of its metric, and the largest weight."""

    until: Until
    signature: str
    largest: float


def rule_of(answers: pl.DataFrame) -> StoppingRule | None:
    """The rule by which the asking of a model was stopped; None where it was not stopped.

    The columns of these names may be anybody's: they count where `until` holds what `ask_until` writes. Then the order
    must be there, too: without it, only intervals that do not allow for the looking could be given.
    """
    if UNTIL not in answers.columns:
        return None
    texts = answers[UNTIL].cast(pl.String, strict=False).drop_nulls().unique().sort().to_list()
    rules = [rule for rule in map(_read_rule, texts) if rule is not None]
    if not rules:
        return None
    where = str(answers["model"][0]) if "model" in answers.columns else ""
    if len(texts) > 1 and {*texts} != {"", texts[-1]}:
        raise BadInput(f"found {' and '.join(map(repr, texts[:2]))}", where=where, field=UNTIL, fix=_APART)
    if ASKED not in answers.columns or not (answers[ASKED].cast(pl.Int64, strict=False).fill_null(0) > 0).all():
        message = f"asked {str(rules[0].until)!r}, but not every row has its place in the order, from 1"
        raise BadInput(message, where=where, field=ASKED, fix=_AS_WRITTEN)
    return rules[0]


def _read_rule(text: str) -> StoppingRule | None:
    match = _STOPPED.fullmatch(text)
    if match is None:
        return None
    try:
        rule = parse_until(match[1])
        return StoppingRule(rule, metrics.make(rule.metric).signature, float(match[2]))
    except (OtherwordsError, ValueError):  # a text that only looks like a rule
        return None


def warn_stopped(model: str, answers: pl.DataFrame, names: Iterable[str]) -> None:
    """Warn that intervals of these metrics do not allow for the looking by which the asking of a model was stopped."""
    if (rule := rule_of(answers)) and (named := ", ".join(dict.fromkeys(names))):
        asked = f"{model} was asked until {str(rule.until)!r}"
        warnings.warn(f"{asked}; the intervals of {named} do not allow for that", stacklevel=caller_level())


def stopped_ends(metric: Metric, data: Answers, rule: StoppingRule, confidence: float) -> tuple[float, float]:
    """The interval of the metric by which a table was stopped, as it was when the asking stopped."""
    num, den = ordered_sums(metric, data)
    largest = max(rule.largest, float(den.max(initial=0.0)))
    return anytime_ends(num, den, confidence, within=rule.until.within, largest=largest)


def ordered_sums(metric: Metric, data: Answers, size: int = 0) -> tuple[Array, Array]:
    """Both sums of a metric for each cluster of a stopped table, in the order in which clusters were asked."""
    rows = metric.rows(data)
    rows = np.where(rows[:, -1:] > 0, rows, 0)
    asked = np.zeros(data.n_buckets, dtype=np.int64)
    asked[data.bucket] = data.frame[ASKED].cast(pl.Int64).to_numpy() - 1
    if not size:  # rows may have been left out since: only the order counts
        asked = np.unique(asked, return_inverse=True)[1]
    size = max(size, int(asked.max(initial=-1)) + 1)
    num, den = (np.bincount(asked, weights=rows[:, i], minlength=size) for i in (0, 1))
    return num, den
