"""A share among sound variants, from verdicts of people on some of them and a judge's scores of all.

Of N variants, f says whether one counts (a flip), s whether people find it sound (known of a sample), h how sound a
judge finds it, from 0 to 1. The share F of counted ones among sound ones is A / B with

    A = l mean(f h) + mean over the sample of f (s - l h),   B the same without f,

the sample weighed by the inverse of its probabilities (prediction-powered inference; Angelopoulos, Duchi and Zrnic
2023). For l = 0 people decide alone. Whatever l and the judge, F is consistent; l in [0, 1] is chosen to make its error
small. Without a judge h = 1, and what is gained is that all flips are known. The interval is that of a share of
clusters (`intervals`), from the influences of clusters on A - F B.

What the plain method gets wrong with few verdicts, seen in simulations (`python -m benchmarks people`): where each of a
handful of judged flips is found as the judge said, the estimated error is nearly 0. So both the choice of l and the
error count one verdict more in which the judge was wrong, on a flip and on another variant: as l^2 times the mean
square of what a judged variant contributes by its score. That term is 0 for people alone.
"""

from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from .bootstrap import Array
from .intervals import degrees_of_freedom, share_ends, slopes

#: What is summed over the variants of a cluster. `w` is the weight of a verdict, 0 where there is none; the last four
#: are of judged variants that count, and of those that do not: how many, and the sums of (w h)^2.
COLUMNS = ("n", "f", "h", "fh", "w", "ws", "wfs", "wh", "wfh", "hits", "hit_squares", "others", "other_squares")
#: Verdicts against the judge that are added to those that were seen, of each kind.
AGAINST = 1.0
#: How often the rate and the trust in the judge are computed in turn; they hardly change after the third time.
_TURNS = 5


class Powered(NamedTuple):
    """A share among sound variants with its interval; `trust` is l, `error` its squared standard error.

    `floor` is the squared error that would be left if all variants were judged by people.
    """

    value: Array
    low: Array
    high: Array
    trust: Array
    error: Array
    floor: Array


def batch_weights(probability: Array, batch: Array, size: int) -> Array:
    """The weight of each verdict: how many of all `size` variants it stands for; they sum to `size`.

    Within a batch, variants weigh as the inverse of their probability to be in it, and stand for all that no earlier
    batch has; those that earlier batches have stand for themselves. So each batch gives an estimate of its own, and
    they are averaged by their numbers of verdicts (Des Raj 1956; Zrnic and Candes 2024). Where no probability is known
    (NaN), variants of a batch weigh alike. Probabilities are those of having a verdict: of a batch that is half done,
    half of those of being in it.

    >>> batch_weights(np.array([0.5, 0.25, np.nan]), np.array([1, 1, 2]), 12).round(6).tolist()
    [2.5, 4.5, 5.0]
    """
    weight, before = np.zeros(len(batch)), np.zeros(len(batch), dtype=bool)
    for number in np.unique(batch):
        own = batch == number
        equal = max(size - before.sum(), own.sum()) / own.sum()
        share = own.sum() / len(batch)
        weight[own] += share * np.where(np.isnan(probability[own]), equal, 1 / probability[own])
        weight[before] += share
        before |= own
    return np.asarray(weight * (size / weight.sum()))


def cluster_sums(hits: Array, judge: Array, sound: Array, weight: Array, cluster: Array) -> Array:
    """The rows of `COLUMNS`, one for each cluster, from an entry for each variant; `sound` is NaN where unknown.

    `hits` are 0 or 1, `cluster` are numbers from 0 on.
    """
    asked = ~np.isnan(sound)
    w, s = np.where(asked, weight, 0.0), np.where(asked, sound, 0.0)
    others, squares = asked * (1 - hits), (w * judge) ** 2
    values = (np.ones(len(hits)), hits, judge, hits * judge, w, w * s, w * hits * s, w * judge, w * hits * judge,
              asked * hits, hits * squares, others, others * squares)  # fmt: skip
    size = int(cluster.max()) + 1 if len(cluster) else 0
    return np.stack([np.bincount(cluster, value, size) for value in values], axis=1)


