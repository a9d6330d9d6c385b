"""What a user may say of a decoding, and what is refused because it would be without effect."""

from __future__ import annotations

import math

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.language_models.writer import Decoding, Draft, Writer, choose_decoding


def test_what_is_left_open_is_what_the_papers_do():
    assert choose_decoding("diverse", 10, "x") == Decoding("diverse", 10, beams=1, diversity=1.0, temperature=0.45)
    assert choose_decoding("beams", 6, "x").beams == 6
    assert choose_decoding("beams", 1, "x").beams == 4
    assert choose_decoding("sample", 2, "x", top_k=40) == Decoding("sample", 2, top_k=40)
    assert [choose_decoding("diverse", 5, "x", beams=3).rows, choose_decoding("sample", 5, "x").rows] == [15, 5]


@pytest.mark.parametrize(
    ("way", "given"),
    [
        ("beams", {"temperature": 0.5}),
        ("beams", {"diversity": 1.0}),
        ("diverse", {"top_k": 5}),
        ("sample", {"beams": 2}),
        ("greedy", {"top_p": 0.5}),
        ("sample", {"top_p": 1.5}),
        ("sample", {"temperature": -1.0}),
        ("sample", {"temperature": math.nan}),
        ("sample", {"temperature": math.inf}),
        ("sample", {"top_p": math.nan}),
        ("diverse", {"diversity": math.inf}),
        ("wishes", {}),
    ],
)
def test_what_has_no_effect_is_refused(way, given):
    with refuses(BadInput):
        choose_decoding(way, 1, "x", **given)


@pytest.mark.parametrize(("way", "count", "given"), [("greedy", 2, {}), ("beams", 5, {"beams": 3}), ("sample", 0, {})])
def test_more_than_there_can_be_is_refused(way, count, given):
    with refuses(BadInput):
        choose_decoding(way, count, "x", **given)


def test_what_a_writer_thinks_before_is_no_part_of_its_draft():
    drafts = [[Draft("<think>A dog... in a park.</think>\n\nA dog."), Draft("<think>\nA dog, in a")]]
    one, two = Writer(lambda *asked: drafts).write(["a dog"], [1], Decoding("sample", 2))[0]
    assert (one.text, two.text) == ("A dog.", "")
