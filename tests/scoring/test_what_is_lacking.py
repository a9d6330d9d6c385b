"""Answers without gold labels, without originals, or with one variant a problem: what needs none of it is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses
from warned import lines

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics import Metric, audit
from otherwords.metrics.metric import needs_of
from otherwords.problem import Score
from otherwords.registry import metrics
from otherwords.scoring.select import explain_no_pairs

ROWS: dict[str, list[Any]] = {
    "bucket": ["a"] * 3 + ["b"] * 3,
    "variant": ["", "a1", "a2", "", "b1", "b2"],
    "gold": ["yes"] * 6,
    "pred": ["yes", "no", "yes", "no", "no", "no"],
}
WHOLE = pl.DataFrame(ROWS)
UNLABELLED = WHOLE.drop("gold")
VARIANTS = WHOLE.filter(pl.col("variant") != "")
SINGLE = WHOLE.filter(~pl.col("variant").str.ends_with("2"))


def values(scores: list[Score]) -> dict[str, float | None]:
    return {one.metric: one.value for one in scores}


@pytest.mark.parametrize(
    "answers",
    [
        UNLABELLED,
        WHOLE.with_columns(gold=pl.lit(None)),
        WHOLE.with_columns(gold=pl.lit(None, pl.Int64)),
        WHOLE.with_columns(gold=pl.lit("")),
        WHOLE.with_columns(gold=pl.lit(" ").cast(pl.Categorical)),
    ],
    ids=["no column", "nulls", "null numbers", "empty", "blank"],
)
def test_without_gold_labels_what_needs_none_is_measured_and_one_line_names_the_rest(answers: pl.DataFrame) -> None:
    two = pl.concat([answers.with_columns(model=pl.lit(name)) for name in ("m", "n")])
    with pytest.warns(UserWarning, match="not measured") as caught:
        found = ow.score(two, replicates=20)
    [line] = lines(caught)
    left_out = "accuracy_original, accuracy_drop, p_c, p_c_distinct, pa"
    assert line.startswith(
        f"the answers: no gold labels; not measured: {left_out}; give the right answers in a column "
    )
    assert values(found) == {"flip_rate": 0.25, "label_agreement": 0.5}
    whole = values(ow.score(WHOLE, replicates=200))
    assert values(found) == {name: whole[name] for name in values(found)}


def test_without_gold_labels_a_metric_that_needs_them_is_refused_by_name() -> None:
    with refuses(Unmeasurable, where="the answers"):
        ow.score(UNLABELLED, ["flip_rate", "accuracy_original", "r_r"])
    with refuses(Unmeasurable):
        ow.measure("p_c", **{name: column for name, column in ROWS.items() if name != "gold"})
    assert ow.measure("flip_rate", **{name: column for name, column in ROWS.items() if name != "gold"}).value == 0.25
    with refuses(Unmeasurable):
        ow.score(UNLABELLED.with_columns(**{"p:yes": 0.5, "p:no": 0.5}), ["jsd_pairs(only_right=true)"])


def test_shift_and_agreement_need_no_gold_labels() -> None:
    p = {"p:yes": [0.9, 0.4, 0.8, 0.3, 0.2, 0.1], "p:no": [0.1, 0.6, 0.2, 0.7, 0.8, 0.9]}
    using = ["jsd_pairs", "jsd_means", "ks", "sigma", "flips_by_margin(bins=1)", "flip_directions", "label_agreement"]
    without = ow.score(UNLABELLED.with_columns(**{n: pl.Series(c) for n, c in p.items()}), using, replicates=200)
    assert without == ow.score(WHOLE.with_columns(**{n: pl.Series(c) for n, c in p.items()}), using, replicates=200)


@pytest.mark.parametrize("by", ["label", "original"])
def test_without_gold_labels_there_are_no_groups_of_right_answers(by: str) -> None:
    with refuses(Unmeasurable, field=by):
        ow.score(UNLABELLED, ["flip_rate"], by=[by])


def test_gold_labels_that_are_missing_in_part_are_refused_or_set_aside(tmp_path: Path) -> None:
    """An accuracy of the rows that have one would look like that of all."""
    mixed = WHOLE.with_columns(gold=pl.Series(["yes", "yes", "yes", None, "", None]))
    with refuses(BadInput, where="the answers, row 4", field="gold"):
        ow.score(mixed, ["flip_rate"])
    with pytest.warns(UserWarning, match="3 answers left out"):
        found = ow.score(mixed, ["accuracy_original"], rejected=tmp_path / "rejected.jsonl", replicates=200)
    assert [(one.value, one.n_units) for one in found] == [(1.0, 1)]
    reasons = [json.loads(line)["reason"] for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
    assert reasons == ["gold: found nothing"] * 3


def test_rejects_are_found_in_a_table_without_gold_labels_or_originals(tmp_path: Path) -> None:
    twice = pl.concat([UNLABELLED.filter(pl.col("variant") != ""), UNLABELLED.tail(1)])
    with pytest.warns(UserWarning, match="1 answers left out"):
        [score] = ow.score(twice, ["label_agreement"], rejected=tmp_path / "rejected.jsonl", task="", replicates=200)
    assert (score.value, score.n_answers) == (0.5, 4)


def test_two_models_are_compared_without_gold_labels() -> None:
    other = UNLABELLED.with_columns(pred=pl.lit("yes"))
    with pytest.warns(UserWarning, match=r"not compared: .*accuracy_original.* \(no gold labels\)"):
        found = ow.compare(UNLABELLED, other, replicates=100)
    assert {"flip_rate", "label_agreement"} <= {one.metric for one in found}
    assert "accuracy_original" not in {one.metric for one in found}
    with refuses(Unmeasurable):
        ow.compare(UNLABELLED, other, ["accuracy_original"])


@pytest.mark.parametrize("which", ["never-right", "hard-cases", "hard-always"])
def test_an_audit_needs_gold_labels(which: str) -> None:
    with refuses(Unmeasurable, field="gold"):
        audit(UNLABELLED, which)


# Without originals


def test_without_originals_what_needs_none_is_measured_and_one_line_names_the_rest() -> None:
    with pytest.warns(UserWarning, match="not measured") as caught:
        found = values(ow.score(VARIANTS, replicates=20))
    [line] = lines(caught)
    assert line.startswith(
        "the answers: no originals; not measured: accuracy_original, accuracy_drop, flip_rate; give "
    )
    whole = values(ow.score(WHOLE, replicates=200))
    lacking = ("accuracy_original", "accuracy_drop", "flip_rate")
    assert found == {name: whole[name] for name in whole if name not in lacking}


def test_without_originals_a_metric_that_needs_them_is_refused_by_name() -> None:
    for using in (["flip_rate"], ["majority_vote"], ["accuracy_original", "pa"]):
        with refuses(Unmeasurable, where="the answers"):
            ow.score(VARIANTS, using)
    [vote] = ow.score(VARIANTS, ["majority_vote(original=false)"], replicates=200)
    assert vote.value == ow.score(WHOLE, ["majority_vote(original=false)"], replicates=200)[0].value == 0.25
    with refuses(Unmeasurable, field="original"):
        ow.score(VARIANTS, ["pa"], by=["original"])


def test_without_originals_the_variants_name_clusters_and_the_right_answer() -> None:
    clustered = VARIANTS.with_columns(cluster=pl.Series(["k", "k", "l", "l"]))
    [one] = ow.score(clustered, ["accuracy_variants"], replicates=200)
    assert (one.value, one.resampled, one.n_units) == (0.25, "cluster", 2)
    torn = VARIANTS.with_columns(gold=pl.Series(["yes", "yes", "yes", "no"]))
    with refuses(BadInput, where="the answers, row 4", field="gold"):
        ow.score(torn, ["pa"])
    other = VARIANTS.with_columns(pred=pl.lit("yes"))
    [difference] = ow.compare(clustered, other, ["accuracy_variants"], replicates=100)
    assert difference.difference == pytest.approx(-0.75)


def test_originals_of_some_buckets_are_an_error_and_can_be_set_aside(tmp_path: Path) -> None:
    some = WHOLE.filter((pl.col("bucket") != "b") | (pl.col("variant") != ""))
    with refuses(BadInput, where="the answers, row 4", field="variant"):
        ow.score(some, ["pa"])
    with pytest.warns(UserWarning, match="2 answers left out"):
        [one] = ow.score(some, ["flip_rate"], rejected=tmp_path / "rejected.jsonl", replicates=200)
    assert (one.value, one.n_units) == (0.5, 1)


def test_controls_without_originals_are_refused_by_name() -> None:
    controls = VARIANTS.with_columns(control=pl.lit("identity"))
    with refuses(Unmeasurable):
        ow.score(controls, ["control_flips"])


def test_neither_gold_labels_nor_originals() -> None:
    with pytest.warns(UserWarning, match="not measured") as caught:
        found = ow.score(VARIANTS.drop("gold"), replicates=200)
    assert values(found) == {"label_agreement": 0.5}
    assert [line.partition(";")[0] for line in lines(caught)] == [
        "the answers: no gold labels",
        "the answers: no originals",
    ]


# One variant a problem


def test_with_one_variant_a_problem_nothing_is_said_to_be_consistent() -> None:
    found = values(ow.score(SINGLE, replicates=200))
    assert found["flip_rate"] == 0.5
    assert {name for name, value in found.items() if value is None} == {"p_c", "p_c_distinct", "label_agreement"}
    assert explain_no_pairs(ow.score(SINGLE, replicates=200)) == (
        "no problem has two variants for p_c, p_c_distinct, label_agreement to compare"
    )
    assert explain_no_pairs(ow.score(WHOLE, replicates=200)) == ""


@pytest.mark.parametrize("metric", ["p_c", "vap", "pvap", "pvap_distinct", "p_c_distinct", "label_agreement"])
def test_with_one_variant_a_problem_such_a_metric_by_name_says_why_it_has_no_value(metric: str) -> None:
    with (
        pytest.warns(UserWarning, match=rf"{metric} of model: nothing to measure \(no problem has two variants"),
        refuses(BadInput, where="the answers"),
    ):
        ow.score(SINGLE, [metric])
    columns = {name: SINGLE[name].to_list() for name in SINGLE.columns}
    with refuses(BadInput, where=metric):
        ow.measure(metric, **columns)


def test_a_group_with_one_variant_a_problem_has_no_p_c_and_the_whole_has() -> None:
    how = pl.when(pl.col("variant").str.ends_with("2")).then(pl.lit("x")).otherwise(pl.lit("y"))
    found = ow.score(WHOLE.with_columns(how=pl.when(pl.col("variant") != "").then(how)), by=["how"], replicates=200)
    assert {one.group: one.value for one in found if one.metric == "p_c"} == {None: 0.75, "how=x": None, "how=y": None}


def test_where_some_problems_have_two_variants_p_c_is_the_papers() -> None:
    """One of two right in a (1/2), one of one in b (1): METHODS.md's unweighted mean."""
    some = WHOLE.filter(pl.col("variant") != "b2")
    assert values(ow.score(some, replicates=200))["p_c"] == 0.75


