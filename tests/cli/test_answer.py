"""otherwords answer: the fixed contract of its table, label maps, canary, cache, wrong models."""

from __future__ import annotations

import json

import polars as pl
import pytest

LABELS = ("entailment", "neutral", "contradiction")


def test_one_row_per_input_row(cli, problems, lines):
    rows = lines(cli("answer", problems, "--model", "scripted", "--no-canary", "-q").stdout)
    assert [row["bucket"] for row in rows] == ["a", "b", "c"]
    assert list(rows[0])[:8] == ["model", "bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    for row in rows:
        assert row["model"] == "scripted"
        assert row["variant"] is None
        assert row["pred"] == max(LABELS, key=lambda label: row[f"p:{label}"])
        assert sum(row[f"p:{label}"] for label in LABELS) == pytest.approx(1)
    assert [row["gold"] for row in rows] == ["neutral", "contradiction", "entailment"]
    assert [row["topic"] for row in rows] == ["weather", "people", "people"]


def test_a_suite(cli, problems, place, lines):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", "suite.parquet", "-q")
    rows = lines(cli("answer", "suite.parquet", "-m", "scripted", "--no-canary", "-q").stdout)
    assert [(row["bucket"], row["variant"]) for row in rows] == [
        ("a", None),
        ("a", "a~contractions.1"),
        ("a", "a~contractions.2"),
        ("b", None),
        ("b", "b~contractions.1"),
        ("c", None),
        ("c", "c~contractions.1"),
        ("c", "c~contractions.2"),
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_format_gives_the_same_scores(cli, problems, place, ending):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", "suite.jsonl", "-q")
    cli("answer", "suite.jsonl", "-m", "scripted", "--no-canary", "-q", "-o", f"answers.{ending}")
    cli("answer", "suite.jsonl", "-m", "scripted", "--no-canary", "-q", "-o", "answers.ndjson")
    assert cli("score", f"answers.{ending}", "--json").stdout == cli("score", "answers.ndjson", "--json").stdout
    if ending == "csv":
        assert pl.read_csv("answers.csv")["variant"].null_count() == 3


def test_several_models_under_names_of_their_own(cli, problems, lines):
    models = ("-m", "one=scripted(seed=1)", "-m", "two=scripted(seed=2)", "-m", "scripted(otherwise=neutral)")
    rows = lines(cli("answer", problems, *models, "--no-canary", "-q").stdout)
    assert {row["model"] for row in rows} == {"one", "two", "scripted(otherwise=neutral)"}
    assert len(rows) == 9


def test_two_models_of_one_name_are_refused(cli, problems):
    error = cli("answer", problems, "-m", "m=scripted", "-m", "m=scripted(seed=3)", "--no-canary", "-q", rc=2).stderr
    assert "same name" in error


def test_identical_texts_are_asked_once_and_never_again(cli, write_jsonl, place, tmp_path):
    good = {"premise": "Same.", "hypothesis": "Same too.", "label": "neutral"}
    write_jsonl(place / "same.jsonl", [{"id": str(i), **good} for i in range(5)])
    log = tmp_path / "log.jsonl"
    model = f"scripted(log={log})"
    cli("answer", "same.jsonl", "-m", model, "--no-canary", "-q", "-o", "one.jsonl")
    assert log.read_text().splitlines() == ['["Same.", "Same too."]']
    cli("answer", "same.jsonl", "-m", model, "--no-canary", "-q", "-o", "two.jsonl")
    assert len(log.read_text().splitlines()) == 1
    assert (place / "one.jsonl").read_bytes() == (place / "two.jsonl").read_bytes()
    cli("answer", "same.jsonl", "-m", model, "--no-canary", "-q", "-o", "two.jsonl", "--no-cache")
    assert len(log.read_text().splitlines()) == 2
    cli("answer", "same.jsonl", "-m", model, "--no-canary", "-q", "-o", "two.jsonl", "--cache", "mine.sqlite")
    assert len(log.read_text().splitlines()) == 3
    assert (place / "mine.sqlite").is_file()


def test_other_batch_sizes_same_answers(cli, problems):
    args = ("answer", problems, "-m", "scripted", "--no-canary", "--no-cache", "-q", "--batch-size")
    assert cli(*args, 1).stdout == cli(*args, 2).stdout == cli(*args, 0).stdout


@pytest.fixture
def permuted(write_jsonl, place):
    """A script that knows all, under labels that are one off."""
    from otherwords.models.canary import questions
    from otherwords.problem import TASKS

    shift = dict(zip(LABELS, (*LABELS[1:], LABELS[0]), strict=True))
    rows = [{"premise": p, "hypothesis": h, "pred": shift[label]} for (p, h), label in questions(TASKS["nli"])]
    write_jsonl(place / "permuted.jsonl", rows)
    return "scripted(script=permuted.jsonl, otherwise=entailment)"


def test_the_canary_refuses_permuted_labels_and_names_the_order_that_fits(cli, problems, permuted, place, lines):
    error = cli("answer", problems, "-m", permuted, "-o", "out.jsonl", "-q", rc=1).stderr
    fix = "entailment=contradiction,neutral=entailment,contradiction=neutral"
    assert f"--label-map {fix}" in error
    assert "0 of 12" in error
    assert not (place / "out.jsonl").exists()
    cli("answer", problems, "-m", permuted, "-o", "out.jsonl", "-q", "--label-map", fix)
    assert {row["pred"] for row in lines(place / "out.jsonl")} == {"contradiction"}
    cli("answer", problems, "-m", permuted, "-o", "out.jsonl", "-q", "--no-canary")
    assert {row["pred"] for row in lines(place / "out.jsonl")} == {"entailment"}


@pytest.mark.filterwarnings("default")
def test_a_weak_model_gets_a_warning_only(cli, problems):
    result = cli("answer", problems, "-m", "scripted(otherwise=neutral)", "-o", "out.jsonl", "-q")
    assert result.stderr.startswith("warning: scripted(otherwise=neutral) ")
    assert "4 of 12" in result.stderr


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("entailment=yes", "the label map says that 'entailment' means 'yes'"),
        ("entailment", "--label-map: cannot read 'entailment'; write LABEL=MEANING"),
        ("neutral=neutral,neutral=entailment", "--label-map: neutral is given twice"),
    ],
)
def test_a_label_map_that_does_not_fit(cli, problems, wrong, message):
    error = cli("answer", problems, "-m", "scripted", "--label-map", wrong, "--no-canary", "-q", rc=2).stderr
    assert message in error


