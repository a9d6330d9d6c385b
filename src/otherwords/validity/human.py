"""Verdicts of people on variants, read from a table: yes or no, or a rating; by majority, unanimity or mean."""

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from ..datasets.records import Record
from ..datasets.source import plain_records
from ..errors import BadInput, shorten
from ..problem import Bucket, Verdict
from ..registry import checks
from .checking import Check
from .people import BLANK, NO, YES, Sound, has_questions, read_verdicts, usual_rule, votes

#: A cell of verdicts in which nothing stands; "none" is no yes and no no.
_BLANK = BLANK | {"none"}
_RULES = ("majority", "unanimous", "mean")
_UNSEEN = Verdict(False, "judged by nobody")


@checks("human.v1", unsigned=("score",))
def human(
    path: Path,
    rule: str = "majority",
    column: str = "verdict",
    least: float | None = None,
    above: float | None = None,
    unjudged: str = "keep",
    score: str = "",
) -> Any:
    """Keep what people found sound, from a table with the variant's `id`, a verdict and perhaps the annotator.

    `rule` is majority (a tie is none) or unanimous; or mean, of ratings. `column` holds yes or no; or a rating, which
    is a yes from `least` on, or `above` a mark (PaRTE's similarity: rule=mean, above=75). Variants that nobody judged
    are kept without a verdict; with `unjudged` set to drop they are dropped. A cell that is blank, or NA, is no
    verdict; a warning counts such cells. The score is the share of yes, or the mean. `score` names
    columns that are added up, such as "fluency+reasoning" with least=9. The file may be a database of `annotate`, or a
    table with a row for each question: `score` then names questions, and without it those decide that the form asks; an
    adjudicator's answer overrides the others'.
    """
    _refuse_options(rule, least, above, unjudged, score)
    ballots = read_ballots(path, score or column, least, above)
    no_votes = Verdict(None) if unjudged == "keep" else _UNSEEN

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            for variant in bucket.variants:
                own = ballots.votes.get(variant.id)
                if own and rule == "mean":
                    yield _mean_verdict(ballots.ratings[variant.id], least, above)
                else:
                    yield count_votes(own, rule) if own else no_votes

    return Check(check, identity=score and f"score={score}", recorded_ids=ballots.votes, blank=ballots.blank)


def count_votes(votes: Sequence[bool], rule: str) -> Verdict:
    """The verdict of the annotators of one variant, by majority or unanimity.

    >>> count_votes([True, True, False], "majority").keep, count_votes([True, True, False], "unanimous").reason
    (True, '2 of 3 found it sound')
    """
    yes, total = sum(votes), len(votes)
    keep = yes == total if rule == "unanimous" else 2 * yes > total
    tie = ": a tie is no majority" if rule == "majority" and 2 * yes == total else ""
    return Verdict(keep, "" if keep else f"{yes} of {total} found it sound{tie}", yes / total)


def _mean_verdict(ratings: Sequence[float], least: float | None, above: float | None) -> Verdict:
    mean = fmean(ratings)
    keep = mean >= least if least is not None else mean > above  # type: ignore[operator]
    return Verdict(keep, "" if keep else f"rated {mean:g} by {len(ratings)}", mean)


class Ballots(NamedTuple):
    """The votes on every variant that was judged, how many rows held none, and the ratings, where cells are."""

    votes: dict[str, list[bool]]
    blank: int = 0
    ratings: dict[str, list[float]] = {}  # noqa: RUF012


def read_ballots(path: Path, column: str, least: float | None = None, above: float | None = None) -> Ballots:
    """Read all votes; an annotator has one vote on a variant. With `least` or `above`, cells are ratings.

    Several columns, joined by a plus, are added up.
    """
    if address := re.match(r"[a-z]{3,}(\+[a-z]+)?:/", str(path)):
        fix = "export them first: otherwords verdicts export ADDRESS -o verdicts.csv"
        raise BadInput("is the address of a server, not a file", where=f"{address[0]}…", fix=fix)
    if has_questions(path):
        return _ballots_of_questions(path, column, least, above)
    found: dict[str, list[bool]] = {}
    ratings: dict[str, list[float]] = {}
    voted: set[tuple[str, str]] = set()
    blank = 0
    for record in plain_records(path):
        name, annotator = _text(record, "id"), _text(record, "annotator")
        if not name:
            raise BadInput("found nothing", where=record.where, field="id", fix="give the id of the variant")
        vote = _vote(record, column, least, above)
        if vote is None:
            blank += 1
            continue
        if annotator and (name, annotator) in voted:
            message = f"{annotator!r} has two verdicts on {name!r}"
            raise BadInput(message, where=record.where, field="annotator", fix="remove one of the two")
        voted.add((name, annotator))
        found.setdefault(name, []).append(vote)
        if least is not None or above is not None:
            ratings.setdefault(name, []).append(sum(float(_text(record, one)) for one in _columns(record, column)))
    if not found:
        raise BadInput("contains no verdicts", where=str(path), fix="give one row per judged variant")
    return Ballots(found, blank, ratings)


