"""otherwords vary"""

from __future__ import annotations

from typing import Annotated

import typer

from . import options as opt
from .display import bars, tell


def vary(
    inputs: opt.Inputs,
    generators: Annotated[
        list[str],
        typer.Option("--with", "-w", metavar="GENERATOR", help="A generator (otherwords list generators)."),
    ],
    out: opt.Out = "-",
    suite: Annotated[bool, typer.Option("--suite", help="Write the originals too, each before its variants.")] = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    seed: opt.Seed = 1,
    quiet: opt.Quiet = False,
) -> None:
    """Put problems in other words.

    Writes the variants, a row each with `id`, `of`, `how`, the texts and the label.
    """
    from ..datasets.source import Source
    from ..pipes import vary_files

    with bars(quiet):
        source = Source(inputs, task, opt.pairs(field, "--field"), opt.pairs(label, "--label"), skip_bad)
        done = vary_files(source, out, generators, seed=seed, suite=suite)
    if not quiet:
        tell(done, out)
