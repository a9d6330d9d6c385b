"""Texts as one would say them."""

from __future__ import annotations

import pytest

from otherwords.words.cues import spoken


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It cost $5m.", "it cost 5 million ."),
        ("$ 5.5m, 5m, 5 bn, 10K, 3b", "5.5 million , 5 m , 5 billion , 10 thousand , 3 b"),  # 5m are metres
        ("£1,000k", "1,000 thousand"),
        ("mp3k v8k", "mp3k v8k"),
        ("-5 and - 5 and 3-5, F-16", "minus 5 and 5 and 3 5 , f16"),
        ("10% or 10 % or 10 per cent", "10 percent or 10 percent or 10 percent"),
        ("2½ or .5 or x.5", "2 1⁄2 or .5 or x . 5"),
        ("All but one. He ate all, but left.", "all except one . he ate all , but left ."),
        ("the dog’s bone", "the dog bone"),
    ],
)
def test_worked_examples(text, words):
    assert " ".join(spoken(text)) == words


VERBS = "do does did is are was were has have had ca could would should must might may need ought dare wo sha ai"


@pytest.mark.parametrize("verb", VERBS.split())
@pytest.mark.parametrize(
    "written", ["{}n't", "{} n't", "{}n ' t", "{}n 't", "{}n t", "{}nt", "{}n′t", "{}n´t", "{}N’T"]
)
def test_negated_verbs(verb, written):
    assert spoken(f"He {written.format(verb)} go") == ["he", "can", "not", "go"]


@pytest.mark.parametrize("text", ["in 'T' pose", "an aunt can count", "want went font", "on t and i"])
def test_what_only_looks_negated(text):
    assert "not" not in spoken(text)
