"""A model's answers to a test set, which has no variants: what the buckets were drawn from, or should stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import BadInput, Unmeasurable
from ..registry import metrics
from ..storage import tables
from .bins import probabilities
from .coding import Place, codes, label_codes
from .metric import Array, Metric, Outside
from .reading import bad_probabilities, cluster_names
from .table import Answers


@dataclass(frozen=True)
class Items:
    """The test items that one model answered: their names, the right labels as codes, and the rows they are from."""

    names: Array
    labels: tuple[str, ...]
    gold: Array
    frame: pl.DataFrame
    place: Place

    @property
    def confidence(self) -> Array:
        """The model's probability of the right label, item by item."""
        return confidence_in(self.gold, self.labels, self.frame, self.place.table)

    @cached_property
    def correct(self) -> Array:
        """Whether each answer is right: the label given in `pred`, or else the most probable one."""
        if "pred" in self.frame.columns:
            return np.asarray(label_codes(self.frame["pred"], self.labels, self.place) == self.gold)
        order = np.argsort(self.labels)  # of labels that are equally probable the first by name, however columns stand
        p = probabilities(self.frame, self.labels, self.place.table)
        return np.asarray(order[p[:, order].argmax(axis=1)] == self.gold)

    @cached_property
    def cluster(self) -> Array | None:
        """The number of each item's cluster, where the table tells: items of one premise are not independent."""
        if "cluster" not in self.frame.columns:
            return None
        return codes(cluster_names(self.frame, "id"), self.place)[0]


def items_in(testset: Path) -> Callable[[Answers], Items]:
    """Read a test set: columns id, gold, `p:<label>` or pred, and model where several models answered it.

    A column `cluster` names what items share, such as a premise; an item without one stands for itself. The table is
    read once, now. The function given back finds the items of the model whose answers are measured; a table without a
    model column is taken for that model's.
    """
    table = tables.read(testset)
    if missing := [name for name in ("id", "gold") if name not in table.columns]:
        fix = f"a test set has id, gold and p:<label>; found {', '.join(table.columns)}"
        raise BadInput("no such column", where=str(testset), field=missing[0], fix=fix)

    def of_model(answers: Answers) -> Items:
        mine, rows = _rows_of(table, answers.model, str(testset))
        place = Place(str(testset), answers.model, rows)
        _check(mine, place)
        gold = label_codes(mine["gold"], answers.labels, place)
        return Items(mine["id"].cast(pl.String).to_numpy(), answers.labels, gold, mine, place)

    return of_model


@metrics("accuracy_testset.v1")
def accuracy_testset(testset: Path) -> Any:
    """Accuracy on a test set without variants (A_T in ParaNLU); its items are the units."""
    items_of = items_in(testset)

    def statistics(answers: Answers) -> Array:
        return np.zeros((answers.n_buckets, 2), dtype=np.int64)  # the buckets have no say in it

    def outside(answers: Answers) -> Outside:
        items = items_of(answers)
        rows = np.stack([items.correct, np.ones_like(items.correct)], axis=1).astype(np.int64)
        return Outside(items.names, rows, items.gold, items.cluster)

    return Metric(statistics, uses="originals", outside=outside)


def confidence_in(gold: Array, labels: Sequence[str], frame: pl.DataFrame, where: str) -> Array:
    """The probability of the right label as it is stated in the table: not normalised, so 0.3 stays 0.3."""
    try:
        return np.asarray(probabilities(frame, labels, where)[np.arange(len(gold)), gold])
    except Unmeasurable as error:
        fix = f"{error.fix}; without them there are uncorrected values only"
        raise Unmeasurable(error.message, where=where, field=error.field, fix=fix) from error


def _rows_of(table: pl.DataFrame, model: str, where: str) -> tuple[pl.DataFrame, Array]:
    if "model" not in table.columns:
        mine = pl.repeat(True, table.height, eager=True)
    else:
        mine = (table["model"].cast(pl.String) == model).fill_null(False)
    if not mine.any():
        names = ", ".join(sorted(map(str, table["model"].drop_nulls().unique()))) if "model" in table.columns else ""
        fix = f"there are answers of {names or 'nobody'}"
        raise Unmeasurable(f"the test set has no answers of {model}", where=where, field="model", fix=fix)
    return table.filter(mine), mine.arg_true().to_numpy()


def _check(mine: pl.DataFrame, place: Place) -> None:
    """Refuse items without a name, items answered twice and probabilities that are none, with their rows."""
    found = (
        ("id", mine["id"].is_null(), "found nothing", "every item needs a name"),
        ("id", mine["id"].is_duplicated(), "the item is answered twice", "give each answer once"),
        ("p:", bad_probabilities(mine), "no probabilities", "numbers from 0 to 1 that sum to one would work"),
    )
    for field, wrong, message, fix in found:
        if wrong.any():
            raise BadInput(message, where=place.row(int(wrong.arg_true()[0])), field=field, fix=fix)
