"""Several data sets in one run: the column `source`, scores by model and data set, averages by the sets' sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import otherwords as ow
from otherwords.datasets.source import Source, find, source_names

pytestmark = pytest.mark.filterwarnings("ignore:.*clusters")
SETTINGS: dict[str, Any] = {"vary": "contractions", "models": ["m=scripted", "n=bag_of_words"], "cache": None,
                            "canary": False, "metrics": ["flip_rate", "accuracy_variants"]}  # fmt: skip


def rows(start: int, count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"p{n}", "premise": f"It isn't {n}.", "hypothesis": "It is not so.",
         "label": ["neutral", "entailment", "contradiction"][n % 3], **more}
        for n in range(start, start + count)
    ]  # fmt: skip


@pytest.fixture
def two(tmp_path) -> list[str]:
    (tmp_path / "large.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(0, 9)))
    pl.DataFrame(rows(9, 3)).write_csv(tmp_path / "small.csv")
    return [str(tmp_path / "large.jsonl"), str(tmp_path / "small.csv")]


def test_scores_of_each_data_set_and_their_average(tmp_path, two):
    done = ow.run(data=two, **SETTINGS, out=tmp_path / "run")
    values = {(one.metric, one.model, one.group): one for one in done.scores}
    groups = [None, "source=large", "source=small", "source=(average)"]
    assert set(values) == {
        (metric, model, group) for metric in SETTINGS["metrics"] for model in "mn" for group in groups
    } | {(metric, "(mean)", "source=(average)") for metric in SETTINGS["metrics"]}
    for metric in SETTINGS["metrics"]:
        averages = []
        for model in "mn":
            large, small = (values[metric, model, f"source={name}"].value for name in ("large", "small"))
            averages.append(values[metric, model, "source=(average)"].value)
            assert averages[-1] == pytest.approx((9 * large + 3 * small) / 12)
        assert values[metric, "(mean)", "source=(average)"].value == pytest.approx(sum(averages) / 2)
    answers = pl.read_parquet(tmp_path / "run" / "answers" / "**" / "*.parquet")
    assert answers.group_by("source").len().sort("source").rows() == [("large", 54), ("small", 18)]


def test_the_same_as_score_says(tmp_path, two):
    done = ow.run(data=two, **SETTINGS, out=tmp_path / "run")
    assert list(done.scores) == list(ow.score(tmp_path / "run", SETTINGS["metrics"], average="source", task="nli"))


def test_one_data_set_has_no_such_column(tmp_path, two):
    done = ow.run(data=two[:1], **SETTINGS, out=tmp_path / "run")
    assert {one.group for one in done.scores} == {None}
    assert "source" not in pl.read_parquet(tmp_path / "run" / "problems" / "*.parquet").columns


def test_what_rows_say_themselves_counts(tmp_path):
    tables = [rows(0, 6, source="snli"), rows(6, 6)]
    done = ow.run(data=tables, **SETTINGS, out=tmp_path / "run")
    assert {one.group for one in done.scores} == {None, "source=snli", "source=table 2", "source=(average)"}


def test_one_name_for_all_rows_gives_no_average(tmp_path):
    tables = [rows(0, 6, source="snli"), rows(6, 6, source="snli")]
    done = ow.run(data=tables, **SETTINGS, out=tmp_path / "run")
    assert {one.group for one in done.scores} == {None}


def test_continued_and_with_other_groups(tmp_path, two):
    first = ow.run(data=two, **SETTINGS, out=tmp_path / "run")
    for path in two:
        Path(path).unlink()
    with pytest.warns(UserWarning, match="continuing with problems"):
        again = ow.run(tmp_path / "run", by="label")
    named = [one for one in again.scores if not (one.group or "").startswith("label=")]
    assert named == list(first.scores)
    assert any(one.group == "label=neutral" for one in again.scores)


def test_a_gate_on_a_data_set(tmp_path, two):
    done = ow.run(data=two, **SETTINGS, require="flip_rate[source=small]<=1", out=tmp_path / "run")
    assert [one.passed for one in done.gates] == [True, True]


def test_families_by_data_set(tmp_path, two):
    (tmp_path / "family.toml").write_text('m = "A"\nn = "A"\n')
    done = ow.run(data=two, **SETTINGS, by=f"family:{tmp_path / 'family.toml'}", out=tmp_path / "run")
    means = {one.group for one in done.scores if one.model == "(mean)" and "family" in (one.group or "")}
    assert means == {"family=A", "source=large, family=A", "source=small, family=A", "source=(average), family=A"}


def test_names_of_data_sets(tmp_path):
    (tmp_path / "a").mkdir()
    paths = [tmp_path / "dev.jsonl", tmp_path / "a" / "dev.jsonl", tmp_path / "test.csv"]
    for path in paths:
        path.write_text("")
    names = [*map(str, paths), "everyday"]
    assert source_names(names, [find(one) for one in names]) == [str(paths[0]), str(paths[1]), "test", "everyday"]
    assert source_names(["everyday", "everyday"], [find("everyday")] * 2) == ["everyday (1)", "everyday (2)"]


def test_columns_and_records_are_marked_alike(tmp_path):
    """In whole columns and row by row, also where rows differ in their keys or some name their source themselves."""
    odd = [*rows(0, 2), {**rows(2, 1)[0], "source": "own"}, {**rows(3, 1)[0], "more": 1}]
    names = [odd, rows(4, 2), rows(6, 2, source=None)]
    read = {}
    for way in ("columns", "records"):
        source = Source(names, marked=True)
        found = list(source) if way == "records" else [
            row for piece in source.pieces() for row in (piece.to_dicts() if isinstance(piece, pl.DataFrame) else piece)
        ]  # fmt: skip
        read[way] = [row.get("source") for row in found]
    assert (
        read["columns"] == read["records"] == ["table 1", "table 1", "own", "table 1", "table 2", "table 2", None, None]
    )


def test_the_page_shows_data_sets_and_averages_in_one_table(tmp_path, two):
    done = ow.run(data=two, **SETTINGS, out=tmp_path / "run")
    page = done.report.read_text()
    table = page.partition("By source")[2].partition("</table>")[0]
    assert [table.count(f">{name}<") for name in ("large", "small", "(average)")] == [2, 2, 2]  # a row for each model
    assert table.count('<th scope="col" class="number"') == 2  # a column for each metric, not one more for averages
