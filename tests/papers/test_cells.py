"""When a cell agrees with print, and that the tables of printed values can be read."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from otherwords.papers.reproduction import Cell, WithIntervals, against_published


@pytest.mark.parametrize(
    ("obtained", "reason", "agrees"),
    [
        (53.996, "", False),
        (53.996, "printed truncated", True),
        (53.996, "printed truncated; see footnote 3", True),
        (53.996, "the file was truncated by the authors", False),
        (53.996, "not printed truncated", False),
        (54.0, "printed truncated", False),
        (53.989, "printed truncated", True),  # rounds to it
        (53.98, "printed truncated", False),
        (None, "printed truncated", None),
    ],
)
def test_a_cut_value_agrees_only_where_the_reason_starts_so(obtained: float, reason: str, agrees: bool) -> None:
    assert Cell("2", "BoW", "RTE", 53.99, obtained, 2, reason).agrees is agrees


def test_what_is_not_printed_has_nothing_to_agree_with() -> None:
    assert Cell("2", "BoW", "RTE", None, 54.0, 2, "printed truncated").agrees is None


TABLES = sorted(path.name for path in files("otherwords.papers").iterdir() if path.name.endswith(".csv"))


@pytest.mark.parametrize("table", TABLES)
def test_every_line_of_printed_values_has_five_fields(table: str) -> None:
    """An unquoted comma would cut a reason short, and no reader of CSV complains."""
    text = (files("otherwords.papers") / table).read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    assert lines[0] == ["table", "row", "column", "published", "reason"]
    assert {len(line) for line in lines} == {5}
    assert len({tuple(line[:3]) for line in lines}) == len(lines)


def test_what_a_paper_does_not_print_comes_last() -> None:
    cells = against_published("parte", {("2", "BoW", "RTE"): 53.996, ("own", "row", "column"): 1.0})
    assert [cell.published for cell in cells if cell.table == "own"] == [None]
    assert cells[-1].table == "own"
    assert next(cell for cell in cells if cell.obtained == 53.996).agrees


def test_a_cell_has_the_intervals_that_come_with_its_value() -> None:
    measured = WithIntervals(53.996, (50.2, 57.7), (50.3, 57.7))
    cells = against_published("parte", {("2", "BoW", "RTE"): measured, ("2", "BoW", "PaRTE"): 55.595})
    found = {(cell.row, cell.column): cell for cell in cells}
    cell = found["BoW", "RTE"]
    assert (cell.obtained, cell.interval, cell.percentile) == measured
    assert cell.published == 53.99
    for other in (found["BoW", "PaRTE"], found["BERT", "RTE"]):
        assert (other.interval, other.percentile) == (None, None)
