"""A metric is statistics per unit plus a way to combine their sums; every interval and test follows from that."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..answers.groups import has_label_mass
from ..answers.repeats import FIX, has_repeats
from ..answers.roles import Role
from ..answers.table import SINGLE, Answers, Array, probabilities
from ..errors import BadInput, Unmeasurable
from ..registry import Plugin, metrics
from ..storage.user_code import guard, load_function, write_example

Uses = Literal["originals", "variants", "both", "contrasts", "controls"]
#: The parts of a value beside its baseline, in which every wording of a problem takes its turn as the original.
BASELINE = ("value", "baseline", "above")
#: Problems with more wordings than this have some that take no turn as the original: the mean hardly changes.
MOST_TURNS = 20
#: How to get what a table of answers may lack.
FIXES = {
    "gold labels": "give the right answers in a column `gold` (in data: `label`), or name their column with --field",
    "originals": "give the answers to the originals: rows with an empty `variant`",
    "repeats": FIX,
    "label mass": "ask a language model with readout=tokens or readout=score, where its server gives probabilities",
}
#: Those that most tables lack, so that nothing is missing where they do.
UNUSUAL = ("repeats", "label mass")


def ratio(totals: Array) -> Array:
    """Divide the first sum by the second: a rate. Works on one row of sums or on a row per bootstrap replicate."""
    return divide(totals[..., 0], totals[..., 1])


def divide(part: Array, whole: Array) -> Array:
    """Divide; division by zero is undefined (NaN), which the report prints as such."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole == 0, np.nan, part / whole))


def both_shares(totals: Array) -> tuple[Array, Array]:
    """Divide the first two sums by the third: two shares of the same units."""
    return divide(totals[..., 0], totals[..., 2]), divide(totals[..., 1], totals[..., 2])


def first_less_second(totals: Array) -> Array:
    """The difference of two shares of the same units."""
    return divide(totals[..., 0] - totals[..., 1], totals[..., 2])


def with_baseline(value: Array, baseline: Array) -> Array:
    """A value, its baseline and how far it is above that, along a new last axis: the parts BASELINE."""
    return np.stack([value, baseline, value - baseline], axis=-1)


@dataclass(frozen=True)
class Outside:
    """Statistics of units that are not buckets: a test set's items. They are resampled separately from the buckets.

    `names` identify the items, so that two models are compared on the same ones; `gold` (label codes) lets that be
    checked. Items of the same `cluster` (numbered from 0) are not independent; without it each is its own cluster.
    """

    names: Array
    rows: Array
    gold: Array | None = None
    cluster: Array | None = None

    @property
    def clusters(self) -> Array:
        """The number of each item's cluster."""
        return np.arange(len(self.rows)) if self.cluster is None else self.cluster


