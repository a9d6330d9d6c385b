"""Tables: one specification gives Markdown, CSV with raw numbers, LaTeX that compiles, and HTML for a page."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import Literal

from ..errors import BadInput
from ..problem import rounded
from ..scoring.layout import p_value

#: What LaTeX has instead of a character; others beyond Latin letters are shown by engines that know Unicode.
_LATEX = {
    **{one: f"\\{one}" for one in "&%$#_{}"}, "[": "{[}", "*": "{*}",  # after a line's end, TeX would read these
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "\u2212": r"\ensuremath{-}", "–": "--",
    "—": "---", "…": r"\ldots{}", "\u00a0": "~", "‘": "`", "’": "'", "“": "``", "”": "''", "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}", "→": r"\ensuremath{\to}", "←": r"\ensuremath{\leftarrow}", "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}", "≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "≠": r"\ensuremath{\ne}",
    "∞": r"\ensuremath{\infty}", "Δ": r"\ensuremath{\Delta}", "′": r"\ensuremath{'}", "✓": r"\ensuremath{\surd}",
    "↑": r"\ensuremath{\uparrow}", "↓": r"\ensuremath{\downarrow}", "§": r"\S{}",
    "α": r"\ensuremath{\alpha}", "β": r"\ensuremath{\beta}", "γ": r"\ensuremath{\gamma}", "δ": r"\ensuremath{\delta}",
    "θ": r"\ensuremath{\theta}", "κ": r"\ensuremath{\kappa}", "λ": r"\ensuremath{\lambda}", "μ": r"\ensuremath{\mu}",
    "ρ": r"\ensuremath{\rho}", "σ": r"\ensuremath{\sigma}", "τ": r"\ensuremath{\tau}", "χ": r"\ensuremath{\chi}",
}  # fmt: skip
#: Letters that pdfLaTeX prints, those of Western and Central European languages, and some of them that it does not.
_UNPRINTED = "ĦħĸĿŀŉŦŧ"
_PRINTED = re.compile(r"[\x20-\x7e\u00a1-\u017e]")
#: Points above which a table is set across both columns of a page, and above which in the smallest letters.
_COLUMN, _PAGE = 235, 470
#: Points from which on a text is long: in a table wider than a page it is broken into lines.
_LONG = 110

Unit = Literal["text", "share", "number", "count", "p"]
Plain = str | float | int | bool | None


@dataclass(frozen=True)
class TableColumn:
    """A heading, what the cells below are, and the group of columns that it belongs to, which has a heading, too.

    A "share" is printed in per cent, a "number" with so many `digits` (3 unless given), a "count" with commas.
    """

    name: str
    unit: Unit = "text"
    group: str = ""
    digits: int | None = None

    @property
    def full(self) -> str:
        """The name with that of its group."""
        return f"{self.group}: {self.name}" if self.group else self.name


@dataclass(frozen=True)
class TableCell:
    """A value, its interval, and what a paper published there; a `mark` such as † stands behind it.

    Its `unit` is that of its column unless it is given.
    """

    value: Plain
    low: float | None = None
    high: float | None = None
    published: float | None = None
    bold: bool = False
    mark: str = ""
    unit: Unit | None = None


@dataclass(frozen=True)
class Table:
    """What a table says. A row is as long as there are columns; one that is a text is a heading for those below it.

    `name` is that of its files; `notes` stand below, a line each, and say what marks mean.
    """

    name: str
    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[TableCell | Plain] | str]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        where = f"table {self.name}"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            fix = "use letters, digits, hyphens and dots"
            raise BadInput(f"{self.name!r} cannot be used as a file name", where="table", fix=fix)
        if not self.cells:
            raise BadInput("has no row", where=where, fix="leave it out, and say why")
        wrong = [place for place, row in enumerate(self.cells, 1) if len(row) != len(self.columns)]
        if wrong:
            fix = f"give each row {len(self.columns)} cells, or a text alone for a heading"
            raise BadInput(f"row {wrong[0]} does not have a cell for each column", where=where, fix=fix)

    @property
    def cells(self) -> list[list[TableCell]]:
        """All rows but headings."""
        return [[_cell(one) for one in row] for row in self.rows if not isinstance(row, str)]

    @property
    def grouped(self) -> list[tuple[str, int]]:
        """The groups of columns from left to right, with their numbers of columns."""
        return [(name, len(list(some))) for name, some in groupby(one.group for one in self.columns)]

    def markdown(self) -> str:
        """A table of Markdown with its title and notes."""
        head = [_markdown(one.full) for one in self.columns]
        rules = ["---" if one.unit == "text" else "---:" for one in self.columns]
        lines = [_pipes(head), _pipes(rules)]
        for row in self.rows:
            if isinstance(row, str):
                lines.append(_pipes([f"*{_markdown(row)}*", *[""] * (len(self.columns) - 1)]))
            else:
                lines.append(_pipes(map(_in_markdown, row, self.columns)))
        notes = [line for note in self.notes for line in ("", _markdown(note))]
        return "\n".join([f"**{_markdown(self.title)}**", "", *lines, *notes, ""])

    def csv(self) -> str:
        """Raw numbers, with columns of their own for the ends of intervals and what was published, if there are any."""
        heading = [row for row in self.rows if isinstance(row, str)]
        parts = [_raw_columns(place, self.cells) for place in range(len(self.columns))]
        names = [one.full + ("" if part == "value" else f" {part}")
                 for one, some in zip(self.columns, parts, strict=True) for part in some]  # fmt: skip
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*(["section"] if heading else []), *names])
        section = ""
        for row in self.rows:
            if isinstance(row, str):
                section = row
                continue
            cells = [_raw(getattr(_cell(one), part)) for one, some in zip(row, parts, strict=True) for part in some]
            writer.writerow([*([section] if heading else []), *cells])
        return out.getvalue()

    def latex(self) -> str:
        r"""A `table` environment; its document needs `\usepackage[T1]{fontenc}\usepackage{booktabs}`."""
        star, size = ("*" if self._points > _COLUMN else ""), ("\\scriptsize" if self._points > _PAGE else "\\small")
        sides = "".join(self._latex_sides())
        lines = [
            "% \\usepackage[T1]{fontenc}\\usepackage{booktabs}",
            f"\\begin{{table{star}}}[t]",
            f"\\centering{size}\\setlength{{\\tabcolsep}}{{4pt}}",
            f"\\caption{{{latex_text(self.title)}}}\\vspace{{4pt}}",
            f"\\label{{tab:{self.name}}}",
            f"\\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
            "\\toprule",
            *self._latex_groups(),
            _ampersands(latex_text(one.name) for one in self.columns),
            "\\midrule",
            *self._latex_rows(),
            "\\bottomrule",
            "\\end{tabular}",
            *(f"\\par\\smallskip{{\\footnotesize {latex_text(note)}}}" for note in self.notes),
            f"\\end{{table{star}}}",
        ]
        return "\n".join([*lines, ""])

    def _latex_sides(self) -> list[str]:
        """How columns are set: in a table wider than a page, long texts get lines within what numbers leave them."""
        widths = self._widths()
        long = [one.unit == "text" and width > _LONG for one, width in zip(self.columns, widths, strict=True)]
        left = _PAGE - sum(width for width, broken in zip(widths, long, strict=True) if not broken)
        wide = max(left / max(sum(long), 1) - 8, 40) if sum(widths) > _PAGE else 0
        return [
            f"p{{{wide:.0f}pt}}" if broken and wide else "l" if one.unit == "text" else "r"
            for one, broken in zip(self.columns, long, strict=True)
        ]

    @property
    def _points(self) -> float:
        """About how wide it is in print."""
        return float(sum(self._widths()))

    def _widths(self) -> list[float]:
        """About how wide columns are: intervals and published values have smaller letters."""
        rows = [[len(one.name) * 4.6 for one in self.columns]]
        for row in self.cells:
            pairs = zip(row, self.columns, strict=True)
            rows.append(
                [4.6 * len(cell_text(one.value, column)) + 3.8 * len(_extra(one, column)) for one, column in pairs]
            )
        widths, end = [max(column) + 8 for column in zip(*rows, strict=True)], 0
        for name, count in self.grouped:  # the last column of a group is as wide as the group's heading needs
            end += count
            widths[end - 1] += max(0, len(name) * 4.6 + 8 - sum(widths[end - count : end]))
        return widths

    def _latex_groups(self) -> list[str]:
        """The headings of groups of columns, each over a line of its own."""
        if not any(name for name, _ in self.grouped):
            return []
        heads, rules, first = [], [], 1
        for name, count in self.grouped:
            heads.append(f"\\multicolumn{{{count}}}{{c}}{{{latex_text(name)}}}" if name else "&" * (count - 1))
            rules += [f"\\cmidrule(lr){{{first}-{first + count - 1}}}"] if name else []
            first += count
        return [_ampersands(heads), "".join(rules)]

    def _latex_rows(self) -> list[str]:
        lines, count = [], len(self.columns)
        for place, row in enumerate(self.rows):
            if isinstance(row, str):
                lines += ["\\addlinespace"] * (place > 0)
                lines.append(f"\\multicolumn{{{count}}}{{@{{}}l}}{{\\emph{{{latex_text(row)}}}}} \\\\")
            else:
                write = _on_two_lines if self._points > _PAGE else _in_latex
                lines.append(_ampersands(map(write, row, self.columns)))
        return lines

    def html(self) -> str:
        """A table of a page, whose classes are `exhibit`, `number`, `interval` and `published`."""
        head = "".join(f'<th scope="col"{_number_class(one)}>{escape(one.name)}</th>' for one in self.columns)
        groups = "".join(
            f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' if name else f'<td colspan="{count}"></td>'
            for name, count in self.grouped
        )
        above = f"<tr>{groups}</tr>\n" if any(name for name, _ in self.grouped) else ""
        body = "\n".join(self._html_row(row) for row in self.rows)
        notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in self.notes)
        return (
            f'<table class="exhibit">\n<caption>{escape(self.title)}</caption>\n<thead>{above}<tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody></table>\n{notes}"
        )

    def _html_row(self, row: Sequence[TableCell | Plain] | str) -> str:
        if isinstance(row, str):
            return f'<tr><th scope="rowgroup" colspan="{len(self.columns)}">{escape(row)}</th></tr>'
        first = f'<th scope="row">{_in_html(row[0], self.columns[0])}</th>'
        rest = "".join(
            f"<td{_number_class(column)}>{_in_html(one, column)}</td>"
            for one, column in zip(row[1:], self.columns[1:], strict=True)
        )
        return f"<tr>{first}{rest}</tr>"


# Cells


def _cell(value: TableCell | Plain) -> TableCell:
    return value if isinstance(value, TableCell) else TableCell(value)


def cell_text(value: Plain, column: TableColumn) -> str:
    r"""A value as tables print it; a dash where there is none.

    >>> cell_text(0.3141, TableColumn("p_c", "share")), cell_text(1234, TableColumn("n", "count"))
    ('31.4', '1,234')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, (bool, str)) or column.unit == "text":
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if column.unit == "count":
        return f"{value:,.0f}".replace("-", "\u2212")
    if column.unit == "p":
        return p_value(value)
    if column.digits is not None:
        shown = f"{round(100 * value if column.unit == 'share' else value, column.digits) + 0.0:.{column.digits}f}"
    else:
        shown = str(value) if isinstance(value, int) and column.unit == "number" else rounded(value, column.unit)
    return shown.replace("-", "\u2212")


