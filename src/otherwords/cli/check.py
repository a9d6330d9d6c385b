"""otherwords check"""

from typing import Annotated

import typer

from . import options as opt
from .display import bars, print_summary


def check(
    inputs: opt.Inputs,
    checks: Annotated[
        list[str],
        typer.Option(
            "--with",
            "-w",
            metavar="CHECK",
            help="A check (otherwords list checks), as in overlap or grammar=human:FILE; may be repeated.",
        ),
    ] = ["surface"],  # noqa: B006
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    engine: opt.EngineName = "in-process",
    workers: opt.Workers = 0,
    gpus: opt.Gpus = "",
    gpu_share: opt.GpuShare = None,
    shared: opt.Shared = "",
    plugin: opt.Plugins = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    dry_run: opt.DryRun = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check variants: keep or drop, and why.

    Writes the suite with a verdict `check:<name>`, its reason and its score for every variant. The originals are needed
    too: name both files, or use `vary --suite`. Dropped variants stay in the table, marked. A summary of what each
    check dropped, and why, goes to standard error.
    """
    from ..datasets.suite import open_source
    from ..running.engines import make_engine
    from ..running.files import check_files

    with bars(quiet):
        source = open_source(inputs, task, opt.pairs(field, "--field"), opt.pairs(label, "--label"), skip_bad)
        done = check_files(
            source,
            out,
            checks,
            max_requests=max_requests,
            max_cost=max_cost,
            prices=prices,
            dry_run=dry_run,
            engine=make_engine(engine, workers, opt.gpu_numbers(gpus), gpu_share, shared),
        )
    print_summary(done, out, quiet)
