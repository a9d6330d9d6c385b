"""Rows of a recorded file that became no variant: they would otherwise be lost without a word."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..registry import Bound


def tell_unused(generators: Sequence[Bound], problems: int) -> None:
    """Warn, for each generator that reads rows, of those that it had no use for, when so many problems are varied.

    Such a generator's function has `left_out`, counts by reason, and `unmatched(problems)`, which is None where that
    cannot be told.
    """
    for one in generators:
        for reason, count in sorted(getattr(one.function, "left_out", {}).items()):
            if count:
                warnings.warn(f"{one.signature}: {count:,} of its rows are no variants: {reason}", stacklevel=3)
        left = one.function.unmatched(problems) if hasattr(one.function, "unmatched") else None
        if left:
            warnings.warn(f"{one.signature}: {left:,} of its rows reword none of these problems", stacklevel=3)
