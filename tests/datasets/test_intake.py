"""Intake: every kind of bad row is refused with its place, its field, what is wrong and how to fix it."""

from __future__ import annotations

import json
import random
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.datasets.columns import pieces
from otherwords.datasets.intake import Intake
from otherwords.datasets.records import Dataset, Record
from otherwords.datasets.seen_ids import SeenIds, SeenOriginal
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Task
from otherwords.storage.files import digest

NLI = TASKS["nli"]
GOOD = {"premise": "A man sleeps.", "hypothesis": "Somebody sleeps.", "label": "entailment"}


def records(*rows):
    return [Record(f"f.jsonl, line {number}", row) for number, row in enumerate(rows, 1)]


def taken(*rows, task=NLI, **options):
    intake = Intake(task, **options)
    return list(intake.rows(records(*rows))), intake


def without(name, row=GOOD):
    return {key: value for key, value in row.items() if key != name}


# What is refused: the row, the field at fault, and what its reason mentions.

BAD = {
    "missing column": (without("premise"), "premise", "no such column"),
    "missing label": (without("label"), "label", "found nothing, but other rows have a label"),
    "wrong column": ({**without("premise"), "Premise": "A."}, "premise", "no such column"),
    "unknown label": ({**GOOD, "label": "maybe"}, "label", "'maybe'"),
    "no label": ({**GOOD, "label": None}, "label", "found nothing"),
    "label of a number": ({**GOOD, "label": 0}, "label", "labels={0: ...}"),
    "empty label": ({**GOOD, "label": ""}, "label", "found nothing"),
    "blank label": ({**GOOD, "label": " \t"}, "label", "found nothing"),
    "contrast without a label": ({**GOOD, "label": None, "contrast": "mine"}, "label", "a contrast without a label"),
    "empty text": ({**GOOD, "hypothesis": ""}, "hypothesis", "empty text"),
    "blank text": ({**GOOD, "hypothesis": " \t\u3000\n"}, "hypothesis", "empty text"),
    "null text": ({**GOOD, "premise": None}, "premise", "empty text"),
    "number for text": ({**GOOD, "premise": 12}, "premise", "12"),
    "list for text": ({**GOOD, "premise": ["A."]}, "premise", "['A.']"),
    "empty id": ({**GOOD, "id": " "}, "id", "nothing"),
    "null id": ({**GOOD, "id": None}, "id", "nothing"),
    "of itself": ({**GOOD, "id": "x", "of": "x"}, "of", "'x'"),
    "half a character": ({**GOOD, "premise": "a \ud83d b"}, "premise", "unpaired surrogate"),
    "half a character in another column": ({**GOOD, "note": ["\ud83d"]}, "note", "unpaired surrogate"),
    "half a character in a name": ({**GOOD, "a\ud83d": 1}, "a\ud83d", r": 'a\ud83d': found an unpaired surrogate"),
    "NUL in a name": ({**GOOD, "a\0b": 1}, "a\0b", r": 'a\x00b': found a NUL character"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_refused_or_left_out_with_its_reason(name):
    row, field, mentioned = BAD[name]
    with refuses(BadInput, where="f.jsonl, line 2", field=field, exit_code=2):
        taken({**GOOD, "id": "first"}, row)
    rows, intake = taken({**GOOD, "id": "first"}, row, {**GOOD, "id": "last"}, skip_bad=True)
    assert [one["id"] for one in rows] == ["first", "last"]
    (kept,) = intake.rejected
    assert (kept["where"], kept["field"], kept["row"]) == ("f.jsonl, line 2", field, row)
    assert mentioned in kept["reason"]
    assert kept["reason"].isprintable()
    assert json.loads(json.dumps(kept)) == kept
    assert intake.accepted == 2


@pytest.mark.parametrize("label", [None, "", " "])
def test_problems_may_all_come_without_a_label(label):
    bare = {**GOOD, "label": label}
    rows, intake = taken({**bare, "id": "v", "of": "o"}, {**bare, "id": "o"}, {**bare, "id": "w", "of": "o"})
    assert [(row["id"], row["label"]) for row in rows] == [("o", None), ("v", None), ("w", None)]
    assert (intake.accepted, intake.unlabelled) == (3, 3)
    assert taken(GOOD)[1].unlabelled == 0


def test_data_without_a_column_of_labels_say_which_option_would_map_one():
    with pytest.warns(UserWarning, match="no column `label`.*columns={.label.: COLUMN}"):
        rows, intake = taken(without("label"), without("label"))
    assert [row["label"] for row in rows] == [None, None]
    assert intake.unlabelled == 2


def test_a_mapped_column_of_labels_must_be_there():
    with refuses(BadInput, where="f.jsonl, line 1", field="label"):
        taken(without("label"), columns={"label": "gold_label"})


def test_a_label_after_rows_without_one_is_refused_or_they_are_left_out():
    """An accuracy of the labelled rows would look like that of all."""
    some = [{**GOOD, "label": None}, without("label"), GOOD, {**GOOD, "label": ""}, GOOD]
    with refuses(BadInput, where="f.jsonl, line 3", field="label"):
        taken(*some)
    rows, intake = taken(*some, skip_bad=True)
    assert [(row["id"], row["label"]) for row in rows] == [("3", "entailment"), ("5", "entailment")]
    assert [bad["where"] for bad in intake.rejected] == [f"f.jsonl, line {number}" for number in (1, 2, 4)]
    assert {bad["field"] for bad in intake.rejected} == {"label"}
    assert intake.unlabelled == 0


def test_data_without_labels_are_kept_whole_where_bad_rows_are_left_out():
    contrast = {**GOOD, "id": "c", "contrast": "mine"}
    rows, intake = taken(
        {**GOOD, "label": ""}, contrast, {**GOOD, "premise": "", "label": ""}, {**GOOD, "label": ""}, skip_bad=True
    )
    assert [row["id"] for row in rows] == ["1", "c", "4"]
    assert (intake.unlabelled, len(intake.rejected)) == (2, 1)


def test_values_of_any_kind_outlast_the_search_for_a_label():
    values = {"day": date(2026, 1, 2), "n": 1.0, "many": ["ü", None], "half": "🙂", "nested": {"a": (1, 2)}}
    rows, _ = taken({**GOOD, "label": "", **values}, {**GOOD, "label": "", "n": 2}, skip_bad=True)
    assert {name: rows[0][name] for name in values} == {name: taken({**GOOD, **values})[0][0][name] for name in values}


def test_a_variant_without_the_label_of_its_original_is_refused_whichever_comes_first():
    original, variant = {**GOOD, "id": "o"}, {**GOOD, "id": "v", "of": "o", "label": None}
    with refuses(BadInput, where="f.jsonl, line 2", field="label"):
        taken(original, variant)
    with refuses(BadInput, where="f.jsonl, line 2", field="label"):
        taken(variant, original)


def test_contrasts_have_labels_beside_problems_without():
    suite = [
        {**GOOD, "id": "o", "contrast": "mine"},
        {**GOOD, "id": "c", "of": "o", "contrast": "mine", "label": "neutral"},
    ]
    rows, intake = taken({**GOOD, "id": "p", "label": None}, *suite, {**GOOD, "id": "q", "label": None})
    assert [row["label"] for row in rows] == [None, "entailment", "neutral", None]
    assert intake.unlabelled == 2


def test_labels_may_be_needed_or_not_matter():
    with refuses(BadInput, where="f.jsonl, line 1", field="label"):
        taken(without("label"), gold="all")
    rows, _ = taken(without("label"), GOOD, {**GOOD, "label": ""}, gold="any")
    assert [row["label"] for row in rows] == [None, "entailment", None]


def test_what_could_not_even_be_read():
    broken = [Record("f.jsonl, line 1", GOOD), Record("f.jsonl, line 2", {"line": "{"}, "broken JSON: oh")]
    with refuses(BadInput, where="f.jsonl, line 2"):
        list(Intake(NLI).rows(broken))
    intake = Intake(NLI, skip_bad=True)
    assert len(list(intake.rows(broken))) == 1
    assert intake.rejected[0]["row"] == {"line": "{"}


def test_an_id_twice():
    with refuses(BadInput, where="f.jsonl, line 3", field="id"):
        taken({**GOOD, "id": "a"}, {**GOOD, "id": "b"}, {**GOOD, "id": " a "})
    with refuses(BadInput, where="f.jsonl, line 3", field="id"):
        taken({**GOOD, "id": "a"}, {**GOOD, "id": "b"}, {**GOOD, "id": "a", "of": "b"})


def test_an_id_twice_says_how_to_do_without_that_column():
    with refuses(BadInput, field="id") as caught:
        taken({**GOOD, "id": "a"}, {**GOOD, "id": "a"})
    assert "columns={'id': COLUMN}, or rename this one, and rows are numbered" in caught.value.fix
    assert [row["id"] for row in taken({**GOOD, "nr": "a"}, {**GOOD, "nr": "a"})[0]] == ["1", "2"]


def test_an_id_that_a_rejected_row_had_is_free():
    rows, intake = taken({**GOOD, "id": "a", "label": "?"}, {**GOOD, "id": "a"}, skip_bad=True)
    assert [row["id"] for row in rows] == ["a"]
    assert [bad["field"] for bad in intake.rejected] == ["label"]


def test_numbers_serve_as_ids_where_there_are_none():
    rows, _ = taken(GOOD, GOOD, {**GOOD, "label": "-"}, GOOD)
    assert [row["id"] for row in rows] == ["1", "2", "4"]
    assert [row["id"] for row in taken({**GOOD, "id": 0}, {**GOOD, "id": 7})[0]] == ["0", "7"]


def test_a_bucket_without_original():
    orphan = {**GOOD, "id": "v", "of": "gone"}
    with refuses(BadInput, where="f.jsonl, line 2", field="of"):
        taken({**GOOD, "id": "o"}, orphan)
    rows, intake = taken({**GOOD, "id": "o"}, orphan, skip_bad=True)
    assert len(rows) == 1
    assert intake.rejected[0]["row"] == orphan


def test_a_variant_of_a_variant_has_no_original():
    chain = [{**GOOD, "id": "o"}, {**GOOD, "id": "v", "of": "o"}, {**GOOD, "id": "w", "of": "v"}]
    with refuses(BadInput, where="f.jsonl, line 3", field="of"):
        taken(*chain)


@pytest.mark.parametrize("original_last", [False, True])
def test_a_variant_whose_gold_differs(original_last):
    suite = [{**GOOD, "id": "o"}, {**GOOD, "id": "v", "of": "o", "label": "neutral"}, {**GOOD, "id": "w", "of": "o"}]
    suite = suite[::-1] if original_last else suite
    with refuses(BadInput, where="f.jsonl, line 2", field="label"):
        taken(*suite)
    rows, intake = taken(*suite, skip_bad=True)
    assert [row["id"] for row in rows] == ["o", "w"]
    assert [bad["where"] for bad in intake.rejected] == ["f.jsonl, line 2"]
    assert intake.accepted == 2


def test_variants_of_a_rejected_original_go_with_it():
    suite = [{**GOOD, "id": "o", "premise": ""}, {**GOOD, "id": "v", "of": "o"}, {**GOOD, "id": "p"}]
    rows, intake = taken(*suite, skip_bad=True)
    assert [row["id"] for row in rows] == ["p"]
    assert [bad["field"] for bad in intake.rejected] == ["premise", "of"]


def test_nothing_left_is_refused():
    with refuses(BadInput):
        taken()
    with refuses(BadInput):
        taken({**GOOD, "label": "-"}, {**GOOD, "label": "-"})
    with refuses(BadInput):
        taken({**GOOD, "premise": ""}, skip_bad=True)


# No majority.


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 2, 0, 3), (3, 2, 1, 0)])
def test_no_majority_is_counted_and_left_out_with_its_variants(order):
    suite = [
        {**GOOD, "id": "o", "label": "-"},
        {**GOOD, "id": "v", "of": "o", "label": "-"},
        {**GOOD, "id": "w", "of": "o"},
        {**GOOD, "id": "p"},
    ]
    rows, intake = taken(*[suite[place] for place in order])
    assert [row["id"] for row in rows] == ["p"]
    assert (intake.no_majority, intake.accepted, intake.rejected) == (3, 1, [])


