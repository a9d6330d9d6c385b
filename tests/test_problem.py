from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, UnknownName
from otherwords.problem import NO_MAJORITY, RESERVED, TASKS, Batch, Problem, Task, Variant, Verdict, get_task, label_key

NLI = TASKS["nli"]
ONE = Problem("p1", NLI, {"premise": "It isn't wet.", "hypothesis": "It is dry."}, "entailment", {"topic": "rain"})


def test_the_four_tasks_are_data():
    assert list(TASKS) == ["nli", "rte", "a-nli", "d-nli"]
    assert {name: (task.fields, task.labels) for name, task in TASKS.items()} == {
        "nli": (("premise", "hypothesis"), ("entailment", "neutral", "contradiction")),
        "rte": (("premise", "hypothesis"), ("entailed", "not-entailed")),
        "a-nli": (("obs1", "obs2", "hyp1", "hyp2"), ("hyp1", "hyp2")),
        "d-nli": (("premise", "hypothesis", "update"), ("strengthener", "weakener")),
    }
    assert TASKS["d-nli"].targets == ("update",)
    assert TASKS["d-nli"].optional == ("premise",)
    assert TASKS["a-nli"].cluster == ("obs1", "obs2")
    assert all(type(task) is Task for task in TASKS.values())


def test_a_task_of_ones_own_needs_fields_and_labels_only():
    choice = Task("choice", fields=["story", "end1", "end2"], labels=["end1", "end2"])  # type: ignore[arg-type]
    assert choice.targets == ("end2",)
    assert choice.cluster == ("story",)
    assert choice == Task("choice", ("story", "end1", "end2"), ("end1", "end2"))
    assert hash(choice)


@pytest.mark.parametrize(
    "change",
    [
        {"fields": ()},
        {"labels": ("yes",)},
        {"labels": ("yes", "yes")},
        {"labels": ("yes", "no", "Yes")},
        {"labels": ("not_so", "not-so")},
        {"fields": ("text", "text")},
        {"labels": ("yes", NO_MAJORITY)},
        {"fields": ("text", "gold")},
        {"targets": ("txet",)},
        {"optional": ("other",)},
        {"cluster": ("other",)},
        {"fields": "text"},
        {"labels": 3},
    ],
)
def test_nonsense_is_refused(change):
    with refuses(BadInput):
        Task(**{"name": "mine", "fields": ("text",), "labels": ("yes", "no"), **change})


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_columns_of_the_stages_are_no_fields(name):
    with refuses(BadInput):
        Task("mine", fields=("text", name), labels=("yes", "no"))


def test_get_task_by_name_as_it_is_and_from_a_table():
    assert get_task("rte") is TASKS["rte"]
    own = Task("mine", ("text",), ("yes", "no"))
    assert get_task(own) is own
    assert get_task({"name": "mine", "fields": ["text"], "labels": ["yes", "no"]}) == own
    assert get_task({"fields": ["text"], "labels": ["yes", "no"]}).name == "custom"


def test_get_task_from_a_file(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text('fields = ["first", "second", "hypothesis"]\nlabels = ["ja", "nein"]\ntargets = ["first"]\n')
    assert get_task(str(path)) == Task("custom", ("first", "second", "hypothesis"), ("ja", "nein"), ("first",))


@pytest.mark.parametrize(
    "content",
    [
        b"fields =",
        b"\xff\xfe",
        b'fields = ["a"]',
        b'feilds = ["a"]\nlabels = ["x", "y"]',
        b'fields = "a"\nlabels = ["x", "y"]',
    ],
)
def test_a_task_file_that_cannot_be_used(tmp_path, content):
    (tmp_path / "some.toml").write_bytes(content)
    with refuses(BadInput):
        get_task(str(tmp_path / "some.toml"))


def test_no_such_task(tmp_path):
    with refuses(UnknownName):
        get_task("nil")
    with refuses(BadInput):
        get_task(str(tmp_path / "gone.toml"))


def test_restate_changes_what_is_named_and_nothing_else():
    variant = ONE.restate(premise="It is not wet.")
    assert variant == Variant(
        "", NLI, {"premise": "It is not wet.", "hypothesis": "It is dry."}, "entailment", {"topic": "rain"}, of="p1"
    )
    assert ONE.text["premise"] == "It isn't wet."
    assert isinstance(variant, Problem)
    assert ONE.restate().text == ONE.text


def test_restate_refuses_other_fields():
    with refuses(UnknownName):
        ONE.restate(update="Hm.")


def test_nouns_do_not_change():
    for noun, name in ((NLI, "name"), (ONE, "label"), (ONE.restate(), "of"), (Verdict(True), "keep")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(noun, name, "x")


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=20), st.data())
def test_a_batch_is_a_sequence_of_problems(texts, data):
    batch = Batch(NLI, {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts], "gold": ["x"]})
    assert len(batch) == len(list(batch)) == len(texts)
    assert [tuple(problem.text.values()) for problem in batch] == texts
    assert batch["hypothesis"] == [b for _, b in texts]
    start, stop = data.draw(st.integers(-25, 25)), data.draw(st.integers(-25, 25))
    part = batch[start:stop]
    assert isinstance(part, Batch)
    assert part["premise"] == [a for a, _ in texts[start:stop]]
    assert batch[-1].text == {"premise": texts[-1][0], "hypothesis": texts[-1][1]}
    with pytest.raises(IndexError):
        batch[len(texts)]


def test_no_model_can_peek():
    batch = Batch(NLI, {"premise": ["A"], "hypothesis": ["B"], "label": ["entailment"], "id": ["p1"]})
    assert set(batch.columns) == {"premise", "hypothesis"}
    assert (batch[0].id, batch[0].label) == ("", "")


@pytest.mark.parametrize(("label", "same"), [("Entailment ", "entailment"), ("not_entailed", "not-entailed"), (1, "1")])
def test_labels_are_compared_plainly(label, same):
    assert label_key(label) == same


def test_a_batch_names_the_fields_it_has():
    with refuses(BadInput, where="the task nli", fix="it has premise, hypothesis"):
        Batch(NLI, {"premise": ["A"], "hypothesis": ["B"]})["update"]
