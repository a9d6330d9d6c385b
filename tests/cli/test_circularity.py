"""otherwords circularity, and the model under test as judge in the commands before it"""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def suite(cli, problems):
    cli("vary", problems, "-w", "contractions", "-w", "identity", "--suite", "-o", "suite.jsonl", "-q")
    return "suite.jsonl"


AGREES = "yes=scripted(otherwise=entailment)"
DOUBTS = "no=scripted(otherwise=neutral)"
ASKED = ("--no-canary", "--no-cache", "--replicates", "20")


def test_tables(cli, suite):
    shown = cli("circularity", suite, "-m", AGREES, "--judge", "self", "--judge", DOUBTS, *ASKED, "-q").stdout
    assert shown == ""
    shown = cli("circularity", suite, "-m", AGREES, "--judge", "self", "--judge", DOUBTS, *ASKED).stdout
    for title in ("rates on the variants that a judge accepts", "mutual entailment by source", "contractions.v1"):
        assert title in shown
    assert "pairs of judges" in shown
    assert "5 of 5" in shown  # contractions; identity is a control
    assert "0 of 5" in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_several_models_and_groups(cli, suite):
    asked = ("-m", AGREES, "-m", "any=scripted", "--judge", "self", "--by", "topic", *ASKED)
    shown = cli("circularity", suite, *asked).stdout
    assert "topic=weather" in shown
    assert "self of all" in shown
    assert "pairs of judges" not in shown  # there is one
    assert "…" not in shown


def test_what_earlier_checks_dropped_is_reported(cli, suite):
    doubted = f'mutual-entailment(judge="{DOUBTS}", canary=false)'
    cli("check", suite, "--with", "overlap(most=0.5)", "--with", doubted, "-o", "checked.jsonl", "-q")
    done = cli("circularity", "checked.jsonl", "-m", AGREES, "--judge", "self", *ASKED)
    assert "of 5 variants were dropped by earlier checks and are in no row (overlap " in done.stderr
    assert "which are judged again" in done.stderr
    assert cli("circularity", "checked.jsonl", "-m", AGREES, "--judge", "self", *ASKED, "-q").stderr == ""


def test_json_and_answers(cli, suite, lines, place):
    asked = ("-m", AGREES, "--judge", "self", "--judge", DOUBTS, "--metric", "flip_rate", *ASKED)
    found = json.loads(cli("circularity", suite, *asked, "--json", "-o", "answers.jsonl").stdout)
    assert [(row["judge"], row["accepted"]) for row in found["judged"]] == [("(none)", 5), ("self", 5), ("no", 0)]
    assert found["judged"][1]["scores"][0]["metric"] == "flip_rate"
    assert found["disagreements"][0]["only_judge"] == 5
    rows = lines(place / "answers.jsonl")
    assert [row["accepted:no"] for row in rows if row["variant"]] == [False] * 5
    assert lines(cli("circularity", suite, *asked, "-o", "-", "--json").stdout) == rows


@pytest.mark.filterwarnings("default")
def test_answer_reports_how_many_a_model_accepts(cli, suite, lines, place):
    cli("check", suite, "--with", "mutual-entailment", "-o", "checked.jsonl", "-q")
    printed = cli("answer", "checked.jsonl", "-m", AGREES, *ASKED[:2], "-o", "answers.jsonl").stderr
    assert "mutual-entailment: yes accepts 5 of 5 variants (100.0%)" in printed
    printed = cli("answer", "checked.jsonl", "-m", DOUBTS, *ASKED[:2], "-o", "answers.jsonl").stderr
    assert "warning: no: mutual-entailment: accepts none of 5 variants" in printed
    assert "mutual-entailment: no accepts 0 of 5 variants (0.0%)" in printed
    left = [row for row in lines(place / "answers.jsonl") if not row["control"]]  # which are not judged
    assert [row["bucket"] for row in left if row["variant"] is None] == ["a", "b", "c"]
    assert all(row["pred"] is None and row["rejected"] for row in left if row["variant"])


def test_run_reports_it_too_and_its_folder_is_a_suite(cli, problems, place):
    asked = ("run", "--data", problems, "-w", "contractions", "--check", "mutual-entailment", "-m", AGREES)
    printed = cli(*asked, *ASKED, "-o", "there").stderr
    assert "mutual-entailment: yes accepts 5 of 5 variants (100.0%)" in printed
    manifest = json.loads((place / "there" / "manifest.json").read_text())
    assert manifest["self_judged"] == {"yes": {"mutual-entailment": {"judged": 5, "accepted": 5}}}
    found = json.loads(cli("circularity", "there", "-m", AGREES, "--judge", "self", *ASKED, "--json").stdout)
    assert found["judged"][1]["accepted"] == 5


def test_complaints(cli, suite, problems, place):
    asked = ("-m", AGREES, *ASKED, "-q")
    error = cli("circularity", suite, *asked, "--judge", "nli-smal", rc=2).stderr
    assert error.startswith("error: no models named 'nli-smal'; did you mean nli-small? Available: ")
    assert "no variants to judge" in cli("circularity", problems, *asked, rc=2).stderr
    assert "Missing option '--model'" in cli("circularity", suite, rc=2).stderr
    assert "cannot write 'out.txt'" in cli("circularity", suite, *asked, "-o", "out.txt", rc=2).stderr
