"""The circularity report: who judges whether a variant means the same as its original, and how that changes rates."""

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