def _interval(cell: TableCell, column: TableColumn) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"[{cell_text(cell.low, column)}, {cell_text(cell.high, column)}]"


def _extra(cell: TableCell, column: TableColumn) -> str:
    """What stands in small letters behind the value."""
    return cell.mark + _interval(cell, column) + _published(cell, column)


def _published(cell: TableCell, column: TableColumn) -> str:
    return "" if cell.published is None else f"({cell_text(cell.published, column)})"


def _shown(
    value: TableCell | Plain, column: TableColumn, write: Callable[[str], str], styles: tuple[str, str, str, str]
) -> str:
    """A cell in a language whose `styles` of bold, mark, interval and published value have a place for the text."""
    cell = _cell(value)
    column = replace(column, unit=cell.unit) if cell.unit else column
    shown = write(cell_text(cell.value, column))
    shown = styles[0].format(shown) if cell.bold else shown
    shown += styles[1].format(write(cell.mark)) if cell.mark else ""
    extra = zip(styles[2:], (_interval(cell, column), _published(cell, column)), strict=True)
    return shown + "".join(style.format(write(one)) for style, one in extra if one)


def _in_markdown(value: TableCell | Plain, column: TableColumn) -> str:
    return _shown(value, column, _markdown, ("**{}**", "{}", " {}", " {}"))


