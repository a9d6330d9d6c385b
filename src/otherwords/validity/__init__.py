"""Checks: which variants may count. A check keeps or drops a variant and gives the reason.

`checking` defines the type `Check`; every other module is one check, except `funnel`, which counts what checks dropped.
"""

from .checking import Check, as_check
from .funnel import Drops, Funnel

__all__ = ["Check", "Drops", "Funnel", "as_check"]
