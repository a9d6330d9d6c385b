"""Verdicts of people: read from files and databases, and what they decide."""

from __future__ import annotations

import sqlite3

import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.storage import tables
from otherwords.validity.people import COLUMNS, Sound, against_gold, decide, read_verdicts, usual_rule

ROWS = [
    {"bucket": "b", "variant": "01", "form": "sound", "question": "sound", "answer": "yes", "annotator": "P1",
     "probability": 0.25, "batch": 1, "seconds": 3.5, "adjudicated": False},
    {"bucket": "b", "variant": "01", "form": "sound", "question": "sound", "answer": "no", "annotator": "P2",
     "probability": 0.25, "batch": 1, "seconds": 4.0, "adjudicated": False},
    {"bucket": "b", "variant": "02", "form": "sound", "question": "sound", "answer": "no", "annotator": "P1",
     "probability": None, "batch": 2, "seconds": None, "adjudicated": False},
]  # fmt: skip


def database(path, rows=ROWS, view="verdicts"):
    with sqlite3.connect(path) as file:
        file.execute(f"CREATE TABLE answers_of_people ({', '.join(COLUMNS)})")
        places = ", ".join("?" * len(COLUMNS))
        file.executemany(f"INSERT INTO answers_of_people VALUES ({places})", [tuple(row.values()) for row in rows])
        file.execute(f"CREATE VIEW {view} AS SELECT * FROM answers_of_people")
    file.close()
    return path


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.parquet", "v.db", "any.ending"])
def test_every_source_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    if name in ("v.db", "any.ending"):
        database(path)
    else:
        tables.write([pl.DataFrame(ROWS)], path)
    found = read_verdicts(path)
    assert found.schema == dict(COLUMNS)
    assert found.rows() == [tuple(row.values()) for row in ROWS]


def test_a_sheet_of_the_check_human_is_one():
    found = read_verdicts([{"id": "a1", "verdict": "yes"}, {"id": "a2", "verdict": " "}])
    assert found.rows() == [(None, "a1", "", "", "yes", "", None, 1, None, False)]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_is_not_changed(tmp_path, journal):
    path = database(tmp_path / "v.db")
    with sqlite3.connect(path) as file:
        file.execute(f"pragma journal_mode = {journal}")  # annotate's are "wal": a reader makes files beside them
    file.close()
    before = path.read_bytes()
    read_verdicts(str(path))
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["v.db"]


def test_the_majority_decides_and_a_tie_is_none():
    answers = {"a": ["yes", "no"], "b": ["yes", "no", "yes"], "c": ["no"]}
    rows = [{"id": name, "verdict": one} for name, some in answers.items() for one in some]
    found = decide(read_verdicts(rows), Sound(("",)))
    assert found.select("variant", "sound", "votes").rows() == [("a", False, 2), ("b", True, 3), ("c", False, 1)]
    assert found["share"].to_list() == pytest.approx([1 / 2, 2 / 3, 0])


def test_an_adjudicator_overrides():
    rows = [*ROWS, {**ROWS[0], "answer": "yes", "annotator": "A", "adjudicated": "Yes", "probability": None}]
    found = decide(read_verdicts(rows), Sound(("sound",)))
    assert found.select("variant", "sound", "votes", "probability", "batch").rows() == [
        ("01", True, 1, 0.25, 1),
        ("02", False, 1, None, 2),
    ]


def test_ratings_are_summed_by_annotator():
    """MERGE counts a variant whose fluency and reasoning sum to 9 or more."""
    marks = {"P1": (5, 4), "P2": (4, 4), "P3": (5, 5)}
    rows = [
        {"variant": "v", "annotator": who, "question": question, "answer": str(mark)}
        for who, both in marks.items()
        for question, mark in zip(("fluency", "reasoning"), both, strict=True)
    ]
    verdicts = read_verdicts(rows[:-1])  # P3 has not said anything about reasoning
    assert usual_rule(verdicts) == Sound(("fluency", "reasoning"), least=9.0)
    assert decide(verdicts, usual_rule(verdicts)).select("sound", "votes").rows() == [(False, 2)]
    assert decide(read_verdicts(rows), Sound.parse("fluency+reasoning>=9"))["sound"].to_list() == [True]
    assert decide(read_verdicts(rows), Sound.parse("fluency>4"))["share"].to_list() == pytest.approx([2 / 3])


