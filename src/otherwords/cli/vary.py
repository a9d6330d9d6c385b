"""otherwords vary"""

from typing import Annotated

import typer

from . import options as opt
from .display import bars, print_summary


def vary(
    inputs: opt.Inputs,
    generators: Annotated[
        list[str],
        typer.Option(
            "--with",
            "-w",
            metavar="GENERATOR",
            help="A generator (otherwords list generators), as in wordnet or syn=wordnet(n=3); may be repeated.",
        ),
    ],
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    suite: Annotated[bool, typer.Option("--suite", help="Also write the originals, each before its variants.")] = False,
    veto: opt.Veto = "",
    corpus: opt.Corpus = "",
    table: opt.SynonymTable = "",
    save_table: opt.SaveTable = "",
    unvaried: Annotated[
        str,
        typer.Option(
            "--unvaried", metavar="FILE", help="Write the problems that a generator could not vary to this file."
        ),
    ] = "",
    notes: Annotated[
        str, typer.Option("--notes", metavar="FILE", help="Write what the generators left out, and why, to this file.")
    ] = "",
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
    seed: opt.Seed = 1,
    quiet: opt.Quiet = False,
) -> None:
    """Reword problems with generators.

    Writes one row per variant, with `id`, `of`, `how`, the texts and the label.
    """
    from ..datasets.suite import open_source
    from ..registry import generators as registered
    from ..running.engines import make_engine
    from ..running.files import vary_files

    with bars(quiet):
        columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
        source = open_source(inputs, task, columns, labels, skip_bad, stage="problems")
        specs = registered.with_options(generators, **opt.given(veto=veto, corpus=corpus, table=table))
        done = vary_files(
            source,
            out,
            specs,
            seed=seed,
            suite=suite,
            unvaried=unvaried,
            notes=notes,
            save_table=save_table,
            max_requests=max_requests,
            max_cost=max_cost,
            prices=prices,
            dry_run=dry_run,
            engine=make_engine(engine, workers, opt.gpu_numbers(gpus), gpu_share, shared),
        )
    print_summary(done, out, quiet)
