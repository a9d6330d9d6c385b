"""Answers that cannot be used are set aside with the reason; what is left can be scored."""

from __future__ import annotations

import json
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.answers import reading
from otherwords.answers.reading import separate_rejects
from otherwords.errors import BadInput
from otherwords.pipeline import score


def rows(*cells: tuple[object, ...]) -> pl.DataFrame:
    names = ("model", "bucket", "variant", "gold", "pred", "p:x", "p:y")
    return pl.DataFrame([dict(zip(names, row, strict=False)) for row in cells], infer_schema_length=None)


BAD = rows(
    ("m", "a", None, "x", "x", 0.9, 0.1),
    ("m", "a", "a1", "x", "y", 0.4, 0.1),
    ("m", "a", "a2", "x", "y", 0.4, 0.6),
    ("m", "a", "a2", "x", "y", 0.4, 0.6),
    ("m", "b", "b1", "x", "y", 0.4, 0.6),
    ("m", "a", "a3", "y", "y", 0.4, 0.6),
    ("m", "c", None, "x", "x", float("nan"), 0.6),
    ("m", "c", "c1", "x", "x", 0.4, 0.6),
    ("n", "a", None, "x", "x", None, None),
    ("n", "a", "a1", "x", None, None, None),
    ("n", "a", "a2", "x", "x", None, None),
    (None, "a", "a9", "x", "x", None, None),
    ("n", "d", None, "z", "x", None, None),
)


def test_every_reason_by_hand():
    good, others = separate_rejects(BAD, ("x", "y"))
    assert others.columns == ["row", "reason", *BAD.columns]
    assert dict(others.select("row", "reason").iter_rows()) == {
        2: "p: probabilities must be numbers from 0 to 1 that sum to one",
        4: "answered before",
        5: "its bucket has 0 originals",
        6: "gold differs from its original's",
        7: "p: probabilities must be numbers from 0 to 1 that sum to one",
        8: "its bucket has 0 originals",  # went with row 7
        10: "pred: found nothing",
        12: "model: found nothing",
        13: "gold or pred is none of x, y",
    }
    assert good["variant"].to_list() == [None, "a2", None, "a2"]
    assert good.columns == BAD.columns


def test_two_originals_that_differ_take_their_bucket_along():
    mixed = pl.concat([rows(("m", "a", "", "x", "x"), ("m", "a", None, "x", "y")), rows(("m", "a", "a1", "x", "x"))])
    good, others = separate_rejects(mixed)
    assert good.height == 0
    assert others["reason"].unique().to_list() == ["its bucket has 2 originals"]


def test_score_writes_what_it_leaves_out(tmp_path):
    place = tmp_path / "rejected.jsonl"
    with pytest.warns(UserWarning, match=r"the answers: 9 answers left out; see .*rejected\.jsonl"):
        scores = score(BAD, ["flip_rate"], task={"name": "t", "fields": ["f"], "labels": ["x", "y"]}, rejected=place)
    assert [(one.model, one.value, one.n_answers) for one in scores] == [("m", 1.0, 1), ("n", 0.0, 1)]
    assert [json.loads(line)["row"] for line in place.read_text().splitlines()] == [2, 4, 5, 6, 7, 8, 10, 12, 13]
    with refuses(BadInput):
        score(BAD, ["flip_rate"])


def test_a_missing_column_is_an_error_not_a_rejected_row(tmp_path):
    with refuses(BadInput):
        score(BAD.drop("pred"), rejected=tmp_path / "rejected.jsonl")


def test_a_good_table_is_left_as_it_is(tmp_path):
    table_of_two = rows(("m", "a", None, "x", "x", 0.9, 0.1), ("m", "a", "a1", "x", "y", 0.4, 0.6))
    assert score(table_of_two, rejected=tmp_path / "rejected.jsonl") == score(table_of_two)
    assert not (tmp_path / "rejected.jsonl").exists()


cell = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, "", "1", "2"]),
    st.sampled_from(["x", "y", None]),
    st.sampled_from(["x", "y", "z", None]),
    st.sampled_from([0.5, 0.2, None, float("nan")]),
)


@given(st.lists(cell, min_size=1, max_size=12))
def test_what_is_left_can_always_be_read(cells):
    frame = rows(*(("m", b, v, g, p, q, 0.5) for b, v, g, p, q in cells)).with_columns(
        pl.col("bucket", "variant", "gold", "pred").cast(pl.String), pl.col("p:x").cast(pl.Float64)
    )
    good, others = separate_rejects(frame, ("x", "y"))
    assert good.height + others.height == frame.height
    if good.height:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reading.read(good, ("x", "y"))
