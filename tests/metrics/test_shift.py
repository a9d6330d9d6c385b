"""Divergence of variants from originals: against SciPy, by hand, and by what must hold."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from arrays import parts_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from refusals import refuses
from scipy.spatial.distance import jensenshannon

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.shift import divergence, unit_of
from otherwords.registry import metrics

LABELS = ("entailment", "neutral", "contradiction")
COUNTS = arrays.arrays(np.int64, st.tuples(st.integers(1, 20), st.just(6)), elements=st.integers(0, 9)).filter(
    lambda counts: counts[:, :3].any(axis=1).all() and counts[:, 3:].any(axis=1).all()
)

#: Clopper and Pearson: the upper end of two of four.
BOUND = 0.9324140135114571


def distributions(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p, q = counts[:, :3], counts[:, 3:]
    return p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)


def answers(seed: int, buckets: int = 30) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    rows = []
    for bucket in range(buckets):
        gold = LABELS[chance.integers(3)]
        for variant in range(1 + chance.integers(4)):
            p = chance.dirichlet([0.5, 0.5, 0.5])
            rows.append((bucket, str(variant) if variant else None, gold, LABELS[p.argmax()], *p))
    names = ["bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def pairs(frame: pl.DataFrame, only_right: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By a join: the variants' distributions, their originals', and whether the label flipped."""
    joined = frame.filter(pl.col("variant").is_not_null()).join(
        frame.filter(pl.col("variant").is_null()), on="bucket", suffix=":was"
    )
    if only_right:
        joined = joined.filter(pl.col("pred:was") == pl.col("gold"))
    p = joined.select(f"p:{label}" for label in LABELS).to_numpy()
    q = joined.select(f"p:{label}:was" for label in LABELS).to_numpy()
    return p, q, (joined["pred"] != joined["pred:was"]).to_numpy()


def parts(frame: pl.DataFrame, spec: str) -> dict[str, float]:
    return parts_of(spec, frame, LABELS)


def jsd(p: np.ndarray, q: np.ndarray, base: str = "2") -> np.ndarray:
    return divergence(np.asarray(p, float), np.asarray(q, float)) / unit_of(base)


def moved(p: np.ndarray, q: np.ndarray) -> pl.DataFrame:
    """Buckets whose original has the probabilities q, and whose one variant has p, with the same label."""
    labels = LABELS[: np.shape(p)[1]]
    both = np.stack([q, p], axis=1).reshape(-1, len(labels))
    rows = {"bucket": np.repeat(np.arange(len(p)), 2), "variant": [None, "1"] * len(p)}
    columns = {f"p:{label}": both[:, i] for i, label in enumerate(labels)}
    return pl.DataFrame({**rows, "gold": [LABELS[0]] * len(both), "pred": [LABELS[0]] * len(both), **columns})


@given(COUNTS, st.sampled_from(["2", "e"]))
def test_divergence_is_the_square_of_scipys_distance(counts: np.ndarray, base: str) -> None:
    p, q = distributions(counts)
    expected = jensenshannon(p, q, axis=1, base={"2": 2, "e": math.e}[base]) ** 2
    np.testing.assert_allclose(jsd(p, q, base), np.nan_to_num(expected), atol=1e-12)


@given(COUNTS)
def test_divergence_is_symmetric_bounded_and_zero_for_equals(counts: np.ndarray) -> None:
    p, q = distributions(counts)
    assert (jsd(p, q) == jsd(q, p)).all()
    assert ((jsd(p, q) >= 0) & (jsd(p, q) <= 1)).all()
    assert (jsd(p, p) == 0).all()


@given(COUNTS)
def test_means_diverge_no_more_than_pairs_do(counts: np.ndarray) -> None:
    """The divergence is jointly convex. A side without pairs has no value."""
    frame = moved(*distributions(counts))
    means, pairs = parts(frame, "jsd_means"), parts(frame, "jsd_pairs")
    assert means["all"] <= pairs["all"] + 1e-12
    assert means["all"] == means["kept"]
    assert pairs["all"] == pairs["kept"]
    assert np.isnan([means["flipped"], pairs["flipped"], pairs["difference"]]).all()


