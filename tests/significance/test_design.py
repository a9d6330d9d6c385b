"""Which items people are asked: every item has its chance, and exactly the one that is stated."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.significance.design import MODES, likely_sound, next_items, probabilities, systematic, usefulness


def population(size: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "bucket": [f"b{one // 3}" for one in range(size)],
            "variant": [f"v{one}" for one in range(size)],
            "cluster": [f"c{one // 6}" for one in range(size)],
            "stratum": [f"s{one % 2}" for one in range(size)],
            "flip": (random.random(size) < 0.2).astype(int),
            "judge": random.random(size),
        }
    )


@pytest.mark.parametrize("mode", MODES)
def test_items_are_asked_as_often_as_is_stated(mode):
    """Over many seeds the share of draws in which an item is asked is its probability."""
    items, n, draws = population(24), 8, 600
    stated, asked = {}, dict.fromkeys(items["variant"], 0)
    for seed in range(draws):
        drawn = next_items(items, mode, n, seed)
        assert drawn["variant"].n_unique() == drawn.height == n
        stated |= dict(zip(drawn["variant"], drawn["probability"], strict=True))
        for name in drawn["variant"]:
            asked[name] += 1
    assert set(stated) == set(items["variant"])
    for name, p in stated.items():
        assert 0 < p <= 1
        assert abs(asked[name] / draws - p) <= 4 * np.sqrt(p * (1 - p) / draws) + 1e-9


def test_a_seed_decides_whatever_the_order_of_rows():
    items = population()
    one, other = next_items(items, "most_useful_next", 9, 3), next_items(items.reverse(), "most_useful_next", 9, 3)
    assert one["variant"].to_list() == other["variant"].to_list()
    assert one["probability"].to_list() == pytest.approx(other["probability"].to_list(), rel=1e-12)
    assert one["variant"].to_list() != next_items(items, "most_useful_next", 9, 4)["variant"].to_list()


def test_a_sample_has_its_part_of_every_stratum_and_of_many_clusters():
    items = population(60)
    for seed in range(20):
        drawn = next_items(items, "sample", 20, seed).join(items, on=["bucket", "variant"])
        assert drawn["probability"].unique().to_list() == [pytest.approx(1 / 3)]
        assert sorted(drawn["stratum"].value_counts()["count"].to_list()) == [10, 10]
        assert drawn["cluster"].n_unique() >= 9


def test_what_was_asked_is_not_asked_again_and_in_the_end_all_are():
    items, asked = population(50), set()
    while len(asked) < 50:
        marked = items.with_columns(asked=pl.col("variant").is_in(list(asked)), sound=pl.lit(1.0))
        drawn = set(next_items(marked, "flips_first", 15, len(asked))["variant"])
        assert not drawn & asked
        asked |= drawn
    with pytest.raises(BadInput, match="every item was asked"):
        next_items(items.with_columns(asked=pl.lit(True)), "sample", 1, 1)


def test_flips_come_first_but_others_keep_a_chance():
    items = population(60)
    flips = int(items["flip"].sum())
    drawn = next_items(items, "flips_first", flips, 1).join(items, on=["bucket", "variant"])
    assert drawn["flip"].mean() > 0.7
    unlikely = drawn.filter(pl.col("flip") == 0)["probability"]
    assert unlikely.min() == pytest.approx(0.2 * flips / 60)


def test_the_most_useful_items_are_those_that_count_and_are_uncertain():
    flips = np.array([1, 1, 0, 0] * 25)[:, None].astype(float)
    judge, unknown = np.array([0.5, 0.98, 0.5, 0.98] * 25), np.full(100, np.nan)
    flips[8:] = 0  # flips are rare
    use = usefulness(flips, judge, unknown)
    assert use[0] > use[1] > use[3]
    assert use[0] > use[2] > use[3]


def test_verdicts_outweigh_the_judge():
    flips, judge = np.zeros((40, 1)), np.full(40, 0.9)
    judge[20:] = 0.1
    sound = np.full(40, np.nan)
    sound[:12] = 0.0
    likely = likely_sound(flips, judge, sound)
    assert likely[0] == pytest.approx(4 * 0.9 / 16)
    assert likely[30] == pytest.approx(0.1)


def test_probabilities_sum_to_the_number_of_items():
    weight = np.random.default_rng(2).exponential(size=50) ** 3
    for n in (1, 7, 49, 50):
        p = probabilities(weight, n)
        assert p.sum() == pytest.approx(n)
        assert p.max() <= 1
        assert len(systematic(p, 0.999)) == n


@pytest.mark.parametrize(
    ("change", "mode", "n", "message"),
    [
        ({}, "best", 1, "mode: found 'best'; use sample, flips_first, most_useful_next"),
        ({}, "sample", 0, "n: found 0; ask at least one item"),
        ({"drop": "variant"}, "sample", 1, "the items: variant: no such column; found bucket"),
        ({"drop": "flip"}, "flips_first", 1, "flips_first: flip: needs to know which variants flip; give a run"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(change, mode, n, message):
    items = population().drop(change.get("drop", []))
    with pytest.raises(BadInput) as caught:
        next_items(items, mode, n, 1)
    assert str(caught.value).startswith(message)
