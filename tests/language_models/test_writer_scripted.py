"""The scripted writer, which the tests of generators and the documentation rely on."""

from __future__ import annotations

import json

import pytest
from refusals import refuses

from otherwords.errors import BadInput, WrongAnswer
from otherwords.language_models.writer import CUT_OFF, Decoding, Draft, Writer, load

BOOK = {"A dog runs.": ["A dog is running.", "The dog…"], "runs.": ["never this one"], "nothing": []}


@pytest.fixture
def script(tmp_path):
    (tmp_path / "book.json").write_text(json.dumps(BOOK))
    return tmp_path / "book.json"


def test_it_writes_what_the_script_says(script):
    writer = load(f"scripted:{script}")
    found = writer.write(["Rephrase: A dog runs.", "nothing", "unknown"], [0, 0, 0], Decoding("beams", 2, beams=2))
    assert found == [[Draft("A dog is running."), Draft("The dog", CUT_OFF)], [], []]
    drawn = [writer.write(["A dog runs."], [seed], Decoding("sample"))[0][0].text for seed in (0, 1)]
    assert drawn == ["A dog is running.", "The dog"]


def test_what_it_does_otherwise():
    two = Decoding("sample", 2)
    assert load("scripted(otherwise=echo)").write(["a b c"], [1], two) == [[Draft("a b c")] * 2]
    for draft in load("scripted(otherwise=shuffle)").write(["a b c"], [1], two)[0]:
        assert sorted(draft.text.split()) == ["a", "b", "c"]
        assert draft.text != "a b c"
    with refuses(WrongAnswer):
        load("scripted(otherwise=fail)").write(["a b c"], [1], two)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": "b"}', '{"a": [1]}'])
def test_a_script_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "book.json").write_text(text)
    with refuses(BadInput):
        load(f"scripted:{tmp_path / 'book.json'}")


def test_options_are_checked(tmp_path):
    with refuses(BadInput):
        load("scripted(otherwise=x)")
    with refuses(BadInput):
        load(f"scripted:{tmp_path / 'absent.json'}")


def test_a_writer_that_gives_something_else_is_reported():
    wrong = Writer(lambda prompts, seeds, decoding: [[Draft("a")] * 3])
    with refuses(WrongAnswer):
        wrong.write(["x"], [0], Decoding("sample", 2))
    with refuses(BadInput):
        wrong.write(["x"], [0, 1], Decoding())


def test_equal_prompts_are_asked_once_unless_chance_decides():
    asked = []
    counting = Writer(lambda prompts, seeds, decoding: asked.append(len(prompts)) or [[Draft(p)] for p in prompts])
    counting.write(["x", "x", "y"], [1, 2, 3], Decoding())
    counting.write(["x", "x", "y"], [1, 2, 3], Decoding("sample"))
    assert asked == [2, 3]
