"""McNemar, Cochran's Q and TOST against statsmodels, and the laws that tie them together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats import contingency_tables, weightstats

from otherwords.errors import BadInput, UnknownName
from otherwords.significance.contingency import cochran_q, mcnemar, tost

SMALL = st.integers(0, 60)


def columns(n: int, n10: int, n01: int) -> tuple[np.ndarray, np.ndarray]:
    before = np.r_[np.ones(n10), np.zeros(n01), np.ones(n - n10 - n01)]
    after = np.r_[np.zeros(n10), np.ones(n01), np.ones(n - n10 - n01)]
    return before, after


@given(n10=SMALL, n01=SMALL)
def test_mcnemar_agrees_with_statsmodels(n10: int, n01: int) -> None:
    theirs = contingency_tables.mcnemar([[7, n10], [n01, 3]], exact=True)
    assert mcnemar(n10, n01).statistic == theirs.statistic
    assert mcnemar(n10, n01).p == pytest.approx(theirs.pvalue, rel=1e-10)
    if n10 + n01 == 0:
        return  # statsmodels divides by zero
    for method, corrected in (("chi2", False), ("corrected", True)):
        if corrected and n10 == n01:
            continue  # statsmodels takes 1 off a difference of 0; see below
        theirs = contingency_tables.mcnemar([[7, n10], [n01, 3]], exact=False, correction=corrected)
        ours = mcnemar(n10, n01, method)
        assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_mcnemar_without_a_difference_is_no_evidence() -> None:
    for method in ("exact", "chi2", "corrected"):
        assert mcnemar(0, 0, method).p == 1.0
        assert mcnemar(4, 4, method).p == 1.0  # R's mcnemar.test does not correct here either
    assert mcnemar(4, 4, "corrected").statistic == 0.0


def test_mcnemar_refuses() -> None:
    with pytest.raises(BadInput, match="n01"):
        mcnemar(3, -1)
    with pytest.raises(UnknownName, match="exact, chi2, corrected"):
        mcnemar(3, 1, "midp")


@given(table=hnp.arrays(np.bool_, st.tuples(st.integers(1, 40), st.integers(2, 6))))
def test_cochran_q_agrees_with_statsmodels(table: np.ndarray) -> None:
    ours = cochran_q(table)
    by_item = table.sum(axis=1)
    if ((by_item == 0) | (by_item == table.shape[1])).all():
        assert (ours.statistic, ours.p) == (0.0, 1.0)  # statsmodels divides by zero
        return
    theirs = contingency_tables.cochrans_q(table.astype(int))
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10, abs=1e-12)
    order = np.random.default_rng(0).permutation(table.shape[0])
    assert cochran_q(table[order][:, ::-1]) == ours


@given(n10=SMALL, n01=SMALL)
def test_cochran_q_of_two_columns_is_mcnemar(n10: int, n01: int) -> None:
    if n10 + n01:
        ours, theirs = cochran_q(np.stack(columns(130, n10, n01), axis=1)), mcnemar(n10, n01, "chi2")
        assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.p))


@pytest.mark.parametrize("table", [[], [[]], [1, 0, 1], [[1], [0]], [[1, 2], [0, 1]], [[0.5, 1]]])
def test_cochran_q_refuses(table: list[list[int]]) -> None:
    with pytest.raises(BadInput, match="Cochran"):
        cochran_q(table)


@given(n10=SMALL, n01=SMALL, more=st.integers(0, 400), margin=st.floats(0.005, 0.5))
def test_tost_agrees_with_statsmodels(n10: int, n01: int, more: int, margin: float) -> None:
    n = n10 + n01 + more
    if n < 2 or n10 + n01 == 0 or abs(n10 - n01) == n:
        return  # no variance: statsmodels divides by zero
    theirs = weightstats.ttost_paired(*columns(n, n10, n01), -margin, margin)[0]
    ours = tost(n, n10, n01, margin)
    assert ours.p == pytest.approx(theirs, rel=1e-7, abs=1e-14)
    assert ours.difference == pytest.approx((n10 - n01) / n)
    assert tost(n, n01, n10, margin).p == pytest.approx(ours.p, rel=1e-9)


@given(n10=SMALL, n01=SMALL, margins=st.tuples(st.floats(0.001, 0.9), st.floats(0.001, 0.9)))
def test_a_wider_margin_is_easier_to_keep(n10: int, n01: int, margins: tuple[float, float]) -> None:
    narrow, wide = sorted(margins)
    assert tost(200, n10, n01, wide).p <= tost(200, n10, n01, narrow).p


def test_tost_without_a_single_change_is_not_certain() -> None:
    # If one item in twenty changes, forty unchanged ones have probability 0.95^40: the binomial test of scipy.
    assert tost(40, 0, 0, 0.05).p == pytest.approx(stats.binom.pmf(0, 40, 0.05))
    assert tost(2, 0, 0, 0.05).p > 0.9


def test_tost_of_a_total_drop_is_no_equivalence() -> None:
    assert tost(30, 30, 0, 0.9).p == 1.0
    assert tost(30, 0, 30, 0.9).p == 1.0


@pytest.mark.parametrize(
    ("counts", "margin", "field"),
    [((1, 0, 0), 0.1, "n"), ((10, 6, 5), 0.1, "n"), ((10, -1, 0), 0.1, "n10"), ((10, 1, 1), 0, "margin")],
)
def test_tost_refuses(counts: tuple[int, int, int], margin: float, field: str) -> None:
    with pytest.raises(BadInput, match=f"^{field}: "):
        tost(*counts, margin=margin)
