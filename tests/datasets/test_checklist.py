"""CheckList's suites: `data` is a list of groups for INV, Perturb keeps the original first, labels are one or many."""

from __future__ import annotations

import json

import pytest

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
        r"suite\.json: 5 of 7 entries are no variants: 1 from DIR tests, 2 from MFT tests, "
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
    with pytest.raises(BadInput, match=r"test 'synonyms', case 1, example 2: no label: .* as --with recorded:FILE"):
        ow.load(f"checklist:{path}")
    assert [one.label for one in rewordings(path)] == [None, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"\x80\x04\x95\x10",
            r"suite\.json: is a pickle, which runs code when it is read; save it as JSON .*json\.dump",
        ),
        (
            b"('A dog.', 'It.')\n('A hound.', 'It.')",
            r"to_raw_file\) does not keep which examples belong together; save",
        ),
        (b'["A dog.", "It."]\n["A hound.", "It."]', r"line 2: broken JSON: .* does not keep which examples belong tog"),
        (
            {"premise": ["a"], "test_name": ["x"], "test_case": [0], "example_idx": [0]},
            r"comes from to_dict, which kee",
        ),
        ({}, r"holds no tests as in \{name: \{type, data, labels\}\}"),
        ([], r"holds no tests as in"),
        ({"a": {"type": "INV"}}, r"holds no tests as in"),
        ({"a": {"type": "ABC", "data": []}}, r"holds no tests as in .* type one of INV, MFT, DIR; save"),
        ({"a": {"type": "INV", "data": []}}, r"holds no rewordings"),
        ({"a": {**INV, "labels": [1, 2]}}, r"case 1: labels: found 2 for 1 test cases; give one for all, or one for"),
        ({"a": {**INV, "labels": [[1, 1]]}}, r"case 1: found 2 labels for 3 examples"),
        (
            {"a": {**INV, "data": [["A dog.", "A hound."]]}},
            r"case 1: a test case is a list of examples, each \[premise",
        ),
        ({"a": {**INV, "data": ["A dog."]}}, r"case 1: a test case is a list of examples"),
        ({"a": {**INV, "data": [[]]}}, r"case 1: a test case is a list of examples"),
        ({"a": {**INV, "data": [[["P.", "H."], ["P.", 3]]]}}, r"case 1: a test case is a list of examples"),
    ],
)
def test_files_that_cannot_be_used(saved, content, message):
    with pytest.raises(BadInput, match=message):
        ow.load(f"checklist:{saved(content)}", labels={"1": "entailment"})