def test_multiple_choice(cli, write_jsonl, place, lines):
    (place / "choice.toml").write_text(
        'name = "choice"\nfields = ["question", "a", "b", "c"]\nlabels = ["a", "b", "c"]\ntargets = ["a", "b", "c"]\n'
    )
    rows = [
        {"id": "1", "question": "What isn't red?", "a": "It isn't grass.", "b": "Blood.", "c": "Rust.", "label": "a"},
        {"id": "2", "question": "Who?", "a": "Me.", "b": "They aren't me.", "c": "You.", "label": "c"},
    ]
    write_jsonl(place / "choice.jsonl", rows)
    suite = cli("vary", "choice.jsonl", "--task", "choice.toml", "-w", "contractions", "--suite", "-q").stdout
    answered = cli("answer", "-", "--task", "choice.toml", "-m", "scripted", "-q", stdin=suite).stdout
    assert [(row["bucket"], row["gold"]) for row in lines(answered)] == [("1", "a"), ("1", "a"), ("2", "c"), ("2", "c")]
    assert {"p:a", "p:b", "p:c"} <= set(lines(answered)[0])
    scores = json.loads(cli("score", "-", "--json", stdin=answered).stdout)
    assert {score["metric"]: score["n_answers"] for score in scores}["flip_rate"] == 2


def _model(place, body):
    (place / "mine.py").write_text(f"def ask(batch):\n    {body}\n")
    return "python:mine.py:ask"


@pytest.mark.parametrize(
    ("body", "message"),
    [("return ['perhaps'] * len(batch)", "'perhaps'"), ("raise KeyError('boom')", "KeyError: 'boom'")],
)
def test_a_model_that_answers_wrongly(cli, problems, place, leftovers, body, message):
    """What else can be wrong with answers is for the tests of models."""
    model = _model(place, body)
    for command in (
        ("answer", problems, "-m", model, "-o", "out.jsonl"),
        ("run", "--data", problems, "-w", "contractions", "-m", model, "-o", "run"),
    ):
        error = cli(*command, "--no-canary", "-q", rc=2).stderr
        assert error.startswith("error: ")
        assert error.count("\n") == 1
        assert message in error
    assert not (place / "out.jsonl").exists()
    assert not (place / "run" / "scores.json").exists()
    assert leftovers() == []


def test_labels_without_probabilities(cli, problems, place, lines):
    rows = lines(
        cli("answer", problems, "-m", _model(place, "return ['neutral'] * len(batch)"), "-q", "--no-canary").stdout
    )
    assert [row["pred"] for row in rows] == ["neutral"] * 3
    assert not [name for name in rows[0] if name.startswith("p:")]


def test_no_majority_is_counted_and_left_out(cli, write_jsonl, place):
    good = {"premise": "A.", "hypothesis": "B.", "label": "neutral"}
    write_jsonl(place / "p.jsonl", [{"id": "1", **good}, {"id": "2", **good, "label": "-"}])
    result = cli("answer", "p.jsonl", "-m", "scripted", "--no-canary", "-o", "out.jsonl")
    assert "1 row taken in, 1 original, 1 without a majority label; 1 row written to out.jsonl" in result.stderr
