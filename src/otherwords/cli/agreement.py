"""otherwords agreement"""

from typing import Annotated

import typer

from . import options as opt
from .display import console, print_json, print_line


def agreement(
    verdicts: Annotated[
        str,
        typer.Argument(
            metavar="VERDICTS",
            help="Verdicts of people: a database of annotate, or a table with variant, annotator, question, answer.",
        ),
    ],
    run: Annotated[
        str, typer.Option("--run", metavar="RUN", help="The run they are about, or its answers, for their clusters.")
    ] = "",
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="What alpha counts: nominal, ordinal or interval. Default: by the answers of each question.",
        ),
    ] = "",
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    out: Annotated[
        str,
        typer.Option("-o", "--out", metavar="FILE", help="Write the disagreements there: .jsonl, .csv, ..., or -."),
    ] = "",
    safe_csv: opt.SafeCsv = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show how far annotators agree: Cohen's and Fleiss' kappa, Krippendorff's alpha, Gwet's AC1.

    For each question, with an interval of a bootstrap of the problems; each annotator against the others; the variants
    on which they differ, for an adjudicator.
    """
    from ..significance.agreement import agreement_of
    from .tables import agreement_tables

    report = agreement_of(
        verdicts, run or None, level=level, confidence=confidence, replicates=replicates, seed=seed, out=out or None
    )
    if json and out != "-":  # which has the disagreements as JSON lines
        print_json(report)
    elif not quiet and out != "-":
        screen = console()
        for table in agreement_tables(report, confidence):
            screen.print(table)
        count = len(report.disagreements)
        several, them = ("", "it") if count == 1 else ("s", "them")
        print_line(f"{count:,} disagreement{several}" + (f": -o FILE lists {them}" if count and not out else ""))
