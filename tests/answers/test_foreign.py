"""Answers that other programs made: labels in any spelling, columns of any name, tables that contradict themselves."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from warned import lines

import otherwords as ow
from otherwords.answers import reading
from otherwords.errors import BadInput
from otherwords.metrics.across import audit
from otherwords.problem import label_key

#: Two buckets; one of three variants flips.
GOOD: dict[str, list[Any]] = {
    "bucket": ["a", "a", "a", "b", "b"],
    "variant": [None, "a1", "a2", None, "b1"],
    "gold": ["not-entailed"] * 3 + ["entailed"] * 2,
    "pred": ["not-entailed", "entailed", "not-entailed", "entailed", "entailed"],
}
P = {"p:not-entailed": [0.9, 0.2, 0.8, 0.3, 0.4], "p:entailed": [0.1, 0.8, 0.2, 0.7, 0.6]}


def table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **columns}, strict=False)


def scores(answers: Any, *using: str, **options: Any) -> list[tuple[Any, ...]]:
    found = ow.score(answers, using, replicates=20, **options)
    return [(one.metric, one.group, one.value, one.low, one.high, one.n_answers) for one in found]


EXPECTED = scores(table())


@pytest.mark.parametrize(
    "spelled", ["Not-Entailed", "NOT_ENTAILED", " not-entailed\t", "not entailed", "not_entailed "]
)
def test_case_spaces_and_underscores_make_no_other_label(spelled: str) -> None:
    pred = [spelled if one == "not-entailed" else one for one in GOOD["pred"]]
    assert scores(table(pred=pred)) == EXPECTED
    gold = [spelled if one == "not-entailed" else one for one in GOOD["gold"]]
    assert scores(table(gold=gold)) == EXPECTED
    assert scores(table(gold=gold), task="rte") == EXPECTED


@pytest.mark.parametrize(
    ("gold", "pred"),
    [
        ([0, 0, 0, 1, 1], ["0.0", "1.0", "0.0", "1.0", "1.0"]),
        (["0", "0", "0", "1", "1"], [0.0, 1.0, 0.0, 1.0, 1.0]),
        (["0.0", "0.0", "0.0", "1.0", "1.0"], [0, 1, 0, 1, 1]),
        (["0", "0.0", "0.00", "1", "1.0"], ["0", "1", "0", "1", "1"]),
        ([False, False, False, True, True], ["False", "True", "FALSE", "true", "True"]),
    ],
)
def test_number_formats_make_no_other_label(gold: list[Any], pred: list[Any]) -> None:
    assert scores(table(gold=gold, pred=pred)) == EXPECTED


def test_codes_with_leading_zeros_are_not_numbers() -> None:
    assert [label_key(one) for one in ("01", "1", "1.0", "-1.0", "-0.0", "00", 0, 0.5, "0.50", "1e3")] == [
        *("01", "1", "1", "-1", "0", "00", "0", "0.5", "0.5", "1e3"),
    ]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\t "])
def test_a_blank_variant_is_the_original(blank: str) -> None:
    assert scores(table(variant=[blank, "a1", "a2", blank, "b1"])) == EXPECTED


@pytest.mark.parametrize("label", ["Ｎöｔｉｇ", "no\u0308tig", "\ufeffnötig", "nötig\u200b", "\u00a0nötig\u3000"])
def test_what_looks_the_same_is_the_same_label(label: str) -> None:
    gold = ["nötig"] * 3 + ["ja"] * 2
    pred = [label, "nötig", "ja", "ja", "ＪＡ"]
    plain = scores(table(gold=gold, pred=["nötig", "nötig", "ja", "ja", "ja"]))
    assert scores(table(gold=gold, pred=pred)) == plain


recased = st.sampled_from([str.upper, str.title, str.lower, str.swapcase, "  {} ".format, "{}\n".format])


def plain_scores(answers: pl.DataFrame, using: tuple[str, ...]) -> list[tuple[Any, ...]]:
    found = ow.score(answers, using, replicates=5)
    return [(one.value, one.low, one.high) for one in found if ":" not in one.metric]


@cache
def clean_scores(stated: bool, using: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return plain_scores(table(**(P if stated else {})), using)


@settings(max_examples=at_most(25), deadline=None)
@given(data=st.data())
def test_respelling_labels_at_random_changes_no_score(data: st.DataObject) -> None:
    def respell(text: str) -> str:
        text = str(data.draw(recased)(text))
        return (
            text.replace("-", data.draw(st.sampled_from(["-", "_", " "]))) if text.strip()[:1].lower() == "n" else text
        )

    gold, pred = ([respell(one) for one in GOOD[column]] for column in ("gold", "pred"))
    names = {respell(name[2:]): values for name, values in P.items()}
    stated = {f"p:{name}": values for name, values in names.items()} if data.draw(st.booleans()) else {}
    spelled, clean = table(gold=gold, pred=pred, **stated), table(**(P if stated else {}))
    for using in ((), ("label_agreement", "flip_directions")):
        assert plain_scores(spelled, using) == clean_scores(bool(stated), using)
    differences = ow.compare(spelled, clean, ["flip_rate", "p_c"], replicates=50)
    assert [one.difference for one in differences] == [0.0, 0.0]


def test_a_label_is_spelled_as_the_task_does_else_as_p_columns_else_as_gold() -> None:
    loud = table(gold=[one.upper() for one in GOOD["gold"]])
    assert reading.read(loud, ("entailed", "not-entailed")).labels == ("entailed", "not-entailed")
    assert reading.read(loud.with_columns(**{f"P:{1}": 1})).labels == ("ENTAILED", "NOT-ENTAILED")
    titled = {f"p:{name[2:].title()}": values for name, values in P.items()}
    assert reading.read(loud.with_columns(**{k: pl.Series(v) for k, v in titled.items()})).labels == (
        "Entailed",
        "Not-Entailed",
    )
    groups = [one.group for one in ow.score(loud, ["flip_rate"], by=["label"], replicates=200)]
    assert groups == [None, "label=ENTAILED", "label=NOT-ENTAILED"]


def test_a_clean_table_is_not_touched() -> None:
    clean = table(**P).with_columns(pl.col("gold", "pred").cast(pl.Categorical))
    assert reading.read(clean).frame.schema == clean.schema


def test_probabilities_are_those_of_the_label_however_it_is_spelled() -> None:
    titled = {f"p:{name[2:].title()}": values for name, values in P.items()}
    assert scores(table(**titled), "sigma", "jsd_pairs") == scores(table(**P), "sigma", "jsd_pairs")
    assert scores(table(**titled), "sigma", task="rte") == scores(table(**P), "sigma", task="rte")


def test_two_columns_of_one_label_are_refused() -> None:
    twice = {"p:entailed": P["p:entailed"], "p:Entailed": P["p:not-entailed"]}
    with refuses(BadInput, where="the answers", field="p", fix="give one column p:<label> for each label"):
        ow.score(table(**twice))
    with refuses(BadInput, field="p"):
        ow.score(table(**P), labels={"entailed": "not-entailed"})


def test_labels_are_mapped_in_gold_pred_and_probabilities() -> None:
    number = {"not-entailed": 0, "entailed": 1}
    foreign = table(
        pred=[f"LABEL_{number[one]}" for one in GOOD["pred"]],
        gold=[number[one] for one in GOOD["gold"]],
        **{"p:LABEL_0": P["p:not-entailed"], "p:LABEL_1": P["p:entailed"]},
    )
    meaning = {"label_0": "not-entailed", "LABEL_1": "entailed", "0": "not-entailed", "1.0": "entailed"}
    assert scores(foreign, labels=meaning) == EXPECTED
    assert scores(foreign, "sigma", labels=meaning, task="rte") == scores(table(**P), "sigma", task="rte")
    with refuses(BadInput, where="--label"):
        ow.score(foreign, task="rte", labels={"0": "neutral"})


def test_arrays_take_any_spelling() -> None:
    arrays = {name: GOOD[name] for name in ("bucket", "variant", "gold")}
    p = {name[2:].title(): values for name, values in P.items()}
    loud = [one.upper() for one in GOOD["pred"]]
    for metric in ("flip_rate", "p_c", "ks"):
        first, second = (
            ow.measure(metric, **arrays, pred=pred, p=stated, labels=labels, replicates=20)
            for pred, stated, labels in (
                (GOOD["pred"], {name[2:]: values for name, values in P.items()}, ()),
                (loud, p, ("not-entailed", "entailed")),
            )
        )
        assert first == second


def test_no_table_is_an_error() -> None:
    with refuses(BadInput):
        ow.score([])


def test_names_of_columns_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    with refuses(BadInput, where="the answers", field="\0row"):
        ow.score(table(**{"\0row": [1] * 5}), rejected=tmp_path / "rejected.jsonl")
    path = tmp_path / "twice.csv"
    path.write_text("bucket,variant,gold,pred,pred\na,,x,x,y\na,1,x,x,y\n", encoding="utf-8")
    with refuses(BadInput, where=f"{path}, line 1", field="pred", fix="rename one of them"):
        ow.score(path)


# Columns


FOREIGN = table(model=["m"] * 5).rename({"bucket": "id", "variant": "version", "gold": "label", "pred": "prediction"})
COLUMNS = {"bucket": "id", "variant": "version", "gold": "label", "pred": "prediction"}


def test_columns_are_mapped(tmp_path: Path) -> None:
    assert scores(FOREIGN, columns=COLUMNS) == EXPECTED
    path = tmp_path / "foreign.csv"
    FOREIGN.with_columns(id=pl.lit("00") + (pl.col("id") == "a").cast(pl.Int8).cast(pl.String)).write_csv(path)
    assert scores(path, columns=COLUMNS) == EXPECTED
    assert audit(path, "hard-cases", columns=COLUMNS)["bucket"].to_list() == ["001"]  # text, not the number 1
    same = FOREIGN.with_columns(id=pl.Series(["001"] * 3 + ["000"] * 2))
    [row] = ow.compare(path, same, ["flip_rate"], columns=COLUMNS, replicates=99)
    assert (row.difference, row.n_units) == (0.0, 2)


def test_a_column_in_the_way_is_kept_under_another_name() -> None:
    both = FOREIGN.with_columns(pred=pl.lit("text of the answer"), input_pred=pl.lit(1))
    assert scores(both, columns=COLUMNS) == EXPECTED
    assert scores(both, columns=COLUMNS, by=["input_input_pred"])[: len(EXPECTED)] == EXPECTED


def test_columns_that_do_not_exist_are_refused() -> None:
    with refuses(BadInput, where="the answers", field="pred"):
        ow.score(FOREIGN, columns={**COLUMNS, "pred": "predction"})
    with refuses(BadInput, where="--field"):
        ow.score(FOREIGN, columns={"prediction": "pred"})


def test_each_table_may_have_names_of_its_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    FOREIGN.drop("model").write_csv(one)
    table().rename({"bucket": "item", "pred": "said"}).write_csv(other)
    here, there = COLUMNS, {"bucket": "item", "pred": "said"}
    for columns in ([here, there], (here, there), {**here, "other": {**{n: n for n in COLUMNS}, **there}},
                    {"one": here, "other": there}):  # fmt: skip
        [row] = ow.compare(one, other, ["flip_rate"], columns=columns, replicates=99)
        assert (row.difference, row.model, row.other) == (0.0, "one", "other")
        assert len(ow.score([one, other], ["flip_rate"], columns=columns, replicates=9)) == 2
        assert audit([one, other], "hard-cases", columns=columns)["bucket"].to_list() == ["a"]
    in_memory = [pl.read_csv(one), pl.read_csv(other)]
    assert len(ow.score(in_memory, ["flip_rate"], columns=[here, there], replicates=9)) == 2


def test_names_for_a_table_that_is_not_there_are_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    FOREIGN.write_csv(one)
    table().write_csv(other)
    with refuses(BadInput, where="--field", fix="the tables are called one, other"):
        ow.compare(one, other, columns={"another": COLUMNS})
    with refuses(BadInput, where="--field"):
        ow.compare(one, other, columns=[COLUMNS])
    with refuses(BadInput, where="--field"):
        ow.compare(one, other, columns=[COLUMNS, {"prediction": "pred"}])
    with refuses(BadInput, where=str(other), field="bucket") as caught:  # which lacks the columns of the first
        ow.compare(one, other, columns=COLUMNS)
    assert "--field other:bucket=COLUMN" in caught.value.fix
    assert "columns={'other': {'bucket': COLUMN}}" in caught.value.fix


@pytest.mark.parametrize(
    ("names", "suggested"),
    [
        (COLUMNS, "--field bucket=id --field variant=version --field gold=label --field pred=prediction"),
        ({"pred": "predicted_label"}, "--field pred=predicted_label"),
        ({"pred": "Prediction", "gold": "Gold_Label"}, "--field gold=Gold_Label --field pred=Prediction"),
        ({"variant": "variants"}, "--field variant=variants"),
    ],
)
def test_similar_columns_are_suggested(names: dict[str, str], suggested: str) -> None:
    with refuses(BadInput) as caught:
        ow.score(table().rename(names))
    assert suggested in caught.value.fix


def test_columns_that_resemble_nothing_can_still_be_mapped() -> None:
    with refuses(BadInput) as caught:
        ow.score(table().rename({"bucket": "Ticket-Nr"}))
    assert "--field bucket=COLUMN (in Python columns={'bucket': COLUMN})" in caught.value.fix


def test_labels_that_are_not_the_tasks_can_be_mapped() -> None:
    with refuses(BadInput, field="gold") as caught:
        ow.score(table(gold=["0"] * 3 + ["1"] * 2), task="nli")
    assert "--label 0=LABEL (in Python labels={'0': LABEL})" in caught.value.fix


def test_the_same_label_under_two_names_can_be_mapped() -> None:
    other = table(gold=["0"] * 3 + ["1"] * 2, pred=["0", "1", "0", "1", "1"])
    with refuses(BadInput, where="the original of bucket a", field="gold") as caught:
        ow.compare(table(), other)
    assert "--label 0=not-entailed" in caught.value.fix


def test_a_label_that_the_task_lacks_is_named_plainly() -> None:
    with refuses(BadInput, where="--label", fix="the task has entailed, not-entailed") as caught:
        ow.score(table(), task="rte", labels={"0": "yes", "1": "no"})
    assert "[" not in str(caught.value)


@pytest.mark.filterwarnings("default")
def test_a_label_that_is_mapped_to_an_unheard_one_is_a_warning() -> None:
    numbered = table(gold=["entailed"] * 5, pred=["entailed", "entailed", "entailed", "entailed", 2])
    with pytest.warns(UserWarning, match="--label 2=not-entaild: .*; did you mean not-entailed"):
        ow.score(numbered, labels={"2": "not-entaild"}, replicates=9)


def test_problems_given_as_answers_are_recognised(tmp_path: Path) -> None:
    snli = pl.DataFrame({"gold_label": ["neutral"], "sentence1": ["A."], "sentence2": ["B."], "pairID": ["1"]})
    mnli = snli.with_columns(genre=pl.lit("fiction"))
    for name, rows, layout in (("one.jsonl", snli, "snli"), ("two.jsonl", mnli, "mnli"), ("three.txt", snli, "snli")):
        path = tmp_path / name
        rows.write_ndjson(path) if name.endswith("jsonl") else rows.write_csv(path, separator="\t")
        for read in (ow.score, ow.compare, audit):
            with refuses(BadInput, where=str(path)) as caught:
                read(path)
            assert f"otherwords run --data {layout}:{path} " in caught.value.fix
        with refuses(BadInput) as caught:
            ow.load(str(path))
        assert f"{layout}:{path}" in caught.value.fix
        assert ow.load(f"{layout}:{path}").height == 1
    csv = tmp_path / "four.csv"
    snli.write_csv(csv)
    with refuses(BadInput) as caught:
        ow.load(str(csv))
    columns = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
    assert f"with columns={columns}" in caught.value.fix


# What cannot be meant


def test_answers_that_are_never_right_are_reported() -> None:
    strange = table(pred=["yes", "no", "yes", "entailed", "no"], gold=["entailed"] * 3 + ["neutral"] * 2)
    with pytest.warns(UserWarning, match=r"4 answers of model can never be right: 'no' \(2\), 'yes' \(2\)") as caught:
        ow.score(strange, replicates=200)
    assert len(lines(caught)) == 1
    assert "gold has entailed, neutral" in lines(caught)[0]
    assert "--label no=" in lines(caught)[0]
    with pytest.warns(UserWarning, match="can never be right"):
        ow.measure("flip_rate", **{name: strange[name].to_list() for name in GOOD})
    with pytest.warns(UserWarning, match="can never be right"):
        audit(strange)


def test_a_label_that_is_known_to_exist_is_not_reported() -> None:
    rare = table(gold=["neutral"] * 3 + ["entailment"] * 2, pred=["neutral", "contradiction", *["entailment"] * 3])
    assert ow.score(rare, replicates=200)  # NLI has it
    other = table(gold=["x"] * 3 + ["y"] * 2, pred=["x", "z", "x", "y", "y"])
    assert ow.score(other.with_columns(**{"p:x": 0.2, "p:y": 0.2, "p:z": 0.6}).drop("^p:.*$").with_columns(
        **{f"p:{label}": (pl.col("pred") == label).cast(pl.Float64) for label in "xyz"}
    ), replicates=200)  # fmt: skip
    assert ow.score(table(gold=["x"] * 5, pred=["x", "y", "x", "x", "x"]), replicates=200)


def test_probabilities_that_contradict_the_answers_are_reported() -> None:
    other = table(**P).with_columns(
        pred=pl.Series(["entailed", "entailed", "not-entailed", "entailed", "not-entailed"])
    )
    with pytest.warns(UserWarning, match="2 of 5 answers are not the most probable label") as caught:
        ow.score(other, replicates=200)
    assert len(lines(caught)) == 1
    assert "the first in the answers, row 1, pred 'entailed', most probable 'not-entailed'" in lines(caught)[0]
    tied = {"p:entailed": [0.5] * 5, "p:not-entailed": [0.5] * 5}
    assert ow.score(table(**tied), replicates=200)
    assert ow.score(table(**{name: [None] * 5 for name in P}), replicates=200)


def test_clusters_that_differ_inside_a_bucket_are_reported() -> None:
    with pytest.warns(UserWarning, match="1 bucket is in more than one cluster, the first 'a'") as caught:
        ow.score(table(cluster=["k", "k", "l", "m", "m"]), replicates=200)
    assert len(lines(caught)) == 1
    assert "('k' and 'l'); a bucket belongs where its original belongs" in lines(caught)[0]
    with pytest.warns(UserWarning, match="2 buckets are in more than one"), pytest.warns(match="1 of 2 buckets"):
        ow.score(table(cluster=[None, "k", "l", "m", "n"]), replicates=200)
    for fine in (["k", None, "", "m", "m"], ["k", "nan", None, "m", "m"], ["k"] * 5):
        assert ow.score(table(cluster=fine), replicates=200)


@pytest.mark.parametrize(
    "none", [None, math.nan, " ", *(pytest.param(one, marks=pytest.mark.slow) for one in ("", "nan", "NaN"))]
)
def test_a_bucket_without_a_cluster_is_its_own_and_counted(none: Any, tmp_path: Path) -> None:
    """Three buckets of one cluster, three without one: four clusters in all, not two."""
    known = 7.0 if isinstance(none, float) else "k"
    names = [name for name in "abcdef" for _ in range(2)]
    rows = {"bucket": names, "variant": ["", "v"] * 6, "gold": ["yes"] * 12, "pred": (["yes"] * 2 + ["no", "yes"]) * 3}
    answers = pl.DataFrame({**rows, "cluster": [known] * 6 + [none] * 6})
    apart = answers.with_columns(cluster=pl.when(pl.col("bucket") < "d").then(pl.lit("k")).otherwise("bucket"))
    files = [tmp_path / "answers.csv", tmp_path / "answers.parquet"]
    answers.write_csv(files[0])
    answers.write_parquet(files[1])
    line = "3 of 6 buckets are without a cluster .*each counts as a cluster of its own"
    expected = [(one.value, one.low, one.high) for one in ow.score(apart, ["flip_rate"], replicates=200)]
    for source in (answers, *files):
        with pytest.warns(UserWarning, match=line) as caught:
            found = ow.score(source, ["flip_rate"], replicates=200)
        assert [(one.value, one.low, one.high) for one in found] == expected
        assert len(lines(caught)) == 1
    other = answers.with_columns(pred=pl.lit("yes"))
    with pytest.warns(UserWarning, match=line) as caught:
        [found] = ow.compare(answers, other, ["flip_rate"], replicates=200)
    assert len(lines(caught)) == 2  # a line for each table
    [same] = ow.compare(apart, other.drop("cluster"), ["flip_rate"], replicates=200)
    assert (found.low, found.high, found.p_swap) == (same.low, same.high, same.p_swap)
    with pytest.warns(UserWarning, match=line):
        ow.measure("flip_rate", **rows, cluster=[known] * 6 + [none] * 6, replicates=200)


def test_a_column_without_any_cluster_is_as_none() -> None:
    for none in (None, math.nan, "", "nan"):
        assert ow.score(table(cluster=[none] * 5), replicates=200)


# Several tables


def test_several_tables_are_scored_together(tmp_path: Path) -> None:
    for name, pred in (("one", GOOD["pred"]), ("other", [one.title() for one in GOOD["gold"]])):
        (tmp_path / name).mkdir()
        table(pred=pred).write_ndjson(tmp_path / f"{name}.jsonl")
        table(pred=pred).write_csv(tmp_path / name / "answers.csv")
    files = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    found = ow.score(files, ["flip_rate"], replicates=20)
    assert [(one.model, one.value) for one in found] == [("one", 1 / 3), ("other", 0.0)]
    same = [tmp_path / "one" / "answers.csv", tmp_path / "other" / "answers.csv"]
    assert [Path(one.model).parent.name for one in ow.score(same, ["flip_rate"], replicates=20)] == ["one", "other"]
    frames = ow.score([table(), table(pred=GOOD["gold"])], ["flip_rate"], replicates=20)
    assert [(one.model, one.value) for one in frames] == [("model 1", 1 / 3), ("model 2", 0.0)]
    assert audit(files, "hard-cases")["bucket"].to_list() == []


def test_rows_of_several_tables_are_counted_table_by_table(tmp_path: Path) -> None:
    table().write_ndjson(tmp_path / "one.jsonl")
    table(pred=[*GOOD["pred"][:3], None, "entailed"]).write_ndjson(tmp_path / "two.jsonl")
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    with refuses(BadInput, where=f"{files[1]}, row 4", field="pred"):
        ow.score(files)
    with pytest.warns(UserWarning, match="two.jsonl: 2 answers left out"):
        ow.score(files, ["flip_rate"], replicates=5, rejected=tmp_path / "rejected.jsonl")
    rejected = pl.read_ndjson(tmp_path / "rejected.jsonl")
    assert rejected.select("table", "row").rows() == [(str(files[1]), 4), (str(files[1]), 5)]


def test_tables_with_numbers_and_with_texts_for_names_fit(tmp_path: Path) -> None:
    numbers = table(bucket=[1, 1, 1, 2, 2], variant=[None, 1, 2, None, 1], gold=[0, 0, 0, 1, 1], pred=[0, 1, 0, 1, 1])
    texts = numbers.with_columns(pl.col("bucket", "variant", "gold", "pred").cast(pl.String))
    halves = numbers.with_columns(pl.col("gold", "pred").cast(pl.Float64))
    found = ow.score([numbers, texts, halves], ["flip_rate", "never_right"], replicates=200)
    assert [one.value for one in found] == [1 / 3] * 3 + [0.0]


def test_the_texts_of_a_suite_are_shown(tmp_path: Path) -> None:
    suite = tmp_path / "suite.jsonl"
    rows = [{"id": one, "premise": f"It is {one}.", "hypothesis": "It is.", "label": "neutral"} for one in "ab"]
    pl.DataFrame(rows).write_ndjson(suite)
    assert audit(table(), "hard-cases", suite=suite)["premise"].to_list() == ["It is a."]
    with refuses(BadInput, field="id"):
        audit(table(bucket=["c"] * 3 + ["b"] * 2), "hard-cases", suite=suite)


def test_the_judges_of_a_suite_and_a_test_set_take_any_spelling(tmp_path: Path) -> None:
    rows = {
        "id": ["a", "a1"],
        "of": [None, "a"],
        "premise": ["It rains."] * 2,
        "hypothesis": ["It is wet.", "It's wet."],
    }
    model = "scripted(otherwise=entailment)"
    found = [
        ow.circularity(
            pl.DataFrame({**rows, "label": labels}), model, ["self"], canary=False, cache=None, replicates=200
        )
        for labels in (["entailment"] * 2, ["Entailment ", "ENTAILMENT"])
    ]
    assert found[0].under("self") == found[1].under("self")
    items = pl.DataFrame({"id": ["1", "2"], "gold": ["ENTAILED", "Not_Entailed"], "pred": ["entailed"] * 2})
    items.write_ndjson(tmp_path / "testset.jsonl")
    metric = f"accuracy_testset(testset={tmp_path / 'testset.jsonl'})"
    assert [one.value for one in ow.score(table(), [metric], replicates=200)] == [0.5]
