"""Contrast suites from file to report: reworded by nobody, judged by no check, counted with nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics.across import audit
from otherwords.metrics.contrast import NAMES
from otherwords.scoring.compare import compare_groups

PLAIN = [
    {"id": "p1", "premise": "It isn't wet.", "hypothesis": "It's dry.", "label": "entailment"},
    {"id": "p2", "premise": "They're late.", "hypothesis": "They aren't early.", "label": "entailment"},
    {"id": "p3", "premise": "She can't swim.", "hypothesis": "She's swimming.", "label": "contradiction"},
]
SUITE = [
    {"id": "c1", "premise": "A red car isn't here.", "hypothesis": "A red car isn't here.", "label": "entailment"},
    {
        "id": "c2",
        "of": "c1",
        "premise": "A red car isn't here.",
        "hypothesis": "A blue car is here.",
        "label": "neutral",
    },
    {
        "id": "c3",
        "of": "c1",
        "premise": "A red car isn't here.",
        "hypothesis": "A red car is.",
        "label": "contradiction",
    },
    {"id": "d1", "premise": "Two dogs don't run.", "hypothesis": "Dogs don't run.", "label": "neutral"},
    {"id": "d2", "of": "d1", "premise": "Dogs don't run.", "hypothesis": "Two dogs don't run.", "label": "entailment"},
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The problems, a contrast suite, and scripts of a perfect model and of one that is right on the first halves."""
    suite = [{**row, "contrast": "mine", "kind": row["id"][0]} for row in SUITE]
    half = [{**row, "pred": row["label"]} for row in SUITE if row["id"] in ("c1", "c2", "d1")]
    contents = {"plain": PLAIN, "suite": suite, "perfect": [{**r, "pred": r["label"]} for r in SUITE], "half": half}
    for name, rows in contents.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {name: tmp_path / f"{name}.jsonl" for name in contents}


def run(out: Path, data: list[Any], models: list[str], **more: Any) -> ow.Run:
    settled = {"vary": ["contractions"], "check": ["surface"], "replicates": 200, "canary": False, "cache": None}
    return ow.run(data=[str(one) for one in data], models=models, out=out, **{**settled, **more})


def values_of(result: ow.Run, model: str) -> dict[str, float | None]:
    return {one.metric: one.value for one in result.scores if one.model == model and one.group is None}


def test_the_constant_the_perfect_and_the_half_right_model(files, tmp_path):
    """By hand: of c2, c3, d2 the half-right model changes c2 rightly; else it says entailment: c3 stays, d2 changes."""
    models = ["constant=scripted(otherwise=entailment)", f"perfect=scripted(script={files['perfect']})"]
    models += [f"half=scripted(script={files['half']}, otherwise=entailment)"]
    result = run(tmp_path / "run", [files["plain"], files["suite"]], models)
    constant, perfect, half = (values_of(result, name) for name in ("constant", "perfect", "half"))
    assert constant["flip_rate"] == 0
    assert [constant[name] for name in NAMES] == [0.0, 1 / 3, 0.0]  # d2 is entailed
    assert [perfect[name] for name in NAMES] == [1.0, 1.0, 1.0]
    assert [half[name] for name in NAMES] == [2 / 3, 2 / 3, 1 / 2]


def test_a_suite_changes_no_bit_of_the_other_scores(files, tmp_path):
    models = ["any=scripted(seed=3)", "other=scripted(seed=4)"]
    using = ["all"]
    quiet = pytest.warns(UserWarning, match="intervals rest on")
    with quiet:
        alone = run(tmp_path / "alone", [files["plain"]], models, metrics=using)
    with quiet:
        both = run(tmp_path / "both", [files["plain"], files["suite"]], models, metrics=using)
    ordinary = [asdict(one) for one in both.scores if one.metric not in NAMES]
    assert ordinary == [asdict(one) for one in alone.scores]
    assert both.manifest["counts"]["variants"] == alone.manifest["counts"]["variants"]
    assert both.manifest["counts"]["dropped"] == alone.manifest["counts"]["dropped"]
    assert both.manifest["counts"]["asked"] == alone.manifest["counts"]["asked"] + len(SUITE)


