"""Flips by margin: bins, edges, and what they add up to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.answers.reading import read
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.flips import bin_names, margin
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics

LABELS = ("entailment", "neutral", "contradiction")


def answers(seed: int, buckets: int = 20) -> pl.DataFrame:
    """Probabilities in tenths, so that margins fall on edges of bins; the label is the most probable one."""
    chance = np.random.default_rng(seed)
    rows = []
    for bucket in range(buckets):
        for variant in range(1 + chance.integers(4)):
            p = chance.multinomial(10, chance.dirichlet([1, 1, 1])) / 10
            rows.append((bucket, str(variant) if variant else None, "neutral", LABELS[p.argmax()], *p))
    names = ["bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def by_hand(frame: pl.DataFrame, bins: int) -> dict[str, float]:
    """Another way to the same numbers: a join and a group-by, margins as whole tenths."""
    p = pl.concat_list(pl.col("^p:.*$") * 10).list.sort(descending=True)
    ahead = (p.list.get(0) - p.list.get(1)).round(0).cast(pl.Int64)
    originals = frame.filter(pl.col("variant").is_null()).select("bucket", was="pred", ahead=ahead)
    pairs = frame.filter(pl.col("variant").is_not_null()).join(originals, on="bucket")
    place = pl.min_horizontal(pl.col("ahead") * bins // 10, bins - 1)
    rates = pairs.group_by(place.alias("bin")).agg((pl.col("pred") != pl.col("was")).mean().alias("rate"))
    return {bin_names(bins)[row["bin"]]: row["rate"] for row in rates.iter_rows(named=True)}


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 5, 10]))
def test_metric_is_a_group_by(seed: int, bins: int) -> None:
    frame = answers(seed)
    metric = as_metric(metrics.make(f"flips_by_margin(bins={bins})").function)
    data = read(frame, LABELS)
    values = metric.combine(metric.statistics(data).sum(axis=0))
    found = dict(zip(metric.part_names(data), values.tolist(), strict=True))
    assert {name: value for name, value in found.items() if not np.isnan(value)} == pytest.approx(by_hand(frame, bins))


def test_one_bin_is_the_flip_rate() -> None:
    frame = answers(7)
    one, whole = ow.score(frame, ["flips_by_margin(bins=1)", "flip_rate"], task="nli", replicates=20)
    assert (one.metric, one.value, one.n_answers) == ("flips_by_margin:[0.0,1.0]", whole.value, whole.n_answers)


def test_parts_are_named_by_their_bins_and_empty_ones_have_no_value() -> None:
    rows = {
        "bucket": ["a", "a", "b", "b"],
        "variant": [None, "1"] * 2,
        "gold": ["x"] * 4,
        "pred": ["x", "x", "x", "y"],
        "p:x": [0.7, 0.9, 1.0, 0.1],
        "p:y": [0.3, 0.1, 0.0, 0.9],
    }
    with pytest.warns(UserWarning, match="nothing to measure"):
        found = {one.metric: one.value for one in ow.score(pl.DataFrame(rows), ["flips_by_margin"], replicates=20)}
    assert found == {
        "flips_by_margin:[0.0,0.2)": None,
        "flips_by_margin:[0.2,0.4)": None,
        "flips_by_margin:[0.4,0.6)": 0.0,  # 0.7 - 0.3, which is less than 0.4 in binary
        "flips_by_margin:[0.6,0.8)": None,
        "flips_by_margin:[0.8,1.0]": 1.0,
    }


def test_margin_is_between_the_two_greatest() -> None:
    assert margin([[0.2, 0.7, 0.1], [0.5, 0.0, 0.5]]) == pytest.approx([0.5, 0])
    assert margin([0.25, 0.75]).tolist() == [0.5]
    with refuses(BadInput):
        margin([[1.0], [1.0], [1.0]])


def test_bins_have_names_of_their_own() -> None:
    assert [len(set(bin_names(bins))) for bins in range(1, 101)] == list(range(1, 101))


@pytest.mark.parametrize("bins", [0, -1, 101])
def test_a_number_of_bins_that_makes_no_sense_is_refused(bins: int) -> None:
    with refuses(BadInput):
        metrics.make(f"flips_by_margin(bins={bins})")


def test_probabilities_are_needed_and_two_labels() -> None:
    frame = answers(1)
    with refuses(Unmeasurable):
        ow.score(frame.drop(pl.selectors.starts_with("p:")), ["flips_by_margin"], task="nli")
    alone = frame.select("bucket", "variant", "gold", pred="gold", **{"p:neutral": pl.lit(1.0)})
    with refuses(Unmeasurable):
        ow.score(alone, ["flips_by_margin"])