def test_a_single_variant_without_majority_is_left_out_alone():
    rows, intake = taken(
        {**GOOD, "id": "o"}, {**GOOD, "id": "v", "of": "o", "label": "-"}, {**GOOD, "id": "w", "of": "o"}
    )
    assert [row["id"] for row in rows] == ["o", "w"]
    assert intake.no_majority == 1


def test_the_users_own_mark_for_no_majority():
    _, intake = taken(GOOD, {**GOOD, "label": -1}, labels={"-1": "-"})
    assert intake.no_majority == 1


# What comes out.


def test_rows_are_complete():
    (row, variant), _ = taken(
        {**GOOD, "id": "o", "topic": "sleep"}, {**GOOD, "id": "v", "of": "o", "how": "human", "cluster": "other"}
    )
    cluster = digest("A man sleeps.")[:16]
    assert row == {"id": "o", "of": None, "how": None, **GOOD, "cluster": cluster, "topic": "sleep"}
    assert variant == {"id": "v", "of": "o", "how": "human", **GOOD, "cluster": cluster}


def test_the_cluster_is_the_premise_by_default():
    same = {**GOOD, "hypothesis": "He snores."}
    other = {**GOOD, "premise": "A dog sleeps."}
    rows, _ = taken(GOOD, same, other, {**other, "cluster": 5}, {**other, "cluster": " "})
    clusters = [row["cluster"] for row in rows]
    assert clusters[0] == clusters[1] != clusters[2] == clusters[4]
    assert clusters[3] == "5"


