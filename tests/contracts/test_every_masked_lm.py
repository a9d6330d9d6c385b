"""Every masked-LM: fillings best first, the masked word's own log-probability right, and the same in any company."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import Fillings, MaskedLM, load

KIND = "masked_lms"
WORDS = "a dog runs in the park while it rains and no cat sleeps".split()  # noqa: SIM905


@cache
def once(spec: str) -> MaskedLM:
    return load(spec)


@pytest.fixture
def model(spec) -> MaskedLM:
    return once(spec)


def sample() -> list[tuple[str, int, int]]:
    """Words at the start, in the middle, at the end; and one that is in no vocabulary as one token."""
    chance, made = random.Random(5), [("the qwxyzzy runs", 4, 11)]
    for _ in range(30):
        words = chance.choices(WORDS, k=chance.randrange(1, 9))
        at = chance.randrange(len(words))
        first = sum(len(word) + 1 for word in words[:at])
        made.append((" ".join(words), first, first + len(words[at])))
    return made


@cache
def every_filling(spec: str) -> Fillings:
    """All words of the vocabulary in every place, best first."""
    return once(spec).fill(sample(), top=10_000_000)


def test_fillings_are_best_first_and_of_the_whole_vocabulary(spec, model):
    found = every_filling(spec)
    assert found.ids.shape == found.logp.shape == (len(sample()), len(model.vocabulary))
    assert (np.diff(found.logp, axis=1) <= 0).all()
    np.testing.assert_allclose(np.exp(found.logp.astype(float)).sum(axis=1), 1, atol=1e-3)
    assert len(np.unique(found.ids[0])) == found.ids.shape[1]
    few = model.fill(sample(), top=3)
    np.testing.assert_allclose(few.logp, found.logp[:, :3], atol=1e-5)


def test_the_word_that_stood_there_has_its_place_among_them(spec):
    found = every_filling(spec)
    assert not found.one_token[0]
    assert np.isnan(found.own[0])
    assert found.one_token[1:].any()
    for row in np.flatnonzero(found.one_token):
        text, first, last = sample()[row]
        words = dict(reversed(found.words(row)))  # the best of equal words
        assert words[text[first:last]] == pytest.approx(float(found.own[row]), abs=1e-4)


def test_neither_order_nor_company_matters(model):
    whole = model.fill(sample())
    order = random.Random(2).sample(range(len(sample())), len(sample()))
    for rows in (order, order[:1], order[4:9]):
        some = model.fill([sample()[row] for row in rows])
        if model.batch_invariant:
            assert some.logp.tobytes() == whole.logp[rows].tobytes()
            assert some.own.tobytes() == whole.own[rows].tobytes()
        else:
            np.testing.assert_allclose(some.logp, whole.logp[rows], atol=1e-4)


def test_a_text_that_is_too_long_is_flagged_and_still_filled(model):
    text = "a dog runs in the park " * 500 + "while it rains"
    found = model.fill([(text, len(text) - 5, len(text)), ("a dog runs", 2, 5)], top=5)
    assert found.cut.tolist() == [True, False]
    assert np.isfinite(found.logp).all()


def test_nothing_to_mask_is_refused(model):
    with refuses(BadInput):
        model.fill([("a dog", 3, 3)])
    with refuses(BadInput):
        model.fill([])
