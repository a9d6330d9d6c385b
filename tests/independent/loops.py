"""Every number of the package once more, as plain loops written from the definitions alone.

Nothing here comes from the package or shares a thought with it: dictionaries, for-loops and fractions. A metric is a
function of one model's answers that gives a `Number` for each of its parts; `Number.totals` holds what each cluster
adds, so that the intervals and the counts of clusters follow from the same sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

Row = Mapping[str, Any]
Totals = dict[str, list[Any]]


@dataclass
class Bucket:
    """A problem: its original (or None) and its variants; rows have `gold`, `pred`, `p` and texts."""

    name: str
    cluster: str
    original: Row | None
    variants: list[Row] = field(default_factory=list)


@dataclass
class Answers:
    """One model's buckets, the labels there are, and apart from them its contrasts and its controls."""

    buckets: list[Bucket]
    labels: list[str]
    contrasts: list[Bucket] = field(default_factory=list)
    controls: list[Bucket] = field(default_factory=list)


@dataclass
class Number:
    """A value with its counts; `totals` has the sums of each cluster that counts, `combine` makes a value of sums.

    `weights` has each cluster's denominator, where the metric has one; `sides` the two shares of a difference;
    `bare` says that it has no interval by definition; `moves` keeps its influences, once they are known; `bounds` are
    the ends of its scale; `uncapped` leaves out the bounds by the clusters that have the event; `noisy` are, of a share
    less a noise floor, the clusters in which the same text got two answers.
    """

    value: Fraction | float | None
    units: int
    answers: int
    totals: Totals = field(default_factory=dict)
    combine: Callable[[Sequence[Any]], Any] | None = None
    weights: dict[str, Any] = field(default_factory=dict)
    sides: tuple[Number, Number] | None = None
    bare: bool = False
    moves: dict[str, float] = field(default_factory=dict)
    bounds: tuple[float, float] = (0.0, 1.0)
    uncapped: bool = False
    noisy: set[str] | None = None


Numbers = dict[str, Number]


# The pieces of a table


def collect(rows: Iterable[Row], labels: Sequence[str]) -> Answers:
    """Sort one model's rows into problems; a bucket without a cluster is one of its own."""
    plain: dict[str, Bucket] = {}
    contrasts: dict[str, Bucket] = {}
    controls: dict[str, Bucket] = {}
    for row in rows:
        if row.get("contrast"):
            _place(contrasts, row)
        elif row.get("control"):
            _place(controls, row)
        else:
            _place(plain, row)
    for name, bucket in controls.items():  # a control's original is that of the problem it belongs to
        bucket.original, bucket.cluster = plain[name].original, plain[name].cluster
    return Answers(list(plain.values()), list(labels), list(contrasts.values()), list(controls.values()))


def _place(buckets: dict[str, Bucket], row: Row) -> None:
    cluster = f"cluster {row['cluster']}" if row.get("cluster") else f"bucket {row['bucket']}"
    bucket = buckets.setdefault(row["bucket"], Bucket(row["bucket"], cluster, None))
    if row["variant"] is None:
        bucket.original, bucket.cluster = row, cluster
    else:
        bucket.variants.append(row)


def right(row: Row) -> bool:
    """The given answer is the right one."""
    return bool(row["pred"] == row["gold"])


def number_right(bucket: Bucket) -> int:
    """How many variants are answered right."""
    count = 0
    for row in bucket.variants:
        if right(row):
            count += 1
    return count


def differ(bucket: Bucket) -> int:
    """How many variants are answered otherwise than the original."""
    count = 0
    for row in bucket.variants:
        if row["pred"] != bucket.original["pred"]:
            count += 1
    return count


def divide(sums: Sequence[Any]) -> Any:
    """A ratio of two sums."""
    return sums[0] / sums[1]


Piece = tuple[Bucket, Any, Any, int]


def ratio(pieces: Iterable[Piece]) -> Number:
    """Sum of numerators over sum of denominators; pieces are (bucket, numerator, denominator, answers)."""
    above: Any = Fraction(0)
    below: Any = Fraction(0)
    units = answers = 0
    totals: Totals = {}
    for bucket, one, weight, count in pieces:
        if weight == 0:
            continue
        above, below = above + one, below + weight
        units, answers = units + 1, answers + count
        sums = totals.setdefault(bucket.cluster, [Fraction(0), Fraction(0)])
        sums[0], sums[1] = sums[0] + one, sums[1] + weight
    value = above / below if below else None
    weights = {cluster: sums[1] for cluster, sums in totals.items()}
    return Number(value, units, answers, totals, divide, weights)


def function(
    pieces: Iterable[tuple[Bucket, Sequence[Any], Any, int]], combine: Callable[[Sequence[Any]], Any]
) -> Number:
    """A function of several sums; pieces are (bucket, what it adds to each sum, weight, answers)."""
    whole: list[Any] = []
    units = answers = 0
    totals: Totals = {}
    weights: dict[str, Any] = {}
    for bucket, adds, weight, count in pieces:
        if weight == 0:
            continue
        units, answers = units + 1, answers + count
        whole = [a + b for a, b in zip(whole, adds, strict=True)] if whole else list(adds)
        sums = totals.get(bucket.cluster)
        totals[bucket.cluster] = [a + b for a, b in zip(sums, adds, strict=True)] if sums else list(adds)
        weights[bucket.cluster] = weights.get(bucket.cluster, 0) + weight
    return Number(combine(whole) if whole else None, units, answers, totals, combine, weights)


def difference(first: Number, second: Number, units: int, answers: int) -> Number:
    """One share less another."""
    value = None if first.value is None or second.value is None else first.value - second.value
    weights = dict(first.weights)
    for cluster, weight in second.weights.items():
        weights.setdefault(cluster, weight)
    return Number(value, units, answers, weights=weights, sides=(first, second))


def _one(number: Number) -> Numbers:
    return {"": number}


# Accuracy


def accuracy_original(data: Answers) -> Numbers:
    """Originals answered right, of all originals."""
    return _one(ratio((b, int(right(b.original)), 1, 1) for b in data.buckets))


def accuracy_original_weighted(data: Answers) -> Numbers:
    """The same, each original counted as often as it has variants."""
    return _one(ratio((b, len(b.variants) * int(right(b.original)), len(b.variants), 1) for b in data.buckets))


def accuracy_seeds(data: Answers) -> Numbers:
    """Originals answered right, of those that have a variant."""
    return _one(ratio((b, int(right(b.original)), 1, 1) for b in data.buckets if b.variants))


def accuracy_variants(data: Answers) -> Numbers:
    """Variants answered right, of all variants of all buckets."""
    return _one(ratio((b, number_right(b), len(b.variants), len(b.variants)) for b in data.buckets))


def accuracy_buckets(data: Answers) -> Numbers:
    """Mean over buckets of theta, the share of the bucket's variants that are right."""
    full = [b for b in data.buckets if b.variants]
    return _one(ratio((b, Fraction(number_right(b), len(b.variants)), 1, len(b.variants)) for b in full))


def accuracy_drop(data: Answers) -> Numbers:
    """`accuracy_variants` less `accuracy_original_weighted`: negative where the model loses."""
    first, second = accuracy_variants(data)[""], accuracy_original_weighted(data)[""]
    return _one(difference(first, second, first.units, first.answers + second.answers))


def majority_class(data: Answers) -> Numbers:
    """The share of originals that have the most frequent right answer; without originals, of problems."""
    counts: Counter[str] = Counter()
    for bucket in data.buckets:
        row = bucket.original or bucket.variants[0]
        counts[row["gold"]] += 1
    total = len(data.buckets)
    weights = Counter(b.cluster for b in data.buckets)
    return _one(Number(Fraction(max(counts.values()), total), total, total, weights=dict(weights)))


