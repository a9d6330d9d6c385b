"""Problems without labels, through all commands: what needs no right answers works, and the rest says why not."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

TEXTS = [
    ("It isn't raining on the two men.", "The men aren't wet."),
    ("A man is sleeping.", "The man isn't asleep."),
    ("He's here, and it isn't late.", "They're elsewhere."),
]
LEFT_OUT = "no gold labels; not measured: accuracy_original, accuracy_drop, p_c, p_c_distinct, pa; "
LEFT_OUT += "give the right answers in a column `gold` (in data: `label`), or name their column with --field"


@pytest.fixture
def run(cli: Any) -> Callable[..., tuple[Any, list[str]]]:
    """Run a command in this process: its result, and its warnings."""

    def result(*arguments: object, rc: int = 0) -> tuple[Any, list[str]]:
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # printed, not raised
            done = cli(*arguments, rc=rc)
        start = "warning: "
        return done, [line.removeprefix(start) for line in done.stderr.splitlines() if line.startswith(start)]

    return result


@pytest.fixture
def suite(run: Any, bare: Path, place: Path) -> Path:
    """The problems with their contractions opened and closed, as a suite of JSONL."""
    run("vary", bare, "-w", "contractions", "--suite", "-o", "suite.jsonl")
    return place / "suite.jsonl"


@pytest.fixture
def bare(place: Path) -> Path:
    """Three problems as a CSV file of two columns: no id, no label."""
    path = place / "bare.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("premise", "hypothesis"), *TEXTS])
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_stage_takes_what_the_one_before_it_wrote(run: Any, bare: Path, place: Path, ending: str) -> None:
    suite, checked, answers = (place / f"{name}.{ending}" for name in ("suite", "checked", "answers"))
    made, [line] = run("vary", bare, "-w", "contractions", "--suite", "-o", suite)
    assert "if another column has them, map it with --field label=COLUMN" in line
    assert "3 without a label" in made.stderr
    for stage in (
        ("check", suite, "--with", "surface", "--with", "label-safety", "-o", checked),
        ("answer", checked, "-m", "scripted", "--no-canary", "--no-cache", "-o", answers),
    ):
        assert run(*stage)[1] == []
    scored, lines = run("score", answers, "--json", "--replicates", "50")
    assert {one["metric"] for one in json.loads(scored.stdout)} == {"flip_rate", "label_agreement"}
    assert [line for line in lines if "not reliable" not in line] == [f"{answers}: {LEFT_OUT}"]


def test_an_unknown_label_is_a_cell_without_a_value(run: Any, bare: Path, place: Path) -> None:
    for ending, empty in (("csv", ""), ("jsonl", None)):
        run("vary", bare, "-w", "contractions", "--suite", "-o", place / f"suite.{ending}")
        run("answer", place / f"suite.{ending}", "-m", "scripted", "--no-canary", "--no-cache",
            "-o", place / f"answers.{ending}")  # fmt: skip
        for name, column in (("suite", "label"), ("answers", "gold")):
            text = (place / f"{name}.{ending}").read_text(encoding="utf-8")
            rows = csv.DictReader(text.splitlines()) if ending == "csv" else map(json.loads, text.splitlines())
            assert {row[column] for row in rows} == {empty}


def test_a_run_measures_flips_and_its_report_names_no_answer_right(run: Any, bare: Path, place: Path) -> None:
    """The canary has labels of its own, and works as ever."""
    study = ("run", "--data", bare, "-w", "contractions", "-m", "nli-small", "--no-cache", "-o", "mine")
    _, lines = run(*study)
    assert [line for line in lines if "no gold labels" in line] == [f"the answers: {LEFT_OUT}"]
    scores = json.loads((place / "mine" / "scores.json").read_text())
    assert {one["metric"] for one in scores} == {"flip_rate", "label_agreement"}
    assert json.loads((place / "mine" / "manifest.json").read_text())["intake"]["unlabelled"] == 3
    page = (place / "mine" / "report.html").read_text(encoding="utf-8")
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "changed its answer on" in page or "never changed its answer" in page
    assert "same answer to all wordings" in page
    for never in ("✓ right", "✗ wrong", "<dt>gold</dt>", "<b>None</b>", "always right", "Right, wrong", "wrong answer"):
        assert never not in shown
    assert LEFT_OUT in page
    run("report", "mine")
    assert (place / "mine" / "report.html").read_text(encoding="utf-8") == page
    assert run(*study)[1] == lines


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--require", "accuracy_original>=0.5"], "'accuracy_original>=0.5'"),
        (["--metric", "r_r", "--metric", "flip_rate"], "r_r"),
        (["--by", "label"], "--by label"),
        (["--by", "original"], "--by original"),
    ],
)
def test_a_run_refuses_what_needs_labels_before_any_model_is_asked(
    run: Any, bare: Path, place: Path, options: list[str], named: str
) -> None:
    (place / "loud.py").write_text("def ask(batch):\n    raise SystemError('asked')\n")
    model = ["-m", "python:loud.py:ask", "--no-cache", "-o", "mine"]
    result, _ = run("run", "--data", bare, "-w", "contractions", *model, *options, rc=2)
    error = result.stderr.splitlines()[-1]
    assert error.startswith("error: label: the problems have no gold labels, which ")
    assert named in error
    assert not (place / "mine" / "variants").exists()


def test_a_gate_on_flips_holds_without_labels(run: Any, bare: Path) -> None:
    study = ["run", "--data", bare, "-w", "contractions", "-m", "scripted", "--no-canary", "--no-cache", "-o", "mine"]
    run(*study, "--require", "flip_rate<=1")
    assert "flip_rate is" in run(*study, "--require", "flip_rate<0", rc=1)[0].stderr


def test_commands_about_right_answers_say_that_they_need_labels(run: Any, bare: Path, suite: Path) -> None:
    run("answer", suite, "-m", "scripted", "--no-canary", "--no-cache", "-o", "answers.jsonl")
    for command in (
        ("audit", "answers.jsonl"),
        ("circularity", suite, "-m", "scripted", "--judge", "self", "--no-canary", "--no-cache", "--metric", "r_r"),
        ("score", "answers.jsonl", "--metric", "accuracy_original"),
        ("score", "answers.jsonl", "--require", "accuracy_original >= 50%"),
        ("score", "answers.jsonl", "--by", "label"),
        ("compare", "answers.jsonl", "answers.jsonl", "--metric", "p_c"),
    ):
        result, _ = run(*command, rc=2)
        assert "no gold labels" in result.stderr.splitlines()[-1], command
    refused, _ = run("answer", suite, "-m", f"bag_of_words(train={bare})", "--no-cache", "-o", "learnt.jsonl", rc=2)
    assert "label: found nothing" in refused.stderr


def test_judges_are_compared_without_labels(run: Any, suite: Path) -> None:
    command = ("circularity", suite, "-m", "scripted", "--judge", "self", "--judge", "nli-small", "--no-canary")
    result, _ = run(*command, "--no-cache")
    assert "no gold labels; not measured: r_r, r_s" in result.stderr
    assert "kappa" in result.stdout
    found = json.loads(run(*command, "--no-cache", "--json")[0].stdout)
    assert found["acceptance"][0]["rate"]["value"] is not None
    assert found["disagreements"][0]["r_r"] is None
    assert run(*command, "--no-cache", "--metric", "flip_rate", "--json")[0].stdout.count('"metric": "flip_rate"') == 3
    refused, _ = run(*command, "--no-cache", "--by", "label", rc=2)
    assert "no column 'label' to group by" in refused.stderr


def test_a_profile_needs_no_labels(run: Any, suite: Path) -> None:
    [part] = json.loads(run("profile", suite, "--json")[0].stdout)["generators"]
    assert [(one["label"], one["problems"]) for one in part["lengths"]] == [("(no label)", 3)]
    assert part["artifacts"] == []


def test_recorded_rewordings_serve_problems_without_labels(run: Any, bare: Path, place: Path, write_jsonl: Any) -> None:
    """Whether the file of rewordings has labels or not, it has nothing to contradict."""
    row = {"id": "1a", "of": "1", "premise": "It is dry on the two men."}
    for label in ({}, {"label": "neutral"}, {"label": None}):
        write_jsonl(place / "recorded.jsonl", [{**row, **label}])
        run("vary", bare, "-w", "recorded(path=recorded.jsonl)", "-o", "variants.parquet")
        assert pl.read_parquet("variants.parquet")["label"].to_list() == [None]


def test_one_variant_a_problem_has_a_dash_for_p_c_and_the_reason_at_the_foot(cli: Any, place: Path) -> None:
    rows = {"bucket": ["a", "a", "b", "b"], "variant": ["", "1"] * 2, "gold": ["yes"] * 4}
    pl.DataFrame({**rows, "pred": ["yes", "no", "yes", "yes"]}).write_csv("answers.csv")
    shown = cli("score", "answers.csv", "--replicates", "50").stdout
    lines = {line.split()[1]: line for line in shown.splitlines() if line.startswith("│")}
    assert "100.0 %" not in lines["p_c"]
    assert lines["p_c"].split()[3] == "–"
    foot = " ".join(shown.split("┘")[1].split())
    assert foot.startswith("– no problem has two variants for p_c, p_c_distinct, label_agreement to compare")


def test_the_list_of_metrics_says_what_each_needs(cli: Any) -> None:
    needs = {one["name"]: one["needs"] for one in json.loads(cli("list", "metrics", "--json").stdout)}
    assert needs["flip_rate.v1"] == "originals"
    assert needs["p_c.v1"] == "gold labels, two variants"
    assert "needs" in cli("list", "metrics").stdout


def test_partly_labelled_tickets_can_be_used_where_bad_rows_are_left_out(run: Any, place: Path, lines: Any) -> None:
    rows = [
        {"premise": p, "hypothesis": h, "label": label}
        for (p, h), label in zip(TEXTS, ["", "neutral", ""], strict=True)
    ]
    (place / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = ("run", "--data", "tickets.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "--no-cache")
    refused, _ = run(*data, rc=2)
    assert "leave those without out with --skip-bad" in refused.stderr
    run(*data, "--skip-bad", "-o", "run")
    assert pl.read_parquet("run/problems/*.parquet")["id"].to_list() == ["2"]
    assert [row["field"] for row in lines(place / "run" / "rejected.jsonl")] == ["label", "label"]
