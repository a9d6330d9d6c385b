"""Generators in a run folder: what they must see first, and the problems they had nothing for."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source
from otherwords.errors import BadInput
from otherwords.registry import generators
from otherwords.running.files import vary_files

pytest.importorskip("spacy")
PAIRS = [
    ("A man sits on a couch.", "He is on a lounge."),
    ("The lounge is red.", "A lounge, a sofa."),
    ("It rains.", "It is wet."),
    ("A dog sleeps on the couch.", "An animal sleeps."),
]


@pytest.fixture
def problems(tmp_path):
    rows = [
        {"id": f"p{i}", "premise": p, "hypothesis": h, "label": "neutral", "contrast": None}
        for i, (p, h) in enumerate(PAIRS)
    ]
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def vary(problems: Path, out: Path, **options) -> list[dict]:
    vary_files(Source([str(problems)]), str(out), options.pop("using", ["wordnet-ie"]), **options)
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("shard", [1, 3])
def test_shards_share_one_corpus(problems, tmp_path, shard):
    whole = vary(problems, tmp_path / "whole.jsonl")
    assert vary(problems, tmp_path / "cut.jsonl", shard=shard) == whole
    frame = ow.vary(ow.load(str(problems)), ["wordnet-ie"])
    assert frame["premise"].to_list() == [row["premise"] for row in whole]
    assert set(frame["how"]) == {row["how"] for row in whole}


def test_the_order_of_problems_does_not_matter(problems, tmp_path):
    lines = problems.read_text().splitlines()
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(reversed(lines)) + "\n")
    assert vary(other, tmp_path / "two.jsonl") == vary(problems, tmp_path / "one.jsonl")[::-1]


def test_a_saved_table_gives_the_same_variants_without_the_corpus(problems, tmp_path):
    whole = vary(problems, tmp_path / "whole.jsonl", save_table=str(tmp_path / "table.tsv"))
    last = tmp_path / "last.jsonl"
    last.write_text(problems.read_text().splitlines()[-1] + "\n")
    again = vary(last, tmp_path / "again.jsonl", using=[f"wordnet-ie(table={tmp_path / 'table.tsv'})"])
    assert again == whole[-1:]
    assert (tmp_path / "table.tsv").read_text().startswith("# wordnet-ie.v1: ")


def test_there_must_be_one_table_to_save(problems, tmp_path):
    with refuses(BadInput):
        vary(problems, tmp_path / "out.jsonl", using=["identity"], save_table=str(tmp_path / "table.tsv"))
    assert not (tmp_path / "out.jsonl").exists()


def test_problems_without_a_variant_are_counted_and_listed(problems, tmp_path):
    listed = tmp_path / "left.jsonl"
    done = vary_files(
        Source([str(problems)]),
        str(tmp_path / "out.jsonl"),
        ["wordnet-ie", "identity", "contractions"],
        unvaried=str(listed),
        shard=2,
    )
    assert done.counts["unvaried"] == 0  # `identity` has something for every problem
    assert [count for _, count in sorted(done.unvaried.items())] == [4, 0, 1]
    left = [json.loads(line) for line in listed.read_text().splitlines()]
    assert [row["id"] for row in left if row["generator"].startswith("wordnet-ie.v1(veto=, ")] == ["p2"]
    assert [row["id"] for row in left if row["generator"] == 'contractions.v1(field="")'] == ["p0", "p1", "p2", "p3"]


def test_the_list_has_the_format_of_its_name(problems, tmp_path):
    out, left = tmp_path / "out.jsonl", tmp_path / "left.csv"
    vary_files(Source([str(problems)]), str(out), ["contractions"], unvaried=str(left))
    assert pl.read_csv(tmp_path / "left.csv")["id"].to_list() == ["p0", "p1", "p2", "p3"]
    with refuses(BadInput):
        vary_files(Source([str(problems)]), str(tmp_path / "out.jsonl"), ["identity"], unvaried="left.txt")


def test_contrasts_are_neither_reworded_nor_missed(problems, tmp_path):
    rows = [json.loads(line) for line in problems.read_text().splitlines()]
    rows[0]["contrast"] = "mine"
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = vary_files(Source([str(problems)]), str(tmp_path / "out.jsonl"), ["identity"])
    assert (done.counts["variants"], done.counts["unvaried"]) == (3, 0)


STUDY = {"models": ["m=scripted(otherwise=neutral)"], "canary": False, "cache": None, "replicates": 10}


def test_a_run_keeps_its_table_and_resumes_with_it(problems, tmp_path):
    study = {**STUDY, "data": [str(problems)], "vary": ["wordnet-ie"], "shard": 2}
    run = ow.run(study, out=tmp_path / "run")
    [table] = (run.folder / "tables").glob("*/table.tsv")
    before = {path: path.stat().st_mtime_ns for path in (table, *(run.folder / "variants").iterdir())}
    again = ow.run(study, out=tmp_path / "run")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert again.scores == run.scores
    assert run.manifest["signatures"]["vary"][0].startswith("wordnet-ie.v1(veto=, corpus=, table=table.tsv#")
    assert json.loads((run.folder / "unvaried.jsonl").read_text())["id"] == "p2"
    assert list(run.manifest["unvaried"].values()) == [1]


def test_another_corpus_is_another_table(problems, tmp_path):
    study = {**STUDY, "data": [str(problems)], "vary": ["wordnet-ie"]}
    first = ow.run(study, out=tmp_path / "run").manifest["signatures"]["vary"]
    row = {"id": "new", "premise": "A sofa, a sofa, a sofa.", "hypothesis": "Sofas.", "label": "neutral"}
    problems.write_text(problems.read_text() + json.dumps(row) + "\n")
    run = ow.run(study, out=tmp_path / "run")
    assert run.manifest["signatures"]["vary"] != first
    assert len(list((run.folder / "tables").iterdir())) == 1  # the superseded one is gone
    changed = pl.read_parquet(run.folder / "variants" / "*.parquet").filter(pl.col("of") == "p0")
    assert changed["premise"].to_list() == ["A adult male sits on a sofa."]


def test_without_generators_nothing_of_them_stays(problems, tmp_path):
    study = {**STUDY, "data": [str(problems)], "vary": ["wordnet-ie"]}
    run = ow.run(study, out=tmp_path / "run")
    rows = [{"id": "v", "of": "p0", "premise": "A man sits on a sofa.", "hypothesis": "He is on a lounge.",
             "label": "neutral"}]  # fmt: skip
    problems.write_text(problems.read_text() + json.dumps(rows[0]) + "\n")
    ow.run({**study, "vary": []}, out=tmp_path / "run")
    assert not (run.folder / "tables").exists()
    assert not (run.folder / "unvaried.jsonl").exists()


def test_rows_of_another_tool_that_reword_nothing_here_are_warned_of(problems, tmp_path):
    path = tmp_path / "attack.csv"
    cells = ["original_text,perturbed_text,ground_truth_output,result_type"]
    cells += [f'"Premise: {p}<SPLIT>Hypothesis: So.","Premise: {p}!<SPLIT>Hypothesis: So.",0,Failed' for p in "AB"]
    path.write_text("\n".join(cells) + "\n")
    with pytest.warns(UserWarning, match="2 of its rows match no problem"):
        vary(problems, tmp_path / "out.jsonl", using=[f"recorded:{path}", "identity"])


class TestOptions:
    def test_go_to_whoever_has_them(self):
        specs = generators.with_options(["wordnet-ie(field=premise)", "identity"], veto="my words.txt")
        assert specs == ['wordnet-ie.v1(field=premise, veto="my words.txt")', "identity"]

    def test_what_a_spec_says_stays(self):
        assert generators.with_options(["wordnet-ie(veto=a.txt)"], veto="b.txt") == ["wordnet-ie(veto=a.txt)"]

    def test_that_nobody_has_are_an_error(self):
        with refuses(BadInput):
            generators.with_options(["identity"], corpus="c.txt")


def test_a_folder_may_have_any_name(problems, tmp_path):
    study = {**STUDY, "data": [str(problems)], "vary": ["wordnet-ie"]}
    run = ow.run(study, out=tmp_path / 'my "run" \\ ü')
    assert len(list((run.folder / "tables").iterdir())) == 1


def test_warnings_of_parts_that_are_not_made_again_stay(problems, tmp_path):
    row = {
        "id": "fr",
        "premise": "Un homme joue de la guitare dans le parc.",
        "hypothesis": "Il dort.",
        "label": "neutral",
    }
    problems.write_text(problems.read_text() + json.dumps(row) + "\n")
    study = {**STUDY, "data": [str(problems)], "vary": ["wordnet-ie"]}
    with pytest.warns(UserWarning, match="seems to be in another language"):
        first = ow.run(study, out=tmp_path / "run").manifest["warnings"]
    assert ow.run(study, out=tmp_path / "run").manifest["warnings"] == first != []


def test_a_suite_can_be_varied_again(problems):
    frame = ow.load(str(problems))
    once = ow.vary(frame, ["tautology"])
    twice = ow.vary(pl.concat([frame, once], how="diagonal_relaxed"), ["tautology(times=2)"])
    assert twice["id"].to_list() == [name.replace(".1", ".2") for name in once["id"]]


def test_two_problems_of_one_name_are_refused(problems):
    frame = ow.load(str(problems))
    with refuses(BadInput):
        ow.vary(pl.concat([frame, frame]), ["identity"])
