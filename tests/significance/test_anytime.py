"""Anytime intervals: as the formula says, wrong less often than they may be however often one looks, soon narrow."""

from __future__ import annotations

import importlib
import math
from itertools import pairwise

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput, UnknownName
from otherwords.significance.anytime import Until, anytime_ends, parse_until, refuse_wrong_rule

CLUSTERS = 120
bench = importlib.import_module("benchmarks.anytime")


@pytest.fixture
def clusters():
    return bench.one_to_eight_variants(np.random.default_rng(7), 0.2, CLUSTERS)


def capital_by_loop(num, den, m, bets, sign):
    """The formula as it is written: the product of 1 + bet (num - m den) / largest, cluster by cluster."""
    capital, path = 1.0, []
    for hits, size, bet in zip(num, den, bets, strict=True):
        capital *= 1 + sign * bet * (hits - m * size) / max(den)
        path.append(capital)
    return path


def is_refuted_by_mixture(num, den, m):
    for sign, greatest in ((1, 1 / m), (-1, 1 / (1 - m))):
        parts = [capital_by_loop(num, den, m, [0.95 * 0.5**k * greatest] * len(num), sign)[-1] for k in range(11)]
        if sum(parts) / len(parts) >= 2 / 0.05:
            return True
    return False


def bets_by_loop(num, den, within, sign):
    """What each bet knows: the clusters before it, and nothing else."""
    largest, bets = max(den), []
    hits = [(one if sign > 0 else size - one) / largest for one, size in zip(num, den, strict=True)]
    sizes = [size / largest for size in den]
    for t in range(len(num)):
        size = sum(sizes[:t]) / t if t else 0.5
        share = (sum(hits[:t]) + 0.5) / (sum(sizes[:t]) + 1)
        squares = sum((one - share * weight) ** 2 for one, weight in zip(hits[:t], sizes[:t], strict=True))
        candidate = max(share - within, share / 2)
        variance = (0.5 * size**2 + squares) / (t + 1) * candidate * (1 - candidate) / (share * (1 - share))
        bets.append(within * size / (variance + (within * size) ** 2))
    return bets


def is_refuted_by_plan(num, den, m, bets):
    for sign, greatest in ((1, 0.95 / m), (-1, 0.95 / (1 - m))):
        path = capital_by_loop(num, den, m, [min(bet, greatest) for bet in bets[sign]], sign)
        if max(path) >= 2 / (0.95 * 0.05):
            return True
    return False


def test_the_mixture_is_the_formula(clusters):
    num, den = clusters
    low, high = anytime_ends(num, den)
    for m in (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.9):
        assert is_refuted_by_mixture(num, den, m) == (not low <= m <= high), m
    for end, step in ((low, -1e-6), (high, 1e-6)):
        assert is_refuted_by_mixture(num, den, end + step)
        assert not is_refuted_by_mixture(num, den, end - step)


def test_the_plan_is_the_formula(clusters):
    num, den = clusters
    low, high = anytime_ends(num, den, within=0.08)
    bets = {sign: bets_by_loop(num, den, 0.08, sign) for sign in (1, -1)}
    for end, step in ((low, -1e-6), (high, 1e-6)):
        assert is_refuted_by_plan(num, den, end + step, bets)
        assert not is_refuted_by_plan(num, den, end - step, bets)


def test_order_and_repetition_do_not_matter_without_a_plan(clusters):
    num, den = clusters
    order = np.random.default_rng(1).permutation(CLUSTERS)
    assert anytime_ends(num[order], den[order]) == pytest.approx(anytime_ends(num, den), abs=2e-9)
    rows, counts = np.unique(np.stack([num, den], axis=1), axis=0, return_counts=True)
    assert anytime_ends(rows[:, 0], rows[:, 1], counts=counts) == pytest.approx(anytime_ends(num, den), abs=2e-9)


@pytest.mark.parametrize("within", [None, 0.05])
def test_what_did_not_happen_has_the_mirrored_interval(clusters, within):
    num, den = clusters
    low, high = anytime_ends(num, den, within=within)
    assert anytime_ends(den - num, den, within=within) == pytest.approx((1 - high, 1 - low), abs=2e-9)
    assert low < num.sum() / den.sum() < high


def test_ends_that_are_reached_stay(clusters):
    num, den = clusters
    ends = [anytime_ends(num[:n], den[:n], within=0.05, largest=8) for n in (20, 60, 120)]
    assert all(one[0] <= other[0] and other[1] <= one[1] for one, other in pairwise(ends))


def test_clusters_without_weight_tell_nothing(clusters):
    num, den = clusters
    more = (np.append(num, [0, 0]), np.append(den, [0, 0]))
    for within in (None, 0.05):
        assert anytime_ends(*more, within=within) == anytime_ends(num, den, within=within)
    assert anytime_ends([], []) == (0.0, 1.0)
    assert anytime_ends([0, 0], [0, 0]) == (0.0, 1.0)


