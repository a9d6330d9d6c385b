"""What stands behind a score: clusters, effective size, the kind of its interval, and why there is none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput


def table(flips: list[int], variants: list[int], clusters: list[str] | None = None) -> pl.DataFrame:
    """Buckets with so many variants, of which so many flip from right to wrong."""
    rows: list[dict[str, Any]] = []
    for place, (flipped, n) in enumerate(zip(flips, variants, strict=True)):
        for number in range(n + 1):
            pred = "no" if 0 < number <= flipped else "yes"
            rows.append({"bucket": f"b{place}", "variant": f"v{number}" if number else "", "gold": "yes", "pred": pred})
            if clusters:
                rows[-1]["cluster"] = clusters[place]
    return pl.DataFrame(rows)


def test_clusters_and_their_effective_number() -> None:
    [one] = ow.score(table([1, 0, 0, 1], [1, 1, 2, 4]), "flip_rate")
    assert (one.n_clusters, one.n_units) == (4, 4)
    assert one.n_effective == pytest.approx(8**2 / (1 + 1 + 4 + 16), abs=1e-6)
    [two] = ow.score(table([1, 0, 0, 1], [1, 1, 2, 4], ["k", "k", "l", "l"]), "flip_rate")
    assert (two.n_clusters, two.n_units, two.resampled) == (2, 4, "cluster")
    assert two.n_effective == pytest.approx(8**2 / (2**2 + 6**2), abs=1e-6)


def test_tables_show_clusters_and_explain_the_effective_number() -> None:
    """Buckets are shown where they are not the clusters."""
    alone = repr(ow.score(table([1, 0, 0, 1], [1, 1, 2, 4]), "flip_rate")).split("\n")
    assert alone[0].split("  ")[-3:] == ["clusters", "eff. n", "answers"]
    assert alone[-1] == "clusters: one per problem; eff. n: equally weighted clusters with the same information"
    shared = repr(ow.score(table([1, 0, 0, 1], [1, 1, 2, 4], ["k", "k", "l", "l"]), "flip_rate")).split("\n")
    assert shared[0].split("  ")[-4:] == ["clusters", "eff. n", "buckets", "answers"]
    assert shared[-1].startswith("clusters: problems that share a text; eff. n: ")


def messages(flips: list[int], variants: list[int], **more: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.score(table(flips, variants), "flip_rate", **more)
    return [str(one.message) for one in caught]


def test_few_clusters_are_warned_of() -> None:
    line = "model: intervals rest on 19 clusters; with fewer than 20 they are not reliable"
    assert messages([1] + [0] * 18, [2] * 19) == [line]
    assert messages([1] + [0] * 19, [2] * 20) == []
    assert messages([1], [2]) == []  # one has no interval to rely on


def test_few_contrasts_are_not_said_of_all_intervals() -> None:
    few = table([1, 1, 0], [1, 1, 1]).with_columns(
        gold=pl.when(pl.col("variant") == "").then(pl.lit("yes")).otherwise(pl.lit("no")),
        contrast=pl.lit("mine"),
        bucket="c" + pl.col("bucket"),
    )
    many = table([1] + [0] * 29, [2] * 30).with_columns(contrast=pl.lit(None, pl.String))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.score(pl.concat([many, few.select(many.columns)]), ["flip_rate", "sensitivity"])
    assert [str(one.message) for one in caught] == [
        "model: intervals of contrasts rest on 3 clusters; with fewer than 20 they are not reliable"
    ]


def test_a_bucket_that_outweighs_all_others_is_warned_of() -> None:
    assert messages([0] * 30, [1] * 29 + [31]) == ["model: one bucket holds 52% of the weight in flip_rate"]
    assert messages([0] * 30, [1] * 29 + [29]) == []


def test_few_clusters_of_groups_are_one_warning() -> None:
    data = table([0] * 40, [1] * 40).with_columns(
        half=pl.when(pl.col("bucket") < "b2").then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.score(data, "flip_rate", by="half")
    assert [str(one.message) for one in caught] == [
        "model: 1 of 2 groups have fewer than 20 clusters; their intervals are not reliable"
    ]


def test_kinds_of_intervals() -> None:
    data = table([1, 0, 2] * 10, [3] * 30)
    found = {kind: ow.score(data, ["flip_rate", "matching_threshold", "accuracy_drop"], interval=kind, replicates=300)
             for kind in ("auto", "wilson", "percentile", "bca")}  # fmt: skip
    kinds = {kind: [scores[name].interval for name in ("flip_rate", "accuracy_drop")] for kind, scores in found.items()}
    both = {"auto": ["wilson", "mover"], "wilson": ["wilson", "mover"]}
    assert kinds == {**both, "percentile": ["percentile"] * 2, "bca": ["bca"] * 2}
    assert found["wilson"]["matching_threshold:low"].note == "not a share"
    assert "no interval: matching_threshold:low, matching_threshold:high (not a share)" in repr(found["wilson"])
    assert found["auto"]["flip_rate"].replicates is None
    assert "seed" not in found["auto"]["flip_rate"].signature
    with refuses(BadInput):
        ow.score(data, interval="wald")


def test_pvap_of_one_wrong_variant_has_no_interval_and_says_why() -> None:
    """A third of the replicates lack that variant, and have no variance to share out."""
    [one] = ow.score(table([1] + [0] * 49, [3] * 50), "pvap", replicates=2000)
    assert one.value is not None
    assert (one.low, one.high, one.interval) == (None, None, "")
    assert one.note.startswith("no value in 3")
    [many] = ow.score(table([1, 2] * 10 + [0] * 30, [3] * 50), "pvap", replicates=2000)
    assert many.low is not None
    assert many.interval == "wilson"


def test_metrics_that_coincide_agree() -> None:
    """Two labels, and nothing to merge: the same numbers under other names, from any kind of interval."""
    data = table([1, 0, 2, 3] * 8, [3, 2, 4, 5] * 8)
    for kind in ("auto", "percentile", "bca"):
        for same in (("p_c_distinct", "label_agreement"), ("flip_rate", "flip_to_wrong"), ("r_r", "r_s")):
            one, other = ow.score(data, list(same), interval=kind, replicates=500)
            assert (one.value, one.low, one.high) == (other.value, other.low, other.high), (kind, same)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["r_r", "flip_when_right"])
def test_a_value_beside_its_baseline_is_that_value(name: str) -> None:
    """Evidence and ends, too, also where few clusters have the event and problems differ in size."""
    data = table([1, 0, 0, 0, 0, 4] * 4, [3, 2, 4, 1, 7, 5] * 4)
    [alone] = ow.score(data, [name])
    beside = ow.score(data, [f"{name}(baseline=true)"])[0]
    for field in ("value", "low", "high", "n_clusters", "n_effective"):
        assert getattr(alone, field) == getattr(beside, field), field


def test_names_and_order_reach_no_interval() -> None:
    data = table([1, 0, 2, 3] * 8, [3, 2, 4, 5] * 8)
    other = data.sample(fraction=1, shuffle=True, seed=3).with_columns(bucket="x" + pl.col("bucket").str.reverse())
    using = ["flip_rate", "p_c", "pvap", "pvap_distinct", "accuracy_drop"]
    for kind in ("auto", "percentile", "bca"):
        one, two = (ow.score(each, using, interval=kind, replicates=300) for each in (data, other))
        assert [(a.low, a.high) for a in one] == [(b.low, b.high) for b in two]


PAIRS = ("p_c", "label_agreement", "pvap")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["flip_rate", "pa", "accuracy_drop", "flip_directions", *PAIRS])
@pytest.mark.parametrize("column", ["topic", "how", "original"])
def test_groups_are_scored_as_if_they_were_alone(metric: str, column: str) -> None:
    """In one go or one by one: to the bit the same as the group's own table."""
    if column == "how" and metric in PAIRS:  # one variant each has no pairs
        return
    random = np.random.default_rng(5)
    data = table(list(random.binomial(4, 0.3, 60)), [4] * 60, [f"k{n // 2}" for n in range(60)])
    data = data.with_columns(
        topic=pl.col("bucket").str.slice(-1),
        how=pl.when(pl.col("variant") != "").then(pl.col("variant").str.slice(-1)),
        pred=pl.when(pl.col("bucket").str.ends_with("7"), pl.col("variant") == "").then(pl.lit("no")).otherwise("pred"),
    )
    grouped = [one for one in ow.score(data, metric, by=column, replicates=300) if one.group]
    assert len({one.group for one in grouped}) == {"topic": 10, "how": 4, "original": 2}[column]
    right = pl.col("pred").filter(pl.col("variant") == "").first().over("bucket")
    marked = data.with_columns(original=pl.when(right == "yes").then(pl.lit("right")).otherwise(pl.lit("wrong")))
    for group in {one.group for one in grouped}:
        value = str(group).partition("=")[2]
        inside = marked.filter(pl.col(column) == value)["bucket"].unique()
        own = (pl.col(column) == value) | (pl.col("variant") == "")
        alone = ow.score(
            marked.filter(own, pl.col("bucket").is_in(inside.implode())).drop(column), metric, replicates=300
        )
        for one, other in zip([one for one in grouped if one.group == group], alone, strict=True):
            for name in ("metric", "value", "low", "high", "n_units", "n_answers", "n_clusters", "n_effective", "note"):
                assert getattr(one, name) == getattr(other, name), (group, name)


