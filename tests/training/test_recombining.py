"""Recombined pairs: new, distinct, of the given sentences, mostly of alike ones; the same for the same seed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.training.data import _nearest, _tf_idf, recombine, squeezed

from .conftest import NOUNS, VERBS

SENTENCE = st.builds(" ".join, st.tuples(st.sampled_from(["a", "A"]), st.sampled_from(NOUNS), st.sampled_from(VERBS)))


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=25), seed=st.integers(0, 9))
def test_pairs_are_new_distinct_and_of_the_sentences(rows, seed):
    try:
        recombine(rows, 10_000, seed)
    except BadInput as error:
        most = int(str(error).rpartition("allow for ")[2].split()[0])
    pairs = recombine(rows, most, seed)
    keys = [(squeezed(one), squeezed(other)) for one, other in pairs]
    assert len(set(keys)) == len(keys) == most
    assert not set(keys) & {(squeezed(one), squeezed(other)) for one, other in rows}
    assert all(one != other for one, other in keys)
    known = {text for row in rows for text in row}
    assert {text for pair in pairs for text in pair} <= known
    assert recombine(rows, most, seed) == pairs


def distinct(count):
    return [(f"a dog{i % 37} runs here{i % 31}", f"some dog{7 * i % 37} sleeps there{i}") for i in range(count)]


def test_shares_are_as_told():
    rows = distinct(400)
    pairs = recombine(rows, 400, seed=1)
    firsts, seconds = {row[0] for row in rows}, {row[1] for row in rows}
    turned = set(rows) & {(b, a) for a, b in pairs}
    assert len(turned) == 20  # 5 %
    assert sum(a in seconds and b in seconds for a, b in pairs) == 120  # 30 %
    assert sum(a in firsts and b in seconds for a, b in pairs) == 260  # 60 % alike, 5 % at random


def test_alike_pairs_have_more_in_common_than_random_ones():
    rows = distinct(400)

    def common(pairs):
        return np.mean([len(set(a.split()[1:]) & set(b.split()[1:])) for a, b in pairs])

    firsts, seconds = {row[0] for row in rows}, [row[1] for row in rows]
    near = [pair for pair in recombine(rows, 400, seed=1) if pair[0] in firsts]
    random = np.random.default_rng(1)
    far = [(pair[0], seconds[random.integers(len(seconds))]) for pair in near]
    assert common(near) > 2 * common(far)


def test_nearest_by_hand():
    left, right = _tf_idf(["X y", "z", "x w", "y", "q"], 2)
    assert (left.shape[0], right.shape[0]) == (2, 3)
    # x and y are in two of five texts, the others in one: log(1 + 5/2) = 1.2528, log(1 + 5/1) = 1.7918.
    # "x y" and "y": 1 / sqrt(2); "x y" and "x w": 1.2528 / sqrt(2) / sqrt(1.2528^2 + 1.7918^2).
    assert (left @ right.T).toarray() == pytest.approx(np.array([[0.40519, 0.70711, 0], [0, 0, 0]]), abs=1e-4)
    assert np.concatenate(list(_nearest(left, right))).tolist() == [[0, 1], [0, 0]]


def test_nearest_is_brute_force_cosine():
    texts = [row[0] for row in distinct(60)] + [row[1] for row in distinct(60)]
    left, right = _tf_idf(texts, 60)
    norms = np.sqrt(np.square(left.toarray()).sum(axis=1))
    assert norms == pytest.approx(np.where(norms > 0, 1, 0), abs=1e-6)
    cosine = (left @ right.T).toarray()
    found = np.concatenate(list(_nearest(left, right)))
    for i in range(60):
        mine = found[found[:, 0] == i, 1]
        others = np.setdiff1d(np.arange(60), mine)
        assert len(mine) == min(40, (cosine[i] > 0).sum())
        assert not len(others) or not len(mine) or cosine[i, mine].min() >= cosine[i, others].max() - 2e-6


def test_other_seeds_make_other_pairs():
    rows = distinct(100)
    assert recombine(rows, 100, 1) != recombine(rows, 100, 2)


def test_the_seed_of_hashing_does_not_matter():
    code = (
        "from otherwords.training.data import recombine\n"
        "rows = [(f'a dog number{i} runs', f'some cat number{i % 7} sleeps') for i in range(60)]\n"
        "print(recombine(rows, 80, 3))"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1


def test_too_many_are_refused():
    with refuses(BadInput):
        recombine([("a", "b"), ("c", "d")], 9, 1)
