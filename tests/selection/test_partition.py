"""Partitions: parts of the asked sizes that share nothing, whatever the data; and what is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.selection import partition


def problems(count: int, each: int = 3) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "premise": f"Premise {n // each}.", "hypothesis": f"Hypothesis {n}.", "label": "neutral"}
        for n in range(count)
    ]


def test_parts_have_their_shares_of_the_clusters():
    done = partition(problems(3000), {"embedder": 0.1, "pool": 0.055, "rest": None})
    assert [(one.name, one.clusters, one.problems) for one in done.parts] == [
        ("embedder", 100, 300),
        ("pool", 55, 165),
        ("rest", 845, 2535),
    ]
    assert done.left_out == 0
    assert done.table["id"].to_list() == [str(n) for n in range(3000)]


def test_a_least_number_of_problems_takes_more_clusters():
    done = partition(problems(300), {"embedder": 0.1, "rest": None}, at_least={"embedder": 100})
    assert [(one.clusters, one.problems) for one in done.parts] == [(34, 102), (66, 198)]


def test_the_usual_parts_are_those_of_paranlu():
    done = partition(problems(15_000))
    assert [(one.name, one.problems) for one in done.parts] == [("embedder", 5001), ("pool", 825), ("rest", 9174)]


def test_what_is_in_no_part_is_counted():
    done = partition(problems(30), {"pool": 0.2})
    assert (done.table.height, done.left_out) == (6, 24)


def test_shares_of_all_clusters_use_them_up():
    done = partition(problems(30), {"a": 0.15, "b": 0.35, "c": 0.5})
    assert [one.clusters for one in done.parts] == [2, 3, 5]
    assert done.left_out == 0


def test_the_order_of_rows_does_not_matter_and_the_seed_does():
    rows = problems(300)
    first, other = ({row["id"]: row["part"] for row in partition(some, {"a": 0.5, "b": None}).table.to_dicts()}
                    for some in (rows, rows[::-1]))  # fmt: skip
    assert first == other
    again = partition(rows, {"a": 0.5, "b": None}, seed=2).table
    assert {row["id"]: row["part"] for row in again.to_dicts()} != first


def test_the_user_s_own_column_is_kept():
    rows = [{**row, "part": "of speech"} for row in problems(30)]
    table = partition(rows, {"a": 0.5, "b": None}).table
    assert set(table["input_part"]) == {"of speech"}
    assert set(table["part"]) == {"a", "b"}


def test_a_file_for_each_part(tmp_path):
    done = partition(problems(30), {"a": 0.5, "b": None}, out=tmp_path / "data-{part}.parquet")
    files = {name: pl.read_parquet(tmp_path / f"data-{name}.parquet") for name in ("a", "b")}
    assert {name: set(one["part"]) for name, one in files.items()} == {"a": {"a"}, "b": {"b"}}
    assert [one.height for one in files.values()] == [one.rows for one in done.parts]


WORDS = st.sampled_from(["It rains.", "it  rains.", "A dog.", "A cat.", "Wet.", "Dry.", ""])
TASKS = {
    "nli": (["premise"], ["premise", "hypothesis"], "neutral"),
    "rte": (["premise"], ["premise", "hypothesis"], "entailed"),
    "d-nli": (["premise", "hypothesis"], ["premise", "hypothesis", "update"], "weakener"),
    "a-nli": (["obs1", "obs2"], ["obs1", "obs2", "hyp1", "hyp2"], "hyp1"),
}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(TASKS)), st.data())
def test_nothing_crosses_parts(task, data):
    """No two parts share a cluster that was named, a context, or an original and its rewording."""
    context, fields, label = TASKS[task]
    clusters = st.sampled_from(["", "x", "y", "z"])
    rows: list[dict[str, Any]] = []
    for number in range(data.draw(st.integers(2, 25))):
        texts = {name: data.draw(WORDS) or ("" if name == "premise" and task == "d-nli" else "So.") for name in fields}
        rows.append({"id": f"p{number}", **texts, "label": label, "cluster": data.draw(clusters)})
        if data.draw(st.booleans()):
            rows.append({**rows[-1], "id": f"v{number}", "of": f"p{number}", fields[-1]: "In other words."})
    try:
        done = partition(rows, {"a": 0.4, "b": 0.3, "c": None}, task=task, seed=data.draw(st.integers(0, 5)))
    except BadInput:  # too few clusters for three parts
        return
    part = dict(done.table.select("id", "part").rows())
    assert len(part) == len(rows)
    owners: dict[Any, str] = {}
    for row in rows:
        shared = [
            ("text", *(" ".join(row[name].lower().split()) for name in context)),
            ("id", row.get("of", row["id"])),
        ]
        shared += [("cluster", row["cluster"])] if row["cluster"] else []
        for key in shared:
            if any(key[1:]):
                assert owners.setdefault(key, part[row["id"]]) == part[row["id"]], key


@pytest.mark.parametrize(
    ("parts", "least"),
    [
        ({}, {}),
        ({"a": 0.6, "b": 0.6}, {}),
        ({"a": 1.0, "b": None}, {}),
        ({"a": 0.0, "b": None}, {}),
        ({"a": float("nan")}, {}),
        ({"a": None, "b": None}, {}),
        ({"a/b": 0.5}, {}),
        ({"a": 0.5, "b": None}, {"c": 5}),
        ({"a": 0.5, "b": None}, {"a": 0}),
        ({"a": 0.5, "b": None}, {"a": 1.5}),
        ({"a": 0.5, "b": None}, {"b": float("inf")}),
        ({"a": 0.5, "b": None}, {"a": 31}),
        ({"a": 0.01, "b": None}, {}),
        ({"a": 0.5, "b": None}, {"a": 30}),
    ],
)
def test_wrong_parts_are_refused(parts, least):
    with refuses(BadInput):
        partition(problems(30), parts, at_least=least)


def test_one_cluster_cannot_be_divided():
    with refuses(BadInput):
        partition([{**row, "cluster": "one"} for row in problems(9)], {"a": 0.5, "b": None})
