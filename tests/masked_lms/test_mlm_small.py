"""The embedded masked-LM: sensible words at a mask, and missed aloud."""

from __future__ import annotations

import pytest

from otherwords.errors import BadInput
from otherwords.masked_lms import mlm_small
from otherwords.masked_lms.filling import load

needs_the_asset = pytest.mark.skipif(
    not (mlm_small.FOLDER / "model.onnx").is_file(), reason="assets/mlm-small is not there yet"
)


@needs_the_asset
@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("A man is playing a guitar on the street.", "guitar", {"guitar", "game", "instrument", "song", "drum"}),
        ("Two dogs are running in the park.", "dogs", {"dogs", "people", "men", "women", "children", "kids"}),
    ],
)
def test_it_has_sensible_words(text, word, expected):
    first = text.index(word)
    found = load("mlm-small").fill([(text, first, first + len(word))], top=20)
    assert len(expected & {word for word, _ in found.words(0)}) >= 3
    assert found.one_token.all()


def test_an_installation_without_it_says_what_would_work(monkeypatch, tmp_path):
    monkeypatch.setattr(mlm_small, "FOLDER", tmp_path)
    with pytest.raises(BadInput, match=r"mlm-small: the embedded model is not in this installation; .*onnx:FOLDER"):
        load("mlm-small")
