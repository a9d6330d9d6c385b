"""Every metric: one row of statistics per bucket, which add up; names and order of rows change no bit of the score."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.answers import reading
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics

KIND = "metrics"
LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("a", "dog", "runs", "in", "the", "park", "while", "it", "rains")
#: The least and greatest value of what is no share.
BOUNDS: dict[str, tuple[float, float]] = {
    "vap": (0, 0.25),
    "pvap_distinct": (0, 2),
    "p_c_bound": (0.5, 1),
    "p_c": (0.5, 1),
    "pa_drop": (-1, 1),
    "vote_gain": (-1, 1),
    "jsd_pairs": (-1, 1),
    "sigma": (0, 0.4715),
    "snr": (0, math.inf),
    "embedding_distance": (0, 2),
}
#: What says the same of a perfect model and of one that is right on originals only: blind to it by definition.
BLIND = {
    "accuracy_original", "accuracy_original_weighted", "accuracy_testset", "coverage", "p_c", "p_c_distinct",
    "p_c_bound", "p_c_corrected", "label_agreement", "vap", "pvap", "pvap_distinct", "majority_class", "snr",
    "jaccard", "lexical_distance", "token_overlap", "too_few_variants", "flip_to_right", "flip_wrong_to_wrong",
    "flip_when_wrong", "matching_threshold", "sensitivity", "embedding_distance", "embedding_jsd", "syntactic_distance",
}  # fmt: skip


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
            text = " ".join(chance.choice(WORDS, 4))
            rows.append(("m", f"b{bucket}", name, gold, pred, f"c{bucket // 2}", text, *p))
    columns = ["model", "bucket", "variant", "gold", "pred", "cluster", "hypothesis"]
    return pl.DataFrame(
        rows, schema=[*columns, *(f"p:{label}" for label in LABELS)], orient="row", infer_schema_length=None
    )


def marked(metric, frame: pl.DataFrame) -> pl.DataFrame:
    """What the metric looks at: rewordings as they are, controls, or contrasts, some with another right answer."""
    if metric.uses == "controls":
        return frame.with_columns(pl.when(pl.col("variant").is_not_null()).then(pl.lit("same")).alias("control"))
    if metric.uses != "contrasts" or "contrast" in frame.columns:
        return frame
    turned = pl.col("gold").replace_strict(dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True)))
    changed = pl.col("variant").is_not_null() & (pl.col("variant").str.slice(-1) != "2")  # the second keeps its answer
    gold = pl.when(changed).then(turned).otherwise("gold")
    return frame.with_columns(gold.alias("gold"), pl.lit("suite").alias("contrast"))


def second(frame: pl.DataFrame) -> pl.DataFrame:
    """Another model's answers to the same questions: it is right where it says anything but neutral."""
    better = pl.when(pl.col("pred") == "neutral").then("pred").otherwise("gold")
    return frame.with_columns(pl.lit("n").alias("model"), better.alias("pred"))


def beside(metric, frame: pl.DataFrame) -> pl.DataFrame:
    """The same in a whole table: controls stand beside rewordings, of which the metric must see nothing."""
    if metric.uses != "controls":
        return marked(metric, frame)
    rewordings = frame.filter(pl.col("variant").is_not_null()).with_columns(pl.col("variant") + " reworded")
    return pl.concat([marked(metric, frame), rewordings.with_columns(pl.lit(None, pl.String).alias("control"))])


def read(metric, frame):
    """What the metric's statistics take: one model's answers, or two models'."""
    frame = marked(metric, frame)
    mine = reading.read(frame, LABELS)
    return [mine, reading.read(second(frame), LABELS)] if metric.across else mine


@pytest.fixture
def metric(bound):
    return as_metric(bound.function)


