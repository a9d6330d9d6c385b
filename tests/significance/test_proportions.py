"""McNemar and Cochran's Q against statsmodels, TOST against a numerical search, and the laws that tie them together."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refuses
from scipy import optimize, special, stats
from statsmodels.stats import contingency_tables
from statsmodels.stats.proportion import proportion_confint

from otherwords.errors import BadInput, UnknownName
from otherwords.significance.proportions import clopper_pearson, cochran_q, mcnemar, odds_ratio, tost, wald, wilson

SMALL = st.integers(0, 60)


def columns(n: int, n10: int, n01: int) -> tuple[np.ndarray, np.ndarray]:
    before = np.r_[np.ones(n10), np.zeros(n01), np.ones(n - n10 - n01)]
    after = np.r_[np.zeros(n10), np.ones(n01), np.ones(n - n10 - n01)]
    return before, after


@given(n10=SMALL, n01=SMALL)
def test_mcnemar_agrees_with_statsmodels(n10: int, n01: int) -> None:
    expected = contingency_tables.mcnemar([[7, n10], [n01, 3]], exact=True)
    assert mcnemar(n10, n01).statistic == expected.statistic
    assert mcnemar(n10, n01).p == pytest.approx(expected.pvalue, rel=1e-10)
    if n10 + n01 == 0:
        return  # statsmodels divides by zero
    for method, corrected in (("chi2", False), ("corrected", True)):
        if corrected and n10 == n01:
            continue  # statsmodels takes 1 off a difference of 0; see below
        expected = contingency_tables.mcnemar([[7, n10], [n01, 3]], exact=False, correction=corrected)
        result = mcnemar(n10, n01, method)
        assert (result.statistic, result.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)


def test_mcnemar_without_a_difference_is_no_evidence() -> None:
    for method in ("exact", "mid-p", "chi2", "corrected"):
        assert mcnemar(0, 0, method).p == 1.0
        assert mcnemar(4, 4, method).p == 1.0  # R's mcnemar.test does not correct here either
    assert mcnemar(4, 4, "corrected").statistic == 0.0


@given(n10=SMALL, n01=SMALL)
def test_mid_p_takes_half_of_what_was_seen_off_either_tail(n10: int, n01: int) -> None:
    fewer, total = min(n10, n01), n10 + n01
    expected = stats.binomtest(fewer, total).pvalue - stats.binom.pmf(fewer, total, 0.5) if total else 1.0
    assert mcnemar(n10, n01, "mid-p").p == pytest.approx(1.0 if n10 == n01 else expected, rel=1e-9)


def test_mid_p_of_a_published_example() -> None:
    """Airway hyper-responsiveness before and after transplantation: Fagerland, Lydersen and Laake (2013), Table 1."""
    assert round(mcnemar(1, 7).p, 3) == 0.070
    assert round(mcnemar(1, 7, "mid-p").p, 3) == 0.039


@given(n10=SMALL, n01=SMALL)
def test_the_exact_interval_of_an_odds_ratio_is_scipys_of_the_share(n10: int, n01: int) -> None:
    found = odds_ratio(n10, n01, 0.9)
    if n10 + n01 == 0:
        assert math.isnan(found.value)
        assert (found.low, found.high) == (0.0, math.inf)
        return
    share = stats.binomtest(n10, n10 + n01).proportion_ci(0.9, method="exact")
    assert clopper_pearson(n10, n10 + n01, 0.9) == pytest.approx((share.low, share.high), rel=1e-9, abs=1e-12)
    assert found.value == (n10 / n01 if n01 else math.inf)
    assert found.low == pytest.approx(share.low / (1 - share.low), rel=1e-8)
    assert found.high == (math.inf if n01 == 0 else pytest.approx(share.high / (1 - share.high), rel=1e-8))


def test_the_interval_of_an_odds_ratio_is_where_either_tail_is_used_up() -> None:
    """Counts as extreme as these have half of what is left at either end, by scipy's binomial distribution."""
    found = odds_ratio(10, 2)
    assert stats.binom.sf(9, 12, found.low / (1 + found.low)) == pytest.approx(0.025)
    assert stats.binom.cdf(10, 12, found.high / (1 + found.high)) == pytest.approx(0.025)


def test_mcnemar_refuses() -> None:
    with refuses(BadInput):
        mcnemar(3, -1)
    with refuses(UnknownName):
        mcnemar(3, 1, "midp")


@given(table=hnp.arrays(np.bool_, st.tuples(st.integers(1, 40), st.integers(2, 6))))
def test_cochran_q_agrees_with_statsmodels(table: np.ndarray) -> None:
    result = cochran_q(table)
    by_item = table.sum(axis=1)
    if ((by_item == 0) | (by_item == table.shape[1])).all():
        assert (result.statistic, result.p) == (0.0, 1.0)  # statsmodels divides by zero
        return
    expected = contingency_tables.cochrans_q(table.astype(int))
    assert (result.statistic, result.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10, abs=1e-12)
    order = np.random.default_rng(0).permutation(table.shape[0])
    assert cochran_q(table[order][:, ::-1]) == result


