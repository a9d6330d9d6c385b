"""Every encoder: a vector of unit length for each text, the same in any company, and nothing for nothing."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.language_models.encoder import SentenceEncoder, load

KIND = "encoders"
WORDS = "a dog runs in the park while it rains and no cat sleeps".split()  # noqa: SIM905


@cache
def once(spec: str) -> SentenceEncoder:
    return load(spec)


@pytest.fixture
def model(spec) -> SentenceEncoder:
    return once(spec)


def sample() -> list[str]:
    chance = random.Random(5)
    return ["the qwxyzzy runs", "木", *(" ".join(chance.choices(WORDS, k=chance.randrange(1, 9))) for _ in range(30))]


def test_a_vector_of_unit_length_for_each_text(model):
    found = model(sample())
    assert found.dtype == np.float32
    assert found.shape[0] == len(sample())
    np.testing.assert_allclose(np.linalg.norm(found.astype(float), axis=1), 1, atol=1e-6)
    assert len(np.unique(found, axis=0)) > len(sample()) // 2, "texts are told apart"


def test_neither_order_nor_company_matters(model):
    whole = model(sample())
    order = random.Random(2).sample(range(len(sample())), len(sample()))
    for rows in (order, order[:1], order[4:9], [3, 3, 3]):
        some = model([sample()[row] for row in rows])
        if model.batch_invariant:
            assert some.tobytes() == whole[rows].tobytes()
        else:
            np.testing.assert_allclose(some, whole[rows], atol=1e-4)


def test_a_text_is_nearest_to_itself(model):
    texts = list(dict.fromkeys(sample()))
    pairs = [(one, other) for one in texts[:8] for other in texts[:8]]
    found = model.cosines(pairs).reshape(8, 8)
    np.testing.assert_allclose(np.diag(found), 1, atol=1e-6)
    np.testing.assert_array_equal(found, found.T)
    assert (np.abs(found) <= 1).all()
    assert not len(model.cosines([]))


def test_a_text_that_is_too_long_is_encoded_all_the_same_and_reported(model):
    texts = ["a dog runs in the park " * 500, "a dog runs"]
    assert model.too_long(texts) == [True, False]
    with pytest.warns(UserWarning, match="1 of 2 texts exceed its maximum length"):
        assert np.isfinite(model(texts)).all()


def test_nothing_is_refused(model):
    with refuses(BadInput):
        model([])
    with refuses(BadInput):
        model([" "])
