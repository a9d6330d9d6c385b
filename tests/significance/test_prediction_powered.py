"""A share among sound variants: exact where all is known, unbiased whatever the judge, and honest about its error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.errors import BadInput
from otherwords.significance.intervals import Units, share_interval
from otherwords.significance.prediction_powered import (
    batch_weights,
    cluster_sums,
    powered_share,
    share_bounds,
    two_strata,
    verdicts_to_halve,
)


def suite(seed: int, clusters: int = 60, each: int = 5, rate: float = 0.2, sound: float = 0.8):
    random = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), each)
    truth = (random.random(len(cluster)) < sound).astype(float)
    hits = (random.random(len(cluster)) < rate + 0.4 * (1 - truth)).astype(float)
    judge = np.clip(0.6 * truth + 0.4 * random.random(len(cluster)), 0, 1)
    return random, cluster, truth, hits, judge


def asked(random, truth, n):
    sound, weight = np.full(len(truth), np.nan), np.zeros(len(truth))
    place = random.permutation(len(truth))[:n]
    sound[place], weight[place] = truth[place], len(truth) / n
    return sound, weight


def test_where_everything_is_judged_it_is_the_plain_share_among_sound_variants():
    _, cluster, truth, hits, judge = suite(1)
    rows = cluster_sums(hits, judge, truth, np.ones(len(truth)), cluster)
    own = np.bincount(cluster, hits * truth), np.bincount(cluster, truth)
    value = own[0].sum() / own[1].sum()
    plain = share_interval(np.array(value), [Units((own[0] - value * own[1]) / own[1].sum(), np.ones(60))], 0.95)
    for trust in (0.0, None, 1.0):
        found = powered_share(rows, trust=trust)
        assert float(found.value) == pytest.approx(value, abs=1e-12)
    alone = powered_share(rows, trust=0.0)
    assert (float(alone.low), float(alone.high)) == pytest.approx((float(plain[0]), float(plain[1])), abs=1e-9)
    same = np.ones(len(truth))
    assert not np.signbit(powered_share(cluster_sums(hits, same, same, same, cluster)).trust)  # "trusted -0.00"


def test_a_perfect_judge_is_trusted_and_a_useless_one_is_not():
    random, cluster, truth, hits, _ = suite(2, clusters=200)
    sound, weight = asked(random, truth, 300)
    good, bad, alone = (
        powered_share(cluster_sums(hits, judge, sound, weight, cluster), trust=trust)
        for judge, trust in ((truth, None), (1 - truth, None), (truth, 0.0))
    )
    assert good.trust > 0.9
    assert good.high - good.low < 0.75 * (alone.high - alone.low)
    assert bad.trust < 0.1
    assert bad.high - bad.low < 1.02 * (alone.high - alone.low)


def test_people_alone_see_only_what_they_judged():
    """The judge's scores, and answers to what nobody judged, change nothing where it is not trusted."""
    random, cluster, truth, hits, judge = suite(3)
    sound, weight = asked(random, truth, 100)
    one = powered_share(cluster_sums(hits, judge, sound, weight, cluster), trust=0.0)
    other = powered_share(cluster_sums(hits, 1 - judge, sound, weight, cluster), trust=0.0)
    assert one.value == other.value == pytest.approx((hits * (sound == 1)).sum() / (sound == 1).sum())
    assert (one.low, one.high) == (other.low, other.high)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.2, 0.5]), st.integers(10, 120))
def test_laws(seed, rate, n):
    """In [0, 1], the value within its interval, trust within [0, 1], and the order of variants does not matter."""
    random, cluster, truth, hits, judge = suite(seed, rate=rate)
    sound, weight = asked(random, truth, n)
    found = powered_share(cluster_sums(hits, judge, sound, weight, cluster))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert 0 <= found.trust <= 1
    order = random.permutation(len(hits))
    turned = powered_share(cluster_sums(*(one[order] for one in (hits, judge, sound, weight, cluster))))
    assert turned.value == pytest.approx(found.value, abs=1e-12)
    assert turned.high == pytest.approx(found.high, abs=1e-9)


def test_stacked_data_sets_give_the_same_as_each_alone():
    rows = []
    for seed in range(4):
        random, cluster, truth, hits, judge = suite(seed)
        rows.append(cluster_sums(hits, judge, *asked(random, truth, 80), cluster))
    together = powered_share(np.stack(rows))
    for place, one in enumerate(rows):
        alone = powered_share(one)
        for name in ("value", "low", "high", "trust"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name), abs=1e-12)


def test_a_handful_of_flips_that_are_all_sound_does_not_end_the_doubt():
    """Four judged flips, all sound as the judge says: the plain method would know the rate almost exactly."""
    cluster, hits = np.arange(1000), (np.arange(1000) < 40).astype(float)
    sound = np.full(1000, np.nan)
    sound[::10] = 1.0
    rows = cluster_sums(hits, np.ones(1000), sound, np.full(1000, 10.0), cluster)
    found, alone = powered_share(rows), powered_share(rows, trust=0.0)
    assert found.value == pytest.approx(0.04)
    assert found.low < 0.024  # two flips in five may yet be unsound
    assert 0.4 < (found.high - found.low) / (alone.high - alone.low) < 1


def test_where_no_flip_was_judged_people_decide_alone():
    cluster, hits = np.arange(200), (np.arange(200) < 10).astype(float)
    sound = np.where(np.arange(200) >= 100, 1.0, np.nan)
    found = powered_share(cluster_sums(hits, np.ones(200), sound, np.full(200, 2.0), cluster))
    assert (found.trust, found.value, found.low) == (0, 0, 0)
    assert found.high > 0.03