@given(n10=SMALL, n01=SMALL)
def test_cochran_q_of_two_columns_is_mcnemar(n10: int, n01: int) -> None:
    if n10 + n01:
        result, expected = cochran_q(np.stack(columns(130, n10, n01), axis=1)), mcnemar(n10, n01, "chi2")
        assert (result.statistic, result.p) == pytest.approx((expected.statistic, expected.p))


@pytest.mark.parametrize("table", [[], [[]], [1, 0, 1], [[1], [0]], [[1, 2], [0, 1]], [[0.5, 1]]])
def test_cochran_q_refuses(table: list[list[int]]) -> None:
    with refuses(BadInput):
        cochran_q(table)


def likelihood(q: float, n: int, n10: int, n01: int, drop: float) -> float:
    """Minus the log-likelihood where q is the share of wrong-to-right changes, and q + drop of right-to-wrong ones."""
    rest = n - n10 - n01
    return -float(special.xlogy([n10, n01, rest], [q + drop, q, max(1 - 2 * q - drop, 0)]).sum())


def score_by_search(n: int, n10: int, n01: int, drop: float) -> float:
    """z of the hypothesis "accuracy drops by this much", with the variance of the likeliest such distribution."""
    low, high = max(0.0, -drop), (1 - drop) / 2
    found = optimize.minimize_scalar(
        likelihood, bounds=(low, high), args=(n, n10, n01, drop), method="bounded", options={"xatol": 1e-13}
    )
    q = min((found.x, low, high), key=lambda one: likelihood(one, n, n10, n01, drop))
    return (n10 - n01 - n * drop) / math.sqrt(n * (2 * q + drop - drop**2))


@given(n10=SMALL, n01=SMALL, more=st.integers(0, 400), margin=st.floats(0.005, 0.5))
def test_tost_is_the_score_test_of_a_constrained_likelihood(n10: int, n01: int, more: int, margin: float) -> None:
    """The variance comes from a numerical search here, at +margin and -margin apart; in the code from a formula."""
    n = n10 + n01 + more + 1
    upper, lower = (score_by_search(n, n10, n01, sign * margin) for sign in (1, -1))
    expected = max(stats.norm.cdf(upper), stats.norm.sf(lower), stats.binom.pmf(0, n, margin))
    result = tost(n, n10, n01, margin)
    assert result.p == pytest.approx(expected, rel=1e-4, abs=1e-12)
    assert result.difference == pytest.approx((n10 - n01) / n)


@pytest.mark.parametrize(
    ("n", "n10", "n01", "bound"),
    [
        (161, 16, 6, 0.1240),  # Cavo et al. 2012; -0.1240 to -0.0054 by R's contingencytables
        (21, 7, 1, 0.5172),  # Bentur et al. 2009; -0.517 to -0.026 in Fagerland, Lydersen and Laake (2017), chapter 8
    ],
)
def test_tost_at_a_published_bound_of_tangos_interval(n: int, n10: int, n01: int, bound: float) -> None:
    assert tost(n, n10, n01, bound).p == pytest.approx(0.025, abs=1e-4)
    assert tost(n, n01, n10, bound).p == pytest.approx(0.025, abs=1e-4)


@given(n10=SMALL, n01=SMALL, more=st.integers(0, 400), margin=st.floats(0.001, 0.9))
def test_tost_takes_losses_and_gains_alike(n10: int, n01: int, more: int, margin: float) -> None:
    n = n10 + n01 + more + 1
    assert tost(n, n10, n01, margin).p == tost(n, n01, n10, margin).p