def _vote(bucket: Bucket, original: bool) -> Fraction:
    """1 if the most frequent answer is right, 1/m if it is one of m that are equally frequent."""
    votes: Counter[str] = Counter()
    for row in bucket.variants:
        votes[row["pred"]] += 1
    if original:
        votes[bucket.original["pred"]] += 1
    most = max(votes.values())
    winners = [label for label in votes if votes[label] == most]
    gold = (bucket.original or bucket.variants[0])["gold"]
    return Fraction(1, len(winners)) if gold in winners else Fraction(0)


def majority_vote(data: Answers, original: bool = True) -> Numbers:
    """Share of problems with a variant whose most frequent answer is right."""
    full = [b for b in data.buckets if b.variants]
    return _one(ratio((b, _vote(b, original), 1, len(b.variants) + int(original)) for b in full))


def vote_gain(data: Answers, original: bool = True) -> Numbers:
    """Accuracy of the vote less that on the same originals."""
    first, second = majority_vote(data, original)[""], accuracy_seeds(data)[""]
    answers = sum(len(b.variants) + 1 for b in data.buckets if b.variants)
    return _one(difference(first, second, first.units, answers))


# Pattern accuracy


def decimal(number: float | str) -> Fraction:
    """The decimal number that somebody wrote, exactly."""
    return Fraction(str(number))


def _reaches(bucket: Bucket, at: Fraction, of: int) -> Fraction:
    return _chance(number_right(bucket), len(bucket.variants), at, of)


@cache
def _chance(k: int, n: int, at: Fraction, of: int) -> Fraction:
    """Chance that at least `at` of `of` variants drawn from n are right, where k are; of = 0 takes them all."""
    if not of:
        return Fraction(int(k >= at * n))
    chance = Fraction(0)
    for hits in range(of + 1):
        if hits >= at * of:
            chance += Fraction(comb(k, hits) * comb(n - k, of - hits), comb(n, of))
    return chance


def _enough(data: Answers, of: int) -> list[Bucket]:
    return [b for b in data.buckets if len(b.variants) >= max(of, 1)]


def _pa(data: Answers, at: Fraction, of: int) -> Number:
    return ratio((b, _reaches(b, at, of), 1, len(b.variants)) for b in _enough(data, of))


def pa(data: Answers, at: float = 0.9, of: int = 0) -> Numbers:
    """Share of problems with at least `at` of their variants right."""
    return _one(_pa(data, decimal(at), of))


def pa_curve(data: Answers, step: float = 0.05, of: int = 0) -> Numbers:
    """Pattern accuracy at step, 2 step, ..., 1."""
    size = decimal(step)
    digits = max(2, len(str(step).partition(".")[2]))
    curve = {}
    for i in range(1, int(1 / size) + 1):
        curve[f"{float(i * size):.{digits}f}"] = _pa(data, i * size, of)
    return curve


def pa_drop(data: Answers, at: float = 0.9, of: int = 0) -> Numbers:
    """Pattern accuracy less accuracy on the originals of the same problems."""
    full = _enough(data, of)
    first = _pa(data, decimal(at), of)
    second = ratio((b, int(right(b.original)), 1, 1) for b in full)
    return _one(difference(first, second, first.units, sum(len(b.variants) + 1 for b in full)))


def matching_threshold(data: Answers, of: int = 0) -> Numbers:
    """The lowest and the highest hundredth where PA is nearest the accuracy on the same originals."""
    full = _enough(data, of)
    answers = sum(len(b.variants) + 1 for b in full)
    if not full:
        return {"low": Number(None, 0, 0), "high": Number(None, 0, 0)}
    goal = Fraction(sum(int(right(b.original)) for b in full), len(full))
    gaps = {}
    for hundredth in range(1, 101):
        at = Fraction(hundredth, 100)
        gaps[at] = abs(Fraction(sum(_reaches(b, at, of) for b in full), len(full)) - goal)
    least = min(gaps.values())
    nearest = [at for at, gap in gaps.items() if gap == least]
    weights = dict(Counter(b.cluster for b in full))
    ends = {"low": min(nearest), "high": max(nearest)}
    return {end: Number(at, len(full), answers, weights=weights) for end, at in ends.items()}


# Consistency


def _theta(bucket: Bucket) -> Fraction:
    return Fraction(number_right(bucket), len(bucket.variants))


def _full(data: Answers) -> list[Bucket]:
    """Buckets with a variant, if one of them has two: else drawing two variants says nothing."""
    full = [b for b in data.buckets if b.variants]
    return full if any(len(b.variants) >= 2 for b in full) else []


def _pairs(data: Answers) -> list[Bucket]:
    return [b for b in data.buckets if len(b.variants) >= 2]


def p_c(data: Answers) -> Numbers:
    """Mean over buckets of theta^2 + (1 - theta)^2."""
    return _one(ratio((b, _theta(b) ** 2 + (1 - _theta(b)) ** 2, 1, len(b.variants)) for b in _full(data)))


def _both_alike(bucket: Bucket) -> Fraction:
    """Share of the pairs of distinct variants that are both right or both wrong."""
    n = len(bucket.variants)
    alike = 0
    for i in range(n):
        for j in range(i):
            if right(bucket.variants[i]) == right(bucket.variants[j]):
                alike += 1
    return Fraction(2 * alike, n * (n - 1))


def p_c_distinct(data: Answers) -> Numbers:
    """Mean over buckets of two or more of the share of pairs of distinct variants both right or both wrong."""
    return _one(ratio((b, _both_alike(b), 1, len(b.variants)) for b in _pairs(data)))


def _same_label(bucket: Bucket) -> Fraction:
    n = len(bucket.variants)
    same = 0
    for i in range(n):
        for j in range(i):
            if bucket.variants[i]["pred"] == bucket.variants[j]["pred"]:
                same += 1
    return Fraction(2 * same, n * (n - 1))


def label_agreement(data: Answers) -> Numbers:
    """Mean over buckets of two or more of the share of pairs of distinct variants with the same label."""
    return _one(ratio((b, _same_label(b), 1, len(b.variants)) for b in _pairs(data)))


def _weight(bucket: Bucket, weights: str) -> int:
    return len(bucket.variants) if weights == "answers" else 1


def vap(data: Answers, weights: str = "buckets") -> Numbers:
    """Mean over buckets (or answers) of theta (1 - theta)."""
    pieces = []
    for b in _full(data):
        pieces.append((b, _weight(b, weights) * _theta(b) * (1 - _theta(b)), _weight(b, weights), len(b.variants)))
    return _one(ratio(pieces))


def _share_within(sums: Sequence[Any]) -> Any:
    """Variance within over variance in all, from the sums of variances, thetas and weights."""
    within, mean = sums[0] / sums[2], sums[1] / sums[2]
    return within / (mean * (1 - mean)) if mean * (1 - mean) else None


def pvap(data: Answers, weights: str = "buckets") -> Numbers:
    """Mean variance within buckets over a (1 - a), a the mean theta under the same weights."""
    pieces = []
    for b in _full(data):
        weight = _weight(b, weights)
        adds = [weight * _theta(b) * (1 - _theta(b)), weight * _theta(b), weight]
        pieces.append((b, adds, weight, len(b.variants)))
    return _one(function(pieces, _share_within))


def pvap_distinct(data: Answers) -> Numbers:
    """The same with variances of ddof 1, over the buckets of two or more."""
    pieces = []
    for b in _pairs(data):
        n = len(b.variants)
        within = _theta(b) * (1 - _theta(b)) * n / (n - 1)
        pieces.append((b, [within, _theta(b), 1], 1, n))
    return _one(function(pieces, _share_within))


