"""Scores from answers: choice of metrics, values with intervals, comparisons, and gates."""

from .builds import check_baseline, junit_xml, markdown
from .compare import compare, compare_groups
from .count_tests import CountTest, count_tests
from .difference import Difference
from .gates import check, enforce
from .measure import measure
from .results import Results
from .select import IntervalSettings, choose

__all__ = [
    "CountTest",
    "Difference",
    "IntervalSettings",
    "Results",
    "check",
    "check_baseline",
    "choose",
    "compare",
    "compare_groups",
    "count_tests",
    "enforce",
    "junit_xml",
    "markdown",
    "measure",
]
