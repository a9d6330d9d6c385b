"""What is tested on and what is learnt from never meet, whatever the data, the case and the spacing."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.training.data import gather, split, squeezed
from otherwords.training.recipe import Recipe

from .conftest import LABELS, problems

#: Few words, so that rows share texts; in several spellings, so that this takes more than `==`.
TEXT = st.builds(
    lambda words, join, loud: join.join(words).upper() if loud else join.join(words),
    st.lists(st.sampled_from(["a", "dog", "Straße", "İ"]), min_size=1, max_size=2),
    st.sampled_from([" ", "  ", "\t", " \u00a0"]),
    st.booleans(),
)
ROWS = st.lists(st.tuples(TEXT, TEXT, st.sampled_from([*LABELS, "-"])), min_size=1, max_size=12)


def plainly(text: str) -> str:
    """As the recipe says it, said once more: case folded, runs of white space squeezed."""
    return "".join(" " if letter.isspace() else letter for letter in text.casefold()).strip()


def squeeze(text: str) -> str:
    while "  " in (text := plainly(text)):
        text = text.replace("  ", " ")
    return text


@given(TEXT)
def test_texts_are_compared_without_case_and_spacing(text):
    assert squeezed(text) == squeeze(text) == squeezed(f" {text}\n".lower())


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, tests=ROWS, objective=st.sampled_from(["nli", "masked-lm"]))
def test_no_row_is_learnt_that_shares_a_text_with_a_test(tmp_path_factory, rows, tests, objective):
    folder = tmp_path_factory.mktemp("apart")
    data, without = problems(folder / "data.jsonl", rows), problems(folder / "test.jsonl", tests)
    seen = {squeeze(text) for row in tests for text in row[:2]}
    allowed = [row for row in rows if row[2] != "-" and not {squeeze(row[0]), squeeze(row[1])} & seen]
    recipe = Recipe(data=[data], without=[without], valid=0.0)
    if not allowed:
        with refuses(BadInput):
            gather(recipe, objective)
        return
    found = gather(recipe, objective)
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
    train, valid = split(rows, keys, share, seed)
    assert sorted(train + valid) == rows
    assert not {key for _, key in train} & {key for _, key in valid}
    assert len(valid) >= round(share * len(rows))
    largest = max(keys.count(key) for key in keys)
    assert len(valid) < round(share * len(rows)) + largest + 1
    shuffled = rows.copy()
    order.shuffle(shuffled)
    assert set(split(shuffled, [key for _, key in shuffled], share, seed)[1]) == set(valid)


def test_seeds_split_differently():
    rows = [f"{i} text" for i in range(200)]
    splits = {tuple(split(rows, rows, 0.1, seed)[1]) for seed in range(5)}
    assert len(splits) == 5
    assert {len(valid) for valid in splits} == {20}


def test_nothing_left_to_train_on_is_refused():
    with refuses(BadInput):
        split(["a", "A "], ["a", "A "], 0.1, 1)
    with refuses(BadInput):
        split(["a", "b"], ["a", "b"], 1.5, 1)


def test_rows_without_label_and_without_text_are_counted(tmp_path):
    rows = [
        ["A", "B", "neutral"],
        ["C", "D", "-"],
        ["", "E", "neutral"],
        ["F", " ", "entailment"],
        ["G", "H", "neutral"],
    ]
    found = gather(Recipe(data=[problems(tmp_path / "data.jsonl", rows)], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("G", "H")]
    assert found.reasons == {"no majority label": 1, "empty text": 2}
    assert [row["where"] for row in found.left_out] == [f"{tmp_path / 'data.jsonl'}, line {n}" for n in (3, 4)]


def test_texts_of_test_rows_without_label_or_with_one_text_stay_unseen(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "neutral"], ["E", "F", "neutral"]])
    test = problems(tmp_path / "test.jsonl", [["b", "x", "-"], ["", " c ", "neutral"]])
    found = gather(Recipe(data=[data], without=[test], valid=0.0))
    assert [row.texts for row in found.train] == [("E", "F")]
    assert found.reasons["shares a text with `without`"] == 2


def test_a_test_that_cannot_be_read_whole_is_refused(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"]])
    for line, said in (("{", "broken JSON"), ('{"premise": "A"}', "has no column premise or no hypothesis")):
        (tmp_path / "test.jsonl").write_text(line + "\n")
        with refuses(BadInput):
            gather(Recipe(data=[data], without=[str(tmp_path / "test.jsonl")]))


def test_data_sets_are_read_together_each_with_ids_of_its_own(tmp_path):
    for name, texts in (("one", ("A", "B")), ("two", ("C", "D"))):
        row = {"id": "1", "premise": texts[0], "hypothesis": texts[1], "label": "neutral"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    found = gather(Recipe(data=[str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("C", "D")]


def test_validation_sets_take_their_premises_out_of_training(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "neutral"], ["E", "c", "neutral"]])
    valid = problems(tmp_path / "valid.jsonl", [["c ", "X", "entailment"], ["Y", "Z", "-"]])
    found = gather(Recipe(data=[data], valid=[valid]))
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
    found = gather(Recipe(data=[data], valid=[valid], valid_fields=["hypothesis"]), "masked-lm")
    assert [row.texts for row in found.train] == [("A",), ("B",), ("C",)]
    assert [row.texts for row in found.valid] == [("X",), ("Z",)]
    with refuses(BadInput):
        gather(Recipe(data=[data], valid=[valid], valid_fields=["update"]), "masked-lm")


def test_bad_rows_are_refused_unless_told(tmp_path):
    data = problems(tmp_path / "data.jsonl", [["A", "B", "neutral"], ["C", "D", "perhaps"]])
    with refuses(BadInput):
        gather(Recipe(data=[data], valid=0.0))
    found = gather(Recipe(data=[data], valid=0.0, skip_bad=True))
    assert found.reasons["bad row"] == 1


def test_controls_are_not_learnt(tmp_path):
    rows = [
        {"id": "1", "premise": "A", "hypothesis": "B", "label": "neutral"},
        {"id": "2", "of": "1", "premise": "A", "hypothesis": "C", "label": "neutral", "control": "shuffled"},
        {"id": "3", "of": "1", "premise": "A", "hypothesis": "D", "label": "neutral"},
    ]
    (tmp_path / "suite.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = gather(Recipe(data=[str(tmp_path / "suite.jsonl")], valid=0.0))
    assert [row.texts for row in found.train] == [("A", "B"), ("A", "D")]
    assert found.reasons["is a control"] == 1
