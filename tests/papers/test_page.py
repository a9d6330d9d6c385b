"""The page about reproductions says what the commands say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otherwords.papers.reproduction import reproduce, summary
from otherwords.registry import papers

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
#: The papers whose authors released predictions: those of merge come from a run of one's own.
TITLES = {"paranlu": "ParaNLU", "ie-test": "IE test", "parte": "PaRTE"}


def counts_on_the_page(title: str) -> list[int]:
    """The four numbers in the row of a paper: printed, as printed, otherwise, not in the data."""
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| {title} \(.*\|$", page, flags=re.MULTILINE)
    return [int(cell) for cell in row.strip("|").split("|")[1:]]


def test_the_papers_on_the_page_exist() -> None:
    """New papers are welcome; these stay."""
    assert {*TITLES, "merge"} <= {plugin.name for plugin in papers}
    for title in TITLES.values():
        printed, *parts = counts_on_the_page(title)
        assert printed == sum(parts)


@pytest.mark.parametrize(
    ("paper", "key"), [("paranlu", ("4", "RoBERTa", "d-SNLI P_C")), ("parte", ("Figure 5", "BERT", "PP"))]
)
@pytest.mark.slow
def test_the_examples_of_both_intervals_are_those_of_the_cells(paper: str, key: tuple[str, str, str]):
    if not (DATA / paper).is_dir():
        pytest.skip(f"needs ../shared/data/{paper}")
    [cell] = [one for one in reproduce(paper, DATA) if (one.table, one.row, one.column) == key]
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    for low, high in (cell.interval, cell.percentile):
        assert f"[{low:.1f}, {high:.1f}]" in page
    assert f"{cell.obtained:.1f}" in page


@pytest.mark.parametrize("paper", ["paranlu", pytest.param("ie-test", marks=pytest.mark.slow), "parte"])
def test_the_table_has_the_counts_of_the_closing_line(paper: str, reproduced) -> None:
    if not (DATA / paper.replace("-", "_")).is_dir():
        pytest.skip(f"needs ../shared/data/{paper.replace('-', '_')}")
    printed = re.sub(r"\(.*?\)", "", summary(reproduced(paper, DATA)))
    assert counts_on_the_page(TITLES[paper]) == [int(number) for number in re.findall(r"\d+", printed)]
