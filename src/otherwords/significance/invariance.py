"""The IE test: is a model as often right after a rewording as before? (Salvatore et al. 2023)

Its paired t and the null distributions of that t depend on four counts alone, so nothing here resamples rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from .._version import __version__
from ..errors import BadInput, UnknownName
from ..metrics.metric import paired
from ..metrics.reading import read
from ..metrics.table import Answers
from .multiple import adjust, level
from .nulls import NULLS, TAILS, p_value, paired_t


@dataclass(frozen=True)
class Matched:
    """A matched sample: n items, how many are `right` before, n10 right before and wrong after, n01 the reverse."""

    n: int
    right: int
    n10: int
    n01: int

    def __post_init__(self) -> None:
        if not (0 <= self.n10 <= self.right and 0 <= self.n01 <= self.n - self.right and self.n > 0):
            fix = "n10 of those right before, n01 of those wrong before, of at least one item"
            raise BadInput(f"no sample has these counts: {self}", fix=fix)


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
        raise BadInput("IE test of values other than 0 and 1", fix="give one entry per item: whether it is right")
    a, b = first.astype(bool), second.astype(bool)
    return Matched(len(a), int(a.sum()), int((a & ~b).sum()), int((b & ~a).sum()))


def matched_answers(answers: Answers | pl.DataFrame) -> Matched:
    """Count the matched sample of an answers table: one model, each original beside its one variant.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes", "yes", "no", "no"]}
    >>> sample = matched_answers(pl.DataFrame({**rows, "pred": ["yes", "no", "no", "no"]}))
    >>> sample
    Matched(n=2, right=2, n10=1, n01=0)
    >>> ie_test(sample).flips
    0.5
    """
    if isinstance(answers, pl.DataFrame):
        if "model" in answers.columns and (models := answers["model"].n_unique()) > 1:
            raise BadInput(f"answers of {models} models", field="model", fix="filter them to one model")
        answers = read(answers)
    right, count = answers.variants
    if (other := np.flatnonzero(count != 1)).size:
        name = answers.frame["bucket"][int(answers.originals[other[0]])]
        fix = "filter the variants to one transformation (as by `how`), and leave out originals without a variant"
        raise BadInput(f"bucket {name!r} has {count[other[0]]} variants, not one", field="variant", fix=fix)
    return matched(answers.correct[answers.originals], right)


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


def decide(p_values: npt.ArrayLike, alpha: float = 0.05) -> Decision:
    """Is a model, trained M times, not invariant? The paper rejects where one p-value is *below* alpha / M.

    Holm's procedure comes to the same verdict on the model, and to more rejected runs. The M runs share one test set,
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
            raise UnknownName(f"the IE test has no {kind} {name!r}; there are: {', '.join(names)}")