@given(st.permutations(range(7)))
def test_order_of_rows_does_not_matter(order):
    suite = [{**GOOD, "id": f"o{i}"} for i in range(2)]
    suite += [{**GOOD, "id": f"v{i}{j}", "of": f"o{i}"} for i in range(2) for j in range(2)]
    suite.append({**GOOD, "id": "v9", "of": "o1"})
    rows, intake = taken(*[suite[place] for place in order])
    assert sorted(row["id"] for row in rows) == sorted(row["id"] for row in suite)
    seen = set()
    for row in rows:
        assert row["of"] is None or row["of"] in seen
        seen.add(row["id"])
    assert intake.accepted == 7


def test_what_waits_is_given_as_soon_as_its_original_is_there():
    intake = Intake(NLI)
    stream = intake.rows(records({**GOOD, "id": "v", "of": "o"}, {**GOOD, "id": "o"}, {**GOOD, "id": "p"}))
    assert [next(stream)["id"] for _ in range(3)] == ["o", "v", "p"]


def test_optional_fields_may_be_absent_null_or_empty():
    row = {"hypothesis": "H.", "update": "U.", "label": "weakener"}
    rows, _ = taken(row, {**row, "premise": None}, {**row, "premise": ""}, task=TASKS["d-nli"])
    assert [one["premise"] for one in rows] == ["", "", ""]
    assert len({one["cluster"] for one in rows}) == 1


