"""Names of checks decide their columns: no two of a call may share one, and verdicts from before are replaced aloud."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable

import polars as pl

from ..errors import BadInput
from ..registry import Bound


def refuse_namesakes(judges: Iterable[Bound]) -> None:
    """Complain of two checks that would write one column.

    >>> from otherwords.registry import checks
    >>> refuse_namesakes([checks.make("overlap"), checks.make("strict=overlap(most=0.5)")])
    """
    twice = [name for name, count in Counter(one.name for one in judges).items() if count > 1]
    if twice:
        fix = f"name them apart, as in one={twice[0]}, two={twice[0]}(...): a name becomes the column check:<name>"
        raise BadInput(f"{twice[0]} is named twice", fix=fix)


def tell_replaced(judges: Iterable[Bound], suites: Iterable[pl.DataFrame | pl.LazyFrame]) -> None:
    """Warn, once for each check, of verdicts that a suite brought along under its name. A suite may come in parts."""
    judges, parts = list(judges), [suite.lazy() for suite in suites]
    for column in [f"check:{one.name}" for one in judges]:
        if any(_judged(part, column) for part in parts):
            fix = "name the check apart to keep both, as in NAME=CHECK"
            warnings.warn(f"{column}: verdicts from before are replaced; {fix}", stacklevel=3)


def _judged(part: pl.LazyFrame, column: str) -> bool:
    if column not in part.collect_schema():
        return False
    return bool(part.select(pl.col(column).is_not_null().any()).collect().item())
