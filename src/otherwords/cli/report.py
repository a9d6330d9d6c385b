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
) -> None:
    """Render the report of a run again.

    One HTML page that needs no network.
    """
    from ..report.page import rerender

    typer.echo(rerender(folder, out))
