"""otherwords select: parts, easy problems, draws; what is written, what is shown, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture
def data(write_jsonl, place):
    rows = [
        {"premise": f"Premise {n // 3}.", "hypothesis": f"Hypothesis {n}.", "id": f"p{n}", "label": LABELS[n % 3],
         "topic": "ab"[n % 2]}
        for n in range(60)
    ]  # fmt: skip
    return write_jsonl(place / "data.jsonl", rows)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_partition(cli, data, place):
    shown = cli("select", "partition", data, "--part", "pool=0.25", "--part", "rest", "-o", "{part}.jsonl").stderr
    assert "clusters" in shown
    assert [len(rows_of(place / f"{name}.jsonl")) for name in ("pool", "rest")] == [15, 45]
    found = json.loads(cli("select", "partition", data, "--part", "pool=0.25", "-o", "all.csv", "--json").stdout)
    assert found == {
        "parts": [{"name": "pool", "share": 0.25, "clusters": 5, "problems": 15, "rows": 15}],
        "left_out": 45,
    }
    more = cli("select", "partition", data, "--part", "pool=0.25", "--at-least", "pool=16", "-o", "all.csv").stderr
    assert "42 rows are in no part" in more
    assert len(cli("select", "partition", data, "--part", "a=0.5", "--part", "b", "-q").stdout.splitlines()) == 60


def test_aflite(cli, data, place):
    vectors = np.random.default_rng(2).normal(size=(60, 4))
    vectors[np.arange(30), np.arange(30) % 3] += 5
    np.save(place / "e.npy", vectors)
    settings = ("--classifiers", 5, "--train-on", 20, "--leave", 5, "--tau", 0.6, "--seed", 4)
    shown = cli("select", "aflite", data, "--embeddings", "e.npy", *settings, "-o", "out.jsonl").stderr
    written = rows_of(place / "out.jsonl")
    easy = [row["aflite"] for row in written].count("easy")
    assert f"{easy} of 60 problems are easy" in shown
    assert all((row["aflite_score"] > 0.6) == (row["aflite"] == "easy") for row in written)
    again = json.loads(
        cli("select", "aflite", data, "--embeddings", "e.npy", *settings, "-o", "b.csv", "--json").stdout
    )
    assert (again["problems"], again["easy"]) == (60, easy)


def test_deciles_and_sample(cli, data, place):
    cli("answer", data, "--model", "bag_of_words", "-o", "answers.jsonl", "--no-canary", "-q")
    found = json.loads(
        cli(
            "select", "deciles", data, "--answers", "answers.jsonl", "--by", "topic", "-n", 4, "-o", "d.jsonl", "--json"
        ).stdout
    )
    assert len(found) == 20
    assert sum(one["drawn"] for one in found) == 8
    assert [row["topic"] for row in rows_of(place / "d.jsonl")].count("a") == 4
    assert "drawn" in cli("select", "sample", data, "--each", 2, "--by", "label", "-o", "s.jsonl").stderr
    assert len(rows_of(place / "s.jsonl")) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("partition", "--part", "a=0.7", "--part", "b=0.5"), "the shares sum to 1.2"),
        (("partition", "--part", "a=lots"), "--part a=NUMBER"),
        (("partition",), "embedder has too few clusters"),
        (("aflite", "--embeddings", "none.npy"), "--train-on 30 --leave 3"),
        (("aflite", "--train-on", "30"), "--embeddings, --model or --encoder"),
        (("deciles", "--answers", "none.jsonl"), "none.jsonl: no such file"),
        (("sample", "-n", "5", "--by", "kind"), "kind: no such column"),
        (("sample", "--each", "21", "--by", "label"), "label=contradiction has 20 problems"),
        (("sample",), "no number of problems"),
        (("sample", "-n", "5", "--json"), "the rows go to standard output"),
    ],
)
def test_what_is_refused(cli, data, place, arguments, message):
    command, *options = arguments
    assert message in cli("select", command, data, *options, rc=2).stderr
    assert sorted(path.name for path in place.iterdir()) == ["data.jsonl"]


@pytest.mark.filterwarnings("ignore:left out 1 rows")
def test_bad_rows_can_be_left_out(cli, data, place, write_jsonl):
    write_jsonl(
        place / "more.jsonl", [*rows_of(data), {"premise": "P.", "hypothesis": "", "id": "x", "label": "neutral"}]
    )
    assert "hypothesis" in cli("select", "sample", "more.jsonl", "-n", 5, "-o", "s.jsonl", rc=2).stderr
    cli("select", "sample", "more.jsonl", "-n", 5, "-o", "s.jsonl", "--skip-bad")
    assert [one["row"]["id"] if "row" in one else one["id"] for one in rows_of(place / "rejected.jsonl")] == ["x"]


def test_the_input_is_never_overwritten(cli, data, place):
    before = data.read_bytes()
    for command in (("sample", "-n", "3"), ("partition", "--part", "a=0.5")):
        assert "data.jsonl" in cli("select", command[0], data, *command[1:], "-o", data, rc=2).stderr
    assert data.read_bytes() == before
