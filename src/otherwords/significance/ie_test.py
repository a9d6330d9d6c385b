"""The IE test: is a model as often right after a rewording as before? (Salvatore et al. 2023)

Its paired t and the null distributions of that t depend on four counts alone, so nothing here resamples rows.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from .._version import __version__
from ..answers.reading import read
from ..answers.table import Answers, Array
from ..errors import BadInput, UnknownName
from ..frames import REJECTED
from ..metrics.metric import paired
from ..storage.files import seed_for
from .multiple import adjust, level
from .proportions import Result

NULLS = ("paper", "released", "exact")
TAILS = ("paper", "inclusive")
#: The statistics of Alternative 1, which count changes in either direction.
SYMMETRY = ("mcnemar", "cochran")
#: n^3 has to fit into 63 bits; beyond, floats decide, which may miss a tie.
_WHOLE = 2_000_000
#: Numbers of changes are left out of the exact sum where all of them together have less than exp(-100) of its mass.
_NEGLIGIBLE = 100.0


@dataclass(frozen=True)
class Matched:
    """A matched sample: n items, how many are `right` before, n10 right before and wrong after, n01 the reverse."""

    n: int
    right: int
    n10: int
    n01: int

    def __post_init__(self) -> None:
        if not (0 <= self.n10 <= self.right and 0 <= self.n01 <= self.n - self.right and self.n > 0):
            fix = "n10 is at most right, n01 is at most n - right, and n is at least 1"
            raise BadInput(f"impossible counts: {self}", fix=fix)


@dataclass(frozen=True)
class IETest:
    """One run of the IE test. `flips` is the share of items whose correctness changed; t is blind where they cancel."""

    t: float
    p: float
    accuracy_before: float
    accuracy_after: float
    flips: float
    sample: Matched
    signature: str


@dataclass(frozen=True)
class Decision:
    """The decision over several runs: the smallest p-value against alpha / M; each run after Bonferroni and Holm."""

    rejected: bool
    smallest: float
    threshold: float
    bonferroni: tuple[bool, ...]
    holm: tuple[bool, ...]


@dataclass(frozen=True)
class UnsoundDrop:
    """Drops in accuracy that unsound rewordings alone explain: where they hit at random, and the most they can do."""

    at_random: float
    most: float


def matched(before: npt.ArrayLike, after: npt.ArrayLike) -> Matched:
    """Count a matched sample: for every item, whether it is answered right in its original and its changed wording.

    >>> matched([1, 1, 1, 0], [1, 0, 0, 1])
    Matched(n=4, right=3, n10=2, n01=1)
    """
    first, second = paired("IE test", before, after)
    if first.ndim != 1 or not (np.isin(first, (0, 1)).all() and np.isin(second, (0, 1)).all()):
        raise BadInput("the IE test needs values 0 and 1", fix="give one entry per item: whether it is right")
    a, b = first.astype(bool), second.astype(bool)
    return Matched(len(a), int(a.sum()), int((a & ~b).sum()), int((b & ~a).sum()))


def matched_answers(answers: Answers | pl.DataFrame, unchanged: bool = True) -> Matched:
    """Count the matched sample of an answers table: one model, at most one variant for each original.

    An original without a variant is one that the transformation left alone: its answer stays what it is (A = B), as in
    the paper. With `unchanged=False` it is left out, which is right where its variant was made and dropped.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes", "yes", "no", "no"]}
    >>> sample = matched_answers(pl.DataFrame({**rows, "pred": ["yes", "no", "no", "no"]}))
    >>> sample
    Matched(n=2, right=2, n10=1, n01=0)
    >>> ie_test(sample).flips
    0.5
    """
    if isinstance(answers, pl.DataFrame):
        if "model" in answers.columns and (models := answers["model"].n_unique()) > 1:
            raise BadInput(f"found answers of {models} models", field="model", fix="filter them to one model")
        answers = read(_without_rejected(answers))
    right, count = answers.variants
    if (other := np.flatnonzero(count > 1)).size:
        name = answers.frame["bucket"][int(answers.originals[other[0]])]
        fix = "filter the variants to one transformation (by `how`, for example), and keep all originals"
        raise BadInput(f"bucket {name!r} has {count[other[0]]} variants, not one", field="variant", fix=fix)
    if not count.any():
        raise BadInput("no problem has a variant", field="variant", fix="give the answers to the changed wordings, too")
    before = answers.correct[answers.originals]
    if not unchanged:
        return matched(before[count == 1], right[count == 1])
    return matched(before, np.where(count == 1, right, before))


def _without_rejected(answers: pl.DataFrame) -> pl.DataFrame:
    """Leave out problems whose variant the model rejected as its own judge: they were changed, and not answered."""
    if not {REJECTED, "bucket", "pred"} <= set(answers.columns):
        return answers
    rejected = pl.col("pred").is_null() & (pl.col(REJECTED).cast(pl.String).fill_null("") != "")
    return answers.filter(~rejected.any().over("bucket"))


def ie_test(
    sample: Matched, null: str = "paper", tails: str = "paper", replicates: int = 1000, seed: int = 0
) -> IETest:
    """Test one run, from its counts.

    `null` is "paper" (resampled pairs, each swapped with probability 1/2), "released" (the authors' code: the first
    half of the resampled pairs is swapped) or "exact" (the paper's null summed up, not simulated). `tails` is "paper"
    (equation 14, which treats the two directions differently at ties and can give 0) or "inclusive" (at least as
    extreme, in both tails; simulated with 1 added above and below, so that it is a valid test and never 0).

    Where A = B everywhere the released code reports p = 0; here t = 0 and p = 1 under every null.

    >>> one = ie_test(Matched(n=100, right=80, n10=12, n01=5), null="exact", tails="inclusive")
    >>> round(one.t, 4), round(one.p, 4), one.flips
    (1.7228, 0.0972, 0.17)
    """
    _refuse_unknown(null, tails)
    n, n10, n01 = sample.n, sample.n10, sample.n01
    p = 1.0 if n10 + n01 == 0 else p_value(n, n10, n01, null, tails, replicates, seed)
    before, after = sample.right / n, (sample.right - n10 + n01) / n
    drawn = "" if null == "exact" else f", replicates={replicates}, seed={seed}"
    signature = f"ie_test.v1(null={null}, tails={tails}{drawn}) otherwords {__version__}"
    return IETest(paired_t(n, n10, n01), p, before, after, (n10 + n01) / n, sample, signature)


def symmetry_test(
    sample: Matched,
    statistic: str = "cochran",
    null: str = "paper",
    tails: str = "paper",
    replicates: int = 1000,
    seed: int = 0,
) -> Result:
    """The paper's Alternative 1: McNemar's statistic or Cochran's Q instead of t, under the same null, one-tailed.

    `cochran` is Q of two columns, (n10 - n01)^2 / (n10 + n01); `mcnemar` is the same with Edwards' correction, which
    takes 1 off a difference that is not 0. Both are large where changes go mostly one way, so only the upper tail
    counts: above it ("paper") or at least as large ("inclusive", with 1 added above and below where it is simulated).
    Q grows with |t|: under the exact null, inclusive, the two tests are one.

    >>> one = Matched(n=100, right=80, n10=12, n01=5)
    >>> test = symmetry_test(one, "cochran", null="exact", tails="inclusive")
    >>> round(test.statistic, 4), round(test.p, 4)
    (2.8824, 0.0972)
    """
    _refuse_unknown(null, tails)
    if statistic not in SYMMETRY:
        raise UnknownName(f"the IE test has no statistic {statistic!r}; available: {', '.join(SYMMETRY)}")
    n, changes, less = sample.n, sample.n10 + sample.n01, int(statistic == "mcnemar")
    if changes == 0:
        return Result(0.0, 1.0)
    gap = max(0, abs(sample.n10 - sample.n01) - less)
    if null == "exact":
        p = _either_way(n, gap, changes, less)[tails == "paper"]
    else:
        drop, drawn = _draws(null, n, sample.n10, sample.n01, replicates, seed)
        sign = compare(np.maximum(np.abs(drop) - less, 0), drawn, n, gap, changes)
        above, reached = int((sign > 0).sum()), int((sign >= 0).sum())
        p = above / replicates if tails == "paper" else (1 + reached) / (replicates + 1)
    return Result(gap * gap / changes, p)


def smallest_p(n: int, changed: int | None = None, replicates: int | None = None) -> float:
    """The smallest p-value that any outcome on a test set can have: all rows that were changed are lost.

    `n` is the number of rows, `changed` how many of them the transformation changes (all, if None): the others cannot
    be lost. The null is the exact one with inclusive tails; `replicates` of a simulated null cannot go below
    2 / (replicates + 1).

    >>> smallest_p(8), smallest_p(8, replicates=100) > smallest_p(8), smallest_p(20, changed=0)
    (0.0078125, True, 1.0)
    """
    lost = n if changed is None else changed
    if n < 1 or not 0 <= lost <= n:
        raise BadInput(f"found {lost} changed rows of {n}", fix="give at least one row, and no more changed ones")
    least = _exact(n, lost, 0, "inclusive") if lost else 1.0
    return max(least, 0.0 if replicates is None else min(1.0, 2 / (replicates + 1)))


def reachable(n: int, alpha: float, runs: int, changed: int | None = None, replicates: int | None = None) -> bool:
    """Whether a test set is large enough for `decide` to reject: whether some outcome has a p-value below alpha / runs.

    >>> reachable(7, alpha=0.05, runs=5), reachable(8, alpha=0.05, runs=5)
    (False, True)
    """
    if runs < 1:
        raise BadInput(f"found {runs}", field="runs", fix="give at least one run")
    return smallest_p(n, changed, replicates) < level(alpha) / runs


def decide(p_values: npt.ArrayLike, alpha: float = 0.05) -> Decision:
    """Is a model, trained M times, not invariant? The paper rejects where one p-value is *below* alpha / M.

    Holm's procedure decides the same about the model, and to more rejected runs. The M runs share one test set,
    so both are conservative.

    >>> decide([0.2, 0.011, 0.008, 0.5, 0.9])
    Decision(rejected=True, smallest=0.008, threshold=0.01, bonferroni=(False, False, True, False, False), \
holm=(False, True, True, False, False))
    """
    bonferroni = adjust(p_values, "bonferroni") < level(alpha)
    holm = adjust(p_values, "holm") < alpha
    p = np.asarray(p_values, dtype=np.float64)
    runs = tuple(map(bool, bonferroni)), tuple(map(bool, holm))
    return Decision(any(runs[0]), float(p.min()), alpha / len(p), *runs)


def unsound_drop(accuracy: float, sound: float) -> UnsoundDrop:
    """The drop that a model loses to unsound rewordings alone, while its answers to all sound ones stay as they were.

    `accuracy` is that on originals, `sound` the share of rewordings that keep the answer right. An unsound rewording
    can cost a right answer and nothing else. If the unsound ones are right before as often as others, that costs
    (1 - sound) * accuracy; at most, all of them were right. A model with 85 % right where 82.5 % are sound may thus
    drop by 15 points, at most by 17.5, and still be invariant:

    >>> drop = unsound_drop(accuracy=0.85, sound=0.825)
    >>> round(drop.at_random, 3), round(drop.most, 3)
    (0.149, 0.175)
    """
    for name, share in (("accuracy", accuracy), ("sound", sound)):
        if not 0 <= share <= 1:
            raise BadInput(f"found {share}", field=name, fix="give a share between 0 and 1")
    return UnsoundDrop((1 - sound) * accuracy, min(1 - sound, accuracy))


def _refuse_unknown(null: str, tails: str) -> None:
    for kind, name, names in (("null", null, NULLS), ("tails", tails, TAILS)):
        if name not in names:
            raise UnknownName(f"the IE test has no {kind} {name!r}; available: {', '.join(names)}")


# The statistic and its null distributions


def paired_t(n: int, n10: int, n01: int) -> float:
    """sqrt(n) * mean(A - B) / std(A - B), with ddof 0 as in the paper's equation 13; 0 where A = B everywhere.

    Where all items change in one direction the deviation is 0 too, but the drop is total: t is then infinite.

    >>> round(paired_t(100, 12, 5), 4)
    1.7228
    """
    if n < 1 or n10 < 0 or n01 < 0 or n10 + n01 > n:
        raise BadInput(f"found {n10} and {n01} changes of {n} items", fix="give counts from 0 that sum to at most n")
    drop, changes = n10 - n01, n10 + n01
    if drop == 0:
        return 0.0
    if abs(drop) == n:
        return math.copysign(math.inf, drop)
    return drop / math.sqrt(changes - drop * drop / n)


def p_value(n: int, n10: int, n01: int, null: str, tails: str, replicates: int, seed: int) -> float:
    """The p-value of observed counts under a null distribution, with the paper's tails or inclusive ones.

    >>> p_value(100, 12, 5, "exact", "paper", 0, 0) <= p_value(100, 12, 5, "exact", "inclusive", 0, 0)
    True
    """
    if null == "exact":
        return _exact(n, n10, n01, tails)
    drop, changes = _draws(null, n, n10, n01, replicates, seed)
    sign = compare(drop, changes, n, n10 - n01, n10 + n01)
    above, below, tied = (int((sign == one).sum()) for one in (1, -1, 0))
    if tails == "paper":  # equation 14
        return 2 * min(below + tied, above) / replicates
    return min(1.0, 2 * (1 + tied + min(below, above)) / (replicates + 1))


def compare(drop: Array, changes: Array, n: int, observed: int, discordant: int) -> Array:
    """The sign of t* - t, for replicates with these drops and numbers of changes; without any change t* is 0.

    Three changes of four in one direction against two of two, then three of three:

    >>> compare(np.array([2, 3]), np.array([4, 3]), 10, observed=2, discordant=2)
    array([-1,  1])
    """
    whole = np.int64 if n <= _WHOLE else np.float64
    drop, changes = drop.astype(whole), np.maximum(changes, 1).astype(whole)
    return np.asarray(np.sign(drop * np.abs(drop) * discordant - changes * (observed * abs(observed))))


@lru_cache(maxsize=4)  # the statistics of a run share their replicates
def _draws(null: str, n: int, n10: int, n01: int, replicates: int, seed: int) -> tuple[Array, Array]:
    """Drop and number of changes of each replicate of a simulated null."""
    if replicates < 1:
        raise BadInput(f"found {replicates}", field="replicates", fix="draw at least one, or use null=exact")
    random = np.random.default_rng(seed_for(seed, "ie_test", null))
    return (_swapped if null == "paper" else _half_swapped)(random, n, n10, n01, replicates)


def _swapped(random: np.random.Generator, n: int, n10: int, n01: int, size: int) -> tuple[Array, Array]:
    """The paper's null: D resampled pairs are discordant, and a fair coin decides the direction of each."""
    changes = random.binomial(n, (n10 + n01) / n, size)
    return 2 * random.binomial(changes, 0.5) - changes, changes


def _half_swapped(random: np.random.Generator, n: int, n10: int, n01: int, size: int) -> tuple[Array, Array]:
    """The released code's null: rows are resampled, and the first floor(n / 2) of them swapped."""
    shares = np.array([n10, n01, n - n10 - n01]) / n
    first = random.multinomial(n // 2, shares, size)
    second = random.multinomial(n - n // 2, shares, size)
    drop = second[:, 0] - second[:, 1] - first[:, 0] + first[:, 1]
    return drop, n - first[:, 2] - second[:, 2]


def _exact(n: int, n10: int, n01: int, tails: str) -> float:
    """The null is symmetric: both tails follow from P(t* >= |t|) and P(t* > |t|)."""
    at_least, above = _upper_tails(n, abs(n10 - n01), n10 + n01)
    if tails == "inclusive":
        return min(1.0, 2 * at_least)
    return 2 * above if n10 >= n01 else 2 * min(at_least, 1 - at_least)


def _upper_tails(n: int, observed: int, discordant: int) -> tuple[float, float]:
    """Sum over D ~ Bin(n, discordant / n) of the chance that K ~ Bin(D, 1/2) reaches t, and that it exceeds it."""
    changes, weight = _numbers_of_changes(n, discordant)
    drops = _drops_that_reach(n, observed, discordant, changes)
    return tuple(_total(weight * _reach(changes, drop)) for drop in drops)  # type: ignore[return-value]


def _either_way(n: int, observed: int, discordant: int, less: int) -> tuple[float, float]:
    """The chance that |drop| - less reaches the observed gap, and that it exceeds it, in either direction."""
    changes, weight = _numbers_of_changes(n, discordant)
    tails = []
    for gap in _drops_that_reach(n, observed, discordant, changes):
        reached = np.where(gap > 0, 2 * _reach(changes, gap + less), 1.0)
        tails.append(min(1.0, _total(weight * reached)))
    return tails[0], tails[1]


def _numbers_of_changes(n: int, discordant: int) -> tuple[Array, Array]:
    """The outcomes of D ~ Bin(n, discordant / n), and the chance of each, from that of the likeliest one outwards.

    Each follows from its neighbour by a product and a quotient, and no more: vectorised exponentials and the sums of
    BLAS have other last digits on another processor.
    """
    changes = _likely(n, discordant / n)
    if discordant == n:
        return changes, (changes == n).astype(np.float64)
    before, after = changes[:-1].astype(np.float64), changes[1:].astype(np.float64)
    ratio = (n - before) * discordant / (after * (n - discordant))
    mode = discordant - int(changes[0])
    weight = np.concatenate([np.cumprod(1 / ratio[:mode][::-1])[::-1], [1.0], np.cumprod(ratio[mode:])])
    return changes, weight / _total(weight)


def _total(values: Array) -> float:
    """The sum, rounded once, whatever the order: the same on every processor."""
    return math.fsum(values.tolist())


def _drops_that_reach(n: int, observed: int, discordant: int, changes: Array) -> tuple[Array, Array]:
    """For each number of changes, the smallest drop whose t is at least the observed one, and that exceeds it."""
    least = np.ceil(np.sqrt(np.maximum(changes, 1) / discordant) * observed).astype(np.int64)
    # The root is rounded; whole numbers decide between it and its neighbours.
    least -= compare(np.maximum(least - 1, 0), changes, n, observed, discordant) >= 0
    least = np.maximum(least, 0)
    least += compare(least, changes, n, observed, discordant) < 0
    return least, least + (compare(least, changes, n, observed, discordant) == 0)


def _reach(changes: Array, drop: Array) -> Array:
    """P(2K - D >= drop) for K ~ Bin(D, 1/2)."""
    from scipy.special import betainc

    k = (changes + drop + 1) // 2
    inside = betainc(np.maximum(k, 1), np.maximum(changes - k + 1, 1), 0.5)
    return np.where(k > changes, 0.0, np.where(k <= 0, 1.0, inside))


def _likely(n: int, share: float) -> Array:
    """The outcomes of Bin(n, share), less a negligible share of either tail, by Bernstein's inequality."""
    third = _NEGLIGIBLE / 3
    reach = third + np.sqrt(third**2 + 2 * _NEGLIGIBLE * n * share * (1 - share))
    return np.arange(max(0, int(n * share - reach)), min(n, int(n * share + reach) + 1) + 1)
