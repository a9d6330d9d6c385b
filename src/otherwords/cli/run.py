"""otherwords run"""

from typing import Annotated, Any

import typer

from ..problem import parse_label_map
from . import options as opt
from .display import bars, console, print_json, print_one_answer, print_run


def run(
    study: Annotated[
        str, typer.Argument(metavar="STUDY.toml", help="A study file; options below come on top of it.")
    ] = "",
    data: Annotated[
        list[str], typer.Option("--data", metavar="FILE", help="A file or data set; may be repeated.")
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
        str, typer.Option("-o", "--out", metavar="FOLDER", help="The run folder. Default: runs/<name of the study>.")
    ] = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    label_map: opt.LabelMap = "",
    no_canary: opt.NoCanary = False,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size", metavar="N", min=0, help="Problems a model is given at a time; 0: the model's default."
        ),
    ] = None,
    cache: opt.CachePath = "",
    no_cache: opt.NoCache = False,
    skip_bad: opt.SkipBad = False,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of all random choices.")] = None,
    replicates: Annotated[
        int | None, typer.Option("--replicates", metavar="N", min=1, help="Bootstrap replicates.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", metavar="SHARE", min=0.5, max=0.9999, help="Confidence of the intervals."),
    ] = None,
    interval: Annotated[
        str,
        typer.Option("--interval", metavar="KIND", help="percentile, or bca: corrected for bias and skew."),
    ] = "",
    require: opt.Require = [],  # noqa: B006
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Do everything, into one folder that can be resumed.

    Problems, variants, checks, answers, scores and a report: from a study file, from options, or from both.
    """
    from ..registry import generators as registered
    from ..running.runner import run as run_study
    from ..running.study import read_study
    from ..scoring.gates import enforce, refuse_unknown
    from ..validity.funnel import funnel, scans
    from .tables import score_table

    given: dict[str, Any] = {
        "data": data, "vary": generators, "check": checks, "models": model, "metrics": metric, "by": by, "task": task,
        "columns": opt.pairs(field, "--field"), "labels": opt.pairs(label, "--label"),
        "label_map": parse_label_map(label_map), "cache": cache,
        "skip_bad": skip_bad, "seed": seed, "replicates": replicates, "confidence": confidence,
        "interval": interval, "batch_size": batch_size,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value or type(value) in (int, float)}  # 0 is a value
    if no_cache:
        chosen["cache"] = None
    if no_canary:
        chosen["canary"] = False
    settled = read_study(study or {}, **chosen)
    if words := opt.given(veto=veto, corpus=corpus, table=table):
        settled = settled.model_copy(update={"vary": registered.with_options(settled.vary, **words)})
    if require:
        refuse_unknown(require, settled.metrics)
    with bars(quiet):
        result = run_study(settled, out=out or None)
    if not quiet:
        print_run(result.manifest, funnel(*scans((result.folder / "buckets").glob("*.parquet"))))
    if json:
        print_json(result.scores)
    elif not quiet:
        console().print(score_table(result.scores, settled.confidence))
        print_one_answer(result.folder)
        typer.echo(result.report)
    enforce(require, result.scores)
