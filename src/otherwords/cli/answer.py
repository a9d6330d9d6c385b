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
            help="Send nothing; write the unanswered requests to a batch file (OpenAI, vLLM run_batch).",
        ),
    ] = "",
    batch_in: Annotated[
        list[str],
        typer.Option(
            "--batch-in",
            metavar="FILE.jsonl",
            help="Send nothing; read the replies from such a batch file. May be repeated.",
        ),
    ] = [],  # noqa: B006
    quiet: opt.Quiet = False,
) -> None:
    """Ask models for answers.

    Writes one row per input row with `model, bucket, variant, gold, pred, p:<label>...`. An original has an empty
    `variant`. Variants that a check dropped are skipped. A variant that the model itself rejects as judge has no
    `pred`; `rejected` gives the reason.

    Language models are asked through templates. With several templates, each counts as a model of its own, and the
    column `template` names it. An answer that cannot be parsed is `unreadable`, which never counts as right.

    With --until, clusters are asked in random order (--seed) until the anytime interval (--confidence) of a metric
    decides the rule. Rows that were not asked are left out; the columns `until` and `asked` record this.

    With --repeats, everything is asked again and the answers go to columns `again:<way>:<number>`; `score` then reports
    how many flips are noise.

    With --batch-out, requests to a server are written to a batch file instead of being sent. The same command with
    --batch-in reads the replies and writes the answers. Replies are cached, so requests that failed can go into another
    batch or be sent directly.
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
            cache=opt.cache_file(cache, no_cache),
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
