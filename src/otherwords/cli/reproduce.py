"""otherwords reproduce"""

from pathlib import Path
from typing import Annotated

import typer

from . import options as opt
from .display import console, print_json, print_line


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper (otherwords list papers).")],
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="FOLDER", help="The folder that contains paranlu/, ie_test/ and parte/; for merge, a run."
        ),
    ],
    table: Annotated[
        list[str],
        typer.Option("--table", metavar="TABLE", help="Show only this table, as in 4 or 'Figure 5'; may be repeated."),
    ] = [],  # noqa: B006
    plugin: opt.Plugins = [],  # noqa: B006
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Recompute a paper's tables from its authors' predictions.

    Shows the published value, the value recomputed from the data, the difference, and its reason if known. Metrics of
    answers have two intervals: that of `score`, and a percentile bootstrap.
    """
    from ..papers.reproduction import of_tables, reproduce, summary
    from .tables import cell_table

    cells = of_tables(reproduce(paper, data), table)
    if json:
        keys = ("table", "row", "column", "published", "obtained", "interval", "percentile")
        rows = [{key: getattr(cell, key) for key in keys} for cell in cells]
        print_json(rows)
    elif not quiet:
        for name in dict.fromkeys(cell.table for cell in cells):
            console().print(cell_table(name, [cell for cell in cells if cell.table == name]))
        print_line(summary(cells))


def list_papers() -> str:
    """The end of the help: the papers there are. Only this command's help loads them."""
    from ..registry import papers

    return f"Papers: {', '.join(plugin.name for plugin in papers)}."