def p_c_bound(data: Answers) -> Numbers:
    """1 - 2a(1 - a), a the mean theta over buckets."""
    full = [b for b in data.buckets if b.variants]

    def bound(sums: Sequence[Any]) -> Any:
        mean = sums[0] / sums[1]
        return 1 - 2 * mean * (1 - mean)

    return _one(function([(b, [_theta(b), 1], 1, len(b.variants)) for b in full], bound))


def fleiss_kappa(data: Answers) -> Numbers:
    """(P - E) / (1 - E): P the label agreement, E the sum of squared shares of the labels in the same buckets.

    Fleiss (1971) has as many ratings for each subject; with unequal numbers, buckets weigh alike in both terms.
    """

    def kappa(sums: Sequence[Any]) -> Any:
        agree = sums[0] / sums[-1]
        chance = sum((one / sums[-1]) ** 2 for one in sums[1:-1])
        return (agree - chance) / (1 - chance) if chance < 1 - 1e-12 else None  # of one label, but for rounding

    pieces = []
    for b in _pairs(data):
        given = Counter(row["pred"] for row in b.variants)
        shares = [Fraction(given[label], len(b.variants)) for label in data.labels]
        pieces.append((b, [_same_label(b), *shares, Fraction(1)], 1, len(b.variants)))
    return _one(function(pieces, kappa))


# Values corrected by the confidence on a test set


def _decile(confidence: Fraction) -> int:
    """[0, .1) is 0, ..., [.9, 1] is 9."""
    return min(int(confidence * 10), 9)


def _masses(testset: Sequence[Row]) -> dict[int, Fraction]:
    """The share of the test set in each decile of confidence in the gold label."""
    counts: Counter[int] = Counter()
    for row in testset:
        counts[_decile(row["p"][row["gold"]])] += 1
    return {decile: Fraction(count, len(testset)) for decile, count in counts.items()}


def _corrected(
    buckets: list[Bucket], testset: Sequence[Row], one: Callable[[Bucket], Fraction], renormalise: bool
) -> Number:
    """Sum over deciles of the test set's mass times the mean over the decile's buckets; None if none is covered."""
    values: dict[int, list[Fraction]] = {}
    for b in buckets:
        values.setdefault(_decile(b.original["p"][b.original["gold"]]), []).append(one(b))
    total = covered = Fraction(0)
    for decile, mass in _masses(testset).items():
        if decile in values:
            total += mass * sum(values[decile]) / len(values[decile])
            covered += mass
    value = total / covered if renormalise and covered else total
    return Number(value if covered else None, len(buckets), sum(len(b.variants) for b in buckets))


def accuracy_corrected(data: Answers, testset: Sequence[Row], renormalise: bool = False) -> Numbers:
    """Theta, with buckets weighed by the deciles of the test set."""
    return _one(_corrected([b for b in data.buckets if b.variants], testset, _theta, renormalise))


def p_c_corrected(data: Answers, testset: Sequence[Row], renormalise: bool = False) -> Numbers:
    """P_C of the paper, with buckets weighed by the deciles of the test set."""

    def one(b: Bucket) -> Fraction:
        return _theta(b) ** 2 + (1 - _theta(b)) ** 2

    return _one(_corrected(_full(data), testset, one, renormalise))


def p_c_distinct_corrected(data: Answers, testset: Sequence[Row], renormalise: bool = False) -> Numbers:
    """P_C of distinct pairs, with buckets of two or more weighed by the deciles of the test set."""
    return _one(_corrected(_pairs(data), testset, _both_alike, renormalise))


def coverage(data: Answers, testset: Sequence[Row]) -> Numbers:
    """Share of the test set in deciles that hold a bucket."""
    number = _corrected([b for b in data.buckets if b.variants], testset, lambda b: Fraction(1), False)
    number.value = number.value or Fraction(0)
    return _one(number)


def accuracy_testset(testset: Sequence[Row]) -> Numbers:
    """Share of a test set answered right: its items are the units."""
    items = [Bucket(str(i), str(row.get("cluster") or i), row) for i, row in enumerate(testset)]
    return _one(ratio((b, int(right(b.original)), 1, 1) for b in items))


# Flips


def _of_variants(data: Answers, counts: Callable[[Row, Row], bool]) -> Number:
    """Of all variants, those for which `counts(original, variant)`."""
    pieces = []
    for b in data.buckets:
        hits = 0
        for row in b.variants:
            if counts(b.original, row):
                hits += 1
        pieces.append((b, hits, len(b.variants), len(b.variants)))
    return ratio(pieces)


def flip_rate(data: Answers) -> Numbers:
    """Variants answered otherwise than their original, of all variants."""
    return _one(_of_variants(data, lambda one, other: one["pred"] != other["pred"]))


def flip_to_wrong(data: Answers) -> Numbers:
    """Variants answered wrong whose original is right."""
    return _one(_of_variants(data, lambda one, other: right(one) and not right(other)))


def flip_to_right(data: Answers) -> Numbers:
    """Variants answered right whose original is wrong."""
    return _one(_of_variants(data, lambda one, other: not right(one) and right(other)))


def flip_wrong_to_wrong(data: Answers) -> Numbers:
    """Variants answered wrong, in another way than their original."""

    def counts(one: Row, other: Row) -> bool:
        return not right(one) and not right(other) and one["pred"] != other["pred"]

    return _one(_of_variants(data, counts))


def flip_directions(data: Answers) -> Numbers:
    """Of all variants, those that go from one label to another, for each ordered pair."""
    found = {}
    for first in data.labels:
        for second in data.labels:
            if first != second:
                found[f"{first}>{second}"] = _of_variants(
                    data, lambda one, other, pair=(first, second): (one["pred"], other["pred"]) == pair
                )
    return found


def _flips_among(buckets: Iterable[Bucket]) -> Number:
    return ratio((b, differ(b), len(b.variants), len(b.variants)) for b in buckets)


def flip_when_right(data: Answers) -> Numbers:
    """Flip rate of the variants whose original is answered right."""
    return _one(_flips_among(b for b in data.buckets if right(b.original)))


def flip_when_wrong(data: Answers) -> Numbers:
    """Flip rate of the variants whose original is answered wrong."""
    return _one(_flips_among(b for b in data.buckets if not right(b.original)))


def flips_by_margin(data: Answers, bins: int = 5) -> Numbers:
    """Flip rate where the original's highest probability less the second lies in each of equal bins from 0 to 1."""
    inside: dict[int, list[Bucket]] = {i: [] for i in range(bins)}
    for b in data.buckets:
        best = sorted(b.original["p"].values(), reverse=True)
        inside[min(int((best[0] - best[1]) * bins), bins - 1)].append(b)
    return {str(i): _flips_among(inside[i]) for i in range(bins)}


def control_flips(data: Answers) -> Numbers:
    """Of the controls' variants, those answered otherwise than their original."""
    return _one(_flips_among(data.controls))


# Merged labels


def _merged(row: Row, merge: str, by: str) -> str:
    """The answer after merging: of the label given, or of the highest sum (of equal sums, the given answer's)."""
    names = merge.split("+")
    if by == "argmax":
        return merge if row["pred"] in names else row["pred"]
    sums: dict[str, Fraction] = {}
    for label, one in row["p"].items():
        group = merge if label in names else label
        sums[group] = sums.get(group, Fraction(0)) + one
    given = merge if row["pred"] in names else row["pred"]
    highest = max(sums.values())
    winners = [group for group, one in sums.items() if one == highest]
    return given if given in winners else winners[0]


