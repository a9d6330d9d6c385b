"""otherwords suite"""

from typing import Annotated

import typer

from . import options as opt


def suite(
    inputs: opt.Inputs,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FOLDER", help="Where to write: a new or an empty folder.")
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the task.")] = "otherwords",
    template: Annotated[
        str,
        typer.Option("--template", metavar="TEMPLATE", help="The prompt template (otherwords list templates)."),
    ] = "",
    task: opt.TaskName = "",
    quiet: opt.Quiet = False,
) -> None:
    """Export a suite to other evaluation harnesses.

    Writes a task for Inspect, a task for lm-evaluation-harness, a promptfoo config, and a Hugging Face data set folder
    with a card. `score`, `compare` and `report` read the logs that these harnesses write.
    """
    from ..harnesses.suite_files import write_suite

    counts = write_suite(inputs, out, name=name, template=template, task=task)
    if not quiet:
        typer.echo(f"{out}: {counts['problems']:,} problems, {counts['variants']:,} variants")
