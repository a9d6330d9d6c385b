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
            help="Human verdicts: a database from annotate, or a table with variant, annotator, question and answer.",
        ),
    ],
    run: Annotated[
        str,
        typer.Option(
            "--run",
            metavar="RUN",
            help="The run that was judged, or its answers: gives the clusters for the bootstrap.",
        ),
    ] = "",
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="Level of measurement for alpha: nominal, ordinal or interval. Default: inferred for each question.",
        ),
    ] = "",
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    out: Annotated[str, opt.out_file("Write the disagreements")] = "",
    safe_csv: opt.SafeCsv = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show how well annotators agree.

    Gives Cohen's and Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 for each question, with bootstrap intervals
    over problems; each annotator's agreement with the others; and the variants on which they disagree, for an
    adjudicator.
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
