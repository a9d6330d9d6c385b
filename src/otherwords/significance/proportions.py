"""Proportions: the interval of a share, many shares shrunk, the matched odds ratio, and tests of counts.

The IE test's paper names McNemar and Cochran's Q as alternatives to its paired t. All of them ask about *accuracy*:
answers that flip both ways cancel. Equivalence is tested the other way round, with TOST.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UnknownName, setting


def wald(k: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The textbook interval share +- z * sqrt(share * (1 - share) / n), cut at 0 and 1.

    Papers print it, so it is here; near 0 and 1 it is too narrow, and at 0 and n it has no width. `wilson` is the
    better one. Both take a k that is not whole, such as 400 times a printed share. Sound substitutions in MultiNLI's
    test set (Salvatore et al. 2023, Table 16), 80.5 % of 400:

    >>> low, high = wald(322, 400)
    >>> print(f"{low:.1%} to {high:.1%}")
    76.6% to 84.4%
    """
    share, z = _checked(k, n, confidence)
    half = z * math.sqrt(share * (1 - share) / n)
    return max(0.0, share - half), min(1.0, share + half)


def wilson(k: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of Wilson (1927): all shares that a test at this level would not reject.

    >>> low, high = wilson(322, 400)
    >>> print(f"{low:.1%} to {high:.1%}")
    76.3% to 84.1%
    """
    share, z = _checked(k, n, confidence)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the bound is 0 or 1 exactly; the difference of two roots would miss it by a rounding error.
    low = 0.0 if k == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if k == n else min(1.0, (centre + half) / scale)
    return low, high


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson (1934): it covers at least so often, whatever the share is.

    >>> low, high = clopper_pearson(2, 12)
    >>> print(f"{low:.4f} to {high:.4f}")
    0.0209 to 0.4841
    """
    from scipy.special import betaincinv

    _checked(k, n, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


@dataclass(frozen=True)
class OddsRatio:
    """How many times as often one of two matched answers is the right one; `value` is NaN where they never differ."""

    value: float
    low: float
    high: float


def odds_ratio(n10: int, n01: int, confidence: float = 0.95) -> OddsRatio:
    """The matched odds ratio n10 / n01, with its exact interval: that of the share n10 of n10 + n01, as odds.

    Items that both get right, or none, say nothing about it (the conditional estimate). It is infinite where n01 = 0;
    without any change there is no estimate, and the interval is from 0 to infinity.

    >>> ratio = odds_ratio(10, 2)
    >>> print(f"{ratio.value:.1f}, {ratio.low:.2f} to {ratio.high:.1f}")
    5.0, 1.07 to 46.9
    """
    _refuse_negative(n10=n10, n01=n01)
    if n10 + n01 == 0:
        return OddsRatio(math.nan, 0.0, math.inf)
    low, high = clopper_pearson(n10, n10 + n01, confidence)
    return OddsRatio(_odds(n10, n01), _odds(low, 1 - low), _odds(high, 1 - high))


def _odds(share: float, rest: float) -> float:
    return share / rest if rest else math.inf


def _checked(k: float, n: int, confidence: float) -> tuple[float, float]:
    from scipy.special import ndtri  # late: most scores need no such interval

    if n < 1:
        raise BadInput(f"found {n} items", field="n", fix="give at least one item")
    if not 0 <= k <= n:
        raise BadInput(f"found {k} of {n}", field="k", fix="give a count from 0 to n")
    if not 0 < confidence < 1:
        raise BadInput(f"found {confidence}", field="confidence", fix="give a number between 0 and 1, such as 0.95")
    return k / n, float(ndtri((1 + confidence) / 2))


# Tests of counts


@dataclass(frozen=True)
class Result:
    """A test's statistic and its p-value."""

    statistic: float
    p: float


@dataclass(frozen=True)
class Equivalence:
    """The drop in accuracy, and the p-value of "it is at least the margin, in one direction or the other"."""

    difference: float
    margin: float
    p: float


def mcnemar(n10: int, n01: int, method: str = "exact") -> Result:
    """Are right-to-wrong changes as frequent as wrong-to-right ones? Two-sided; from the two counts.

    `exact` is the binomial test, and its statistic the smaller count; `mid-p` counts what was seen by half, which is
    less cautious with few changes and hardly ever too bold (Fagerland, Lydersen and Laake 2013); `chi2` is
    (n10 - n01)^2 / (n10 + n01) with one degree of freedom, and `corrected` takes 1 off a difference that is not 0. No
    change at all is no evidence: p = 1.

    >>> round(mcnemar(10, 2).p, 4), round(mcnemar(10, 2, "mid-p").p, 4), round(mcnemar(10, 2, "chi2").statistic, 3)
    (0.0386, 0.0225, 5.333)
    """
    from scipy.special import bdtr, chdtrc

    if method not in ("exact", "mid-p", "chi2", "corrected"):
        raise UnknownName(f"no McNemar test named {method!r}; available: exact, mid-p, chi2, corrected")
    _refuse_negative(n10=n10, n01=n01)
    total, fewer = n10 + n01, min(n10, n01)
    if method in ("exact", "mid-p"):
        below = float(bdtr(fewer - 1, total, 0.5)) if fewer else 0.0
        reached = float(bdtr(fewer, total, 0.5))
        return Result(float(fewer), min(1.0, 2 * reached if method == "exact" else below + reached))
    gap = max(0, abs(n10 - n01) - (method == "corrected"))
    statistic = gap * gap / total if total else 0.0
    return Result(statistic, float(chdtrc(1, statistic)))


def cochran_q(correct: npt.ArrayLike) -> Result:
    """Are several models (or wordings) equally often right? A row per item, a column per model, true where right.

    With two columns this is McNemar's chi-square. Items that all get right, or none, do not count; where there are only
    such items there is no evidence, and p = 1.

    >>> q = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    >>> round(q.statistic, 3), round(q.p, 3)
    (4.667, 0.097)
    """
    from scipy.special import chdtrc

    table = np.asarray(correct)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise BadInput(f"found a table of shape {table.shape}", fix="give a row per item and two or more columns")
    if not np.isin(table, (0, 1)).all():
        raise BadInput("Cochran's Q needs values 0 and 1", fix="give 1 for a right answer, 0 for a wrong one")
    models = table.shape[1]
    by_model, by_item = table.sum(axis=0, dtype=np.int64), table.sum(axis=1, dtype=np.int64)
    spread = models * int((by_model**2).sum()) - int(by_model.sum()) ** 2
    mixed = models * int(by_item.sum()) - int((by_item**2).sum())
    statistic = (models - 1) * spread / mixed if mixed else 0.0
    return Result(statistic, float(chdtrc(models - 1, statistic)))


def tost(n: int, n10: int, n01: int, margin: float) -> Equivalence:
    """Is accuracy before and after the same within a margin? Two one-sided score tests of a paired difference.

    A small p-value says that the difference of accuracies lies inside (-margin, margin). The two tests are Schuirmann's
    (1987); each is Tango's (1998), whose variance is that of the null hypothesis. With few changes the variance seen
    in the sample is too small by far: a paired t-test is surer of 99 items out of 100 unchanged than of all 100.

    The p-value is never below (1 - margin)^n, the chance that nothing changes where right answers are lost at the rate
    of the margin: no outcome speaks more for equivalence than that one.

    >>> round(tost(10_000, 230, 170, margin=0.01).p, 4)
    0.0239
    >>> [round(tost(100, changes, 0, margin=0.05).p, 3) for changes in (0, 1, 2)]
    [0.011, 0.033, 0.084]
    """
    from scipy.special import ndtr

    _refuse_negative(n10=n10, n01=n01)
    if n < 1 or n10 + n01 > n:
        fix = "give at least one item, and no more changes than items"
        raise BadInput(f"found {n} items with {n10 + n01} changes", field="n", fix=fix)
    if not 0 < margin < 1:
        raise BadInput(
            f"found {margin}", field=setting("--margin", "margin"), fix="give a share of items, such as 0.01"
        )
    scores = _score(n, n10, n01, margin), _score(n, n01, n10, margin)  # a gain is a drop, before and after exchanged
    return Equivalence((n10 - n01) / n, margin, max(float(ndtr(max(scores))), (1 - margin) ** n))


def _score(n: int, n10: int, n01: int, drop: float) -> float:
    """Tango's statistic of the hypothesis that accuracy drops by `drop` > 0; far below 0 where it drops by less."""
    gained = _gained(n, n10, n01, drop)
    return (n10 - n01 - n * drop) / math.sqrt(n * (2 * gained + drop * (1 - drop)))


def _gained(n: int, n10: int, n01: int, drop: float) -> float:
    """The likeliest share of wrong-to-right changes where that of right-to-wrong ones is larger by `drop`.

    It is the larger root of a q^2 + b q + c = 0, written so that no two nearly equal numbers are subtracted.
    """
    a, b, c = 2 * n, (2 * n - n10 + n01) * drop - n10 - n01, -n01 * drop * (1 - drop)
    root = math.sqrt(b * b - 4 * a * c)
    return (root - b) / (2 * a) if b <= 0 else -2 * c / (root + b)


def _refuse_negative(**counts: int) -> None:
    for name, count in counts.items():
        if count < 0:
            raise BadInput(f"found {count}", field=name, fix="counts start at 0")


# Many shares at once: shrinkage


def effective_size(share: float, low: float, high: float, confidence: float = 0.95) -> float:
    """How many independent trials would have this Wilson interval: of the two ends, the one that tells more.

    With clusters it is fewer than there are answers, and fewer still where there are few clusters.

    >>> round(effective_size(0.3, *wilson(15, 50)), 6), round(effective_size(0.0, *wilson(0, 12)), 6)
    (50.0, 12.0)
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    ends = [end for end in (low, high) if abs(end - share) > 1e-9]
    return max((z * z * end * (1 - end) / (share - end) ** 2 for end in ends), default=math.inf)


def shrink(
    shares: npt.ArrayLike, sizes: npt.ArrayLike, confidence: float = 0.95
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Shares of several groups, shrunk towards what they have in common, with the ends of their intervals.

    Empirical Bayes: each group's rate comes from one beta distribution, which all groups together tell about, and its
    count from that rate in `sizes` trials (effective ones, which need not be whole). A small group is moved far, a
    large one hardly. The beta distribution is not known for certain: its mean and size are averaged over a grid,
    weighted by their likelihood with the groups' rates left out, and a uniform prior on the mean and on the share by
    which a group of median size is moved (Christiansen and Morris 1997). So groups that happen to agree do not get
    intervals without width. Ends are quantiles of a beta distribution with the mean and variance of that average.

    >>> value, low, high = shrink([1.0, 0.2, 0.25, 0.3], [2, 50, 60, 40])
    >>> print(value.round(2), low.round(2), high.round(2))
    [0.31 0.24 0.26 0.28] [0.12 0.16 0.18 0.18] [0.56 0.34 0.35 0.39]
    """
    from scipy.special import betaincinv

    share, size = (np.asarray(one, dtype=np.float64) for one in (shares, sizes))
    if share.ndim != 1 or share.shape != size.shape or len(share) < 2:
        raise BadInput(f"found shares of shape {share.shape}, sizes of {size.shape}", fix="give two groups or more")
    if not ((share >= 0) & (share <= 1) & (size > 0) & np.isfinite(size)).all():
        raise BadInput(
            "found a share outside 0 to 1, or a size that is not positive", fix="give shares and their sizes"
        )
    mean, more = _grid(share, size)
    fit = sum(_likelihood(*block, mean, more) for block in _blocks(share, size)) + np.log(mean * (1 - mean))
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    moments = [_moments(*block, mean, more, weight) for block in _blocks(share, size)]
    first, second = (np.concatenate(each) for each in zip(*moments, strict=True))
    trials = np.maximum(first * (1 - first) / np.maximum(second - first**2, 1e-15) - 1, 1e-9)
    low, high = (betaincinv(first * trials, (1 - first) * trials, tail) for tail in _tails(confidence))
    return first, low, high


def _tails(confidence: float) -> tuple[float, float]:
    return (1 - confidence) / 2, (1 + confidence) / 2


def _grid(share: npt.NDArray[Any], size: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Means and sizes of the beta distributions that are tried: a column each."""
    events, trials = float((share * size).sum()) + 0.5, float(size.sum()) + 1
    centre = events / trials
    scale = centre * (1 - centre)
    error = math.sqrt(float(np.var(share)) / len(share) + scale / trials) / scale
    logit = math.log(centre / (1 - centre)) + np.linspace(-5, 5, 21) * min(error, 1.5)
    moved = (np.arange(24) + 0.5) / 24
    mean, by = (one.ravel() for one in np.meshgrid(1 / (1 + np.exp(-logit)), moved))
    return mean, float(np.median(size)) * by / (1 - by)


def _blocks(share: npt.NDArray[Any], size: npt.NDArray[Any]) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Groups in parts that fit in memory."""
    return [(share[at : at + 1000, None], size[at : at + 1000, None]) for at in range(0, len(share), 1000)]


def _likelihood(
    share: npt.NDArray[Any], size: npt.NDArray[Any], mean: npt.NDArray[Any], more: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    from scipy.special import betaln

    a, b = mean * more, (1 - mean) * more
    each = betaln(share * size + a, (1 - share) * size + b) - betaln(a, b)
    return np.asarray(np.sort(each, axis=0).sum(axis=0))


def _moments(
    share: npt.NDArray[Any],
    size: npt.NDArray[Any],
    mean: npt.NDArray[Any],
    more: npt.NDArray[Any],
    weight: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Mean of each group's rate and of its square, over all beta distributions tried."""
    trials, events = size + more, share * size + mean * more
    return (events / trials) @ weight, (events * (events + 1) / (trials * (trials + 1))) @ weight
