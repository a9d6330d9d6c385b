"""The IE test against plain resampling of rows, full enumeration, and scipy; and its laws."""

from __future__ import annotations

import importlib
import itertools
import math
import os
import subprocess
import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy import stats

from otherwords.answers.reading import read
from otherwords.errors import BadInput, UnknownName
from otherwords.significance.ie_test import (
    NULLS,
    TAILS,
    Matched,
    decide,
    ie_test,
    matched,
    matched_answers,
    paired_t,
    unsound_drop,
)
from otherwords.significance.proportions import mcnemar

module = importlib.import_module("otherwords.significance.ie_test")  # the package has a function of this name
COLUMNS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def rows(n: int, n10: int, n01: int) -> np.ndarray:
    """A - B for every item."""
    return np.r_[np.ones(n10, int), -np.ones(n01, int), np.zeros(n - n10 - n01, int)]


def sample(n: int, n10: int, n01: int) -> Matched:
    return Matched(n, n - n01, n10, n01)


@given(pairs=COLUMNS)
def test_t_from_counts_is_t_from_rows(pairs: list[tuple[bool, bool]]) -> None:
    before, after = np.array(pairs).T
    one = matched(before, after)
    difference = before.astype(int) - after
    found = ie_test(one, replicates=5)
    assert (found.accuracy_before, found.accuracy_after) == (before.mean(), pytest.approx(after.mean()))
    assert found.flips == np.mean(before != after)
    if difference.std() > 0:
        assert found.t == pytest.approx(math.sqrt(len(pairs)) * difference.mean() / difference.std(), rel=1e-12)


def test_t_is_scipys_but_for_ddof() -> None:
    before, after = np.repeat([1, 0, 1, 0], [60, 20, 13, 7]), np.repeat([1, 0, 0, 1], [60, 20, 13, 7])
    t = ie_test(matched(before, after)).t
    assert t * math.sqrt(99 / 100) == pytest.approx(stats.ttest_rel(before, after).statistic, rel=1e-12)


@given(changes=st.tuples(st.integers(0, 30), st.integers(0, 30)), more=st.integers(1, 50))
def test_before_and_after_exchanged(changes: tuple[int, int], more: int) -> None:
    n10, n01 = changes
    n = n10 + n01 + more
    assert paired_t(n, n10, n01) == -paired_t(n, n01, n10)
    one, other = (ie_test(Matched(n, *rest), "exact", "inclusive") for rest in ((n10, n10, n01), (n01, n01, n10)))
    assert one.p == other.p


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("tails", TAILS)
def test_no_change_is_no_evidence(null: str, tails: str) -> None:
    answers = [1, 0, 0, 1, 1]
    found = ie_test(matched(answers, answers), null, tails)
    assert (found.t, found.p, found.flips) == (0.0, 1.0, 0.0)
    assert ie_test(matched([1], [1]), null, tails).p == 1.0


def test_a_total_drop_is_infinite_not_nothing() -> None:
    assert paired_t(5, 5, 0) == math.inf
    assert paired_t(5, 0, 5) == -math.inf
    # Five of five pairs swapped the same way, in either direction.
    assert ie_test(sample(5, 5, 0), "exact", "inclusive").p == pytest.approx(2 / 2**5)


def enumerated(n: int, n10: int, n01: int) -> tuple[float, float, float]:
    """P(t* < t), P(t* = t), P(t* > t) over all n^n resamples and 2^n swaps, by the size of d |d| / D."""
    size: Counter[int] = Counter()
    for drawn in itertools.product(rows(n, n10, n01).tolist(), repeat=n):
        for swaps in itertools.product((1, -1), repeat=n):
            changed = [one * swap for one, swap in zip(drawn, swaps, strict=True)]
            drop, changes = sum(changed), sum(map(abs, changed))
            left = drop * abs(drop) * (n10 + n01)
            right = (n10 - n01) * abs(n10 - n01) * max(changes, 1)
            size[(left > right) - (left < right)] += 1
    total = size.total()
    return size[-1] / total, size[0] / total, size[1] / total


