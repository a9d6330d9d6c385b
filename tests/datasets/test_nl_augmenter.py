"""NL-Augmenter's test.json, as its TestRunner reads it and its contributors write it."""

from __future__ import annotations

import json
import re

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.nl_augmenter import rewordings
from otherwords.errors import BadInput

PAIR = {"sentence1": "Andrew has returned the book.", "sentence2": "He brought it back.", "target": "1"}
OTHER = {**PAIR, "sentence1": "Andrew returned the book."}
CASE = {"class": "Tenses", "args": {"n": 2}, "inputs": PAIR, "outputs": [OTHER]}


@pytest.fixture
def cases(tmp_path):
    def write(*some):
        path = tmp_path / "test.json"
        path.write_text(json.dumps({"type": "tenses", "test_cases": some}), encoding="utf-8")
        return path

    return write


def test_pairs_are_a_suite(cases, take):
    two = {**CASE, "outputs": [OTHER, {**PAIR, "sentence2": "It is back. “Zoë”"}]}
    rows, _ = take(f'nl_augmenter:{cases(two)}(labels=["neutral", "entailment"])', "nli")
    name = rows[0]["id"]
    assert re.fullmatch("[0-9a-f]{16}", name)
    assert [(r["id"], r["of"], r["premise"], r["hypothesis"], r["label"]) for r in rows] == [
        (name, None, PAIR["sentence1"], PAIR["sentence2"], "entailment"),
        (rows[1]["id"], name, OTHER["sentence1"], PAIR["sentence2"], "entailment"),
        (rows[2]["id"], name, PAIR["sentence1"], "It is back. “Zoë”", "entailment"),
    ]
    assert (rows[1]["transformation"], rows[1]["args"]) == ("Tenses", '{"n": 2}')


def test_ids_are_kept(cases, take):
    rows, _ = take(f'nl_augmenter:{cases({**CASE, "id": 7})}(labels=["neutral", "entailment"])', "nli")
    assert [row["of"] for row in rows] == [None, "7"]
    assert re.fullmatch(r"7~nl_augmenter\.[0-9a-f]{8}\.1", rows[1]["id"])


def test_some_cases_have_ids_and_some_have_none(cases, take):
    """The first case without an id was once called 1, which may be the id of another."""
    other = {"sentence1": "It rains.", "sentence2": "It is wet.", "target": "1"}
    plain = {"class": "T", "inputs": other, "outputs": [{**other, "sentence1": "It pours."}]}
    rows, _ = take(f'nl_augmenter:{cases(plain, {**CASE, "id": 1})}(labels=["neutral", "entailment"])', "nli")
    assert [row["of"] is None for row in rows] == [True, False, True, False]
    assert rows[2]["id"] == "1"


def test_targets_are_compared_whatever_their_writing(cases, take):
    pair, other = ({**texts, "target": target} for texts, target in ((PAIR, "Entailment"), (OTHER, "entailment ")))
    rows, _ = take(f"nl_augmenter:{cases({**CASE, 'inputs': pair, 'outputs': [other]})}", "nli")
    assert [row["label"] for row in rows] == ["entailment"] * 2


def test_another_target_is_no_rewording(cases, take):
    negated = {"sentence1": "Andrew has not returned the book.", "sentence2": PAIR["sentence2"], "target": "0"}
    path = cases({**CASE, "outputs": [OTHER, negated, PAIR]}, {"class": "Long", "inputs": PAIR, "outputs": True})
    expected = r"3 of 4 entries are not variants: 1 by a filter, 1 unchanged, 1 with another target"
    with pytest.warns(UserWarning, match=expected):
        rows, _ = take(f'nl_augmenter:{path}(labels=["neutral", "entailment"])', "nli")
    assert [row["of"] for row in rows] == [None, rows[0]["id"]]


def test_one_sentence_alone_is_no_problem(cases):
    path = cases({"class": "Typos", "inputs": {"sentence": "A dog."}, "outputs": [{"sentence": "A dgo."}]})
    (one,) = rewordings(path)
    assert (one.original, one.reworded) == ({"": "A dog."}, {"": "A dgo."})
    with refuses(BadInput):
        ow.load(f"nl_augmenter:{path}")


@pytest.mark.parametrize(
    "case",
    [
        "text",
        {"inputs": {}, "outputs": []},
        {"inputs": {"tokens": ["a"]}, "outputs": []},
        {"inputs": PAIR, "outputs": ["text"]},
        {"inputs": PAIR, "outputs": [{"sentence": "x"}]},
        {"inputs": PAIR, "outputs": "text"},
        {"inputs": PAIR},
        {"inputs": PAIR, "outputs": []},
    ],
)
def test_cases_that_cannot_be_used(cases, case):
    with refuses(BadInput):
        ow.load(f"nl_augmenter:{cases(case)}", labels={"1": "entailment"})


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"test_cases": 3}',
        '{\n"test_cases": [',
    ],
)
def test_files_that_cannot_be_used(tmp_path, content):
    (tmp_path / "t.json").write_text(content)
    with refuses(BadInput):
        ow.load(f"nl_augmenter:{tmp_path / 't.json'}")
