"""otherwords reproduce: the fixed contract of its JSON, tables for people, missing data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from otherwords.papers.reproduction import reproduce
from otherwords.registry import papers

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not (DATA / "parte").is_dir(), reason="the authors' predictions are not here")
REPRODUCED = cache(reproduce)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paper is reproduced once for all tests of what is shown of it."""
    monkeypatch.setattr("otherwords.papers.reproduction.reproduce", REPRODUCED)


@needs_data
def test_json_has_exactly_these_keys_and_unrounded_numbers(cli, once):
    cells = json.loads(cli("reproduce", "parte", "--data", str(DATA), "--json").stdout)
    assert {tuple(cell) for cell in cells} == {
        ("table", "row", "column", "published", "obtained", "interval", "percentile")
    }
    assert {type(cell["table"]) for cell in cells} == {str}
    found = {(cell["table"], cell["row"], cell["column"]): cell for cell in cells}
    assert found["2", "RoBERTa", "% changed"]["published"] == 7.99
    assert found["2", "RoBERTa", "% changed"]["obtained"] == pytest.approx(100 * 96 / 1126, abs=1e-12)
    assert found["2", "BERT", "MNLI"]["obtained"] is None
    for kind in ("interval", "percentile"):
        low, high = found["2", "RoBERTa", "% changed"][kind]
        assert low < 100 * 96 / 1126 < high
        assert found["Figure 1", "RoBERTa", "correct to incorrect"][kind] is None


@needs_data
def test_people_see_the_difference_and_the_reason(cli, once):
    result = cli("reproduce", "parte", "--data", str(DATA), "--table", "2")
    for text in ("published", "obtained", "difference", "reason", "+0.536", "printed truncated", "8.526"):
        assert text in result.stdout
    assert "printed values" in result.stderr
    assert "Figure 1" not in result.stdout


@needs_data
def test_people_see_both_intervals_within_120_columns(cli, once):
    """% changed of RoBERTa: 8.526, in [6.8, 10.7], by percentiles in [6.7, 10.5]."""
    shown = cli("reproduce", "parte", "--data", str(DATA), "--table", "2").stdout
    assert max(map(len, shown.splitlines())) <= 120
    assert "95 % interval" in shown
    [row] = [line for line in shown.splitlines() if " 8.526 " in line]
    assert [cell.strip() for cell in row.split("│")][6:8] == ["6.8 – 10.7", "6.7 – 10.5"]
    [row] = [line for line in shown.splitlines() if "67.97" in line]
    assert [cell.strip() for cell in row.split("│")][6:8] == ["", ""]


@needs_data
@pytest.mark.filterwarnings("default:.*with fewer than 20 they are not reliable")
def test_a_cell_of_few_clusters_is_warned_of_once(cli):
    """PaRTE's 28 rows of task PP have 18 premises; five models answer them."""
    errors = cli("reproduce", "parte", "--data", str(DATA), "--table", "Figure 5").stderr
    assert " ".join(errors.split()).count("Figure 5, PP: intervals rest on 18 clusters") == 1


@needs_data
def test_a_table_of_counts_has_no_columns_of_intervals(cli, once):
    shown = cli("reproduce", "parte", "--data", str(DATA), "--table", "Figure 1").stdout
    assert "obtained" in shown
    assert "interval" not in shown
    assert "percentile" not in shown


@needs_data
def test_a_table_that_is_not_there(cli, once):
    assert "available: 2" in cli("reproduce", "parte", "--data", str(DATA), "--table", "9", rc=2).stderr


@pytest.mark.parametrize("paper", ["paranlu", "ie-test", "parte"])
def test_missing_data_are_named(cli, place, paper):
    error = cli("reproduce", paper, "--data", "nowhere", rc=2).stderr.replace("\n", "")
    assert "no such file" in error
    assert "give the folder that holds" in error


def test_an_unknown_paper(cli, place):
    error = cli("reproduce", "nonesuch", "--data", ".", rc=2).stderr
    assert "available: ie-test.v1, merge.v1, paranlu.v1, parte.v1" in error


def test_the_help_lists_the_papers(cli):
    said = " ".join(cli("reproduce", "--help").stdout.split())
    assert f"Papers: {', '.join(sorted(plugin.name for plugin in papers))}." in said


def test_merge_says_what_was_not_released_and_what_to_run(cli, place):
    error = cli("reproduce", "merge", "--data", ".", rc=2).stderr
    assert "were not released" in error
    assert "otherwords run --data FILE --with masked-lm" in error
