"""The circularity report: how fooling rates depend on the judge that accepts variants."""

from .circularity import JUDGES, METRICS, Circularity, circularity
from .rates import Acceptance, Disagreement, Judged, kappa
from .verdicts import Earlier

__all__ = [
    "JUDGES",
    "METRICS",
    "Acceptance",
    "Circularity",
    "Disagreement",
    "Earlier",
    "Judged",
    "circularity",
    "kappa",
]
