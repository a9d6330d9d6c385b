"""The stages from file to file: shards do not show, suites in any order, spooling leaves nothing."""

from __future__ import annotations

import json
import random
import tempfile
from itertools import pairwise

import polars as pl
import pytest
from refusals import refuses

from otherwords.datasets.source import Source
from otherwords.errors import BadInput
from otherwords.running.files import answer_files, check_files, vary_files


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def problems(tmp_path):
    """Twenty problems; every fifth has nothing to contract, and every seventh column is missing."""
    rows = []
    for i in range(20):
        text = f"It isn't number {i}." if i % 5 else f"It is number {i}."
        row = {"id": f"p{i}", "premise": text, "hypothesis": f"They're not {i}.", "label": "neutral", "n": i}
        if i % 7 == 0:
            del row["n"]
        rows.append(row)
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("shard", [1, 7])
def test_shards_do_not_show(problems, tmp_path, temporary, shard):
    def through(shard, name):
        suite, checked, answers = (tmp_path / f"{stage}-{name}.jsonl" for stage in ("suite", "checked", "answers"))
        vary_files(Source([str(problems)]), str(suite), ["contractions", "identity"], suite=True, shard=shard)
        check_files(Source([str(suite)]), str(checked), ["surface"], shard=shard)
        answer_files(Source([str(checked)]), str(answers), ["scripted"], canary=False, cache=None, shard=shard)
        return [path.read_bytes() for path in (suite, checked, answers)]

    assert through(shard, "one") == through(2000, "other")
    assert list(temporary.iterdir()) == []


def test_a_suite_in_any_order_is_put_together_bucket_by_bucket(problems, tmp_path, temporary):
    """Larger than a shard, variants far from their originals: what `cat originals variants` makes."""
    suite, shuffled, answers = (tmp_path / f"{name}.jsonl" for name in ("suite", "shuffled", "answers"))
    vary_files(Source([str(problems)]), str(suite), ["contractions"], suite=True)
    lines = suite.read_text().splitlines(keepends=True)
    originals = [line for line in lines if json.loads(line)["of"] is None]
    variants = [line for line in lines if json.loads(line)["of"] is not None]
    random.Random(3).shuffle(lines)
    for order in (originals + variants, variants + originals, lines):
        shuffled.write_text("".join(order))
        done = check_files(Source([str(shuffled)]), str(answers), ["surface"], shard=4)
        rows = _lines(answers)
        assert done.rows == len(rows) == len(lines)
        assert {row["id"] for row in rows} == {json.loads(line)["id"] for line in lines}
        for before, row in pairwise(rows):
            assert row["of"] in (None, before["id"], before["of"])


def test_counts(problems, tmp_path, temporary):
    out = str(tmp_path / "x.csv")
    done = vary_files(Source([str(problems)]), out, ["contractions"])
    assert done.counts["rows"] == done.counts["originals"] == 20
    assert done.counts["variants"] == done.rows == 36
    assert done.rejected is None
    done = vary_files(Source([str(problems)]), out, ["contractions"], suite=True)
    assert (done.counts["variants"], done.rows) == (36, 56)


def test_extra_columns_keep_their_kind_whatever_the_shard(problems, tmp_path, temporary):
    for shard in (3, 2000):
        out = tmp_path / f"{shard}.parquet"
        vary_files(Source([str(problems)]), str(out), ["identity"], shard=shard)
        assert pl.read_parquet(out).schema["n"] == pl.Int64


def test_nothing_is_read_for_an_output_that_cannot_be(tmp_path, temporary):
    with refuses(BadInput):
        vary_files(Source(["everyday"]), str(tmp_path / "x.doc"), ["identity"])
    with refuses(BadInput):
        vary_files(Source(["everyday"]), str(tmp_path), ["identity"])
    (tmp_path / "file").write_text("")
    with refuses(BadInput):
        vary_files(Source(["everyday"]), str(tmp_path / "file" / "x.csv"), ["identity"])


def test_variants_of_none_are_an_empty_table(tmp_path, temporary):
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "1", "premise": "A dog.", "hypothesis": "A cat.", "label": "neutral"}\n')
    for ending in ("jsonl", "csv", "tsv", "parquet"):
        assert vary_files(Source([str(path)]), str(tmp_path / f"x.{ending}"), ["contractions"]).rows == 0
    assert (tmp_path / "x.jsonl").read_text() == ""
    assert (tmp_path / "x.csv").read_text().startswith("id,of,how,premise,hypothesis,label")


def test_an_edited_file_behind_a_name_is_read_again(tmp_path, temporary):
    problems, recorded, out = (tmp_path / f"{name}.jsonl" for name in ("p", "r", "o"))
    problems.write_text('{"id": "1", "premise": "A dog.", "hypothesis": "A cat.", "label": "neutral"}\n')
    for text in ("A hound.", "A puppy."):
        recorded.write_text(json.dumps({"of": "1", "premise": text}) + "\n")
        vary_files(Source([str(problems)]), str(out), [f"recorded:{recorded}"])
        assert [row["premise"] for row in _lines(out)] == [text]


@pytest.mark.parametrize(
    "twice", [("out", "notes"), ("out", "unvaried"), ("notes", "unvaried"), ("notes", "save_table")]
)
def test_two_outputs_in_one_file_are_refused(problems, tmp_path, temporary, twice):
    paths = {name: str(tmp_path / f"{name}.jsonl") for name in ("out", "notes", "unvaried")}
    paths |= {twice[0]: str(tmp_path / "x.jsonl"), twice[1]: str(tmp_path / "temporary" / ".." / "x.jsonl")}
    with refuses(BadInput):
        vary_files(Source([str(problems)]), paths.pop("out"), ["contractions"], **paths)
    assert not list(tmp_path.glob("*x.jsonl"))