@pytest.mark.parametrize("label", ["entailment", "Entailment", " ENTAILMENT "])
def test_labels_are_recognised_plainly(label):
    assert taken({**GOOD, "label": label})[0][0]["label"] == "entailment"


def test_labels_with_underscores():
    assert taken({**GOOD, "label": "Not_Entailed"}, task=TASKS["rte"])[0][0]["label"] == "not-entailed"


def test_labels_are_mapped():
    mapping = {"0": "entailment", "E": "entailment", "true": "neutral", "Contra_diction": "contradiction"}
    found = [0, "0", "e", True, "contra-diction", "neutral"]
    rows, _ = taken(*[{**GOOD, "label": label} for label in found], labels=mapping)
    wanted = ["entailment", "entailment", "entailment", "neutral", "contradiction", "neutral"]
    assert [row["label"] for row in rows] == wanted


def test_a_mapping_may_overrule_a_name_of_the_task():
    assert taken(GOOD, labels={"entailment": "contradiction"})[0][0]["label"] == "contradiction"


# Controls: variants that say so themselves are no rewordings.

VARIANT = {**GOOD, "id": "v", "of": "o"}


def test_a_control_keeps_its_mark_and_others_get_none():
    rows = [{**GOOD, "id": "o", "control": ""}, {**VARIANT, "control": " identity "}, {**VARIANT, "id": "w"}]
    found, _ = taken(*rows)
    assert [row.get("control", "no column") for row in found] == ["no column", "identity", "no column"]
    named = [{**row, "made by": row.get("control"), "control": "mine"} for row in rows]
    mapped, _ = taken(*named, columns={"control": "made by"})
    assert mapped == [{**row, "input_control": "mine"} for row in found]


