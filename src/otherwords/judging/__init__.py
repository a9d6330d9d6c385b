"""The circularity report: how fooling rates depend on the judge that accepts variants."""

from .circularity import JUDGES, METRICS, circularity
from .findings import Acceptance, Circularity, Disagreement, Earlier, Judged
from .rates import kappa

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
