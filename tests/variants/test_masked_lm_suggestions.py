"""From fillings to words: capitals, blanks, pieces, and what is likelier; on vocabularies of both great families."""

from __future__ import annotations

import json
from math import exp, log

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from otherwords.language_models.masked_lm import Fillings, load, vocabulary
from otherwords.variants.masked_lm.suggestions import Suggester, _Columns, _offers

#: As RoBERTa's: a word after a blank carries it (Ġ), and without one it looks like a piece.
BYTES = ["[UNK]", "Ġdog", "Ġcat", "Dog", "Cat", "cat", "ing", "Ġ,", "Ġ7", "Ġcats", "Cats"]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(BYTES)}, [], unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def filled(probabilities: dict[str, float], own: float) -> Fillings:
    """One mask, with the tokens best first."""
    order = sorted(probabilities, key=lambda word: -probabilities[word])
    ids = np.array([[BYTES.index(word) for word in order]])
    logp = np.log(np.array([[probabilities[word] for word in order]], np.float32))
    cut = np.zeros(1, np.bool_)
    return Fillings(ids, logp, np.array([log(own)], np.float32), cut, vocabulary(byte_level()))


def offered(place: tuple[str, int, int], probabilities: dict[str, float], own: float, every: bool = False):
    fillings = filled(probabilities, own)
    [offer] = _offers([place], fillings, fillings.own, _Columns.of(fillings.vocabulary), every)
    return offer


def test_after_a_blank_words_carry_it():
    """cat and Cat without it are pieces here; the comma and the number are no words."""
    found = offered(
        ("A dog runs", 2, 5), {"Ġcat": 0.3, "cat": 0.2, "Cats": 0.15, "Ġ,": 0.1, "Ġ7": 0.08, "Ġcats": 0.07}, 0.01
    )
    assert {word: written for word, (written, _) in found.words.items()} == {"cat": "cat", "cats": "cats"}
    assert (found.suggestions, found.no_word, found.unlikely) == (6, 4, 0)


def test_at_the_start_of_a_text_words_have_none():
    """ing is a word nowhere, so that it is none here; capitals are those of the place."""
    found = offered(("Dog runs", 0, 3), {"Cat": 0.3, "Ġcats": 0.2, "ing": 0.15, "Cats": 0.1}, 0.01)
    assert {word: written for word, (written, _) in found.words.items()} == {"cat": "Cat", "cats": "Cats"}
    assert found.no_word == 2


def test_spellings_are_one_word_as_likely_as_the_likeliest():
    """Cat and cat are one suggestion of 0.3; "dog", which stood there with 0.05, is as likely as "Dog"."""
    found = offered(("dog runs", 0, 3), {"Cat": 0.3, "Dog": 0.2, "Cats": 0.15, "cat": 0.1}, 0.05, every=True)
    assert exp(found.own) == pytest.approx(0.2)
    assert exp(found.words["cat"][1]) == pytest.approx(0.3)
    assert found.likelier == {"cat"}
    assert (found.suggestions, found.unlikely) == (3, 2)


def test_pieces_are_no_spellings_of_the_word_that_stands_there():
    """After a blank "Dog" without one is a piece, however likely; "dog" itself has 0.1."""
    found = offered(("A dog runs", 2, 5), {"Dog": 0.5, "Ġcat": 0.3, "Ġdog": 0.1}, 0.1)
    assert exp(found.own) == pytest.approx(0.1)
    assert found.likelier == {"cat"}


def test_capitals_inside_a_sentence_are_the_model_s_own(tmp_path):
    """A word that is always written large stays so; where the place is large, every word is."""
    script = {"A [MASK] man.": [["French", 0.6], ["tall", 0.3], ["old", 0.1]]}
    (tmp_path / "a.json").write_text(json.dumps(script))
    suggest = Suggester({"a": load(f"scripted:{tmp_path}/a.json")}, top=3, several=False, every=False)
    [offers] = suggest([("A old man.", 2, 5)])
    assert {word: written for word, (written, _) in offers["a"].words.items()} == {"french": "French", "tall": "tall"}


def test_nothing_is_offered_for_a_word_of_several_tokens_nor_where_there_is_no_place(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"A [MASK] man.": [["tall", 0.6]]}))
    suggest = Suggester({"a": load(f"scripted:{tmp_path}/a.json")}, top=1, several=False, every=True)
    [offers] = suggest([("A handsome man.", 2, 10)])
    assert (offers["a"].words, offers["a"].suggestions) == ({}, 0)
    assert suggest([]) == []