@given(n=st.integers(2, 300), common=st.integers(0, 20), margin=st.floats(0.001, 0.9))
def test_more_changes_in_one_direction_speak_less_for_equivalence(n: int, common: int, margin: float) -> None:
    common = min(common, n // 2)
    p = np.array([tost(n, common + more, common, margin).p for more in range(n - 2 * common + 1)])
    assert (np.diff(p) >= -1e-15).all()


def test_tost_is_less_sure_after_a_change_than_without() -> None:
    p = [tost(100, changes, 0, 0.05).p for changes in range(6)]
    assert p == sorted(set(p))
    assert p[5] == pytest.approx(0.5)  # the difference is the margin
    assert p[0] == pytest.approx(stats.norm.sf(math.sqrt(100 * 0.05 / 0.95)))  # by hand: no changes, variance D (1 - D)


@pytest.mark.parametrize(("n", "margin"), [(30, 0.1), (60, 0.05), (100, 0.05), (120, 0.02)])
@pytest.mark.parametrize("gained", [0.0, 0.005, 0.02, 0.1])
def test_tost_keeps_its_level(n: int, margin: float, gained: float) -> None:
    """Summed over all outcomes where the drop *is* the margin, and so not inside it."""
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    chance = stats.multinomial.pmf(counts, n, [gained + margin, gained, 1 - 2 * gained - margin])
    p = np.array([tost(n, int(i), int(j), margin).p for i, j, _ in counts])
    assert chance.sum() == pytest.approx(1)
    assert chance[p <= 0.05].sum() <= 0.05
    assert chance[p <= 0.1].sum() <= 0.125


def test_tost_level_and_power_by_simulation() -> None:
    random = np.random.default_rng(3)
    for share, low, high in ((0.04, 0.035, 0.065), (0.02, 0.95, 1.0)):  # 0.02 - 0.02 = 0 is inside, 0.04 - 0.02 is not
        drawn = random.multinomial(4000, [share, 0.02, 0.98 - share], 4000)
        rejected = np.mean([tost(4000, int(i), int(j), 0.02).p <= 0.05 for i, j, _ in drawn])
        assert low < rejected <= high


@given(n10=SMALL, n01=SMALL, margins=st.tuples(st.floats(0.001, 0.9), st.floats(0.001, 0.9)))
def test_a_wider_margin_is_easier_to_keep(n10: int, n01: int, margins: tuple[float, float]) -> None:
    narrow, wide = sorted(margins)
    assert tost(200, n10, n01, wide).p <= tost(200, n10, n01, narrow).p + 1e-12


def test_tost_without_a_single_change_is_not_certain() -> None:
    # If one item in twenty changes, forty unchanged ones have probability 0.95^40: the binomial test of scipy.
    assert tost(40, 0, 0, 0.05).p == pytest.approx(stats.binom.pmf(0, 40, 0.05))
    assert tost(2, 0, 0, 0.05).p > 0.9
    assert tost(1, 0, 0, 0.05).p == pytest.approx(0.95)


@given(n=st.integers(1, 200), margin=st.floats(0.01, 0.99))
def test_tost_of_a_total_drop_is_no_equivalence(n: int, margin: float) -> None:
    assert tost(n, n, 0, margin).p > 0.5
    assert tost(n, 0, n, margin).p > 0.5


@pytest.mark.parametrize(
    ("counts", "margin", "field"),
    [((0, 0, 0), 0.1, "n"), ((10, 6, 5), 0.1, "n"), ((10, -1, 0), 0.1, "n10"), ((10, 1, 1), 0, "margin")],
)
def test_tost_refuses(counts: tuple[int, int, int], margin: float, field: str) -> None:
    with refuses(BadInput):
        tost(*counts, margin=margin)


# Intervals of a share: against statsmodels, the papers' printed bounds, and the definition of Wilson's

COUNTS = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts=COUNTS, confidence=st.floats(0.5, 0.999))
def test_agree_with_statsmodels(counts: tuple[int, int], confidence: float) -> None:
    for result, name in ((wald, "normal"), (wilson, "wilson")):
        expected = proportion_confint(*counts, alpha=1 - confidence, method=name)
        assert result(*counts, confidence) == pytest.approx(expected, abs=1e-12)


@given(counts=COUNTS)
def test_wilsons_bounds_are_shares_that_the_score_test_just_does_not_reject(counts: tuple[int, int]) -> None:
    k, n = counts
    for bound in wilson(k, n):
        if 0 < bound < 1:
            z = abs(k / n - bound) / math.sqrt(bound * (1 - bound) / n)
            assert z == pytest.approx(1.959963984540054, rel=1e-6)


@given(counts=COUNTS)
def test_successes_and_failures_are_mirror_images(counts: tuple[int, int]) -> None:
    k, n = counts
    for interval in (wald, wilson):
        low, high = interval(n - k, n)
        assert interval(k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [(0.822, 78.5, 85.9), (0.842, 80.6, 87.8), (0.825, 78.8, 86.2), (0.805, 76.6, 84.4)],
)
def test_sound_percentages_as_printed(share: float, low: float, high: float) -> None:
    # Salvatore et al. (2023), Tables 1 and 16: Wald bounds of the *printed* share, n = 400.
    assert [round(100 * bound, 1) for bound in wald(share * 400, 400)] == [low, high]


def test_wald_has_no_width_at_the_ends_but_wilson_has() -> None:
    assert wald(0, 10) == (0.0, 0.0)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775327998628892), abs=1e-12)  # 3.8415 / (10 + 3.8415)
    assert wilson(10, 10)[1] == 1.0


@pytest.mark.parametrize(
    ("k", "n", "confidence", "field"),
    [(0, 0, 0.95, "n"), (5, 4, 0.95, "k"), (-1, 4, 0.95, "k"), (1, 4, 1.0, "confidence"), (1, 4, 95, "confidence")],
)
def test_shares_and_confidences_that_are_none(k: int, n: int, confidence: float, field: str) -> None:
    for interval in (wald, wilson):
        with refuses(BadInput, field=field):
            interval(k, n, confidence)


def test_scipy_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, otherwords.significance.proportions as s; a = 'scipy' in sys.modules; s.wilson(1, 2); print(a)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
