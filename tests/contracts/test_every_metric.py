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
from otherwords.answers.table import Answers
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.metric import as_metric
from otherwords.registry import metrics
from otherwords.scoring.select import NOISE

#: Their probabilities are drawn at random, and so contradict `pred`.
pytestmark = pytest.mark.filterwarnings("ignore:.*are not the most probable label")

KIND = "metrics"
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
LABELS = ("entailment", "neutral", "contradiction")
REPEATS = ("again:usual:1", "again:usual:2", "again:cold:1")
NEEDS = ("no gold labels", "no originals", "a problem with two variants", "the same asked again", "label mass")
WORDS = ("a", "dog", "runs", "in", "the", "park", "while", "it", "rains")


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
            rows.append(("m", "x", f"b{bucket}", name, gold, pred, f"c{bucket // 2}", text, *p))
    columns = ["model", "template", "bucket", "variant", "gold", "pred", "cluster", "hypothesis"]
    frame = pl.DataFrame(
        rows, schema=[*columns, *(f"p:{label}" for label in LABELS)], orient="row", infer_schema_length=None
    )
    mass = [None if row and chance.random() < 0.2 else chance.random() for row in range(frame.height)]
    return frame.with_columns(*(asked_again(frame, seed, name) for name in REPEATS), label_mass=pl.Series(mass))


def asked_again(frame: pl.DataFrame, seed: int, name: str) -> pl.Series:
    """Answers to the same, asked again: mostly the same ones; some were not asked."""
    chance = np.random.default_rng([seed, *name.encode()])
    given = [pred if chance.random() < 0.8 else [*LABELS, None][chance.integers(4)] for pred in frame["pred"]]
    return pl.Series(name, given, dtype=pl.String)


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
    """Answers to the same questions by another template: right where it says anything but neutral."""
    better = pl.when(pl.col("pred") == "neutral").then("pred").otherwise("gold")
    return frame.with_columns(pl.lit("m@y").alias("model"), pl.lit("y").alias("template"), better.alias("pred"))


def in_whole_table(metric, frame: pl.DataFrame) -> pl.DataFrame:
    """The same in a whole table: with controls come rewordings, of which the metric must see nothing."""
    if metric.uses != "controls":
        return marked(metric, frame)
    rewordings = frame.filter(pl.col("variant").is_not_null()).with_columns(pl.col("variant") + " reworded")
    return pl.concat([marked(metric, frame), rewordings.with_columns(pl.lit(None, pl.String).alias("control"))])


def opened(frame: pl.DataFrame) -> Answers:
    """A table read and checked, once for all metrics: they are tried on the same ones."""
    key = frame.serialize()
    if key not in _OPENED:
        if len(_OPENED) == MANY:
            _OPENED.clear()
        _OPENED[key] = reading.read(frame, LABELS)
    return _OPENED[key]


#: Tables that are kept open: those of one test, with some room.
_OPENED: dict[bytes, Answers] = {}
MANY = 200


def read(metric, frame):
    """What the metric's statistics take: one model's answers, or two models'."""
    frame = marked(metric, frame)
    return [opened(frame), opened(second(frame))] if metric.across else opened(frame)


@pytest.fixture
def metric(bound):
    return as_metric(bound.function)


