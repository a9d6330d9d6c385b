"""A test set besides the buckets: whose items are read, what is refused, and its accuracy."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from refusals import refuses
from scipy.stats import binom

import otherwords as ow
from otherwords.answers import reading
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.corrected import items_in
from otherwords.metrics.metric import as_metric
from otherwords.pipeline import score
from otherwords.registry import metrics
from otherwords.storage import tables

LABELS = ("yes", "no")
BUCKETS = pl.DataFrame(
    {
        "model": ["one"] * 3,
        "bucket": ["a"] * 3,
        "variant": [None, "1", "2"],
        "gold": ["yes"] * 3,
        "pred": ["yes", "no", "yes"],
        "p:yes": [0.9, 0.4, 0.6],
        "p:no": [0.1, 0.6, 0.4],
    }
)
ITEMS = pl.DataFrame(
    {
        "model": ["one", "one", "one", "two"],
        "id": ["i1", "i2", "i3", "i1"],
        "gold": ["yes", "no", "no", "yes"],
        "p:yes": [0.3, 0.3, 0.8, 0.1],
        "p:no": [0.7, 0.7, 0.2, 0.9],
    }
)


@pytest.fixture
def answers():
    return reading.read(BUCKETS, LABELS)


def saved(folder: Path, frame: pl.DataFrame, ending: str = ".parquet") -> Path:
    tables.write([frame], folder / f"items{ending}")
    return folder / f"items{ending}"


@pytest.mark.parametrize("ending", tables.FORMATS)
def test_the_models_own_items_in_every_format(tmp_path: Path, answers, ending: str) -> None:
    items = items_in(saved(tmp_path, ITEMS, ending))(answers)
    assert items.names.tolist() == ["i1", "i2", "i3"]
    assert items.confidence.tolist() == [0.3, 0.7, 0.2]
    assert items.correct.tolist() == [False, True, False]


def test_a_table_without_models_is_taken_for_the_one_that_is_measured(tmp_path: Path, answers) -> None:
    items = items_in(saved(tmp_path, ITEMS.head(3).drop("model")))(answers)
    assert items.confidence.tolist() == [0.3, 0.7, 0.2]


def test_a_label_that_is_given_counts_before_the_most_probable(tmp_path: Path, answers) -> None:
    given = ITEMS.head(3).with_columns(pred=pl.Series(["yes", "no", "no"]))
    assert items_in(saved(tmp_path, given))(answers).correct.tolist() == [True, True, True]
    assert items_in(saved(tmp_path, given.drop("p:yes", "p:no")))(answers).correct.tolist() == [True, True, True]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.drop("id"),
        lambda t: t.drop("gold"),
        lambda t: t.with_columns(gold=pl.lit("maybe")),
        lambda t: t.with_columns(id=pl.lit("same")),
        lambda t: t.with_columns(pl.when(pl.col("id") == "i2").then(None).otherwise("id").alias("id")),
        lambda t: t.with_columns(pl.lit(0.3).alias("p:yes")),
    ],
)
def test_what_is_refused_and_where(tmp_path: Path, answers, change) -> None:
    with refuses(BadInput):
        items_in(saved(tmp_path, change(ITEMS)))(answers)


def test_rows_are_counted_as_in_the_users_table(tmp_path: Path, answers) -> None:
    """The model's first row is the table's second."""
    wrong = pl.concat([ITEMS.tail(1), ITEMS.head(1).with_columns(gold=pl.lit("maybe"))])
    with refuses(BadInput):
        items_in(saved(tmp_path, wrong))(answers)


def test_another_models_test_set_is_no_use(tmp_path: Path, answers) -> None:
    with refuses(Unmeasurable):
        items_in(saved(tmp_path, ITEMS.tail(1)))(answers)


@pytest.mark.parametrize("missing", ["drop", "null"])
def test_a_model_without_probabilities_is_reported(tmp_path: Path, answers, missing: str) -> None:
    given, p = ITEMS.head(3).with_columns(pred="gold"), ("p:yes", "p:no")
    given = given.drop(p) if missing == "drop" else given.with_columns(pl.lit(None).alias(name) for name in p)
    items = items_in(saved(tmp_path, given))(answers)
    assert items.correct.all()
    with refuses(Unmeasurable):
        _ = items.confidence


def test_no_file_is_reported_at_once(tmp_path: Path) -> None:
    with refuses(BadInput):
        items_in(tmp_path / "none.parquet")


def test_accuracy_on_the_test_set_counts_its_items(tmp_path: Path) -> None:
    n, k = 400, 300
    items = pl.DataFrame({"id": range(n), "gold": "yes", "pred": ["yes"] * k + ["no"] * (n - k)})
    [one] = score(BUCKETS, [f"accuracy_testset(testset={saved(tmp_path, items)})"], replicates=4000)
    assert (one.metric, one.value, one.n_units, one.n_answers) == ("accuracy_testset", 0.75, n, n)
    exact = binom.ppf([0.025, 0.975], n, k / n) / n
    assert (one.low, one.high) == pytest.approx(exact, abs=0.0051)  # two items


def outside(answers, spec: str):
    return as_metric(metrics.make(spec).function).outside(answers)


@pytest.mark.parametrize("name", ["accuracy_testset", "accuracy_corrected", "p_c_corrected", "coverage"])
def test_items_tell_the_right_label_and_what_they_share(tmp_path: Path, answers, name: str) -> None:
    """Items without a cluster stand for themselves, also beside a cluster called like one of them."""
    rows = {"id": ["i1", "i2", "i3", "i4", "i5"], "gold": ["yes", "no", "no", "yes", "yes"]}
    p = {"p:yes": [0.3, 0.3, 0.8, 0.1, 0.5], "p:no": [0.7, 0.7, 0.2, 0.9, 0.5]}
    clusters = pl.DataFrame({**rows, **p, "cluster": ["x", None, "x", "", "i2"]})
    items = outside(answers, f"{name}(testset={saved(tmp_path, clusters)})")
    assert items.gold.tolist() == [0, 1, 1, 0, 0]
    assert sorted(set(items.cluster.tolist())) == [0, 1, 2, 3]
    assert [items.cluster.tolist().count(one) for one in items.cluster] == [2, 1, 2, 1, 1]
    assert items.cluster[0] == items.cluster[2]
    alone = outside(answers, f"{name}(testset={saved(tmp_path, clusters.drop('cluster'))})")
    assert alone.cluster is None
    assert alone.rows.tolist() == items.rows.tolist()


def test_clusters_may_be_numbers(tmp_path: Path, answers) -> None:
    numbered = ITEMS.head(3).with_columns(cluster=pl.Series([7, None, 7]))
    cluster = items_in(saved(tmp_path, numbered))(answers).cluster
    assert cluster[0] == cluster[2] != cluster[1]


def test_an_interval_knows_that_items_share_a_premise(tmp_path: Path) -> None:
    """Ten times the same item is no more evidence than one: as wide an interval as that of a tenth of the items."""
    right = pl.DataFrame({"id": range(400), "gold": "yes", "pred": ["yes"] * 300 + ["no"] * 100})
    copied = pl.concat([right.with_columns(pl.col("id") + 1000 * i, cluster=pl.col("id")) for i in range(10)])
    single, tenfold = (
        score(BUCKETS, [f"accuracy_testset(testset={saved(tmp_path, one)})"], replicates=2000)[0]
        for one in (right, copied)
    )
    assert (tenfold.value, tenfold.n_answers) == (0.75, 4000)
    assert tenfold.high - tenfold.low == pytest.approx(single.high - single.low, rel=0.1)


@pytest.mark.parametrize("order", [("yes", "no"), ("no", "yes")])
def test_of_equally_probable_labels_the_first_by_name_is_given(tmp_path: Path, order: tuple[str, str]) -> None:
    """In whatever order the columns stand, and the labels of the answers."""
    even = pl.DataFrame({"id": ["i1", "i2"], "gold": ["yes", "no"], "p:yes": [0.5, 0.5], "p:no": [0.5, 0.5]})
    path = saved(tmp_path, even.select("id", "gold", *(f"p:{label}" for label in order)))
    assert items_in(path)(reading.read(BUCKETS, order)).correct.tolist() == [False, True]


def test_single_precision_is_read_as_it_was_written(tmp_path: Path, answers) -> None:
    single = ITEMS.with_columns(pl.col("^p:.*$").cast(pl.Float32))
    assert single["p:no"].cast(pl.Float64)[0] < 0.7
    assert items_in(saved(tmp_path, single))(answers).confidence.tolist() == [0.3, 0.7, 0.2]


def test_the_file_is_signed_by_its_content(tmp_path: Path) -> None:
    spec = f"accuracy_testset(testset={saved(tmp_path, ITEMS)})"
    [before] = score(BUCKETS, [spec], replicates=10)
    saved(tmp_path, ITEMS.with_columns(gold=pl.lit("yes")))
    [after] = score(BUCKETS, [spec], replicates=10)
    assert before.signature != after.signature
    assert "items.parquet#" in before.signature


# The table that `answer` writes


def as_answers(items: pl.DataFrame) -> pl.DataFrame:
    """The items as `answer` writes them: in buckets, some with variants, which are answered otherwise."""
    originals = items.rename({"id": "bucket"}).with_columns(variant=pl.lit(None, pl.String), pred=pl.lit("yes"))
    changed = originals.with_columns(variant=pl.col("bucket") + "~1", pred=pl.lit("no"))
    return pl.concat([changed.head(2), originals]).select("model", "bucket", "variant", "gold", "pred", "^p:.*$")


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        *(("accuracy_testset", ending) for ending in tables.FORMATS),
        *((name, ".csv") for name in ("accuracy_corrected", "p_c_corrected", "coverage")),
    ],
)
def test_the_originals_of_an_answers_table_are_items(tmp_path: Path, name: str, ending: str) -> None:
    items = ITEMS.with_columns(pl.Series("p:yes", [0.95, 0.3, 0.8, 0.1]), pl.Series("p:no", [0.05, 0.7, 0.2, 0.9]))
    asked = saved(tmp_path, as_answers(items), ending)
    [found] = score(BUCKETS, [f"{name}(testset={asked})"], replicates=50)
    listed = tmp_path / f"listed{ending}"
    tables.write([items.with_columns(pred=pl.lit("yes"))], listed)
    [expected] = score(BUCKETS, [f"{name}(testset={listed})"], replicates=50)
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert (found.n_units, found.n_answers) == (expected.n_units, expected.n_answers)


def test_what_answer_writes_and_a_run_holds_is_a_test_set(tmp_path: Path) -> None:
    rows = [{"premise": f"It is {n}.", "hypothesis": "So.", "label": "neutral", "id": f"p{n}"} for n in range(12)]
    answers = ow.answer(rows, "m=scripted(seed=3)", canary=False, cache=None)
    suite = ow.vary(rows, "identity", suite=True).drop("control", strict=False)
    buckets = ow.answer(suite, "m=scripted(seed=3)", canary=False, cache=None)
    right = float((answers["gold"] == answers["pred"]).mean())
    [one] = ow.score(buckets, [f"accuracy_testset(testset={saved(tmp_path, answers)})"], replicates=50)
    assert (one.value, one.n_units) == (right, 12)
    study = {"data": [rows], "models": ["m=scripted(seed=3)"], "canary": False, "cache": None, "replicates": 50}
    folder = ow.run({**study, "vary": ["identity"], "metrics": ["control_flips"]}, out=tmp_path / "run").folder
    [one] = ow.score(buckets, [f"accuracy_testset(testset={folder})"], replicates=50)
    assert (one.value, one.n_units) == (right, 12)


def test_contrasts_in_an_answers_table_are_no_items(tmp_path: Path, answers) -> None:
    marked = as_answers(ITEMS).with_columns(contrast=pl.when(pl.col("bucket") == "i3").then(pl.lit("mine")))
    assert items_in(saved(tmp_path, marked))(answers).names.tolist() == ["i1", "i2"]


def test_an_answers_table_that_is_no_test_set_is_refused(tmp_path: Path, answers) -> None:
    table = as_answers(ITEMS)
    with refuses(BadInput, field="variant"):
        items_in(saved(tmp_path, table.filter(pl.col("variant").is_not_null())))
    with refuses(BadInput, field="gold", where=f"{tmp_path / 'items.parquet'}, row 3"):
        items_in(saved(tmp_path, table.with_columns(gold=pl.lit(None, pl.String))))(answers)
    with refuses(BadInput, field="id", where=f"{tmp_path / 'items.parquet'}, row 3"):
        items_in(saved(tmp_path, table.with_columns(bucket=pl.lit("same"))))(answers)
    with refuses(BadInput, field="id"):
        items_in(saved(tmp_path, table.drop("bucket")))
    with refuses(BadInput, field="id"):
        items_in(saved(tmp_path, table.drop("variant")))