def _in_latex(value: TableCell | Plain, column: TableColumn) -> str:
    styles = (r"\textbf{{{}}}", r"\textsuperscript{{{}}}", r" {{\scriptsize {}}}", r" {{\scriptsize {}}}")
    return _shown(value, column, latex_text, styles)


def _on_two_lines(value: TableCell | Plain, column: TableColumn) -> str:
    """As in LaTeX, with the interval and what was published below the value: of a table wider than a page."""
    cell = _cell(value)
    extra = " ".join(one for one in (_interval(cell, column), _published(cell, column)) if one)
    if not extra:
        return _in_latex(cell, column)
    first = _in_latex(replace(cell, low=None, high=None, published=None), column)
    return rf"\shortstack[r]{{{first}\\{{\tiny {latex_text(extra)}}}}}"


def _in_html(value: TableCell | Plain, column: TableColumn) -> str:
    interval, published = ' <span class="interval">{}</span>', ' <span class="published">{}</span>'
    return _shown(value, column, escape, ("<b>{}</b>", "<sup>{}</sup>", interval, published))


# Text of each language


def _markdown(text: str) -> str:
    """Text on one line, without what Markdown would read."""
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", " ".join(text.split()))


def latex_text(text: str) -> str:
    r"""Text without what TeX would read; what pdfLaTeX does not have, it prints as a question mark.

    >>> print(latex_text("50% of a_b & ρ"))
    50\% of a\_b \& \ensuremath{\rho}
    """
    return "".join(_latex_letter(one) for one in " ".join(text.split(" ")) if one.isprintable() or one in " \u00a0")


def _latex_letter(letter: str) -> str:
    if letter in _LATEX:
        return _LATEX[letter]
    return (
        letter
        if _PRINTED.fullmatch(letter) and letter not in _UNPRINTED
        else f"\\ifdefined\\Umathchar {letter}\\else ?\\fi{{}}"
    )


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _number_class(column: TableColumn) -> str:
    return "" if column.unit == "text" else ' class="number"'


def _raw_columns(place: int, rows: Sequence[Sequence[TableCell]]) -> list[str]:
    """What there is to write of a column: values, and whatever else a cell of it has."""
    extra = ("low", "high", "published", "mark")
    return ["value", *(part for part in extra if any(getattr(row[place], part) not in (None, "") for row in rows))]


def _raw(value: Plain) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
