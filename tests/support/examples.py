"""How many examples hypothesis tries where a property is dear: fewer than the profile's number, never more."""

from __future__ import annotations

from hypothesis import settings


def at_most(number: int) -> int:
    """So many examples with all tests; with the fast ones no more than their profile says (see /conftest.py)."""
    return min(number, settings.default.max_examples)