def flip_rate_merged(data: Answers, merge: str = "neutral+contradiction", by: str = "argmax") -> Numbers:
    """Flip rate after merging labels."""
    return _one(_of_variants(data, lambda one, other: _merged(one, merge, by) != _merged(other, merge, by)))


def accuracy_merged(data: Answers, merge: str = "neutral+contradiction", by: str = "argmax") -> Numbers:
    """Accuracy after merging labels in gold as in the answers: of originals, and of variants."""
    names = merge.split("+")

    def good(row: Row) -> int:
        return int(_merged(row, merge, by) == (merge if row["gold"] in names else row["gold"]))

    def of_variants(b: Bucket) -> Piece:
        return b, sum(good(row) for row in b.variants), len(b.variants), len(b.variants)

    originals = ratio((b, good(b.original), 1, 1) for b in data.buckets)
    return {"originals": originals, "variants": ratio(of_variants(b) for b in data.buckets)}


def flips_lost_by_merging(data: Answers, merge: str = "neutral+contradiction") -> Numbers:
    """Variants that flip between two of the merged labels."""
    names = merge.split("+")

    def counts(one: Row, other: Row) -> bool:
        return one["pred"] != other["pred"] and one["pred"] in names and other["pred"] in names

    return _one(_of_variants(data, counts))


# Fooling rates


def opposites(labels: Sequence[str], opposite: str = "") -> dict[str, str]:
    """Which label is the opposite of which: as named, entailment and contradiction, or the two that there are."""
    pair: Sequence[str] = ()
    if opposite:
        pair = opposite.split("<->")
    elif set(labels) <= {"entailment", "neutral", "contradiction"}:
        pair = ("entailment", "contradiction")
    elif len(labels) == 2:
        pair = labels
    return {pair[0]: pair[1], pair[1]: pair[0]} if pair else {}


def _fooling(bucket: Bucket, against: Mapping[str, str] | None) -> int:
    """How many variants get another label, or where `against` has one for the right answer, the opposite label."""
    count = 0
    gold = bucket.original["gold"]
    for row in bucket.variants:
        if against is not None and gold in against:
            count += int(row["pred"] == against[gold])
        else:
            count += int(row["pred"] != bucket.original["pred"])
    return count


def _correct(data: Answers) -> list[Bucket]:
    return [b for b in data.buckets if right(b.original)]


def _fooled(buckets: Sequence[Bucket], against: Mapping[str, str] | None) -> Numbers:
    """All problems count, with a variant or not; where none has one, nothing was asked, and there is no rate."""
    number = ratio((b, int(_fooling(b, against) > 0), 1, len(b.variants) + 1) for b in buckets)
    if not any(b.variants for b in buckets):
        number.value = None
    return _one(number)


def _fooled_at(buckets: Iterable[Bucket], against: Mapping[str, str] | None, k: int) -> Numbers:
    pieces = []
    for b in buckets:
        n, f = len(b.variants), _fooling(b, against)
        if n >= k:
            pieces.append((b, 1 - Fraction(comb(n - f, k), comb(n, k)), 1, n))
    return _one(ratio(pieces))


def r_r(data: Answers) -> Numbers:
    """Of the problems answered correctly, those with a variant of another label."""
    return _fooled(_correct(data), None)


def r_s(data: Answers, opposite: str = "") -> Numbers:
    """Of the problems answered correctly, those with a variant of the opposite label (gold without one: any other)."""
    return _fooled(_correct(data), opposites(data.labels, opposite))


def r_s_without_neutral(data: Answers, opposite: str = "") -> Numbers:
    """r_s of the problems whose right answer has an opposite."""
    against = opposites(data.labels, opposite)
    return _fooled([b for b in _correct(data) if b.original["gold"] in against], against)


def r_r_at(data: Answers, k: int = 5) -> Numbers:
    """Mean of 1 - C(n - f, k) / C(n, k) over the problems answered correctly with at least k variants."""
    return _fooled_at(_correct(data), None, k)


def r_s_at(data: Answers, k: int = 5, opposite: str = "") -> Numbers:
    """The same for the opposite label."""
    return _fooled_at(_correct(data), opposites(data.labels, opposite), k)


def r_s_without_neutral_at(data: Answers, k: int = 5, opposite: str = "") -> Numbers:
    """The same for the opposite label, where the right answer has one."""
    against = opposites(data.labels, opposite)
    return _fooled_at([b for b in _correct(data) if b.original["gold"] in against], against, k)


def too_few_variants(data: Answers, k: int = 5) -> Numbers:
    """Of the problems answered correctly, those with fewer than k variants."""
    return _one(ratio((b, int(len(b.variants) < k), 1, len(b.variants) + 1) for b in _correct(data)))


# Contrasts


def _changed(bucket: Bucket) -> list[Row]:
    return [row for row in bucket.variants if row["gold"] != bucket.original["gold"]]


def sensitivity(data: Answers) -> Numbers:
    """Of contrasts with another right answer than the original's, those that get another answer."""
    pieces = []
    for b in data.contrasts:
        moved = [row for row in _changed(b) if row["pred"] != b.original["pred"]]
        pieces.append((b, len(moved), len(_changed(b)), len(_changed(b))))
    return _one(ratio(pieces))


def contrast_accuracy(data: Answers) -> Numbers:
    """Of the same contrasts, those answered right."""
    pieces = []
    for b in data.contrasts:
        good = [row for row in _changed(b) if right(row)]
        pieces.append((b, len(good), len(_changed(b)), len(_changed(b))))
    return _one(ratio(pieces))


def contrast_consistency(data: Answers) -> Numbers:
    """Problems answered right together with all of their contrasts."""
    pieces = []
    for b in data.contrasts:
        if b.variants:
            good = right(b.original) and number_right(b) == len(b.variants)
            pieces.append((b, int(good), 1, len(b.variants) + 1))
    return _one(ratio(pieces))


# Shift


def jsd(one: Sequence[Any], other: Sequence[Any], base: str = "2") -> float:
    """Jensen-Shannon divergence of two distributions: the mean of the relative entropies to their middle."""
    total = 0.0
    for first, second in zip(one, other, strict=True):
        a, b = float(first), float(second)
        middle = (a + b) / 2
        if a > 0:
            total += a * math.log(a / middle) / 2
        if b > 0:
            total += b * math.log(b / middle) / 2
    return total if base == "e" else total / math.log(2)


def _vector(row: Row, labels: Sequence[str]) -> list[Any]:
    return [row["p"][label] for label in labels]


def _looked_at(data: Answers, only_right: bool) -> list[Bucket]:
    return [b for b in data.buckets if not only_right or right(b.original)]


def _chosen(bucket: Bucket, part: str) -> list[Row]:
    """The variants of a part: all, those that flipped, or those that kept the label."""
    flipped = {"flipped": True, "kept": False}
    chosen = []
    for row in bucket.variants:
        if part not in flipped or (row["pred"] != bucket.original["pred"]) == flipped[part]:
            chosen.append(row)
    return chosen


def jsd_pairs(data: Answers, base: str = "2", only_right: bool = False) -> Numbers:
    """Mean JSD of a variant's probabilities from its original's: all, flipped, kept, and flipped less kept."""
    found: Numbers = {}
    for part in ("all", "flipped", "kept"):
        pieces = []
        for b in _looked_at(data, only_right):
            rows = _chosen(b, part)
            first = _vector(b.original, data.labels)
            total = sum(jsd(first, _vector(row, data.labels), base) for row in rows)
            pieces.append((b, total, len(rows), len(rows)))
        found[part] = ratio(pieces)
    whole = found["all"]
    found["difference"] = difference(found["flipped"], found["kept"], whole.units, whole.answers)
    found["difference"].weights = whole.weights
    return found