ANSWERS = st.builds(some_answers, st.integers(0, 2**32), st.integers(1, 12))
quick = settings(
    max_examples=max(2, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def values(metric, frame) -> list[float]:
    """The value, or the values of its parts."""
    rows = metric.rows(read(metric, frame))
    sums = rows.sum(axis=0)
    if metric.outside:
        sums = sums + metric.outside(opened(frame)).rows.sum(axis=0)
    return np.atleast_1d(metric.combine(sums)).tolist()


@quick
@given(frame=ANSWERS, share=st.floats(0, 1))
def test_statistics_are_rows_per_unit_that_add_up_to_a_value_within_bounds(metric, frame, share):
    answers, rows = opened(marked(metric, frame)), metric.statistics(read(metric, frame))
    assert rows.ndim == 2
    assert rows.shape[0] == (2 if metric.across == "models" else answers.n_buckets)
    assert np.isfinite(rows).all()
    assert (rows[:, -1] >= 0).all()
    names, found = metric.part_names(answers), values(metric, frame)
    assert len(set(names)) == len(names) == len(found)
    assert all(":" not in name for name in names)
    low, high = metric.bounds
    assert all(math.isnan(value) or low - 1e-12 <= value <= high + 1e-12 for value in found)
    if metric.across == "models":
        return  # its units are models, not buckets
    assert not rows[rows[:, -1] == 0].any(), "the last entry tells whether a bucket counts"
    assert not rows[answers.evidence(metric.uses) == 0].any(), "without such answers a bucket does not count"
    _add_up_over_disjoint_buckets(metric, frame, share, rows)


def _add_up_over_disjoint_buckets(metric, frame, share, whole):
    names = frame["bucket"].unique(maintain_order=True)
    first = names.head(int(share * len(names)))
    inside = pl.col("bucket").is_in(first.implode())
    parts = [
        metric.statistics(read(metric, part)) for part in (frame.filter(inside), frame.filter(~inside)) if len(part)
    ]
    key = lambda rows: sorted(map(tuple, rows.tolist()))  # noqa: E731
    assert sorted(row for part in parts for row in key(part)) == key(whole)
    np.testing.assert_allclose(sum(part.sum(axis=0) for part in parts), whole.sum(axis=0), atol=1e-12)


def test_combine_works_on_many_replicates_at_once(metric):
    frame = some_answers(1, 12)
    rows = metric.statistics(read(metric, frame))
    sums = np.random.default_rng(1).integers(0, 3, (5, len(rows))) @ rows
    if metric.outside:
        sums = sums + metric.outside(opened(frame)).rows.sum(axis=0)
    np.testing.assert_array_equal(metric.combine(sums), np.stack([metric.combine(one) for one in sums]))


def scored(frame, spec, two=False):
    """The scores, or why there are none: nothing to measure, or the table lacks what it takes. All else is a defect."""
    frame = in_whole_table(as_metric(metrics.make(spec).function), frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample may leave a metric nothing to measure
        try:
            found = ow.score(pl.concat([frame, second(frame)]) if two else frame, [spec], task="nli", replicates=50)
        except BadInput as error:
            if isinstance(error, Unmeasurable) or "nothing to measure" in error.message:
                return str(error)
            raise
    name = metrics.make(spec).plugin.name  # the noise stands before any flip rate
    return [each for each in found if each.metric not in NOISE or each.metric == name]


@quick
@given(frame=ANSWERS, seed=st.integers(0, 1000))
def test_names_and_order_change_no_bit(spec, metric, frame, seed):
    two = bool(metric.across)
    whole = scored(frame, spec, two)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    names = frame["bucket"].unique(maintain_order=True)
    new = {name: f"{(seed * 7 + i) % 1009} ü" for i, name in enumerate(names)}
    renamed = shuffled.with_columns(
        pl.col("bucket").replace_strict(new),
        (pl.lit("x") + pl.col("cluster")).alias("cluster"),
        (pl.lit("x") + pl.col("variant")).alias("variant"),
    )
    assert scored(renamed, spec, two) == whole


def test_a_perfect_and_steady_model_and_its_opposite(spec, metric):
    """Not a law but a sanity check: the two extremes differ, unless the metric is blind to that by definition."""
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
    assert (str(one) == str(other)) == metric.blind
    for model, expected in ((right, one), (wrong, other)):
        found = scored(model, spec, two=bool(metric.across))
        if all(map(math.isnan, expected)):
            assert "nothing to measure" in found
        else:
            assert not isinstance(found, str), found
            assert [math.nan if each.value is None else each.value for each in found] == pytest.approx(
                expected, abs=1e-12, nan_ok=True
            )


def test_the_score_carries_its_signature_and_its_interval_holds_the_value(bound, spec, metric):
    found = scored(some_answers(1, 30, most=8), spec, two=bool(metric.across))
    assert not isinstance(found, str)
    for score in found:
        assert score.metric.partition(":")[0] == ("wrong" if bound.plugin.name == "python" else bound.plugin.name)
        assert score.signature.startswith(bound.signature)
        assert f"otherwords={ow.__version__}" in score.signature
        assert score.unit == ("share" if metric.share else "number")
        assert (score.interval in ("percentile", "bca", "wilson", "mover", "net")) == (score.low is not None)
        assert score.n_units > 0
        assert score.n_answers >= score.n_units
        if score.value is not None and metric.smooth and score.low is not None:
            spread = score.high - score.low
            assert score.low - spread <= score.value <= score.high + spread


@pytest.mark.parametrize("frame", [some_answers(5, 1), some_answers(6, 2, most=1)], ids=["a bucket", "a variant each"])
def test_little_data_give_a_value_or_a_reason_never_a_nan(spec, metric, frame):
    """A metric that complains has a reason: none of its values is defined."""
    found = scored(frame, spec, two=bool(metric.across))
    expected = values(metric, frame)
    assert isinstance(found, str) == all(map(math.isnan, expected))
    for score, value in [] if isinstance(found, str) else zip(found, expected, strict=True):
        assert (score.value is None) == math.isnan(value)
        assert score.value is None or math.isfinite(score.value)
        assert score.low is None or math.isfinite(score.low)
        assert score.high is None or math.isfinite(score.high)


def varied(frame: pl.DataFrame) -> pl.DataFrame:
    """The buckets that have variants."""
    return frame.filter(pl.col("variant").is_not_null().any().over("bucket"))


SEVERAL = [some_answers(seed, 12, most=8) for seed in (7, 8, 9)]


def test_gold_labels_matter_only_where_they_are_needed(metric):
    if metric.gold:
        with refuses(Unmeasurable):
            metric.rows(read_as_given(metric, SEVERAL[0].drop("gold")))
        return
    if metric.across:  # the other model of these tests knows the right answers
        for frame in SEVERAL:
            metric.rows(read_as_given(metric, frame.drop("gold")))
        return
    for seed, frame in enumerate(SEVERAL):
        golds = frame.group_by("bucket", maintain_order=True).agg(pl.col("gold").first())
        other = golds.with_columns(pl.col("gold").shuffle(seed))
        exchanged = frame.drop("gold").join(other, on="bucket", how="left", maintain_order="left")
        without = frame.drop("gold") if seed else frame.with_columns(pl.lit(" ").alias("gold"))
        assert str(values(metric, without)) == str(values(metric, exchanged)) == str(values(metric, frame))


def test_originals_matter_only_where_they_are_needed(metric):
    for frame in SEVERAL:
        whole = varied(marked(metric, frame))
        without = whole.filter(pl.col("variant").is_not_null())
        if metric.original:
            with refuses(Unmeasurable):
                metric.rows(read_as_given(metric, without))
            return
        assert str(values(metric, without)) == str(values(metric, whole))


def test_repeats_matter_only_where_they_are_needed(metric):
    for frame in SEVERAL:
        without = frame.drop(REPEATS)
        if metric.repeats:
            with refuses(Unmeasurable):
                metric.rows(read_as_given(metric, without))
            return
        assert str(values(metric, without)) == str(values(metric, frame))


def test_label_mass_matters_only_where_it_is_needed(metric):
    for frame in SEVERAL:
        without = frame.with_columns(pl.lit(None, pl.Float64).alias("label_mass"))
        if metric.label_mass:
            with refuses(Unmeasurable):
                metric.rows(read_as_given(metric, without))
            return
        assert str(values(metric, without)) == str(values(metric, frame))


def read_as_given(metric, frame):
    """One model's answers or two equal ones, in the role that the metric looks at."""
    if metric.uses == "contrasts":
        frame = frame.with_columns(pl.lit("suite").alias("contrast"))
    return [opened(frame), opened(frame)] if metric.across else opened(frame)


def test_one_variant_of_each_problem_is_no_pair(metric):
    first = pl.col("variant").is_null() | pl.col("variant").str.ends_with("~1")
    for frame in SEVERAL if metric.fewest > 1 else ():
        single = frame.filter(first)
        assert all(map(math.isnan, values(metric, single)))
        if not metric.outside:
            constant = metric.by_part(metric.statistics(read(metric, single)).sum(axis=0)).tolist()
            assert all(math.isnan(value) or value in (0, 1) for value in constant), "so it has no value for a reason"


def test_the_page_of_metrics_says_what_it_needs(bound, metric):
    page = PAGE.read_text(encoding="utf-8")
    if not re.search(rf"`{bound.plugin.name}[`(]", page):
        return  # another test asks for every metric of the package
    rows = {
        line.split("|")[1].strip(): set(re.findall(r"`(\w+)`", line.split("|")[2]))
        for line in page.splitlines()
        if line.startswith(tuple(f"| {need}" for need in NEEDS))
    }
    documented = tuple(bound.plugin.name in rows[need] for need in NEEDS)
    needs = (not metric.gold, not metric.original, metric.fewest > 1, metric.repeats, metric.label_mass)
    assert documented == needs


def test_two_models_can_be_compared_with_it(spec, metric):
    frame = in_whole_table(metric, some_answers(2, 30, most=8))
    both = pl.concat([frame, second(frame)])
    if metric.across:
        with refuses(ow.OtherwordsError):
            ow.compare(both, using=[spec], replicates=50)
        return
    for one in ow.compare(both, using=[spec], task="nli", replicates=400):
        assert (one.model, one.other) == ("m", "m@y")
        assert (one.n_units > 0) == (one.difference is not None)
        assert one.n_answers >= one.n_units
        if one.p_swap is not None:
            assert one.difference == pytest.approx(one.value - one.other_value, abs=1e-12)
            assert 0 < one.p_swap <= one.p_holm <= one.p_bonferroni <= 1
            assert one.p_swap <= one.p_bh <= one.p_holm
