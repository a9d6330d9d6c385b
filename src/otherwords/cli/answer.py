"""otherwords answer"""

from typing import Annotated

import typer

from ..problem import parse_label_maps
from . import options as opt
from .display import bars, print_summary


def answer(
    inputs: opt.Inputs,
    model: opt.Models,
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    label_map: opt.LabelMap = [],  # noqa: B006
    template: opt.Templates = [],  # noqa: B006
    no_canary: opt.NoCanary = False,
    batch_size: opt.BatchSize = 0,
    cache: opt.CachePath = "",
    no_cache: opt.NoCache = False,
    fresh: opt.Fresh = False,
    until: opt.UntilRule = None,
    seed: opt.Seed = 1,
    confidence: opt.Confidence = 0.95,
    repeats: opt.Repeats = 0,
    repeat_way: opt.RepeatWays = [],  # noqa: B006
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
    batch_out: Annotated[
        str,
        typer.Option(
            "--batch-out",
            metavar="FILE.jsonl",
            help="Send nothing: write the requests that are not answered yet as a batch file (OpenAI, vLLM run_batch).",
        ),
    ] = "",
    batch_in: Annotated[
        list[str],
        typer.Option("--batch-in", metavar="FILE.jsonl", help="Send nothing: read the replies of such a batch."),
    ] = [],  # noqa: B006
    quiet: opt.Quiet = False,
) -> None:
    """Ask models.

    Writes one row per input row with `model, bucket, variant, gold, pred, p:<label>...`. An original has an empty
    `variant`. Variants that a check dropped are not asked; one that the model was to judge itself and rejects has no
    `pred`, and the reason in `rejected`.

    Language models are asked by templates: with several, the answers of each are those of a model of its own, with a
    column `template`. An answer that cannot be read is `unreadable`, which is never right.

    With --until, clusters are asked in random order (--seed) until the anytime interval (--confidence) of a metric
    answers the question; rows that were not asked are left out, and the columns `until` and `asked` say so.

    With --repeats, the same is asked again, and the answers are columns `again:<way>:<number>`: `score` then says how
    much of the flips is noise.

    With --batch-out, requests to a server become a batch file; the same command with --batch-in reads its replies, and
    writes the answers. Replies are stored like those of a server: what lacks can be asked in another batch, or at once.
    """
    from ..datasets.suite import open_source
    from ..running.engines import make_engine
    from ..running.files import answer_files

    with bars(quiet):
        source = open_source(inputs, task, opt.pairs(field, "--field"), opt.pairs(label, "--label"), skip_bad)
        done = answer_files(
            source,
            out,
            model,
            label_map=parse_label_maps(label_map),
            templates=template,
            canary=not no_canary,
            cache=None if no_cache else cache,
            batch_size=batch_size,
            plugins=plugin,
            fresh=fresh,
            until=until,
            seed=seed,
            confidence=confidence,
            repeats=repeats,
            repeat_ways=repeat_way,
            max_requests=max_requests,
            max_cost=max_cost,
            prices=prices,
            dry_run=dry_run,
            batch_out=batch_out,
            batch_in=batch_in,
            engine=make_engine(engine, workers, opt.gpu_numbers(gpus), gpu_share, shared),
        )
    if done.batched is not None:
        typer.echo(f"{batch_out}: {done.batched:,} requests")
        return
    print_summary(done, out, quiet)
