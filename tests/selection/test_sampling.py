"""Draws: evenly over deciles of confidence, or at random from strata; what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.selection import deciles, sample


def problems(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"p{n}", "premise": f"P{n}.", "hypothesis": "H.", "label": ["neutral", "entailment"][n % 2],
         "aflite": ["easy", "difficult"][n % 3 == 0], "topic": "abc"[n % 3]}
        for n in range(count)
    ]  # fmt: skip


def answered(rows: list[dict[str, Any]], confidence: Any, **more: Any) -> pl.DataFrame:
    """Answers that have these probabilities of the right label."""
    found = []
    for row, p in zip(rows, confidence, strict=True):
        other = {"neutral": "entailment", "entailment": "neutral"}[row["label"]]
        shares = {f"p:{row['label']}": p, f"p:{other}": 1 - p, "p:contradiction": 0.0}
        found.append(
            {
                "bucket": row["id"],
                "variant": None,
                "gold": row["label"],
                "pred": max(shares, key=shares.__getitem__)[2:],
                **shares,
                **more,
            }
        )
    return pl.DataFrame(found)


def test_one_from_each_decile_in_turn():
    rows = problems(600)
    confidence = np.arange(600) % 10 / 10 + 0.05
    done = deciles(rows, answered(rows, confidence), by="aflite", n=25)
    assert done.counts.filter(pl.col("aflite") == "easy")["drawn"].to_list() == [3] * 5 + [2] * 5
    assert done.counts.filter(pl.col("aflite") == "difficult")["drawn"].to_list() == [3] * 5 + [2] * 5
    assert done.counts["problems"].sum() == 600
    assert Counter(done.table["aflite"]) == {"easy": 25, "difficult": 25}
    assert (done.table["decile"] == (done.table["confidence"] * 10).floor().cast(pl.Int64)).all()


def test_an_exhausted_decile_is_skipped():
    rows = problems(100)
    confidence = [0.05] * 2 + [0.35] * 8 + [0.95] * 90
    counts = deciles(rows, answered(rows, confidence), n=30).counts
    assert counts["problems"].to_list() == [2, 0, 0, 8, 0, 0, 0, 0, 0, 90]
    assert counts["drawn"].to_list() == [2, 0, 0, 8, 0, 0, 0, 0, 0, 20]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=60), st.data())
def test_draws_are_as_even_as_the_deciles_allow(tenths, data):
    """No decile has more than one more than another that has problems left."""
    rows = problems(len(tenths))
    n = data.draw(st.integers(1, len(tenths)))
    counts = deciles(rows, answered(rows, [one / 10 for one in tenths]), n=n, seed=data.draw(st.integers(0, 3))).counts
    assert counts["drawn"].sum() == n
    left = counts.filter(pl.col("drawn") < pl.col("problems"))["drawn"].to_list()
    assert max(counts["drawn"]) - min(left, default=max(counts["drawn"])) <= 1


def test_the_model_is_named_where_there_are_several():
    rows = problems(20)
    both = pl.concat([answered(rows, [p] * 20, model=name) for name, p in (("a", 0.15), ("b", 0.95))])
    assert set(deciles(rows, both, n=5, model="b").table["decile"]) == {9}
    for name in ("", "c"):
        with refuses(BadInput):
            deciles(rows, both, n=5, model=name)


def test_what_deciles_refuse():
    rows = problems(20)
    good = answered(rows, [0.5] * 20)
    with refuses(BadInput, field="kind"):
        deciles(rows, good, by="kind", n=5)
    with refuses(BadInput):  # a stratum that is too small
        deciles(rows, good, by="aflite", n=8)
    with refuses(BadInput):
        deciles(rows, good, n=0)
    with refuses(BadInput):  # a problem that was not answered
        deciles(rows, good.filter(pl.col("bucket") != "p3"), n=5)
    with refuses(BadInput):  # no probabilities
        deciles(rows, good.select("bucket", "variant", "gold", "pred"), n=5)
    with refuses(BadInput, field="gold"):  # answers to other data
        deciles([{**row, "label": "contradiction"} for row in rows], good, n=5)
    with refuses(BadInput, field="aflite"):  # a gap in the column of strata
        deciles([{**row, "aflite": row["aflite"] if row["id"] != "p4" else ""} for row in rows], good, by="aflite", n=2)


def test_a_sample_is_in_proportion():
    done = sample(problems(60), 10, by=["aflite", "label"])
    assert done.counts.rows() == [
        ("difficult", "entailment", 10, 2), ("difficult", "neutral", 10, 2),
        ("easy", "entailment", 20, 3), ("easy", "neutral", 20, 3),
    ]  # fmt: skip
    assert done.table.height == 10


def test_a_sample_has_as_many_of_each():
    done = sample(problems(60), each=4, by="topic")
    assert Counter(done.table["topic"]) == {"a": 4, "b": 4, "c": 4}


def test_rewordings_come_along():
    rows = problems(10)
    suite = [*rows, *({**row, "id": f"{row['id']}~", "of": row["id"]} for row in rows)]
    done = sample(suite, 3)
    assert done.table.height == 6
    assert set(done.table["of"].drop_nulls()) == set(done.table.filter(pl.col("of").is_null())["id"])


def test_a_sample_depends_on_seed_and_ids_alone():
    rows = problems(60)
    first = set(sample(rows, 20).table["id"])
    assert first == set(sample(rows[::-1], 20).table["id"])
    assert first != set(sample(rows, 20, seed=2).table["id"])
    assert set(sample(rows, 10).table["id"]) < first


def test_a_column_that_is_named_twice_counts_once():
    rows = problems(60)
    assert sample(rows, 10, by=["topic", "topic"]).counts.equals(sample(rows, 10, by="topic").counts)


@pytest.mark.parametrize(
    "asked",
    [{}, {"n": 2, "each": 2}, {"n": 61}, {"n": -1}, {"each": 21, "by": "topic"}, {"n": 3, "by": "kind"}, {"each": 61}],
)
def test_what_samples_refuse(asked):
    with refuses(BadInput):
        sample(problems(60), **asked)
