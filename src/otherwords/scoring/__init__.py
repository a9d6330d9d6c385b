"""From answers to scores: which metrics, their values and intervals, comparisons, and what a user requires of them."""

from .compare import Difference, compare, compare_groups
from .gates import enforce
from .measure import measure
from .select import IntervalSettings, choose

__all__ = ["Difference", "IntervalSettings", "choose", "compare", "compare_groups", "enforce", "measure"]