@pytest.mark.parametrize(
    ("questions", "rule"),
    [
        (["similarity", "grammatical"], "similarity>75"),
        (["equivalent", "why"], "equivalent"),
        (["good?"], "good?"),
        (["sound"], "sound"),
    ],
)
def test_forms_have_a_usual_rule(questions, rule):
    verdicts = read_verdicts([{"id": "a", "question": one, "answer": "yes"} for one in questions])
    assert str(usual_rule(verdicts)) == rule
    assert Sound.parse(rule) == usual_rule(verdicts)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}], "the verdicts: answer: no such column; give bucket, variant, form, question, answer"),
        ([{"id": "", "verdict": "yes"}], "the verdicts, row 1: variant: found nothing; give the variant's id"),
        ([{"id": "a", "verdict": "NA"}], "the verdicts: contains no verdicts"),
        ([{"id": "a", "verdict": "yes", "probability": 0.0}], "the verdicts, row 1: probability: no probability of"),
        ([{"id": "a", "verdict": "yes", "probability": 1.5}], "the verdicts, row 1: probability: no probability of"),
        ([{"id": "a", "verdict": "yes", "probability": "often"}], "the verdicts: probability: found String"),
        ([{"id": "a", "verdict": "yes", "batch": 0}], "the verdicts, row 1: batch: no batch: 0; number batches from"),
        ([{"id": "a", "verdict": "yes", "annotator": "P"}] * 2, "the verdicts, row 1: annotator: has two answers"),
        ([{"id": "a", "verdict": "yes", "batch": 1.5}], "the verdicts: batch: found Float64; give whole numbers"),
        ([{"id": "a", "verdict": "yes", "adjudicated": "perhaps"}], "the verdicts: adjudicated: found String; give"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(rows, message):
    with pytest.raises(BadInput) as caught:
        read_verdicts(rows)
    assert str(caught.value).startswith(message)


def test_answers_that_are_no_verdict_are_refused():
    verdicts = read_verdicts([{"id": "a", "verdict": "perhaps"}])
    with pytest.raises(BadInput, match="found 'perhaps' for 'a'; use yes or no"):
        decide(verdicts, Sound(("",)))
    with pytest.raises(BadInput, match="found 'perhaps' for 'a'; give a number"):
        decide(verdicts, Sound(("",), least=3))
    with pytest.raises(BadInput, match="fluency: this question was not asked; available: "):
        decide(verdicts, Sound(("fluency",), least=3))
    with pytest.raises(BadInput, match="several questions were asked; say which answers"):
        usual_rule(read_verdicts([{"id": "a", "question": one, "answer": "1"} for one in ("x", "y")]))
    for text in ("", "a+b", "a>", ">=3", "a>b", "a+b=3", "a+>=3"):
        with pytest.raises(BadInput, match="cannot read"):
            Sound.parse(text)


def test_an_answer_may_be_named_and_a_label_may_be_right():
    rows = [{"id": f"v{n}", "question": "error", "answer": one} for n, one in enumerate(("none", "Tense", "None "))]
    assert decide(read_verdicts(rows), Sound.parse("error=none"))["sound"].to_list() == [True, False, True]
    with pytest.raises(BadInput, match="error: nobody answered 'nothing'; available: none, tense"):
        decide(read_verdicts(rows), Sound.parse("error=nothing"))
    said = [{"id": f"v{n}", "question": "label", "answer": one} for n, one in enumerate(("Entailment", "neutral", "x"))]
    known = against_gold(read_verdicts(said), {"v0": "entailment", "v1": "contradiction"})
    assert usual_rule(known) == Sound(("label",))
    assert decide(known, usual_rule(known)).select("variant", "sound").rows() == [("v0", True), ("v1", False)]


def test_databases_that_cannot_be_read_say_so(tmp_path):
    path = database(tmp_path / "v.db", view="others")
    with pytest.raises(BadInput, match=r"v.db: cannot be read: no such table: verdicts; give a database"):
        read_verdicts(path)
    with pytest.raises(BadInput, match="no such file"):
        read_verdicts(tmp_path / "none.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_that_cannot_be_reached_keeps_its_password(scheme):
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with pytest.raises(BadInput, match="the PostgreSQL server: cannot be read: OperationalError") as caught:
        read_verdicts(f"{scheme}://me:secret@127.0.0.1:1/none")
    assert "secret" not in f"{caught.value}{caught.value.__cause__}"


def test_other_servers_are_refused_without_their_password():
    with pytest.raises(BadInput, match="mysql://…: is neither a file nor a PostgreSQL address; use a file") as caught:
        read_verdicts("mysql://me:secret@127.0.0.1/verdicts")
    assert "secret" not in str(caught.value)
