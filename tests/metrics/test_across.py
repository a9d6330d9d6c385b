"""Metrics across models by hand, and the printed numbers of Salvatore et al. (2023): Table 2 and the hard cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import hard_cases, snr
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.metrics import audit, list_hard_cases, list_never_right
from otherwords.pipeline import score
from otherwords.registry import metrics

#: Problem: right answer, and each model's answer to the original and to the variants.
PROBLEMS = {
    "all break": ("e", {"m1": "e:en", "m2": "e:nn"}),
    "one breaks": ("e", {"m1": "e:en", "m2": "e:ee"}),
    "wrong at first": ("n", {"m1": "n:ee", "m2": "e:ee"}),
    "never right": ("c", {"m1": "c:nn", "m2": "c:en"}),
    "no variants": ("c", {"m1": "c:", "m2": "c:"}),
}


def table(models: tuple[str, ...] = ("m1", "m2")) -> pl.DataFrame:
    rows = []
    for bucket, (gold, answers) in PROBLEMS.items():
        for model in models:
            original, _, variants = answers[model].partition(":")
            rows.append((bucket, None, gold, original, model, "e e n"))
            rows += [(bucket, str(one), gold, pred, model, None) for one, pred in enumerate(variants)]
    names = ["bucket", "variant", "gold", "pred", "model", "annotators"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def measured(spec: str, frame: pl.DataFrame) -> dict[str, float | None]:
    scores = score(frame, [spec], replicates=50)
    assert {one.model for one in scores} == {"(all)"}
    return {one.metric: one.value for one in scores}


def test_hard_cases_and_never_right_by_hand() -> None:
    assert measured("hard_cases", table()) == {"hard_cases": 2 / 4}
    assert measured("hard_cases(every=true)", table()) == {"hard_cases": 1 / 4}
    assert measured("never_right", table()) == {"never_right": 2 / 4}
    assert measured("hard_cases", table(("m1",))) == {"hard_cases": 4 / 4}
    [one] = score(table(), ["never_right"], replicates=50)
    assert (one.n_units, one.n_answers) == (4, 16)


def test_lists_name_the_problems_and_the_verdicts() -> None:
    hard = list_hard_cases(table())
    assert hard.columns == [
        *("bucket", "gold", "variants", "pred:m1", "right:m1", "pred:m2", "right:m2"),
        "annotators",
    ]
    assert hard.rows() == [
        ("all break", "e", 2, "e", 1, "e", 0, "e e n"),
        ("never right", "c", 2, "c", 0, "c", 0, "e e n"),
    ]
    assert list_hard_cases(table(), every=True)["bucket"].to_list() == ["never right"]
    never = list_never_right(table())
    assert never["bucket"].to_list() == ["never right", "wrong at first"]
    assert never["pred:m2"].to_list() == ["c", "e"]


def test_lists_know_neither_order_nor_probabilities() -> None:
    frame = table().with_columns(**{f"p:{label}": (pl.col("pred") == label).cast(pl.Float64) for label in "enc"})
    assert list_hard_cases(frame.sample(fraction=1, shuffle=True, seed=3)).equals(list_hard_cases(table()))
    assert list_never_right(frame.reverse(), labels=("c", "e", "n")).equals(list_never_right(table()))


def test_the_lists_are_as_long_as_the_shares_say() -> None:
    random = np.random.default_rng(4)
    for _ in range(5):
        frame = table().with_columns(pred=pl.Series(random.choice(list("enc"), table().height)))
        assert len(list_hard_cases(frame)) / 4 == measured("hard_cases", frame)["hard_cases"]
        assert len(list_never_right(frame)) / 4 == measured("never_right", frame)["never_right"]
        right = (
            frame.filter(pl.col("variant").is_not_null())
            .group_by("bucket")
            .agg((pl.col("pred") == pl.col("gold")).any())
        )
        assert (~right["pred"]).mean() == measured("never_right", frame)["never_right"]


def test_an_empty_list_is_a_list() -> None:
    perfect = table().with_columns(pred="gold")
    assert list_hard_cases(perfect).height == list_never_right(perfect).height == 0
    assert list_hard_cases(perfect).columns == list_hard_cases(table()).columns
    assert measured("hard_cases", perfect) == {"hard_cases": 0.0}


def test_plain_hard_cases_join_runs_and_cut_models() -> None:
    before = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 0]])
    after = np.array([[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    assert hard_cases(before, after).tolist() == [False, False, False, False]
    assert hard_cases(before, after, ["x", "x", "y"]).tolist() == [True, True, True, False]
    assert hard_cases(before[::-1], after[::-1], ["y", "x", "x"]).tolist() == [True, True, True, False]


def with_runs() -> pl.DataFrame:
    """Three runs of two models: x is broken on a by its first run, on b by its second; y breaks on a, b and c."""
    rows = []
    for run, model, broken in (("x1", "x", "a"), ("x2", "x", "b"), ("y1", "y", "abc")):
        for bucket in "abcd":
            rows.append((run, model, bucket, None, "e", "e"))
            rows.append((run, model, bucket, "1", "e", "n" if bucket in broken else "e"))
    names = ["model", "architecture", "bucket", "variant", "gold", "pred"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def test_runs_of_a_model_are_joined_before_models_are_cut() -> None:
    assert measured("hard_cases", with_runs()) == {"hard_cases": 0.0}
    assert measured("hard_cases(runs_of=architecture)", with_runs()) == {"hard_cases": 2 / 4}
    assert measured("hard_cases(runs_of=model)", with_runs()) == {"hard_cases": 0.0}
    assert list_hard_cases(with_runs(), runs_of="architecture")["bucket"].to_list() == ["a", "b"]
    assert audit(with_runs(), "hard-cases", runs_of="architecture")["bucket"].to_list() == ["a", "b"]
    assert audit(with_runs(), "hard-always", runs_of="architecture")["bucket"].to_list() == ["a", "b"]


def test_a_run_belongs_to_one_model() -> None:
    mixed = with_runs().with_columns(architecture=pl.col("bucket"))
    for spec, frame in (("hard_cases(runs_of=family)", with_runs()), ("hard_cases(runs_of=architecture)", mixed)):
        with refuses(BadInput, field="runs_of"):
            score(frame, [spec])
    with refuses(BadInput, field="runs_of"):
        audit(with_runs(), "never-right", runs_of="architecture")


@pytest.mark.parametrize(("models", "known"), [(29, False), (30, True)])
def test_snr_has_an_interval_from_thirty_models_on(models: int, known: bool) -> None:
    random = np.random.default_rng(3)
    rows = [(f"m{m}", b, None, "e", "e" if random.random() < 0.8 else "n") for m in range(models) for b in range(20)]
    frame = pl.DataFrame(rows, schema=["model", "bucket", "variant", "gold", "pred"], orient="row")
    frame = frame.with_columns(variant=pl.lit(None, pl.String))
    assert {one.low is not None for one in score(frame, ["snr"], replicates=50)} == {known}


def test_an_empty_table_has_no_list() -> None:
    with refuses(BadInput):
        list_hard_cases(table().head(0))


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=5))
def test_registered_snr_is_that_of_the_accuracies(right: list[list[bool]]) -> None:
    accuracies = np.mean(right, axis=1)
    metric = metrics.make("snr").function
    k = np.sum(right, axis=1)
    rows = np.column_stack([k, k * k, np.full(len(k), 7), np.ones(len(k), dtype=int)])
    found = metric.combine(rows.sum(axis=0))
    np.testing.assert_allclose(found[1:], [accuracies.mean(), accuracies.std()], atol=1e-15)
    if k.min() == k.max():
        assert found[2] == 0.0
        assert np.isnan(found[0])
    else:
        assert found[0] == pytest.approx(snr(accuracies), rel=1e-12)


def test_snr_keeps_its_digits_where_runs_hardly_differ() -> None:
    """The text-book formula loses them: two runs of a million that differ in one answer, and then in none."""
    metric = metrics.make("snr").function
    k = np.array([999_999, 999_998], dtype=np.int64)
    rows = np.column_stack([k, k * k, [1_000_000] * 2, [1, 1]])
    assert metric.combine(rows.sum(axis=0))[2] == pytest.approx(0.5e-6, rel=1e-12)
    same = metric.combine(rows[0] * 5)
    assert np.isnan(same[0])
    assert same[2] == 0.0


def test_snr_scores() -> None:
    frame = table()  # m1 gets five of five originals right, m2 four
    found = measured("snr", frame)
    assert found == {
        "snr:snr": pytest.approx(snr([1.0, 0.8])),
        "snr:mean": pytest.approx(0.9),
        "snr:std": pytest.approx(0.1),
    }
    scores = score(frame, ["snr"], replicates=50)
    assert {(one.n_units, one.unit) for one in scores} == {(2, "number")}


def test_snr_of_equal_models_is_undefined_and_reported() -> None:
    with pytest.warns(UserWarning, match=r"snr:snr of \(all\): nothing to measure"):
        found = measured("snr", table().with_columns(pred="gold"))
    assert found == {"snr:snr": None, "snr:mean": 1.0, "snr:std": 0.0}


#: Table 2 for SNLI, MNLI and their average.
TABLE_2 = {
    "roberta_large": ("393.1", "569.3", "481.2"),
    "bert_base": ("151.1", "151.0", "151.1"),
    "roberta_base": ("222.6", "16.5", "119.5"),
    "xgb": ("24.8", "212.6", "118.7"),
    "xlnet_base": ("16.7", "12.8", "14.8"),
    "albert_base": ("10.8", "10.7", "10.8"),
}
RHO = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)


@pytest.mark.parametrize("model", TABLE_2)
def test_table_2_of_the_ie_test(model: str, shared: Path) -> None:
    """From the authors' accuracies of seven rho and five runs; a stray sixth run of RoBERTa-large is no part of it."""
    results = pl.read_parquet(shared / "ie_test" / "authors_results.parquet").filter(
        ~pl.col("extra"), pl.col("batch") <= 5, pl.col("rho").round(3).is_in(RHO), pl.col("model") == model
    )
    runs = [results.filter(pl.col("dataset") == dataset)["test_accuracy"].to_numpy() for dataset in ("snli", "mnli")]
    assert [one.size for one in runs] == [35, 35]
    ratios = [snr(one) for one in runs]
    assert tuple(f"{one:.1f}" for one in (*ratios, np.mean(ratios))) == TABLE_2[model]


