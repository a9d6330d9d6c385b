"""A run with masked-lm: its notes are in the folder, its columns in the answers, its tables in the profile."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusals import refuses
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.problem import Note
from otherwords.storage import tables
from otherwords.storage.run_folder import RunFolder
from otherwords.variants.generating import notes_table, read_notes
from otherwords.variants.masked_lm import filter_rates
from otherwords.variants.masked_lm.counts import KEPT

WORDS = [["cat", 0.4], ["cow", 0.3], ["dog", 0.2], ["##s", 0.1]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("run"))


def finished(place, more=""):
    """A run of three problems, with more options of masked-lm."""
    script = {
        "A [MASK] ran.": WORDS,
        "The [MASK] slept.": WORDS,
        "Some [MASK] came.": WORDS,
        "That [MASK] left.": WORDS,
    }
    (place / "a.json").write_text(json.dumps(script))
    (place / "b.json").write_text(json.dumps({text: [["cat", 0.6], *WORDS[2:]] for text in script}))
    texts = [("A dog ran.", "The dog slept."), ("Some dog came.", "That dog left."), ("It rained.", "It was wet.")]
    rows = [{"id": f"p{i}", "premise": p, "hypothesis": h, "label": "neutral"} for i, (p, h) in enumerate(texts)]
    (place / "three.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = json.dumps([f"{name}=scripted:{place}/{name}.json" for name in "ab"])
    study = {"data": [str(place / "three.jsonl")], "vary": [f"masked-lm(models={models}, least=1, top=4{more})"]}
    ow.run({**study, "models": ["scripted"], "canary": False, "cache": None}, out=place / "run", shard=1)
    return place / "run"


def test_the_profile_reports_filters_and_overlap(folder):
    """Two seeds, in shards of their own; a keeps cat and cow, b cat, so that one is shared and one is a's."""
    [found] = ow.profile(folder).suggestions
    rates = {(one.model, one.filter): (one.removed, one.reached) for one in found.filters if one.field == "premise"}
    assert rates["a", "no whole word"] == (2, 8)
    assert rates["a", "no likelier than the word itself"] == (2, 6)
    assert rates["b", "no likelier than the word itself"] == (2, 4)
    means = {(one.model, one.other): one.mean for one in found.overlap}
    assert means == {("a", "a"): 1.0, ("a", "b"): 1.0, ("b", "a"): 1.0, ("b", "b"): 0.0}


def test_the_command_shows_both_tables(folder):
    shown = CliRunner().invoke(app, ["profile", str(folder)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.output.split())  # a title is broken where its table is narrow
    assert "per cent of the suggestions that reached a filter" in text
    assert "suggestions per problem that two masked-LMs share" in text
    profile = json.loads(CliRunner().invoke(app, ["profile", str(folder), "--json"]).output)
    assert {one["model"] for one in profile["suggestions"][0]["filters"]} == {"a", "b"}


def test_the_notes_of_a_run_can_be_read(folder):
    found = read_notes(folder)
    assert found.equals(read_notes(folder / "notes"))
    assert dict(found.group_by("what").agg(pl.col("count").sum()).rows())[KEPT] == 4
    assert filter_rates(found)["removed"].sum() > 0


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "csv", "tsv", "parquet"])
def test_notes_are_read_as_they_were_written(tmp_path, ending):
    """A column that is empty in a thousand rows, numbers that are text, and a problem called 007."""
    about = [{"field": "premise", "reached": "10"}] * 1000 + [{"origin": "a+b"}]
    table = notes_table(("g.v1()", Note("007", "left out: empty", 2, one)) for one in about)
    tables.write([table], tmp_path / f"notes.{ending}")
    assert read_notes(tmp_path / f"notes.{ending}").equals(table)


def test_a_table_of_something_else_is_no_notes(tmp_path):
    (tmp_path / "some.jsonl").write_text('{"id": "p", "what": "x"}\n')
    with refuses(BadInput):
        read_notes(tmp_path / "some.jsonl")


def test_a_suite_without_such_notes_has_none(folder):
    buckets = ow.load(str(folder / "buckets"))
    assert ow.profile(buckets).suggestions == ()
    assert ow.profile(str(folder / "buckets")).suggestions == ()


def test_the_answers_can_be_grouped_by_what_a_variant_is(folder):
    scores = ow.score(RunFolder(folder).read("answers"), ["flip_rate"], by=["origin"])
    assert {one.group for one in scores} >= {"origin=a", "origin=a+b"}


def test_the_papers_tables_come_from_the_run(folder):
    """Two seeds with cat and cow, of which b has cat alone."""
    cells = {(one.table, one.row, one.column): one for one in ow.reproduce("merge", folder)}
    found = {key: one.obtained for key, one in cells.items()}
    assert found["2", "noun", "seeds"] == 2
    assert found["2", "noun", "variants per seed"] == 2
    assert found["2", "all", "% neutral"] == 100
    assert cells["2", "noun", "seeds"].published == 1808
    answers = RunFolder(folder).read("answers").drop_nulls("variant")
    assert found["3", "scripted", "accuracy, variants"] == 100 * (answers["gold"] == answers["pred"]).mean()
    assert found["6", "b, noun", "no likelier than the word itself, premise"] == 50
    assert (found["Figure 9", "a", "a"], found["Figure 9", "a", "b"]) == (1.0, 1.0)
    assert all(one.obtained is not None for one in cells.values())


def test_table_3_has_both_intervals_of_a_run_without_draws(folder):
    """Of the two seeds: the third problem has no variants."""
    cells = {one.column: one for one in ow.reproduce("merge", folder) if one.table == "3"}
    answers = RunFolder(folder).read("answers")
    metrics = ["accuracy_seeds", "accuracy_variants", "pa_drop"]
    present, former = (ow.score(answers, metrics, interval=kind) for kind in ("auto", "percentile"))
    columns = ["accuracy, seeds", "accuracy, variants", "PA at 90 % - accuracy, seeds"]
    for column, one, drawn in zip(columns, present, former, strict=True):
        assert cells[column].obtained == pytest.approx(100 * one.value, abs=1e-12)
        assert cells[column].interval == (None if one.low == one.high else (100 * one.low, 100 * one.high))
        assert cells[column].percentile == (None if drawn.low is None else (100 * drawn.low, 100 * drawn.high))
    assert cells["accuracy, seeds"].interval is not None
    assert all(one.interval is None for one in ow.reproduce("merge", folder) if one.table != "3")


def test_means_over_draws_have_no_interval(tmp_path):
    cells = ow.reproduce("merge", finished(tmp_path, ", n=1, subsamples=3"))
    assert sum(one.table == "3" for one in cells) == 3
    assert all(one.interval is None and one.percentile is None for one in cells)


def test_a_run_without_masked_lm_has_no_such_tables(folder, tmp_path):
    study = {
        "data": [str(folder.parent / "three.jsonl")],
        "vary": ["identity"],
        "models": ["scripted"],
        "canary": False,
        "cache": None,
    }
    ow.run(study, out=tmp_path / "run")
    with refuses(BadInput, where=str(tmp_path / "run")):
        ow.reproduce("merge", tmp_path / "run")
