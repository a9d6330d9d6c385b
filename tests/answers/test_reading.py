"""What `score` makes of odd and bad answers tables: a clear error or a documented value, never a silent 0 or NaN."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refuses
from warned import lines

from otherwords.answers import reading
from otherwords.answers.table import WHOLE_TABLE, codes, has_duplicates
from otherwords.errors import BadInput, OtherwordsError, UnknownName
from otherwords.pipeline import score
from otherwords.problem import Score

#: Two buckets; one of three variants flips.
GOOD: dict[str, list[Any]] = {
    "bucket": ["a", "a", "a", "b", "b"],
    "variant": [None, "a1", "a2", None, "b1"],
    "gold": ["yes", "yes", "yes", "no", "no"],
    "pred": ["yes", "no", "yes", "no", "no"],
}
P = {"p:yes": [0.9, 0.2, 0.8, 0.3, 0.4], "p:no": [0.1, 0.8, 0.2, 0.7, 0.6]}


def changed(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **columns}, strict=False)


def cell(column: str, row: int, value: Any, **more: list[Any]) -> pl.DataFrame:
    values = list({**GOOD, **more}[column])
    values[row] = value
    return changed(**{**more, column: values})


def values(scores: list[Score]) -> dict[str, float | None]:
    return {one.metric: one.value for one in scores}


EXPECTED = {
    "accuracy_original": 1.0,
    "accuracy_drop": 2 / 3 - 1,
    "flip_rate": 1 / 3,
    "p_c": 0.75,
    "p_c_distinct": 0.0,
    "label_agreement": 0.0,
    "pa": 0.5,
}

BAD = {
    "empty table": (changed().head(0), ["no answers", "at least one row"]),
    "table of nothing": (pl.DataFrame(), ["no answers"]),
    **{f"no {name}": (changed().drop(name), [f"{name}: no such column", "found "]) for name in GOOD if name != "gold"},
    "no original": (cell("variant", 3, "b0"), ["row 4: variant", "'b' has 0 originals", "empty variant"]),
    "two originals": (cell("variant", 1, None), ["row 1: variant", "'a' has 2 originals"]),
    "an original null, another empty": (cell("variant", 1, ""), ["row 1: variant", "'a' has 2 originals"]),
    "answered twice": (cell("variant", 2, "a1"), ["row 3: variant", "'a1' has two answers", "one answer"]),
    "gold differs": (cell("gold", 2, "no"), ["row 3: gold", "'a2' has the label 'no'", "label of its original"]),
    "null bucket": (cell("bucket", 2, None), ["row 3: bucket", "found nothing"]),
    "null pred": (cell("pred", 4, None), ["row 5: pred", "found None", "no, yes"]),
    "null gold": (cell("gold", 0, None), ["row 1: gold", "found nothing, but 4 of 5", "all of them a label or none"]),
    "blank gold": (cell("gold", 4, " "), ["row 5: gold", "found nothing, but 4 of 5"]),
    "no label at all": (changed(gold=[None] * 5, pred=[None] * 5), ["row 1: pred", "found None"]),
    "null model": (changed(model=["m", "m", "m", None, "m"]), ["row 4: model", "found nothing"]),
    "lists for labels": (changed(gold=[["yes"]] * 5), ["row 1: gold", "found ['yes']"]),
    "NaN": (cell("p:no", 1, float("nan"), **P), ["row 2: p:", "nan", "sum to one"]),
    "infinite": (cell("p:no", 1, float("inf"), **P), ["row 2: p:", "inf", "sum to one"]),
    "sum not one": (cell("p:no", 2, 0.5, **P), ["row 3: p:", "'p:no': 0.5", "sum to one"]),
    "below zero": (changed(**{"p:yes": [1.2, *P["p:yes"][1:]], "p:no": [-0.2, *P["p:no"][1:]]}), ["row 1: p:", "-0.2"]),
    "one probability missing": (cell("p:yes", 3, None, **P), ["row 4: p:", "None"]),
    "probabilities missing in one row": (
        changed(**{name: [*column[:4], None] for name, column in P.items()}),
        ["row 5: p:", "None"],
    ),
    "words for probabilities": (changed(**{**P, "p:yes": ["0.9", "0.2", "high", "0.3", "0.4"]}), ["row 3: p:", "high"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*no gold labels")
@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused_with_place_found_and_fix(case: str) -> None:
    answers, parts = BAD[case]
    with refuses(BadInput) as caught:
        score(answers, replicates=10)
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.fix


def test_unknown_label_under_a_task_names_row_and_labels() -> None:
    answers = changed(gold=["entailed"] * 5, pred=["entailed", "entailed", "maybe", "entailed", "not-entailed"])
    with refuses(BadInput):
        score(answers, task="rte")
    with refuses(BadInput):
        score(changed(), task="nli")
    with refuses(UnknownName):
        score(changed(), task="nil")


def test_rows_are_counted_in_the_table_of_all_models(tmp_path: Path) -> None:
    two = pl.concat([changed(model=["good"] * 5), cell("pred", 1, None, model=["worse"] * 5)])
    with refuses(BadInput):
        score(two)
    two.write_ndjson(tmp_path / "two.jsonl")
    with refuses(BadInput):
        score(tmp_path / "two.jsonl")
    mixed = two[[0, 5, 1, 6, 2, 7, 3, 8, 4, 9]]
    with refuses(BadInput):
        score(mixed)


def test_wrong_options_are_refused() -> None:
    for options in ({"confidence": 0.0}, {"confidence": 1.0}, {"confidence": 95}, {"replicates": 0}):
        with refuses(BadInput):
            score(changed(), **options)  # type: ignore[arg-type]
    with refuses(UnknownName):
        score(changed(), ["flip_rat"])
    with refuses(UnknownName):
        score(changed(), by=["genre"])


SAME = {
    "as it is": changed(),
    "empty originals": changed(variant=["", "a1", "a2", "", "b1"]),
    "number ids": changed(bucket=[7, 7, 7, -3, -3], variant=[None, 1, 2, None, 1]),
    "huge number ids": changed(bucket=[2**62] * 3 + [2**62 + 1] * 2),
    "number labels": changed(gold=[1, 1, 1, 0, 0], pred=[1, 0, 1, 0, 0]),
    "floats for number labels": changed(gold=[1, 1, 1, 0, 0], pred=[1.0, 0.0, 1.0, 0.0, 0.0]),
    "numbers and their text": changed(gold=[1, 1, 1, 0, 0], pred=["1", "0", "1", "0", "0"]),
    "truth values": changed(gold=[True, True, True, False, False], pred=[True, False, True, False, False]),
    "categories": changed().with_columns(pl.all().cast(pl.Categorical)),
    "empty categories": changed(variant=["", "a1", "a2", "", "b1"]).with_columns(pl.all().cast(pl.Categorical)),
    "enumerations": changed().with_columns(pl.col("gold", "pred").cast(pl.Enum(["no", "yes"]))),
    "probabilities": changed(**P),
    "probabilities as text": changed(**{name: [str(p) for p in column] for name, column in P.items()}),
    "no probability filled in": changed(**{"p:yes": [None] * 5, "p:no": [None] * 5}),
    "a label never used": changed(**P, **{"p:maybe": [0.0] * 5}),
    "columns of no meaning": changed(p=[0.1] * 5, row=[0] * 5, original_pred=["c"] * 5),
    "float16 softmax": changed(**{**P, "p:no": [p + 0.002 for p in P["p:no"]]}),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_table_in_other_clothes_has_the_same_scores(case: str) -> None:
    found = score(SAME[case], replicates=50)
    assert values(found) == pytest.approx(EXPECTED)
    assert found == score(changed(), replicates=50)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("originals", [None, ""])
def test_files_of_every_kind(tmp_path: Path, suffix: str, originals: str | None) -> None:
    number = {"a1": 1, "a2": 2, "b1": 1, None: None}
    for name, answers in {
        "names": changed(variant=[v or originals for v in GOOD["variant"]]),
        "numbers": changed(bucket=[1, 1, 1, 2, 2], variant=[number[v] for v in GOOD["variant"]]),
    }.items():
        path = tmp_path / f"{name}{suffix}"
        if suffix == ".tsv":
            answers.write_csv(path, separator="\t", quote_style="never")
        else:
            getattr(answers, {".csv": "write_csv", ".jsonl": "write_ndjson", ".parquet": "write_parquet"}[suffix])(path)
        assert score(path, replicates=50) == score(changed(), replicates=50)


def test_a_table_by_another_tool_with_quoted_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text('bucket,variant,gold,pred\n1,"",0,0\n1,1,0,1\n2,"",1,1\n2,1,1,1\n', encoding="utf-8")
    assert values(score(path, ["flip_rate"])) == {"flip_rate": 0.5}


def test_number_models_are_named_as_text() -> None:
    assert {one.model for one in score(changed(model=[3] * 5), replicates=5)} == {"3"}
    assert {one.model for one in score(changed(), replicates=5)} == {"model"}


def test_only_originals_have_an_accuracy_and_warnings_for_the_rest() -> None:
    answers = changed().filter(pl.col("variant").is_null())
    with pytest.warns(UserWarning, match="nothing to measure") as caught:
        found = score(answers, replicates=200)
    assert values(found) == {**dict.fromkeys(EXPECTED), "accuracy_original": 1.0}
    named = ", ".join(name for name in EXPECTED if name != "accuracy_original")
    assert lines(caught) == [f"{named} of model: nothing to measure"]
    for one in found:
        if one.value is None:
            assert (one.low, one.high, one.n_units, one.n_answers) == (None, None, 0, 0)


def test_nothing_to_measure_at_all_is_an_error() -> None:
    answers = changed().filter(pl.col("variant").is_null())
    with (
        pytest.warns(UserWarning, match="nothing to measure"),
        refuses(BadInput),
    ):
        score(answers, ["flip_rate", "p_c"])


def test_a_group_without_variants_is_none_and_reported() -> None:
    answers = changed(genre=["x", "x", "x", "y", "y"]).filter(pl.col("variant").ne_missing("b1"))
    with pytest.warns(UserWarning, match="flip_rate of model: nothing to measure in genre=y"):
        found = score(answers, ["flip_rate"], by=["genre"], replicates=200)
    assert [(one.group, one.value) for one in found] == [(None, 0.5), ("genre=x", 0.5), ("genre=y", None)]


def test_one_bucket_of_one_variant() -> None:
    found = score(changed().head(2))
    one_each = {"accuracy_original": 1.0, "accuracy_drop": -1.0, "flip_rate": 1.0, "pa": 0.0}
    no_pair = {"p_c": None, "p_c_distinct": None, "label_agreement": None}
    assert values(found) == {**one_each, **no_pair}
    counts = {one.metric: (one.low, one.high, one.n_units, one.n_answers) for one in found if one.value is not None}
    assert counts == {**dict.fromkeys(one_each, (None, None, 1, 1)), "accuracy_drop": (None, None, 1, 2)}


def test_constant_answers() -> None:
    found = {one.metric: one for one in score(changed(pred=["yes"] * 5), replicates=50)}
    assert values(list(found.values())) == pytest.approx(
        {
            "accuracy_original": 0.5,
            "accuracy_drop": 0.0,
            "flip_rate": 0.0,
            "p_c": 1.0,
            "p_c_distinct": 1.0,
            "label_agreement": 1.0,
            "pa": 0.5,
        }
    )
    assert found["flip_rate"].low == 0.0
    assert found["flip_rate"].high == pytest.approx(0.6576, abs=1e-4)  # none in two clusters: Wilson


def test_unknown_groups_are_left_out_and_empty_columns_make_none() -> None:
    with pytest.warns(UserWarning, match="variants have no (kind|void) and belong to no group"):
        found = score(changed(kind=[None, "x", None, None, None], void=[None] * 5), ["flip_rate"], by=["kind", "void"])
    assert [(one.group, one.value, one.n_answers) for one in found] == [(None, 1 / 3, 3), ("kind=x", 1.0, 1)]


@pytest.mark.filterwarnings("ignore:.*more than one cluster", "ignore:.*without a cluster")
@pytest.mark.parametrize(
    ("cluster", "separate"),
    [
        (["k", "k", "k", "k", "k"], False),
        (["k", "k", "k", "l", "l"], True),
        ([1, 1, 1, None, None], True),
        ([None] * 5, True),
        (["", "", "", "", ""], True),
        ([" ", "", None, "  ", ""], True),
        ([math.nan] * 5, True),
        ([1.0, 1.0, 1.0, math.nan, math.nan], True),
        (["nan", "nan", "nan", "NaN", "NaN"], True),  # as a column of text spells it
        (["<NA>"] * 5, True),
        ([7, 7, 7, 7.0, "7"], False),  # a column of mixed types
        (["b", "b", "b", None, None], True),  # a bucket without a cluster is not in the cluster of the same name
        (["k", "other", "other", "l", "other"], True),  # a bucket belongs where its original belongs
        (["k", "x", "y", "k", "z"], False),
    ],
)
def test_clusters_as_given_and_the_bucket_where_there_is_none(cluster: list[Any], separate: bool) -> None:
    data = reading.read(changed(cluster=cluster))
    assert sorted(set(data.cluster.tolist())) == ([0, 1] if separate else [0])
    found = score(changed(cluster=cluster), ["accuracy_original", "flip_rate"], replicates=10)
    assert all((one.low is not None) == separate for one in found)


def test_columns_are_coded_as_metrics_expect() -> None:
    data = reading.read(changed(**P).reverse())
    assert data.labels == ("no", "yes")  # in whatever order the columns stand
    assert [data.labels[one] for one in data.gold] == GOOD["gold"][::-1]
    assert [data.labels[one] for one in data.pred] == GOOD["pred"][::-1]
    assert [data.labels[one] for one in data.original_pred] == ["no", "no", "yes", "yes", "yes"]
    assert data.is_variant.tolist() == [True, False, True, True, False]
    assert data.correct.tolist() == [True, True, True, False, True]
    assert (data.n_buckets, sorted(set(data.bucket.tolist()))) == (2, [0, 1])
    a = int(data.bucket[-1])
    assert data.sum_by_bucket(data.is_variant, data.correct, ~data.is_variant)[a].tolist() == [2, 2, 1]
    assert [int(data.evidence(uses)[a]) for uses in ("both", "variants", "originals")] == [3, 2, 1]


@pytest.mark.parametrize("contiguous", [True, False])
def test_codes_number_names_one_to_one(contiguous: bool) -> None:
    random = np.random.default_rng(1)
    names = [f"name {i}" for i in random.integers(0, 300, 4_000)]
    names = sorted(names) if contiguous else names
    found, count = codes(pl.Series("bucket", names), WHOLE_TABLE)
    assert count == len(set(names))
    assert sorted(set(found.tolist())) == list(range(count))
    assert len(set(zip(names, found.tolist(), strict=True))) == count


def test_duplicates_are_pairs_not_names() -> None:
    buckets = np.arange(1_000) % 500
    assert not has_duplicates(buckets, pl.Series(["v1"] * 500 + ["v2"] * 500))
    assert has_duplicates(buckets, pl.Series(["v1"] * 999 + ["v2"]))


def test_every_error_here_is_one_of_ours() -> None:
    assert issubclass(BadInput, OtherwordsError)
    assert BadInput.exit_code == UnknownName.exit_code == 2


def test_many_groups_without_variants_are_one_warning() -> None:
    rows = {"bucket": range(40), "variant": [""] * 40, "gold": ["x", "y"] * 20, "pred": ["x"] * 40}
    answers = pl.DataFrame({**rows, "genre": [f"g{n:02}" for n in range(40)]})
    with pytest.warns(UserWarning, match="nothing to measure") as caught:
        score(answers, ["accuracy_original", "flip_rate", "pvap"], by=["genre"], replicates=200)
    told = [line for line in lines(caught) if " in " in line]
    where = "genre=g00, genre=g01, genre=g02 and 37 other groups"
    assert [line.partition(" (")[0] for line in told] == [f"flip_rate, pvap of model: nothing to measure in {where}"]


def test_all_metrics_of_originals_alone() -> None:
    """Nothing but our own warnings: none of the arithmetic."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score(changed().filter(pl.col("variant").is_null()), "all")
    assert {one.category for one in caught} == {UserWarning}
