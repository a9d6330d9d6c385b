"""CheckList's suites: `data` is a list of groups for INV, Perturb keeps the original first, labels are one or many."""

from __future__ import annotations

import json

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.checklist import rewordings
from otherwords.errors import BadInput

GROUP = [["A dog runs.", "It moves."], ["A hound runs.", "It moves."], ["A dog runs.", "It is in motion."]]
INV = {"type": "INV", "data": [GROUP], "labels": 1, "capability": "Vocabulary"}
LABELS = '(labels=["contradiction", "entailment", "neutral"])'


@pytest.fixture
def saved(tmp_path):
    def write(suite, name="suite.json"):
        path = tmp_path / name
        path.write_bytes(suite if isinstance(suite, bytes) else json.dumps(suite).encode())
        return path

    return write


def test_groups_are_buckets(saved, take):
    dicts = [{"premise": "P.", "hypothesis": "H."}, {"premise": "P!", "hypothesis": "H."}]
    suite = {"synonyms": INV, "marks": {"type": "inv", "data": [dicts], "labels": [2]}}
    rows, _ = take(f"checklist:{saved(suite)}{LABELS}", "nli")
    dogs, marks = rows[0]["id"], rows[3]["id"]
    assert [(r["of"], r["how"], r["premise"], r["hypothesis"], r["label"]) for r in rows] == [
        (None, None, "A dog runs.", "It moves.", "entailment"),
        (dogs, "checklist", "A hound runs.", "It moves.", "entailment"),
        (dogs, "checklist", "A dog runs.", "It is in motion.", "entailment"),
        (None, None, "P.", "H.", "neutral"),
        (marks, "checklist", "P!", "H.", "neutral"),
    ]
    assert [row["id"].rpartition("~checklist.")[0] for row in rows] == ["", dogs, dogs, "", marks]
    assert (rows[1]["test"], rows[1]["capability"], rows[4]["test"]) == ("synonyms", "Vocabulary", "marks")


def test_what_is_no_rewording_is_counted(saved, take):
    suite = {
        "synonyms": {**INV, "data": [GROUP, GROUP[:1], GROUP[:2]], "labels": [1, 1, [1, 0]]},
        "basics": {"type": "MFT", "data": [["P.", "H."], ["P.", "G."]], "labels": [0, 1]},
        "negation": {"type": "DIR", "data": [GROUP], "labels": None},
    }
    expected = (
        r"suite\.json: 5 of 7 entries are not variants: 1 from DIR tests, 2 from MFT tests, "
        r"1 with another label, 1 without a perturbation"
    )
    with pytest.warns(UserWarning, match=expected):
        rows, _ = take(f"checklist:{saved(suite)}{LABELS}", "nli")
    assert [row["of"] for row in rows] == [None, rows[0]["id"], rows[0]["id"]]


def test_labels_are_compared_whatever_their_writing(saved, take):
    suite = {"synonyms": {**INV, "labels": [["Neutral", "neutral", "NEUTRAL "]]}, "again": {**INV, "labels": "neutral"}}
    rows, _ = take(f"checklist:{saved(suite)}", "nli")
    assert [row["label"] for row in rows] == ["neutral"] * 5  # one original, four variants


def test_without_labels_it_is_no_data_set(saved):
    path = saved({"synonyms": {**INV, "labels": None}})
    with refuses(BadInput):
        ow.load(f"checklist:{path}")
    assert [one.label for one in rewordings(path)] == [None, None]


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x95\x10",
        b"('A dog.', 'It.')\n('A hound.', 'It.')",
        b'["A dog.", "It."]\n["A hound.", "It."]',
        {"premise": ["a"], "test_name": ["x"], "test_case": [0], "example_idx": [0]},
        {},
        [],
        {"a": {"type": "INV"}},
        {"a": {"type": "ABC", "data": []}},
        {"a": {"type": "INV", "data": []}},
        {"a": {**INV, "labels": [1, 2]}},
        {"a": {**INV, "labels": [[1, 1]]}},
        {"a": {**INV, "data": [["A dog.", "A hound."]]}},
        {"a": {**INV, "data": ["A dog."]}},
        {"a": {**INV, "data": [[]]}},
        {"a": {**INV, "data": [[["P.", "H."], ["P.", 3]]]}},
    ],
)
def test_files_that_cannot_be_used(saved, content):
    with refuses(BadInput):
        ow.load(f"checklist:{saved(content)}", labels={"1": "entailment"})
