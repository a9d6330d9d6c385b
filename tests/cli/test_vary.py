"""otherwords vary: the fixed contract of its table, formats, mappings."""

from __future__ import annotations

import polars as pl
import pytest


def test_writes_the_variants_alone_one_row_each(cli, problems, lines, place, leftovers):
    cli("vary", problems, "--with", "contractions", "-o", "out.jsonl", "-q")
    rows = lines(place / "out.jsonl")
    assert [row["id"] for row in rows] == [f"{of}~contractions.{i}" for of, i in ("a1", "a2", "b1", "c1", "c2")]
    assert {row["how"] for row in rows} == {'contractions.v1(field="")'}
    assert list(rows[0])[:6] == ["id", "of", "how", "premise", "hypothesis", "label"]
    assert rows[0]["premise"] == "It is not raining on the two men."
    assert rows[0]["hypothesis"] == "The men are not wet."
    assert rows[0]["label"] == "neutral"
    assert rows[3]["premise"] == "Eine Straße, 日本 🙂: it is not here."
    assert leftovers() == []


def test_extra_columns_pass_through(cli, problems, lines):
    rows = lines(cli("vary", problems, "-w", "identity", "-q").stdout)
    assert [row["topic"] for row in rows] == ["weather", "people", "people"]


def test_a_suite_has_each_original_right_before_its_variants(cli, problems, lines):
    rows = lines(cli("vary", problems, "-w", "identity", "-w", "contractions", "--suite", "-q").stdout)
    buckets = [row["of"] or row["id"] for row in rows]
    assert buckets == sorted(buckets)
    assert [row["id"] for row in rows if row["of"] is None] == ["a", "b", "c"]
    assert [row["of"] for row in rows[:4]] == [None, "a", "a", "a"]


def test_standard_input_and_output(cli, problems, lines):
    from_file = cli("vary", problems, "-w", "contractions", "-q").stdout
    piped = cli("vary", "-", "-w", "contractions", "-q", stdin=problems.read_bytes()).stdout
    assert piped == from_file
    assert len(lines(piped)) == 5


def test_several_files_are_read_as_one(cli, write_jsonl, place, lines):
    good = {"premise": "It isn't so.", "hypothesis": "No.", "label": "neutral"}
    one = write_jsonl(place / "one.jsonl", [{"id": "1", **good}])
    two = write_jsonl(place / "two.jsonl", [{"id": "2", **good}])
    assert [row["of"] for row in lines(cli("vary", one, two, "-w", "contractions", "-q").stdout)] == ["1", "2"]


@pytest.mark.parametrize("ending", ["ndjson", "csv", "parquet"])  # tsv: below
def test_every_format_out_and_in_again_holds_the_same_texts(cli, problems, lines, place, ending):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", f"new folder/su (ü).{ending}", "-q")
    again = lines(cli("vary", f"new folder/su (ü).{ending}", "-w", "identity", "-q").stdout)
    straight = lines(cli("vary", problems, "-w", "identity", "-q").stdout)
    assert again == straight
    checked = lines(cli("check", f"new folder/su (ü).{ending}", "-q").stdout)
    assert {row["how"] for row in checked} == {None, 'contractions.v1(field="")'}


def test_quotation_marks_survive_tsv(cli, write_jsonl, place, lines):
    row = {"id": "q", "premise": '"No," he said, "it isn\'t."', "hypothesis": 'a "b" c', "label": "neutral"}
    cli("vary", write_jsonl(place / "q.jsonl", [row]), "-w", "identity", "--suite", "-o", "q.tsv", "-q")
    [original, variant] = lines(cli("check", "q.tsv", "-q").stdout)
    assert original["premise"] == variant["premise"] == row["premise"]
    assert original["hypothesis"] == row["hypothesis"]


def test_tsv_refuses_what_it_cannot_hold(cli, write_jsonl, place, leftovers):
    row = {"id": "q", "premise": "two\nlines", "hypothesis": "b", "label": "neutral"}
    write_jsonl(place / "q.jsonl", [row])
    result = cli("vary", "q.jsonl", "-w", "identity", "-o", "q.tsv", "-q", rc=2)
    assert result.stderr == (
        "error: q.tsv: premise: a text contains a tab or a line break; write .jsonl, .csv or .parquet instead\n"
    )
    assert not (place / "q.tsv").exists()
    assert leftovers() == []


def test_columns_and_labels_are_mapped(cli, place, lines):
    (place / "odd.csv").write_bytes(
        b"\xef\xbb\xbfpairID,s1,s2,gold_label\r\np1,It isn't so.,It's so.,2\r\np2,It isn't.,x,0\r\n"
    )
    mapping = (
        "--field",
        "id=pairID",
        "--field",
        "premise=s1",
        "--field",
        "hypothesis=s2",
        "--field",
        "label=gold_label",
    )
    labels = ("--label", "0=entailment", "--label", "1=neutral", "--label", "2=contradiction")
    rows = lines(cli("vary", "odd.csv", "-w", "contractions", "-q", *mapping, *labels).stdout)
    assert [(row["of"], row["premise"], row["label"]) for row in rows] == [
        ("p1", "It is not so.", "contradiction"),
        ("p2", "It is not.", "entailment"),
    ]


def test_same_seed_same_bytes(cli, problems):
    args = ("vary", problems, "-w", "contractions", "-q", "--seed")
    assert cli(*args, 1).stdout_bytes == cli(*args, 1).stdout_bytes


def test_parquet_keeps_kinds(cli, write_jsonl, place):
    good = {"premise": "It isn't so.", "hypothesis": "No.", "label": "neutral"}
    write_jsonl(place / "p.jsonl", [{"id": "1", **good, "year": 1999}, {"id": "2", **good, "year": 2001}])
    cli("vary", "p.jsonl", "-w", "contractions", "-o", "p.parquet", "-q")
    assert pl.read_parquet("p.parquet")["year"].to_list() == [1999, 2001]


def test_a_declared_task_of_two_premises(cli, write_jsonl, place, lines):
    (place / "two.toml").write_text(
        'name = "two-premise"\nfields = ["first", "second", "hypothesis"]\nlabels = ["follows", "does not"]\n'
        'targets = ["first", "hypothesis"]\n'
    )
    row = {
        "id": "1",
        "first": "It isn't wet.",
        "second": "It isn't dry.",
        "hypothesis": "It's fog.",
        "label": "follows",
    }
    write_jsonl(place / "two.jsonl", [row])
    [variant] = lines(cli("vary", "two.jsonl", "--task", "two.toml", "-w", "contractions", "-q").stdout)
    assert variant["first"] == "It is not wet."
    assert variant["second"] == "It isn't dry."  # not a target


def test_prints_a_summary_on_standard_error(cli, problems):
    result = cli("vary", problems, "-w", "contractions", "-o", "out.csv")
    assert result.stdout == ""
    assert "3 rows taken in, 3 originals, 5 variants made; 5 rows written to out.csv" in result.stderr
    assert "variants" in result.stderr.splitlines()[1]  # its bar


def test_quiet_prints_nothing(cli, problems):
    result = cli("vary", problems, "-w", "contractions", "-o", "out.csv", "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


def test_the_bundled_problems_with_their_recorded_rewordings(cli, lines):
    rows = lines(cli("vary", "everyday", "--with", "recorded", "-q").stdout)
    assert len(rows) > 200
    assert all(row["of"] and row["label"] and row["how"].startswith("recorded.v1(") for row in rows)
