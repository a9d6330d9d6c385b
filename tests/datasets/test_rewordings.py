"""What files of other tools have in common: whatever they contain, the result is rows or a clear error."""

from __future__ import annotations

import json
import re
import tracemalloc
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.datasets import checklist, nl_augmenter, textattack
from otherwords.datasets.records import Record
from otherwords.datasets.rewordings import RecordedRewording, label_text, suite, text_key
from otherwords.errors import BadInput

words = st.sampled_from(["", "A dog.", "A  hound.", "It.", "1", "0.0"])
keys = ("inputs", "outputs", "sentence1", "sentence2", "sentence", "premise", "target", "id", "data", "labels", "type")
anything = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=4),
    max_leaves=12,
)
tests = st.fixed_dictionaries({"type": st.sampled_from(["INV", "MFT"]), "data": st.lists(anything, max_size=3)})


def drained(rewordings, path) -> list[Record]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(suite(rewordings(path), "tool", path))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("odd") / "file.json"


@given(anything | st.lists(anything, max_size=3).map(lambda cases: {"test_cases": cases}))
def test_any_json_is_rows_or_bad_input(place, content):
    place.write_text(json.dumps(content))
    for tool in (nl_augmenter, checklist):
        try:
            assert all(record.where.startswith(str(place)) for record in drained(tool.rewordings, place))
        except BadInput as error:
            assert str(place) in str(error)  # noqa: PT017 (either outcome will do)


@given(
    st.dictionaries(
        st.sampled_from(["a", "b"]), tests | st.tuples(tests, anything).map(lambda t: {**t[0], "labels": t[1]})
    )
)
def test_any_suite_is_rows_or_bad_input(place, content):
    place.write_text(json.dumps(content))
    try:
        drained(checklist.rewordings, place)
    except BadInput as error:
        assert str(place) in str(error)  # noqa: PT017


@given(st.text("[]<SPLIT>Premise: Hypothesis\n>a ", max_size=80))
def test_any_text_is_split_without_loss_of_words(text):
    bare = textattack.unmarked(text)
    assert textattack.unmarked(bare) == bare
    try:
        found = textattack.fields(text)
    except BadInput as error:
        assert "twice" in str(error) or "in this order" in str(error)  # noqa: PT017 (either outcome will do)
        return
    assert all(len(value) <= len(text) for value in found.values())
    if found:  # every letter stands in some field, or in the name of one
        spoken = "".join([*found, *found.values()]).lower()
        assert set(re.sub(r"<split>|>>>>|[^a-z]", "", text.lower())) <= set(spoken)


def test_memory_does_not_hold_the_texts():
    """A thousand originals of 10,000 letters are 10 MB."""
    long = "x" * 10_000  # one word: splitting is not what is tested
    entries = (
        RecordedRewording("f", {"premise": f"{n} {long}"}, {"premise": f"{n} so {long}"}, {}, "neutral")
        for n in range(1_000)
    )
    tracemalloc.start()
    assert sum(1 for _ in suite(entries, "tool", Path("f"))) == 2_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@given(st.lists(st.tuples(words, words, st.sampled_from(["e", "n"])), min_size=1, max_size=8))
def test_every_original_comes_once_and_before_its_variants(some):
    entries = [
        RecordedRewording(f"f {n}", {"premise": one}, {"premise": other}, {}, label)
        for n, (one, other, label) in enumerate(some)
    ]
    records = drained(lambda _: entries, Path("f"))
    seen = set()
    for record in (record for record in records if not record.error):
        if "of" in record.row:
            assert record.row["of"] in seen
        else:
            assert record.row["id"] not in seen
            seen.add(record.row["id"])
    assert len(seen) == len({text_key({"premise": one}) for one, _, _ in some})
    changed = sum(
        1
        for one, other, label in some
        if one.split() != other.split() and label == next(gold for text, _, gold in some if text.split() == one.split())
    )
    assert sum("of" in record.row and not record.error for record in records) == changed


@pytest.mark.parametrize(
    ("value", "label"),
    [(1.0, "1"), ("2.00", "2"), ("-1.0", "-1"), ("1.5", "1.5"), (0, "0"), (" ", None), (None, None), ("no.0", "no.0")],
)
def test_labels_as_text(value, label):
    assert label_text(value) == label