@pytest.mark.parametrize("shard", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in (3, 2000))])
def test_nothing_is_made_of_contrasts_and_no_check_judges_them(files, tmp_path, shard):
    data = [files["suite"], files["plain"]]  # a shard may hold nothing but contrasts
    result = run(tmp_path / "run", data, ["any=scripted(seed=3)"], shard=shard)
    buckets = pl.concat([pl.read_parquet(p) for p in sorted((result.folder / "buckets").glob("*.parquet"))])
    marked = buckets.filter(pl.col("contrast") == "mine")
    assert marked["id"].to_list() == [row["id"] for row in SUITE]
    assert marked.select("^check:.*$").null_count().row(0) == (5, 5, 5)
    variants = buckets.filter(pl.col("of").is_not_null(), pl.col("contrast").is_null())
    assert set(variants["of"]) == {"p1", "p2", "p3"}
    assert variants["check:surface"].null_count() == 0
    whole = run(tmp_path / "whole", [*reversed(data)], ["any=scripted(seed=3)"])
    assert [asdict(one) for one in result.scores] == [asdict(one) for one in whole.scores]
    again = run(tmp_path / "run", data, ["any=scripted(seed=3)"], shard=shard)
    assert [asdict(one) for one in again.scores] == [asdict(one) for one in whole.scores]


def test_a_suite_alone_is_enough_to_compare(files, tmp_path):
    with pytest.warns(UserWarning, match="the table has only contrasts; not measured: accuracy_original"):
        result = run(tmp_path / "run", [files["suite"]], ["perfect=scripted(otherwise=neutral)"], vary=[])
    assert set(values_of(result, "perfect")) == set(NAMES)
    assert "No result: no rewording was answered." in result.report.read_text()
    with refuses(BadInput):
        run(tmp_path / "none", [files["plain"]], ["any=scripted"], vary=[])


def test_what_a_suite_leaves_out_is_reported_on_resuming_too(tmp_path):
    rows = "1\tA man runs.\tA man moves.\tentailment\n2\tA man moves.\tA man runs.\tneutral\n3\tA.\tB.\tneutral\n"
    (tmp_path / "MED.tsv").write_text("pairID\tsentence1\tsentence2\tgold_label\n" + rows)
    for _ in range(2):
        with pytest.warns(UserWarning, match="med: left out 1 of 3 rows|all problems are contrasts"):
            result = run(tmp_path / "run", [f"med:{tmp_path / 'MED.tsv'}"], ["any=scripted"], metrics=["sensitivity"])
        left_out = ["med: left out 1 of 3 rows: no reversed pair with another label"]
        assert result.manifest["warnings"] == [*left_out, "all problems are contrasts, and contrasts are not reworded"]


# Comparing and listing.


def answers(files: dict[str, Path], models: list[str]) -> pl.DataFrame:
    problems = ow.load(str(files["plain"]), str(files["suite"]))
    varied = ow.vary(problems, ["contractions"])
    table = pl.concat([problems, varied], how="diagonal_relaxed")
    return pl.concat([ow.answer(table, model, canary=False, cache=None) for model in models])


@pytest.fixture
def both(files: dict[str, Path]) -> pl.DataFrame:
    return answers(files, ["any=scripted(seed=3)", f"perfect=scripted(script={files['perfect']}, seed=1)"])


def test_two_models_are_compared_on_both_halves(both):
    using = ["flip_rate", "accuracy_original", *NAMES]
    found = ow.compare(both, using=using, replicates=200)
    assert [one.metric for one in found] == using
    scores = {(one.model, one.metric): one.value for one in ow.score(both, using, replicates=20)}
    for one in found:
        assert (one.value, one.other_value) == (scores["any", one.metric], scores["perfect", one.metric])
    alone = ow.compare(both.filter(pl.col("contrast").is_null()), using=using[:2], replicates=200)
    for one, expected in zip(found, alone, strict=False):
        assert (one.difference, one.low, one.p_swap) == (expected.difference, expected.low, expected.p_swap)


def test_comparing_what_only_one_model_has(both):
    with_suite = both.filter(pl.col("model") == "any")
    without = both.filter(pl.col("model") == "perfect", pl.col("contrast").is_null())
    with pytest.warns(UserWarning, match="only one of the models has answers to contrasts"):
        [one] = ow.compare(with_suite, without, ["flip_rate"], replicates=50)
    assert one.metric == "flip_rate"
    with (
        pytest.warns(UserWarning, match="only one of the models has answers to contrasts"),
        refuses(Unmeasurable),
    ):
        ow.compare(with_suite, without, ["sensitivity"], replicates=50)