@pytest.mark.parametrize(
    ("original", "variant"),
    [
        ({"control": "x"}, {}),
        ({"contrast": "s"}, {"contrast": "s", "control": "x"}),
        ({}, {"control": True}),
        ({}, {"control": "identity", "label": "neutral"}),
    ],
)
def test_controls_that_cannot_be(original, variant):
    with refuses(BadInput):
        taken({**GOOD, "id": "o", **original}, {**VARIANT, **variant})


def test_mappings_to_nowhere_are_refused_at_once():
    with refuses(BadInput):
        Intake(NLI, labels={"0": "entails"})
    with refuses(BadInput):
        Intake(NLI, columns={"sentence": "s1"})


# Contrasts: rows that say so themselves may have another answer than their original.

CONTRAST = {**GOOD, "id": "c", "label": "contradiction", "of": "o", "contrast": "mine"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_contrast_may_have_another_label(turned):
    rows = [{**GOOD, "id": "o", "contrast": "mine"}, CONTRAST, {**GOOD, "id": "plain", "contrast": ""}]
    found, _ = taken(*(reversed(rows) if turned else rows))
    by_id = {row["id"]: (row["of"], row["label"], row.get("contrast"), row["cluster"]) for row in found}
    cluster = by_id["o"][3]
    assert by_id["o"] == (None, "entailment", "mine", cluster)
    assert by_id["c"] == ("o", "contradiction", "mine", cluster)
    assert by_id["plain"][2] is None  # an empty mark is none
    assert "contrast" not in next(row for row in found if row["id"] == "plain")


def test_a_column_may_be_named_as_the_mark():
    rows = [{**GOOD, "id": "o", "suite": "mine"}, {**CONTRAST, "suite": "mine", "contrast": None}]
    found, _ = taken(*rows, columns={"contrast": "suite"})
    assert [row["contrast"] for row in found] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("original", "variant"),
    [
        ({}, {}),
        ({"contrast": "mine"}, {"contrast": ""}),
        ({"contrast": "other"}, {}),
        ({}, {"contrast": None}),
        ({"contrast": True}, {}),
        ({"contrast": "False"}, {}),
    ],
)
def test_a_bucket_is_of_one_suite_or_of_none(original, variant):
    with refuses(BadInput):
        taken({**GOOD, "id": "o", **original}, {**CONTRAST, **variant})


# Columns under other names.

THEIRS = {"key": "k1", "s1": "P.", "s2": "H.", "gold": "neutral", "parent": "", "via": "gpt", "doc": "d1"}
MAP = {
    "id": "key",
    "premise": "s1",
    "hypothesis": "s2",
    "label": "gold",
    "of": "parent",
    "how": "via",
    "cluster": "doc",
}


