"""otherwords circularity"""

from typing import Annotated, Any

import typer

from ..problem import parse_label_maps
from . import options as opt
from .display import bars, console, print_json, print_line, print_planned, spent_line


def circularity(
    suite: opt.Suite,
    model: opt.Models,
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            metavar="[NAME=]JUDGE",
            help="self, a model, or mutual-entailment(judge=MODEL, ...); may be repeated. Default: self and nli-small.",
        ),
    ] = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option("--metric", metavar="METRIC", help="A metric; may be repeated. Default: the fooling rates."),
    ] = [],  # noqa: B006
    by: opt.By = [],  # noqa: B006
    task: opt.TaskName = "",
    label_map: opt.LabelMap = [],  # noqa: B006
    no_canary: opt.NoCanary = False,
    batch_size: opt.BatchSize = 0,
    cache: opt.CachePath = "",
    no_cache: opt.NoCache = False,
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    interval: opt.Interval = "auto",
    out: Annotated[
        str,
        typer.Option("-o", "--out", metavar="FILE", help="Write the answers with each judge's verdict to a file."),
    ] = "",
    plugin: opt.Plugins = [],  # noqa: B006
    safe_csv: opt.SafeCsv = False,
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    dry_run: opt.DryRun = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show how fooling rates depend on the judge.

    The judge is the model itself or another one. A variant counts only if the judge finds that it and its original
    entail each other. Reports the rates under each judge on the same problems, how many variants of each source a judge
    accepts, and how often two judges disagree.
    """
    from ..judging.circularity import JUDGES, METRICS, estimate_circularity
    from ..judging.circularity import circularity as measure
    from .tables import circularity_tables

    shared: dict[str, Any] = {"label_map": parse_label_maps(label_map), "canary": not no_canary}
    shared |= {"cache": opt.cache_file(cache, no_cache), "prices": prices}
    if dry_run:
        with bars(quiet or json):
            planned = estimate_circularity(suite, model, judge or JUDGES, task, **shared)
        print_planned(planned, json)
        return
    with bars(quiet or json):
        result = measure(
            suite, model, judge or JUDGES, task, using=metric or METRICS, by=by, batch_size=batch_size, seed=seed,
            replicates=replicates, confidence=confidence, interval=interval, out=out or None, **shared,
            max_requests=max_requests, max_cost=max_cost,
        )  # fmt: skip
    for name, one in result.spent.items() if not quiet else ():
        print_line(f"{name}: {spent_line(one)}")
    if not quiet and str(result.earlier):
        print_line(str(result.earlier))
    if json and out != "-":  # which has the answers as JSON lines
        print_json(result)
    elif not quiet and out != "-":
        screen = console()
        for table in circularity_tables(result, confidence):
            screen.print(table)