@pytest.mark.parametrize(
    ("n", "n10", "n01"), [(1, 1, 0), (2, 1, 0), (3, 2, 0), (3, 1, 1), (4, 3, 1), (4, 0, 2), (5, 3, 1), (5, 1, 4)]
)
def test_exact_null_is_the_full_enumeration(n: int, n10: int, n01: int) -> None:
    below, tied, above = enumerated(n, n10, n01)
    assert ie_test(sample(n, n10, n01), "exact", "paper").p == pytest.approx(2 * min(below + tied, above), abs=1e-14)
    inclusive = min(1.0, 2 * min(below + tied, above + tied))
    assert ie_test(sample(n, n10, n01), "exact", "inclusive").p == pytest.approx(inclusive, abs=1e-14)


def resampled(difference: np.ndarray, released: bool, replicates: int, seed: int) -> np.ndarray:
    """t* of rows drawn with replacement and swapped, row by row, as the paper (or its code) says."""
    random, n = np.random.default_rng(seed), len(difference)
    values = np.empty(replicates)
    for replicate in range(replicates):
        drawn = difference[random.integers(0, n, n)]
        swap = np.arange(n) < n // 2 if released else random.random(n) < 0.5
        drawn = np.where(swap, -drawn, drawn)
        values[replicate] = math.sqrt(n) * drawn.mean() / drawn.std()
    return values


@pytest.mark.parametrize("null", ["paper", "released"])
@pytest.mark.parametrize(
    ("n10", "n01", "size"),
    [(50, 35, 4_000), *(pytest.param(*counts, 20_000, marks=pytest.mark.slow) for counts in ((41, 48), (60, 22)))],
)
def test_simulated_p_values_are_those_of_resampled_rows(null: str, n10: int, n01: int, size: int) -> None:
    n = 701  # n is odd: the released halves differ
    one = sample(n, n10, n01)
    t = paired_t(n, n10, n01)
    draws = resampled(rows(n, n10, n01), null == "released", size, seed=4)
    expected = 2 * min((draws <= t - 1e-9).mean(), (draws > t + 1e-9).mean())
    p = ie_test(one, null, "paper", size, seed=1).p
    error = 2 * math.sqrt(2 * max(expected / 2, 1e-4) / size)
    assert p == pytest.approx(expected, abs=4 * error + 0.01 * expected)


@settings(max_examples=at_most(25), deadline=None)
@given(n10=st.integers(0, 400), n01=st.integers(0, 400), more=st.integers(1, 20_000), seed=st.integers(0, 9))
def test_the_paper_s_simulation_converges_to_the_exact_sum(n10: int, n01: int, more: int, seed: int) -> None:
    one = sample(n10 + n01 + more, n10, n01)
    size = 20_000
    for tails in TAILS:
        exact, drawn = ie_test(one, "exact", tails).p, ie_test(one, "paper", tails, size, seed).p
        tail = exact / 2
        assert drawn == pytest.approx(exact, abs=12 * math.sqrt(tail * (1 - tail) / size) + 8 / size)


@given(n10=st.integers(0, 40), n01=st.integers(0, 40), more=st.integers(0, 40))
def test_p_values_are_p_values(n10: int, n01: int, more: int) -> None:
    if n10 + n01 + more == 0:
        return
    one = sample(n10 + n01 + more, n10, n01)
    for null in NULLS:
        printed, honest = (ie_test(one, null, tails, replicates=50).p for tails in TAILS)
        assert 0 <= printed <= honest <= 1
        assert honest > 0


def test_more_evidence_is_a_smaller_p_value() -> None:
    p = [ie_test(sample(20_000, 300 + extra, 300), "exact", "inclusive").p for extra in range(0, 200, 10)]
    assert p == sorted(p, reverse=True)
    assert p[0] == 1.0
    assert p[-1] < 1e-10


@pytest.mark.parametrize(("n", "discordant"), [(1, 1), (2000, 40), (2000, 1999)])
def test_the_number_of_changes_is_binomial_to_the_last_digits(n: int, discordant: int) -> None:
    """Against whole numbers: differences of log-gammas were off by 1e-11 at 20,000 items."""
    changes, chance = module._numbers_of_changes(n, discordant)
    exact = [
        float(Fraction(math.comb(n, k) * discordant**k * (n - discordant) ** (n - k), n**n)) for k in changes.tolist()
    ]
    assert np.allclose(chance, exact, rtol=2e-14, atol=1e-300)