def test_every_column_can_be_mapped():
    (row,), _ = taken(THEIRS, columns=MAP)
    assert row == {
        "id": "k1",
        "of": None,
        "how": "gpt",
        "premise": "P.",
        "hypothesis": "H.",
        "label": "neutral",
        "cluster": "d1",
    }


def test_columns_may_be_swapped():
    (row,), _ = taken(GOOD, columns={"premise": "hypothesis", "hypothesis": "premise"})
    assert (row["premise"], row["hypothesis"]) == ("Somebody sleeps.", "A man sleeps.")


def test_one_column_may_serve_twice():
    (row,), _ = taken({**GOOD, "doc": "d1"}, columns={"id": "doc", "cluster": "doc"})
    assert (row["id"], row["cluster"]) == ("d1", "d1")
    assert "doc" not in row


def test_a_column_whose_name_was_given_away_is_kept_aside():
    (row,), _ = taken({**GOOD, "s1": "P."}, columns={"premise": "s1"})
    assert row["premise"] == "P."
    assert row["input_premise"] == "A man sleeps."


@pytest.mark.parametrize("name", ["id", "of", "how", "cluster"])
def test_a_mapped_column_that_no_row_has_is_an_error(name):
    """A typing error in --field id=... once numbered the rows in silence."""
    with refuses(BadInput):
        taken(GOOD, GOOD, columns={name: "pairId"})


def test_a_mapped_column_may_be_absent_from_some_rows():
    rows, _ = taken({**GOOD, "id": "o"}, {**GOOD, "id": "v", "parent": "o"}, columns={"of": "parent"})
    assert [row["of"] for row in rows] == [None, "o"]


# Columns that come along.


def test_extra_columns_pass_and_nested_ones_as_json():
    extra = {"n": 1, "x": 0.5, "ok": True, "nothing": None, "tags": ["a", "ü"], "more": {"k": [1]}, "big": 10**30}
    (row,), _ = taken({**GOOD, **extra})
    assert {name: row[name] for name in extra} == {
        **extra,
        "tags": '["a", "ü"]',
        "more": '{"k": [1]}',
        "big": "1" + "0" * 30,
    }


@pytest.mark.parametrize("name", ["model", "bucket", "variant", "gold", "pred", "row"])
def test_names_of_later_columns_are_kept_separate(name):
    (row,), _ = taken({**GOOD, name: "x"})
    assert name not in row
    assert row[f"input_{name}"] == "x"


def test_clashing_extra_names_lose_nothing():
    (row,), _ = taken({**GOOD, "model": 1, "input_model": 2, "input_input_model": 3})
    assert sorted(value for key, value in row.items() if key.endswith("model")) == [1, 2, 3]
    (row,), _ = taken({**GOOD, "input_model": 2, "model": 1})
    assert row["input_model"] == 2


def test_intake_of_its_own_rows_changes_nothing():
    first, _ = taken({**GOOD, "id": "a", "model": "m", "tags": ["x"]}, {**GOOD, "id": "v", "of": "a"})
    again, _ = taken(*first)
    assert again == first


def test_long_texts_and_any_language():
    text = "wörd 木 \U0001f600 " * 5_000
    (row,), _ = taken({**GOOD, "premise": text})
    assert row["premise"] == text


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(NLI.labels)), min_size=1, max_size=8), st.randoms())
def test_good_rows_come_out_as_they_went_in(texts, chance: random.Random):
    given_rows = [{"id": i, "premise": p, "hypothesis": h, "label": label} for i, (p, h, label) in enumerate(texts)]
    chance.shuffle(given_rows)
    rows, intake = taken(*given_rows)
    assert [(int(r["id"]), r["premise"], r["hypothesis"], r["label"]) for r in rows] == [
        tuple(row.values()) for row in given_rows
    ]
    assert intake.accepted == len(texts)