ANSWERS = st.builds(some_answers, st.integers(0, 2**32), st.integers(1, 12))
quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def values(metric, frame) -> list[float]:
    """The value, or the values of its parts."""
    rows = metric.statistics(read(metric, frame))
    sums = rows.sum(axis=0)
    if metric.outside:
        sums = sums + metric.outside(reading.read(frame, LABELS)).rows.sum(axis=0)
    return np.atleast_1d(metric.combine(sums)).tolist()


@quick
@given(frame=ANSWERS)
def test_one_row_of_statistics_per_unit(metric, frame):
    answers = reading.read(marked(metric, frame), LABELS)
    rows = metric.statistics(read(metric, frame))
    assert rows.ndim == 2
    assert rows.shape[0] == (2 if metric.across == "models" else answers.n_buckets)
    assert np.isfinite(rows).all()
    assert (rows[:, -1] >= 0).all()
    assert metric.uses in ("originals", "variants", "both", "contrasts", "controls")
    if metric.across != "models":
        assert not rows[rows[:, -1] == 0].any(), "the last entry tells whether a bucket has something to say"
        assert not rows[answers.evidence(metric.uses) == 0].any(), "without such answers there is nothing to say"


@quick
@given(frame=ANSWERS)
def test_one_value_for_each_part(metric, frame):
    names = metric.part_names(reading.read(marked(metric, frame), LABELS))
    assert len(set(names)) == len(names) == len(values(metric, frame))
    assert all(":" not in name for name in names)


@quick
@given(frame=ANSWERS, share=st.floats(0, 1))
def test_statistics_add_up_over_disjoint_buckets(metric, frame, share):
    if metric.across == "models":
        return  # its units are models, not buckets
    names = frame["bucket"].unique(maintain_order=True)
    first = names.head(int(share * len(names)))
    parts = [
        frame.filter(pl.col("bucket").is_in(first.implode())),
        frame.filter(~pl.col("bucket").is_in(first.implode())),
    ]
    sums = [metric.statistics(read(metric, part)) for part in parts if part.height]
    whole = metric.statistics(read(metric, frame))
    key = lambda rows: sorted(map(tuple, rows.tolist()))  # noqa: E731
    assert sorted(row for part in sums for row in key(part)) == key(whole)
    np.testing.assert_allclose(sum(part.sum(axis=0) for part in sums), whole.sum(axis=0), atol=1e-12)


@quick
@given(frame=ANSWERS)
def test_the_value_is_within_its_bounds(plugin, metric, frame):
    low, high = BOUNDS.get(plugin[1].partition(".")[0], (0.0, 1.0))
    for value in values(metric, frame):
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12


def test_combine_works_on_many_replicates_at_once(metric):
    frame = some_answers(1, 12)
    rows = metric.statistics(read(metric, frame))
    sums = np.random.default_rng(1).integers(0, 3, (5, len(rows))) @ rows
    if metric.outside:
        sums = sums + metric.outside(reading.read(frame, LABELS)).rows.sum(axis=0)
    np.testing.assert_array_equal(metric.combine(sums), np.stack([metric.combine(one) for one in sums]))


