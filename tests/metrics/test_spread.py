"""Sigma and Kolmogorov-Smirnov: against NumPy and SciPy, and how far a histogram is from exact."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy.stats import ks_2samp

import otherwords as ow
from otherwords.answers.reading import read
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics import ks_exact
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics

LABELS = ("entailment", "neutral", "contradiction")
SAMPLE = st.lists(st.integers(0, 20), min_size=1, max_size=30)


def answers(seed: int, buckets: int = 40, grid: int = 0) -> pl.DataFrame:
    """Random answers; with a grid, probabilities are whole multiples of 1/grid. Every fourth bucket has no variant."""
    chance = np.random.default_rng(seed)
    rows = []
    for bucket in range(buckets):
        gold = LABELS[chance.integers(3)]
        for variant in range(1 + (chance.integers(1, 4) if bucket % 4 else 0)):
            p = chance.dirichlet([0.5, 0.5, 0.5])
            p = chance.multinomial(grid, p) / grid if grid else p
            rows.append((bucket, str(variant) if variant else None, gold, LABELS[p.argmax()], *p))
    names = ["bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def samples(frame: pl.DataFrame, only_right: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """By a join: the probability of the original's label, for originals that have variants and for the variants."""
    originals = frame.filter(pl.col("variant").is_null())
    if only_right:
        originals = originals.filter(pl.col("pred") == pl.col("gold"))
    joined = originals.select("bucket", label="pred").join(frame, on="bucket")
    place = joined["label"].replace_strict({label: i for i, label in enumerate(LABELS)}).to_numpy()
    p = joined.select(f"p:{label}" for label in LABELS).to_numpy()[np.arange(len(place)), place]
    varied = joined["variant"].is_not_null().to_numpy()
    has_variants = joined.select(pl.col("variant").is_not_null().any().over("bucket")).to_series().to_numpy()
    return p[~varied & has_variants], p[varied]


def exactly(one, other) -> float:
    """SciPy's statistic; of its p-value, which nobody asked for, it complains in small samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return ks_2samp(one, other, method="asymp").statistic


def value(frame: pl.DataFrame, spec: str) -> np.ndarray:
    metric = as_metric(metrics.make(spec).function)
    return np.asarray(metric.combine(metric.statistics(read(frame, LABELS)).sum(axis=0)))


@given(SAMPLE, SAMPLE)
def test_exact_statistic_is_scipys(one: list[int], other: list[int]) -> None:
    assert ks_exact(one, other) == pytest.approx(exactly(one, other), abs=1e-12)
    assert ks_exact(one, other) == ks_exact(other, one)
    assert ks_exact(one, one) == 0


@pytest.mark.parametrize("only_right", ["false", "true"])
def test_a_histogram_is_exact_for_probabilities_on_its_grid(only_right: str) -> None:
    frame = answers(1, grid=100)
    expected = exactly(*samples(frame, only_right == "true"))
    assert expected > 0.2
    for bins in (100, 200, 1000):
        assert value(frame, f"ks(bins={bins}, only_right={only_right})") == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32), st.sampled_from([2, 7, 50, 200]))
def test_a_histogram_never_exceeds_the_exact_value_and_misses_at_most_a_bin(seed: int, bins: int) -> None:
    frame = answers(seed, buckets=12)
    one, other = samples(frame)
    found, exact = float(value(frame, f"ks(bins={bins})")), exactly(one, other)
    fullest = max((np.histogram(sample, bins, (0, 1))[0] / len(sample)).max() for sample in (one, other))
    assert exact - fullest - 1e-12 <= found <= exact + 1e-12


def test_a_released_model_is_off_by_less_than_a_point(shared) -> None:
    """ParaNLU's DeBERTa, whose probabilities crowd at 0 and 1: exact by SciPy, from the histogram by the metric."""
    keep = pl.col("split").eq("d-SNLI") & pl.col("model").eq("deberta-v3-large") & pl.col("collection").eq("main")
    tables = [pl.read_parquet(shared / "paranlu" / f"pred_{name}.parquet") for name in ("originals", "paraphrases")]
    rows = pl.concat([table.filter(keep) for table in tables], how="diagonal_relaxed").select(
        "pred", "gold", bucket="bucket_id", variant="pos", **{"p:0": "p0", "p:1": "p1"}
    )
    data = read(rows, ("0", "1"))
    p = data.p[np.arange(len(data.pred)), data.original_pred]
    exact = exactly(p[~data.is_variant], p[data.is_variant])
    [one] = ow.score(rows, ["ks"], replicates=20)
    assert exact - 0.01 <= one.value <= exact + 1e-12
    assert one.n_units == 250


