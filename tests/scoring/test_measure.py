"""Metrics on arrays: the same numbers as on a table, and errors that say what would have worked."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName, Unmeasurable

#: Two problems; one of three variants flips.
ROWS: dict[str, Any] = {
    "bucket": ["a", "a", "a", "b", "b"],
    "variant": ["", "1", "2", "", "1"],
    "gold": ["yes", "yes", "yes", "no", "no"],
    "pred": ["yes", "no", "yes", "no", "no"],
}
P = {"yes": [0.9, 0.2, 0.8, 0.3, 0.4], "no": [0.1, 0.8, 0.2, 0.7, 0.6]}


@pytest.mark.parametrize("metric", ["flip_rate", "pa(at=0.5)", "r_r", "accuracy_original"])
@pytest.mark.parametrize("cluster", [None, ["k", "k", "k", "l", "l"], ["k"] * 5])
def test_a_score_is_that_of_the_table(metric: str, cluster: list[str] | None) -> None:
    options = {"replicates": 50, "confidence": 0.9, "seed": 3}
    frame = pl.DataFrame({**ROWS, **({"cluster": cluster} if cluster else {})})
    [expected] = ow.score(frame, [metric], **options)
    assert ow.measure(metric, **ROWS, cluster=cluster, **options) == expected


@pytest.mark.parametrize(
    "variant", [[None, "1", "2", None, "1"], ["", 1, 2, "", 1], np.array([None, 1, 2, None, 1], dtype=object)]
)
def test_an_empty_variant_is_the_original(variant: Any) -> None:
    rows = {name: np.array(values) for name, values in ROWS.items()}
    found = ow.measure("flip_rate", **{**rows, "variant": variant}, replicates=50)
    assert found == ow.measure("flip_rate", **ROWS, replicates=50)
    assert (found.value, found.n_units, found.n_answers, found.unit) == (1 / 3, 2, 3, "share")


def test_probabilities_by_label_or_by_column() -> None:
    by_label = ow.measure("sigma", part="variants", **ROWS, p=P, replicates=20)
    by_column = ow.measure(
        "sigma", part="variants", **ROWS, p=np.array([*P.values()]).T, labels=["yes", "no"], replicates=20
    )
    assert by_label == by_column
    assert by_label.unit == "number"
    assert by_label.value == pytest.approx(np.std([[0.2, 0.8], [0.8, 0.2], [0.4, 0.6]], axis=1).mean())


def test_contrasts_and_controls_are_the_variants() -> None:
    gold = ["yes", "no", "yes", "no", "yes"]
    assert ow.measure("sensitivity", **{**ROWS, "gold": gold}, replicates=20).value == 1 / 2
    assert ow.measure("control_flips", **ROWS, replicates=20).value == 1 / 3
    with refuses(BadInput, field="gold"):
        ow.measure("flip_rate", **{**ROWS, "gold": gold})


def test_the_interval_says_how_it_was_made() -> None:
    settings = {"replicates": 60, "confidence": 0.8}
    wilson = ow.measure("flip_rate", **ROWS, **settings)
    assert (wilson.interval, wilson.replicates, wilson.resampled) == ("wilson", None, "bucket")
    percentile = ow.measure("flip_rate", **ROWS, **settings, interval="percentile")
    assert (percentile.interval, percentile.confidence, percentile.replicates, percentile.resampled) == (
        *("percentile", 0.8, 60, "bucket"),
    )
    assert ow.measure("flip_rate", **ROWS, **settings, interval="bca").interval == "bca"
    assert ow.measure("accuracy_original", **ROWS, cluster=list("kkkll"), **settings).interval == "wilson"
    alone = ow.measure("flip_rate", **ROWS, cluster=["k"] * 5, **settings)
    assert (alone.low, alone.interval, alone.confidence, alone.replicates, alone.resampled) == (None, "", *[None] * 3)
    assert alone.note == "one cluster"
    majority = ow.measure("majority_class", **ROWS, **settings)
    assert (majority.interval, majority.note) == ("", "resampling would only make it larger")
    assert replace(percentile, interval="") != percentile


def test_a_part_is_named_where_there_are_several() -> None:
    found = ow.measure("flip_directions", part="yes>no", **ROWS, replicates=20)
    assert (found.metric, found.value) == ("flip_directions:yes>no", 1 / 3)
    for part in ("", "no>maybe"):
        with refuses(BadInput, where="flip_directions", field="part"):
            ow.measure("flip_directions", part=part, **ROWS)
    with refuses(BadInput, field="part", fix="leave it out"):
        ow.measure("flip_rate", part="all", **ROWS)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"pred": ["yes"]}, {"where": "flip_rate", "fix": "give one entry per answer"}),
        ({"cluster": ["k"]}, {"where": "flip_rate", "fix": "give one entry per answer"}),
        ({"p": {"yes": [0.5], "no": [0.5]}}, {"where": "flip_rate", "fix": "give one entry per answer"}),
        ({name: [] for name in ROWS}, {"where": "flip_rate", "fix": "give at least one"}),
        ({"gold": "yes"}, {"field": "gold"}),
        ({"pred": [["yes"] * 5]}, {"field": "pred"}),
        ({"p": [[0.5, 0.5]] * 5}, {"field": "p"}),
        ({"variant": ["1", "2", "3", "4", ""]}, {"field": "variant", "where": "flip_rate, row 1"}),
        ({"variant": [""] * 5}, {"field": "variant"}),
        ({"pred": ["yes", None, "yes", "no", "no"]}, {"field": "pred", "where": "flip_rate, row 2"}),
        ({"replicates": 0}, {}),
    ],
)
def test_columns_that_do_not_fit_are_refused(change: dict[str, Any], fields: dict[str, str]) -> None:
    with refuses(BadInput, **fields):
        ow.measure("flip_rate", **{**ROWS, **change})


def test_what_cannot_be_measured_is_refused() -> None:
    with refuses(UnknownName):
        ow.measure("flip_rat", **ROWS)
    for metric in ("ks", "jaccard", "snr"):  # probabilities, texts, several models
        with refuses(Unmeasurable):
            ow.measure(metric, **ROWS)
    originals = {name: [values[0], values[3]] for name, values in ROWS.items()}
    with refuses(BadInput, where="flip_rate"):
        ow.measure("flip_rate", **originals)


def test_too_few_replicates_for_the_confidence_are_warned_of_and_one_is_refused() -> None:
    line = "too few for an interval at confidence"
    with pytest.warns(UserWarning, match=f"100 replicates are {line} 0.9999; use 100,000 or more"):
        ow.measure("pvap", **ROWS, replicates=100, confidence=0.9999, interval="percentile")
    for replicates, confidence, few in ((199, 0.95, True), (200, 0.95, False), (999, 0.99, True), (1000, 0.99, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ow.score(pl.DataFrame(ROWS), ["pvap"], replicates=replicates, confidence=confidence, interval="percentile")
        assert [line in str(one.message) for one in caught] == [True] * few
    for replicates in (0, 1):
        with refuses(BadInput):
            ow.score(pl.DataFrame(ROWS), ["pvap"], replicates=replicates)