def _ballots_of_questions(path: Path, column: str, least: float | None, above: float | None) -> Ballots:
    """The votes of a table with a row for each question, or of a database of verdicts."""
    verdicts = read_verdicts(path)
    rule = usual_rule(verdicts, str(path))
    if column != "verdict":
        rule = Sound(tuple(name.strip() for name in column.split("+")), least, above)
    elif least is not None or above is not None:
        rule = Sound(rule.questions, least, above)
    if rule.questions == ("label",):
        fix = "give yes or no, or use the verdicts in score --verdicts, which knows the right labels"
        raise BadInput("labels are not verdicts", where=str(path), field="label", fix=fix)
    rows = votes(verdicts, rule, str(path))
    overrides = pl.col("adjudicated") | ~pl.col("adjudicated").any().over("variant")
    found: dict[str, list[bool]] = {}
    ratings: dict[str, list[float]] = {}
    for name, sound, mark in rows.filter(overrides).select("variant", "sound", "mark").iter_rows():
        found.setdefault(name, []).append(sound)
        ratings.setdefault(name, []).append(mark)
    return Ballots(found, 0, ratings)


def _vote(record: Record, column: str, least: float | None, above: float | None) -> bool | None:
    names = _columns(record, column)
    for name in names:
        if name not in record.row:
            columns = ", ".join(map(str, record.row))
            raise BadInput(
                "no such column", where=record.where, field=name, fix=f"available: {columns}; set column=..."
            )
    cells = {name: _text(record, name).lower() for name in names}
    if _BLANK & set(cells.values()):
        return None
    if least is None and above is None:
        return _read_yes(record, names[0], cells[names[0]])
    rating = sum(_read_rating(record, name, cell) for name, cell in cells.items())
    return rating >= least if least is not None else rating > above  # type: ignore[operator]


def _columns(record: Record, column: str) -> list[str]:
    """The columns that are added up: a name with a plus may be that of one column, too."""
    return [column] if column in record.row else [name.strip() for name in column.split("+")]


def _read_yes(record: Record, column: str, cell: str) -> bool:
    cell = {"1.0": "1", "0.0": "0"}.get(cell, cell)  # as pandas writes whole numbers beside blanks
    if cell not in YES | NO:
        fix = "use yes or no (true, 1, valid, keep, sound, ...), or set least= or above= for ratings"
        raise BadInput(f"found {shorten(record.row[column])}", where=record.where, field=column, fix=fix)
    return cell in YES


def _read_rating(record: Record, column: str, cell: str) -> float:
    try:
        rating = float(cell)
    except ValueError:
        rating = float("nan")
    if not isfinite(rating):
        raise BadInput(f"found {shorten(record.row[column])}", where=record.where, field=column, fix="give a number")
    return rating


def _text(record: Record, name: str) -> str:
    value = record.row.get(name)
    return "" if value is None else str(value).strip()


def _refuse_options(rule: str, least: float | None, above: float | None, unjudged: str, score: str) -> None:
    if rule not in _RULES:
        raise BadInput(f"found {rule!r}", where="human", field="rule", fix=f"use {' or '.join(_RULES)}")
    if rule == "mean" and least is None and above is None:
        raise BadInput("a mean needs ratings", where="human", field="rule", fix="give above=75 or least=4, or majority")
    if unjudged not in ("keep", "drop"):
        raise BadInput(f"found {unjudged!r}", where="human", field="unjudged", fix="use keep or drop")
    if least is not None and above is not None:
        raise BadInput("only one threshold is allowed", where="human", fix="give least= or above=, not both")
    if score and least is None and above is None:
        raise BadInput("a score needs a mark", where="human", field="score", fix="give least= or above=, too")
    for name, mark in (("least", least), ("above", above)):
        if mark is not None and (isinstance(mark, bool) or not isinstance(mark, (int, float)) or not isfinite(mark)):
            raise BadInput(f"found {mark!r}", where="human", field=name, fix="give a number")
