"""`paper parte`: paraphrases are made, filtered, verified and put together; then answers that change are counted."""

from __future__ import annotations

import json

import polars as pl
import pytest
import tiny_models

from otherwords.errors import BadInput, OtherwordsError
from otherwords.papers.parte_experiment import Parte, _most_similar, _recombined
from otherwords.papers.protocol import run_paper

MERGED = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
ROWS = [
    {"id": f"p{number}", "premise": f"The {animal} isn't in the garden.", "hypothesis": text, "label": label, "from": s}
    for number, (animal, text, label, s) in enumerate(
        [
            ("dog", "The dog isn't outside.", "neutral", "QA"), ("cat", "The cat is here.", "contradiction", "IE"),
            ("cow", "The cow isn't in the garden.", "entailment", "QA"), ("hen", "It isn't there.", "entailment", "IE"),
        ]
    )
]  # fmt: skip
#: Three labels. An opened contraction in the hypothesis alone goes from neutral to contradiction, which merging hides.
MODEL = """
from otherwords import Model

def ask(batch):
    pairs = zip(batch["premise"], batch["hypothesis"])
    return ["neutral" if "n't" in h else "contradiction" if "n't" in p else "entailment" for p, h in pairs]

model = Model(ask, labels=("entailment", "neutral", "contradiction"))
"""


@pytest.fixture
def settings(tmp_path):
    pl.DataFrame(ROWS).write_ndjson(tmp_path / "rows.jsonl")
    (tmp_path / "three.py").write_text(MODEL)
    data = {"data": str(tmp_path / "rows.jsonl"), "task": "rte", "labels": MERGED}
    return {
        "datasets": {"garden": data}, "models": {"three": f"python:{tmp_path / 'three.py'}:model"},
        "generator": "contractions", "verify": ["surface"], "recheck": "overlap(most=1)",
        "source_column": "from", "cache": None, "canary": False,
    }  # fmt: skip


def _values(table):
    return [{column.name: cell.value for column, cell in zip(table.columns, row, strict=True)} for row in table.cells]