def powered_share(rows: Array, confidence: float = 0.95, trust: float | None = None) -> Powered:
    """The share and its interval, from sums by cluster; several data sets may be stacked along the first axes.

    `trust` fixes l: 0 is people alone.

    >>> hits, sound = np.array([1.0, 0, 0, 0] * 20), np.where(np.arange(80) % 3 == 0, 1.0, np.nan)
    >>> sums = cluster_sums(hits, np.ones(80), sound, np.full(80, 80 / 27), np.arange(80) // 2)
    >>> for trust in (0.0, None):
    ...     found = powered_share(sums, trust=trust)
    ...     print(f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}], trust {found.trust:.2f}")
    0.259 [0.126, 0.460], trust 0.00
    0.251 [0.166, 0.361], trust 0.88
    """
    sums = _by_name(rows.sum(axis=-2))
    if not (sums["ws"] > 0).any():
        raise BadInput("no variant was found sound", where="the verdicts", fix="judge more variants")
    each = _by_name(rows)
    chosen = np.full(rows.shape[:-2], trust or 0.0)
    value = _share(sums, chosen)
    for _ in range(_TURNS if trust is None else 0):
        own, judged = _influences(each, sums, value)
        square = (judged**2).sum(axis=-1) + _against(sums, value)
        with np.errstate(invalid="ignore", divide="ignore"):
            best = np.clip(0 - (own * judged).sum(axis=-1) / square, 0, 1)  # no -0.0
        chosen = np.where(np.isfinite(square) & (square > 0), best, 0.0)
        chosen = np.where(_sound_sum(sums, chosen) > 0, chosen, 0.0)
        value = _share(sums, chosen)
    return _with_interval(each, sums, value, chosen, confidence)


def _by_name(rows: Array) -> dict[str, Array]:
    return {name: rows[..., place] for place, name in enumerate(COLUMNS)}


def _sound_sum(sums: dict[str, Array], trust: Array) -> Array:
    """B: how many variants are sound."""
    return np.asarray(sums["ws"] + trust * (sums["h"] - sums["wh"]))