@dataclass(frozen=True)
class Metric:
    """Statistics per bucket, how their sums combine to a number, and which answers the metric looks at.

    `statistics` returns one row per bucket; a row whose last entry is zero does not count. `combine` turns summed
    rows into the value, along the last axis. `uses` says which answers are counted as evidence; one that uses
    "contrasts" or "controls" sees nothing but them and their originals, and all others see none of them.

    A metric may give several numbers at once: `parts` names them (or derives them from the answers), and `combine`
    then returns one value per part along a new last axis. `outside` adds rows from outside the buckets, as wide as the
    others. `across` makes it a metric of all models of a table together: `statistics` gets a list of them, answering
    the same questions, and returns a row per bucket ("buckets") or per model ("models"). `share` is false for what
    is not printed in per cent; `smooth` is false where small changes of the sums may move the value by a jump, so
    that only percentile intervals are meaningful. `compared` is false for what models are compared by only when it is
    named: the points of a curve, and what describes the suite rather than the model. `rate` is true for a share of
    units whose `combine` is not plain division: wherever there are units it has a value, and no replicate lacks it.
    `counted` gives, from rows, how many answers each part is about, where the parts differ in that. `interval` is false
    where resampling would mislead, as for the largest of several shares. `sides` gives, of a difference of two shares,
    the two: its interval comes from theirs (the second is NaN in a part that is a share itself). `weights` gives what a
    row weighs in each part of both sides, where that is not what is `counted`. `floor` gives, of a share less a noise
    floor, the floor: by chance alone such a value falls below 0. `no_interval` tells,
    from the answers, which parts have no interval, and why: what is constant by definition, and what resampling can
    only make larger. `identity` joins the signature: what decides the number besides the options, such as the model
    that it compares texts with.

    Six fields say what it needs, and are checked by the contract tests. `gold` is false where the right answers do
    not matter, `original` where the answers to originals do not. `fewest` is how many variants some problem must have:
    with one each, two drawn with replacement are always the same one, and P_C would be 1 by construction. `repeats` is
    true where the same must have been asked again, `templates` where it must have been asked by templates, `label_mass`
    where answers must say what the labels had of the probability.
    A table without any lacks nothing, then: the metric is left out, or says so itself where it was asked for by name.

    Three more are checked as well. `bounds` are the least and greatest value (of three labels, where that matters).
    `blind` says that the metric, by definition, gives the same value to a model that is always right and to one that is
    right on originals and wrong on all variants. `labels_only` is true where a bucket's row hangs on the labels of its
    own answers alone (given, given again and right ones, and which is the original's): not on probabilities, texts,
    names or other buckets. Equal buckets are then measured once and counted, part by part, and the table need not be in
    memory.
    """

    statistics: Callable[[Any], Array]
    combine: Callable[[Array], Array] = ratio
    uses: Uses = "variants"
    parts: tuple[str, ...] | Callable[[Answers], tuple[str, ...]] = ()
    outside: Callable[[Answers], Outside] | None = None
    across: Literal["", "buckets", "models"] = ""
    share: bool = True
    smooth: bool = True
    compared: bool = True
    rate: bool = False
    counted: Callable[[Array], Array] | None = None
    interval: bool = True
    sides: Callable[[Array], tuple[Array, Array]] | None = None
    weights: Callable[[Array], tuple[Array, Array]] | None = None
    floor: Callable[[Array], Array] | None = None
    no_interval: Callable[[Answers], Mapping[str, str]] | None = None
    identity: str = ""
    gold: bool = True
    original: bool = True
    fewest: int = 1
    bounds: tuple[float, float] = (0.0, 1.0)
    blind: bool = False
    labels_only: bool = False
    repeats: bool = False
    templates: bool = False
    label_mass: bool = False

    def part_names(self, answers: Answers) -> tuple[str, ...]:
        """Name the numbers it gives; a metric of one number has one part without a name."""
        return (self.parts(answers) if callable(self.parts) else self.parts) or ("",)

    def rows(self, answers: Any) -> Array:
        """The statistics of one model's answers, or of several models': refused where they lack what it needs.

        Where no problem has the fewest variants that it needs, no bucket counts, and it has no value.
        """
        models: list[Answers] = answers if isinstance(answers, list) else [answers]
        for one in models:
            mass = has_label_mass(one.frame)
            if lacking := self.lacking(one.has_gold, one.has_originals, has_repeats(one.frame), mass):
                raise Unmeasurable(f"no {lacking}", where=one.model, fix=FIXES[lacking])
        rows = self.statistics(answers)
        if self.fewest > 1 and all(one.n_variants.max() < self.fewest for one in models):
            return np.zeros_like(rows)
        return rows

    def lacking(self, gold: bool, originals: bool, repeats: bool, label_mass: bool) -> str:
        """What it needs and a table lacks that has these, or not; empty where it has all.

        >>> Metric(ratio, gold=False).lacking(gold=False, originals=False, repeats=False, label_mass=False)
        'originals'
        """
        if self.repeats and not repeats:
            return "repeats"
        if self.label_mass and not label_mass:
            return "label mass"
        if self.gold and not gold:
            return "gold labels"
        return "originals" if self.original and not originals else ""

    @property
    def is_unusual(self) -> bool:
        """Whether it needs what most tables lack: UNUSUAL."""
        return self.repeats or self.label_mass

    @property
    def needs(self) -> str:
        """What it needs besides answers, in words.

        >>> Metric(ratio, original=False, fewest=2).needs
        'gold labels, two variants'
        """
        needs = {
            "gold labels": self.gold,
            "originals": self.original,
            "two variants": self.fewest > 1,
            "repeats": self.repeats,
            "templates": self.templates,
            "label mass": self.label_mass,
        }
        return ", ".join(name for name, needed in needs.items() if needed)

    def reasons(self, answers: Answers) -> dict[str, str]:
        """Why parts have no interval whatever the sample, by the part's name: parts that are not there may have one."""
        if self.no_interval:
            return dict(self.no_interval(answers))
        return {} if self.interval else dict.fromkeys(self.part_names(answers), "resampling would only make it larger")

    def by_part(self, totals: Array) -> Array:
        """Combine, with one value per part along the last axis also where there is only one."""
        value = np.asarray(self.combine(totals))
        return value if self.parts else value[..., None]