def test_groups_are_compared_within_what_has_the_column(both):
    first = both.filter(pl.col("model") == "any")
    many = pl.concat(first.with_columns(pl.col("bucket", "cluster") + str(n)) for n in range(3))
    with pytest.warns(UserWarning, match="variants on average: contrast_consistency depends on that"):
        found = compare_groups(many, "kind", list(NAMES), replicates=100)
    scores = {(one.group, one.metric): one.value for one in ow.score(many, NAMES, by=["kind"], replicates=20)}
    assert [one.metric for one in found] == list(NAMES)
    for one in found:
        assert (one.model, one.other) == ("kind=c", "kind=d")
        assert (one.value, one.other_value) == (scores["kind=c", one.metric], scores["kind=d", one.metric])
    with refuses(Unmeasurable):
        compare_groups(first, "kind", ["flip_rate"], replicates=50)


def test_lists_are_of_rewordings(both):
    found = audit(both, "never-right")
    assert set(found["bucket"]) <= {"p1", "p2", "p3"}
    assert (
        audit(both.filter(pl.col("contrast").is_null()), "never-right")["bucket"].to_list() == found["bucket"].to_list()
    )
    with refuses(BadInput):
        audit(both.filter(pl.col("contrast").is_not_null()))


# The released suites.


def test_breaking_nli_from_file_to_report(shared, files, tmp_path):
    """A bag of words cannot see one changed word for what it is; the constant model sees nothing at all."""
    data = [files["plain"], f"breaking_nli:{shared / 'originals' / 'breaking_nli' / 'dataset.jsonl'}"]
    result = run(
        tmp_path / "run", data, ["bow=bag_of_words", "constant=scripted(otherwise=entailment)"], by=["category"]
    )
    text = (shared / "originals" / "breaking_nli" / "dataset.jsonl").read_text()
    released = [json.loads(line) for line in text.splitlines()]
    changed = sum(row["gold_label"] != "entailment" for row in released)
    constant = {one.metric: one for one in result.scores if one.model == "constant" and one.group is None}
    assert (constant["sensitivity"].value, constant["contrast_accuracy"].value) == (0.0, 0.0)
    assert constant["sensitivity"].n_answers == changed == 250
    assert constant["contrast_consistency"].n_units == len({row["sentence1"] for row in released})
    answered = pl.read_parquet(sorted((result.folder / "answers").glob("bow*/*.parquet")))
    answers = {row["variant"] or row["bucket"]: row["pred"] for row in answered.iter_rows(named=True)}
    turned = answered.filter(
        pl.col("contrast") == "breaking_nli", pl.col("variant").is_not_null(), pl.col("gold") != "entailment"
    )
    flips = [answers[row["variant"]] != answers[row["bucket"]] for row in turned.iter_rows(named=True)]
    assert values_of(result, "bow")["sensitivity"] == pytest.approx(sum(flips) / len(flips))
    assert {one.group for one in result.scores if one.group} == {f"category={row['category']}" for row in released}
    page = result.report.read_text()
    assert '<h2 id="invariance">Invariance and sensitivity</h2>' in page
    assert "itself-" not in page  # no contrast is shown among the flips


def test_a_group_without_a_changed_answer_is_left_out_of_comparisons():
    rows = []
    for kind, gold in (("colours", "contradiction"), ("numbers", "contradiction"), ("synonyms", "entailment")):
        for i in range(6):
            name = f"{kind}{i}"
            rows.append((name, None, "entailment", "entailment", "mine", None))
            rows.append((name, f"{name}c", gold, "contradiction" if i % 2 else "entailment", "mine", kind))
    table = pl.DataFrame(rows, ["bucket", "variant", "gold", "pred", "contrast", "kind"], orient="row")
    with pytest.warns(UserWarning, match="and kind=synonyms: not compared: .*sensitivity"):
        found = compare_groups(table, "kind", ["sensitivity"], replicates=100)
    assert [(one.model, one.other) for one in found] == [("kind=colours", "kind=numbers")]
