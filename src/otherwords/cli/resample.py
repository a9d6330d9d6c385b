"""otherwords resample"""

from typing import Annotated, Any

import typer

from . import options as opt
from .display import bars, print_line, print_summary


def resample(
    inputs: opt.Inputs,
    rho: Annotated[
        list[float],
        typer.Option(
            "--rho",
            metavar="SHARE",
            help="The probability that a row is replaced, from 0 to 1. May be repeated if the name after -o contains "
            "{rho}.",
        ),
    ],
    generator: Annotated[
        str, typer.Option("--with", "-w", metavar="GENERATOR", help="The generator that rewords, as in wordnet-ie.")
    ] = "",
    variants: Annotated[
        str, typer.Option("--variants", metavar="FILE", help="Rewordings made earlier by vary, instead of --with.")
    ] = "",
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    veto: opt.Veto = "",
    corpus: opt.Corpus = "",
    table: opt.SynonymTable = "",
    save_table: opt.SaveTable = "",
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
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draw.")] = 1,
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    dry_run: opt.DryRun = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Replace each row by its rewording with probability rho.

    One row out for each row in, with its id, in the same order; `changed` and `how` say what was done. A row that the
    generator leaves alone stays; of several rewordings of a row, the first counts. A row's draw depends on the seed
    and its id alone.
    """
    from ..datasets.suite import open_source
    from ..errors import BadInput
    from ..registry import generators as registered
    from ..running.engines import make_engine
    from ..running.files import resample_files
    from ..variants.resampling import spelled
    from .display import print_json

    if bool(generator) == bool(variants):
        fix = "give --with GENERATOR, or --variants FILE"
        raise BadInput("both are given" if generator else "no rewording named", field="--with", fix=fix)
    if json and out == "-":
        raise BadInput("the rows go to standard output", field="--json", fix="name a file with -o")
    with bars(quiet):
        columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
        source = open_source(inputs, task, columns, labels, skip_bad, stage="problems")
        chosen = generator or registered.respell("recorded", path=variants)
        specs = registered.with_options([chosen], **opt.given(veto=veto, corpus=corpus, table=table))
        chosen_engine = make_engine(engine, workers, opt.gpu_numbers(gpus), gpu_share, shared)
        limits = {"max_requests": max_requests, "max_cost": max_cost, "prices": prices, "dry_run": dry_run}
        settings: dict[str, Any] = {"seed": seed, "save_table": save_table, "engine": chosen_engine, **limits}
        done, counts = resample_files(source, out, specs, rho, **settings)
    if json:
        replaced = {spelled(one): found._asdict() for one, found in counts.items()}
        print_json(replaced if done.planned is None else done.planned)
        return
    print_summary(done, out, quiet)
    for one, found in counts.items() if not quiet else ():
        several = f"; of {found.several:,} rows with several rewordings, the first counts" if found.several else ""
        line = f"{found.changed:,} of {found.rows:,} rows replaced, of {found.changeable:,} that can be{several}"
        print_line(f"rho {spelled(one)}: {line}")
