"""Intervals of a share against statsmodels, the papers' printed bounds, and the definition of Wilson's."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from statsmodels.stats.proportion import proportion_confint

from otherwords.errors import BadInput
from otherwords.significance.proportions import wald, wilson

COUNTS = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts=COUNTS, confidence=st.floats(0.5, 0.999))
def test_agree_with_statsmodels(counts: tuple[int, int], confidence: float) -> None:
    for ours, name in ((wald, "normal"), (wilson, "wilson")):
        theirs = proportion_confint(*counts, alpha=1 - confidence, method=name)
        assert ours(*counts, confidence) == pytest.approx(theirs, abs=1e-12)


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
def test_refused(k: int, n: int, confidence: float, field: str) -> None:
    for interval in (wald, wilson):
        with refuses(BadInput):
            interval(k, n, confidence)


def test_scipy_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, otherwords.significance.proportions as s; a = 'scipy' in sys.modules; s.wilson(1, 2); print(a)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
