"""Averages over data sets, weighted by size, and over models, which weigh alike: by hand."""

from __future__ import annotations

import math
import re

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName


def table(flips: dict[tuple[str, str], list[int]]) -> pl.DataFrame:
    """Problems with four variants each, of which so many flip: for each model and data set, a problem per number."""
    rows = []
    for (model, dataset), numbers in flips.items():
        for place, number in enumerate(numbers):
            bucket = f"{dataset}{place}"
            rows.append((model, dataset, bucket, None, "x", "x"))
            rows += [(model, dataset, bucket, str(i), "x", "y" if i < number else "x") for i in range(4)]
    return pl.DataFrame(rows, schema=["model", "dataset", "bucket", "variant", "gold", "pred"], orient="row")


FLIPS = {("m", "big"): [1, 1, 0, 0, 2, 2], ("m", "small"): [4, 2], ("n", "big"): [0] * 6, ("n", "small"): [4, 0]}
FEW = {"replicates": 200}


def averages(**options: object) -> dict[str, ow.Score]:
    found = ow.score(table(FLIPS), ["flip_rate"], average="dataset", **FEW, **options)  # type: ignore[arg-type]
    return {one.model: one for one in found if one.group == "dataset=(average)"}


def test_by_the_problems_of_each_data_set() -> None:
    """m flips 6 of 24 and 6 of 8, n none and 4 of 8; six problems and two."""
    found = averages()
    m, n = (6 * 6 / 24 + 2 * 6 / 8) / 8, (0 + 2 * 4 / 8) / 8
    assert {name: one.value for name, one in found.items()} == pytest.approx({"m": m, "n": n, "(mean)": (m + n) / 2})
    assert (found["m"].n_units, found["m"].n_answers) == (8, 32)
    assert "average=dataset(big: 0.75, small: 0.25)" in found["m"].signature


def test_by_the_sizes_that_are_given() -> None:
    found = averages(sizes={"big": 1, "small": 3})
    m, n = (6 / 24 + 3 * 6 / 8) / 4, (0 + 3 * 4 / 8) / 4
    assert {name: one.value for name, one in found.items()} == pytest.approx({"m": m, "n": n, "(mean)": (m + n) / 2})


def test_the_interval_comes_from_those_of_the_data_sets_and_the_mean_of_models_has_none() -> None:
    found = ow.score(table(FLIPS), ["flip_rate"], average="dataset", **FEW).where(model="m")  # type: ignore[arg-type]
    big, small, both = (found.where(group=f"dataset={name}")[0] for name in ("big", "small", "(average)"))
    below = math.hypot(0.75 * (big.value - big.low), 0.25 * (small.value - small.low))
    above = math.hypot(0.75 * (big.high - big.value), 0.25 * (small.high - small.value))
    assert (both.low, both.high, both.interval) == pytest.approx((both.value - below, both.value + above, "mover"))
    assert averages()["(mean)"].low is None


def test_groups_that_share_problems_have_an_average_without_an_interval() -> None:
    shared = table({("m", "big"): [1, 2, 0]}).with_columns(how=pl.col("variant").replace({"2": "0", "3": "1"}))
    [one] = ow.score(shared, ["flip_rate"], average="how", **FEW).where(group="how=(average)")  # type: ignore[arg-type]
    assert one.value is not None
    assert (one.low, one.interval) == (None, "")


def test_a_data_set_without_a_value_leaves_the_average_without_one() -> None:
    alone = table(FLIPS).filter((pl.col("dataset") == "big") | pl.col("variant").is_null() | (pl.col("variant") == "0"))
    with pytest.warns(UserWarning, match="nothing to measure"):
        found = ow.score(alone, ["p_c_distinct"], average="dataset", **FEW)  # type: ignore[arg-type]
    assert {one.value for one in found if one.group == "dataset=(average)"} == {None}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"average": "dataset", "sizes": {"big": 1}}, "sizes"),
        ({"average": "dataset", "sizes": {"big": 1, "small": 2, "huge": 3}}, "sizes"),
        ({"average": "dataset", "sizes": {"big": 0, "small": 1}}, "sizes"),
        ({"sizes": {"big": 1, "small": 2}}, "sizes"),
        ({"average": "gold"}, "gold"),
    ],
)
def test_wrong_sizes_and_columns_are_refused(options: dict[str, object], field: str) -> None:
    with refuses(BadInput, field=field):
        ow.score(table(FLIPS), ["flip_rate"], **FEW, **options)  # type: ignore[arg-type]


def test_an_unknown_column_is_refused() -> None:
    with refuses(UnknownName):
        ow.score(table(FLIPS), ["flip_rate"], average="data", **FEW)  # type: ignore[arg-type]


def test_a_loss_is_drawn_inside_the_picture() -> None:
    scores = ow.score(table(FLIPS), ["accuracy_original", "accuracy_drop"], **FEW)  # type: ignore[arg-type]
    left = min(float(x) for x in re.findall(r'cx="(-?[0-9.]+)"', scores.plot().svg))
    [label] = {float(x) for x in re.findall(r'x="([0-9.]+)" y="[0-9]+" text-anchor="end"', scores.plot().svg)}
    assert left > label, "a point must not lie on its name"


def test_an_average_is_not_shrunk_and_has_no_anytime_ends() -> None:
    """They would be those of its first group."""
    for options in ({"shrink": True}, {"anytime": True}):
        for one in averages(**options).values():
            assert (one.shrunk, one.shrunk_low, one.shrunk_high) == (None, None, None)
            assert (one.anytime_low, one.anytime_high) == (None, None)
            assert "shrunk" not in one.signature


def test_clusters_in_several_groups_count_once() -> None:
    shared = table(FLIPS).with_columns(cluster=pl.col("bucket").str.slice(-1))
    found = ow.score(shared, ["flip_rate"], average="dataset")
    alone = {one.model: one for one in found if one.group is None}
    for one in found:
        if one.group == "dataset=(average)" and one.model in alone:
            assert (one.n_clusters, one.n_effective) == (alone[one.model].n_clusters, None)


def test_sizes_may_be_huge() -> None:
    found, like = averages(sizes={"big": 1e308, "small": 1e308}), averages(sizes={"big": 1, "small": 1})
    assert {name: one.value for name, one in found.items()} == {name: one.value for name, one in like.items()}


def test_a_model_with_one_answer_is_still_told_of() -> None:
    steady = table({("m", "big"): [0] * 6, ("m", "small"): [0, 0]})
    assert ow.score(steady, ["flip_rate"], average="dataset").one_answer == ow.score(steady, ["flip_rate"]).one_answer
