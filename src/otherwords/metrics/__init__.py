"""Metrics: statistics per bucket, and how their sums combine to a number.

Metrics are named in `otherwords.score` and `otherwords.measure`. Here is what a new one is made of, and what no metric
gives: curves and averages that the papers print, lists of problems, and the exact Kolmogorov-Smirnov statistic.
"""

from .accuracy import accuracy
from .across import audit, list_hard_cases, list_never_right
from .consistency import p_c_at
from .fooling import fooled_within, list_too_few_variants
from .ks import ks_exact
from .metric import Metric, Outside, divide, ratio
from .pattern import pa_curve_subsampled, pa_subsampled

__all__ = [
    "Metric",
    "Outside",
    "accuracy",
    "audit",
    "divide",
    "fooled_within",
    "ks_exact",
    "list_hard_cases",
    "list_never_right",
    "list_too_few_variants",
    "p_c_at",
    "pa_curve_subsampled",
    "pa_subsampled",
    "ratio",
]