def test_what_a_metric_needs_is_said_in_words() -> None:
    needs = {plugin.name: needs_of(plugin) for plugin in metrics}
    assert needs["p_c"] == "gold labels, two variants"
    assert needs["flip_rate"] == "originals"
    assert needs["r_r"] == "gold labels, originals"
    assert needs["label_agreement"] == "two variants"
    assert needs["coverage"] == "(by option)"
    assert Metric(lambda answers: answers, gold=False, original=False).needs == ""


# One label


@pytest.mark.parametrize("shares", [{}, {"p:yes": [1.0] * 6}], ids=["labels", "probabilities"])
def test_a_table_of_one_label_is_scored_and_compared_without_what_needs_two(shares: dict[str, list[float]]) -> None:
    one = pl.DataFrame({**ROWS, "pred": ["yes"] * 6, **shares})
    for work in (lambda: ow.score(one, "all", replicates=200), lambda: ow.compare(one, one, "all", replicates=1000)):
        with pytest.warns(
            UserWarning, match="flip_directions, flips_by_margin \\(needs at least two labels\\)"
        ) as caught:
            found = work()
        assert len(lines(caught)) == 1
        assert values(found)["flip_rate"] == 0.0
        assert not any(name.startswith(("flip_directions", "flips_by_margin")) for name in values(found))


def test_directions_of_one_label_are_refused_by_name() -> None:
    one = WHOLE.with_columns(pred=pl.lit("yes"))
    for work in (
        lambda: ow.score(one, "flip_directions"),
        lambda: ow.compare(one, one, "flip_directions"),
        lambda: ow.measure("flip_directions", **{**ROWS, "pred": ["yes"] * 6}),
        lambda: ow.measure("flip_directions", part="yes>no", **{**ROWS, "pred": ["yes"] * 6}),
    ):
        with refuses(Unmeasurable, fix="give the task, or all labels"):
            work()