def scored(frame, spec, two=False):
    """The scores, or why there are none: nothing to measure, or the table lacks what it takes. All else is a defect."""
    frame = beside(as_metric(metrics.make(spec).function), frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample may leave a metric nothing to measure
        try:
            found = ow.score(pl.concat([frame, second(frame)]) if two else frame, [spec], task="nli", replicates=50)
        except BadInput as error:
            if isinstance(error, Unmeasurable) or "nothing to measure" in error.message:
                return str(error)
            raise
    return found


@quick
@given(frame=ANSWERS, seed=st.integers(0, 1000))
def test_names_and_order_change_no_bit(spec, metric, frame, seed):
    two = bool(metric.across)
    whole = scored(frame, spec, two)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    assert scored(shuffled, spec, two) == whole
    names = frame["bucket"].unique(maintain_order=True)
    new = {name: f"{(seed * 7 + i) % 1009} ü" for i, name in enumerate(names)}
    renamed = shuffled.with_columns(
        pl.col("bucket").replace_strict(new),
        (pl.lit("x") + pl.col("cluster")).alias("cluster"),
        (pl.lit("x") + pl.col("variant")).alias("variant"),
    )
    assert scored(renamed, spec, two) == whole


def test_a_perfect_and_steady_model_and_its_opposite(plugin, spec, metric):
    """Not a law but a sanity: the two extremes are told apart, or the metric says the same of both on purpose."""
    frame = marked(metric, some_answers(3, 20, most=8))
    sure = [pl.when(pl.col("pred") == label).then(0.6).otherwise(0.2).alias(f"p:{label}") for label in LABELS]
    right = frame.with_columns(pl.col("gold").alias("pred")).with_columns(sure)
    changed = (
        pl.when(pl.col("variant").is_null())
        .then("gold")
        .otherwise(pl.col("gold").replace_strict(dict(zip(LABELS, [*LABELS[1:], LABELS[0]], strict=True))))
    )
    wrong = frame.with_columns(changed.alias("pred")).with_columns(sure)
    one, other = values(metric, right), values(metric, wrong)
    blind = plugin[1].partition(".")[0] in BLIND
    assert (str(one) == str(other)) == blind
    for model, told in ((right, one), (wrong, other)):
        found = scored(model, spec, two=bool(metric.across))
        if all(map(math.isnan, told)):
            assert "nothing to measure" in found
        else:
            assert not isinstance(found, str), found
            assert [math.nan if each.value is None else each.value for each in found] == pytest.approx(
                told, abs=1e-12, nan_ok=True
            )


def test_the_score_carries_its_signature_and_its_interval_holds_the_value(bound, spec, metric):
    found = scored(some_answers(1, 30, most=8), spec, two=bool(metric.across))
    assert not isinstance(found, str)
    for score in found:
        assert score.metric.partition(":")[0] == bound.plugin.name
        assert score.signature.startswith(bound.signature)
        assert f"otherwords={ow.__version__}" in score.signature
        assert score.unit == ("share" if metric.share else "number")
        assert score.n_units > 0
        assert score.n_answers >= score.n_units
        if score.value is not None and metric.smooth and score.low is not None:
            spread = score.high - score.low
            assert score.low - spread <= score.value <= score.high + spread


@pytest.mark.parametrize("frame", [some_answers(5, 1), some_answers(6, 2, most=1)], ids=["a bucket", "a variant each"])
def test_little_data_give_a_value_or_a_reason_never_a_nan(spec, metric, frame):
    """A metric that complains has a reason: none of its values is defined."""
    found = scored(frame, spec, two=bool(metric.across))
    told = values(metric, frame)
    assert isinstance(found, str) == all(map(math.isnan, told))
    for score, value in [] if isinstance(found, str) else zip(found, told, strict=True):
        assert (score.value is None) == math.isnan(value)
        assert score.value is None or math.isfinite(score.value)
        assert score.low is None or math.isfinite(score.low)
        assert score.high is None or math.isfinite(score.high)


def test_two_models_can_be_compared_with_it(spec, metric):
    frame = beside(metric, some_answers(2, 30, most=8))
    both = pl.concat([frame, second(frame)])
    if metric.across:
        with refuses(ow.OtherwordsError):
            ow.compare(both, using=[spec], replicates=50)
        return
    for one in ow.compare(both, using=[spec], task="nli", replicates=500):
        assert (one.model, one.other) == ("m", "n")
        assert (one.n_units > 0) == (one.difference is not None)
        assert one.n_answers >= one.n_units
        if one.p_swap is not None:
            assert one.difference == pytest.approx(one.value - one.other_value, abs=1e-12)
            assert 0 < one.p_swap <= one.p_holm <= one.p_bonferroni <= 1
            assert one.p_swap <= one.p_bh <= one.p_holm


def test_the_page_of_metrics_tells_of_it(plugin):
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert re.search(rf"`{plugin[1].partition('.')[0]}[`(]", page)
