"""Scores of distinct buckets, counted part by part, are those of the whole table: to the bit, warnings included."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.answers.collapsing import collapse, in_parts
from otherwords.answers.suspicions import Suspicions
from otherwords.answers.table import COUNT, Location
from otherwords.errors import BadInput
from otherwords.metrics.metric import as_metric, role_of
from otherwords.pipeline import scored
from otherwords.registry import metrics
from otherwords.report import rerender
from otherwords.scoring.select import USUAL, IntervalSettings, choose, read_collapsed
from otherwords.storage.run_folder import RunFolder

TASK = ow.TASKS["nli"]
OPTIONS = ("pa(of=2)", "flip_when_right(baseline=true)", "r_r(baseline=true)", "majority_vote(original=false)")
PROBABILITIES = ("flip_rate_merged(by=probability)", "accuracy_merged(by=probability)")


def declared() -> list[str]:
    """All metrics that look at labels alone, also with other options."""
    known = [plugin.full_name for plugin in metrics if ... not in plugin.options().values()]
    return [name for name in (*known, *OPTIONS, *PROBABILITIES) if as_metric(metrics.make(name).function).labels_only]


@cache
def answers(seed: int, buckets: int, *, models: int = 1, gold: bool = True, marks: bool = False) -> pl.DataFrame:
    """Answers of some models: clusters lie across the table, and some buckets have none."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for bucket in range(buckets):
        right, cluster = str(random.choice(TASK.labels)), str(random.integers(0, max(1, buckets // 2)))
        suite = str(random.choice(["", "med", "monli"])) if marks else ""
        for variant in range(random.integers(1, 8)):
            label = str(random.choice(TASK.labels)) if suite and variant else right
            control = str(random.choice(["", "identity", "scramble"])) if marks and variant and not suite else ""
            given = right if random.random() < 0.6 else str(random.choice(TASK.labels))
            rows.append(
                {
                    "bucket": f"b{bucket}",
                    "variant": f"b{bucket}~{variant}" if variant else None,
                    "gold": label if gold else None,
                    "pred": given,
                    "cluster": None if bucket % 7 == 3 else cluster,
                    "how": str(random.choice(["first.v1()", "second.v1()"])) if variant else None,
                    "contrast": suite or None,
                    "control": control or None,
                }
            )
    schema = dict.fromkeys(("bucket", "variant", "gold", "pred", "cluster", "how", "contrast", "control"), pl.String)
    table = pl.DataFrame(rows, schema=schema)
    if not marks:
        table = table.drop("contrast", "control")
    again = [pl.col("pred").shuffle(seed + 100 * (1 + time)).alias(f"again:usual:{time}") for time in (1, 2)]
    again.append(pl.when(pl.col("variant").is_not_null()).then("gold").alias("again:cold:1"))
    table = table.with_columns(again) if seed % 2 else table.with_columns(again[2])
    others = [table.with_columns(pl.col("pred").shuffle(seed + m), model=pl.lit(f"m{m}")) for m in range(models)]
    return pl.concat(others).with_columns(pl.lit(None, pl.Float64).alias(f"p:{label}") for label in TASK.labels)


def cut(table: pl.DataFrame, every: int) -> list[pl.LazyFrame]:
    """Parts of a model each, between buckets."""
    place = pl.col("bucket").str.tail(-1).cast(pl.Int64) // every
    parts = table.with_columns(place.alias("part")).partition_by("model", "part", maintain_order=True)
    return [part.drop("part").lazy() for part in parts]


def measured(table: pl.DataFrame, using: Sequence[str], by: Sequence[str], how: IntervalSettings) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = scored(table, using, by=by, task=TASK, settings=how)
    return [asdict(one) for one in scores], sorted(str(one.message) for one in caught), scores.one_answer


def assert_same(
    table: pl.DataFrame, every: int, using: Sequence[str], by: Sequence[str] = (), **how: Any
) -> pl.DataFrame:
    found = read_collapsed(cut(table, every), choose(using)[0], by, TASK.labels)
    assert found is not None
    intervals = IntervalSettings(**{"replicates": 40, **how})
    assert measured(found, using, by, intervals) == measured(table, using, by, intervals)
    return found


def test_the_usual_metrics_look_at_labels_alone() -> None:
    assert {*USUAL} - {"label_mass"} <= {name.partition(".")[0] for name in declared()}
    assert not {*PROBABILITIES} & {*declared()}


#: A metric of each role.
ONE_OF_EACH = ("flip_rate.v1", "control_flips.v1", "contrast_accuracy.v1")


@pytest.fixture
def grouped_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few units are enough for them to be grouped, or compared by keys."""
    monkeypatch.setattr(import_module("otherwords.significance.bootstrap"), "_FEW", 30)


def assert_same_for(names: Sequence[str], marks: bool, by: Sequence[str]) -> None:
    for seed, buckets in ((1, 60), (3, 25)):
        assert_same(answers(seed, buckets, marks=marks), 7, names, by)


def setting(name: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a metric looks at marked rows, and by what they are grouped."""
    marks = role_of(as_metric(metrics.make(name).function)) != "rewordings"
    return marks, ("control",) if name.startswith("control") else ()


@pytest.mark.parametrize("like", ONE_OF_EACH)
def test_metrics_that_declare_it_have_the_scores_of_the_whole_table(like: str, grouped_early: None) -> None:
    """The thin version of the next: all metrics of a kind at once."""
    assert_same_for([name for name in declared() if setting(name) == setting(like)], *setting(like))


def test_every_metric_that_declares_it_is_of_one_of_these_kinds() -> None:
    assert {setting(name) for name in declared()} == {setting(name) for name in ONE_OF_EACH}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(declared()))
def test_every_metric_that_declares_it_has_the_scores_of_the_whole_table(name: str, grouped_early: None) -> None:
    assert_same_for([name], *setting(name))


@settings(max_examples=min(6, settings.default.max_examples // 6), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 10_000),
    st.integers(4, 40),
    st.integers(1, 40),
    st.sampled_from(["auto", "percentile", "bca"]),
    st.booleans(),
    st.booleans(),
)
def test_any_sharding_gives_the_scores_of_the_whole(
    seed: int, buckets: int, every: int, interval: str, marks: bool, gold: bool
) -> None:
    """Several models, contrasts and controls, groups, clusters in several parts, with and without right answers."""
    table = answers(seed, buckets, models=2, gold=gold or marks, marks=marks)
    assert_same(table, every, (), ["how", "label", "original"] if gold else ["how"], interval=interval)


def test_buckets_are_equal_only_if_their_repeats_are() -> None:
    table = pl.concat(
        pl.DataFrame(
            {
                "model": ["m"] * 2,
                "bucket": [f"b{number}"] * 2,
                "variant": [None, f"b{number}~1"],
                "gold": ["neutral"] * 2,
                "pred": ["neutral"] * 2,
                "again:usual:1": ["neutral", "entailment" if number % 3 == 0 else "neutral"],
            }
        )
        for number in range(30)
    )
    found = assert_same(table, 7, ["repeat_flips", "flip_rate_net", "flip_rate"])
    assert found.height == 4
    assert sorted(found[COUNT].unique().to_list()) == [10, 20]


def test_equal_buckets_are_one() -> None:
    table = answers(1, 2_000)
    found = assert_same(table, 100, ())
    assert found[COUNT].sum() == table.height
    assert found.height < table.height


def test_anytime_intervals_are_those_of_the_whole_table() -> None:
    assert_same(answers(3, 30), 8, ["flip_rate", "pa"], ["how"], anytime=True)


def test_a_table_without_clusters_counts_buckets() -> None:
    found = assert_same(answers(1, 300).drop("cluster"), 50, ())
    assert "cluster" not in found.columns


def test_odd_names_and_kinds_of_columns() -> None:
    """Clusters that are one however they are written, or none; ids of any script; a column that is empty throughout."""
    table = answers(4, 60)
    number = table["bucket"].str.tail(-1).cast(pl.Int64)
    written = pl.Series(["7", "7.0", " 7", "7.00 ", "nan", "", "<NA>", "x.0y", "ü", None])
    odd = table.with_columns(
        written.gather(number % 10).alias("cluster"),
        pl.concat_str(pl.lit("日本 ~\n'\" "), "bucket", pl.lit(" 😀")).alias("bucket"),
        (number % 3).alias("third"),
        (number % 2 == 0).alias("even"),
        contrast=pl.lit(None),
    )
    parts = [odd.filter(number % 4 == place) for place in range(4)]
    found = read_collapsed([part.lazy() for part in parts], choose(())[0], ["third", "even"], TASK.labels)
    assert found is not None
    how = IntervalSettings(replicates=40)
    assert measured(found, (), ["third", "even"], how) == measured(odd, (), ["third", "even"], how)
    originals = table.filter(pl.col("variant").is_null()).with_columns(pl.lit(None).alias("variant"))
    assert_same(originals, 9, ["accuracy_original"])


def test_what_cannot_be_collapsed_is_left_to_the_whole_table() -> None:
    """Wrong rows are named in the whole table; numbers as ids, missing originals and columns are rare."""
    good = answers(1, 20)
    variant = pl.col("variant").is_not_null()
    other_bucket = pl.col("bucket") != good.filter(variant)["bucket"][0]
    wrong = {
        "an original is missing": good.filter(variant | other_bucket),
        "two answers to one variant": pl.concat([good, good.filter(variant).head(1)]),
        "an answer is missing": good.with_columns(pl.when(other_bucket).then("pred")),
        "some right answers are missing": good.with_columns(pl.when(other_bucket).then("gold")),
        "a variant has another right answer": good.with_columns(
            gold=pl.when(variant).then(pl.lit("neutral")).otherwise("gold")
        ),
        "an unknown label": good.with_columns(pred=pl.lit("perhaps")),
        "numbers as ids": good.with_columns(pl.col("bucket").str.tail(-1).cast(pl.Int64)),
        "no column pred": good.drop("pred"),
        "lists": good.with_columns(pred=pl.concat_list("pred")),
        "probabilities that do not sum to one": good.with_columns(pl.lit(0.1).alias(f"p:{x}") for x in TASK.labels),
        "a control among originals": good.with_columns(control=pl.lit("identity")),
    }
    for what, table in wrong.items():
        assert collapse([table.lazy()], (), TASK.labels) is None, what
    assert collapse([good.lazy()], ["topic"], TASK.labels) is None  # no column to group by
    assert collapse([good.lazy()], ["bucket"], TASK.labels) is None  # every bucket its own group


def test_metrics_that_need_more_than_labels_read_the_whole_table() -> None:
    parts = [answers(1, 20).lazy()]
    for name in ("flips_by_margin", "ks", "snr", *PROBABILITIES):
        assert read_collapsed(parts, choose(["flip_rate", name])[0], (), TASK.labels) is None
    massive = parts[0].with_columns(label_mass=pl.lit(0.5))  # without such a column, nobody needs it
    assert read_collapsed([massive], choose(())[0], (), TASK.labels) is None
    stopped = parts[0].with_columns(until=pl.lit(""))
    assert read_collapsed([stopped], choose(())[0], (), TASK.labels) is None


def test_rejected_answers_are_left_out() -> None:
    table = answers(1, 30)
    rejected = pl.col("variant").str.ends_with("~1").fill_null(False)
    marked = table.with_columns(
        pl.when(~rejected).then("pred").alias("pred"), pl.when(rejected).then(pl.lit("no")).alias("rejected")
    )
    found = read_collapsed(cut(marked, 7), choose(())[0], (), TASK.labels)
    assert found is not None
    how = IntervalSettings(replicates=40)
    assert measured(found, (), (), how) == measured(table.filter(~rejected), (), (), how)


def test_large_tables_in_memory_are_collapsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts between buckets where their rows stand together; shuffled tables as one."""
    monkeypatch.setattr("otherwords.answers.collapsing._IN_CACHE", 50)
    table = answers(5, 120).drop("^p:.*$")
    gate = ["flip_rate[how=first.v1()]<=0.9"]

    def found(rows: pl.DataFrame) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores = ow.score(rows, by="label", require=gate, replicates=40)
        return [asdict(one) for one in scores], [str(one.message) for one in caught]

    wanted = found(table)
    monkeypatch.setattr("otherwords.pipeline.LARGE", 1)
    assert len(in_parts(table)) > 3
    assert found(table) == wanted
    assert found(table.sample(fraction=1, shuffle=True, seed=1)) == wanted


def test_a_large_table_of_one_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otherwords.answers.collapsing._IN_CACHE", 5)
    preds = ["yes", "no"] * 10
    table = pl.DataFrame(
        {"bucket": ["a"] * 20, "variant": ["", *map(str, range(19))], "gold": ["yes"] * 20, "pred": preds}
    )
    assert len(in_parts(table)) == 1
    large = table.with_columns(bucket=pl.lit("b"))
    assert [
        part.collect().height
        for part in in_parts(pl.concat([table, large, large.head(1).with_columns(bucket=pl.lit("c"))]))
    ] == [20, 20, 1]
    wanted = ow.score(table, "flip_rate")
    monkeypatch.setattr("otherwords.pipeline.LARGE", 1)
    assert ow.score(table, "flip_rate") == wanted


def test_a_run_has_the_scores_and_the_page_of_its_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of a few rows, two models, a control, groups: scores.json and report.html do not know of parts."""
    study = {"data": ["everyday"], "vary": ["recorded", "identity"], "models": ["a=scripted", "b=scripted(seed=2)"]}
    more: Any = {"canary": False, "cache": None, "by": ["label", "how"], "shard": 8, "replicates": 200}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = ow.run(study, **more, out=tmp_path / "run")
        scores, page = (tmp_path / "run" / "scores.json").read_bytes(), done.report.read_bytes()
        assert rerender(tmp_path / "run").read_bytes() == page
        monkeypatch.setattr("otherwords.storage.run_folder._BATCH", 1)
        assert len(RunFolder(tmp_path / "run").batches("answers")) > 6
        assert rerender(tmp_path / "run").read_bytes() == page
        monkeypatch.setattr("otherwords.running.driver.read_collapsed", lambda *_: None)
        ow.run(tmp_path / "run", seed=1)
    assert (tmp_path / "run" / "scores.json").read_bytes() == scores


def test_scores_of_a_run_folder_are_those_of_its_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = {"data": ["everyday"], "vary": ["recorded", "identity"], "models": ["a=scripted", "b=scripted(seed=2)"]}

    def found() -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores = ow.score(tmp_path / "run", by=["how", "original"], require=["flip_rate<=1"], replicates=200)
        return [asdict(one) for one in scores], [str(one.message) for one in caught]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ow.run(study, canary=False, cache=None, shard=8, out=tmp_path / "run", replicates=200)
    part_by_part = found()
    monkeypatch.setattr("otherwords.pipeline._open_run", lambda *_: None)
    assert part_by_part == found()
    monkeypatch.undo()
    next((tmp_path / "run" / "answers").rglob("part-00001.parquet")).unlink()
    assert any("the run is not finished" in message for message in found()[1])
    next((tmp_path / "run" / "answers").rglob("part-00002.parquet")).write_bytes(b"no Parquet")
    with refuses(BadInput, where=str(tmp_path / "run")):
        found()


@pytest.mark.parametrize("strange", ["labels", "probabilities", "clusters", "nothing"])
def test_what_is_suspicious_is_found_part_by_part(strange: str) -> None:
    """Labels that are never right, answers that are not the most probable, buckets in two clusters, or in none."""
    table = answers(6, 60, models=2).with_row_index("row")
    odd = pl.col("row") % 5 == 0
    if strange == "labels":
        table = table.with_columns(pred=pl.when(odd).then(pl.lit("perhaps")).otherwise("pred"))
    if strange == "probabilities":
        shares = zip(TASK.labels, (0.2, 0.7, 0.1), strict=True)
        table = table.with_columns(pl.lit(share).alias(f"p:{label}") for label, share in shares)
    if strange == "clusters":
        table = table.with_columns(cluster=pl.when(odd).then(pl.lit("other")).otherwise("cluster"))
    table = table.drop("row").sort("model", maintain_order=True)

    def warned(parts: Sequence[pl.DataFrame]) -> list[str]:
        found, rows = Suspicions("the answers"), 0
        for part in parts:
            found.add(part, Location(rows=np.arange(rows, rows + part.height)))
            rows += part.height
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.warn()
        return [str(one.message) for one in caught]

    whole = warned([table])
    assert warned([part.collect() for part in cut(table, 7)]) == whole
    assert len(whole) == {"labels": 3, "nothing": 1}.get(strange, 2)  # some buckets are always without a cluster
