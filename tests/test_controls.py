"""Controls in a run: made beside rewordings, judged by no check, counted with nothing else, from file to report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import Task
from otherwords.registry import Bound, Plugin

ROWS = [
    {"id": "p1", "premise": "It isn't wet indoors.", "hypothesis": "It's dry there.", "label": "entailment"},
    {"id": "p2", "premise": "They're late today.", "hypothesis": "They aren't early.", "label": "entailment"},
    {"id": "p3", "premise": "She can't swim well.", "hypothesis": "She's swimming.", "label": "contradiction"},
    {"id": "p4", "premise": "A plain sentence.", "hypothesis": "Nothing to reword.", "label": "neutral"},
]
CONTROLS = ["identity", "scramble(words=0)", "tautology"]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


def run(out: Path, data: str, vary: list[str], **more: Any) -> ow.Run:
    settled = {"models": ["any=scripted(seed=3)", "other=scripted(seed=4)"], "replicates": 200, "canary": False}
    return ow.run(data=[data], vary=vary, out=out, **{**settled, "cache": None, **more})


def values_of(scores: list[ow.Score], metric: str) -> dict[tuple[str, str | None], float | None]:
    return {(one.model, one.group): one.value for one in scores if one.metric == metric}


def test_controls_change_no_bit_of_the_other_scores(data, tmp_path):
    quiet = pytest.warns(UserWarning, match="intervals rest on")
    with quiet:
        alone = run(tmp_path / "alone", data, ["contractions"], metrics=["all"])
    with quiet:
        both = run(tmp_path / "both", data, [*CONTROLS[:2], "contractions", CONTROLS[2]], metrics=["all"])
    ordinary = [asdict(one) for one in both.scores if one.metric != "control_flips"]
    assert ordinary == [asdict(one) for one in alone.scores]
    assert both.manifest["counts"]["dropped"] == alone.manifest["counts"]["dropped"] == 0
    assert both.manifest["counts"]["asked"] == alone.manifest["counts"]["asked"] + 3 * len(ROWS)
    groups = {group for _, group in values_of(both.scores, "control_flips")}
    assert groups == {"control=identity", "control=scramble", "control=tautology"}


@pytest.mark.parametrize("shard", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in (3, 2000))])
def test_flips_are_counted_where_they_belong(data, tmp_path, shard):
    """A script that knows the originals and the rewordings, and says neutral of every scrambled text."""
    problems = ow.load(data)
    suite = pl.concat([problems, ow.vary(problems, ["contractions"])], how="diagonal_relaxed")
    script = tmp_path / "script.jsonl"
    known = suite.select("premise", "hypothesis", pl.lit("entailment").alias("pred"))
    script.write_text("".join(json.dumps(row) + "\n" for row in known.rows(named=True)))
    models = [f"reader=scripted(script={script}, otherwise=neutral)"]
    result = run(tmp_path / "run", data, ["contractions", *CONTROLS[:2]], models=models, shard=shard)
    assert values_of(result.scores, "flip_rate") == {("reader", None): 0.0}
    assert values_of(result.scores, "control_flips") == {
        ("reader", "control=identity"): 0.0,
        ("reader", "control=scramble"): 1.0,
    }


def test_identity_alone_is_asked_and_never_flips(data, tmp_path):
    result = run(tmp_path / "run", data, ["identity"])
    assert set(values_of(result.scores, "control_flips").values()) == {0.0}
    assert result.manifest["counts"] == {"variants": 4, "unvaried": 0, "dropped": 0, "asked": 8}
    assert "flip_rate" not in {one.metric for one in result.scores}  # nothing was put in other words
    assert "no rewording was answered" in (result.folder / "report.html").read_text()
    several = run(tmp_path / "several", data, ["identity", "scramble"], models=["any=scripted(seed=3)"])
    flips = values_of(several.scores, "control_flips")
    assert set(flips) == {("any", "control=identity"), ("any", "control=scramble")}
    assert flips["any", "control=identity"] == 0


def test_dropped_rewordings_make_no_rewordings_of_controls(data, tmp_path):
    result = run(tmp_path / "run", data, ["contractions", "scramble"], check=["overlap(most=0.01)"])
    assert "flip_rate" not in {one.metric for one in result.scores}
    assert values_of(result.scores, "control_flips")


def test_no_check_judges_them_and_no_profile_counts_them(data, tmp_path):
    result = run(tmp_path / "run", data, ["contractions", *CONTROLS], check=["surface", "overlap(most=0)"])
    buckets = pl.concat(map(pl.read_parquet, sorted((result.folder / "buckets").glob("*.parquet"))))
    marked = buckets.filter(pl.col("control").is_not_null())
    assert marked.group_by("control").len().sort("control").rows() == [
        ("identity", 4),
        ("scramble", 4),
        ("tautology", 4),
    ]
    assert marked.select(pl.col("^check:.*$").is_null().all()).row(0) == (True,) * 6
    others = buckets.filter(pl.col("of").is_not_null(), pl.col("control").is_null())
    assert others["check:overlap"].null_count() == 0
    found = ow.profile(buckets)
    assert found.whole.variants == others.height
    assert [one.how.partition(".")[0] for one in found.generators] == ["contractions"]
    with refuses(BadInput):
        ow.profile(buckets.filter(pl.col("of").is_null() | pl.col("control").is_not_null()))


def test_the_mark_survives_every_format(data, tmp_path):
    problems = ow.load(data)
    made = ow.vary(problems, ["contractions", "identity"])
    assert made.filter(pl.col("how").str.starts_with("contractions"))["control"].null_count() == made.height - 4
    suite = pl.concat([problems, made], how="diagonal_relaxed")
    straight = ow.score(ow.answer(suite, "any=scripted(seed=3)", canary=False, cache=None), replicates=20)
    for ending, write in (("csv", suite.write_csv), ("parquet", suite.write_parquet), ("jsonl", suite.write_ndjson)):
        write(tmp_path / f"suite.{ending}")
        again = ow.answer(ow.load(str(tmp_path / f"suite.{ending}")), "any=scripted(seed=3)", canary=False, cache=None)
        again.write_csv(tmp_path / "answers.csv")
        assert ow.score(tmp_path / "answers.csv", replicates=20) == straight


def test_a_generator_of_ones_own_can_be_a_control(data):
    def vary(problems, seeds):
        yield from (problem.restate(hypothesis=problem.text["hypothesis"] + "!") for problem in problems)

    shout = Bound(Plugin("shout", 1, lambda: vary), "shout.v1()", vary)
    assert "control" not in ow.vary(ow.load(data), [shout]).columns
    vary.control = True
    assert set(ow.vary(ow.load(data), [shout])["control"]) == {"shout"}


def test_the_name_is_taken():
    with refuses(BadInput):
        Task("mine", ("control",), ("yes", "no"))


def test_a_control_leaves_what_came_along(data):
    made = ow.vary(ow.load(data).with_columns(pl.lit("news").alias("genre")), ["identity"])
    assert set(made["genre"]) == {"news"}
