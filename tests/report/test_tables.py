"""Tables: the same specification as Markdown, CSV, LaTeX and HTML, whatever the texts are."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.report.tables import Table, TableCell, TableColumn, cell_text, latex_text

COLUMNS = [
    TableColumn("model"),
    TableColumn("accuracy", "share", "d-SNLI"),
    TableColumn("P_C", "share", "d-SNLI"),
    TableColumn("n", "count"),
    TableColumn("p", "p"),
]
ROWS: list[Any] = [
    "encoders",
    ["nli-small", TableCell(0.812, 0.79, 0.83, published=0.8), TableCell(0.9, bold=True, mark="†"), 1234, 0.0002],
    ["a_b & <c>", TableCell(-0.012), None, 3, float("nan")],
]
TABLE = Table("table-4", "50% of *all* models", COLUMNS, ROWS, ["† on the Pareto front: ρ ≥ 0.5"])


def test_markdown_has_every_number_and_no_markup_of_others() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == r"**50% of \*all\* models**"
    assert lines[2] == r"| model | d-SNLI: accuracy | d-SNLI: P\_C | n | p |"
    assert lines[3] == "| --- | ---: | ---: | ---: | ---: |"
    assert lines[4] == "| *encoders* |  |  |  |  |"
    assert lines[5] == r"| nli-small | 81.2 \[79.0, 83.0\] (80.0) | **90.0**† | 1,234 | \<0.001 |"
    assert lines[6] == r"| a\_b & \<c> | −1.2 | – | 3 | – |"
    assert lines[-1] == "† on the Pareto front: ρ ≥ 0.5"


def test_csv_has_the_raw_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert rows[0] == {
        "section": "encoders",
        "model": "nli-small",
        "d-SNLI: accuracy": "0.812",
        "d-SNLI: accuracy low": "0.79",
        "d-SNLI: accuracy high": "0.83",
        "d-SNLI: accuracy published": "0.8",
        "d-SNLI: P_C": "0.9",
        "d-SNLI: P_C mark": "†",
        "n": "1234",
        "p": "0.0002",
    }
    assert (rows[1]["d-SNLI: accuracy"], rows[1]["d-SNLI: P_C"], rows[1]["p"]) == ("-0.012", "", "")


def test_latex_groups_its_columns() -> None:
    lines = TABLE.latex().splitlines()
    assert r" & \multicolumn{2}{c}{d-SNLI} & & \\" in lines
    assert r"\cmidrule(lr){2-3}" in lines
    assert r"\begin{tabular}{@{}lrrrr@{}}" in lines
    assert r"a\_b \& \textless{}c\textgreater{} & \ensuremath{-}1.2 & -- & 3 & -- \\" in lines
    assert r"\textbf{90.0}\textsuperscript{\textdagger{}}" in TABLE.latex()
    wide = Table("w", "t", [TableColumn("a")] * 8, [["a cell of some length"] * 8])
    assert wide.latex().count("{table*}") == 2
    assert Table("n", "t", [TableColumn("a")] * 8, [["x"] * 8]).latex().count("{table}") == 2


def test_html_is_well_formed_and_shows_markup_as_text() -> None:
    root = ElementTree.fromstring(f"<div>{TABLE.html()}</div>")
    assert root.findtext("table/caption") == "50% of *all* models"
    assert [one.get("colspan") for one in root.findall("table/thead/tr/*")][:3] == ["1", "2", "2"]
    assert [one.text for one in root.iter("th") if one.get("scope") == "row"] == ["nli-small", "a_b & <c>"]
    assert [one.text for one in root.iter("span")] == ["[79.0, 83.0]", "(80.0)"]
    assert [one.text for one in root.iter("b")] == ["90.0"]


@settings(max_examples=at_most(60), deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_stays_in_its_cell(name: str, title: str) -> None:
    table = Table("t", title, [TableColumn(name), TableColumn("n", "count")], [[name, 1], [title, 2]], [name])
    cells = re.findall(r"(?<!\\)\|", table.markdown().splitlines()[-4 if name.strip() else -3])
    assert len(cells) in (0, 3)
    assert [row[1] for row in csv.reader(io.StringIO(table.csv()))] == ["n", "1", "2"]
    assert re.sub(r"\\[&\\]|\\\\$", "", table.latex()).count(" & ") == 3


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        (True, TableColumn("a"), "yes"),
        (0.12345, TableColumn("a", "number"), "0.123"),
        (12, TableColumn("a", "number"), "12"),
        (0.12345, TableColumn("a", "number", digits=1), "0.1"),
        (0.12345, TableColumn("a", "share", digits=0), "12"),
        (-0.0001, TableColumn("a", "share"), "0.0"),
        (float("inf"), TableColumn("a", "number"), "–"),
        (3, TableColumn("a"), "3"),
    ],
)
def test_numbers_are_printed_as_their_column_says(value: Any, column: TableColumn, expected: str) -> None:
    assert cell_text(value, column) == expected


@pytest.mark.parametrize(
    "change",
    [{"rows": []}, {"rows": ["a heading alone"]}, {"rows": [["a", 1], ["b"]]}, {"name": "a/b"}],
    ids=["no row", "a heading alone", "a short row", "a path"],
)
def test_what_is_no_table_is_refused(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "name": "t",
        "title": "t",
        "columns": [TableColumn("a"), TableColumn("b")],
        "rows": [["a", 1]],
    }
    with refuses(BadInput):
        Table(**{**given, **change})


def test_long_texts_are_broken_into_lines_where_a_table_is_wider_than_a_page() -> None:
    text = "A man in a blue shirt is standing on a ladder, cleaning a window of a large house."
    columns = [TableColumn("premise"), TableColumn("hypothesis"), TableColumn("label"), TableColumn("rate", "share")]
    wide = Table("wide", "Texts", columns, [[text, text, "neutral", 0.5]])
    assert re.search(r"\{@\{\}p\{(\d+)pt\}p\{\1pt\}lr@\{\}\}", wide.latex())
    assert "{@{}llr@{}}" in Table("narrow", "Texts", columns[1:], [["Short.", "neutral", 0.5]]).latex()


#: As ParaNLU's Table 4.
WIDE = Table(
    "wide", "Wide", [TableColumn("model"), *(TableColumn(f"A_{place}", "share") for place in range(8))],
    [["bag-of-words", *[TableCell(0.4, 0.3, 0.5, mark="†")] * 8]],
)  # fmt: skip

_LABELS = ("entailment", "neutral", "contradiction", "all")
#: Of numbers that are narrower than the headings of their groups.
HEADED = Table(
    "headed", "Headed",
    [TableColumn("data"), *(TableColumn(name, "share", group) for group in _LABELS
                            for name in ("r_s", "r_r"))],
    [["everyday", *[0.01] * 8]],
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed (texlive-latex-recommended)")
def test_latex_compiles(tmp_path: Path) -> None:
    """Also with all that TeX would read, at the beginning of rows, too, and with letters that pdfLaTeX lacks."""
    odd = "".join(map(chr, [*range(32, 127), *range(161, 384)])) + "精度 ρ≥→×✓“”’…†‡\u2212–—\u00a0🙂"
    words = [odd[at : at + 30] for at in range(0, len(odd), 30)]
    rows: list[Any] = [
        [word, 0.5, TableCell(0.4, 0.3, 0.5, 0.2, bold=True, mark="*"), 2, 0.01] for word in ("[a]", "*", *words)
    ]
    tables = [TABLE, WIDE, HEADED, Table("odd", odd.replace("\u00a0", " "), COLUMNS, [*rows, odd[:60], rows[0]], [odd])]
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
    inputs = "".join(f"\\input{{{table.name}}}" for table in tables)
    head = r"\documentclass[twocolumn]{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"
    (tmp_path / "all.tex").write_text(f"{head}{inputs}\\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 1000
    log = done.stdout.partition("(./wide.tex")[2].partition("(./odd.tex")[0]
    too_wide = re.findall(r"Overfull .hbox \(([\d.]+)pt", log)
    assert not too_wide


def test_of_a_table_wider_than_a_page_intervals_stand_below_their_values() -> None:
    assert r"\shortstack[r]{40.0\textsuperscript{\textdagger{}}\\{\tiny {[}30.0, 50.0]}}" in WIDE.latex()
    assert "shortstack" not in TABLE.latex()


def test_letters_that_no_font_of_pdflatex_has_are_left_to_other_engines() -> None:
    assert latex_text("a精") == r"a\ifdefined\Umathchar 精\else ?\fi{}"