def test_what_is_true_of_all_models_is_warned_of_once() -> None:
    """Also of models that differ in nothing but their names, in groups, and in what all of them lack."""
    rows = [
        {"model": model, "bucket": bucket, "variant": variant, "gold": "yes", "pred": "yes", "topic": topic}
        for model in ("bert", "t5", "gpt")
        for bucket in range(12)
        for variant, topic in ((None, None), ("v1", "a"), ("v2", "b"))
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.score(pl.DataFrame(rows), ["p_c", "flip_rate"], by=["topic"])
    models = "bert, gpt, t5"
    assert [str(one.message) for one in caught] == [
        f"{models}: intervals rest on 12 clusters; with fewer than 20 they are not reliable",
        f"{models}: 2 of 2 groups have fewer than 20 clusters; their intervals are not reliable",
        f"p_c of {models}: nothing to measure in topic=a, topic=b (no problem has two variants for p_c to compare)",
    ]
    assert {one.filename for one in caught} == {__file__}, "they point to the caller"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.compare_groups(pl.DataFrame(rows), "topic", replicates=200)
    lines = [str(one.message) for one in caught]
    assert len(lines) == len(set(lines))
    assert sum("not compared: p_c" in line for line in lines) == 1
    assert any(line.startswith("bert, t5, gpt: not compared: p_c, ") for line in lines)
