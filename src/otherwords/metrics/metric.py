"""A metric is statistics per unit plus a way to combine their sums; every interval and test follows from that."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array
from ..errors import BadInput, Unmeasurable
from ..registry import Plugin, metrics
from ..storage.user_code import guard, load_function

Uses = Literal["originals", "variants", "both", "contrasts", "controls"]
#: How to get what a table of answers may lack.
FIXES = {
    "gold labels": "give the right answers in a column `gold` (in data: `label`), or name their column with --field",
    "originals": "give the answers to the originals: rows with an empty `variant`",
}


def ratio(totals: Array) -> Array:
    """Divide the first sum by the second: a rate. Works on one row of sums or on a row per bootstrap replicate."""
    return divide(totals[..., 0], totals[..., 1])


def divide(part: Array, whole: Array) -> Array:
    """Divide; division by zero is undefined (NaN), which the report prints as such."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole == 0, np.nan, part / whole))


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
    units whose `combine` is not plain division: where all units agree, it gets Wilson's interval, as plain ones do.
    `counted` gives, from rows, how many answers each part is about, where the parts differ in that. `interval` is false
    where resampling would mislead, as for the largest of several shares. `sides` gives, of a difference of two shares,
    the two: its interval comes from theirs (the second is NaN in a part that is a share itself). `identity` joins the
    signature: what decides the number besides the options, such as the model that it compares texts with.

    Three fields say what it needs, and are checked by the contract tests. `gold` is false where the right answers do
    not matter, `original` where the answers to originals do not. `fewest` is how many variants some problem must have:
    with one each, two drawn with replacement are always the same one, and P_C would be 1 by construction.

    Two more are checked as well. `bounds` are the least and greatest value (of three labels, where
    that matters). `blind` says that the metric, by definition, gives the same value to a model that is always right
    and to one that is right on originals and wrong on all variants.
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
    identity: str = ""
    gold: bool = True
    original: bool = True
    fewest: int = 1
    bounds: tuple[float, float] = (0.0, 1.0)
    blind: bool = False

    def part_names(self, answers: Answers) -> tuple[str, ...]:
        """Name the numbers it gives; a metric of one number has one part without a name."""
        return (self.parts(answers) if callable(self.parts) else self.parts) or ("",)

    def rows(self, answers: Any) -> Array:
        """The statistics of one model's answers, or of several models': refused where they lack what it needs.

        Where no problem has the fewest variants that it needs, no bucket counts, and it has no value.
        """
        models: list[Answers] = answers if isinstance(answers, list) else [answers]
        for one in models:
            if lacking := self.lacking(one.has_gold, one.has_originals):
                raise Unmeasurable(f"no {lacking}", where=one.model, fix=FIXES[lacking])
        rows = self.statistics(answers)
        if self.fewest > 1 and all(one.n_variants.max() < self.fewest for one in models):
            return np.zeros_like(rows)
        return rows

    def lacking(self, gold: bool, originals: bool) -> str:
        """What it needs and a table lacks that has `gold` labels and `originals`, or not; empty where it has all.

        >>> Metric(ratio, gold=False).lacking(gold=False, originals=False)
        'originals'
        """
        if self.gold and not gold:
            return "gold labels"
        return "originals" if self.original and not originals else ""

    @property
    def needs(self) -> str:
        """What it needs besides answers, in words.

        >>> Metric(ratio, original=False, fewest=2).needs
        'gold labels, two variants'
        """
        needs = {"gold labels": self.gold, "originals": self.original, "two variants": self.fewest > 1}
        return ", ".join(name for name, needed in needs.items() if needed)

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


def as_metric(function: Any) -> Metric:
    """Let a factory return the bare statistics where a ratio over variants is all it needs."""
    return function if isinstance(function, Metric) else Metric(function)


def _write_example(folder: Path) -> str:
    body = "    return answers.sum_by_bucket(~answers.correct & answers.is_variant, answers.is_variant)\n"
    (folder / "mine.py").write_text(f"def wrong(answers):\n{body}", encoding="utf-8")
    return f"python:{folder / 'mine.py'}:wrong"


@metrics("python.v1", unsigned=("target",), example=_write_example)
def python(target: str) -> Metric:
    """Measure with a Python function: it gets the answers, and gives a row of statistics for each bucket.

    `target` is module:function or path/to/file.py:function. A function without parameters is a factory: it may return a
    Metric, which says more.
    """
    where = f"python:{target}"
    function, identity, _ = load_function(target, where)
    return guard(replace(as_metric(function), identity=identity), where)  # type: ignore[no-any-return]