@pytest.mark.slow
def test_flips_are_counted_as_in_the_paper_and_those_that_merging_hides_beside_them(tmp_path, settings):
    settings |= {"validation": {"dev": settings["datasets"]["garden"]}, "mnli": {"m": str(tmp_path / "rows.jsonl")}}
    outcome = run_paper(Parte, settings, out=tmp_path / "out")
    suite = pl.read_parquet(tmp_path / "out" / "data" / "garden~suite.parquet")
    kinds = dict(suite["paraphrased"].drop_nulls().value_counts().iter_rows())
    rows, found = sum(kinds.values()), outcome.results
    assert kinds["ph"] >= 1
    assert pl.read_parquet(tmp_path / "out" / "data" / "validation~dev~suite.parquet").equals(suite)
    assert set(suite.filter(pl.col("paraphrased") == "ph")["id"]) <= {f"p{number}_ph" for number in (0, 2, 3)}

    changed = kinds["ph"] + suite.filter(pl.col("id") == "p1_p").height
    [line] = _values(found.tables["Table 2"][0])
    assert line["rows"] == rows
    assert line["changed"] == pytest.approx(changed / rows)
    [merging] = _values(found.tables["Label merging"][0])
    assert merging["lost by merging"] == pytest.approx(kinds["h"] / rows)
    assert merging["changed, three labels"] == pytest.approx((changed + kinds["h"]) / rows)
    assert (line["three labels"], line["two labels"]) == (0.5, 0.5)
    [figure] = found.figures["Figure 2"]
    by_name = {one.name: one.points[0].y for one in figure.panels[0].series}
    assert by_name["both paraphrased"] == 1.0
    assert by_name["one paraphrased"] == pytest.approx((changed - kinds["ph"]) / (rows - kinds["ph"]))
    assert {one.name for one in found.figures["Figure 5"][0].panels[0].series} == {"IE", "QA"}
    assert {*found.tables, *found.figures, *found.missing} >= set(Parte.exhibits)

    page = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "out" / "data" / "garden~suite.parquet").unlink()  # what is lost is made again
    run_paper(Parte, settings, out=tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == page


def test_of_verified_paraphrases_the_most_similar_is_taken_and_both_need_both():
    columns = {"id": ["a", "b"], "of": [None, None], "premise": ["P", "Q"], "hypothesis": ["H", "I"]}
    problems = pl.DataFrame(columns, schema_overrides={"of": pl.String})
    candidates = pl.DataFrame(
        [
            ("a1", "a", "p", "P1", "H", True, 0.9, 0.2), ("a2", "a", "p", "P2", "H", True, 0.9, 0.6),
            ("a3", "a", "p", "P3", "H", False, 1.0, 0.7), ("a4", "a", "h", "P", "H4", True, None, 0.1),
            ("b1", "b", "h", "Q", "I1", True, 0.8, 0.7), ("b2", "b", "h", "Q", "I2", True, 0.9, 0.1),
            ("b3", "b", "p", "Q3", "I", False, 0.9, 0.1),
        ],
        schema=["id", "of", "paraphrased", "premise", "hypothesis", "verified", "check:c:score", "check:jaccard:score"],
        orient="row",
    )  # fmt: skip
    halves = _most_similar(candidates, "c")
    assert sorted(halves["id"]) == ["a2", "a4", "b2"]
    rows = _recombined(problems, halves, "contractions").filter(pl.col("of").is_not_null())
    texts = {
        name: (premise, hypothesis) for name, premise, hypothesis in rows["id", "premise", "hypothesis"].iter_rows()
    }
    assert texts == {"a_p": ("P2", "H"), "a_h": ("P", "H4"), "a_ph": ("P2", "H4"), "b_h": ("Q", "I2")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generator": "no-such-generator"}, "no-such-generator"),
        ({"verify": ["no-such-check"]}, "no-such-check"),
        ({"recheck": "no-such-check"}, "no-such-check"),
        ({"source_column": "nowhere"}, "no column 'nowhere'"),
        ({"jaccard": 2}, "jaccard"),
    ],
)
def test_bad_settings_are_refused_before_any_work(tmp_path, settings, change, message):
    with pytest.raises(OtherwordsError, match=message):
        run_paper(Parte, {**settings, **change}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_of_another_task_are_refused(tmp_path, settings):
    with pytest.raises(BadInput, match="rte has other labels"):
        run_paper(Parte, {**settings, "mnli": settings["datasets"]}, out=tmp_path / "out")
    row = {"id": "a", "obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D.", "label": "1"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    data = {"abductive": {"data": str(tmp_path / "a.jsonl"), "task": "a-nli"}}
    with pytest.raises(BadInput, match="a-nli has other fields"):
        run_paper(Parte, {**settings, "datasets": data}, out=tmp_path / "out")


def test_data_without_a_paraphrase_are_refused_unless_they_are_for_validation(tmp_path, settings):
    plain = [{**row, "premise": "A dog ran.", "hypothesis": "It moved."} for row in ROWS]
    pl.DataFrame(plain).write_ndjson(tmp_path / "plain.jsonl")
    data = {"plain": {**settings["datasets"]["garden"], "data": str(tmp_path / "plain.jsonl")}}
    with pytest.raises(BadInput, match=r"datasets\.plain: no paraphrase was verified"):
        run_paper(Parte, {**settings, "datasets": data}, out=tmp_path / "none")
    outcome = run_paper(Parte, {**settings, "jaccard": 1, "validation": data}, out=tmp_path / "out")
    steps = outcome.results.tables["Section 3"][0]
    assert [row[-1].value for row in steps.cells if row[0].value == "validation plain"] == [0] * 6


def test_other_verdicts_of_people_are_another_experiment(tmp_path, settings):
    verdicts = tmp_path / "people.csv"
    verdicts.write_text("id,verdict\np0,yes\n")
    settings |= {"recheck": f"human:{verdicts}"}
    experiment = Parte(Parte.kind(**settings), tmp_path / "out", {})
    before = experiment.named_files()
    verdicts.write_text("id,verdict\np0,no\n")
    assert list(before) == ["the file people.csv"]
    assert experiment.named_files() != before


# Who paraphrases, and who verifies


def prepared(folder, settings):
    experiment = Parte(Parte.kind(**settings), folder, {})
    folder.mkdir()
    experiment.prepare()
    return experiment


def test_paraphrases_are_not_made_again_for_another_model(tmp_path, settings):
    made = prepared(tmp_path / "out", settings)
    steps = made.paraphrased("garden")
    more = {**settings, "models": {**settings["models"], "other": settings["models"]["three"]}, "canary": True}
    later = Parte(Parte.kind(**more), tmp_path / "out", {})
    later.prepare()
    assert later._is_made("garden")
    assert later.paraphrased("garden") == steps


@pytest.mark.filterwarnings("ignore:.*verdicts are blank")
def test_people_verify_what_a_sheet_asks_them(tmp_path, settings):
    """Above 75 of 100, as a mean of raters, and grammatical; what nobody rated is not verified."""
    prepared(tmp_path / "first", settings).paraphrased("garden")
    sheet = pl.read_csv(tmp_path / "first" / "to-judge" / "garden.csv", infer_schema=False)
    assert sheet.columns == ["id", "reference", "paraphrase", "similarity", "grammar"]
    assert all("n't" in row["reference"] and " not " in row["paraphrase"] for row in sheet.iter_rows(named=True))
    marks = [("90", "yes"), ("75", "yes"), ("90", "no"), ("", "")]
    given = [(*row[:3], *marks[place % 4]) for place, row in enumerate(sheet.rows())]
    filled = pl.DataFrame(given, schema=sheet.columns, orient="row")
    raters = pl.concat([filled, filled.head(1).with_columns(similarity=pl.lit("70"))])  # the mean is 80
    raters.write_csv(tmp_path / "ratings.csv")
    people = f"human:{tmp_path / 'ratings.csv'}"
    alike, grammar = "column=similarity, rule=mean, above=75, unjudged=drop", "column=grammar, unjudged=drop"
    settings["verify"] = [f"{people}({alike})", f"grammar={people}({grammar})"]
    experiment = prepared(tmp_path / "second", settings)
    steps = {step.name: step.rows for step in experiment.paraphrased("garden")}
    suite = pl.read_parquet(experiment.suite("garden"))
    verified = [row[2] for place, row in enumerate(sheet.rows()) if place % 4 == 0]
    assert sum(steps["verified"].values()) == len(verified)
    assert {*suite["premise"], *suite["hypothesis"]} >= set(verified)
    assert suite["of"].drop_nulls().n_unique() == len(verified)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_dry_run_counts_candidates_that_checks_keep(tmp_path, settings):
    estimate = run_paper(Parte, settings, out=tmp_path / "out", dry_run=True).estimate
    assert estimate.problems == len(ROWS)
    assert not (tmp_path / "out" / "cells").exists()
    steps = {step.name: step.rows for step in prepared(tmp_path / "whole", settings).paraphrased("garden")}
    assert estimate.variants == sum(steps["candidates"].values())
    assert estimate.answers == 2 * (len(ROWS) + sum(steps["verified"].values()))  # before merging labels, too


@pytest.mark.slow
def test_a_t5_paraphrases_each_sentence_by_itself(tmp_path, settings):
    """The paper's decoding, with a tiny T5 of random weights: its drafts are words in a row."""
    pytest.importorskip("transformers")
    rows = [{**row, "premise": "a dog runs in the park while it rains", "hypothesis": "no cat sleeps"} for row in ROWS]
    pl.DataFrame(rows).write_ndjson(tmp_path / "rows.jsonl")
    folder = tiny_models.save_writer(tmp_path / "t5", "t5")
    model = f'"hf:{folder}(device=cpu)"'
    settings["generator"] = f"paraphrase(model={model}, k=3, decoding=sample, top_k=120, top_p=0.95)"
    steps = {step.name: step.rows for step in prepared(tmp_path / "out", settings).paraphrased("garden")}
    made = pl.read_parquet(tmp_path / "out" / "cells" / "garden" / "paraphrases" / "candidates.parquet")
    assert set(made["paraphrased"]) == {"p", "h"}
    assert made.group_by("of", "paraphrased").len()["len"].max() <= 3
    assert made.filter(paraphrased="p")["hypothesis"].unique().to_list() == ["no cat sleeps"]
    assert sum(steps["few shared words"].values()) <= sum(steps["candidates"].values())