def jsd_means(data: Answers, base: str = "2", only_right: bool = False) -> Numbers:
    """JSD of the mean distribution of variants from that of their originals, an original once for each variant."""
    size = len(data.labels)

    def combine(sums: Sequence[Any]) -> float:
        count = float(sums[-1])
        return jsd([one / count for one in sums[:size]], [one / count for one in sums[size:-1]], base)

    found = {}
    for part in ("all", "flipped", "kept"):
        pieces = []
        for b in _looked_at(data, only_right):
            rows = _chosen(b, part)
            originals = [len(rows) * one for one in _vector(b.original, data.labels)]
            variants = [sum((row["p"][label] for row in rows), Fraction(0)) for label in data.labels]
            pieces.append((b, [*originals, *variants, len(rows)], len(rows), len(rows)))
        found[part] = function(pieces, combine)
    return found


def sigma(data: Answers, only_right: bool = False) -> Numbers:
    """Mean standard deviation (ddof 0) of the probabilities: originals, variants, flipped and kept variants."""

    def deviation(row: Row) -> float:
        values = _vector(row, data.labels)
        mean = sum(values) / len(values)
        return math.sqrt(sum((one - mean) ** 2 for one in values) / len(values))

    buckets = _looked_at(data, only_right)
    found = {"originals": ratio((b, deviation(b.original), 1, 1) for b in buckets)}
    for part in ("variants", "flipped", "kept"):
        pieces = []
        for b in buckets:
            rows = _chosen(b, part)
            pieces.append((b, sum(deviation(row) for row in rows), len(rows), len(rows)))
        found[part] = ratio(pieces)
    return found


def _histogram(values: Iterable[Fraction], bins: int) -> list[int]:
    counts = [0] * bins
    for value in values:
        counts[min(int(value * bins), bins - 1)] += 1
    return counts


def _widest(first: Sequence[Any], second: Sequence[Any]) -> Any:
    """The largest difference of two cumulated histograms of relative frequencies."""
    widest = above = below = 0
    all_first, all_second = sum(first), sum(second)
    for one, other in zip(first, second, strict=True):
        above, below = above + one, below + other
        widest = max(widest, abs(above * all_second - below * all_first))
    return Fraction(widest) / (all_first * all_second)


def ks(data: Answers, bins: int = 100, only_right: bool = False) -> Numbers:
    """Largest difference of the distributions of the original label's probability, each original counted once."""
    pieces = []
    for b in _looked_at(data, only_right):
        if b.variants:
            label = b.original["pred"]
            before = _histogram([b.original["p"][label]], bins)
            after = _histogram([row["p"][label] for row in b.variants], bins)
            pieces.append((b, [*before, *after], len(b.variants), len(b.variants) + 1))
    return _one(function(pieces, lambda sums: _widest(sums[:bins], sums[bins:])))


def ks_split(data: Answers, bins: int = 100, only_right: bool = False) -> Numbers:
    """The same for all variants, those that flipped and those that did not, and the difference of the latter two."""
    found: Numbers = {}
    for part in ("all", "flipped", "kept"):
        pieces = []
        for b in _looked_at(data, only_right):
            rows, label = _chosen(b, part), b.original["pred"]
            if rows:
                before = _histogram([b.original["p"][label]], bins)
                after = _histogram([row["p"][label] for row in rows], bins)
                pieces.append((b, [*before, *after], len(rows), len(rows)))
        found[part] = function(pieces, lambda sums: _widest(sums[:bins], sums[bins:]))
    whole, first, second = found["all"], found["flipped"].value, found["kept"].value
    value = None if first is None or second is None else first - second
    found["difference"] = Number(value, whole.units, whole.answers, weights=whole.weights)  # no interval: no sides
    return found


def ks_labels(data: Answers, order: str = "", only_right: bool = False) -> Numbers:
    """Largest difference of the two mean distributions, cumulated over the labels in this order, or by name."""
    labels, found = order.split("+") if order else sorted(data.labels), {}
    for part in ("all", "flipped", "kept"):
        pieces = []
        for b in _looked_at(data, only_right):
            rows = _chosen(b, part)
            originals = [len(rows) * b.original["p"][label] for label in labels]
            variants = [sum((row["p"][label] for row in rows), Fraction(0)) for label in labels]
            pieces.append((b, [*originals, *variants], len(rows), len(rows)))
        found[part] = function(pieces, lambda sums: _widest(sums[: len(labels)], sums[len(labels) :]))
    return found


# Words


PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def words(text: str) -> list[str]:
    """Lower-cased words without ASCII punctuation."""
    return "".join(letter for letter in text if letter not in PUNCTUATION).lower().split()


def _edits(one: str, other: str) -> int:
    """Fewest insertions and deletions of letters."""
    before = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        now = [i]
        for j, second in enumerate(other, 1):
            now.append(before[j - 1] if letter == second else 1 + min(before[j], now[j - 1]))
        before = now
    return before[-1]


def setratio(one: Sequence[str], other: Sequence[str]) -> float:
    """Levenshtein.setratio: words are paired so that edits over letters are fewest; a word left over counts 1."""
    from scipy.optimize import linear_sum_assignment

    if not one and not other:
        return 1.0
    few, many = sorted((one, other), key=len)
    costs = [[_edits(a, b) / (len(a) + len(b)) for b in many] for a in few]
    total = float(len(many) - len(few))
    if few:
        for i, j in zip(*linear_sum_assignment(costs), strict=True):
            total += 2 * costs[i][j]
    return (len(one) + len(other) - total) / (len(one) + len(other))


def _of_texts(data: Answers, fields: Sequence[str], compare: Callable[[list[str], list[str]], float]) -> Numbers:
    """Mean over variants of the mean over the fields that the variant changed (all fields where it changed none)."""
    pieces = []
    for b in data.buckets:
        total = 0.0
        for row in b.variants:
            changed = [name for name in fields if row[name] != b.original[name]] or list(fields)
            total += sum(compare(words(b.original[name]), words(row[name])) for name in changed) / len(changed)
        pieces.append((b, total, len(b.variants), len(b.variants)))
    return _one(ratio(pieces))


def jaccard(data: Answers, fields: Sequence[str]) -> Numbers:
    """Shared words over all words."""
    return _of_texts(data, fields, lambda a, b: len(set(a) & set(b)) / len(set(a) | set(b)))


def token_overlap(data: Answers, fields: Sequence[str]) -> Numbers:
    """Share of the original's words that the variant has, too."""
    return _of_texts(data, fields, lambda a, b: sum(1 for word in a if word in b) / len(a))


def lexical_distance(data: Answers, fields: Sequence[str]) -> Numbers:
    """1 - Levenshtein.setratio of the words."""
    return _of_texts(data, fields, lambda a, b: 1 - setratio(a, b))


# Several models


def snr(models: Sequence[Answers]) -> Numbers:
    """Mean over standard deviation (ddof 0) of the models' accuracies on the originals, and both of them."""
    accuracies = [accuracy_original(data)[""].value for data in models]
    mean = sum(accuracies, Fraction(0)) / len(accuracies)
    variance = sum(((one - mean) ** 2 for one in accuracies), Fraction(0)) / len(accuracies)
    std = math.sqrt(variance)
    count = len(models)
    value = float(mean) / std if variance else None
    return {part: Number(one, count, count) for part, one in (("snr", value), ("mean", mean), ("std", std))}


