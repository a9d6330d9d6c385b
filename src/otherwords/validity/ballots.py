"""Verdicts of people, read from a table: yes or no, or a rating against a mark."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ..datasets.records import Record
from ..datasets.source import plain_records
from ..errors import BadInput, shorten

_YES = frozenset({"yes", "y", "true", "1", "valid", "keep", "sound", "good", "ok"})
_NO = frozenset({"no", "n", "false", "0", "invalid", "drop", "unsound", "bad"})
#: How tables write that there is nothing; what pandas and R write among them.
_BLANK = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})


class Ballots(NamedTuple):
    """The votes on every variant that was judged, and how many rows held none."""

    votes: dict[str, list[bool]]
    blank: int = 0


def read_ballots(path: Path, column: str, least: float | None = None, above: float | None = None) -> Ballots:
    """Read all verdicts; an annotator speaks once on a variant. With `least` or `above`, they are ratings."""
    votes: dict[str, list[bool]] = {}
    heard: set[tuple[str, str]] = set()
    blank = 0
    for record in plain_records(path):
        name, annotator = _text(record, "id"), _text(record, "annotator")
        if not name:
            raise BadInput("found nothing", where=record.where, field="id", fix="name the variant that was judged")
        vote = _vote(record, column, least, above)
        if vote is None:
            blank += 1
            continue
        if annotator and (name, annotator) in heard:
            found = f"{annotator!r} judged {name!r} twice"
            raise BadInput(found, where=record.where, field="annotator", fix="leave one of the two out")
        heard.add((name, annotator))
        votes.setdefault(name, []).append(vote)
    if not votes:
        raise BadInput("holds no verdicts", where=str(path), fix="give a row for every variant that was judged")
    return Ballots(votes, blank)


def _vote(record: Record, column: str, least: float | None, above: float | None) -> bool | None:
    if column not in record.row:
        there = ", ".join(map(str, record.row))
        raise BadInput("no such column", where=record.where, field=column, fix=f"there are {there}: say column=...")
    said = _text(record, column).lower()
    if said in _BLANK:
        return None
    if least is None and above is None:
        return _yes(record, column, said)
    rating = _number(record, column, said)
    return rating >= least if least is not None else rating > above  # type: ignore[operator]


def _yes(record: Record, column: str, said: str) -> bool:
    said = {"1.0": "1", "0.0": "0"}.get(said, said)  # as pandas writes whole numbers beside blanks
    if said not in _YES | _NO:
        fix = "say yes or no (true, 1, valid, keep, sound, ...); for a rating give least= or above="
        raise BadInput(f"found {shorten(record.row[column])}", where=record.where, field=column, fix=fix)
    return said in _YES


def _number(record: Record, column: str, said: str) -> float:
    try:
        rating = float(said)
    except ValueError:
        rating = float("nan")
    if not isfinite(rating):
        raise BadInput(f"found {shorten(record.row[column])}", where=record.where, field=column, fix="give a number")
    return rating


def _text(record: Record, name: str) -> str:
    value = record.row.get(name)
    return "" if value is None else str(value).strip()
