"""What a paper's experiment leaves: tables and figures as files, and one page that shows all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2

from .._version import __version__
from ..problem import Score
from ..report.exhibits import write_exhibits
from ..report.figures import STYLE, Figure, Point
from ..report.tables import Table, TableCell
from ..storage.files import write_text
from ..storage.run_folder import RunFolder

#: What the stages of a run are called on the page.
_STAGES = {"vary": "rewordings", "check": "checks"}


@dataclass(frozen=True)
class PaperResults:
    """What came out: tables and figures by their names in the paper, what is missing and why, and the deviations.

    `exhibits` says which table or figure of the paper each one is, such as "Table 2"; `missing` gives the reason for
    each that is not there. `summary` is one line for the terminal and the head of the page. `signatures` are those of
    metrics; what runs did is signed in their folders.
    """

    tables: dict[str, list[Table]] = field(default_factory=dict)
    figures: dict[str, list[Figure]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    deviations: Sequence[str] = ()
    summary: str = ""
    signatures: Sequence[str] = ()

    @property
    def has_published(self) -> bool:
        """Whether a value of the paper stands beside one of ours."""
        cells = (cell for some in self.tables.values() for table in some for row in table.cells for cell in row)
        return any(cell.published is not None for cell in cells)


def score_cell(found: Score | None, mark: str = "") -> TableCell:
    """A score as a cell with its interval; an empty one where there is none."""
    return TableCell(None) if found is None else TableCell(found.value, found.low, found.high, mark=mark)


def score_point(x: str, found: Score | None) -> Point:
    """A score as a bar or point over a name; a gap where there is none."""
    return Point(x, None) if found is None else Point(x, found.value, found.low, found.high)


def in_words(found: Score) -> str:
    """A share in per cent, with its interval if it has one.

    >>> in_words(Score("flip_rate", "", "m", None, 0.048, 0.023, 0.098, 10, 10))
    '4.8 % [2.3 to 9.8]'
    """
    ends = "" if found.low is None or found.high is None else f" [{100 * found.low:.1f} to {100 * found.high:.1f}]"
    return f"{100 * (found.value or 0):.1f} %{ends}"


def write_results(folder: Path, results: PaperResults, about: Mapping[str, Any]) -> Path:
    """Write tables/, figures/ and the page report.html into the folder of an experiment; give the page.

    `about` has the paper's title, methods, BibTeX entry and exhibits, and the experiment's seed, data, models, command.
    """
    tables = [one for some in results.tables.values() for one in some]
    figures = [one for some in results.figures.values() for one in some]
    write_exhibits(folder, tables, figures)
    page = folder / "report.html"
    runs = sorted(one.relative_to(folder).as_posix() for one in folder.glob("cells/**/run/report.html"))
    signed = _signed(
        [RunFolder((folder / one).parent).manifest.get("signatures", {}) for one in runs], results.signatures
    )
    write_text(page, render(results, about, runs, signed))
    return page


def _signed(of_runs: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, list[str]]:
    """All signatures, by what they are of: those of all runs, and of the metrics of tables and figures."""
    found: dict[str, dict[str, None]] = {}
    for one in of_runs:
        for kind, some in one.items():
            found.setdefault(kind, {}).update(dict.fromkeys(some.values() if isinstance(some, Mapping) else some))
    found.setdefault("metrics", {}).update(dict.fromkeys(metrics))
    return {_STAGES.get(kind, kind): sorted(map(str, some)) for kind, some in found.items() if some}


def render(
    results: PaperResults,
    about: Mapping[str, Any],
    runs: Sequence[str] = (),
    signed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """The page: the exhibits in the paper's order, what is missing, what deviates, and how to repeat and cite it.

    `runs` are the reports of its runs, beside the page: there all problems are, to be browsed. `signed` has the
    signatures of all that has a part in the numbers.
    """
    template = (files(__package__) / "paper.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    shown = list(_in_order(about["exhibits"], results.tables, results.figures))
    return environment.from_string(template).render(
        paper=about, results=results, exhibits=shown, runs=runs, signed=signed, style=STYLE, version=__version__
    )


def _in_order(
    names: Sequence[str], tables: Mapping[str, Sequence[Table]], figures: Mapping[str, Sequence[Figure]]
) -> Iterator[tuple[str, Sequence[Table], Sequence[Figure]]]:
    """The exhibits as the paper numbers them, then what goes beyond it."""
    for name in dict.fromkeys([*names, *tables, *figures]):
        if name in tables or name in figures:
            yield name, tables.get(name, ()), figures.get(name, ())