def _side_by_side(models: Sequence[Answers]) -> list[list[Bucket]]:
    """Each problem as every model answered it."""
    found: dict[str, list[Bucket]] = {}
    for data in models:
        for bucket in data.buckets:
            found.setdefault(bucket.name, []).append(bucket)
    return list(found.values())


def _fails(bucket: Bucket, every: bool) -> bool:
    """Right before; wrong after in a variant, or in every one."""
    wrong = len(bucket.variants) - number_right(bucket)
    return right(bucket.original) and (wrong == len(bucket.variants) if every else wrong > 0)


def hard_cases(models: Sequence[Answers], every: bool = False) -> Numbers:
    """Of problems with a variant, those that every model gets right, and wrong in a variant (or in all)."""
    pieces = []
    for same in _side_by_side(models):
        if same[0].variants:
            hard = all(_fails(b, every) for b in same)
            pieces.append((same[0], int(hard), 1, len(same) * (len(same[0].variants) + 1)))
    return _one(ratio(pieces))


def hard_cases_over_runs(runs: Mapping[str, Sequence[Answers]]) -> Number:
    """Hard cases of models with several runs: per model in any of its runs, then for every model."""
    found: dict[str, list[bool]] = {}
    first: dict[str, Bucket] = {}
    for several in runs.values():
        for same in _side_by_side(several):
            if same[0].variants:
                first.setdefault(same[0].name, same[0])
                found.setdefault(same[0].name, []).append(any(_fails(b, False) for b in same))
    count = sum(len(several) for several in runs.values())
    pieces = []
    for name, hits in found.items():
        pieces.append((first[name], int(all(hits)), 1, count * (len(first[name].variants) + 1)))
    return ratio(pieces)


def never_right(models: Sequence[Answers]) -> Numbers:
    """Of problems with a variant, those none of whose variants any model answers right."""
    pieces = []
    for same in _side_by_side(models):
        if same[0].variants:
            never = all(number_right(b) == 0 for b in same)
            pieces.append((same[0], int(never), 1, len(same) * len(same[0].variants)))
    return _one(ratio(pieces))


def template_flips(models: Sequence[Answers]) -> Numbers:
    """Of all wordings and all pairs of models, how often the two answer differently: the templates of one model."""
    pieces = []
    for same in _side_by_side(models):
        rows = [{row["variant"]: row["pred"] for row in (b.original, *b.variants)} for b in same]
        pairs = [(one, other) for i, one in enumerate(rows) for other in rows[i + 1 :]]
        differ = sum(one[name] != other[name] for one, other in pairs for name in one)
        pieces.append((same[0], differ, len(pairs) * len(rows[0]), len(rows) * len(rows[0])))
    return _one(ratio(pieces))


def label_mass(data: Answers) -> Numbers:
    """The mean of what the labels had of the probability, over the answers of which it is known."""
    pieces = []
    for b in data.buckets:
        known = [row["mass"] for row in (b.original, *b.variants) if row["mass"] is not None]
        pieces.append((b, sum(known, Fraction(0)), len(known), len(known)))
    return _one(ratio(pieces))


def unreadable(data: Answers) -> Numbers:
    """Of all answers, those that could not be read."""
    pieces = []
    for b in data.buckets:
        rows = [row for row in (b.original, *b.variants) if row is not None]
        pieces.append((b, sum(row["pred"] == "unreadable" for row in rows), len(rows), len(rows)))
    return _one(ratio(pieces))


# What being the original does (METHODS 7.3)


def turns(bucket: Bucket) -> list[Bucket]:
    """The bucket as many times as it has wordings, each of them once as the original."""
    wordings = [bucket.original, *bucket.variants]
    return [
        Bucket(bucket.name, bucket.cluster, one, wordings[:i] + wordings[i + 1 :]) for i, one in enumerate(wordings)
    ]


def baseline(data: Answers, metric: Callable[[Answers], Numbers]) -> Number:
    """A rate in which every wording of a bucket takes its turn as the original, 1 / (n + 1) of the time."""
    pieces = []
    for b in data.buckets:
        above = below = Fraction(0)
        for turn in turns(b):
            for one, weight in metric(Answers([turn], data.labels))[""].totals.values():
                above, below = above + one / (len(b.variants) + 1), below + weight / (len(b.variants) + 1)
        pieces.append((b, above, below, 0))
    return ratio(pieces)


def mean_over_turns(data: Answers, metric: Callable[[Answers], Numbers], part: str) -> Any:
    """Any metric of one bucket, averaged over the turns that have a value."""
    values = [metric(Answers([turn], data.labels))[part].value for turn in turns(data.buckets[0])]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# Worst of k, beyond the variants at hand


def none_of(k: int, sums: Sequence[Any]) -> Any:
    """Chance that none of k wordings of a problem fails, where the problems' rates follow a beta distribution.

    Sums over problems: of f/n, of f(f - 1)/(n(n - 1)), the number of problems with such pairs, the number of all. m is
    the mean of the first, c (at most 1) the correlation of two variants of a problem: the mean of the second is
    m^2 + c m(1 - m). The chance is the product over i < k of ((1 - m)(1 - c) + ic) / ((1 - c) + ic), none below 0;
    where c is negative, the logarithms of the factors from i = 2 on go on in a straight line with c.
    """
    mean, both = sums[0] / sums[3], sums[1] / sums[2]
    if mean in (0, 1):
        return 1 - mean
    c = min(float((both - mean**2) / (mean * (1 - mean))), 1.0)
    m = float(mean)
    product = 1.0
    for i in range(k):
        if c < 0 and i >= 2:
            product *= (1 - m) * math.exp(c * i * m / (1 - m))
        elif i:  # the first factor is 1 - m whatever c is
            product *= max((1 - m) * (1 - c) + i * c, 0.0) / ((1 - c) + i * c)
        else:
            product *= 1 - m
    return product


def _worst(
    data: Answers, counted: Sequence[Bucket], fails: Callable[[Bucket], int], k: int, original: int, some: bool
) -> Numbers:
    """The chance of none or of some in k; no interval where k is more than twice the mean number of variants."""
    pieces = []
    for b in counted:
        n, f = len(b.variants), fails(b)
        if n == 1:
            pieces.append((b, [Fraction(f), Fraction(0), 0, 1], 1, n + original))
        elif n:
            pieces.append((b, [Fraction(f, n), Fraction(f * (f - 1), n * (n - 1)), 1, 1], 1, n + original))
    if not any(adds[2] for _, adds, _, _ in pieces):
        known = any(len(b.variants) > 1 for b in data.buckets)  # else no problem of the table counts
        return _one(Number(None, len(pieces) * known, sum(one[3] for one in pieces) * known))
    number = function(pieces, lambda sums: 1 - none_of(k, sums) if some else none_of(k, sums))
    sizes = [len(b.variants) for b in data.buckets if b.variants]
    number.bare = k * len(sizes) > 2 * sum(sizes)
    return _one(number)


def accuracy_worst(data: Answers, k: int = 20) -> Numbers:
    """Share of problems all of whose k wordings would be answered right."""
    return _worst(data, data.buckets, lambda b: len(b.variants) - number_right(b), k, 0, False)


def flip_worst(data: Answers, k: int = 20) -> Numbers:
    """Share of problems of whose k wordings one or more would flip."""
    return _worst(data, data.buckets, differ, k, 1, True)


def r_r_worst(data: Answers, k: int = 20) -> Numbers:
    """The same for the problems answered correctly."""
    return _worst(data, _correct(data), differ, k, 1, True)


# Noise (METHODS 8.1): rows have `again`, what the same was answered when it was asked again, by way


