"""Corrected values: buckets weighed so that the model's confidence is distributed as on its test set.

ParaNLU drew its problems evenly from ten deciles of a model's confidence in the right label. Weighing each decile by
its share of the test set undoes that for the model by which they were drawn (Srikanth et al. 2024, section 5.2); for
other models it is post-stratification. Deciles that hold test items but no bucket count as 0 in the paper, which lowers
the value; `renormalise` leaves them out instead, and `coverage` says how much of the test set is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.reading import bad_probabilities, cluster_names, with_unreadable
from ..answers.roles import is_contrast
from ..answers.table import Answers, Array, Location, as_written, codes, label_codes, probabilities
from ..errors import BadInput, Unmeasurable
from ..problem import TOLERANCE
from ..registry import metrics
from ..storage import tables
from .consistency import agreement, pairs_alike
from .metric import Metric, Outside, divide, paired

#: [0, 0.1) ... [0.9, 1]; i/10 is the double that "0.3" in a file is read as, 3 * 0.1 is not.
EDGES = np.arange(1, 10) / 10
D = len(EDGES) + 1


@metrics("accuracy_testset.v1")
def accuracy_testset(testset: Path) -> Any:
    """Accuracy on a test set without variants (A_T in ParaNLU); its items are the units."""
    items_of = items_in(testset)

    def statistics(answers: Answers) -> Array:
        return np.zeros((answers.n_buckets, 2), dtype=np.int64)  # the buckets do not count

    def outside(answers: Answers) -> Outside:
        items = items_of(answers)
        rows = np.stack([items.correct, np.ones_like(items.correct)], axis=1).astype(np.int64)
        return Outside(items.names, rows, items.gold, items.cluster)

    return Metric(statistics, uses="originals", outside=outside, gold=False, original=False, blind=True)


@metrics("accuracy_corrected.v1")
def accuracy_corrected(testset: Path, renormalise: bool = False) -> Any:
    """Accuracy on variants, confidence distributed as on the test set (A~ in ParaNLU).

    `testset` is a table of the model's answers to its test set (id, gold, p:<label>, or what `answer` writes);
    `renormalise` is about the covered deciles only, where the paper counts the others as 0.
    """
    return _metric(testset, lambda k, n: k / np.maximum(n, 1), lambda sums: _weighed(sums, renormalise))


@metrics("p_c_corrected.v1")
def p_c_corrected(testset: Path, renormalise: bool = False) -> Any:
    """Paraphrastic consistency P_C, confidence distributed as on the test set (P~_C in ParaNLU).

    `testset` is a table of the model's answers to its test set (id, gold, p:<label>, or what `answer` writes);
    `renormalise` is about the covered deciles only, where the paper counts the others as 0.
    """
    return _metric(testset, agreement, lambda sums: _weighed(sums, renormalise), fewest=2, blind=True)


@metrics("p_c_distinct_corrected.v1")
def p_c_distinct_corrected(testset: Path, renormalise: bool = False) -> Any:
    """Distinct-pair P_C, confidence distributed as on the test set: unbiased where P~_C flatters small buckets.

    `testset` is a table of the model's answers to its test set (id, gold, p:<label>); `renormalise` is about the
    covered deciles only. Buckets of one variant have no pair, and do not cover a decile either.
    """
    return _metric(testset, pairs_alike, lambda sums: _weighed(sums, renormalise), least=2, fewest=2, blind=True)


@metrics("coverage.v1")
def coverage(testset: Path) -> Any:
    """Share of the test set in deciles of confidence that hold a bucket: what a corrected value covers."""
    return _metric(testset, lambda k, n: np.zeros(len(n)), _covered, blind=True)


def decile(confidence: npt.ArrayLike) -> Array:
    """Number the decile of each probability, from 0 for [0, 0.1) to 9 for [0.9, 1].

    >>> decile([0.0, 0.0999, 0.1, 0.3, 0.7, 1.0]).tolist()
    [0, 0, 1, 3, 7, 9]
    """
    p = as_written(confidence)
    if p.size == 0 or not ((p >= 0) & (p <= 1 + TOLERANCE)).all():
        raise BadInput("no confidences to divide into deciles", fix="give one probability per problem, from 0 to 1")
    return np.searchsorted(EDGES, p, side="right")


def corrected_mean(
    values: npt.ArrayLike, confidence: npt.ArrayLike, test_confidence: npt.ArrayLike, renormalise: bool = False
) -> float:
    """Mean of a value per bucket, as if the model's confidence were distributed as on its test set.

    `values` has an entry per bucket: the share of variants that are right for accuracy, theta^2 + (1-theta)^2 for P_C.
    `confidence` is the model's probability of the right label on the bucket's original, `test_confidence` that on each
    item of the test set. Of four items one is in the decile of the first two buckets, two in the third's, one in none:

    >>> corrected_mean([0.5, 1.0, 1.0], [0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2])
    0.6875
    >>> round(corrected_mean([0.5, 1.0, 1.0], [0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2], renormalise=True), 4)
    0.9167
    """
    value, bucket = paired("a corrected value", values, confidence)
    sums = _by_decile(value, decile(bucket)).sum(axis=0) + _test_rows(test_confidence).sum(axis=0)
    weighed = _weighed(sums, renormalise)
    if np.isnan(weighed):
        fix = "use the test set and the buckets of the same model"
        raise BadInput("no decile of confidence has both a bucket and a test item", fix=fix)
    return float(weighed)


def covered_share(confidence: npt.ArrayLike, test_confidence: npt.ArrayLike) -> float:
    """Share of the test set in deciles that hold a bucket.

    >>> covered_share([0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2])
    0.75
    """
    sums = _by_decile(np.zeros(np.size(confidence)), decile(confidence)).sum(axis=0)
    return float(_covered(sums + _test_rows(test_confidence).sum(axis=0)))


@dataclass(frozen=True)
class Items:
    """The test items that one model answered: their names, the right labels as codes, and the rows they are from."""

    names: Array
    labels: tuple[str, ...]
    gold: Array
    frame: pl.DataFrame
    place: Location

    @property
    def confidence(self) -> Array:
        """The model's probability of the right label, item by item."""
        return confidence_in(self.gold, self.labels, self.frame, self.place.table)

    @cached_property
    def correct(self) -> Array:
        """Whether each answer is right: the label given in `pred`, or else the most probable one."""
        if "pred" in self.frame.columns:
            names = with_unreadable(self.labels, self.frame)
            return np.asarray(label_codes(self.frame["pred"], names, self.place) == self.gold)
        order = np.argsort(self.labels)  # of equally probable labels the first by name, in any order of columns
        p = probabilities(self.frame, self.labels, self.place.table)
        return np.asarray(order[p[:, order].argmax(axis=1)] == self.gold)

    @cached_property
    def cluster(self) -> Array | None:
        """The number of each item's cluster, where the table has them: items of one premise are not independent."""
        if "cluster" not in self.frame.columns:
            return None
        return codes(cluster_names(self.frame, "id"), self.place)[0]


