"""`paper sensitivity`: what is right is reworded, judged by the model itself and by another, and asked again."""

from __future__ import annotations

import json

import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.papers.protocol import run_paper
from otherwords.papers.sensitivity_experiment import Sensitivity
from otherwords.papers.sensitivity_tables import _families, _overlap

#: One label has no rewording here, and a judge may accept none.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{one}") for one in ("nothing to measure", "accepts none", "not reliable")
]

ROWS = [
    {"id": f"p{number}", "premise": f"The {animal} isn't in the garden.", "hypothesis": text, "label": label}
    for number, (animal, text, label) in enumerate(
        [
            ("dog", "The dog isn't outside.", "neutral"), ("cat", "The cat is in the garden.", "contradiction"),
            ("cow", "The cow isn't in the garden.", "entailment"), ("hen", "The hen isn't there.", "entailment"),
            ("pig", "The pig doesn't sleep.", "neutral"), ("fox", "It isn't true that the fox sits.", "neutral"),
        ]
    )
]  # fmt: skip
#: Answers as a table: it changes its mind where a contraction is opened.
FLIPPING = """
def ask(batch):
    return ["neutral" if "n't" in text else "contradiction" for text in batch["hypothesis"]]
"""


@pytest.fixture
def settings(tmp_path):
    pl.DataFrame(ROWS).write_ndjson(tmp_path / "rows.jsonl")
    (tmp_path / "flipping.py").write_text(FLIPPING)
    model = f"python:{tmp_path / 'flipping.py'}:ask"
    return {
        "datasets": {"garden": {"data": str(tmp_path / "rows.jsonl"), "domain": "out"}},
        "models": {"flipping": {"model": model, "family": "f", "size": 1}}, "generator": "contractions",
        "accept": ["judge"], "judge": "nli-small", "cache": None, "canary": False,
    }  # fmt: skip


def test_fooling_rates_are_of_what_the_model_answers_right(tmp_path, settings):
    outcome = run_paper(Sensitivity, settings, out=tmp_path / "out")
    [table] = outcome.results.tables["Table 2"]
    row = dict(zip([column.name for column in table.columns], table.cells[0], strict=True))
    right = pl.read_parquet(tmp_path / "out" / "cells" / "garden" / "flipping" / "right.parquet")
    assert set(right["id"]) == {"p0", "p1", "p4", "p5"}
    assert row["right"].value == 4
    answers = pl.read_parquet(next((tmp_path / "out").rglob("judge/run/answers/**/*.parquet")))
    fooled = answers.filter(pl.col("variant").is_not_null(), pl.col("pred") != pl.col("gold"))["bucket"].n_unique()
    assert fooled > 0
    assert row["r_r"].value == fooled / 4
    assert {*outcome.results.tables, *outcome.results.figures, *outcome.results.missing} >= set(Sensitivity.exhibits)


def test_a_second_call_asks_nothing_and_writes_the_same_bytes(tmp_path, settings):
    run_paper(Sensitivity, settings, out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "flipping.py").rename(tmp_path / "away.py")
    (tmp_path / "flipping.py").write_text(FLIPPING)
    run_paper(Sensitivity, settings, out=tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generator": "no-such-generator"}, "no-such-generator"),
        ({"judge": "no-such-judge"}, "no-such-judge"),
        ({"accept": ["nobody"]}, "nobody"),
        ({"generator": "paraphrase(model=scripted, accept=surface)"}, "check of its own"),
        ({"generator": "contractions(field=premise)"}, "'premise' is not what is reworded"),
    ],
)
def test_bad_settings_are_refused_before_any_work(tmp_path, settings, change, message):
    with pytest.raises(Exception, match=message):
        run_paper(Sensitivity, {**settings, **change}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_premises_stay_and_both_ways_to_accept_stand_side_by_side(tmp_path, settings):
    own = {"model": "nli-small", "family": "f"}
    settings["models"] = {"small": {**own, "size": 1, "distilled_from": "large"}, "large": {**own, "size": 2}}
    outcome = run_paper(Sensitivity, {**settings, "accept": ["self", "judge"]}, out=tmp_path / "out")
    for path in (tmp_path / "out" / "cells").rglob("run/buckets/*.parquet"):
        texts = pl.read_parquet(path)
        assert texts.group_by(pl.coalesce("of", "id")).agg(pl.col("premise").n_unique())["premise"].max() == 1
    assert [one.name for one in outcome.results.figures["Figure 2"]] == ["figure-2-self", "figure-2-judge"]
    assert [one.name for one in outcome.results.tables["Distillation"]] == ["distillation-self", "distillation-judge"]


def test_a_model_without_an_accepted_rewording_leaves_gaps(tmp_path, settings):
    """Others are measured all the same: a weak judge of itself may reject everything."""
    (tmp_path / "always.py").write_text("def ask(batch):\n    return ['neutral' for _ in batch['hypothesis']]\n")
    settings["models"]["always"] = f"python:{tmp_path / 'always.py'}:ask"
    outcome = run_paper(Sensitivity, {**settings, "accept": ["self", "judge"]}, out=tmp_path / "out")
    for table in outcome.results.tables["Table 2"]:
        names = [column.name for column in table.columns]
        by_model = {row[1].value: dict(zip(names, row, strict=True)) for row in table.cells}
        assert by_model["always"]["right"].value == 3
        assert by_model["always"]["r_s, no neutral"].value is None
        rejected = table.name.endswith("self")
        assert (by_model["always"]["r_r"].value is None) == rejected
        assert (by_model["always"]["no rewording"].value == 1) == rejected


def test_problems_with_fewer_rewordings_than_were_wanted_are_counted(tmp_path, settings):
    drafts = {row["hypothesis"]: [row["hypothesis"].replace("n't", " not")] for row in ROWS}
    (tmp_path / "drafts.json").write_text(json.dumps(drafts))
    settings["generator"] = f"paraphrase(model=scripted:{tmp_path / 'drafts.json'}, k=2, tries=0)"
    outcome = run_paper(Sensitivity, settings, out=tmp_path / "out")
    table = outcome.results.tables["Table 2"][0]
    row = dict(zip([column.name for column in table.columns], table.cells[0], strict=True))
    assert row["fewer than 2"].value == 1
    assert row["no rewording"].value < 1


def test_a_task_without_a_hypothesis_is_refused(tmp_path, settings):
    rows = [{"id": "a", "obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D.", "label": "1"}]
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]) + "\n")
    data = {"abductive": {"data": str(tmp_path / "a.jsonl"), "task": "a-nli"}}
    with pytest.raises(BadInput, match="has no hypothesis"):
        run_paper(Sensitivity, {**settings, "datasets": data}, out=tmp_path / "out")


def test_words_shared_count_each_time_and_families_need_two_sizes():
    assert _overlap(("A dog, a cat.", "A cat ran")) == (pytest.approx(45.4545, abs=1e-3), 4, 3, 3)
    assert _families({}) == []
