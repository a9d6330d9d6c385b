"""What a paper's experiment leaves: tables and figures as files, and one page that shows all of them."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from .._version import __version__
from ..report.exhibits import write_exhibits
from ..report.figures import STYLE, Figure
from ..report.tables import Table
from ..storage.files import write_text

if TYPE_CHECKING:
    from .protocol import PaperResults, Protocol


def write_results(experiment: "Protocol[Any]", results: "PaperResults") -> Path:
    """Write tables/, figures/ and the page report.html into the folder of the experiment; give the page."""
    tables = [one for some in results.tables.values() for one in some]
    figures = [one for some in results.figures.values() for one in some]
    write_exhibits(experiment.folder, tables, figures)
    page = experiment.folder / "report.html"
    write_text(page, render(experiment, results))
    return page


def render(experiment: "Protocol[Any]", results: "PaperResults") -> str:
    """The page: the exhibits in the paper's order, what is missing, what deviates, and how to repeat and cite it."""
    template = (files(__package__) / "paper.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    settings = experiment.settings
    return environment.from_string(template).render(
        protocol=type(experiment),
        results=results,
        exhibits=list(_in_order(experiment.exhibits, results.tables, results.figures)),
        style=STYLE,
        version=__version__,
        seed=settings.seed,
        datasets={name: experiment.rows[name] for name in settings.datasets},
        models={name: one.model for name, one in settings.models.items()},
        command=f"otherwords paper {experiment.name} experiment.toml -o FOLDER",
    )


def _in_order(
    names: Sequence[str], tables: Mapping[str, Sequence[Table]], figures: Mapping[str, Sequence[Figure]]
) -> Iterator[tuple[str, Sequence[Table], Sequence[Figure]]]:
    """The exhibits as the paper numbers them, then what goes beyond it."""
    for name in dict.fromkeys([*names, *tables, *figures]):
        if name in tables or name in figures:
            yield name, tables.get(name, ()), figures.get(name, ())
