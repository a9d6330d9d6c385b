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
        (("verdicts.csv", "--run", "one.csv"), "one.csv: bucket: no such column; give a run folder, or its answers"),
        (
            ("verdicts.csv", "--run", "others.csv"),
            "others.csv: contains none of the judged variants; variants are known by their ids: one that was",
        ),
    ],
)
def test_wrong_usage(cli, verdicts, place, arguments, message):
    (place / "one.csv").write_text("id,verdict,annotator\na,yes,P\n")
    (place / "others.csv").write_text("bucket,variant,gold,pred\nx,x1,a,a\n")
    texts = [f"a{row},{row} and {who},{who}" for row in range(6) for who in "xy"]
    (place / "texts.csv").write_text("\n".join(["id,verdict,annotator", *texts]) + "\n")
    assert message in cli("agreement", *arguments, rc=2).stderr


def test_verdicts_without_buckets_get_them_and_their_clusters_from_the_run(cli, verdicts, place):
    said = [line.partition(",")[2] for line in (place / verdicts).read_text().splitlines()]
    (place / "plain.csv").write_text("\n".join(said) + "\n")
    rows = ["bucket,variant,gold,pred,cluster", *(f"b{row},v{row},a,a,c{row // 3}" for row in range(5))]
    (place / "answers.csv").write_text("\n".join(rows) + "\n")
    more = ("--run", "answers.csv", "--json", "--replicates", "200")
    named, plain = (json.loads(cli("agreement", one, *more).stdout)["questions"] for one in (verdicts, "plain.csv"))
    assert plain == named


def test_one_disagreement_is_one(cli, place):
    (place / "two.csv").write_text("id,verdict,annotator\na,yes,P\na,no,Q\nb,yes,P\nb,yes,Q\n")
    assert "1 disagreement: -o FILE lists it" in cli("agreement", "two.csv", "--replicates", "20").stderr