@pytest.mark.slow
def test_exact_p_values_are_the_same_on_other_processors() -> None:
    """BLAS adds in another order on each kind of processor."""
    code = (
        "from otherwords.significance.ie_test import Matched, ie_test\n"
        "print([ie_test(Matched(9824, 5400, 700 + k, 650), 'exact', 'inclusive').p for k in range(40)])"
    )
    kinds = ({"OPENBLAS_CORETYPE": name} for name in ("Prescott", "Haswell"))
    printed = {subprocess.run([sys.executable, "-c", code], env={**os.environ, **kind}, capture_output=True, check=True, text=True).stdout for kind in kinds}  # fmt: skip # noqa: E501
    assert len(printed) == 1
    assert "0." in printed.pop()


def test_exact_null_is_close_to_mcnemars_where_many_change() -> None:
    # Given D the paper's null is McNemar's binomial; averaging over D smooths its steps, towards the chi-square.
    p = ie_test(sample(19_647, 900, 800), "exact", "inclusive").p
    assert p == pytest.approx(mcnemar(900, 800, "chi2").p, rel=0.01)


def test_everything_changes_and_millions_of_items() -> None:
    # With D = n the number of discordant pairs is certain, and the null is McNemar's binomial.
    assert ie_test(sample(40, 28, 12), "exact", "inclusive").p == pytest.approx(mcnemar(28, 12).p, rel=1e-9)
    many = Matched(30_000_000, 20_000_000, 1_000_000, 1_003_000)
    assert ie_test(many, "exact", "inclusive").p == pytest.approx(mcnemar(1_003_000, 1_000_000, "chi2").p, rel=0.01)


def test_the_level_is_kept() -> None:
    random = np.random.default_rng(11)
    changes = random.binomial(500, 0.1, 400)
    drops = random.binomial(changes, 0.5)
    samples = [sample(500, int(k), int(d - k)) for d, k in zip(changes, drops, strict=True)]
    rejected = sum(ie_test(one, tails="inclusive", seed=1).p <= 0.05 for one in samples)
    assert stats.binomtest(rejected, 400, 0.05).pvalue > 0.001


def test_the_signature_records_how_p_was_computed() -> None:
    one = sample(100, 9, 4)
    assert ie_test(one, seed=7).signature.startswith("ie_test.v1(null=paper, tails=paper, replicates=1000, seed=7)")
    assert ie_test(one, "exact").signature.startswith("ie_test.v1(null=exact, tails=paper) ")
    assert ie_test(one, seed=7) == ie_test(one, seed=7)
    assert ie_test(one, seed=7).p != ie_test(one, seed=8).p


def test_decide_is_strict_as_the_paper() -> None:
    assert not decide([0.01, 0.2, 0.3, 0.4, 0.5]).rejected  # 0.01 is not below 0.05 / 5
    found = decide([0.009, 0.012, 0.3, 0.4, 0.5])
    assert found.rejected
    assert found.bonferroni == (True, False, False, False, False)
    assert found.holm == (True, True, False, False, False)
    with refuses(BadInput):
        decide([])
    with refuses(BadInput):
        decide([0.1], alpha=5)


@given(accuracy=st.floats(0, 1), sound=st.floats(0, 1))
def test_unsound_drop_is_a_bound(accuracy: float, sound: float) -> None:
    drop = unsound_drop(accuracy, sound)
    assert 0 <= drop.at_random <= drop.most + 1e-15
    assert drop.most <= accuracy


def test_unsound_drop_of_simulated_invariant_models() -> None:
    random = np.random.default_rng(5)
    right, sound = random.random(100_000) < 0.85, random.random(100_000) < 0.82
    drop = right.mean() - (right & sound).mean()  # unsound rewordings make right answers wrong, all others stay
    assert unsound_drop(right.mean(), sound.mean()).at_random == pytest.approx(drop, abs=0.004)
    assert unsound_drop(0.9, 1.0).most == 0.0
    with refuses(BadInput):
        unsound_drop(0.9, 82)


@pytest.mark.parametrize(
    ("before", "after"), [([], []), ([1, 0], [1]), ([1, 2], [0, 1]), (["a"], ["b"]), ([[1, 0]], [[1, 0]])]
)
def test_what_is_no_matched_sample_is_refused(before: list[int], after: list[int]) -> None:
    with refuses(BadInput):
        matched(before, after)


