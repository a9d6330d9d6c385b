"""Every metric: one row of statistics per bucket, which add up; names and order of rows change no bit of the score."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import otherwords as ow
from otherwords.metrics import reading
from otherwords.metrics.metric import as_metric

KIND = "metrics"
LABELS = ("entailment", "neutral", "contradiction")
#: The least and greatest value; for most metrics, a share.
BOUNDS: dict[str, tuple[float, float]] = {}


def some_answers(seed: int, buckets: int, most: int = 4) -> pl.DataFrame:
    """Answers of one model: every bucket an original and up to `most` variants; some have none."""
    chance = np.random.default_rng(seed)
    rows = []
    for bucket in range(buckets):
        gold = LABELS[chance.integers(3)]
        for variant in range(1 + chance.integers(most + 1) if bucket else 2):
            p = chance.dirichlet([1, 1, 1])
            pred = LABELS[int(p.argmax())] if chance.random() < 0.7 else gold
            name = f"b{bucket}~{variant}" if variant else None
            rows.append((f"b{bucket}", name, gold, pred, f"c{bucket // 2}", *p))
    columns = ["bucket", "variant", "gold", "pred", "cluster", *(f"p:{label}" for label in LABELS)]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


@pytest.fixture
def metric(bound):
    return as_metric(bound.function)


ANSWERS = st.builds(some_answers, st.integers(0, 2**32), st.integers(1, 12))
quick = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(frame=ANSWERS)
def test_one_row_of_statistics_per_bucket(metric, frame):
    answers = reading.read(frame, LABELS)
    rows = metric.statistics(answers)
    assert rows.ndim == 2
    assert rows.shape[0] == answers.n_buckets == frame["bucket"].n_unique()
    assert np.isfinite(rows).all()
    assert metric.uses in ("originals", "variants", "both")
    counted = answers.evidence(metric.uses)
    assert not rows[counted == 0].any(), "a bucket without such answers has nothing to say"


@quick
@given(frame=ANSWERS, share=st.floats(0, 1))
def test_statistics_add_up_over_disjoint_buckets(metric, frame, share):
    names = frame["bucket"].unique(maintain_order=True)
    first = names.head(int(share * len(names)))
    parts = [
        frame.filter(pl.col("bucket").is_in(first.implode())),
        frame.filter(~pl.col("bucket").is_in(first.implode())),
    ]
    sums = [metric.statistics(reading.read(part, LABELS)) for part in parts if part.height]
    whole = metric.statistics(reading.read(frame, LABELS))
    key = lambda rows: sorted(map(tuple, rows.tolist()))  # noqa: E731
    assert sorted(row for part in sums for row in key(part)) == key(whole)
    np.testing.assert_allclose(sum(part.sum(axis=0) for part in sums), whole.sum(axis=0))


@quick
@given(frame=ANSWERS)
def test_the_value_is_within_its_bounds(plugin, metric, frame):
    rows = metric.statistics(reading.read(frame, LABELS))
    value = float(metric.combine(rows.sum(axis=0)))
    low, high = BOUNDS.get(plugin[1], (0.0, 1.0))
    assert math.isnan(value) or low <= value <= high


def test_combine_works_on_many_replicates_at_once(metric):
    rows = metric.statistics(reading.read(some_answers(1, 12), LABELS))
    sums = np.random.default_rng(1).integers(0, 3, (5, len(rows))) @ rows
    assert metric.combine(sums).tolist() == [float(metric.combine(one)) for one in sums]


def scored(frame, spec):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample may leave a metric nothing to measure
        try:
            (one,) = ow.score(frame, [spec], task="nli", replicates=50)
        except ow.OtherwordsError as error:
            return str(error)
    return one


@quick
@given(frame=ANSWERS, seed=st.integers(0, 1000))
def test_names_and_order_change_no_bit(spec, frame, seed):
    whole = scored(frame, spec)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    assert scored(shuffled, spec) == whole
    names = frame["bucket"].unique(maintain_order=True)
    new = {name: f"{(seed * 7 + i) % 1009} ü" for i, name in enumerate(names)}
    renamed = shuffled.with_columns(
        pl.col("bucket").replace_strict(new),
        (pl.lit("x") + pl.col("cluster")).alias("cluster"),
        "x" + pl.col("variant"),
    )
    assert scored(renamed, spec) == whole


def test_a_perfect_and_steady_model_and_its_opposite(plugin, spec):
    """Not a law but a sanity: the two extremes are told apart, or the metric says the same of both on purpose."""
    frame = some_answers(3, 20)
    right = frame.with_columns(pl.col("gold").alias("pred")).drop(pl.selectors.starts_with("p:"))
    changed = (
        pl.when(pl.col("variant").is_null())
        .then("gold")
        .otherwise(pl.col("gold").replace_strict(dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True))))
    )
    wrong = right.with_columns(changed.alias("pred"))
    one, other = scored(right, spec), scored(wrong, spec)
    assert one.value in (0.0, 1.0)
    assert one.low == one.high == one.value
    if plugin[1] not in ("accuracy_original.v1", "p_c.v1"):  # blind to it by definition
        assert one.value != other.value


def test_the_score_carries_its_signature(bound, spec):
    score = scored(some_answers(1, 12), spec)
    assert score.signature.startswith(bound.signature)
    assert f"otherwords={ow.__version__}" in score.signature
    assert score.low <= score.value <= score.high
    assert 0 < score.n_units <= 12
