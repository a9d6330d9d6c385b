"""Significance: intervals in closed form and from a bootstrap of clusters, permutation tests, tests of proportions."""

from .across_models import Crossed, T, crossed_test, t_test
from .anytime import anytime_ends
from .bootstrap import Sample, bootstrap
from .ie_test import (
    Decision,
    IETest,
    Matched,
    UnsoundDrop,
    decide,
    ie_test,
    matched,
    matched_answers,
    reachable,
    smallest_p,
    symmetry_test,
    unsound_drop,
)
from .intervals import Units, bca, difference_interval, percentile, share_interval
from .multiple import adjust, reject
from .permutation import exchange_test, swap_test
from .proportions import (
    Equivalence,
    OddsRatio,
    Result,
    clopper_pearson,
    cochran_q,
    effective_size,
    mcnemar,
    odds_ratio,
    shrink,
    tost,
    wald,
    wilson,
)

__all__ = [
    "Crossed",
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
    "anytime_ends",
    "bca",
    "bootstrap",
    "clopper_pearson",
    "cochran_q",
    "crossed_test",
    "decide",
    "difference_interval",
    "effective_size",
    "exchange_test",
    "ie_test",
    "matched",
    "matched_answers",
    "mcnemar",
    "odds_ratio",
    "percentile",
    "reachable",
    "reject",
    "share_interval",
    "shrink",
    "smallest_p",
    "swap_test",
    "symmetry_test",
    "t_test",
    "tost",
    "unsound_drop",
    "wald",
    "wilson",
]
