"""Exchange tests: against exact enumeration, against scipy, and at their nominal level where nothing differs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from otherwords.metrics.metric import Metric
from otherwords.significance.bootstrap import Sample
from otherwords.significance.pairs import Pairing, joint_sample, pair_sample
from otherwords.significance.permutation import exchange_test, max_t, swap_test

Array = np.ndarray[Any, Any]
RATE = Metric(lambda answers: answers)


def paired_sample(rows: Any, cluster: Array) -> Sample:
    return pair_sample(RATE, rows, Pairing((cluster, cluster)))


def unpaired_sample(rows: Any, clusters: Any) -> Sample:
    return pair_sample(RATE, rows, Pairing(tuple(clusters), paired=False))


def rate(rows: Array) -> float:
    return float(rows[:, 0].sum() / rows[:, 1].sum())


def two(seed: int, n: int, shift: float = 0.0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    count = random.integers(1, 5, n)
    return tuple(np.stack([random.binomial(count, 0.4 + s), count], axis=1) for s in (0.0, shift))  # type: ignore[return-value]


def over_error(a: Array, b: Array) -> float:
    """The difference of two paired rates over its standard error, by the delta method."""
    influence = [(side[:, 0] - rate(side) * side[:, 1]) / side[:, 1].sum() for side in (a, b)]
    each = influence[0] - influence[1]
    error = np.sqrt(((each - each.mean()) ** 2).sum())
    return abs(rate(a) - rate(b)) / error if error > 1e-12 else 0.0


def test_swapping_agrees_with_all_2_to_the_n_swaps() -> None:
    one, other = two(3, 10, shift=0.25)
    observed, large = over_error(one, other), 0
    for sides in product([False, True], repeat=10):
        side = np.array(sides)[:, None]
        a, b = np.where(side, other, one), np.where(side, one, other)
        large += over_error(a, b) >= observed - 1e-9
    exact = large / 2**10
    [p] = swap_test(paired_sample([one, other], np.arange(10)), 40_000, 1)
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))


def test_swapping_agrees_with_scipys_permutation_test() -> None:
    one, other = two(5, 60, shift=0.1)
    expected = stats.permutation_test(
        (one[:, 0] / one[:, 1], other[:, 0] / other[:, 1]), lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples", n_resamples=20_000, vectorized=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    means = [np.stack([side[:, 0] / side[:, 1], np.ones(60)], axis=1) for side in (one, other)]
    [p] = swap_test(paired_sample(means, np.arange(60)), 20_000, 1)
    assert p == pytest.approx(expected.pvalue, abs=0.015)


def test_exchange_agrees_with_scipys_permutation_test() -> None:
    random = np.random.default_rng(4)
    one, other = random.integers(0, 5, 25), random.integers(1, 6, 40)
    expected = stats.permutation_test(
        (one, other), lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        n_resamples=20_000, vectorized=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    rows = [np.stack([side, np.ones(len(side), dtype=np.int64)], axis=1) for side in (one, other)]
    [p] = exchange_test(unpaired_sample(rows, [np.arange(25), np.arange(40)]), 20_000, 1)
    assert p == pytest.approx(expected.pvalue, abs=0.015)


@pytest.mark.parametrize("float_rows", [False, True])
def test_a_model_against_itself_and_against_its_opposite(float_rows: bool) -> None:
    one, _ = two(1, 40)
    kind = np.float64 if float_rows else np.int64
    [same] = swap_test(paired_sample([one.astype(kind)] * 2, np.arange(40)), 500, 1)
    assert same == 1.0
    worst = np.stack([np.zeros(40, dtype=kind), one[:, 1]], axis=1)
    best = np.stack([one[:, 1], one[:, 1]], axis=1).astype(kind)
    [far] = swap_test(paired_sample([best, worst], np.arange(40)), 500, 1)
    assert far == 1 / 501  # never zero


def test_under_the_null_p_is_uniform() -> None:
    found = []
    for seed in range(300):
        rows = np.random.default_rng(seed).random((2, 30, 2))  # fractions: no ties, which make p cautious
        rows[:, :, 1] += 1
        found.append(float(swap_test(paired_sample(list(rows), np.arange(30)), 199, seed)[0]))
    assert 0.02 <= np.mean(np.array(found) <= 0.05) <= 0.09
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_a_cluster_is_swapped_as_a_whole() -> None:
    """Ten copies of each bucket in one cluster tell no more than the bucket: p stays, instead of shrinking."""
    one, other = two(7, 12, shift=0.2)
    once = swap_test(paired_sample([one, other], np.arange(12)), 20_000, 1)[0]
    copies = [np.repeat(side, 10, axis=0) for side in (one, other)]
    clustered = swap_test(paired_sample(copies, np.repeat(np.arange(12), 10)), 20_000, 1)[0]
    blind = swap_test(paired_sample(copies, np.arange(120)), 20_000, 1)[0]
    assert clustered == pytest.approx(once, abs=0.015)
    assert blind < once / 2


def test_an_undefined_difference_has_no_p_value() -> None:
    nothing = np.zeros((5, 2), dtype=np.int64)
    some = np.ones((5, 2), dtype=np.int64)
    assert np.isnan(swap_test(paired_sample([some, nothing], np.arange(5)), 50, 1)).all()


def conditional(seed: int, accuracy: float, n: int = 100) -> Array:
    """Flips of wrong answers: every model flips half of them, but one has few wrong answers and one has many."""
    random = np.random.default_rng(seed)
    wrong = random.random(n) > accuracy
    count = np.where(wrong, random.integers(1, 5, n), 0)
    return np.stack([random.binomial(count, 0.5), count], axis=1)


def test_unequal_denominators_do_not_make_it_reject() -> None:
    """Both flip half of their wrong answers; the bare difference would be refused in about 14 % of such cases."""
    found = []
    for seed in range(200):
        pair = [conditional(2 * seed, 0.9, 300), conditional(2 * seed + 1, 0.5, 300)]
        found.append(float(swap_test(paired_sample(pair, np.arange(300)), 199, seed)[0]))
    assert np.mean(np.array(found) <= 0.05) <= 0.09


def test_unequal_groups_of_unequal_spread_do_not_make_it_reject() -> None:
    found = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        chances = random.choice([0.0, 1.0], 30), np.full(300, 0.5)
        rows = [np.stack([random.binomial(4, chance), np.full(len(chance), 4)], axis=1) for chance in chances]
        [p] = exchange_test(unpaired_sample(rows, [np.arange(30), np.arange(300)]), 199, seed)
        found.append(float(p))
    assert np.mean(np.array(found) <= 0.05) <= 0.09


@pytest.mark.parametrize(("units", "count", "one", "other"), [(5, 97, 33, 31), (5, 13, 6, 5), (6, 1000, 501, 500)])
def test_p_is_never_below_what_so_few_units_can_give(units: int, count: int, one: int, other: int) -> None:
    """Units all alike have no spread; rounding must not make one. Identity and the full swap tie: at least 2 / 2^n."""
    rows = [np.tile([[flips, count]], (units, 1)) for flips in (one, other)]
    share = [np.tile([[(f * f + (count - f) ** 2) / count**2, 1.0]], (units, 1)) for f in (one, other)]
    for pair in (rows, share):
        [p] = swap_test(paired_sample(pair, np.arange(units)), 4_000, 1)
        assert p >= 2 / 2**units * 0.8


def test_random_fractions_of_four_units_tie_with_their_full_swap() -> None:
    for seed in range(60):
        rows = np.random.default_rng(seed).random((2, 4, 2))
        [p] = swap_test(paired_sample(list(rows), np.arange(4)), 2_000, seed)
        assert p >= 0.125 * 0.8


def test_streams_hang_on_data_and_seed_alone() -> None:
    """Two metrics with the same rows have the same p-value; another seed gives another."""
    one, other = two(3, 30, shift=0.1)
    first = swap_test(paired_sample([one, other], np.arange(30)), 500, 1)
    again = swap_test(pair_sample(Metric(lambda answers: answers), [one, other], Pairing((np.arange(30),) * 2)), 500, 1)
    assert first == again
    assert first != swap_test(paired_sample([one, other], np.arange(30)), 500, 2)


# Several metrics at once


def together(rows: list[list[Array]], replicates: int, seed: int = 1) -> tuple[list[float], list[float]]:
    """The p-values of several rates of the same clusters, each alone, and by maxT."""
    n = len(rows[0][0])
    pairing = Pairing((np.arange(n), np.arange(n)))
    pairs = [pair_sample(RATE, one, pairing) for one in rows]
    alone = [float(swap_test(one, replicates, seed)[0]) for one in pairs]
    units = [np.array([n]) for _ in rows]
    found = max_t(pairs, joint_sample(rows, pairing), True, replicates, seed, [True] * len(rows), units)
    return alone, [float(one[0]) for one in found]


def test_maxt_agrees_with_all_2_to_the_n_swaps_stepping_down() -> None:
    rows = [list(two(3, 10, shift=0.25)), list(two(8, 10, shift=0.1)), list(two(9, 10))]

    def bounded(side: Array, pair: list[Array]) -> float:
        t = over_error(np.where(side, pair[1], pair[0]), np.where(side, pair[0], pair[1]))
        return t / np.sqrt(1 + t * t / 10)

    observed = [bounded(np.zeros((10, 1), dtype=bool), pair) for pair in rows]
    drawn = np.array([
        [bounded(np.array(sides)[:, None], pair) for pair in rows] for sides in product([False, True], repeat=10)
    ])  # fmt: skip
    order, expected, last = np.argsort(observed)[::-1], {}, 0.0
    for place, metric in enumerate(order):
        largest = drawn[:, order[place:]].max(axis=1)
        last = expected[int(metric)] = max(last, float((largest >= observed[metric] - 1e-9).mean()))
    _, found = together(rows, 20_000)
    for place, p in enumerate(found):
        assert p == pytest.approx(expected[place], abs=4 * np.sqrt(0.25 / 20_000))


def test_copies_of_a_metric_cost_nothing_and_other_metrics_do() -> None:
    pair = list(two(5, 60, shift=0.12))
    alone, copies = together([pair] * 5, 2_000)
    assert copies == pytest.approx(alone, abs=0.01)  # of other swaps
    others = [list(two(seed, 60)) for seed in range(20, 24)]
    alone, found = together([pair, *others], 2_000)
    assert found[0] > 2 * alone[0]
    assert found[0] <= 5 * alone[0] * 1.1  # no stricter than Bonferroni


def test_maxt_keeps_the_chance_of_any_false_rejection() -> None:
    """Six metrics that are related, none of which differs: some p-value is below 5 % in far more than 5 % of tables."""
    any_alone, any_adjusted = [], []
    for seed in range(80):
        shared = two(1_000 + seed, 40)
        rows = [[a + b * [[1, 0]] for a, b in zip(two(7 * seed + k, 40), shared, strict=True)] for k in range(6)]
        alone, adjusted = together(rows, 199, seed)
        any_alone.append(min(alone) <= 0.05)
        any_adjusted.append(min(adjusted) <= 0.05)
    assert np.mean(any_alone) > 0.1
    assert np.mean(any_adjusted) <= 0.1


def test_a_part_of_three_clusters_does_not_drown_the_others() -> None:
    """Where three clusters agree their statistic is infinite, in a quarter of all swaps."""
    pair = list(two(5, 60, shift=0.2))
    few = [
        np.where(np.arange(60)[:, None] < 3, side, 0)
        for side in (np.tile([[0, 4]], (60, 1)), np.tile([[2, 4]], (60, 1)))
    ]
    pairing = Pairing((np.arange(60), np.arange(60)))
    pairs = [pair_sample(RATE, one, pairing) for one in (pair, few)]
    joint = joint_sample([pair, few], pairing)
    first, second = max_t(pairs, joint, True, 2_000, 1, [True, True], [np.array([60]), np.array([3])])
    assert first[0] <= 0.02
    assert second[0] >= 0.2


# Groups that share clusters


def groups_in_clusters(seed: int, effect: float, alone: int = 0) -> tuple[list[Array], tuple[Array, Array]]:
    """Two groups of buckets in 30 clusters that differ much from each other; the first has `alone` more clusters."""
    random = np.random.default_rng(seed)
    level = random.beta(0.7, 0.7, 30 + alone)
    clusters = np.repeat(np.arange(30 + alone), 3), np.repeat(np.arange(30), 2)
    sides = []
    for cluster, gain in zip(clusters, (0.0, effect), strict=True):
        count = random.integers(1, 5, len(cluster))
        sides.append(np.stack([random.binomial(count, np.clip(level[cluster] + gain, 0, 1)), count], axis=1))
    return sides, clusters


def rejected(effect: float, paired: bool, tables: int = 150, alone: int = 0) -> float:
    test, found = swap_test if paired else exchange_test, []
    for seed in range(tables):
        rows, clusters = groups_in_clusters(seed, effect, alone)
        found.append(float(test(pair_sample(RATE, rows, Pairing(clusters, paired)), 199, seed)[0]) <= 0.05)
    return float(np.mean(found))


def test_groups_are_compared_within_the_clusters_that_they_share() -> None:
    """As samples of different problems, the clusters' own differences hide what differs between the groups."""
    assert rejected(0.13, paired=False) < 0.25
    assert rejected(0.13, paired=True) > 0.6
    for alone in (0, 30):
        assert rejected(0.0, paired=True, alone=alone) <= 0.1  # 5.0 and 5.4 % of 1,000
