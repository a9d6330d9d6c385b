"""What another tool recorded is one command away: as data of its own, or beside one's problems."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

LOG = (
    '"original_text","perturbed_text","ground_truth_output","num_queries","result_type"\n'
    '"[[[[Premise]]]]: A [[dog]] runs.<SPLIT>[[[[Hypothesis]]]]: It moves.",'
    '"[[[[Premise]]]]: A [[hound]] runs.<SPLIT>[[[[Hypothesis]]]]: It moves.",1.0,23.0,"Successful"\n'
    '"[[[[Premise]]]]: It rains.<SPLIT>[[[[Hypothesis]]]]: It is dry.",'
    '"[[[[Premise]]]]: It rains.<SPLIT>[[[[Hypothesis]]]]: It is dry.",0.0,1.0,"Skipped"\n'
)
pytestmark = pytest.mark.filterwarnings("default")  # what a user sees
MODEL = ("-m", "scripted", "--no-canary", "-q")


def test_an_attack_is_data(cli, place):
    (place / "attack.csv").write_text(LOG)
    refused = cli("run", "--data", "textattack:attack.csv", *MODEL, "-o", "run", rc=2).stderr
    assert "attack.csv, line 2: label: found '1'" in refused
    labels = ("--label", "0=contradiction", "--label", "1=entailment")
    done = cli("run", "--data", "textattack:attack.csv", *labels, *MODEL, "-o", "run")
    assert "attack.csv: 1 of 2 entries are not variants: 1 skipped" in done.stderr
    answers = pl.read_parquet(place / "run" / "answers" / "**" / "*.parquet")
    (variant,) = answers["variant"].drop_nulls()
    (original,) = answers.filter(pl.col("variant") == variant)["bucket"]
    assert re.fullmatch(rf"{original}~textattack\.[0-9a-f]{{8}}\.1", variant)
    assert answers.height == 3


def test_an_attack_goes_with_ones_own_problems(cli, place):
    (place / "attack.csv").write_text(LOG)
    own = {"id": "mine", "premise": "A dog runs.", "hypothesis": "It  moves.", "label": "entailment", "topic": "dogs"}
    (place / "own.jsonl").write_text(json.dumps(own) + "\n")
    done = cli("vary", "own.jsonl", "-w", "recorded:attack.csv", "-q")
    (variant,) = map(json.loads, done.stdout.splitlines())
    assert (variant["of"], variant["premise"], variant["hypothesis"]) == ("mine", "A hound runs.", "It  moves.")
    assert (variant["topic"], variant["result_type"]) == ("dogs", "Successful")
    assert variant["how"].startswith("recorded.v1(path=attack.csv#")


def test_rows_that_repeat_their_original_are_reported_and_left_out(cli, place):
    own = {"id": "p", "premise": "A dog.", "hypothesis": "It.", "label": "neutral"}
    (place / "own.jsonl").write_text(json.dumps(own) + "\n")
    texts = ("A dog.", "A  dog.", "A hound.")
    (place / "r.jsonl").write_text("".join(json.dumps({"of": "p", "premise": text}) + "\n" for text in texts))
    done = cli("vary", "own.jsonl", "-w", "recorded:r.jsonl")
    assert [json.loads(line)["premise"] for line in done.stdout.splitlines()] == ["A hound."]
    assert "2 of its rows are not variants: unchanged" in done.stderr


def test_rows_that_name_no_problem_are_counted_with_an_example(cli, place):
    (place / "own.csv").write_text("id,premise,hypothesis,label\n1,A dog.,It.,neutral\n2,A cat.,It.,neutral\n")
    (place / "w.csv").write_text("of,premise\n1,A hound.\n9,A tomcat.\n8,A lynx.\n")
    done = cli("vary", "own.csv", "-w", "recorded:w.csv", "-o", "v.jsonl")
    assert "2 of its rows match no problem, such as w.csv, line 3 (of '9')" in done.stderr
    ran = cli("run", "--data", "own.csv", "--with", "recorded:w.csv", *MODEL, "-o", "run")
    assert "2 of its rows match no problem" in ran.stderr


@pytest.mark.parametrize("mark", ["contrast", "control"])
def test_marks_in_a_recorded_file_are_refused_before_any_work(cli, place, mark):
    own = {"id": "p", "premise": "A dog.", "hypothesis": "It.", "label": "neutral"}
    (place / "own.jsonl").write_text(json.dumps(own) + "\n")
    (place / "r.jsonl").write_text(json.dumps({"of": "p", "premise": "A cat.", mark: "mine"}) + "\n")
    refused = cli("run", "--data", "own.jsonl", "-w", "recorded:r.jsonl", *MODEL, "-o", "run", rc=2).stderr
    assert f"r.jsonl, line 1: {mark}: found 'mine'; recorded rows must be rewordings" in refused
    assert not list((place / "run").rglob("*.parquet"))


def test_logs_of_two_attacks_are_one_data_set(cli, place):
    (place / "one.csv").write_text(LOG)
    (place / "two.csv").write_text(LOG.replace("dog", "cat").replace("hound", "feline").replace("rains", "snows"))
    labels = ("--label", "0=contradiction", "--label", "1=entailment")
    both = ("--data", "textattack:one.csv", "--data", "textattack:two.csv")
    cli("run", *both, *labels, *MODEL, "-o", "run")
    assert pl.read_parquet(place / "run" / "answers" / "**" / "*.parquet").height == 6
