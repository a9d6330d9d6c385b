"""The embedded masked-LM: sensible words at a mask, and an error where it is missing."""

from __future__ import annotations

import re

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.inference import onnx_files
from otherwords.language_models.masked_lm import MaskedLM, load


@pytest.fixture(scope="module")
def model() -> MaskedLM:
    return load("mlm-small")


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("A man is playing a guitar on the street.", "guitar", {"guitar", "game", "instrument", "song", "drum"}),
        ("Two dogs are running in the park.", "dogs", {"dogs", "people", "men", "women", "children", "kids"}),
    ],
)
def test_it_has_sensible_words(model, text, word, expected):
    first = text.index(word)
    found = model.fill([(text, first, first + len(word))], top=20)
    assert len(expected & {word for word, _ in found.words(0)}) >= 3
    assert found.one_token.all()


@pytest.mark.slow
def test_it_guesses_held_out_words(model, shared):
    """At least 53 % of masked tokens of SNLI's test hypotheses, which it has never seen; the card has the whole."""
    frame = pl.read_parquet(shared / "ie_test" / "nli_data.parquet").filter(dataset="snli", split="test")
    texts = frame["hypothesis"].unique().sort().sample(400, seed=1).to_list()
    places = [(text, word.start(), word.end()) for text in texts for word in re.finditer(r"\w+|[^\w\s]", text)]
    found = model.fill(places, top=1)
    right = found.logp[:, 0] == found.own
    assert right[found.one_token].mean() >= 0.53


def test_an_installation_without_it_says_how_to_fix_it(monkeypatch, tmp_path):
    monkeypatch.setattr(onnx_files, "ASSETS", tmp_path)
    with refuses(BadInput):
        load("mlm-small")


def test_no_place_holder_of_its_vocabulary_counts_as_a_word(model):
    found = model.vocabulary
    holders = [token for token, word in enumerate(found.words) if word.startswith("[unused")]
    assert len(holders) > 900
    assert found.special[holders].all()
    assert not found.whole[holders].any()
