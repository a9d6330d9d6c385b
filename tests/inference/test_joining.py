"""How fields become texts: written, read, refused, and made piece by piece as at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.inference.joining import Join, LazyRows, default_join, options_of, shown_task
from otherwords.problem import TASKS, Batch, Task

ODD = st.text(st.sampled_from(["a", " ", "é", "\ud83d", "\x00", "|", "+"]), max_size=3)
COPA = Task("copa", fields=("premise", "a", "b", "c"), labels=("a", "b", "c"))
TEXT = Task("mood", fields=("text",), labels=("good", "bad"))


@pytest.mark.parametrize(
    ("task", "written"),
    [
        (TASKS["nli"], "premise | hypothesis"),
        (TASKS["rte"], "premise | hypothesis"),
        (TASKS["d-nli"], "premise + hypothesis | update"),
        (TASKS["a-nli"], "obs1 | option + obs2"),
        (COPA, "premise | option"),
        (TEXT, "text"),
        (shown_task(TASKS["d-nli"], ["update"]), "update"),
        (shown_task(TASKS["d-nli"], ["update", "hypothesis"]), "hypothesis | update"),
        (shown_task(TASKS["a-nli"], ["hyp1", "hyp2"]), "option"),
        (shown_task(TASKS["a-nli"], ["hyp2", "obs2", "hyp1"]), "obs2 | option"),
    ],
)
def test_every_task_has_its_way(task, written):
    join = default_join(task)
    assert str(join) == written
    assert Join.read(written) == join
    join.refuse_other(task, "")


@pytest.mark.parametrize("text", ["", "|", "a |", "a + | b", "a | b | c", "a b | c", "a | a", "a + b | b"])
def test_what_is_no_join(text):
    with refuses(BadInput, where="hf:m", field="join"):
        Join.read(text, "hf:m")


@pytest.mark.parametrize(
    ("text", "task"),
    [("premise | claim", "nli"), ("premise | option", "nli"), ("obs1 | obs2", "a-nli"), ("obs1 | hyp1", "a-nli")],
)
def test_a_join_for_other_fields(text, task):
    with refuses(BadInput, where="hf:m", field="join"):
        Join.read(text).refuse_other(TASKS[task], "hf:m")


def test_options_of_a_choice_stand_side_by_side():
    columns = {"premise": ["P", "Q"], "a": ["1", "4"], "b": ["2", "5"], "c": ["3", "6"]}
    rows = default_join(COPA).rows(columns, options_of(COPA))
    assert rows == [("P", "1"), ("P", "2"), ("P", "3"), ("Q", "4"), ("Q", "5"), ("Q", "6")]
    assert Join.read("option + premise").rows(columns, options_of(COPA))[4] == ("5 Q",)


@given(
    rows=st.lists(st.tuples(ODD, ODD, ODD, ODD), max_size=7),
    start=st.integers(-1, 25),
    stop=st.integers(-1, 25),
    task=st.sampled_from([COPA, TASKS["a-nli"]]),
)
def test_rows_made_piece_by_piece_are_those_of_the_whole(rows, start, stop, task):
    batch = Batch(task, {name: [row[i] for row in rows] for i, name in enumerate(task.fields)})
    lazy = LazyRows(batch, default_join(task), options_of(task))
    whole = default_join(task).rows(batch.columns, options_of(task))
    assert len(lazy) == len(whole) == len(rows) * len(task.labels)
    assert lazy[start:stop] == whole[start:stop]
    assert list(lazy) == whole
    assert [lazy[-number - 1] for number in range(len(whole))] == whole[::-1]
