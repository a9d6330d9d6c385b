"""otherwords audit: the problems that every model trips over, with what came along."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def answers(write_jsonl, place):
    """Two models: nobody is right on a variant of a; both are right on b, but not on one variant; c is easy."""
    given = {"a": "xxx", "b": "yxy", "c": "yyy"}
    rows = [
        {"model": model, "bucket": bucket, "variant": f"{bucket}{i}" if i else None, "gold": "y", "pred": pred,
         "annotators": "y x y"}
        for model in ("m", "n") for bucket, preds in given.items() for i, pred in enumerate(preds)
    ]  # fmt: skip
    return write_jsonl(place / "answers.jsonl", rows)


def test_the_lists(cli, answers):
    [never] = json.loads(cli("audit", answers, "--json").stdout)
    assert never == {
        "bucket": "a",
        "gold": "y",
        "variants": 2,
        "pred:m": "x",
        "right:m": 0,
        "pred:n": "x",
        "right:n": 0,
        "annotators": "y x y",
    }
    [hard] = json.loads(cli("audit", answers, "--list", "hard-cases", "--json").stdout)
    assert (hard["bucket"], hard["right:m"]) == ("b", 1)
    assert json.loads(cli("audit", answers, "--list", "hard-always", "--json").stdout) == []


def test_for_people_and_into_a_file(cli, answers, place):
    result = cli("audit", answers, "-o", "list.csv")
    assert "annotators" in result.stdout
    assert "1 problems: never-right" in result.stderr
    assert (place / "list.csv").read_text().startswith("bucket,gold,variants,pred:m")


def test_wrong_usage(cli, answers):
    assert "available: never-right, hard-cases" in cli("audit", answers, "--list", "all", rc=2).stderr
    assert "absent.jsonl" in cli("audit", "absent.jsonl", rc=2).stderr


def test_the_texts_of_a_suite_and_several_tables(cli, answers, write_jsonl, place):
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    for model in "mn":
        own = [
            {"said" if k == "pred" else k: v for k, v in row.items() if k != "model"}
            for row in rows
            if row["model"] == model
        ]
        write_jsonl(place / f"{model}.jsonl", own)
    texts = [{"id": one, "premise": f"It is {one}.", "hypothesis": "It is.", "label": "neutral"} for one in "abc"]
    write_jsonl(place / "suite.jsonl", texts)
    result = cli("audit", "m.jsonl", "n.jsonl", "--field", "pred=said", "--suite", "suite.jsonl", "--json")
    [never] = json.loads(result.stdout)
    assert (never["bucket"], never["premise"], never["pred:n"]) == ("a", "It is a.", "x")
    write_jsonl(place / "other.jsonl", texts[1:])
    assert "the suite has no row 'a'" in cli("audit", answers, "--suite", "other.jsonl", rc=2).stderr


@pytest.mark.parametrize("name", ["p:y", "cluster", "model"])
def test_nested_columns_are_refused(cli, write_jsonl, place, name):
    rows = [{"bucket": "a", "variant": v, "gold": "y", "pred": "y", name: {"a": 1}} for v in (None, "a1")]
    write_jsonl(place / "nested.jsonl", rows)
    for command in ("audit", "score"):
        refused = cli(command, "nested.jsonl", rc=2).stderr
        assert f"{name}: found {{'a': 1}}" in refused
        assert refused.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_only_useful_columns_are_shown(cli, problems, place):
    cli("run", "--data", "problems.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "-q", "-o", "z")
    cli("answer", "z", "-m", "scripted", "--no-canary", "-q", "-o", "a.csv")
    for source in (["z"], ["a.csv", "--suite", "problems.jsonl"], ["a.csv"]):
        head = cli("audit", *source, "--list", "never-right").stdout.splitlines()[1]
        assert "bucket" in head
        assert "pred:scr" in head
        assert not any(name in head for name in ("check:", "cluster", "changes", "how"))


def test_problems_below_a_mean_accuracy(cli, answers, place):
    """a has 0 of 4 answers right, b 2 of 4, c all."""
    found = json.loads(cli("audit", answers, "--below", 0.5, "--json").stdout)
    assert [(one["bucket"], one["mean_accuracy"]) for one in found] == [("a", 0)]
    found = json.loads(cli("audit", answers, "--below", 0.51, "--json").stdout)
    assert [(one["bucket"], one["mean_accuracy"], one["annotators"]) for one in found] == [
        ("a", 0, "y x y"),
        ("b", 0.5, "y x y"),
    ]
    assert "1 problems: mean accuracy over models below 0.05" in cli("audit", answers, "--below", 0.05).stderr


@pytest.mark.parametrize("options", [("--below", 0), ("--below", 1.5), ("--below", 0.1, "--list", "hard-cases")])
def test_wrong_bounds(cli, answers, options):
    assert "--below" in cli("audit", answers, *options, rc=2).stderr