def _asked(row: Row, way: str) -> list[str | None]:
    """All answers of a way, time by time; the first were asked as usual."""
    again = row["again"]
    way = way or ("usual" if "usual" in again else min(again))
    return [*([row["pred"]] if way == "usual" else []), *again.get(way, [])]


def _noise(bucket: Bucket, way: str) -> tuple[Fraction, Fraction, int]:
    """Sums over (original, variant): how often answers of different times differ, the noise of both, and the pairs."""
    differ, noise, count = Fraction(0), Fraction(0), 0
    for row in bucket.variants:
        both = [
            (one, other)
            for one, other in zip(_asked(bucket.original, way), _asked(row, way), strict=True)
            if one is not None and other is not None
        ]
        if len(both) < 2:
            continue
        count += 1
        pairs = [(i, j) for i in range(len(both)) for j in range(len(both)) if i != j]
        for i, j in pairs:
            differ += Fraction(both[i][0] != both[j][1], len(pairs))
            noise += Fraction((both[i][0] != both[j][0]) + (both[i][1] != both[j][1]), 2 * len(pairs))
    return differ, noise, count


def repeat_flips(data: Answers, way: str = "") -> Numbers:
    """The noise floor: of the pairs of original and variant, the mean chance that asking again changes the answer."""
    found = [(b, _noise(b, way)) for b in data.buckets]
    return _one(ratio((b, noise, count, len(b.variants)) for b, (_, noise, count) in found))


def flip_rate_net(data: Answers, way: str = "") -> Numbers:
    """Flips between different times, less the noise floor."""
    found = [(b, _noise(b, way)) for b in data.buckets]
    number = function(
        ((b, sums, sums[2], len(b.variants)) for b, sums in found), lambda sums: (sums[0] - sums[1]) / sums[2]
    )
    number.noisy = {b.cluster for b, (_, noise, _) in found if noise > 0}
    return _one(number)


def way_flips(data: Answers, way: str = "cold") -> Numbers:
    """Of all wordings, how often an answer asked in a way differs from one asked as usual."""

    def of_bucket(bucket: Bucket) -> Piece:
        total, count = Fraction(0), 0
        for row in (bucket.original, *bucket.variants):
            usual, other = ([one for one in _asked(row, name) if one is not None] for name in ("usual", way))
            if usual and other:
                differ = sum(one != two for one in usual for two in other)
                total, count = total + Fraction(differ, len(usual) * len(other)), count + 1
        return bucket, total, count, len(bucket.variants) + 1

    return _one(ratio(of_bucket(b) for b in data.buckets))


# Counts, intervals and tests (METHODS 7)


def kish(weights: Iterable[Any]) -> float:
    """(sum w)^2 / sum w^2."""
    total = squares = 0.0
    for weight in weights:
        total += float(weight)
        squares += float(weight) ** 2
    return total**2 / squares if squares else 0.0


def wilson(share: float, n: float, q: float) -> tuple[float, float]:
    """Wilson's interval of a share of n, with the quantile q."""
    middle = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * math.sqrt(max(share * (1 - share) / n + q * q / (4 * n * n), 0.0))
    return middle - half, middle + half


def influences(number: Number) -> dict[str, float]:
    """What the value would lose without each cluster, times the number of clusters."""
    if not number.moves:
        number.moves = _influences(number)
    return number.moves


def _influences(number: Number) -> dict[str, float]:
    groups = {cluster: [float(one) for one in sums] for cluster, sums in number.totals.items()}
    sums = [sum(column) for column in zip(*groups.values(), strict=True)]
    size, value = len(groups), float(number.value)
    found = {}
    for g, one in groups.items():
        try:
            without = number.combine([whole - own for whole, own in zip(sums, one, strict=True)])
        except (ZeroDivisionError, TypeError):
            without = None
        moved = value - (number.bounds[0] if without is None or math.isnan(float(without)) else float(without))
        found[g] = 0.0 if abs(moved) <= 1e-12 else size * moved
    return found


def caps(number: Number, tail: float) -> tuple[float, float]:
    """A share is at most that of the clusters with the event (Clopper and Pearson), times the largest's weight.

    Of what is a mean of the clusters' own values, that is, each weighed by its denominator; else there is no bound.
    """
    from scipy.special import betaincinv

    least, most = number.bounds
    weights = {g: float(number.weights.get(g, one[1] if len(one) == 2 else 0)) for g, one in number.totals.items()}
    own = {}
    for g, one in number.totals.items():
        try:
            found = number.combine([float(x) for x in one])
        except (ZeroDivisionError, TypeError):
            found = None
        known = found is not None and not math.isnan(float(found))
        own[g] = (float(found) - least) / (most - least) if known else 0.0
    whole, n = sum(weights.values()), len(own)
    value = (float(number.value) - least) / (most - least)
    if number.uncapped or not whole or abs(sum(own[g] * weights[g] for g in own) / whole - value) > 1e-9:
        return -math.inf, math.inf
    largest = max(weights.values()) * n / whole
    have, lack = sum(one > 1e-9 for one in own.values()), sum(one < 1 - 1e-9 for one in own.values())
    upper = [float(betaincinv(k + 1, n - k, tail)) * largest if k < n else math.inf for k in (lack, have)]
    return 1 - upper[0], upper[1]


def student(tail: float, df: float) -> float:
    """Student's quantile."""
    from scipy.special import stdtrit

    return float(stdtrit(df, tail))


def error_and_df(moves: Sequence[float]) -> tuple[float, float]:
    """METHODS 7.1: the squared standard error of influences, and the degrees of freedom by their kurtosis."""
    size = len(moves)
    second = sum(one**2 for one in moves) / size
    if size < 2 or second == 0:
        return 0.0, max(size - 1.0, 1.0)
    kurtosis = sum(one**4 for one in moves) / size / second**2
    df = size - 1.0
    if kurtosis > 1:
        df = max(1.0, min(df, 2 * size / (kurtosis - 1)))
    return second / (size - 1), df


def share_interval(number: Number, confidence: float = 0.95) -> tuple[float, float] | None:
    """METHODS 7.1: Wilson on the effective sample size, with its t quantile and its floor; None for one cluster."""
    from scipy.special import ndtri

    size = len(number.totals)
    if number.value is None or size < 2 or number.bare:
        return None
    least, most = number.bounds
    value, tail = (float(number.value) - least) / (most - least), (1 + confidence) / 2
    z = float(ndtri(tail))
    error, df = error_and_df([one / (most - least) for one in influences(number).values()])
    if value <= 0 or value >= 1 or error < 1e-18:
        low, high = wilson(min(max(value, 0.0), 1.0), size, z)
    else:
        low, high = wilson(value, value * (1 - value) / error, student(tail, df))
        below, above = caps(number, tail)
        low, high = max(low, below), min(high, above)
    low, high = min(low, wilson(1.0, size, z)[0]), max(high, wilson(0.0, size, z)[1])
    return least + (most - least) * low, least + (most - least) * high


