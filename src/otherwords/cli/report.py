"""otherwords report"""

from pathlib import Path
from typing import Annotated

import typer

from . import options as opt


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN", help="A run folder; or one or more logs of Inspect, lm-eval, promptfoo or HELM (with -o)."
        ),
    ],
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
            help="Also write tables (.md, .csv, .tex) and figures (.svg, .json) to this folder.",
        ),
    ] = None,
    bucket_from: opt.BucketFrom = "",
    scorer: opt.Scorer = "",
    graded: opt.Graded = False,
) -> None:
    """Render the report of a run, or of logs of other harnesses.

    Writes one self-contained HTML page.
    """
    from ..errors import BadInput
    from ..harnesses.logs import find_harness
    from ..report.exhibits import refuse_unusable
    from ..report.log_page import write_log_report
    from ..report.page import rerender
    from ..report.run_exhibits import write_run_exhibits

    if out is not None and out.suffix.lower() not in (".html", ".htm"):  # somebody's data, more likely than a page
        raise BadInput("is not the name of an HTML file", where=str(out), fix="end it in .html")
    if find_harness(sources[0]):
        if out is None or tables is not None:
            raise BadInput(
                "a log needs -o FILE.html, and has no --tables", where=str(sources[0]), fix="add -o FILE.html"
            )
        typer.echo(write_log_report(sources, out, opt.log_options(bucket_from, scorer, graded, *map(str, sources))))
        return
    if len(sources) > 1:
        raise BadInput(f"found {len(sources)} run folders", where="report", fix="give one run folder, or logs")
    folder = sources[0]
    if tables is not None:
        refuse_unusable(tables, folder)
    typer.echo(rerender(folder, out))
    if tables is not None:
        _, absent = write_run_exhibits(folder, tables)
        for name, why in absent.items():
            typer.echo(f"no {name}: {why}", err=True)
        typer.echo(tables)