@pytest.mark.parametrize(
    ("dataset", "count", "shares"), [("snli", 249, (45.4, 32.5, 22.1)), ("mnli", 531, (59.9, 21.3, 18.8))]
)
def test_hard_cases_of_the_ie_test(dataset: str, count: int, shares: tuple[float, ...], shared: Path) -> None:
    """Batch 1; per model any rho, then all five models; labels in the order entailment, neutral, contradiction."""
    rows = (
        pl.scan_parquet(shared / "ie_test" / "matched.parquet")
        .filter(pl.col("batch") == 1, pl.col("model") != "xgb", pl.col("dataset") == dataset)
        .sort("model", "rho", "i")
        .collect()
    )
    runs = rows.select("model", "rho").unique(maintain_order=True)["model"].to_list()
    before, after = (rows[name].to_numpy().reshape(len(runs), -1) for name in ("A", "B"))
    hard = hard_cases(before, after, runs)
    label = rows["label"].to_numpy()[: before.shape[1]][hard]
    assert (len(runs), hard.sum()) == (35, count)
    found = [100 * float((label == one).mean()) for one in (1, 2, 0)]
    assert [f"{share:.1f}" for share in found] == [f"{share:.1f}" for share in shares]
    assert not hard_cases(before, after).any()  # as worded


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "count"), [("snli", 249), ("mnli", 531)])
def test_the_metric_gives_the_printed_hard_cases_by_union_over_runs(dataset: str, count: int, shared: Path) -> None:
    """35 runs of batch 1 as answers: each problem with its transformed self for its one variant."""
    rows = (
        pl.scan_parquet(shared / "ie_test" / "matched.parquet")
        .filter(pl.col("batch") == 1, pl.col("model") != "xgb", pl.col("dataset") == dataset)
        .collect()
        .select("i", "A", "B", architecture="model", model=pl.col("model") + " at " + pl.col("rho").cast(pl.String))
    )
    sides = [
        rows.select("model", "architecture", bucket="i", right=name, variant=pl.lit(variant, pl.String))
        for name, variant in (("A", None), ("B", "1"))
    ]
    answers = pl.concat(sides).with_columns(
        gold=pl.lit("yes"), pred=pl.when(pl.col("right") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    assert answers["model"].n_unique() == 35
    [one] = score(answers.drop("right"), ["hard_cases(runs_of=architecture)"], replicates=20)
    assert one.value is not None
    assert round(one.value * one.n_units) == count
    [none] = score(answers.drop("right"), ["hard_cases"], replicates=20)
    assert none.value == 0.0