def test_no_flip_and_nothing_but_flips():
    low, high = anytime_ends([0] * 200, [3] * 200)
    assert low == 0
    assert 0.02 < high < 0.06
    assert anytime_ends([3] * 200, [3] * 200) == pytest.approx((1 - high, 1.0))


def test_a_width_out_of_reach_still_gives_a_sensible_interval(clusters):
    num, den = clusters
    low, high = anytime_ends(num, den, within=0.0005)
    usual = anytime_ends(num, den)
    assert high - low < 1.6 * (usual[1] - usual[0])


def test_a_larger_cluster_elsewhere_in_the_suite_widens_it(clusters):
    num, den = clusters
    narrow, wide = anytime_ends(num, den), anytime_ends(num, den, largest=40)
    assert wide[1] > narrow[1]


@pytest.mark.parametrize(
    ("num", "den", "more"),
    [([2], [1], {}), ([-1], [1], {}), ([1, 1], [1], {}), ([1], [5], {"largest": 4}), ([1], [2], {"confidence": 1.0})],
)
def test_impossible_sums_are_refused(num, den, more):
    with refuses(BadInput):
        anytime_ends(num, den, **more)


@pytest.mark.parametrize("rate", bench.RATES)
def test_the_gate_looked_at_after_every_cluster_is_seldom_wrong(rate):
    assert bench._share(bench._gate_is_wrong, bench.one_to_eight_variants, rate, 40, 300) <= 0.05


@pytest.mark.parametrize("rate", bench.RATES)
def test_the_interval_of_until_is_seldom_wrong_at_any_time(rate):
    assert bench._share(bench._until_is_wrong, bench.one_to_eight_variants, rate, 150, 600) <= 0.05


@pytest.mark.parametrize(("rate", "within"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.08)])
def test_until_stops_within_twice_the_clusters_of_a_fixed_size(rate, within):
    assert bench._stopping(bench.one_to_eight_variants, rate, within, 5, tiny=False)["measured"] <= 2


def test_the_benchmark_asks_the_package_what_it_says(clusters):
    """Its two short cuts, capital at the true share alone, agree with the ends."""
    num, den = clusters
    low, _ = anytime_ends(num, den, within=0.08)
    assert bench._until_is_wrong(num, den, low - 1e-6, 0.08)
    assert not bench._until_is_wrong(num, den, low + 1e-6, 0.08)
    assert bench._gate_is_wrong(num, den, anytime_ends(num, den)[0] - 1e-6)


# Rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("flip_rate within 0.01", Until("flip_rate", 0.01)),
        (" pa(at=0.5)  within 2 % ", Until("pa(at=0.5)", 0.02)),
        ("flip_rate<=0.7%", Until("flip_rate", None, "<=", 0.007)),
        ("p_c > .85", Until("p_c", None, ">", 0.85)),
        ("flip_rate within 1e-2", Until("flip_rate", 0.01)),
    ],
)
def test_rules_are_read(text, rule):
    assert parse_until(text) == rule
    assert parse_until(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "flip_rate", "within 0.1", "flip_rate within", "flip_rate = 0.1", "flip_rate<=x"])
def test_a_rule_that_cannot_be_read_is_refused(text):
    with refuses(BadInput, where="until"):
        refuse_wrong_rule(text)


@pytest.mark.parametrize(
    "text", ["flip_rate within 0", "flip_rate within 0.5", "flip_rate within 50%", "flip_rate<=0", "flip_rate>=100%"]
)
def test_a_rule_that_is_answered_already_is_refused(text):
    with refuses(BadInput, where="until"):
        refuse_wrong_rule(text)


@pytest.mark.parametrize("metric", ["pvap", "ks", "snr", "flip_directions", "pa_drop", "r_r"])
def test_only_ratios_of_sums_can_stop_the_asking(metric):
    with refuses(BadInput, where="until"):
        refuse_wrong_rule(f"{metric} within 0.1")


def test_an_unknown_metric_is_refused():
    with refuses(UnknownName):
        refuse_wrong_rule("nothing within 0.1")


def test_a_bound_is_answered_either_way():
    rule = parse_until("flip_rate<=0.1")
    assert rule.is_known(0.02, 0.1)
    assert rule.is_known(0.11, 0.3)
    assert not rule.is_known(0.1, 0.3)
    assert not parse_until("flip_rate<0.1").is_known(0.02, 0.1)
    assert parse_until("flip_rate>=0.1").is_known(0.1, 0.3)


def test_looks_come_closer_near_the_end():
    rule = Until("flip_rate", 0.01)
    assert rule.next_look(0, 0, 1) == 32
    assert rule.next_look(1000, 0, 0.5) == 2000
    assert rule.next_look(1000, 0.1, 0.121) == 1050
    assert rule.next_look(40, 0.1, 0.121) > 40
    assert math.isclose(Until("flip_rate", None, "<=", 0.1).next_look(1000, 0, 1), 1050)
