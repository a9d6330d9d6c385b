"""What another tool recorded is one command away: as data of its own, or beside one's problems."""

from __future__ import annotations

import json

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
    assert "attack.csv: 1 of 2 entries are no variants: 1 skipped" in done.stderr
    answers = pl.read_parquet(place / "run" / "answers" / "**" / "*.parquet")
    assert answers.sort("bucket", "variant")["variant"].to_list() == [None, "1~textattack.1", None]


def test_an_attack_goes_with_ones_own_problems(cli, place):
    (place / "attack.csv").write_text(LOG)
    own = {"id": "mine", "premise": "A dog runs.", "hypothesis": "It  moves.", "label": "entailment", "topic": "dogs"}
    (place / "own.jsonl").write_text(json.dumps(own) + "\n")
    done = cli("vary", "own.jsonl", "-w", "recorded:attack.csv", "-q")
    (variant,) = map(json.loads, done.stdout.splitlines())
    assert (variant["of"], variant["premise"], variant["hypothesis"]) == ("mine", "A hound runs.", "It  moves.")
    assert (variant["topic"], variant["result_type"]) == ("dogs", "Successful")
    assert variant["how"].startswith("recorded.v1(path=attack.csv#")
