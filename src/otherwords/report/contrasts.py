"""Invariance beside sensitivity: answers that stayed where they must, and that changed where they must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from ..metrics.contrast import NAMES
from ..metrics.parting import CONTRAST, is_contrast
from ..problem import Score

#: What stands over the column of all suites together.
ALL_SUITES = "all suites"


@dataclass(frozen=True)
class Balance:
    """Per model: 1 - flip rate, then the sensitivity to each suite; None where it was not scored.

    `suites` names the columns of sensitivity, all suites together first where there are several. `more` has the other
    scores of contrasts, for a table of their own.
    """

    suites: tuple[str, ...]
    rows: tuple[tuple[str, Score | None, tuple[Score | None, ...]], ...]
    more: tuple[Score, ...]


def rewordings(table: pl.DataFrame) -> pl.DataFrame:
    """A table of answers, or of buckets, without the contrasts and their originals."""
    return table.filter(~pl.Series(is_contrast(table)))


def balance(scores: Sequence[Score], answers: pl.DataFrame) -> Balance | None:
    """Set invariance beside sensitivity; None where no contrast was scored."""
    mine = [score for score in scores if score.metric in NAMES and _suite(score) is not None]
    if not mine:
        return None
    names = _suites(mine, answers)
    suites = {"": names[0]} if len(names) == 1 else {"": ALL_SUITES, **{name: name for name in names}}
    cells = {(one.model, one.metric, _suite(one)): one for one in mine}
    models = dict.fromkeys(score.model for score in mine)
    rows = [(m, _invariance(scores, m), tuple(cells.get((m, "sensitivity", s)) for s in suites)) for m in models]
    return Balance(tuple(suites.values()), tuple(rows), tuple(_named(one, suites) for one in mine))


def without(scores: Sequence[Score]) -> list[Score]:
    """The scores that the section does not show: they have tables of their own."""
    return [score for score in scores if score.metric not in NAMES or _suite(score) is None]


def _suites(mine: Sequence[Score], answers: pl.DataFrame) -> list[str]:
    told = {suite for suite in map(_suite, mine) if suite}
    if CONTRAST in answers.columns:
        told |= set(answers[CONTRAST].filter(pl.Series(is_contrast(answers))).cast(pl.String).to_list())
    return sorted(told)


def _suite(score: Score) -> str | None:
    """The suite that a score is about, empty for all of them, None where it is about a group of another column."""
    if score.group is None:
        return ""
    column, _, value = score.group.partition("=")
    return value if column == CONTRAST else None


def _named(score: Score, suites: dict[str, str]) -> Score:
    suite = _suite(score) or ""
    return replace(score, group=f"suite={suites.get(suite, suite)}")


def _invariance(scores: Sequence[Score], model: str) -> Score | None:
    """One minus the flip rate, with the ends of its interval the other way round."""
    for one in scores:
        if one.metric == "flip_rate" and one.model == model and one.group is None and one.value is not None:
            low, high = (None if end is None else 1 - end for end in (one.high, one.low))
            return replace(one, metric="invariance", value=1 - one.value, low=low, high=high)
    return None
