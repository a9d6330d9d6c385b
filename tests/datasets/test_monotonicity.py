"""Pairs in both directions: MoNLI and MED as released, and a warning of what is left out."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.datasets.monotonicity import reversals
from otherwords.datasets.records import Record
from otherwords.errors import BadInput

MONLI = [
    ("A man is talking to someone in a car.", "A man is talking to someone in a taxi.", "neutral", "car", "taxi", -1),
    ("A man is talking to someone in a taxi.", "A man is talking to someone in a car.", "entailment", "taxi", "car", 1),
    ("A man is talking to someone in a jeep.", "A man is talking to someone in a car.", "entailment", "jeep", "car", 1),
    ("A man is talking to someone in a car.", "A man is talking to someone in a jeep.", "neutral", "car", "jeep", -1),
]
NAMES = ("sentence1", "sentence2", "gold_label", "sentence1_lex", "sentence2_lex", "depth")
#: MED.tsv as released has MultiNLI's columns, most of them empty.
HEADER = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse"
)
HEADER += "\tsentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n"


def med_line(number: int, one: str, other: str, label: str) -> str:
    return f"{number}\t{number}\t{number}\tpaper:upward_monotone\t\t\t\t\t{one}\t{other}\t\t\t\t\t\t{label}\n"


def record(number: int, one: str, other: str, label: str) -> Record:
    return Record(f"row {number}", {"id": f"r{number}", "premise": one, "hypothesis": other, "label": label})


def test_monli_layout(tmp_path, take):
    path = tmp_path / "pmonli.jsonl"
    path.write_text("".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in MONLI))
    rows, _ = take(f"monli:{path}")
    assert [(row["id"], row["of"], row["label"], row["contrast"]) for row in rows] == [
        ("pmonli-1", None, "neutral", "monli"),
        ("pmonli-2", "pmonli-1", "entailment", "monli"),
        ("pmonli-3", None, "entailment", "monli"),
        ("pmonli-4", "pmonli-3", "neutral", "monli"),
    ]
    assert len({row["cluster"] for row in rows}) == 1  # all about the man in the car
    assert (rows[0]["sentence1_lex"], rows[0]["depth"]) == ("car", -1)


def test_monli_whole(shared, take):
    """One pair of 1,339 is spelled in two ways in the release (cauliflower, cauliflowers) and so has no reverse."""
    with pytest.warns(UserWarning, match="monli: left out 2 of 2,678 rows"):
        rows, _ = take(f"monli:{shared / 'monli' / 'monli.parquet'}")
    assert Counter(row["of"] is None for row in rows) == {True: 1338, False: 1338}
    assert Counter(row["label"] for row in rows) == {"entailment": 1338, "neutral": 1338}
    assert len({row["cluster"] for row in rows}) == 128
    assert {row["id"].rpartition("-")[0] for row in rows} == {"pmonli", "nmonli_train", "nmonli_test"}


def test_med_layout(tmp_path, take):
    path = tmp_path / "MED.tsv"
    lines = [
        med_line(1, "An Irishman won the nobel prize for literature.", "An Irishman won a nobel prize.", "entailment"),
        med_line(2, "No delegate finished the report on time.", "No delegate finished the report.", "neutral"),
        med_line(10, "An Irishman won a nobel prize.", "An Irishman won the nobel prize for literature.", "neutral"),
    ]
    path.write_text(HEADER + "".join(lines))
    with pytest.warns(UserWarning, match="med: left out 1 of 3 rows"):
        rows, _ = take(f"med:{path}")
    assert [(row["id"], row["of"], row["label"], row["contrast"]) for row in rows] == [
        ("med-1", None, "entailment", "med"),
        ("med-10", "med-1", "neutral", "med"),
    ]
    assert (rows[0]["pairID"], rows[0]["genre"]) == ("1", "paper:upward_monotone")
    assert not [name for name in rows[0] if "parse" in name or name == "label1"]


def test_med_whole(shared, take):
    """Counted without the loader: rows whose reverse is there with another answer."""
    path = shared / "med" / "med.parquet"
    table = pl.read_parquet(path).select("sentence1", "sentence2", "gold_label")
    turned = table.rename({"sentence1": "sentence2", "sentence2": "sentence1", "gold_label": "other"})
    both = table.join(turned, on=["sentence1", "sentence2"]).filter(pl.col("gold_label") != pl.col("other"))
    assert both.height == 3030
    with pytest.warns(UserWarning, match="med: left out 2,352 of 5,382 rows"):
        rows, _ = take(f"med:{path}")
    assert Counter(row["of"] is None for row in rows) == {True: 1515, False: 1515}
    texts = {row["id"]: (row["premise"], row["hypothesis"], row["label"]) for row in rows}
    for row in rows:
        if row["of"]:
            premise, hypothesis, label = texts[row["of"]]
            assert (row["premise"], row["hypothesis"]) == (hypothesis, premise)
            assert row["label"] != label


def test_intake_reports_what_is_wrong_with_a_row(tmp_path, take):
    path = tmp_path / "MED.tsv"
    path.write_text(HEADER + med_line(1, "A.", "", "neutral") + med_line(2, "B.", "C.", "neutral"))
    with refuses(BadInput):
        take(f"med:{path}")
    path = tmp_path / "some.jsonl"
    path.write_text('{"sentence1": "A."}\nno json\n')
    with refuses(BadInput):
        take(f"monli:{path}")


def test_a_reverse_with_the_same_answer_and_a_pair_of_equals_are_no_contrasts():
    rows = [record(1, "A.", "B.", "neutral"), record(2, "B.", "A.", "Neutral "), record(3, "C.", "C.", "entailment")]
    with pytest.warns(UserWarning, match="some: left out 3 of 3 rows"):
        assert list(reversals(rows, "some")) == []


def test_repeated_pairs_are_paired_one_by_one():
    ways = [("A.", "B.", "neutral"), ("A.", "B.", "neutral"), ("B.", "A.", "entailment"), ("B.", "A.", "entailment")]
    found = reversals([record(n, *way) for n, way in enumerate(ways)], "some")
    assert [(r.row["id"], r.row.get("of")) for r in found] == [("r0", None), ("r2", "r0"), ("r1", None), ("r3", "r1")]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12).map(lambda ways: [*dict.fromkeys(ways)]))
def test_pairs_that_are_linked_are_one_cluster(ways):
    """Against a walk over the graph of sentences."""
    ways = [(a, b) for a, b in ways if a < b]
    rows = [
        record(2 * n + k, f"s{x}", f"s{y}", label)
        for n, (a, b) in enumerate(ways)
        for k, (x, y, label) in enumerate([(a, b, "neutral"), (b, a, "entailment")])
    ]
    found = {r.row["id"]: r.row for r in reversals(rows, "some")}
    assert len(found) == len(rows)
    cluster = {sentence: row["cluster"] for row in found.values() for sentence in (row["premise"], row["hypothesis"])}
    for start in cluster:
        reached, border = {start}, {start}
        while border:
            border = {b for a, b in ((r.row["premise"], r.row["hypothesis"]) for r in rows) if a in border} - reached
            reached |= border
        assert {one for one in cluster if cluster[one] == cluster[start]} == reached
