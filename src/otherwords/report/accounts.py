"""Sections of the page besides scores and flips: what generators gave up, what models accepted, contrasts, controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from ..answers.roles import CONTRAST, CONTROL, is_contrast, is_control, split_roles
from ..answers.table import COUNT, Location
from ..metrics import contrast as controls
from ..metrics.contrast import NAMES
from ..problem import UNREADABLE, Score
from ..storage.specs import short_names

#: Entries of the manifest that have a section of their own, and are not repeated in the footer.
SECTIONS = ("unvaried", "left_out", "self_judged", "gates")
#: The heading of the column of all suites together.
ALL_SUITES = "all suites"
#: What a control's flips should be.
EXPECTED = {"identity": "must be 0", "tautology": "should be 0", "scramble": "should be high"}


class GivenUp(NamedTuple):
    """A generator: problems that it did not vary, and candidates that it left out, the commonest reason first."""

    generator: str
    problems: int
    reasons: list[tuple[str, int]]


class Accepted(NamedTuple):
    """A check by which a model judged rewordings itself: how many, and how many it accepted."""

    model: str
    check: str
    judged: int
    accepted: int


class Unread(NamedTuple):
    """Answers of a model that could not be read, of so many."""

    model: str
    unread: int
    answers: int


def unread(given: pl.DataFrame) -> list[Unread]:
    """The models with answers that could not be read, from how often each gives each `pred`."""
    counts = given.group_by("model").agg(
        pl.col(COUNT).filter(pl.col("pred") == UNREADABLE).sum().alias("unread"), pl.col(COUNT).sum().alias("answers")
    )
    return [Unread(*row) for row in counts.filter(pl.col("unread") > 0).sort("model").rows()]


def given_up(manifest: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[GivenUp]:
    """What every generator gave up; generators that gave up nothing are left out. `names` are short ones.

    >>> given_up({"unvaried": {"a.v1(n=1)": 2, "b.v1()": 0}, "left_out": {"a.v1(n=1)": {"empty": 3, "endless": 4}}})
    [GivenUp(generator='a', problems=2, reasons=[('endless', 4), ('empty', 3)])]
    """
    unvaried, left_out = (_mapping(manifest.get(name)) for name in ("unvaried", "left_out"))
    signatures = list(dict.fromkeys([*unvaried, *left_out]))
    heads = {**short_names(signatures), **(names or {})}
    rows = [GivenUp(heads[one], int(unvaried.get(one, 0)), _sorted(_mapping(left_out.get(one)))) for one in signatures]
    return [row for row in rows if row.problems or row.reasons]


def accepted(manifest: Mapping[str, Any]) -> list[Accepted]:
    """What each model accepted of the rewordings that it had to judge itself.

    >>> accepted({"self_judged": {"m": {"mutual-entailment": {"judged": 9, "accepted": 4}}}})
    [Accepted(model='m', check='mutual-entailment', judged=9, accepted=4)]
    """
    return [
        Accepted(model, check, counts["judged"], counts["accepted"])
        for model, checks in _mapping(manifest.get("self_judged")).items()
        for check, counts in _mapping(checks).items()
    ]


def _sorted(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# Contrasts and controls


@dataclass(frozen=True)
class Balance:
    """Per model: 1 - flip rate, the sensitivity to each suite, the flips of each control; None where not scored.

    `suites` names the columns of sensitivity, all suites together first where there are several; `controls` those of
    flips, each with what is expected of it. `more` has the other scores of contrasts, for a table of their own.
    """

    suites: tuple[str, ...]
    controls: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, Score | None, tuple[Score | None, ...]], ...]
    more: tuple[Score, ...]


def rewordings(answers: pl.DataFrame) -> pl.DataFrame:
    """A table of answers without contrasts and controls."""
    if not any(name in answers.columns and answers[name].null_count() < answers.height for name in (CONTRAST, CONTROL)):
        return answers
    return next((part for name, part, _ in split_roles(answers, Location()) if name == "rewordings"), answers.clear())


def problems(buckets: pl.DataFrame) -> pl.DataFrame:
    """A table of buckets without the contrasts and their originals."""
    return buckets.filter(~pl.Series(is_contrast(buckets)))


def balance(scores: Sequence[Score], answers: pl.DataFrame) -> Balance | None:
    """Invariance, sensitivity and controls by model; None where no contrast and no control was scored."""
    marked = [one for one in scores if _mark(one)]
    if not marked:
        return None
    more = [one for one in marked if one.metric in NAMES]
    suites = _suites(more, answers)
    flips = _controls([one for one in marked if one.metric == controls.NAME], answers)
    columns = [*(("sensitivity", name) for name in suites), *((controls.NAME, group) for group in flips)]
    cells = {(one.model, one.metric, _group(one)): one for one in marked}
    models = dict.fromkeys(one.model for one in marked)
    rows = [(m, _invariance(scores, m), tuple(cells.get((m, *column)) for column in columns)) for m in models]
    expected = tuple((name, EXPECTED.get(name, "")) for name in flips.values())
    return Balance(tuple(suites.values()), expected, tuple(rows), tuple(_with_heading(one, suites) for one in more))


def without_contrasts(scores: Sequence[Score]) -> list[Score]:
    """The scores that are not about contrasts or controls."""
    return [score for score in scores if not _mark(score)]


def _mark(score: Score) -> str:
    """The column whose groups the section shows, for a score of contrasts or controls; empty for all others."""
    mark = CONTRAST if score.metric in NAMES else CONTROL if score.metric == controls.NAME else ""
    return mark if score.group is None or score.group.partition("=")[0] == mark else ""


def _group(score: Score) -> str:
    """The suite or control that a score is about, empty for all of them together."""
    return (score.group or "").partition("=")[2]


def _suites(marked: Sequence[Score], answers: pl.DataFrame) -> dict[str, str]:
    """The heading of each suite's column; the empty name is all together, or the only one there is."""
    names = sorted({_group(one) for one in marked} - {""} | _names(answers, CONTRAST))
    if not marked:
        return {}
    return {"": names[0]} if len(names) == 1 else {"": ALL_SUITES, **{name: name for name in names}}


def _controls(marked: Sequence[Score], answers: pl.DataFrame) -> dict[str, str]:
    """The heading of each control's column; there is none for all, as one must not flip and another must."""
    names = sorted({_group(one) for one in marked} - {""} | _names(answers, CONTROL))
    if not marked:
        return {}
    return {"": names[0]} if len(names) == 1 else {name: name for name in names}


def _names(answers: pl.DataFrame, column: str) -> set[str]:
    rows = is_contrast(answers) if column == CONTRAST else is_control(answers)
    return set(answers[column].filter(pl.Series(rows)).cast(pl.String).to_list()) if rows.any() else set()


def _with_heading(score: Score, suites: dict[str, str]) -> Score:
    suite = _group(score)
    return replace(score, group=f"suite={suites.get(suite, suite)}")


def _invariance(scores: Sequence[Score], model: str) -> Score | None:
    """One minus the flip rate, with the ends of its interval the other way round."""
    for one in scores:
        if one.metric == "flip_rate" and one.model == model and one.group is None and one.value is not None:
            low, high = (None if end is None else 1 - end for end in (one.high, one.low))
            return replace(one, metric="invariance", value=1 - one.value, low=low, high=high)
    return None
