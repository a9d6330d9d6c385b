"""otherwords profile"""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def suite(cli, problems, repeated):
    cli("vary", problems, repeated, "-w", "contractions", "-w", "identity", "--suite", "-o", "suite.jsonl", "-q")
    return "suite.jsonl"


def test_tables(cli, suite):
    shown = cli("profile", suite, "--top", "1").stdout
    assert "contractions.v1" in shown
    assert "the 1 most frequent of" in shown
    assert "█" * 30 in shown
    assert "mean length in words" in shown
    assert "again: " not in shown  # it changed nothing, which the first table says
    assert "identity" not in shown  # a control is no rewording


def test_json_has_everything(cli, suite):
    found = json.loads(cli("profile", suite, "--json", "--top", "1", "-q").stdout)
    assert (found["task"], found["whole"]["problems"]) == ("nli", 3)
    assert [part["how"].partition("(")[0] for part in found["generators"]] == ["again", "contractions.v1"]
    assert len(found["whole"]["substitutions"]) == 1
    assert len(found["whole"]["artifacts"]) == 30


def test_words_that_stay_the_same_are_shown_on_request(cli, suite):
    assert "outdoors" not in cli("profile", suite).stdout
    assert "outdoors" in cli("profile", suite, "--all-words").stdout


def test_substitutions_go_to_a_file(cli, suite, place, lines):
    assert cli("profile", suite, "-o", "list.csv", "-q").stdout == ""
    assert (place / "list.csv").read_text().startswith('how,before,after,count,share\n"contractions.v1(')
    rows = lines(cli("profile", suite, "-o", "-").stdout)
    assert rows[0]["count"] >= rows[-1]["count"]


def test_dropped_variants(cli, suite, place):
    cli("check", suite, "-o", "checked.jsonl", "-q")
    kept = json.loads(cli("profile", "checked.jsonl", "--json", "--kept").stdout)
    every = json.loads(cli("profile", "checked.jsonl", "--json").stdout)
    assert (kept["whole"]["variants"], every["whole"]["variants"]) == (5, 8)


def test_a_pipe(cli, problems):
    made = cli("vary", problems, "-w", "contractions", "--suite", "-q").stdout
    assert json.loads(cli("profile", "-", "--json", stdin=made).stdout)["whole"]["variants"] == 5


@pytest.mark.filterwarnings("default")
def test_bad_rows_are_left_out_and_listed(cli, suite, place, lines):
    with (place / suite).open("a", encoding="utf-8") as file:
        file.write('{"id": "z", "premise": "It rains.", "label": "neutral"}\n')
    done = cli("profile", suite, "--skip-bad", "--json", "-o", "new/list.csv")
    assert "warning: left out 1 rows; see new/rejected.jsonl" in done.stderr
    assert json.loads(done.stdout)["whole"]["problems"] == 3
    assert lines((place / "new" / "rejected.jsonl").read_text(encoding="utf-8"))[0]["reason"]


def test_complaints(cli, problems, place):
    error = cli("profile", problems, "-q", rc=2).stderr
    assert "no variants to profile" in error
    assert "no file and no data set 'absent'" in cli("profile", "absent", rc=2).stderr
    (place / "empty.jsonl").write_text("")
    assert "no rows" in cli("profile", "empty.jsonl", "-q", rc=2).stderr
    assert "--top" in cli("profile", problems, "--top", "0", rc=2).stderr
