"""otherwords report"""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Where to write the page. Default: report.html in the run folder."
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables",
            metavar="DIR",
            help="Write tables (.md, .csv, .tex) and figures (.svg, .json) into this folder, too.",
        ),
    ] = None,
) -> None:
    """Render the report of a run again.

    One HTML page that needs no network.
    """
    from ..report.exhibits import refuse_unusable
    from ..report.page import rerender
    from ..report.run_exhibits import write_run_exhibits

    if tables is not None:
        refuse_unusable(tables, folder)
    typer.echo(rerender(folder, out))
    if tables is not None:
        _, absent = write_run_exhibits(folder, tables)
        for name, why in absent.items():
            typer.echo(f"no {name}: {why}", err=True)
        typer.echo(tables)
