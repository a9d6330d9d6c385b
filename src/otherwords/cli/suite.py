"""otherwords suite"""

from typing import Annotated

import typer

from . import options as opt


def suite(
    inputs: opt.Inputs,
    out: Annotated[str, typer.Option("-o", "--out", metavar="FOLDER", help="Where to write: a new or empty folder.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the task is called.")] = "otherwords",
    template: Annotated[
        str,
        typer.Option("--template", metavar="TEMPLATE", help="How problems are put (otherwords list templates)."),
    ] = "",
    task: opt.TaskName = "",
    quiet: opt.Quiet = False,
) -> None:
    """Write problems and their variants for other harnesses.

    A task of Inspect, one of lm-evaluation-harness, a config of promptfoo, and a Hugging Face data set folder with a
    card. `score`, `compare` and `report` read the logs that these harnesses write of it.
    """
    from ..harnesses.suite_files import write_suite

    counts = write_suite(inputs, out, name=name, template=template, task=task)
    if not quiet:
        typer.echo(f"{out}: {counts['problems']:,} problems, {counts['variants']:,} variants")
