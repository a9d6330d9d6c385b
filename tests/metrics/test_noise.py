"""Noise: laws of the noise floor and of what is left without it, tables of other programs, and where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable

NAMES = ("repeat_flips", "flip_rate_net", "flip_rate")
LABELS = ("entailment", "neutral", "contradiction")
few = settings(max_examples=max(5, settings.default.max_examples // 4), deadline=None)


def table(seed: int, buckets: int = 12, noise: float = 0.3, times: int = 2, wording: float = 0.3) -> pl.DataFrame:
    """Answers of one model: each wording has an answer that it prefers, and gives another one by chance."""
    random, sizes = np.random.default_rng(seed), np.random.default_rng(seed).integers(1, 5, buckets)
    rows: list[dict[str, Any]] = []
    for bucket, size in enumerate(sizes):
        first = random.integers(3)
        for variant in range(1 + size):
            preferred = random.integers(3) if variant and random.random() < wording else first
            given = [random.integers(3) if random.random() < noise else preferred for _ in range(times + 1)]
            row = {"bucket": f"b{bucket}", "variant": f"v{variant}" if variant else None, "pred": LABELS[given[0]]}
            rows.append(row | {f"again:usual:{i}": LABELS[one] for i, one in enumerate(given[1:], 1)})
    return pl.DataFrame(rows)


def scores(frame: pl.DataFrame, *names: str, **settings: Any) -> dict[str, ow.Score]:
    return {one.metric: one for one in ow.score(frame, list(names or NAMES), task="nli", **settings)}


@few
@given(st.integers(0, 10**6), st.integers(2, 20), st.integers(1, 4))
def test_without_noise_the_floor_is_zero_and_the_net_is_the_flip_rate(seed: int, buckets: int, times: int) -> None:
    found = scores(table(seed, buckets, noise=0.0, times=times))
    assert found["repeat_flips"].value == 0
    assert found["flip_rate_net"].value == pytest.approx(found["flip_rate"].value, abs=1e-12)
    assert found["flip_rate_net"].interval == "net"
    assert found["flip_rate_net"].low >= 0


@few
@given(st.integers(0, 10**6))
def test_labels_names_order_and_times_may_be_exchanged(seed: int) -> None:
    frame = table(seed, times=3)
    found = scores(frame, "repeat_flips", "flip_rate_net")
    turned = dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True))
    answers = ["pred", *(f"again:usual:{i}" for i in (1, 2, 3))]
    other = frame.with_columns(pl.col(name).replace_strict(turned) for name in answers)
    other = other.sample(fraction=1, shuffle=True, seed=seed)
    mixed = dict(zip(answers, [answers[2], answers[0], answers[3], answers[1]], strict=True))
    assert scores(other.rename(mixed), "repeat_flips", "flip_rate_net") == found


def test_it_is_unbiased_where_the_wording_does_nothing_and_flips_are_all_noise() -> None:
    """Means of many small tables: within four standard errors."""
    values = [scores(table(seed, 8, noise=0.3, wording=0.0)) for seed in range(80)]
    net = np.array([one["flip_rate_net"].value for one in values])
    assert abs(net.mean()) < 4 * net.std() / np.sqrt(len(net))
    assert (net < 0).mean() > 0.2
    flips = np.mean([one["flip_rate"].value for one in values])
    assert flips == pytest.approx(np.mean([one["repeat_flips"].value for one in values]), abs=0.03)
    assert flips > 0.2


def test_a_server_that_drifts_and_a_variant_with_the_text_of_its_original_are_no_flips() -> None:
    drift = {"bucket": ["a", "a"], "variant": ["", "1"], "pred": ["yes", "yes"]}
    again = {"usual": [["no", "no"], ["no", "no"]]}
    assert ow.measure("repeat_flips", **drift, again=again).value == pytest.approx(2 / 3)
    assert ow.measure("flip_rate_net", **drift, again=again).value == 0


def test_empty_cells_were_not_asked() -> None:
    """The pair of the first variant has the times 0 and 2; that of the second has one time, and does not count."""
    rows = {"bucket": ["a"] * 3, "variant": ["", "1", "2"], "pred": ["yes", "yes", "no"]}
    again = {"usual": [["no", None, None], ["yes", "no", None]]}
    found = ow.measure("repeat_flips", **rows, again=again)
    assert (found.value, found.n_units) == (0.5, 1)
    assert ow.measure("flip_rate_net", **rows, again=again).value == 0


def test_ways_are_measured_apart_and_the_usual_one_is_the_default() -> None:
    rows = {"bucket": ["a"] * 2, "variant": ["", "1"], "pred": ["yes", "yes"]}
    again = {"cold": [["no", "no"], ["no", "yes"]], "usual": [["yes", "yes"]]}
    assert ow.measure("repeat_flips", **rows, again=again).value == 0
    assert ow.measure("repeat_flips(way=cold)", **rows, again=again).value == 0.5
    assert ow.measure("way_flips", **rows, again=again).value == 0.75
    with refuses(Unmeasurable) as refused:
        ow.measure("way_flips(way=alone)", **rows, again=again)
    assert refused.value.fix == "it has usual, cold"


def test_another_way_needs_two_repeats_and_all_need_one() -> None:
    rows = {"bucket": ["a"] * 2, "variant": ["", "1"], "pred": ["yes", "yes"]}
    with refuses(Unmeasurable):
        ow.measure("repeat_flips", **rows, again={"shuffled": [["no", "no"]]})
    with refuses(Unmeasurable):
        ow.measure("flip_rate_net", **rows)
    with refuses(Unmeasurable):
        ow.score(table(1).drop("^again.*$"), "flip_rate_net")


def test_noise_comes_first_among_the_usual_metrics_where_the_same_was_asked_again() -> None:
    frame = table(3).with_columns(pl.lit("neutral").alias("gold"))
    assert [one.metric for one in ow.score(frame)][:2] == ["repeat_flips", "flip_rate_net"]
    without = [one.metric for one in ow.score(frame.drop("^again.*$"))]
    assert "repeat_flips" not in without
    assert "flip_rate" in without


def test_a_model_without_repeats_beside_one_that_has_them_is_no_reason_to_warn() -> None:
    """Warnings are errors here."""
    both = pl.concat(
        [table(3).with_columns(model=pl.lit("m")), table(3).drop("^again.*$").with_columns(model=pl.lit("n"))],
        how="diagonal",
    ).with_columns(gold=pl.lit("neutral"))
    found = ow.score(both)
    assert {one.model for one in found if one.metric == "repeat_flips"} == {"m"}
    assert {one.model for one in found if one.metric == "flip_rate"} == {"m", "n"}


def test_noise_stands_before_a_flip_rate_that_is_named_alone(tmp_path: Path) -> None:
    """Of a model that was asked again, from a table and from a file; nobody is warned or refused for lack of it."""
    named = pl.concat(
        [table(3).with_columns(model=pl.lit("m")), table(3).drop("^again.*$").with_columns(model=pl.lit("n"))],
        how="diagonal",
    )
    named.write_parquet(tmp_path / "a.parquet")
    for source in (named, tmp_path / "a.parquet"):
        found = [(one.model, one.metric) for one in ow.score(source, ["label_agreement", "flip_rate"])]
        assert found[:4] == [("m", name) for name in ("repeat_flips", "flip_rate_net", "label_agreement", "flip_rate")]
        assert found[4:] == [("n", "label_agreement"), ("n", "flip_rate")]
    assert [one.metric for one in ow.score(named, "label_agreement")] == ["label_agreement"] * 2, "this is no flip rate"
    once_cold = table(1).drop("again:usual:2").rename({"again:usual:1": "again:cold:1"})
    with pytest.warns(UserWarning, match="not measured: repeat_flips"):
        assert [one.metric for one in ow.score(once_cold, "flip_rate")] == ["flip_rate"]


def test_tables_of_other_programs() -> None:
    """Labels in other spellings, columns of other names, labels that occur in repeats alone."""
    rows = {"bucket": ["a"] * 2, "variant": ["", "1"], "pred": ["yes", "yes"], "second try": ["YES", "Maybe "]}
    [found] = ow.score(rows, "repeat_flips", columns={"again:usual:1": "second try"})
    assert found.value == 0.5
    rows["again:usual:1"] = ["yes", "neutral"]
    with refuses(BadInput) as refused:
        ow.score(rows, "repeat_flips", task="nli")
    assert refused.value.field == "pred"
    rows["pred"] = ["neutral"] * 2
    with refuses(BadInput) as refused:
        ow.score(rows, "repeat_flips", task="nli")
    assert (refused.value.field, refused.value.where) == ("again:usual:1", "the answers, row 1")


def test_a_row_with_a_repeat_that_is_no_label_can_be_left_out(tmp_path: Path) -> None:
    rows = {"bucket": ["a", "a", "a"], "variant": ["", "1", "2"], "pred": ["neutral"] * 3}
    rows["again:usual:1"] = ["neutral", "maybe", ""]
    with pytest.warns(UserWarning, match="1 answers left out"):
        [found] = ow.score(pl.DataFrame(rows), "way_flips(way=usual)", task="nli", rejected=tmp_path / "bad.csv")
    assert (found.value, found.n_answers) == (0, 2)
    assert "again:usual:1 is none of" in (tmp_path / "bad.csv").read_text()


def test_groups_are_not_ranked_by_noise() -> None:
    frame = table(5, 60).with_columns(gold=pl.lit("neutral"), side=pl.col("bucket").str.slice(-1))
    groups = ow.score(frame, ["repeat_flips", "flip_rate"], by="side", shrink=True)
    flips = [one.shrunk for one in groups if one.group and one.metric == "flip_rate"]
    assert flips == sorted(flips, reverse=True)


@pytest.mark.parametrize("name", ["again:usual", "again:usual:0", "again:usual:x", "again::1"])
def test_columns_of_other_names_are_refused(name: str) -> None:
    rows = {"bucket": ["a"] * 2, "variant": ["", "1"], "pred": ["yes", "yes"], name: ["yes", "no"]}
    with refuses(BadInput):
        ow.score(rows, "flip_rate")


def test_models_are_compared_net_of_noise() -> None:
    models = [table(4, 60, noise=0.2, wording=rate).with_columns(model=pl.lit(f"m{rate}")) for rate in (0.0, 0.9)]
    [found] = ow.compare(pl.concat(models), using=["flip_rate_net"], task="nli", replicates=200)
    assert found.interval == "mover"
    assert found.difference < found.high < 0
