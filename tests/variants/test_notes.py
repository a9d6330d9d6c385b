"""Tables of notes: what a note is about has columns of its own."""

from __future__ import annotations

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import Note
from otherwords.variants.generating import COLUMNS, notes_table


def test_what_notes_are_about_are_columns():
    told = notes_table([("g", Note("p", "x", about={"field": "premise"})), ("g", Note("q", "x", 2, {"model": "m"}))])
    assert told.rows() == [("p", "g", "x", 1, "premise", None), ("q", "g", "x", 2, None, "m")]
    assert told.columns == [*COLUMNS, "field", "model"]
    assert notes_table([]).columns == list(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_note_is_about_a_column_that_all_have(name):
    with refuses(BadInput):
        notes_table([("g.v1()", Note("p", "x")), ("g.v1()", Note("p", "x", about={"field": "y", name: "z"}))])