def test_by_hand() -> None:
    # The middle of (1, 0) and (1/2, 1/2) is (3/4, 1/4): half of log2(4/3), and half of (log2(2/3) + log2(2)) / 2.
    expected = (math.log2(4 / 3) + (math.log2(2 / 3) + 1) / 2) / 2
    one = moved(np.array([[1, 0]]), np.array([[0.5, 0.5]]))
    assert parts_of("jsd_pairs", one)["all"] == pytest.approx(expected, abs=1e-15)
    assert parts_of("jsd_pairs(base=e)", one)["all"] == pytest.approx(expected * math.log(2), abs=1e-15)
    two = moved(np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert parts_of("jsd_means", two)["all"] == 0
    assert jsd([1, 0], [0, 1]) == 1


@pytest.mark.parametrize("only_right", [False, True])
@pytest.mark.parametrize("base", ["2", "e"])
def test_parts_of_the_pairs_are_means_over_pairs(base: str, only_right: bool) -> None:
    frame = answers(3, buckets=100)
    p, q, flipped = pairs(frame, only_right)
    each = jensenshannon(p, q, axis=1, base={"2": 2, "e": math.e}[base]) ** 2
    found = parts(frame, f"jsd_pairs(base={base}, only_right={str(only_right).lower()})")
    means = {"all": each.mean(), "flipped": each[flipped].mean(), "kept": each[~flipped].mean()}
    assert found == pytest.approx({**means, "difference": means["flipped"] - means["kept"]}, abs=1e-12)


@pytest.mark.parametrize("only_right", [False, True])
def test_parts_of_the_means_are_divergences_of_mean_distributions(only_right: bool) -> None:
    frame = answers(4, buckets=100)
    p, q, flipped = pairs(frame, only_right)
    found = parts(frame, f"jsd_means(only_right={str(only_right).lower()})")
    masks = {"all": flipped | True, "flipped": flipped, "kept": ~flipped}
    expected = {
        name: jensenshannon(p[mask].mean(axis=0), q[mask].mean(axis=0), base=2) ** 2 for name, mask in masks.items()
    }
    assert found == pytest.approx(expected, abs=1e-12)


def test_scores_have_parts_and_are_no_shares() -> None:
    scores = ow.score(answers(5), ["jsd_pairs", "jsd_means"], task="nli", replicates=50)
    assert [one.metric for one in scores] == [
        *("jsd_pairs:all", "jsd_pairs:flipped", "jsd_pairs:kept", "jsd_pairs:difference"),
        *("jsd_means:all", "jsd_means:flipped", "jsd_means:kept"),
    ]
    assert all(one.low <= one.value <= one.high for one in scores[:4])
    assert {one.unit for one in scores} == {"number"}
    assert scores[0].signature.startswith("jsd_pairs.v1(base=2, only_right=false) ")


@pytest.mark.filterwarnings("ignore:.*not the most probable")
def test_a_model_that_never_flips_has_no_flipped_part() -> None:
    steady = answers(6).with_columns(pred="gold")
    with pytest.warns(UserWarning, match="nothing to measure"):
        scores = ow.score(steady, ["jsd_pairs", "jsd_means"], task="nli", replicates=50)
    values = {one.metric: one.value for one in scores}
    assert values["jsd_pairs:all"] == values["jsd_pairs:kept"] > 0
    assert values["jsd_means:all"] == values["jsd_means:kept"] > 0
    missing = {name for name, value in values.items() if value is None}
    assert missing == {"jsd_pairs:flipped", "jsd_pairs:difference", "jsd_means:flipped"}


def test_constant_probabilities_do_not_move() -> None:
    still = answers(7).with_columns(pl.lit(1 / 3).alias(f"p:{label}") for label in LABELS)
    assert parts(still, "jsd_pairs") == {"all": 0, "flipped": 0, "kept": 0, "difference": 0}
    assert parts(still, "jsd_means")["all"] == pytest.approx(0, abs=1e-15)


def test_what_cannot_be_measured_is_refused() -> None:
    frame = answers(8)
    for name in ("jsd_pairs", "jsd_means"):
        with refuses(Unmeasurable):
            ow.score(frame.drop(pl.selectors.starts_with("p:")), [name], task="nli")
        with refuses(BadInput):
            metrics.make(f"{name}(base=10)")
    originals = frame.filter(pl.col("variant").is_null())
    with pytest.warns(UserWarning, match="nothing to measure"), refuses(BadInput):
        ow.score(originals, ["jsd_pairs"], task="nli")


# Intervals of jsd_pairs, by hand


def hard(*problems: str) -> pl.DataFrame:
    """A problem for each word: a letter f is a variant whose probabilities turn round, k one whose do not move."""
    rows: list[tuple[str, str | None, str, float, float]] = []
    for number, letters in enumerate(problems):
        rows.append((f"b{number}", None, "no", 1.0, 0.0))
        for place, letter in enumerate(letters):
            turned = letter == "f"
            rows.append((f"b{number}", f"v{place}", "yes" if turned else "no", float(not turned), float(turned)))
    return pl.DataFrame(rows, schema=["bucket", "variant", "pred", "p:no", "p:yes"], orient="row")


def wilson(share: float, n: float, q: float) -> tuple[float, float]:
    middle, half = share + q * q / (2 * n), q * math.sqrt(share * (1 - share) / n + q * q / (4 * n * n))
    return (middle - half) / (1 + q * q / n), (middle + half) / (1 + q * q / n)


@pytest.mark.filterwarnings("ignore:.*clusters")
@pytest.mark.parametrize(("base", "most"), [("2", 1.0), ("e", math.log(2))])
def test_means_of_divergence_have_the_interval_of_a_share(base: str, most: float) -> None:
    """Of four problems two move as far as can be, two not at all: influences of half of that, 3 degrees of freedom."""
    all_, flipped, kept, difference = ow.score(hard("f", "f", "k", "k"), [f"jsd_pairs(base={base})"])
    value, error = most / 2, 4 * (4 / 3 * most / 2) ** 2 / (4 * 3)  # of the others, each would be a third more
    low, high = wilson(value, value * (1 - value) / error, 3.182446305284263)
    least, greatest = wilson(1, 4, 1.959963984540054)[0], wilson(0, 4, 1.959963984540054)[1]
    assert all_.value == pytest.approx(value)
    bound = 1 - BOUND if base == "2" else -1  # two of four are below 1 bit, all below 1 nat
    assert all_.low == pytest.approx(min(max(low, bound), least), abs=1e-8)
    assert all_.high == pytest.approx(max(min(high, BOUND), greatest), abs=1e-8)  # two of four are above 0
    ends = wilson(most, 2, 1.959963984540054) if base == "e" else wilson(1, 2, 1.959963984540054)
    assert flipped.low == pytest.approx(min(ends[0], wilson(1, 2, 1.959963984540054)[0]), abs=1e-8)
    assert [kept.value, kept.low] == [0, 0]
    assert kept.high == pytest.approx(wilson(0, 2, 1.959963984540054)[1], abs=1e-8)
    assert [one.interval for one in (all_, flipped, kept, difference)] == ["mover"] * 4


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_the_difference_of_divergences_has_that_of_its_two_sides() -> None:
    """Flipped and kept variants in every problem: 1 [0.51, 1] less 0 [0, 0.49], which do not vary together."""
    *_, difference = ow.score(hard("fk", "fk", "fkk", "kf"), ["jsd_pairs"])
    away = 1.959963984540054**2 / (4 + 1.959963984540054**2)
    assert [difference.value, difference.low, difference.high] == pytest.approx(
        [1, 1 - away * math.sqrt(2), 1], abs=1e-8
    )


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_hard_answers_diverge_as_often_as_they_flip() -> None:
    flips, all_, *_ = ow.score(hard("fk", "kkk", "f", "k", "kkf"), ["flip_rate", "jsd_pairs"])
    assert [all_.value, all_.low, all_.high] == pytest.approx([flips.value, flips.low, flips.high], abs=1e-8)


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_what_flips_in_one_problem_alone_has_no_interval() -> None:
    scores = ow.score(hard("ff", "k", "kk", "k"), ["jsd_pairs"])
    assert [one.note for one in scores] == ["", "one cluster", "", "flipped variants in one cluster"]
    assert scores[-1].low is None