def answers_of(pairs: list[tuple[bool, bool]]) -> pl.DataFrame:
    """A bucket per pair, in an order that mixes originals and variants; the right label alternates."""
    gold = ["yes" if number % 2 else "no" for number in range(len(pairs))]
    other = {"yes": "no", "no": "yes"}
    columns = {
        "bucket": [f"b{number}" for number in range(len(pairs))] * 2,
        "variant": [None] * len(pairs) + [f"v{number}" for number in range(len(pairs))],
        "gold": gold * 2,
        "pred": [one if pair[side] else other[one] for side in (0, 1) for one, pair in zip(gold, pairs, strict=True)],
    }
    return pl.DataFrame(columns, schema_overrides={"variant": pl.String}).sample(fraction=1, shuffle=True, seed=1)


@given(pairs=COLUMNS)
def test_answers_give_the_sample_of_their_columns(pairs: list[tuple[bool, bool]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single wrong pair of answers: "no answer can be right"
        frame = answers_of(pairs)
        assert matched_answers(frame) == matched_answers(read(frame)) == matched(*zip(*pairs, strict=True))


def test_answers_of_a_model_that_never_changes_its_mind() -> None:
    sample = matched_answers(answers_of([(True, True), (False, False), (True, True)]))
    assert sample == Matched(3, 2, 0, 0)
    assert (ie_test(sample).p, mcnemar(sample.n10, sample.n01).p) == (1.0, 1.0)


def test_answers_that_are_no_matched_sample_are_refused() -> None:
    frame = answers_of([(True, False), (True, True)])
    extra = frame.filter(pl.col("variant") == "v0").with_columns(variant=pl.lit("more"))
    with refuses(BadInput) as caught:
        matched_answers(pl.concat([frame, extra]))
    assert caught.value.field == "variant"
    for unchanged in (True, False):
        with refuses(BadInput, field="variant"):
            matched_answers(frame.filter(pl.col("variant").is_null()), unchanged=unchanged)
    with refuses(BadInput):
        matched_answers(pl.concat([frame.with_columns(model=pl.lit(name)) for name in ("one", "other")]))
    with refuses(BadInput):
        matched_answers(frame.clear())


def test_what_the_transformation_left_alone_counts_as_unchanged() -> None:
    """As in the paper, whose B is A there; left out on request."""
    whole = answers_of([(True, False), (True, True), (False, True), (True, True), (False, False)])
    alone = whole.filter(pl.col("variant").is_null() | pl.col("variant").is_in(["v0", "v2"]))
    assert matched_answers(alone) == matched_answers(whole) == Matched(5, 3, 1, 1)
    assert matched_answers(read(alone)) == Matched(5, 3, 1, 1)
    assert matched_answers(alone, unchanged=False) == Matched(2, 1, 1, 1)
    assert ie_test(matched_answers(alone)).flips == 0.4


def test_what_the_model_refused_to_judge_is_not_unchanged() -> None:
    """A variant that the model rejected as its own judge was changed, and not answered: its problem is left out."""
    frame = answers_of([(True, False), (True, True), (False, True)])
    own = pl.col("variant") == "v1"
    judged = frame.with_columns(
        pred=pl.when(~own.fill_null(False)).then("pred"), rejected=pl.when(own).then(pl.lit("no"))
    )
    assert matched_answers(judged) == Matched(2, 1, 1, 1)


def test_one_transformation_of_several_can_be_taken() -> None:
    frame = answers_of([(True, False), (True, True)]).with_columns(how=pl.lit("a"))
    other = frame.filter(pl.col("variant").is_not_null()).with_columns(variant=pl.col("variant") + "x", how=pl.lit("b"))
    both = pl.concat([frame, other])
    one = both.filter(pl.col("variant").is_null() | (pl.col("how") == "b"))
    assert matched_answers(one) == Matched(2, 2, 1, 0)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (5, 6, 0, 0), (5, 2, 3, 0), (5, 4, 0, 2), (5, 4, -1, 0)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    with refuses(BadInput):
        Matched(*counts)


def test_bad_options_are_refused() -> None:
    with refuses(UnknownName):
        ie_test(sample(9, 2, 1), null="normal")
    with refuses(UnknownName):
        ie_test(sample(9, 2, 1), tails="both")
    with refuses(BadInput):
        ie_test(sample(9, 2, 1), replicates=0)
    with refuses(BadInput):
        paired_t(5, 3, 3)