def paired(what: str, one: npt.ArrayLike, other: npt.ArrayLike) -> tuple[Array, Array]:
    """Two columns as arrays, refused where they are empty or differ in length: NumPy would repeat the shorter one."""
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        raise BadInput(f"{what}: different shapes {first.shape} and {second.shape}", fix="give one entry per answer")
    if first.size == 0:
        raise BadInput(f"{what}: no answers", fix="give at least one")
    return first, second


def needs_of(plugin: Plugin) -> str:
    """What a metric needs besides answers, with its defaults; one that cannot be made without options is left open."""
    if ... in plugin.options().values():
        return "(by option)"
    return as_metric(metrics.make(plugin.full_name).function).needs or "–"


def role_of(metric: Metric) -> Role:
    """The rows that a metric looks at: rewordings, contrasts or controls."""
    return metric.uses if metric.uses in ("contrasts", "controls") else "rewordings"


def as_metric(function: Any) -> Metric:
    """Let a factory return the bare statistics where a ratio over variants is all it needs."""
    return function if isinstance(function, Metric) else Metric(function)


# Turns: every wording of a problem takes the original's place


def turns(answers: Answers, gold: bool) -> Iterator[Array]:
    """The row of each bucket's wording that takes the original's place, turn by turn, up to MOST_TURNS turns.

    All wordings of a bucket take their turn, with no more than so many; in each turn, as many buckets as possible have
    another one than the buckets like them, so that a turn is no more alike than the table is. The order comes from
    what was answered (with `gold`, also the right label), not from names or the order of rows; where all of that is
    equal, it does not matter.
    """
    row = _hash(_content(answers, gold))
    order = np.lexsort((row, answers.bucket))
    wordings = np.bincount(answers.bucket, minlength=answers.n_buckets)
    start = np.cumsum(wordings) - wordings
    bucket = _added(row, answers.bucket, answers.n_buckets)
    marked = _hash(np.stack([bucket, row[answers.originals]], axis=1))
    cluster = _added(marked, answers.cluster, int(answers.cluster.max()) + 1)[answers.cluster]
    first = np.empty(answers.n_buckets, dtype=np.int64)
    first[np.lexsort((answers.cluster, cluster, marked, bucket))] = np.arange(answers.n_buckets)
    for turn in range(min(int(wordings.max()), MOST_TURNS)):
        yield order[start + (first + turn) % wordings]


def _content(answers: Answers, gold: bool) -> Array:
    """What an answer says, as whole numbers: its label and probabilities, by the labels' names and not their order."""
    order = np.argsort(answers.labels)
    place = np.argsort(order)
    stated = probabilities(answers.frame, answers.labels, answers.model)[:, order]
    stated = np.round(stated, SINGLE - 1) + 0.0  # digits that single precision has, too
    labels = [place[answers.pred], place[answers.gold]] if gold else [place[answers.pred]]
    return np.column_stack([*labels, np.ascontiguousarray(stated).view(np.int64)])


def _hash(columns: Array) -> Array:
    """A number made of each row, well mixed (the finaliser of SplitMix64)."""
    mixed = np.zeros(len(columns), dtype=np.uint64)
    for column in np.ascontiguousarray(columns).view(np.uint64).T:
        mixed = (mixed ^ column) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def _added(hashes: Array, group: Array, groups: int) -> Array:
    """The sum of each group's hashes, in any order."""
    sums = np.zeros(groups, dtype=np.uint64)
    np.add.at(sums, group, hashes)
    return sums


def _write_example(folder: Path) -> str:
    body = "return answers.sum_by_bucket(~answers.correct & answers.is_variant, answers.is_variant)"
    return write_example(folder, "wrong(answers)", body)


@metrics("python.v1", unsigned=("target",), example=_write_example)
def python(target: str) -> Metric:
    """Measure with a Python function: it gets the answers, and gives a row of statistics for each bucket.

    `target` is module:function or path/to/file.py:function. A function without parameters is a factory: it may return a
    Metric, which says more.
    """
    where = f"python:{target}"
    function, identity, _ = load_function(target, where)
    return guard(replace(as_metric(function), identity=identity), where)  # type: ignore[no-any-return]
