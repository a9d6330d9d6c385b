"""Worst of k: against the beta-binomial distribution, by hand, and its laws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy.stats import betabinom

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.metrics import fooled_within
from otherwords.metrics.worst import some_of
from otherwords.registry import metrics


def answers(flips: list[tuple[int, int]]) -> dict[str, list[object]]:
    """Problems of which so many of so many variants flip, from right to wrong."""
    rows: dict[str, list[object]] = {"bucket": [], "variant": [], "gold": [], "pred": []}
    for bucket, (f, n) in enumerate(flips):
        rows["bucket"] += [bucket] * (n + 1)
        rows["variant"] += ["", *range(n)]
        rows["gold"] += ["yes"] * (n + 1)
        rows["pred"] += ["yes", *["no"] * f, *["yes"] * (n - f)]
    return rows


def value(metric: str, flips: list[tuple[int, int]]) -> float | None:
    return ow.measure(metric, **answers(flips)).value  # type: ignore[arg-type]


@pytest.mark.parametrize(("a", "b"), [(0.5, 4.0), (2.0, 18.0), (0.05, 0.4), (7.0, 1.0)])
@pytest.mark.parametrize("k", [1, 2, 3, 20, 200])
def test_the_chance_is_that_of_the_beta_binomial_distribution(a: float, b: float, k: int) -> None:
    mean, pairs = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
    assert some_of(k, np.array(mean), np.array(pairs)) == pytest.approx(1 - betabinom.pmf(0, k, a, b))


def test_by_hand() -> None:
    """Three problems: m = (2/4 + 0 + 1/2)/3 = 1/3, pairs (2/12 + 0 + 0)/3 = 1/18, c = (1/18 - 1/9)/(2/9) = -1/4."""
    flips = [(2, 4), (0, 3), (1, 2)]
    assert value("flip_worst(k=1)", flips) == pytest.approx(1 / 3)
    assert value("flip_worst(k=2)", flips) == pytest.approx(2 / 3 - 1 / 18)
    none = (1 - 2 / 3 + 1 / 18) * (2 / 3) * np.exp(-1 / 4 * 1 / 2 * 2)
    assert value("flip_worst(k=3)", flips) == pytest.approx(1 - none)
    even = [(2, 2), (0, 2), (1, 2)]  # m = 1/2, pairs 1/3, c = 1/3: uniform rates, which never fail k times in 1/(k + 1)
    assert value("flip_worst(k=9)", even) == pytest.approx(9 / 10)
    assert value("accuracy_worst(k=9)", even) == pytest.approx(1 / 10)
    assert value("r_r_worst(k=9)", even) == pytest.approx(9 / 10)


@pytest.mark.parametrize("k", [1, 2, 20])
def test_one_variant_of_what_is_answered_right_says_nothing_about_the_worst(k: int) -> None:
    """The problem with two variants is answered wrong: of those that can be fooled, none has two."""
    rows = answers([(0, 1), (0, 1), (0, 2)])
    rows["pred"][4] = "no"
    rows["variant"] = [str(one) for one in rows["variant"]]
    with pytest.warns(UserWarning, match="r_r_worst of model: nothing to measure"):
        _, one = ow.score(pl.DataFrame(rows), ["flip_worst", f"r_r_worst(k={k})"])
    assert (one.value, one.low) == (None, None)


def test_only_problems_answered_right_can_be_fooled() -> None:
    rows = answers([(2, 2), (0, 2)])
    rows["pred"][3] = "no"  # the original of the second
    assert ow.measure("r_r_worst(k=5)", **rows).value == 1.0  # type: ignore[arg-type]


counts = st.integers(2, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(flips=st.lists(counts, min_size=1, max_size=8))
def test_more_wordings_never_make_fewer_problems_fail(flips: list[tuple[int, int]]) -> None:
    """Two of a problem's variants fail as often as is seen; one wording more never helps."""
    f, n = np.array(flips).T
    mean, pairs = np.mean(f / n), np.mean(f * (f - 1) / (n * (n - 1)))
    found = [float(some_of(k, mean, pairs)) for k in (1, 2, 3, 8, 40)]
    assert found[:2] == pytest.approx([np.mean(f / n), fooled_within(2, f, n).mean()])
    assert all(0 <= one <= 1 for one in found)
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(found))


@pytest.mark.parametrize("flips", [[(1, 2), (5, 6)], [(0, 3), (0, 2)], [(2, 2), (3, 3)], [(0, 2), (2, 2)]])
def test_right_and_wrong_add_up(flips: list[tuple[int, int]]) -> None:
    flipped, right = value("flip_worst(k=8)", flips), value("accuracy_worst(k=8)", flips)
    assert flipped + right == pytest.approx(1)  # type: ignore[operator]
    assert value("r_r_worst(k=2)", flips) == pytest.approx(value("r_r_at(k=2)", flips))


def test_beyond_the_variants_at_hand_it_is_near_what_more_variants_show() -> None:
    """Three thousand problems of four variants, and what eight and twenty would have shown."""
    random = np.random.default_rng(1)
    rate = random.beta(0.4, 4, 3000)
    seen = random.binomial(4, rate)
    for k in (8, 20):
        score = ow.measure(f"flip_worst(k={k})", **answers([(int(f), 4) for f in seen]))  # type: ignore[arg-type]
        truth = np.mean(1 - (1 - rate) ** k)
        assert abs(score.value - truth) < abs(np.mean(seen > 0) - truth) / 4  # type: ignore[operator]
        if k > 8:  # more than twice the variants at hand: the shape of the distribution decides
            assert (score.low, score.note) == (None, "20 wordings are more than 2 times the variants at hand")
        else:
            assert score.low < truth < score.high < score.low + 0.1  # type: ignore[operator]


def test_one_variant_each_says_nothing_of_the_worst() -> None:
    with refuses(BadInput, where="flip_worst"):
        value("flip_worst", [(1, 1), (0, 1)])


@pytest.mark.parametrize("name", ["flip_worst", "r_r_worst", "accuracy_worst"])
@pytest.mark.parametrize("k", [0, -1, 10_001])
def test_so_many_wordings_are_refused(name: str, k: int) -> None:
    with refuses(BadInput, field="k", fix="ask for 1 to 10,000 wordings"):
        metrics.make(f"{name}(k={k})")