def net_interval(number: Number, confidence: float = 0.95) -> tuple[float, float] | None:
    """Of a share less a noise floor: the p for which the distance to the value is q standard errors.

    The squared error is that of noise, whatever p is, and that of a share, p (1 - p) / n. Upper end: as much as may be
    is the share's, which is v (1 - v) over the clusters. Lower end: noise is what the noisy clusters contribute.
    Found by halving.
    """
    from scipy.special import ndtri

    size = len(number.totals)
    if number.value is None or size < 2:
        return None
    value, tail = float(number.value), (1 + confidence) / 2
    z, moves = float(ndtri(tail)), influences(number)
    error, df = error_and_df(list(moves.values()))
    q = student(tail, df) if error > 1e-18 else z
    spread = max(value, 0.0) * (1 - max(value, 0.0))

    def solve(noise: float, n: float, start: float, end: float) -> float:
        for _ in range(200):
            p = (start + end) / 2
            near = (value - p) ** 2 <= q * q * (noise + p * (1 - p) / n)
            start, end = (p, end) if near else (start, p)
        return start

    of_share = min(error, spread / size)
    n = spread / error if 1e-18 < error < spread / size else size
    edge = max(value, 0.0)
    reached = (value - edge) ** 2 <= q * q * (error - of_share + edge * (1 - edge) / n) + 1e-30
    high = max(solve(error - of_share, n, edge, 1.0) if reached else 0.0, z * z / (size + z * z))
    squares = sum(one**2 for one in moves.values())
    noise = error * sum(moves[g] ** 2 for g in moves if g in number.noisy) / squares if squares else 0.0
    low = value - q * math.sqrt(noise if value > 0 else error)
    if low > 0:
        rest = error - noise
        low = (
            value
            if rest <= 1e-18 and noise == 0
            else solve(noise, spread / rest if rest > 1e-18 else math.inf, value, 0.0)
        )
    return max(min(low, size / (size + z * z)), -1.0), min(high, 1.0)


def interval(number: Number, confidence: float = 0.95) -> tuple[float, float] | None:
    """Of a share, of one less a noise floor, or of a difference by its two sides."""
    if number.noisy is not None:
        return net_interval(number, confidence)
    if number.sides:
        return difference_interval(*number.sides, confidence)
    return share_interval(number, confidence)


def moves_of(number: Number) -> dict[str, float]:
    """What each cluster moves the value by."""
    if number.sides:
        return apart(moves_of(number.sides[0]), moves_of(number.sides[1]))
    return {g: one / len(number.totals) for g, one in influences(number).items()}


def apart(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """What each cluster moves a difference by: one that has weight in one side only moves that one."""
    found = dict(first)
    for g, one in second.items():
        found[g] = found.get(g, 0.0) - one
    return found


def correlation(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Of two estimates: influences multiplied over the clusters that both have, over the spread of each; 0 if constant.

    A cluster that only one of them has moves that one alone, so it adds to its spread and not to what they share.
    """
    across = sum(one * second[g] for g, one in first.items() if g in second)
    spread = math.sqrt(sum(one**2 for one in first.values()) * sum(one**2 for one in second.values()))
    return across / spread if spread > 1e-14 else 0.0


def difference_interval(
    first: Number, second: Number, confidence: float = 0.95, paired: bool = True
) -> tuple[float, float] | None:
    """METHODS 7.2: MOVER on the ends of the two shares, with the signed correlation of their influences.

    Never narrower than the t interval of the difference itself, whose influences are those of the first less those of
    the second; of two samples that share nothing, the squared errors add, with Satterthwaite's degrees of freedom.
    """
    one, other = interval(first, confidence), interval(second, confidence)
    if one is None or other is None:
        return None
    a, b = float(first.value), float(second.value)
    moves = moves_of(first), moves_of(second)
    r = correlation(*moves) if paired else 0.0

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(x * x + y * y - 2 * r * x * y, 0.0))

    half = t_half(*moves, confidence, paired)
    low = min(a - b - reach(a - one[0], other[1] - b), a - b - half)
    high = max(a - b + reach(one[1] - a, b - other[0]), a - b + half)
    most = 2.0 if first.sides or first.noisy is not None else max(first.bounds[1] - first.bounds[0], 1.0)
    return (max(low, -most), min(high, most)) if high > low else None


def t_half(first: Mapping[str, float], second: Mapping[str, float], confidence: float, paired: bool) -> float:
    """Half the width of the t interval of a difference, from what each cluster moves its two sides by."""
    if paired:
        both = apart(first, second)
        error, df = error_and_df([one * len(both) for one in both.values()])
    else:
        (one, m), (other, n) = (error_and_df([x * len(each) for x in each.values()]) for each in (first, second))
        error, df = one + other, m
        if error:
            df = error**2 / (one**2 / m + other**2 / n)
    return student((1 + confidence) / 2, df) * math.sqrt(error)


def difference_level(first: Number, second: Number, paired: bool = True) -> float:
    """The least level at which the interval of the difference leaves out 0, found by halving."""
    low, high = 0.0, 1.0
    for _ in range(24):
        level = (low + high) / 2
        ends = difference_interval(first, second, 1 - level, paired)
        low, high = (low, level) if ends[0] > 0 or ends[1] < 0 else (level, high)
    return (low + high) / 2


@dataclass
class Crossed:
    """Mean and variances of values[model][problem]: over models, over problems, and of the rest."""

    mean: float
    over_models: float
    over_problems: float
    rest: float
    models: int
    problems: int

    @property
    def variance(self) -> float:
        """METHODS 7.4: V = max(Vm + Vp - Vresid, Vm, Vp)."""
        return max(self.over_models + self.over_problems - self.rest, self.over_models, self.over_problems)

    @property
    def t(self) -> float:
        """The mean over its standard error."""
        return self.mean / math.sqrt(self.variance)


def crossed(values: Sequence[Sequence[float]]) -> Crossed:
    """Models and problems are both drawn: what varies with each, and with neither alone."""
    m, n = len(values), len(values[0])
    mean = sum(sum(row) for row in values) / (m * n)
    rows = [sum(row) / n for row in values]
    columns = [sum(row[j] for row in values) / m for j in range(n)]
    over_models = sum((one - mean) ** 2 for one in rows) / (m - 1) / m
    over_problems = sum((one - mean) ** 2 for one in columns) / (n - 1) / n
    rest = 0.0
    for i in range(m):
        for j in range(n):
            rest += (values[i][j] - rows[i] - columns[j] + mean) ** 2
    return Crossed(mean, over_models, over_problems, rest / ((m - 1) * (n - 1)) / (m * n), m, n)


def satterthwaite_p(one: Crossed) -> float:
    """METHODS 7.4: two-sided p of t with Satterthwaite's degrees of freedom."""
    from scipy.stats import t

    m, n = one.models - 1, one.problems - 1
    if one.variance == one.over_models:
        df = float(m)
    elif one.variance == one.over_problems:
        df = float(n)
    else:
        df = one.variance**2 / (one.over_models**2 / m + one.over_problems**2 / n + one.rest**2 / (m * n))
    return 2 * float(t.sf(abs(one.t), df))


def cochran_cox(one: Crossed, level: float) -> float:
    """The mean of Student's two quantiles, weighted by the variances over models and over problems."""
    first, second = (student(1 - level / 2, df) for df in (one.models - 1, one.problems - 1))
    return (one.over_models * first + one.over_problems * second) / (one.over_models + one.over_problems)


def cochran_cox_p(one: Crossed) -> float:
    """The level at which |t| is the weighted quantile."""
    low, high = 0.0, 1.0
    for _ in range(60):
        level = (low + high) / 2
        low, high = (low, level) if cochran_cox(one, level) < abs(one.t) else (level, high)
    return (low + high) / 2


def crossed_interval(one: Crossed, level: float = 0.05) -> tuple[float, float]:
    """The mean and as many standard errors as the weighted quantile says, cut to what a difference of shares can be."""
    half = cochran_cox(one, level) * math.sqrt(one.variance)
    return max(one.mean - half, -1.0), min(one.mean + half, 1.0)


def weighted_average(values: Iterable[tuple[Any, int]]) -> Any:
    """Values of several data sets, weighted by how many problems each has."""
    total: Any = 0
    size = 0
    for value, count in values:
        total, size = total + value * count, size + count
    return total / size