def _share(sums: dict[str, Array], trust: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = (sums["wfs"] + trust * (sums["fh"] - sums["wfh"])) / _sound_sum(sums, trust)
    return np.asarray(np.clip(whole, 0, 1))


def _influences(each: dict[str, Array], sums: dict[str, Array], value: Array) -> tuple[Array, Array]:
    """What each cluster adds to A - F B, up to the scale: by verdicts alone, and for each unit of trust in the judge.

    Verdicts are centred by their weighted mean, because the weights sum to the number of variants.
    """
    rate, size = value[..., None], sums["n"][..., None]

    def centred(count: str, hits: str, whole: str) -> Array:
        mean = (sums[hits][..., None] - rate * sums[whole][..., None]) / size
        return np.asarray(each[hits] - rate * each[whole] - mean * each[count])

    return centred("w", "wfs", "ws"), centred("n", "fh", "h") - centred("w", "wfh", "wh")


def _against(sums: dict[str, Array], value: Array) -> Array:
    """What one verdict more against the judge would add, on a hit and on another; infinite where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        hits, others = sums["hit_squares"] / sums["hits"], sums["other_squares"] / sums["others"]
    total = (1 - value) ** 2 * hits + value**2 * others
    return np.asarray(np.where((sums["hits"] > 0) & (sums["others"] > 0), AGAINST * total, np.inf))


def _with_interval(
    each: dict[str, Array], sums: dict[str, Array], value: Array, trust: Array, confidence: float
) -> Powered:
    own, judged = _influences(each, sums, value)
    scale = _sound_sum(sums, trust)
    influence = (own + trust[..., None] * judged) / scale[..., None]
    squares, fourths = (influence**2).sum(axis=-1), (influence**4).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        against = np.where(trust > 0, trust**2 * _against(sums, value) / scale**2, 0.0)
    sound = (each["ws"] > 0).sum(axis=-1)
    there = np.where(trust > 0, (each["n"] > 0).sum(axis=-1), sound)
    freedom = degrees_of_freedom(there, squares, fourths)
    error = (squares + against) * there / np.maximum(there - 1, 1)
    low, high = share_ends(value, (error, freedom, sound), confidence)
    return Powered(value, low, high, trust, error, _floor(each, sums, value, scale))


def _floor(each: dict[str, Array], sums: dict[str, Array], value: Array, scale: Array) -> Array:
    """The squared error if people had judged everything, each kind as sound as now."""
    with np.errstate(invalid="ignore", divide="ignore"):
        hits = np.nan_to_num(sums["wfs"] / sums["f"])
        others = np.nan_to_num((sums["ws"] - sums["wfs"]) / (sums["n"] - sums["f"]))
    hits, others, rate = np.clip(hits, 0, 1)[..., None], np.clip(others, 0, 1)[..., None], value[..., None]
    rest = each["n"] - each["f"]
    mean = each["f"] * (1 - rate) * hits - rest * rate * others
    spread = each["f"] * (1 - rate) ** 2 * hits * (1 - hits) + rest * rate**2 * others * (1 - others)
    return np.asarray((mean**2 + spread).sum(axis=-1) / scale**2)


def verdicts_to_halve(found: Powered, verdicts: int, variants: int) -> int | None:
    """How many more verdicts would halve the interval, drawn as those so far; None where no number of them would.

    The squared error is a part that verdicts do not change, which more problems would, and one that falls as 1/n.
    """
    error, floor = float(found.error), float(found.floor)
    if error <= 0:
        return min(2 * verdicts, variants) - verdicts or None
    if verdicts >= variants or error / 4 <= floor:
        return None
    falling = max(error - floor, 0.0) / (1 / verdicts - 1 / variants)
    return max(1, int(np.ceil(1 / ((error / 4 - floor) / falling + 1 / variants))) - verdicts)


# Beside it: two strata, and bounds


def two_strata(
    hits: Array, judge: Array, sound: Array, weight: Array, cluster: Array, confidence: float = 0.95
) -> tuple[float, float, float]:
    """The share from the sound parts q1 and q0 of what counts and of the rest: f q1 / (f q1 + (1 - f) q0).

    Each part is what the judge accepts, corrected by its sensitivity and specificity on the variants that people judged
    (Rogan and Gladen 1978); where the judge cannot tell sound from unsound there, it is the part that people accept.
    Gives the value and both ends of its interval; NaN where one of the two kinds has no verdict.
    """
    accepted, asked = (judge >= 0.5).astype(float), ~np.isnan(sound)
    w, s = np.where(asked, weight, 0.0), np.where(asked, sound, 0.0)
    columns = []
    for kind in (1 - hits, hits):
        cells = (kind * accepted, kind * (1 - accepted))
        columns += [kind, kind * accepted, *(w * s * cell for cell in cells), *(w * (1 - s) * cell for cell in cells)]
    size = int(cluster.max()) + 1
    rows = np.stack([np.bincount(cluster, column, size) for column in columns], axis=1)
    sums = rows.sum(axis=0)
    corrected = tuple(_tells_apart(sums[start : start + 6]) for start in (0, 6))

    def combine(totals: Array) -> Array:
        others, own = (_sound_part(totals[..., start : start + 6], corrected[start // 6]) for start in (0, 6))
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = totals[..., 6] * own
            return np.asarray(counted / (counted + totals[..., 0] * others))[..., None]

    value = combine(sums)
    influence = rows @ slopes(combine, sums)[:, 0]
    judged = (np.bincount(cluster, w, size) > 0).sum()
    squares, fourths = ((influence**power).sum() for power in (2, 4))
    spread = (squares * size / max(size - 1, 1), degrees_of_freedom(size, squares, fourths), judged)
    low, high = share_ends(value[0], spread, confidence)
    return float(value[0]), float(low), float(high)


def _tells_apart(sums: Array) -> bool:
    """Whether a judge finds sound variants sound clearly more often than unsound ones."""
    _, _, right, missed, wrong, found = sums
    if not (right + missed) or not (wrong + found):
        return False
    return bool(right / (right + missed) + found / (wrong + found) - 1 > 0.2)


def _sound_part(sums: Array, corrected: bool) -> Array:
    whole, accepted, right, missed, wrong, found = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        if not corrected:
            return np.asarray((right + missed) / (right + missed + wrong + found))
        sensitivity, specificity = right / (right + missed), found / (wrong + found)
        part = (accepted / whole + specificity - 1) / (sensitivity + specificity - 1)
    return np.asarray(np.clip(part, 0, 1))


def share_bounds(share: float, unsound: float) -> tuple[float, float]:
    """What a share may be among sound variants if at most this part of all is unsound (Horowitz and Manski 1995).

    >>> [round(end, 3) for end in share_bounds(0.2, 0.1)]
    [0.111, 0.222]
    """
    return max(0.0, (share - unsound) / (1 - unsound)), min(1.0, share / (1 - unsound))
