"""Student's and Welch's t against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from otherwords.errors import BadInput
from otherwords.significance.means import t_test


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("paired", [True, False])
def test_agrees_with_scipy(seed: int, paired: bool) -> None:
    random = np.random.default_rng(seed)
    one, other = random.random(6), random.random(6 if paired else 9)
    theirs = stats.ttest_rel(one, other) if paired else stats.ttest_ind(one, other, equal_var=False)
    mine = t_test(one, other, paired=paired)
    assert tuple(mine) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue), rel=1e-10)


def test_scores_that_do_not_vary() -> None:
    assert tuple(t_test([0.5, 0.5], [0.5, 0.5])) == (0.0, 1.0, 1.0)
    assert t_test([0.75, 0.75], [0.5, 0.5]).p == 0.0


@pytest.mark.parametrize(("one", "other"), [([0.5], [0.4]), ([], []), ([0.1, 0.2], [0.1, 0.2, 0.3])])
def test_too_few_or_unpaired_scores_are_refused(one: list[float], other: list[float]) -> None:
    with pytest.raises(BadInput, match="scores"):
        t_test(one, other)
