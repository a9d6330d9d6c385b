"""Flips: answers that change with the wording, right or wrong (Verma et al. 2023)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired
from .table import Answers


def flip_rate(pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> float:
    """Share of variants whose predicted label differs from their original's.

    >>> flip_rate(["no", "yes", "no", "no"], ["no", "no", "no", "yes"])
    0.5
    """
    now, before = paired("flip rate", pred, original_pred)
    return float(np.mean(now != before))


def flip_outcomes(gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> dict[str, float]:
    """Part the flip rate by what became of a right answer: the three shares add up to it.

    Four variants of a problem whose answer is yes; the first stays, the others flip:

    >>> flip_outcomes(["yes"] * 4, ["yes", "no", "yes", "hm"], ["yes", "yes", "no", "no"])
    {'to_wrong': 0.25, 'to_right': 0.25, 'wrong_to_wrong': 0.25}
    """
    now, before = paired("flips", pred, original_pred)
    truth, now = paired("flips", gold, now)
    return {name: float(mask.mean()) for name, mask in _outcomes(truth, now, before).items()}


def flip_directions(pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> dict[str, float]:
    """Share of variants that went from one label to another, for every ordered pair of labels that occur.

    >>> flip_directions(["no", "yes", "no", "no"], ["no", "no", "no", "yes"])
    {'no>yes': 0.25, 'yes>no': 0.25}
    """
    now, before = paired("flips", pred, original_pred)
    labels = sorted({*now.tolist(), *before.tolist()})
    return {f"{a}>{b}": float(np.mean((before == a) & (now == b))) for a, b in permutations(labels, 2)}


def flip_rate_when(right: bool, gold: npt.ArrayLike, pred: npt.ArrayLike, original_pred: npt.ArrayLike) -> float:
    """Flip rate among variants whose original was answered right (or, with False, wrong).

    >>> flip_rate_when(True, ["yes"] * 4, ["yes", "no", "yes", "no"], ["yes", "yes", "yes", "no"])
    0.3333333333333333
    """
    now, before = paired("flip rate", pred, original_pred)
    truth, now = paired("flip rate", gold, now)
    chosen = (before == truth) == right
    if not chosen.any():
        found = f"no variant has an original that was answered {'right' if right else 'wrong'}"
        raise BadInput(found, fix=f"flip_rate_when({not right}, ...) is defined, and flip_rate")
    return flip_rate(now[chosen], before[chosen])


@metrics("flip_rate.v1")
def flip_rate_metric() -> Any:
    """Share of variants whose predicted label differs from the original's (PaRTE's % changed)."""

    def statistics(answers: Answers) -> Array:
        changed = answers.pred != answers.original_pred
        return answers.sum_by_bucket(changed & answers.is_variant, answers.is_variant)

    return statistics


@metrics("flip_to_wrong.v1")
def flip_to_wrong_metric() -> Any:
    """Share of variants answered wrong though the original was answered right."""
    return _share_of("to_wrong")


@metrics("flip_to_right.v1")
def flip_to_right_metric() -> Any:
    """Share of variants answered right though the original was answered wrong."""
    return _share_of("to_right")


@metrics("flip_wrong_to_wrong.v1")
def flip_wrong_to_wrong_metric() -> Any:
    """Share of variants answered wrong, in another way than the original (never with two labels)."""
    return _share_of("wrong_to_wrong")


@metrics("flip_directions.v1")
def flip_directions_metric() -> Any:
    """Share of variants that flip from one label to another, for every ordered pair of labels."""

    def statistics(answers: Answers) -> Array:
        pairs = permutations(range(len(answers.labels)), 2)
        went = [(answers.original_pred == a) & (answers.pred == b) & answers.is_variant for a, b in pairs]
        return answers.sum_by_bucket(*went, answers.is_variant)

    def combine(totals: Array) -> Array:
        return divide(totals[..., :-1], totals[..., -1:])

    def parts(answers: Answers) -> tuple[str, ...]:
        return tuple(f"{a}>{b}" for a, b in permutations(answers.labels, 2))

    return Metric(statistics, combine, parts=parts, rate=True)


@metrics("flip_when_right.v1")
def flip_when_right_metric() -> Any:
    """Flip rate among variants whose original was answered right."""
    return _among(right=True)


@metrics("flip_when_wrong.v1")
def flip_when_wrong_metric() -> Any:
    """Flip rate among variants whose original was answered wrong."""
    return _among(right=False)


def _outcomes(gold: Array, now: Array, before: Array) -> dict[str, Array]:
    """The three kinds of flip; an answer that was right and is right has not changed."""
    was, is_ = before == gold, now == gold
    return {"to_wrong": was & ~is_, "to_right": ~was & is_, "wrong_to_wrong": ~was & ~is_ & (now != before)}


def _share_of(outcome: str) -> Any:
    def statistics(answers: Answers) -> Array:
        flips = _outcomes(answers.gold, answers.pred, answers.original_pred)[outcome]
        return answers.sum_by_bucket(flips & answers.is_variant, answers.is_variant)

    return statistics


def _among(right: bool) -> Any:
    def statistics(answers: Answers) -> Array:
        chosen = answers.is_variant & ((answers.original_pred == answers.gold) == right)
        return answers.sum_by_bucket(chosen & (answers.pred != answers.original_pred), chosen)

    return statistics
