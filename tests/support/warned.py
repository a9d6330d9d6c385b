"""Warnings that were caught, without those of small tables: nearly all tables of tests are small."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


def lines(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """The texts of all warnings but those about few clusters and heavy buckets."""
    texts = [str(one.message) for one in caught]
    return [text for text in texts if "not reliable" not in text and "of the weight in" not in text]
