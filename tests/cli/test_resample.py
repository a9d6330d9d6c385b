"""otherwords resample: rows in, the same rows out, some of them reworded."""

from __future__ import annotations

import json

import polars as pl
import pytest

import otherwords as ow
from otherwords.datasets.suite import open_source
from otherwords.running import files
from otherwords.variants.resampling import first_rewordings


def test_each_row_comes_out_once_with_its_id_and_counts_are_exact(cli, problems, lines):
    said = cli("resample", problems, "--with", "contractions", "--rho", 0.5, "--seed", 2, "-o", "out.jsonl").stderr
    before, after = lines(problems), lines(problems.parent / "out.jsonl")
    assert [row["id"] for row in after] == [row["id"] for row in before]
    assert [row["topic"] for row in after] == [row["topic"] for row in before]
    changed = [old["premise"] != new["premise"] or old["hypothesis"] != new["hypothesis"] for old, new in zip(before, after, strict=True)]  # fmt: skip # noqa: E501
    assert changed == [row["changed"] for row in after]
    assert [bool(row["how"]) for row in after] == changed
    assert f"rho 0.5: {sum(changed)} of 3 rows replaced, of 3 that can be" in said


def test_the_same_seed_gives_the_same_bytes_and_shards_do_not_matter(cli, problems):
    for name, engine in (("a", "in-process"), ("b", "processes:2")):
        cli("resample", problems, "-w", "contractions", "--rho", 0.4, "-o", f"{name}.parquet", "--engine", engine)
    assert (problems.parent / "a.parquet").read_bytes() == (problems.parent / "b.parquet").read_bytes()


def test_several_rho_share_one_transformation(cli, problems):
    counts = json.loads(
        cli("resample", problems, "-w", "contractions", *("--rho", 0, "--rho", 1), "-o", "r-{rho}.csv", "--json").stdout
    )
    assert counts["0"] == {"rows": 3, "changeable": 3, "changed": 0, "several": 2}
    assert counts["1"] == {"rows": 3, "changeable": 3, "changed": 3, "several": 2}
    assert [pl.read_csv(problems.parent / f"r-{rho}.csv")["changed"].sum() for rho in (0, 1)] == [0, 3]


def test_the_rewordings_of_several_rho_are_found_once(problems, monkeypatch):
    found = []
    monkeypatch.setattr(files, "first_rewordings", lambda *given: found.append(given) or first_rewordings(*given))
    outs = str(problems.parent / "r-{rho}.csv")
    files.resample_files(open_source([problems], "", {}), outs, ["contractions"], [0, 0.25, 0.5, 1], shard=2)
    assert len(found) == 2  # of each shard


def test_rho_that_differ_in_the_last_digits_have_files_of_their_own(cli, problems):
    close = ("--rho", 0.1234567, "--rho", 0.1234568)
    said = cli("resample", problems, "-w", "contractions", *close, "-o", "r-{rho}.csv", "--json").stdout
    assert list(json.loads(said)) == ["0.1234567", "0.1234568"]
    assert all((problems.parent / f"r-{one}.csv").is_file() for one in json.loads(said))


def test_a_file_that_cannot_be_written_is_refused_before_another_is(cli, problems):
    (problems.parent / "r-1.csv").mkdir()
    cli("resample", problems, "-w", "contractions", *("--rho", 0, "--rho", 1), "-o", "r-{rho}.csv", rc=2)
    assert not (problems.parent / "r-0.csv").exists()


@pytest.mark.filterwarnings("ignore:.*match no problem")
def test_rewordings_of_other_rows_are_refused(cli, problems, write_jsonl):
    write_jsonl(problems.parent / "strange.jsonl", [{"of": "somebody else's", "premise": "Else."}])
    said = cli("resample", problems, "--variants", "strange.jsonl", "--rho", 1, "-o", "out.jsonl", rc=2).stderr
    assert "rewords none of the rows" in said.replace("\n", " ")
    assert not (problems.parent / "out.jsonl").exists()
    write_jsonl(problems.parent / "some.jsonl", [{"of": one, "premise": "Else."} for one in ("a", "somebody else's")])
    cli("resample", problems, "--variants", "some.jsonl", "--rho", 1, "-o", "out.jsonl")
    assert ow.load(problems.parent / "out.jsonl")["premise"][0] == "Else."


