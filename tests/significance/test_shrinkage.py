"""Shrunk shares: between a group's own and what all share, the small ones most, and ranked by them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from refusals import refuses
from scipy import integrate, stats

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.significance import effective_size, shrink, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 12), (12, 12), (1, 40), (30, 41), (200, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_effective_size_is_that_of_the_wilson_interval(k: int, n: int, confidence: float) -> None:
    assert effective_size(k / n, *wilson(k, n, confidence), confidence) == pytest.approx(n)


def test_small_groups_are_moved_most() -> None:
    shares, sizes = np.array([0.6, 0.6, 0.6, 0.1, 0.15, 0.2]), np.array([3, 30, 300, 200, 200, 200])
    value, low, high = shrink(shares, sizes)
    assert value[0] < value[1] < value[2] < 0.6
    assert ((low < value) & (value < high)).all()
    assert high[0] - low[0] > high[1] - low[1] > high[2] - low[2]
    common = (shares * sizes).sum() / sizes.sum()
    assert all(min(one, common) - 0.05 < new < max(one, common) + 0.05 for one, new in zip(shares, value, strict=True))


def test_the_order_of_groups_does_not_matter() -> None:
    random = np.random.default_rng(1)
    shares, sizes, order = random.random(30), random.integers(2, 50, 30), random.permutation(30)
    for one, other in zip(shrink(shares, sizes), shrink(shares[order], sizes[order]), strict=True):
        assert one[order] == pytest.approx(other, rel=1e-9)


def test_against_numerical_integration() -> None:
    """The mean over all beta distributions, weighted by likelihood and the two uniform priors, by another road."""
    k, n = np.array([3, 1, 5, 2]), np.array([10, 10, 10, 10])

    def weight(mean: float, moved: float) -> float:
        size = 10 * moved / (1 - moved)
        return float(np.prod(stats.betabinom.pmf(k, n, mean * size, (1 - mean) * size)))

    def mean_of(number: int) -> float:
        def inner(mean: float, moved: float) -> float:
            size = 10 * moved / (1 - moved)
            return weight(mean, moved) * (k[number] + mean * size) / (n[number] + size)

        return integrate.dblquad(inner, 0, 1, 1e-3, 1 - 1e-3, epsabs=1e-9, epsrel=1e-4)[0] / total  # type: ignore[no-any-return]

    total = integrate.dblquad(weight, 0, 1, 1e-3, 1 - 1e-3, epsabs=1e-9, epsrel=1e-4)[0]
    assert shrink(k / n, n)[0][[1, 2]] == pytest.approx([mean_of(1), mean_of(2)], abs=0.005)


def test_intervals_cover_the_groups_rates() -> None:
    """Thirty groups of 3 to 100 trials, 40 times; the shrunk values are nearer the rates than the shares."""
    random = np.random.default_rng(2)
    covered, moved, raw = [], [], []
    for _ in range(40):
        rates, sizes = random.beta(2, 18, 30), random.integers(3, 100, 30)
        shares = random.binomial(sizes, rates) / sizes
        value, low, high = shrink(shares, sizes)
        covered.append(np.mean((low <= rates) & (rates <= high)))
        moved.append(np.mean((value - rates) ** 2))
        raw.append(np.mean((shares - rates) ** 2))
    assert 0.92 < np.mean(covered) < 0.98
    assert np.mean(moved) < np.mean(raw) / 1.5


@pytest.mark.parametrize(
    ("shares", "sizes"), [([0.5], [3]), ([0.5, 0.1], [3]), ([1.5, 0.1], [3, 3]), ([0.5, 0.1], [0, 3])]
)
def test_what_is_no_list_of_shares_is_refused(shares: list[float], sizes: list[float]) -> None:
    with refuses(BadInput):
        shrink(shares, sizes)


def grouped() -> pl.DataFrame:
    """Three large groups that flip in a tenth of their variants, and a small one whose only two both flip."""
    rows = []
    for how, buckets in {"large": 60, "larger": 80, "largest": 100, "small": 2}.items():
        for bucket in range(buckets):
            flips = how == "small" or bucket % 10 == 0
            rows.append((f"{how}{bucket}", None, "yes", "yes", None))
            rows.append((f"{how}{bucket}", "v", "yes", "no" if flips else "yes", how))
    return pl.DataFrame(rows, schema=["bucket", "variant", "gold", "pred", "how"], orient="row")


@pytest.mark.filterwarnings("ignore:.*fewer than 20 clusters")
def test_a_ranked_list_shows_how_little_a_small_group_says() -> None:
    scores = ow.score(grouped(), ["flip_rate", "accuracy_variants"], by="how", shrink=True)
    plain = ow.score(grouped(), ["flip_rate", "accuracy_variants"], by="how")
    assert [(one.value, one.low) for one in sorted(scores, key=str)] == [
        (one.value, one.low) for one in sorted(plain, key=str)
    ]
    assert all(one.shrunk is None for one in [*plain, *scores.where(group=None)])
    groups = scores.where(metric="flip_rate")[1:]
    shrunk = [one.shrunk for one in groups]
    assert shrunk == sorted(shrunk, reverse=True)  # type: ignore[type-var]
    small = next(one for one in groups if one.group == "how=small")
    assert small.value == 1
    assert 0.1 < small.shrunk < 0.9  # type: ignore[operator]
    assert small.signature.endswith("shrunk=beta-binomial.v1(groups=4)")
    others = [one for one in groups if one is not small]
    assert all(abs(one.shrunk - 0.1) < 0.05 for one in others)  # type: ignore[operator]
    assert [one.group for one in scores.where(metric="accuracy_variants")] == [None, *(one.group for one in groups)]
    assert "shrunk" in repr(scores)
    assert "shrunk" not in repr(plain)


@pytest.mark.parametrize("wrong", [{}, {"by": "how", "interval": "percentile"}])
def test_what_cannot_be_shrunk_is_refused(wrong: dict[str, str]) -> None:
    with refuses(BadInput, field="shrink", fix="name a column with --by (by=...), and leave out --interval"):
        ow.score(grouped(), ["flip_rate"], shrink=True, **wrong)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*fewer than 20 clusters")
def test_one_group_has_no_others_to_be_shrunk_to() -> None:
    one = grouped().filter(pl.col("bucket").str.contains("^large[0-9]"))
    with pytest.warns(UserWarning, match="nothing to shrink"):
        assert all(score.shrunk is None for score in ow.score(one, ["flip_rate"], by="how", shrink=True))
    with pytest.warns(UserWarning, match="nothing to shrink"):
        ow.score(grouped(), ["accuracy_drop"], by="how", shrink=True)
