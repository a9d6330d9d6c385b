"""Every table and figure of the five papers is accounted for: in the documentation, and by each command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otherwords.papers.protocol import PROTOCOLS, find_protocol

DOCS = Path(__file__).parents[2] / "docs"
PAPERS = Path(__file__).parents[3] / "shared" / "papers"
#: How many tables and figures each paper has, the page about its command, its name in the list, and its text.
COUNTS = {
    "paranlu": (7, 8, "papers/paranlu.md", "ParaNLU", "paranlu-srikanth-2024.txt"),
    "ie-test": (18, 8, "ie-results.md", "IE test", "ie-test-salvatore-2023.txt"),
    "merge": (10, 11, "papers/merge.md", "MERGE", "merge-zgreaban-2025.txt"),
    "parte": (2, 7, "papers/parte.md", "PaRTE", "parte-verma-2023.txt"),
    "sensitivity": (4, 5, "papers/sensitivity.md", "semantic sensitivity", "sensitivity-arakelyan-2024.txt"),
}
_LIST = re.compile(r"\b(Table|Figure)s? (\d+(?:(?:, and |, | and | to |; )\d+)*)")


def exhibits(text: str) -> set[str]:
    """All that a text names, however it lists them.

    >>> sorted(exhibits("Tables 1, 3 and 5; Figures 2 to 4, Figure 9"))
    ['Figure 2', 'Figure 3', 'Figure 4', 'Figure 9', 'Table 1', 'Table 3', 'Table 5']
    """
    found = set()
    for kind, listed in _LIST.findall(text):
        for part in re.split(r", and |, | and |; ", listed):
            first, _, last = part.partition(" to ")
            found |= {f"{kind} {number}" for number in range(int(first), int(last or first) + 1)}
    return found


def wanted(paper: str) -> set[str]:
    tables, figures, *_ = COUNTS[paper]
    return {f"Table {n + 1}" for n in range(tables)} | {f"Figure {n + 1}" for n in range(figures)}


@pytest.mark.parametrize("paper", COUNTS)
def test_the_documentation_accounts_for_all(paper):
    *_, page, name, _ = COUNTS[paper]
    line = re.search(rf"^\| {name} \|[^\n]*\]\({page}\)[^\n]*$", (DOCS / "reproductions.md").read_text(), re.MULTILINE)
    assert line is not None, f"the list in reproductions.md lacks {name}, or a link to {page}"
    assert exhibits(line[0]) == wanted(paper)
    assert exhibits((DOCS / page).read_text()) >= wanted(paper)


@pytest.mark.parametrize("paper", PROTOCOLS)
def test_the_first_line_says_whose_numbers_these_are(paper):
    heading, first, *_ = (DOCS / COUNTS[paper][2]).read_text().split("\n\n")
    assert heading.startswith("# ")
    assert "on small models of our own, not the paper's numbers" in first


@pytest.mark.parametrize("paper", PROTOCOLS)
def test_each_command_promises_all(paper):
    """`run_paper` asserts that each is there or named with the reason."""
    assert set(find_protocol(paper).exhibits) == wanted(paper)


@pytest.mark.parametrize("paper", COUNTS)
def test_the_papers_have_no_more(paper):
    path = PAPERS / COUNTS[paper][-1]
    if not path.is_file():
        pytest.skip("the papers' texts are not here")
    assert exhibits(path.read_text(encoding="utf-8")) <= wanted(paper)
