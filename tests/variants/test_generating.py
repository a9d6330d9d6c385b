"""What generators declare, the columns of their variants, and their notes, with a column for what a note is about."""

from __future__ import annotations

import json
import tempfile

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Note, Problem
from otherwords.variants.generating import COLUMNS, Generator, as_generator, notes_table, prepared, with_changes


def test_what_notes_are_about_are_columns():
    result = notes_table([("g", Note("p", "x", about={"field": "premise"})), ("g", Note("q", "x", 2, {"model": "m"}))])
    assert result.rows() == [("p", "g", "x", 1, "premise", None), ("q", "g", "x", 2, None, "m")]
    assert result.columns == [*COLUMNS, "field", "model"]
    assert notes_table([]).columns == list(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_note_is_about_a_column_that_all_have(name):
    with refuses(BadInput):
        notes_table([("g.v1()", Note("p", "x")), ("g.v1()", Note("p", "x", about={"field": "y", name: "z"}))])


def test_a_bare_function_is_a_generator_and_its_attributes_count():
    def bare(problems, seeds):
        return []

    assert as_generator(bare) == Generator(bare)
    bare.control, bare.identity = True, "model-1"
    assert (as_generator(bare).control, as_generator(bare).identity) == (True, "model-1")
    declared = ow.Generator(bare, spent=("corpus",))
    assert as_generator(declared) is declared
    assert declared([], []) == []


def test_only_a_survey_needs_a_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "absent")
    assert [one.signature for one in prepared(["identity"], [])] == ["identity.v1()"]
    with pytest.raises(FileNotFoundError):
        prepared(["wordnet-ie"], [])


def test_columns_of_the_problem_are_kept_under_another_name():
    problem = Problem("p", TASKS["nli"], {"premise": "A dog", "hypothesis": "A cat"}, "neutral", {"changes": "old"})
    change = {"field": "premise", "at": 2, "from": "dog", "to": "hound"}
    variant = with_changes(problem, [change])
    assert variant.text["premise"] == "A hound"
    assert (variant.extra["input_changes"], json.loads(variant.extra["changes"])) == ("old", [change])