def test_ks_says_how_many_bins_and_has_no_interval() -> None:
    [one] = ow.score(answers(2), ["ks"], task="nli", replicates=50)
    assert one.signature.startswith("ks.v1(bins=100, only_right=false, baseline=false) unit=number ")
    assert (one.low, one.high, one.interval) == (None, None, "")
    assert one.n_units == 30  # originals without variants have nothing to be compared with


@pytest.mark.parametrize("only_right", [False, True])
def test_sigma_is_numpys_standard_deviation(only_right: bool) -> None:
    frame = answers(3)
    was = frame.filter(pl.col("variant").is_null()).select("bucket", was="pred")
    frame = frame.join(was, on="bucket").filter((pl.col("was") == pl.col("gold")) | (not only_right))
    spread = np.std(frame.select(f"p:{label}" for label in LABELS).to_numpy(), axis=1, ddof=0)
    varied, flipped = frame["variant"].is_not_null().to_numpy(), (frame["pred"] != frame["was"]).to_numpy()
    masks = (~varied, varied, varied & flipped, varied & ~flipped)
    found = value(answers(3), f"sigma(only_right={str(only_right).lower()})")
    assert found.tolist() == pytest.approx([spread[mask].mean() for mask in masks], abs=1e-12)


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_sigma_is_greatest_where_one_label_has_all(labels: int) -> None:
    names, size = [f"l{i}" for i in range(labels)], labels
    rows = {"bucket": range(size), "variant": [""] * size, "gold": names, "pred": names}
    for p, expected in ((np.eye(labels), math.sqrt(labels - 1) / labels), (np.full((size, labels), 1 / labels), 0)):
        found = ow.measure("sigma", part="originals", **rows, p=p, labels=names, replicates=2)
        assert found.value == pytest.approx(expected, abs=1e-15)


def test_parts_of_sigma_and_their_counts() -> None:
    scores = ow.score(answers(4), ["sigma"], task="nli", replicates=50)
    assert [one.metric for one in scores] == [f"sigma:{part}" for part in ("originals", "variants", "flipped", "kept")]
    assert {one.unit for one in scores} == {"number"}
    assert [one.n_units for one in scores[:2]] == [40, 30]  # a quarter of the originals has no variants
    assert scores[2].n_answers + scores[3].n_answers == scores[1].n_answers
    assert all(0 <= one.low <= one.value <= one.high <= math.sqrt(2) / 3 for one in scores)


def test_originals_alone_have_a_sigma_but_nothing_to_compare() -> None:
    originals = answers(5).filter(pl.col("variant").is_null())
    with pytest.warns(UserWarning, match="nothing to measure"):
        scores = ow.score(originals, ["sigma"], task="nli", replicates=20)
    assert [one.value is None for one in scores] == [False, True, True, True]
    with pytest.warns(UserWarning, match="nothing to measure"), refuses(BadInput):
        ow.score(originals, ["ks"], task="nli")


def test_what_cannot_be_measured_is_refused() -> None:
    for name in ("sigma", "ks"):
        with refuses(Unmeasurable):
            ow.score(answers(6).drop(pl.selectors.starts_with("p:")), [name], task="nli")
    for bins in (1, 1001):
        with refuses(BadInput):
            metrics.make(f"ks(bins={bins})")
    for one, other in (([], [0.5]), ([0.5], []), ([0.5], [math.nan])):
        with refuses(BadInput):
            ks_exact(one, other)