def items_in(testset: Path) -> Callable[[Answers], Items]:
    """Read a test set: columns id, gold, `p:<label>` or pred, and model where several models answered it.

    An answers table, as `answer` writes it and a run holds it, is one, too: its originals are the items. A column
    `cluster` names what items share, such as a premise; an item without one is its own cluster. The table is read once,
    now. The function given back finds the items of the model whose answers are measured; a table without a model column
    is taken for that model's.
    """
    table, numbers = _items(tables.read(testset), str(testset))

    def of_model(answers: Answers) -> Items:
        own, rows = _rows_of(table, answers.model, str(testset))
        place = Location(str(testset), answers.model, numbers[rows])
        _check(own, place)
        gold = label_codes(own["gold"], answers.labels, place)
        return Items(own["id"].cast(pl.String).to_numpy(), answers.labels, gold, own, place)

    return of_model


def confidence_in(gold: Array, labels: Sequence[str], frame: pl.DataFrame, where: str) -> Array:
    """The probability of the right label as it is stated in the table: not normalised, so 0.3 stays 0.3."""
    try:
        return np.asarray(probabilities(frame, labels, where)[np.arange(len(gold)), gold])
    except Unmeasurable as error:
        fix = f"{error.fix}; without them only uncorrected values can be computed"
        raise Unmeasurable(error.message, where=where, field=error.field, fix=fix) from error


