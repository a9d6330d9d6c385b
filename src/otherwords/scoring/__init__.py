"""Scores from answers: choice of metrics, values with intervals, comparisons, and gates."""

from .compare import Difference, compare, compare_groups
from .gates import enforce
from .measure import measure
from .select import IntervalSettings, choose

__all__ = ["Difference", "IntervalSettings", "choose", "compare", "compare_groups", "enforce", "measure"]
