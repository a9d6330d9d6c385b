"""Every writer: no more drafts than asked for, the same for the same prompt and seed, whatever the company."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from otherwords.language_models.writer import Decoding, Draft, Writer, load

KIND = "writers"
DECODINGS = [
    Decoding("greedy"),
    Decoding("beams", 2, beams=3),
    Decoding("diverse", 3, diversity=1.0, temperature=0.5),
    Decoding("sample", 3, top_k=12, top_p=0.9),
]
PROMPTS = ["a dog runs", "a dog runs in the park while it rains", "no cat sleeps and it rains", "the cat", "木 Zoë!"]


@cache
def once(spec: str) -> Writer:
    return load(spec)


@cache
def drafts_of(spec: str, decoding: Decoding) -> list[list[Draft]]:
    """What it writes for all prompts, asked once."""
    return once(spec).write(PROMPTS, range(5), decoding)


@pytest.fixture
def writer(spec) -> Writer:
    return once(spec)


@pytest.fixture(params=DECODINGS, ids=lambda one: one.way)
def decoding(request, writer) -> Decoding:
    return known(request.param, writer)


def known(decoding: Decoding, writer: Writer) -> Decoding:
    """A decoding with the options that a writer knows; what it does not know at all it need not do."""
    if decoding.way not in writer.ways:
        pytest.skip(f"it does not know {decoding.way}")
    return decoding if "top_k" in writer.ways["sample"] else replace(decoding, top_k=0)


def test_drafts_are_texts_and_not_too_many(spec, decoding):
    found = drafts_of(spec, decoding)
    assert len(found) == 5
    for drafts in found:
        assert len(drafts) <= decoding.count
        assert all(isinstance(draft, Draft) and isinstance(draft.text, str) for draft in drafts)
    assert any(draft.text.strip() for drafts in found for draft in drafts)


def test_neither_order_nor_company_matters(writer, decoding, spec):
    whole = drafts_of(spec, decoding)
    order = random.Random(2).sample(range(5), 5)
    for rows in (order[:1], order[1:4]):
        assert writer.write([PROMPTS[row] for row in rows], rows, decoding) == [whole[row] for row in rows]


def test_made_again_it_writes_the_same(spec):
    writer = load(spec)
    decoding = known(DECODINGS[-1], writer)
    assert writer.write(PROMPTS, range(5), decoding) == drafts_of(spec, decoding)


def test_seeds_matter_to_chance_alone(writer, decoding, spec):
    other = writer.write(PROMPTS, range(100, 105), decoding)
    assert (other == drafts_of(spec, decoding)) is not decoding.seeded


def test_nothing_comes_of_nothing(writer, decoding):
    assert writer.write([], [], decoding) == []


def test_an_empty_prompt_is_no_crash(writer, decoding):
    assert len(writer.write(["", " "], [1, 2], decoding)) == 2
