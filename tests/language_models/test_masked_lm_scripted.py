"""The scripted masked-LM: the probabilities of the script, by hand, through the surface of every masked-LM."""

from __future__ import annotations

import json
from math import exp, log

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput, WrongAnswer
from otherwords.language_models.masked_lm import load

TEXT = "A dog runs."


def script(folder, content) -> str:
    path = folder / "script.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return f"scripted:{path}"


@pytest.fixture
def model(tmp_path):
    content = {
        "A [MASK] runs.": [["cat", 0.5], ["##s", 0.2], ["dog", 0.1], [",", 0.05]],
        "A dog [MASK].": [["sleeps", 1]],
        "vocabulary": ["run", "horse"],
    }
    return load(script(tmp_path, content))


def test_it_proposes_what_the_script_says_best_first(model):
    found = model.fill([(TEXT, 2, 5)], top=4)
    assert [word for word, _ in found.words(0)] == ["cat", "-s", "dog", ","]
    np.testing.assert_allclose(found.logp[0], np.log([0.5, 0.2, 0.1, 0.05]), rtol=1e-6)
    assert found.own[0] == pytest.approx(log(0.1))


def test_what_a_list_leaves_is_shared_by_all_other_tokens(model):
    """Nine tokens: [UNK], [MASK], cat, ##s, dog, the comma, sleeps, run, horse; 0.15 for five of them."""
    found = dict(model.fill([(TEXT, 2, 5)], top=99).words(0))
    assert len(found) == len(model.vocabulary) == 9
    assert exp(found["horse"]) == pytest.approx(0.03)
    assert sum(map(exp, found.values())) == pytest.approx(1)


def test_words_are_one_token_several_or_none(model):
    """run+##s is several; purrs is in no list and has no pieces."""
    items = [("A dog runs.", 6, 10), ("A dog purrs.", 6, 11), ("A dog sleeps.", 6, 12)]
    assert model.fill(items).one_token.tolist() == [False, False, True]


def test_a_word_of_several_tokens_is_as_likely_as_its_pieces_in_turn(tmp_path):
    content = {
        "A [MASK] [MASK] falls.": [["skate", 0.2], ["foot", 0.1]],
        "A skate [MASK] falls.": [["##board", 0.5]],
        "A [MASK] falls.": [["bike", 0.3]],
    }
    found = load(script(tmp_path, content)).word_logp([("A skateboard falls.", 2, 12), ("A bike falls.", 2, 6)])
    np.testing.assert_allclose(np.exp(found), [0.2 * 0.5, 0.3], rtol=1e-6)


def test_what_is_impossible_comes_last(model):
    found = model.fill([("A dog runs.", 6, 10)], top=99)
    assert found.words(0)[0] == ("sleeps", 0.0)
    assert np.isneginf(found.logp[0, 1:]).all()


def test_a_text_without_an_entry_is_named(model):
    with refuses(WrongAnswer):
        model.fill([("The dog runs.", 4, 7)])


def test_any_depends_on_the_text_and_the_seed_alone(tmp_path):
    spec = script(tmp_path, {"vocabulary": ["dog", "cat", "cow"]})
    texts = [("The dog runs.", 4, 7), ("A dog runs.", 2, 5)]
    one, again, other = (load(f"{spec}(otherwise=any, seed={seed})").fill(texts) for seed in (1, 1, 2))
    assert one.logp.tobytes() == again.logp.tobytes()
    assert one.logp.tobytes() != other.logp.tobytes()
    assert one.logp[0].tolist() != one.logp[1].tolist()
    alone = load(f"{spec}(otherwise=any, seed=1)").fill(texts[1:])
    assert alone.logp.tobytes() == one.logp[1:].tobytes()


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        ["dog"],
        {"A dog runs.": []},
        {"A [MASK].": {"dog": 1}},
        {"A [MASK].": [["dog", 1.5]]},
        {"A [MASK].": [["dog", 0.7], ["cat", 0.7]]},
        {"A [MASK].": [["dog", 0.1], ["dog", 0.1]]},
        {"vocabulary": "dog"},
    ],
)
def test_scripts_that_cannot_be_used(tmp_path, content):
    with refuses(BadInput):
        load(script(tmp_path, content))


def test_bad_options(tmp_path):
    with refuses(BadInput):
        load("scripted:nowhere.json")
    with refuses(BadInput):
        load(f"{script(tmp_path, {'vocabulary': []})}(otherwise=guess)")