def test_a_task_of_ones_own():
    task = Task("choice", ("story", "end1", "end2"), ("end1", "end2"), ("end1", "end2"))
    (row,), _ = taken({"story": "S.", "end1": "A.", "end2": "B.", "label": "END1", "premise": "extra"}, task=task)
    assert (row["label"], row["premise"], row["cluster"]) == ("end1", "extra", digest("S.")[:16])


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


def test_seen_ids_give_originals_only():
    seen = SeenIds()
    assert seen.add("o", SeenOriginal("neutral", "c"))
    assert seen.add("v", None)
    assert seen.original("o") == SeenOriginal("neutral", "c")
    assert seen.original("v") is None
    assert seen.original("gone") is None


def test_the_first_row_of_an_id_counts():
    seen = SeenIds()
    seen.add("o", SeenOriginal("neutral", "c"))
    assert not seen.add("o", SeenOriginal("entailment", "d"))
    assert not seen.add("o", None)
    assert seen.original("o") == SeenOriginal("neutral", "c")


@given(st.lists(st.tuples(IDS, st.booleans(), IDS)))
def test_seen_ids_are_a_dictionary_that_keeps_the_first(rows):
    seen, expected = SeenIds(), {}
    for name, original, label in rows:
        known = SeenOriginal(label, "c") if original else None
        assert seen.add(name, known) is (name not in expected)
        expected.setdefault(name, known)
        assert seen.original(name) == expected[name]
    assert {name: seen.original(name) for name in expected} == expected


SEEN = {"id": pl.String, "label": pl.String, "cluster": pl.String, "contrast": pl.String}


@given(st.lists(st.lists(st.tuples(IDS, st.booleans()), max_size=5), max_size=6), st.lists(st.booleans(), max_size=6))
def test_ids_of_whole_columns_and_single_ones_are_known_to_each_other(batches, by_row):
    """Columns with an id that occurred are noticed, and then added one by one; originals are found either way."""
    seen, expected = SeenIds(), {}
    for number, batch in enumerate(batches):
        rows = [(name, "neutral", f"c{number}", "") if original else (name, None, "", "") for name, original in batch]
        names = [name for name, _ in batch]
        repeats = len(set(names)) < len(names) or bool(set(names) & set(expected))
        frame = pl.DataFrame(rows, schema=SEEN, orient="row")
        assert seen.may_repeat(frame["id"]) is repeats
        if repeats or by_row[number : number + 1] == [True]:
            for name, *known in rows:
                assert seen.add(name, SeenOriginal(*known) if known[0] else None) is (name not in expected)
                expected.setdefault(name, SeenOriginal(*known) if known[0] else None)
        else:
            seen.extend(frame)
            expected |= {name: SeenOriginal(*known) if known[0] else None for name, *known in rows}
    found = seen.originals(pl.Series([*expected, "gone"], dtype=pl.String))
    assert {name: SeenOriginal(*known) for name, *known in found.rows()} == {k: v for k, v in expected.items() if v}
    assert {name: seen.original(name) for name in expected} == expected


def test_two_ids_of_one_hash_are_told_apart(monkeypatch):
    """What a hash only suggests is looked up: no row is refused for it."""
    monkeypatch.setattr(pl.Series, "hash", lambda ids: pl.Series([1] * len(ids), dtype=pl.UInt64))
    rows = [{**GOOD, "id": name} for name in "abc"]
    dataset = Dataset(lambda: iter(records(*rows)))
    intake = Intake(NLI)
    (piece,) = pieces(intake, dataset.batches())
    assert [row["id"] for row in piece] == ["a", "b", "c"]
    assert intake.accepted == 3


def test_names_that_look_alike_are_not_the_same():
    seen = SeenIds()
    assert all(seen.add(name, None) for name in ("1", "01", "1.0", "a", "A", "a ", "a\0b", "a\0c", "é", "e\u0301"))