def test_nothing_sound_is_refused():
    rows = cluster_sums(np.ones(5), np.ones(5), np.zeros(5), np.ones(5), np.arange(5))
    with pytest.raises(BadInput, match="no variant was found sound"):
        powered_share(rows)


# Weights


def test_weights_are_unbiased_where_later_batches_depend_on_earlier_verdicts():
    """The second batch asks what the first one found; the mean over many draws is still the mean of all."""
    random, size, truth = np.random.default_rng(4), 30, np.arange(30) % 3 == 0
    values = np.where(truth, 3.0, 1.0)
    found = []
    for _ in range(800):
        first = random.random(size) < 0.3
        often = first.any() and values[first].mean() > 1.5
        p = np.where(truth & often, 0.8, 0.3)
        second = ~first & (random.random(size) < p)
        own = first | second
        shares = first[own].sum() / own.sum(), second[own].sum() / own.sum()
        weight = np.where(first, shares[0] / 0.3 + shares[1], shares[1] / p)[own]
        theirs = batch_weights(np.where(first, 0.3, p)[own], np.where(first, 1, 2)[own], size)
        assert theirs == pytest.approx(weight * (size / weight.sum()), rel=1e-9)
        found.append((theirs * values[own]).sum() / size)
    assert np.mean(found) == pytest.approx(values.mean(), abs=0.04)


def test_without_probabilities_verdicts_weigh_alike():
    assert batch_weights(np.full(4, np.nan), np.ones(4, dtype=int), 100).tolist() == [25.0] * 4


# Beside it


def test_two_strata_by_hand():
    """Of 40 flips the judge accepts 30; on ten judged ones it is right about 6 of 8 sound and 1 of 2 unsound ones."""
    hits = np.repeat([1.0, 0.0], [40, 60])
    judge = np.concatenate([np.repeat([1.0, 0.0], [30, 10]), np.ones(60)])
    sound = np.full(100, np.nan)
    sound[[0, 1, 2, 3, 4, 5]], sound[[6]] = 1, 0
    sound[[30, 31]], sound[[32]] = 1, 0
    sound[40:50] = [1] * 9 + [0]
    value, low, high = two_strata(hits, judge, sound, np.where(np.isnan(sound), 0.0, 1.0), np.arange(100))
    q1 = (30 / 40 + 1 / 2 - 1) / (6 / 8 + 1 / 2 - 1)
    assert q1 == 1.0
    expected = 40 * q1 / (40 * q1 + 60 * 0.9)
    assert value == pytest.approx(expected)
    assert 0 <= low < value < high <= 1


@given(st.floats(0, 1), st.floats(0, 0.9))
def test_bounds_hold_whatever_is_unsound(share, unsound):
    low, high = share_bounds(share, unsound)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    kept = 1 - unsound  # the unsound ones may all be among what counts, or among the rest
    assert low == pytest.approx(max(share - unsound, 0) / kept)
    assert high == pytest.approx(min(share / kept, 1))


def test_more_verdicts_halve_the_interval():
    """The number that is foretold does it, on average over suites; more than all there are is never foretold."""
    told, widths = [], []
    for seed in range(12):
        random, cluster, truth, hits, _ = suite(seed, clusters=4000, each=2)
        judge = np.ones(len(hits))
        before = powered_share(cluster_sums(hits, judge, *asked(random, truth, 100), cluster))
        told.append(verdicts_to_halve(before, 100, len(truth)))
        after = powered_share(cluster_sums(hits, judge, *asked(random, truth, 100 + told[-1]), cluster))
        widths.append((after.high - after.low) / (before.high - before.low))
    assert np.mean(widths) == pytest.approx(0.5, abs=0.06)
    random, cluster, truth, hits, judge = suite(0, clusters=40, each=2)
    few = powered_share(cluster_sums(hits, judge, *asked(random, truth, 60), cluster))
    assert verdicts_to_halve(few, 60, 80) is None


# Simulations: thin versions of `python -m benchmarks people`


@pytest.mark.parametrize(
    ("suite", "rate", "judge"),
    [
        ((50, 2, 8, "items"), 0.1, "0.95"),
        ((200, 1, 8, "items"), 0.02, "none"),
        ((200, 1, 8, "items"), 0.3, "wrong on flips"),
        ((150, 2, 8, "clusters"), 0.1, "distrusts flips"),
    ],
)
def test_the_interval_covers_and_is_no_wider_than_that_of_people(suite, rate, judge):
    """93 %, less three standard errors of 300 simulations; at most 5 % wider on average."""
    from benchmarks import people

    cell = {"suite": suite, "rate": rate, "sound": 0.9, "judge": judge, "lift": 0.4, "verdicts": 100}
    found = people.measure(cell, sims=300)
    assert found["judge:held"] > 0.93 - 3 * np.sqrt(0.95 * 0.05 / 300)
    assert found["wider"] < 1.05


def test_the_most_useful_items_need_fewer_verdicts():
    """Of ten suites: half the verdicts, or fewer, give the interval of a plain sample; it holds the truth."""
    from benchmarks import people

    found = people.active((0.1, "none"), sims=10)
    assert found["part"] <= 0.6  # 0.4 on average over many
    assert np.mean(found["held"]) >= 0.7
