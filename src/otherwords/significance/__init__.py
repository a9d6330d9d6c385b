"""Significance: intervals from a bootstrap of clusters, permutation tests, tests of proportions, and the IE test."""

from .bootstrap import Sample, bootstrap
from .ie_test import Decision, IETest, Matched, UnsoundDrop, decide, ie_test, matched, matched_answers, unsound_drop
from .intervals import Units, bca, difference_interval, percentile, share_interval
from .multiple import adjust, reject
from .permutation import exchange_test, swap_test
from .proportions import (
    Equivalence,
    OddsRatio,
    Result,
    clopper_pearson,
    cochran_q,
    mcnemar,
    odds_ratio,
    tost,
    wald,
    wilson,
)
from .t_test import T, t_test

__all__ = [
    "Decision",
    "Equivalence",
    "IETest",
    "Matched",
    "OddsRatio",
    "Result",
    "Sample",
    "T",
    "Units",
    "UnsoundDrop",
    "adjust",
    "bca",
    "bootstrap",
    "clopper_pearson",
    "cochran_q",
    "decide",
    "difference_interval",
    "exchange_test",
    "ie_test",
    "matched",
    "matched_answers",
    "mcnemar",
    "odds_ratio",
    "percentile",
    "reject",
    "share_interval",
    "swap_test",
    "t_test",
    "tost",
    "unsound_drop",
    "wald",
    "wilson",
]
