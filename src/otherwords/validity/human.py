"""What people said: verdicts on variants from a table, by majority or unanimity."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ..datasets.records import Record
from ..datasets.source import plain_records
from ..errors import BadInput, shorten
from ..problem import Bucket, Verdict
from ..registry import Bound, checks

# MERGED from validity.ballots: Verdicts of people, read from a table: yes or no, or a rating against a mark.

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


# MERGED from validity.human: What people said: verdicts on variants from a table, by majority or unanimity.

_RULES = ("majority", "unanimous")


@checks("human.v1")
def human(
    path: Path,
    rule: str = "majority",
    column: str = "verdict",
    least: float | None = None,
    above: float | None = None,
    unjudged: str = "keep",
) -> Any:
    """Keep what people found sound, from a table with the variant's `id`, a verdict and perhaps the annotator.

    `rule` is majority (a tie is none) or unanimous. `column` holds yes or no; or a rating, which is a yes from `least`
    on, or `above` a mark (PaRTE's similarity: above=75). Variants that nobody judged are kept, and nothing is said of
    them; with `unjudged` set to drop they are dropped. A cell that is blank, or NA, is no verdict; such are counted and
    told. The score is the share of yes.
    """
    _refuse_options(rule, least, above, unjudged)
    return _Judges(read_ballots(path, column, least, above), rule, Verdict(None) if unjudged == "keep" else _UNSEEN)


_UNSEEN = Verdict(False, "judged by nobody")


class _Judges:
    """The check: the votes on every variant that was judged."""

    def __init__(self, ballots: Ballots, rule: str, silent: Verdict):
        self.ballots, self.rule, self.silent = ballots, rule, silent

    def __call__(self, buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            for variant in bucket.variants:
                votes = self.ballots.votes.get(variant.id)
                yield self._verdict(votes) if votes else self.silent

    def _verdict(self, votes: list[bool]) -> Verdict:
        yes, total = sum(votes), len(votes)
        reason = f"{yes} of {total} found it sound"
        if self.rule == "unanimous":
            return Verdict(yes == total, "" if yes == total else reason, yes / total)
        if 2 * yes == total:
            return Verdict(False, f"{reason}: a tie is no majority", yes / total)
        return Verdict(2 * yes > total, "" if 2 * yes > total else reason, yes / total)


def warn_unknown_ids(judges: Iterable[Bound], variants: Iterable[str | Path]) -> None:
    """Warn of verdicts on variants that are not there, and of verdicts that are blank.

    `variants` are all ids, or the parts of a run that hold them. A check sees a shard at a time, so this is called
    once, when all are judged.
    """
    people = [(one.title, one.function.ballots) for one in judges if isinstance(one.function, _Judges)]
    missing = [set(ballots.votes) for _, ballots in people]
    for one in variants if people else ():
        names = _ids(one)
        for strangers in missing:
            strangers.difference_update(names)
    for (title, ballots), strangers in zip(people, missing, strict=True):
        if strangers:
            first = next(name for name in ballots.votes if name in strangers)
            said = f"{len(strangers)} of {len(ballots.votes)} judged variants are not in the data, as {first!r}"
            warnings.warn(f"{title}: {said}", stacklevel=2)
        if ballots.blank:
            warnings.warn(f"{title}: {ballots.blank} verdicts are blank or NA, and count as missing", stacklevel=2)


def _ids(one: str | Path) -> list[str]:
    if isinstance(one, str):
        return [one]
    import polars as pl

    return pl.scan_parquet(one, glob=False).filter(pl.col("of").is_not_null()).select("id").collect()["id"].to_list()


def _refuse_options(rule: str, least: float | None, above: float | None, unjudged: str) -> None:
    if rule not in _RULES:
        raise BadInput(f"found {rule!r}", where="human", field="rule", fix=f"use {' or '.join(_RULES)}")
    if unjudged not in ("keep", "drop"):
        raise BadInput(f"found {unjudged!r}", where="human", field="unjudged", fix="use keep or drop")
    if least is not None and above is not None:
        raise BadInput("a rating has one mark", where="human", fix="give least= or above=, not both")
    for name, mark in (("least", least), ("above", above)):
        if mark is not None and (isinstance(mark, bool) or not isinstance(mark, (int, float)) or not isfinite(mark)):
            raise BadInput(f"found {mark!r}", where="human", field=name, fix="give a number")
