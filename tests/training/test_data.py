"""Training rows: apart from test and validation data whatever the case and spacing; recombined into new pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.training.data import _nearest, _tf_idf, collect_rows, normalized, recombine, split_rows
from otherwords.training.recipe import Recipe

from .conftest import LABELS, NOUNS, VERBS, problems

#: Few words, so that rows share texts; in several spellings, so that this takes more than `==`.
TEXT = st.builds(
    lambda words, join, loud: join.join(words).upper() if loud else join.join(words),
    st.lists(st.sampled_from(["a", "dog", "Straße", "İ"]), min_size=1, max_size=2),
    st.sampled_from([" ", "  ", "\t", " \u00a0"]),
    st.booleans(),
)
ROWS = st.lists(st.tuples(TEXT, TEXT, st.sampled_from([*LABELS, "-"])), min_size=1, max_size=12)


def plainly(text: str) -> str:
    """The rule of the recipe, written once more: case folded, runs of white space as one space."""
    return "".join(" " if letter.isspace() else letter for letter in text.casefold()).strip()


def expected(text: str) -> str:
    while "  " in (text := plainly(text)):
        text = text.replace("  ", " ")
    return text


@given(TEXT)
def test_texts_are_compared_without_case_and_spacing(text):
    assert normalized(text) == expected(text) == normalized(f" {text}\n".lower())


@settings(max_examples=at_most(25), deadline=None)
@given(rows=ROWS, tests=ROWS, objective=st.sampled_from(["nli", "masked-lm"]))
def test_no_row_is_learnt_that_shares_a_text_with_a_test(tmp_path_factory, rows, tests, objective):
    folder = tmp_path_factory.mktemp("apart")
    data, without = problems(folder / "data.jsonl", rows), problems(folder / "test.jsonl", tests)
    seen = {expected(text) for row in tests for text in row[:2]}
    allowed = [row for row in rows if row[2] != "-" and not {expected(row[0]), expected(row[1])} & seen]
    recipe = Recipe(data=[data], without=[without], valid=0.0)
    if not allowed:
        with refuses(BadInput):
            collect_rows(recipe, objective)
        return
    found = collect_rows(recipe, objective)
    if objective == "nli":
        assert [(*row.texts, row.label) for row in found.train] == allowed
    else:
        assert [row.texts[0] for row in found.train] == list(dict.fromkeys(t for row in allowed for t in row[:2]))
    assert found.reasons.total() == len(rows) - len(allowed)


@given(
    keys=st.lists(st.sampled_from("abcdefghij"), min_size=12, max_size=60),
    share=st.floats(0.01, 0.3),
    seed=st.integers(0, 99),
    order=st.randoms(use_true_random=False),
)
def test_a_split_keeps_keys_together_whatever_the_order(keys, share, seed, order):
    rows = list(enumerate(keys))
    if len(set(keys)) < 10:
        return
    train, valid = split_rows(rows, keys, share, seed)
    assert sorted(train + valid) == rows
    assert not {key for _, key in train} & {key for _, key in valid}
    assert len(valid) >= round(share * len(rows))
    largest = max(keys.count(key) for key in keys)
    assert len(valid) < round(share * len(rows)) + largest + 1
    shuffled = rows.copy()
    order.shuffle(shuffled)
    assert set(split_rows(shuffled, [key for _, key in shuffled], share, seed)[1]) == set(valid)


def test_seeds_split_differently():
    rows = [f"{i} text" for i in range(200)]
    splits = {tuple(split_rows(rows, rows, 0.1, seed)[1]) for seed in range(5)}
    assert len(splits) == 5
    assert {len(valid) for valid in splits} == {20}


def test_nothing_left_to_train_on_is_refused():
    with refuses(BadInput, field="valid"):
        split_rows(["a", "A "], ["a", "A "], 0.1, 1)
    with refuses(BadInput, field="valid"):
        split_rows(["a", "b"], ["a", "b"], 1.5, 1)


def test_rows_without_label_and_without_text_are_counted(tmp_path):
    rows = [
        ["A", "B", "neutral"],
        ["C", "D", "-"],
        ["", "E", "neutral"],
        ["F", " ", "entailment"],
        ["G", "H", "neutral"],
    ]
    found = collect_rows(Recipe(data=[problems(tmp_path / "data.jsonl", rows)], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("G", "H")]
    assert found.reasons == {"no majority label": 1, "empty text": 2}
    assert [row["where"] for row in found.left_out] == [f"{tmp_path / 'data.jsonl'}, line {n}" for n in (3, 4)]


def test_texts_of_test_rows_without_label_or_with_one_text_stay_unseen(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "neutral"], ["E", "F", "neutral"]])
    test = problems(tmp_path / "test.jsonl", [["b", "x", "-"], ["", " c ", "neutral"]])
    found = collect_rows(Recipe(data=[data], without=[test], valid=0.0))
    assert [row.texts for row in found.train] == [("E", "F")]
    assert found.reasons["shares a text with `without`"] == 2


def test_a_test_that_cannot_be_read_whole_is_refused(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"]])
    for line in ("{", '{"premise": "A"}'):
        (tmp_path / "test.jsonl").write_text(line + "\n")
        with refuses(BadInput, where=f"{tmp_path / 'test.jsonl'}, line 1"):
            collect_rows(Recipe(data=[data], without=[str(tmp_path / "test.jsonl")]))


def test_data_sets_are_read_together_each_with_its_own_ids(tmp_path):
    for name, texts in (("one", ("A", "B")), ("two", ("C", "D"))):
        row = {"id": "1", "premise": texts[0], "hypothesis": texts[1], "label": "neutral"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    found = collect_rows(Recipe(data=[str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("C", "D")]


def test_validation_sets_take_their_premises_out_of_training(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "neutral"], ["E", "c", "neutral"]])
    valid = problems(tmp_path / "valid.jsonl", [["c ", "X", "entailment"], ["Y", "Z", "-"]])
    found = collect_rows(Recipe(data=[data], valid=[valid]))
    assert [row.texts for row in found.train] == [("A", "B"), ("E", "c")]
    assert [row.texts for row in found.valid] == [("c ", "X")]
    assert found.reasons == {
        "no majority label in `valid`": 1,
        "shares a premise with `valid`": 1,
        "no majority label": 0,
    }


def test_validation_of_a_masked_lm_may_look_at_one_field(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "x", "neutral"]])
    valid = problems(tmp_path / "valid.jsonl", [["C", "X", "entailment"], ["C", "Z", "neutral"]])
    found = collect_rows(Recipe(data=[data], valid=[valid], valid_fields=["hypothesis"]), "masked-lm")
    assert [row.texts for row in found.train] == [("A",), ("B",), ("C",)]
    assert [row.texts for row in found.valid] == [("X",), ("Z",)]
    with refuses(BadInput, field="valid_fields"):
        collect_rows(Recipe(data=[data], valid=[valid], valid_fields=["update"]), "masked-lm")


def test_bad_rows_are_refused_by_default(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "perhaps"]])
    with refuses(BadInput):
        collect_rows(Recipe(data=[data], valid=0.0))
    found = collect_rows(Recipe(data=[data], valid=0.0, skip_bad=True))
    assert found.reasons["bad row"] == 1


def test_controls_are_not_learnt(tmp_path):
    rows = [
        {"id": "1", "premise": "A", "hypothesis": "B", "label": "neutral"},
        {"id": "2", "of": "1", "premise": "A", "hypothesis": "C", "label": "neutral", "control": "shuffled"},
        {"id": "3", "of": "1", "premise": "A", "hypothesis": "D", "label": "neutral"},
    ]
    (tmp_path / "suite.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = collect_rows(Recipe(data=[str(tmp_path / "suite.jsonl")], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("A", "D")]
    assert found.reasons["is a control"] == 1


# Recombined pairs

SENTENCE = st.builds(" ".join, st.tuples(st.sampled_from(["a", "A"]), st.sampled_from(NOUNS), st.sampled_from(VERBS)))


@settings(max_examples=at_most(30), deadline=None)
@given(rows=st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=25), seed=st.integers(0, 9))
def test_pairs_are_new_distinct_and_of_the_sentences(rows, seed):
    try:
        recombine(rows, 10_000, seed)
    except BadInput as error:
        most = int(error.fix.split()[-1])
    pairs = recombine(rows, most, seed)
    keys = [(normalized(one), normalized(other)) for one, other in pairs]
    assert len(set(keys)) == len(keys) == most
    assert not set(keys) & {(normalized(one), normalized(other)) for one, other in rows}
    assert all(one != other for one, other in keys)
    known = {text for row in rows for text in row}
    assert {text for pair in pairs for text in pair} <= known
    assert recombine(rows, most, seed) == pairs


def distinct(count):
    return [(f"a dog{i % 37} runs here{i % 31}", f"some dog{7 * i % 37} sleeps there{i}") for i in range(count)]


def test_shares_are_as_documented():
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
        nearest = found[found[:, 0] == i, 1]
        others = np.setdiff1d(np.arange(60), nearest)
        assert len(nearest) == min(40, (cosine[i] > 0).sum())
        assert not len(others) or not len(nearest) or cosine[i, nearest].min() >= cosine[i, others].max() - 2e-6


def test_other_seeds_make_other_pairs():
    rows = distinct(100)
    assert recombine(rows, 100, 1) != recombine(rows, 100, 2)


def test_too_many_are_refused():
    with refuses(BadInput, field="recombine"):
        recombine([("a", "b"), ("c", "d")], 9, 1)
