"""otherwords run"""

from typing import Annotated, Any

import typer

from ..problem import parse_label_maps
from . import options as opt
from .display import (
    bars,
    in_study_order,
    print_gates,
    print_json,
    print_one_answer,
    print_planned,
    print_run,
    print_table,
    print_unreworded,
)


def run(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file, or a run folder to continue. Options override the study's settings: --model A replaces "
            "all its models.",
        ),
    ] = "",
    data: Annotated[
        list[str],
        typer.Option(
            "--data", metavar="FILE", help="A file or data set; may be repeated, and each is then scored separately."
        ),
    ] = [],  # noqa: B006
    generators: Annotated[
        list[str],
        typer.Option(
            "--with", "-w", metavar="GENERATOR", help="A generator, as in wordnet or syn=wordnet(n=3); may be repeated."
        ),
    ] = [],  # noqa: B006
    checks: Annotated[
        list[str],
        typer.Option("--check", metavar="CHECK", help="A check; may be repeated. Default: surface."),
    ] = [],  # noqa: B006
    veto: opt.Veto = "",
    corpus: opt.Corpus = "",
    table: opt.SynonymTable = "",
    model: opt.Models = [],  # noqa: B006
    metric: opt.Metrics = [],  # noqa: B006
    by: opt.By = [],  # noqa: B006
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="The run folder, new or to be continued. Default: runs/<name>-<six digits of the study>.",
        ),
    ] = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    label_map: opt.LabelMap = [],  # noqa: B006
    template: opt.Templates = [],  # noqa: B006
    repeats: opt.StudyRepeats = None,
    repeat_way: opt.RepeatWays = [],  # noqa: B006
    no_canary: opt.NoCanary = False,
    batch_size: opt.StudyBatchSize = None,
    cache: opt.CachePath = "",
    no_cache: opt.NoCache = False,
    fresh: opt.Fresh = False,
    engine: opt.StudyEngine = "",
    workers: opt.Workers = 0,
    gpus: opt.Gpus = "",
    gpu_share: opt.GpuShare = None,
    shared: opt.Shared = "",
    plugin: opt.Plugins = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    seed: opt.StudySeed = None,
    replicates: opt.StudyReplicates = None,
    confidence: opt.StudyConfidence = None,
    interval: opt.Interval = "",
    shard: Annotated[
        int | None,
        typer.Option(
            "--shard",
            metavar="ROWS",
            min=1,
            help="Rows per part, which are processed, written and resumed together. Default: 20,000; 2,000 with slow "
            "plug-ins.",
        ),
    ] = None,
    require: opt.Require = [],  # noqa: B006
    baseline: opt.Baseline = "",
    no_worse: opt.NoWorse = [],  # noqa: B006
    junit: opt.Junit = "",
    summary: opt.BuildSummary = "",
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    dry_run: opt.DryRun = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Run a whole study, into one folder that can be resumed.

    Produces problems, variants, checks, answers, scores and a report, from a study file, from options, or from both.
    """
    from ..registry import generators as registered
    from ..running.estimating import estimate
    from ..running.runner import run as run_study
    from ..running.study import read_study
    from ..scoring.builds import finish_build
    from ..storage.run_folder import RunFolder
    from ..validity.funnel import funnel, scans
    from .tables import score_table

    opt.refuse_wrong_build(baseline, no_worse, junit, summary, *([out] if out else []))
    given: dict[str, Any] = {
        "data": data, "vary": generators, "check": checks, "models": model, "templates": template,
        "metrics": metric, "by": by, "task": task,
        "columns": opt.pairs(field, "--field"), "labels": opt.pairs(label, "--label"),
        "label_map": parse_label_maps(label_map), "cache": cache, "plugins": plugin,
        "repeats": repeats, "repeat_ways": repeat_way,
        "skip_bad": skip_bad, "seed": seed, "replicates": replicates, "confidence": confidence,
        "interval": interval, "batch_size": batch_size, "shard": shard, "require": require, "engine": engine,
        "workers": workers or None, "gpus": opt.gpu_numbers(gpus), "gpu_share": gpu_share, "shared": shared,
        "max_requests": max_requests, "max_cost": max_cost, "prices": prices,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value or type(value) in (int, float)}  # 0 is a value
    if opt.cache_file(cache, no_cache) is None:
        chosen["cache"] = None
    if no_canary:
        chosen["canary"] = False
    settled = read_study(study or {}, **chosen)
    if words := opt.given(veto=veto, corpus=corpus, table=table):
        chosen["vary"] = registered.with_options(settled.vary, **words)
    if dry_run:
        with bars(quiet):
            planned = estimate(study or None, out=out or None, fresh=fresh, **chosen)
        print_planned(planned, json)
        return
    with bars(quiet):
        result = run_study(study or None, out=out or None, fresh=fresh, **chosen)
    if not quiet:
        print_run(result.manifest, funnel(*scans(RunFolder(result.folder).parts("buckets"))))
    if json:
        print_json(result.scores)
    elif not quiet:
        print_table(score_table(in_study_order(result.scores, result.folder), settled.confidence))
        print_one_answer(result.scores)
        typer.echo(result.report)
        print_unreworded(result.manifest["counts"])
    build: dict[str, Any] = {"baseline": baseline, "no_worse": no_worse, "junit": junit, "summary": summary}
    for name in ("seed", "replicates", "confidence", "interval"):
        build[name] = getattr(settled, name)
    print_gates(finish_build(result.scores, result.gates, result.folder, **build), quiet)
