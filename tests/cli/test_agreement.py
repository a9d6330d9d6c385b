"""otherwords agreement"""

from __future__ import annotations

import json

import pytest

MARKS = [["yes", "yes", "yes"], ["yes", "yes", "no"], ["no", "no", "no"], ["no", "no", ""], ["yes", "no", "yes"]]


@pytest.fixture
def verdicts(place):
    header = "bucket,variant,question,answer,annotator,seconds"
    rows = [
        f"b{row},v{row},{question},{answer},P{who},{2 + who}"
        for row, some in enumerate(MARKS)
        for who, one in enumerate(some)
        for question, answer in (("sound", one), ("why", f"because of {row} and {who}"))
    ]
    (place / "verdicts.csv").write_text("\n".join([header, *rows]) + "\n")
    return "verdicts.csv"


def test_tables(cli, verdicts):
    done = cli("agreement", verdicts, "--replicates", "200")
    assert "fleiss" in done.stdout
    assert "Each annotator against the others" in done.stdout
    assert "why" not in done.stdout  # texts cannot be counted
    assert "2 disagreements: -o FILE lists them" in done.stderr


def test_json_and_the_list_of_disagreements(cli, verdicts, place):
    done = cli("agreement", verdicts, "--replicates", "200", "--json", "-o", "differ.csv")
    found = json.loads(done.stdout)
    assert [one["measure"] for one in found["questions"]] == ["cohen", "fleiss", "alpha", "ac1"]
    assert found["seconds"] == {"sound": 3.0, "why": 3.0}
    assert (place / "differ.csv").read_text().splitlines() == [
        "question,bucket,variant,P0,P1,P2",
        "sound,b1,v1,yes,yes,no",
        "sound,b4,v4,yes,no,yes",
    ]


def test_clusters_come_from_a_run(cli, verdicts, place):
    rows = ["bucket,variant,gold,pred,cluster", *(f"b{row},,a,a,c{row // 3}" for row in range(5))]
    (place / "answers.csv").write_text("\n".join(rows) + "\n")
    plain, clustered = (
        json.loads(cli("agreement", verdicts, "--json", "--replicates", "200", *more).stdout)["questions"][2]
        for more in ((), ("--run", "answers.csv"))
    )
    assert plain["value"] == clustered["value"]
    assert (plain["low"], plain["high"]) != (clustered["low"], clustered["high"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.db",), "none.db: no such file"),
        (("verdicts.csv", "--level", "ratio"), "--level: found 'ratio'; use nominal, ordinal, interval"),
        (("verdicts.csv", "-o", "verdicts.csv"), "verdicts.csv"),
        (("one.csv",), "annotator: has fewer than two annotators"),
        (("texts.csv",), "answer: has only texts, which cannot be counted"),
    ],
)
def test_wrong_usage(cli, verdicts, place, arguments, message):
    (place / "one.csv").write_text("id,verdict,annotator\na,yes,P\n")
    texts = [f"a{row},{row} and {who},{who}" for row in range(6) for who in "xy"]
    (place / "texts.csv").write_text("\n".join(["id,verdict,annotator", *texts]) + "\n")
    assert message in cli("agreement", *arguments, rc=2).stderr