def test_rewordings_that_vary_made_are_used_again(cli, problems):
    cli("vary", problems, "-w", "contractions", "-o", "variants.jsonl")
    cli("resample", problems, "-w", "contractions", "--rho", 0.6, "-o", "a.csv")
    cli("resample", problems, "--variants", "variants.jsonl", "--rho", 0.6, "-o", "b.csv")
    one, two = (pl.read_csv(problems.parent / name).drop("how") for name in ("a.csv", "b.csv"))
    assert one.equals(two)


def test_of_several_rewordings_the_first_counts_and_this_is_said(cli, problems, write_jsonl):
    rows = [{"of": "a", "premise": text} for text in ("First.", "Second.")]
    write_jsonl(problems.parent / "by-hand.jsonl", rows)
    said = cli("resample", problems, "--variants", "by-hand.jsonl", "--rho", 1, "-o", "out.jsonl").stderr
    assert "of 1 rows with several rewordings, the first counts" in said
    assert ow.load(problems.parent / "out.jsonl")["premise"][0] == "First."


def test_what_comes_out_can_be_trained_on(cli, place, write_jsonl):
    rows = [
        {"premise": f"It isn't {n}.", "hypothesis": word, "label": label}
        for n in range(12)
        for word, label in (("Yes it is", "entailment"), ("Never", "contradiction"))
    ]
    write_jsonl(place / "train.jsonl", rows)
    cli("resample", "train.jsonl", "-w", "contractions", "--rho", 0.5, "-o", "mixed.jsonl")
    cli("train", "bag_of_words", "--data", "mixed.jsonl", "--valid", 0, "-o", "model")
    assert (place / "model" / "trained.json").is_file()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--with", "contractions", "--rho", "1.5"), "--rho: found 1.5"),
        (("--with", "contractions", "--rho", "nan"), "--rho: found nan"),
        (("--rho", "0.5"), "--with: no rewording named"),
        (("--with", "contractions", "--variants", "v.jsonl", "--rho", "0.5"), "--with: both are given"),
        (("--with", "contractions", "--rho", "0.1", "--rho", "0.2"), "is one file for 2 values of rho"),
        (("--with", "contractoins", "--rho", "0.5"), "did you mean contractions"),
        (("--variants", "v.jsonl", "--rho", "0.5"), "v.jsonl"),
        (("--with", "contractions", "--rho", "0.5", "--veto", "v.txt"), "veto is not an option of contractions"),
    ],
)
def test_bad_input_is_one_line(cli, problems, options, told):
    said = cli("resample", problems, *options, "-o", "out.jsonl", rc=2).stderr
    assert told in said
    assert len(said.strip().splitlines()) == 1
    assert not (problems.parent / "out.jsonl").exists()


def test_a_suite_is_refused_before_any_work(cli, problems):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", "suite.jsonl")
    said = cli("resample", "suite.jsonl", "-w", "contractions", "--rho", 0.5, "-o", "out.jsonl", rc=2).stderr
    assert "give the problems alone; --variants FILE takes their rewordings" in said


def test_the_input_is_never_written_over(cli, problems):
    before = problems.read_bytes()
    cli("resample", problems, "-w", "contractions", "--rho", 0.5, "-o", problems, rc=2)
    assert problems.read_bytes() == before


def test_a_rewording_without_text_is_refused_and_nothing_is_written(cli, place, problems):
    (place / "mine.py").write_text("def nothing(problem):\n    return problem.restate(premise=' ')\n")
    result = cli("resample", problems, "--with", "python:mine.py:nothing", "--rho", 1, "-o", "out.jsonl", rc=2)
    assert "rewords 'a' as an empty text" in result.stderr.replace("\n", " ")
    assert not (place / "out.jsonl").exists()