def _items(table: pl.DataFrame, where: str) -> tuple[pl.DataFrame, Array]:
    """The items of a test set, and the numbers of their rows: all rows or, of an answers table, its originals.

    Contrasts are no items: they enter metrics of their own alone.
    """
    asked = "id" not in table.columns and {"bucket", "variant"} <= set(table.columns)
    table = table.rename({"bucket": "id"}) if asked else table
    if missing := [name for name in ("id", "gold") if name not in table.columns]:
        fix = f"a test set has id, gold and p:<label>, or is an answers table; found {', '.join(table.columns)}"
        raise BadInput("no such column", where=where, field=missing[0], fix=fix)
    if not asked:
        return table, np.arange(table.height)
    blank = pl.col("variant").cast(pl.String).str.strip_chars().fill_null("") == ""
    items = table.select(blank & pl.lit(pl.Series(~is_contrast(table)))).to_series()
    if not items.any():
        fix = "the items are its originals: give their answers, as rows with an empty variant"
        raise BadInput("an answers table without originals", where=where, field="variant", fix=fix)
    return table.filter(items), items.arg_true().to_numpy()


def _rows_of(table: pl.DataFrame, model: str, where: str) -> tuple[pl.DataFrame, Array]:
    if "model" not in table.columns:
        own = pl.repeat(True, table.height, eager=True)
    else:
        own = (table["model"].cast(pl.String) == model).fill_null(False)
    if not own.any():
        names = ", ".join(sorted(map(str, table["model"].drop_nulls().unique()))) if "model" in table.columns else ""
        fix = f"found answers of {names or 'no model'}"
        raise Unmeasurable(f"the test set has no answers of {model}", where=where, field="model", fix=fix)
    return table.filter(own), own.arg_true().to_numpy()


def _check(own: pl.DataFrame, place: Location) -> None:
    """Refuse items without an id or a right answer, with two answers or invalid probabilities, with their rows."""
    checks = (
        ("id", own["id"].is_null(), "found nothing", "give every item an id"),
        ("gold", own["gold"].is_null(), "found nothing", "give every item its right answer"),
        ("id", own["id"].is_duplicated(), "the item has two answers", "give one answer per item"),
        ("p:", bad_probabilities(own), "no probabilities", "give numbers from 0 to 1 that sum to one"),
    )
    for field, wrong, message, fix in checks:
        if wrong.any():
            raise BadInput(message, where=place.row(int(wrong.arg_true()[0])), field=field, fix=fix)


def _metric(
    testset: Path,
    per_bucket: Callable[[Array, Array], Array],
    combine: Callable[[Array], Array],
    least: int = 1,
    **more: Any,
) -> Metric:
    """Of buckets with at least `least` variants.

    Not smooth: a decile that loses its last bucket takes its share of the test set away at once.
    """
    items_of = items_in(testset)

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        place = decile(confidence_in(answers.gold, answers.labels, answers.frame, answers.model)[answers.originals])
        return np.where(n[:, None] >= least, _by_decile(per_bucket(k, n), place), 0)

    def outside(answers: Answers) -> Outside:
        items = items_of(answers)
        return Outside(items.names, _test_rows(items.confidence), items.gold, items.cluster)

    return Metric(statistics, combine, outside=outside, smooth=False, **more)


def _by_decile(values: Array, place: Array) -> Array:
    """A row per bucket: the value and a one, each in the column of its decile, room for the test items, and a one."""
    rows, every = np.zeros((len(place), 3 * D + 1)), np.arange(len(place))
    rows[every, place] = values
    rows[every, D + place] = 1
    rows[:, -1] = 1
    return rows


def _test_rows(confidence: npt.ArrayLike) -> Array:
    """A row per test item, as wide as the buckets': a one in the column of its decile."""
    place = decile(confidence)
    rows = np.zeros((len(place), 3 * D + 1), dtype=np.int64)
    rows[np.arange(len(place)), 2 * D + place] = 1
    return rows


def _weighed(sums: Array, renormalise: bool) -> Array:
    value, buckets, items = sums[..., :D], sums[..., D : 2 * D], sums[..., 2 * D : 3 * D]
    held = (items * (buckets > 0)).sum(axis=-1)
    weighed = (items * (value / np.maximum(buckets, 1))).sum(axis=-1)
    # Where no decile holds both, the paper's sum is an empty one, and the value is undefined.
    return np.where(held > 0, divide(weighed, held if renormalise else items.sum(axis=-1)), np.nan)


def _covered(sums: Array) -> Array:
    buckets, items = sums[..., D : 2 * D], sums[..., 2 * D : 3 * D]
    covered = divide((items * (buckets > 0)).sum(axis=-1), items.sum(axis=-1))
    return np.where(buckets.sum(axis=-1) > 0, covered, np.nan)
