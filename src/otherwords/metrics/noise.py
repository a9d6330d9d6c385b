"""Noise: how often the same text gets another answer, and what the wording does beyond that (METHODS 8.1).

A flip rate counts two things as one: what another wording does, and what asking again does. For an original and a
variant with the answer distributions p and q, two answers differ with the chance 1 - p.q, and two answers to the same
text with 1 - p.p or 1 - q.q. The mean of these two is the noise floor of the pair; what is above it is |p - q|^2 / 2.

Both are estimated from pairs of answers that were asked at different times (the first time, the second, ...), also
where one is to the original and the other to the variant. So all of it is unbiased; what changes from one time to the
next, for all texts alike, is in both and cancels; and a variant with the very text of its original counts 0.
"""

from typing import Any

import numpy as np

from ..answers.repeats import asked_as_usual, asked_in
from ..answers.table import Answers, Array
from ..errors import Unmeasurable
from ..registry import metrics
from .metric import Metric, both_shares, first_less_second


@metrics("repeat_flips.v1")
def repeat_flips(way: str = "") -> Any:
    """The noise floor: chance that the same text, asked again, gets another answer.

    It is the mean over the pairs of the flip rate, an original and a variant: the mean of both wordings. `way` is one
    in which the model was asked again; by default the usual one, if it was, where the first answers count, too.

    Of three times, the original got another answer once: two of three pairs of times differ. The variant kept its own:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 2, "variant": ["", 1], "pred": ["yes", "no"]}
    >>> again = {"usual": [["yes", "no"], ["no", "no"]]}
    >>> round(ow.measure("repeat_flips", **rows, again=again).value, 4)
    0.3333
    """

    def statistics(answers: Answers) -> Array:
        return _pairs(answers, way)[:, 1:]

    return Metric(statistics, gold=False, labels_only=True, repeats=True)


@metrics("flip_rate_net.v1")
def flip_rate_net(way: str = "") -> Any:
    """What the wording does beyond noise: the flip rate between different times, less `repeat_flips`.

    An estimate of half the squared distance of the two wordings' answer distributions: 0 on average where the wording
    does nothing, and then as often below as above. Without noise it is the flip rate. `way` is as in `repeat_flips`.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 2, "variant": ["", 1], "pred": ["yes", "no"]}
    >>> again = {"usual": [["yes", "no"], ["no", "no"]]}
    >>> round(ow.measure("flip_rate_net", **rows, again=again).value, 4)
    0.3333
    """
    return Metric(
        lambda answers: _pairs(answers, way),
        first_less_second,
        rate=True,
        floor=lambda totals: both_shares(totals)[1],
        bounds=(-1, 1),
        gold=False,
        labels_only=True,
        repeats=True,
    )


@metrics("way_flips.v1")
def way_flips(way: str = "cold") -> Any:
    """Chance that a text asked in another way (cold, alone, shuffled) gets another answer than asked as usual.

    Of all wordings. What asking again as usual does is in it: compare it with `repeat_flips`.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 2, "variant": ["", 1], "pred": ["yes", "no"]}
    >>> ow.measure("way_flips", **rows, again={"cold": [["yes", "yes"]]}).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        usual, other = (_counts(asked, answers) for asked in (asked_as_usual(answers), asked_in(answers, way)))
        pairs = usual.sum(axis=1) * other.sum(axis=1)
        there = pairs > 0
        share = 1 - (usual * other).sum(axis=1) / np.where(there, pairs, 1)
        return np.column_stack([answers.add_by_bucket(share, there), answers.sum_by_bucket(there)])

    return Metric(statistics, uses="both", gold=False, labels_only=True, repeats=True)


def _pairs(answers: Answers, way: str) -> Array:
    asked = asked_in(answers, way)
    if asked.shape[1] < 2:
        fix = "the first answers were asked as usual, so that this way needs two: --repeats 2 (repeats=2)"
        raise Unmeasurable("the same was asked only once in this way", where=answers.model, fix=fix)
    return sums_of_pairs(answers, asked)


def sums_of_pairs(answers: Answers, asked: Array) -> Array:
    """By bucket, sums over its pairs of original and variant: how often they differ, each one's noise, and the pairs.

    `asked` has the answers of each row, as codes of labels, a column for each time, -1 where there is none. A pair
    counts with the times at which both were asked, if there are two.
    """
    first = answers.of_original(asked)
    both = (asked >= 0) & (first >= 0)
    one, other = (_counts(np.where(both, some, -1), answers) for some in (first, asked))
    times = both.sum(axis=1)
    together = (both & (asked != first)).sum(axis=1)  # pairs of answers of the same time
    there = answers.is_variant & (times > 1)
    pairs = np.where(there, times * (times - 1), 1)
    differ = (times**2 - (one * other).sum(axis=1) - together) / pairs
    noise = (times**2 - ((one**2).sum(axis=1) + (other**2).sum(axis=1)) / 2) / pairs
    sums = [answers.add_by_bucket(some, there) for some in (differ, noise)]
    return np.column_stack([*sums, answers.sum_by_bucket(there)])


def _counts(asked: Array, answers: Answers) -> Array:
    """How often each row got each label."""
    return np.stack([(asked == label).sum(axis=1) for label in range(len(answers.labels))], axis=1)
